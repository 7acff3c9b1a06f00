#include "operation.hpp"

#include <mpi.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "contents.hpp"
#include "exchange.hpp"
#include "memory.hpp"
#include "null_buffer.hpp"
#include "stamps.hpp"

namespace tramontane::executor {
namespace {

/// Bytes of the longest message that a rank sends or receives.
[[nodiscard]] std::int64_t longest_message(const Schedule& schedule, Rank rank) {
    std::int64_t longest = 0;
    for (std::int64_t number = 0; number < schedule.rounds(); ++number) {
        const Round round = schedule.round(rank, number);
        for (std::int32_t index = 0; index < round.sends; ++index) {
            longest = std::max(longest, schedule.send(rank, number, index).bytes);
        }
        for (std::int32_t index = 0; index < round.receives; ++index) {
            longest = std::max(longest, schedule.receive(rank, number, index).bytes);
        }
    }
    return longest;
}

/// Refuses messages that MPI can't count, on all ranks alike; everybody must call it.
void refuse_uncountable([[maybe_unused]] const Schedule& schedule, [[maybe_unused]] Rank rank) {
#if !defined(TRAMONTANE_SIMULATED_MPI)  // where it would leave its mark on the network
    if (schedule.contents() != nullptr) return;
    long long mine = longest_message(schedule, rank);
    long long longest = 0;
    MPI_Allreduce(&mine, &longest, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    static_cast<void>(byte_count(longest));
#endif
}

/// Adds the time of a call to a sum.
template <class Call>
void timed(double& sum, Call&& call) {
    const double begin = MPI_Wtime();
    call();
    sum += MPI_Wtime() - begin;
}

/// What all operations share: the data, real or not.
class DataOperation : public Operation {
public:
    DataOperation(const Options& options, const Schedule& schedule, Rank rank, std::int64_t longest)
        : schedule_{schedule}, rank_{rank} {
        if (options.real_data && schedule.contents() != nullptr) {
            memory_.emplace(*schedule.contents(), rank, options.fault);
        } else if (options.real_data) {
            stamps_.emplace(schedule, rank, options.fault);
        } else {
            outgoing_.emplace(longest);
            incoming_.emplace(longest);
            nothing_.emplace(outgoing_->data(), incoming_->data());
        }
    }

    void fill(std::int64_t repetition) override {
        if (data() != nullptr) {
            data()->fill(repetition);
        }
    }
    [[nodiscard]] CheckedPayload* data() final {
        return memory_ ? &*memory_ : stamps_ ? static_cast<CheckedPayload*>(&*stamps_) : nullptr;
    }

protected:
    [[nodiscard]] const Schedule& schedule() const { return schedule_; }
    [[nodiscard]] Rank rank() const { return rank_; }
    [[nodiscard]] Memory* memory() { return memory_ ? &*memory_ : nullptr; }
    [[nodiscard]] Payload& payload() { return data() != nullptr ? static_cast<Payload&>(*data()) : *nothing_; }
    [[nodiscard]] const double* null_outgoing() { return outgoing_ ? outgoing_->data() : nullptr; }
    [[nodiscard]] double* null_incoming() { return incoming_ ? incoming_->data() : nullptr; }

private:
    const Schedule& schedule_;
    Rank rank_;
    std::optional<Memory> memory_;
    std::optional<Stamps> stamps_;
    std::optional<NullBuffer> outgoing_, incoming_;
    std::optional<NullPayload> nothing_;
};

/// Rounds, one after the other, each packed, exchanged and unpacked.
class RoundOperation final : public DataOperation {
public:
    RoundOperation(const Options& options, const Schedule& schedule, Rank rank)
        : DataOperation{options, schedule, rank, options.real_data ? 0 : longest_message(schedule, rank)},
          exchange_{options.implementation == Implementation::schedule
                        ? make_point_to_point(schedule, rank, payload())
                        : make_library_exchange(options, schedule, rank, payload())},
          phases_{static_cast<std::int32_t>(schedule.phases().size())} {}

    void run(Times& times) override {
        Payload& data = payload();
        times.phase_begin.resize(static_cast<std::size_t>(phases_));
        times.phase_end.resize(static_cast<std::size_t>(phases_));
        times.copying = 0;
        times.begin = MPI_Wtime();
        std::int64_t number = 0;
        for (std::int32_t phase = 0; phase < phases_; ++phase) {
            times.phase_begin[static_cast<std::size_t>(phase)] = MPI_Wtime();
            timed(times.copying, [&] { data.begin_phase(phase); });
            for (; number < schedule().rounds() && schedule().round(rank(), number).phase == phase; ++number) {
                timed(times.copying, [&] { data.pack(number); });
                exchange_->run(number);
                timed(times.copying, [&] { data.unpack(number); });
            }
            timed(times.copying, [&] { data.end_phase(phase); });
            times.phase_end[static_cast<std::size_t>(phase)] = MPI_Wtime();
        }
        times.end = MPI_Wtime();
    }

private:
    std::unique_ptr<Exchange> exchange_;
    std::int32_t phases_;
};

/// A library's allreduces, one after the other.
class AllreduceOperation final : public DataOperation {
public:
    AllreduceOperation(const Options& options, const ContentSchedule& schedule, Rank rank)
        : DataOperation{options, schedule, rank, schedule.held(rank, 0).size() * element_bytes},
          repeats_{schedule.repeats()},
          allreduce_{make_library_allreduce(
              options.implementation, memory() ? memory()->contributed() : null_outgoing(),
              memory() ? memory()->reduced() : null_incoming(), schedule.held(rank, 0).size())} {}

    void run(Times& times) override {
        Memory* const vectors = memory();
        times.copying = 0;
        times.begin = MPI_Wtime();
        for (std::int64_t repeat = 0; repeat < repeats_; ++repeat) {
            if (vectors != nullptr) {
                timed(times.copying, [&] { vectors->begin_allreduce(repeat); });
            }
            allreduce_->run();
            if (vectors != nullptr) {
                vectors->end_allreduce(repeat);
            }
        }
        times.end = MPI_Wtime();
        times.phase_begin = {times.begin};
        times.phase_end = {times.end};
    }

private:
    std::int64_t repeats_;
    std::unique_ptr<LibraryAllreduce> allreduce_;
};

}  // namespace

std::unique_ptr<Operation> make_operation(const Options& options, const Schedule& schedule, Rank rank) {
    refuse_uncountable(schedule, rank);
    if (options.in_one_call()) return std::make_unique<AllreduceOperation>(options, *schedule.contents(), rank);
    return std::make_unique<RoundOperation>(options, schedule, rank);
}

}  // namespace tramontane::executor
