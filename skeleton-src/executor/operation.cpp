#include "operation.hpp"

#include <mpi.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "exchange.hpp"
#include "null_buffer.hpp"
#include "processor.hpp"
#include "stamped.hpp"
#include "storage.hpp"
#include "windows.hpp"

namespace tramontane::executor {
namespace {

#if defined(TRAMONTANE_COST)
constexpr bool costs_are_told = true;
#else
constexpr bool costs_are_told = false;
#define TRAMONTANE_COST(seconds) static_cast<void>(seconds)
#endif

/// What calls of windows, and the storage, cost: a simulator of MPI is told, a machine takes its time.
void pay(std::int64_t picoseconds) {
    if (picoseconds > 0) TRAMONTANE_COST(static_cast<double>(picoseconds) * 1e-12);
}

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
    DataOperation(const Options& options, const ContentSchedule& schedule, Rank rank, std::int64_t longest)
        : schedule_{schedule}, rank_{rank} {
        if (options.real_data) {
            memory_.emplace(schedule, rank, options.fault, !options.workload->by_datatypes());
        } else {
            outgoing_.emplace(longest);
            incoming_.emplace(longest);
            nothing_.emplace(outgoing_->data(), incoming_->data());
        }
    }

    void fill(std::int64_t repetition) override {
        if (memory_) {
            memory_->fill(repetition);
        }
    }
    [[nodiscard]] CheckedData* data() override { return memory(); }

protected:
    [[nodiscard]] Memory* memory() { return memory_ ? &*memory_ : nullptr; }
    [[nodiscard]] const ContentSchedule& schedule() const { return schedule_; }
    [[nodiscard]] Rank rank() const { return rank_; }
    [[nodiscard]] Payload& payload() { return memory_ ? static_cast<Payload&>(*memory_) : *nothing_; }
    [[nodiscard]] double* null_incoming() { return incoming_ ? incoming_->data() : nullptr; }

private:
    const ContentSchedule& schedule_;
    Rank rank_;
    std::optional<Memory> memory_;
    std::optional<NullBuffer> outgoing_, incoming_;
    std::optional<NullPayload> nothing_;
};

/// Rounds, one after the other, each packed, exchanged and unpacked.
class RoundOperation final : public DataOperation {
public:
    RoundOperation(const Options& options, const ContentSchedule& schedule, Rank rank)
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
              options.implementation, memory() ? memory()->contributed() : payload().outgoing(0, 0),
              memory() ? memory()->reduced() : null_incoming(), schedule.held(rank, 0).size())} {}

    void run(Times& times) override {
        Memory* const data = memory();
        times.copying = 0;
        times.begin = MPI_Wtime();
        for (std::int64_t repeat = 0; repeat < repeats_; ++repeat) {
            if (data != nullptr) {
                timed(times.copying, [&] { data->begin_allreduce(repeat); });
            }
            allreduce_->run();
            if (data != nullptr) {
                data->end_allreduce(repeat);
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

/// Messages and storage, as one.
class BothChecked final : public CheckedData {
public:
    BothChecked(CheckedData& first, CheckedData& second) : first_{first}, second_{second} {}
    void check_as_it_runs(bool wanted) override {
        first_.check_as_it_runs(wanted);
        second_.check_as_it_runs(wanted);
    }
    void check_result() override {
        first_.check_result();
        second_.check_result();
        const Findings &one = first_.findings(), &other = second_.findings();
        both_ = {one.checked + other.checked, one.wrong + other.wrong, one.first.empty() ? other.first : one.first};
    }
    [[nodiscard]] const Findings& findings() const override { return both_; }

private:
    CheckedData &first_, &second_;
    Findings both_;  ///< as of the last result
};

/// Rounds of a schedule that does not say what its messages carry: some leave messages under way, some are work.
class StampedOperation final : public Operation {
public:
    StampedOperation(const Options& options, const Schedule& schedule, Rank rank) : schedule_{schedule}, rank_{rank} {
        if (schedule.graph() != nullptr) refuse("kind", "'trace'", "any other; traces run on the simulator");
        if (options.real_data) {
            stamped_.emplace(schedule, rank, options.fault);
        } else {
            const std::int64_t longest = longest_message(schedule, rank);
            outgoing_.emplace(longest);
            incoming_.emplace(longest);
            nothing_.emplace(outgoing_->data(), incoming_->data());
        }
        exchange_ = make_point_to_point(schedule, rank, payload());
        if (schedule.one_sided()) {
            windows_ = make_windows(schedule, rank, payload());
        }
        for (std::int64_t number = 0; number < schedule.rounds() && !processor_; ++number) {
            const Round round = schedule.round(rank, number);
            if (round.work > 0 && round.access == Access::none) processor_.emplace();
        }
        if (schedule.reads_or_writes() && !costs_are_told) {
            storage_ = make_storage(schedule, rank, options.directory, options.fault);
            if (stamped_) both_.emplace(*stamped_, *storage_);
        }
    }

    void fill(std::int64_t repetition) override {
        repetition_ = repetition;
        if (stamped_) stamped_->fill(repetition);
    }
    [[nodiscard]] CheckedData* data() override {
        return both_ ? static_cast<CheckedData*>(&*both_) : stamped_ ? &*stamped_ : nullptr;
    }

    /// A phase lasts from its first round's begin to its last round's end, with what is between.
    void run(Times& times) override {
        const std::size_t phases = schedule_.phases().size();
        times.copying = 0;
        times.begin = MPI_Wtime();
        times.phase_begin.assign(phases, std::numeric_limits<double>::max());  // of phases that others alone have
        times.phase_end.assign(phases, std::numeric_limits<double>::lowest());
        std::vector<bool> begun(phases);
        double now = times.begin;
        for (std::int64_t number = 0; number < schedule_.rounds(); ++number) {
            const Round round = schedule_.round(rank_, number);
            const auto phase = static_cast<std::size_t>(round.phase);
            if (!begun[phase]) times.phase_begin[phase] = now;
            begun[phase] = true;
            run(number, round, times);
            times.phase_end[phase] = now = MPI_Wtime();
        }
        times.end = now;
    }

private:
    void run(std::int64_t number, const Round& round, Times& times) {
        if (round.call != WindowCall::none) return run_one_sided(number, round, times);
        if (round.access != Access::none) {
            if (!storage_) return pay(round.work);
            timed(times.copying, [&] { storage_->prepare(number, repetition_); });
            storage_->access(number);
            return timed(times.copying, [&] { storage_->release(number); });
        }
        if (round.work > 0) return processor_->work(round.work);
        if (round.ends > 0) return end(number - round.ends, times);
        timed(times.copying, [&] { payload().pack(number); });
        exchange_->begin(number);
        if (round.waits) end(number, times);
    }
    void run_one_sided(std::int64_t number, const Round& round, Times& times) {
        pay(round.work + round.put_cost * round.sends);
        if (round.call == WindowCall::notify) {
            windows_->notify(number);
        } else if (round.call == WindowCall::notified) {
            windows_->wait_notified(number - round.ends);
        } else if (is_put(round.call)) {
            timed(times.copying, [&] { payload().pack(number); });
            windows_->put(number);
        } else if (round.call == WindowCall::read) {
            if (stamped_) timed(times.copying, [&] { windows_->read(number - round.ends); });
            timed(times.copying, [&] { payload().unpack(number - round.ends); });
        } else {
            windows_->call(round);
        }
    }
    void end(std::int64_t number, Times& times) {
        exchange_->end(number);
        timed(times.copying, [&] { payload().unpack(number); });
    }
    [[nodiscard]] Payload& payload() { return stamped_ ? static_cast<Payload&>(*stamped_) : *nothing_; }

    const Schedule& schedule_;
    Rank rank_;
    std::optional<Stamped> stamped_;
    std::optional<NullBuffer> outgoing_, incoming_;
    std::optional<NullPayload> nothing_;
    std::unique_ptr<OpenExchange> exchange_;
    std::unique_ptr<Windows> windows_;    ///< where there are puts
    std::optional<Processor> processor_;  ///< where there is work
    std::unique_ptr<Storage> storage_;    ///< where there are reads and writes
    std::optional<BothChecked> both_;
    std::int64_t repetition_ = 0;
};

}  // namespace

std::unique_ptr<Operation> make_operation(const Options& options, const Schedule& schedule, Rank rank) {
    const ContentSchedule* const contents = schedule.contents();
    if (contents == nullptr) return std::make_unique<StampedOperation>(options, schedule, rank);
    if (options.in_one_call()) return std::make_unique<AllreduceOperation>(options, *contents, rank);
    return std::make_unique<RoundOperation>(options, *contents, rank);
}

}  // namespace tramontane::executor
