#include "measure.hpp"

#include <mpi.h>

#include <algorithm>

/// A simulator may have a way to start all ranks at the same instant.
#if !defined(TRAMONTANE_START_TOGETHER)
#define TRAMONTANE_START_TOGETHER() MPI_Barrier(MPI_COMM_WORLD)
#endif
/// And one to let ranks that are done wait for the others without any traffic that these would notice.
#if !defined(TRAMONTANE_END_TOGETHER)
#define TRAMONTANE_END_TOGETHER() static_cast<void>(0)
#endif

namespace tramontane::executor {
namespace {

/// Values of all ranks, on rank 0; empty elsewhere.
[[nodiscard]] std::vector<double> gathered(double value, Rank rank, Rank ranks) {
    std::vector<double> values(rank == 0 ? static_cast<std::size_t>(ranks) : 0);
    MPI_Gather(&value, 1, MPI_DOUBLE, values.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return values;
}

[[nodiscard]] double reduced(double value, MPI_Op operation) {
    double result = 0;
    MPI_Reduce(&value, &result, 1, MPI_DOUBLE, operation, 0, MPI_COMM_WORLD);
    return result;
}

[[nodiscard]] std::int64_t total(std::int64_t value) {
    long long mine = value;
    long long all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

[[nodiscard]] Repetition over_ranks(const Times& times, bool global_clock, Rank rank, Rank ranks) {
    const double origin = global_clock ? 0 : times.begin;
    Repetition result;
    const double first = reduced(times.begin - origin, MPI_MIN);
    result.time = reduced(times.end - origin, MPI_MAX) - first;
    for (std::size_t phase = 0; phase < times.phase_begin.size(); ++phase) {
        const double begin = reduced(times.phase_begin[phase] - origin, MPI_MIN);
        // A phase that no rank comes to takes no time.
        result.phases.push_back(std::max(reduced(times.phase_end[phase] - origin, MPI_MAX) - begin, 0.0));
    }
    const std::vector<double> elapsed = gathered(times.end - times.begin, rank, ranks);
    const std::vector<double> copying = gathered(times.copying, rank, ranks);
    if (rank == 0) {
        result.ranks = summary(elapsed);
        result.copying = summary(copying);
    }
    return result;
}

/// Counts the workload's own messages; of an operation of the library that is one call, nobody knows them.
void count(const Options& options, const Schedule& schedule, Rank rank, Measurement& measurement) {
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
    for (std::int64_t number = 0; !options.in_one_call() && number < schedule.rounds(); ++number) {
        const Round round = schedule.round(rank, number);
        messages += round.sends;
        for (std::int32_t index = 0; index < round.sends; ++index) {
            bytes += schedule.send(rank, number, index).bytes;
        }
    }
    measurement.messages = total(messages);
    measurement.bytes = total(bytes);
}

}  // namespace

Summary summary(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    const double median = values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
    return {values.front(), median, values.back()};
}

Measurement measure(const Options& options, const Schedule& schedule, Operation& operation, Rank rank,
                    std::string& complaint) {
    Measurement measurement;
    CheckedData* const data = options.verify ? operation.data() : nullptr;
    Times times;
    std::int64_t executions = 0;
    if (data != nullptr) {
        data->check_as_it_runs(true);
        operation.fill(executions++);
        operation.run(times);
        data->check_as_it_runs(false);
    }
    for (std::int64_t i = 0; i < options.warmup; ++i) {
        operation.fill(executions++);
        operation.run(times);
    }
    for (std::int64_t i = 0; i < options.repetitions; ++i) {
        operation.fill(executions++);
        TRAMONTANE_START_TOGETHER();
        operation.run(times);
        TRAMONTANE_END_TOGETHER();
        measurement.repetitions.push_back(over_ranks(times, options.global_clock, rank, schedule.ranks()));
        if (data != nullptr) {
            data->check_result();
        }
    }
    if (data != nullptr) {
        measurement.checked = data->findings().checked;
        measurement.wrong = data->findings().wrong;
        complaint = data->findings().first;
    }
    // After the repetitions: what goes over the network before them leaves its mark on a simulated one.
    count(options, schedule, rank, measurement);
    measurement.checked = total(measurement.checked);
    measurement.wrong = total(measurement.wrong);
    return measurement;
}

}  // namespace tramontane::executor
