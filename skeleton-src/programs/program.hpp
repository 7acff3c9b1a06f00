/// \file
/// What a model does in a time step: exchanges, collectives on communicators and work, one after the other or at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../schedule.hpp"
#include "communicator.hpp"
#include "work.hpp"

namespace tramontane {

/// A schedule of a communicator's ranks, for each of its groups. Groups of two sizes have two schedules; a group whose
/// schedule has fewer rounds has nothing to do in the last ones.
class GroupSchedule {
public:
    /// \param largest, smallest schedules of the two sizes; the second may be null if there is one size only
    GroupSchedule(Communicator communicator, std::shared_ptr<const Schedule> largest,
                  std::shared_ptr<const Schedule> smallest)
        : communicator_{communicator}, largest_{std::move(largest)}, smallest_{std::move(smallest)} {}

    [[nodiscard]] std::int64_t rounds() const {
        return std::max(largest_->rounds(), smallest_ ? smallest_->rounds() : 0);
    }
    [[nodiscard]] std::vector<std::string> phases() const { return largest_->phases(); }

    [[nodiscard]] Round round(Rank rank, std::int64_t round) const {
        const auto at = communicator_.place(rank);
        const Schedule& schedule = of(at);
        const bool idle = at.local < 0 || round >= schedule.rounds();
        return idle ? Round{phase_of(round), 0, 0} : schedule.round(at.local, round);
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const {
        const auto at = communicator_.place(rank);
        return outside(at, of(at).send(at.local, round, index));
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const {
        const auto at = communicator_.place(rank);
        return outside(at, of(at).receive(at.local, round, index));
    }

private:
    [[nodiscard]] const Schedule& of(const Communicator::Place& at) const {
        return smallest_ && at.size < communicator_.largest() ? *smallest_ : *largest_;
    }
    /// The phase of a round in which a rank has nothing to do: that of those who have.
    [[nodiscard]] std::int32_t phase_of(std::int64_t round) const {
        const Schedule& longest = round < largest_->rounds() ? *largest_ : *smallest_;
        return longest.round(0, round).phase;
    }
    [[nodiscard]] Transfer outside(const Communicator::Place& at, Transfer transfer) const {
        transfer.peer = communicator_.rank(at.group, transfer.peer);
        return transfer;
    }

    Communicator communicator_;
    std::shared_ptr<const Schedule> largest_, smallest_;
};

/// Steps, repeated. All ranks have the same steps, so rounds are numbered alike; a rank that is not in a step's
/// communicator passes it by, at no cost.
///
/// A step may begin an exchange and another one end it, with work or messages in between (split phase). What is begun
/// is its first round; where it has more, they follow at its end: ranks make progress within MPI calls.
class Program final : public Schedule {
public:
    Program(Rank ranks, std::int64_t repetitions) : ranks_{ranks}, repetitions_{repetitions} {}

    void exchange(const std::string& name, std::shared_ptr<const GroupSchedule> what) {
        const std::int64_t rounds = what->rounds();
        add({.kind = Kind::exchange, .what = std::move(what), .rounds = rounds}, name);
    }
    void work(const std::string& name, Work work) {
        works_.push_back(work);
        add({.kind = Kind::work, .work = works_.size() - 1, .rounds = 1}, name);
    }
    /// \param label for its end
    void begin(const std::string& name, const std::string& label, std::shared_ptr<const GroupSchedule> what) {
        begun_[label] = steps_.size();
        add({.kind = Kind::begin, .what = std::move(what), .rounds = 1}, name);
    }
    /// \pre it has been begun, and not ended
    void end(const std::string& label) {
        const Step begun = steps_[begun_.at(label)];
        begun_.erase(label);
        const std::int64_t rounds = begun.what->rounds();
        const std::int64_t distance = per_repetition_ - begun.first;
        add({.kind = Kind::end, .rounds = 1, .first_phase = begun.first_phase, .distance = distance}, {});
        if (rounds > 1) {
            add({.kind = Kind::exchange,
                 .what = begun.what,
                 .rounds = rounds - 1,
                 .skipped = 1,
                 .first_phase = begun.first_phase},
                {});
        }
    }

    [[nodiscard]] Rank ranks() const override { return ranks_; }
    [[nodiscard]] std::int64_t rounds() const override { return per_repetition_ * repetitions_; }
    [[nodiscard]] std::int64_t repeats() const override { return repetitions_; }
    [[nodiscard]] std::vector<std::string> phases() const override { return phases_; }

    [[nodiscard]] Round round(Rank rank, std::int64_t round) const override {
        const At at = step_of(round);
        Round found{at.step->first_phase, 0, 0};
        switch (at.step->kind) {
            case Kind::work:
                found.work = works_[at.step->work].of(rank, at.repetition);
                break;
            case Kind::end:
                found.ends = at.step->distance;
                break;
            case Kind::begin:
            case Kind::exchange: {
                found = at.step->what->round(rank, at.inner);
                found.phase = phase_numbers_[static_cast<std::size_t>(at.step->first_phase + found.phase)];
                found.waits = at.step->kind == Kind::exchange;
                return found;
            }
        }
        found.phase = phase_numbers_[static_cast<std::size_t>(found.phase)];
        return found;
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        const At at = step_of(round);
        return at.step->what->send(rank, at.inner, index);
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        const At at = step_of(round);
        return at.step->what->receive(rank, at.inner, index);
    }

private:
    enum class Kind : std::uint8_t { exchange, begin, end, work };

    struct Step {
        Kind kind;
        std::shared_ptr<const GroupSchedule> what{};  ///< of an exchange, whole or begun
        std::size_t work = 0;
        std::int64_t rounds = 0;
        std::int64_t skipped = 0;       ///< rounds of `what` that were before
        std::int32_t first_phase = -1;  ///< place of its phases in `phase_numbers_`; -1: to be added
        std::int64_t distance = 0;      ///< of an end: rounds since the beginning
        std::int64_t first = 0;         ///< round of a repetition
    };

    struct At {
        const Step* step;
        std::int64_t inner;  ///< round of its schedule
        std::int64_t repetition;
    };

    void add(Step step, const std::string& name) {
        if (step.first_phase < 0) {
            step.first_phase = static_cast<std::int32_t>(phase_numbers_.size());
            const auto inner = step.what ? step.what->phases() : std::vector<std::string>{{}};
            for (const std::string& each : inner) {
                phase_numbers_.push_back(phase(inner.size() > 1 ? name + " " + each : name));
            }
        }
        step.first = per_repetition_;
        per_repetition_ += step.rounds;
        steps_.push_back(std::move(step));
    }
    /// Steps of the same name share a phase.
    [[nodiscard]] std::int32_t phase(const std::string& name) {
        const auto known = std::find(phases_.begin(), phases_.end(), name);
        const auto number = static_cast<std::int32_t>(known - phases_.begin());
        if (known == phases_.end()) phases_.push_back(name);
        return number;
    }

    [[nodiscard]] At step_of(std::int64_t round) const {
        const std::int64_t repetition = round / per_repetition_;
        const std::int64_t number = round - repetition * per_repetition_;
        const auto next = std::upper_bound(steps_.begin(), steps_.end(), number,
                                           [](std::int64_t r, const Step& step) { return r < step.first; });
        const Step& step = *std::prev(next);
        return {&step, number - step.first + step.skipped, repetition};
    }

    Rank ranks_;
    std::int64_t repetitions_;
    std::int64_t per_repetition_ = 0;
    std::vector<Step> steps_;
    std::vector<Work> works_;
    std::vector<std::string> phases_;
    std::vector<std::int32_t> phase_numbers_;  ///< by step and its own phases
    std::map<std::string, std::size_t> begun_;
};

}  // namespace tramontane
