/// \file
/// What a model does in a time step: exchanges, collectives on communicators and work, one after the other or at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../contents.hpp"
#include "../schedule.hpp"
#include "../weights.hpp"
#include "communicator.hpp"
#include "work.hpp"

namespace tramontane {

/// How often a step has been done before: in the repetitions of its program, and the passes of a loop that it is in.
struct Repetition {
    std::int64_t number;
    bool is_last;
};

/// The rounds of an exchange, of which a program may do the first ones and, with something else in between, the others.
class StepRounds {
public:
    StepRounds() = default;
    StepRounds(const StepRounds&) = delete;
    StepRounds& operator=(const StepRounds&) = delete;
    virtual ~StepRounds() = default;

    [[nodiscard]] virtual std::int64_t rounds() const = 0;
    /// The first ones, after which messages are under way.
    [[nodiscard]] virtual std::int64_t begun() const { return rounds(); }
    /// Windows of a one-sided exchange.
    [[nodiscard]] virtual std::int32_t windows() const { return 0; }
    [[nodiscard]] virtual bool reads_or_writes() const { return false; }
    [[nodiscard]] virtual bool receives_in_turn() const { return false; }
    [[nodiscard]] virtual std::vector<std::string> phases() const = 0;
    [[nodiscard]] virtual Round round(Rank rank, std::int64_t round, Repetition at) const = 0;
    [[nodiscard]] virtual Transfer send(Rank rank, std::int64_t round, std::int32_t index) const = 0;
    [[nodiscard]] virtual Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const = 0;
};

/// A schedule of a communicator's ranks, for each of its groups. Groups of two sizes have two schedules; a group whose
/// schedule has fewer rounds has nothing to do in the last ones.
class GroupSchedule final : public StepRounds {
public:
    /// \param largest, smallest schedules of the two sizes; the second may be null if there is one size only
    /// \param weights of the groups: messages have so much more or less than those of the schedules
    GroupSchedule(Communicator communicator, std::shared_ptr<const Schedule> largest,
                  std::shared_ptr<const Schedule> smallest, Weights weights = {})
        : communicator_{communicator},
          of_all_{communicator.whole()},
          largest_{std::move(largest)},
          smallest_{std::move(smallest)},
          weights_{std::move(weights)} {}

    [[nodiscard]] std::int64_t rounds() const override {
        return std::max(largest_->rounds(), smallest_ ? smallest_->rounds() : 0);
    }
    [[nodiscard]] std::vector<std::string> phases() const override { return largest_->phases(); }
    [[nodiscard]] bool receives_in_turn() const override { return largest_->receives_in_turn(); }
    [[nodiscard]] bool has(Rank rank) const { return communicator_.place(rank).local >= 0; }
    [[nodiscard]] bool of_all() const { return of_all_; }

    [[nodiscard]] Round round(Rank rank, std::int64_t round, Repetition /*at*/) const override {
        if (of_all_) return largest_->round(rank, round);
        const auto at = communicator_.place(rank);
        const Schedule& schedule = of(at);
        const bool idle = at.local < 0 || round >= schedule.rounds();
        return idle ? Round{phase_of(round), 0, 0} : schedule.round(at.local, round);
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        if (of_all_) return largest_->send(rank, round, index);
        const auto at = communicator_.place(rank);
        return outside(at, of(at).send(at.local, round, index));
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        if (of_all_) return largest_->receive(rank, round, index);
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
        if (!weights_.even()) {
            transfer.bytes = element_bytes * Weights::times(weights_.of(at.group), transfer.bytes / element_bytes);
        }
        return transfer;
    }

    Communicator communicator_;
    bool of_all_;  // so that nothing is translated
    std::shared_ptr<const Schedule> largest_, smallest_;
    Weights weights_;
};

/// An exchange in split phase: what is begun is its first round; where it has more, they follow at its end, because
/// ranks make progress within MPI calls.
class SplitRounds final : public StepRounds {
public:
    explicit SplitRounds(std::shared_ptr<const StepRounds> whole) : whole_{std::move(whole)} {}

    [[nodiscard]] std::int64_t rounds() const override { return whole_->rounds() + begun(); }
    [[nodiscard]] std::int64_t begun() const override { return std::min<std::int64_t>(whole_->rounds(), 1); }
    [[nodiscard]] std::vector<std::string> phases() const override { return whole_->phases(); }
    [[nodiscard]] Round round(Rank rank, std::int64_t round, Repetition at) const override {
        if (round > 1) return whole_->round(rank, round - 1, at);
        Round first = whole_->round(rank, 0, at);
        first.waits = false;
        if (round == 0) return first;
        return {.phase = first.phase, .sends = 0, .receives = 0, .ends = 1};
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        return whole_->send(rank, inner(round), index);
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        return whole_->receive(rank, inner(round), index);
    }

private:
    [[nodiscard]] static std::int64_t inner(std::int64_t round) { return round > 1 ? round - 1 : round; }

    std::shared_ptr<const StepRounds> whole_;
};

/// Steps, repeated. All ranks have the same steps, so rounds are numbered alike; a rank that is not in a step's
/// communicator passes it by, at no cost. A step may begin an exchange and another one end it, with work or messages in
/// between (split phase). Steps in a loop are kept once, and so are their windows, however often they are done.
class Program final : public Schedule {
public:
    Program(Rank ranks, std::int64_t repetitions) : ranks_{ranks}, repetitions_{repetitions} {}

    /// What `add` adds is done so many times. \pre it is in no other loop, and what it begins it ends
    template <class Add>
    void loop(std::int64_t times, Add&& add) {
        const std::int64_t first = per_repetition_;
        std::forward<Add>(add)();
        const std::int64_t rounds = per_repetition_ - first;
        if (rounds == 0) return;
        loops_.push_back({first, rounds, times});
        constexpr std::int64_t most = std::int64_t{1} << 40;  // more than anybody may have: require_countable
        per_repetition_ = first + (rounds > most / times ? most : rounds * times);
    }
    /// The steps that follow are done in one pass of a loop whose passes are added one by one.
    void pass(std::int64_t number, std::int64_t of) { passes_ = {number, of}; }

    void exchange(const std::string& name, std::shared_ptr<const StepRounds> what) {
        add(step_of_exchange(std::move(what), &StepRounds::rounds), name);
    }
    void work(const std::string& name, Work work) {
        works_.push_back(work);
        add({.work = works_.size() - 1, .rounds = 1}, name);
    }
    /// \param label for its end
    void begin(const std::string& name, const std::string& label, std::shared_ptr<const StepRounds> what) {
        begun_[label] = steps_.size();
        add(step_of_exchange(std::move(what), &StepRounds::begun), name);
    }
    /// \param name of its own phases; empty: it has those of what was begun
    /// \pre it has been begun, and not ended
    void end(const std::string& label, const std::string& name = {}) {
        Step step = steps_[begun_.at(label)];
        begun_.erase(label);
        step.skipped = step.rounds;
        step.rounds = step.what->rounds() - step.skipped;
        step.between = per_repetition_ - (step.first + step.skipped);
        if (!name.empty()) step.first_phase = -1;
        add(std::move(step), name);
    }

    /// Has nothing to do until a round of the repetition.
    /// \param name of the phase that this belongs to; empty: the last one of the step before
    /// \pre there is a step before, or a name
    void idle_until(std::int64_t round, const std::string& name = {}) {
        if (round <= per_repetition_) return;
        works_.emplace_back(0, Spread{}, Spread{}, 0);
        Step idle{.work = works_.size() - 1, .rounds = round - per_repetition_};
        if (name.empty()) {
            const Step& before = steps_.back();
            const auto phases = before.what ? static_cast<std::int32_t>(before.what->phases().size()) : 1;
            idle.first_phase = before.first_phase + phases - 1;
        }
        add(std::move(idle), name);
    }
    /// Rounds of a repetition so far.
    [[nodiscard]] std::int64_t per_repetition() const { return per_repetition_; }

    [[nodiscard]] Rank ranks() const override { return ranks_; }
    [[nodiscard]] std::int64_t rounds() const override { return per_repetition_ * repetitions_; }
    [[nodiscard]] std::int64_t repeats() const override { return repetitions_; }
    [[nodiscard]] std::vector<std::string> phases() const override { return phases_; }
    [[nodiscard]] bool one_sided() const override { return windows_ > 0; }
    [[nodiscard]] bool reads_or_writes() const override {
        return std::any_of(steps_.begin(), steps_.end(),
                           [](const Step& step) { return step.what && step.what->reads_or_writes(); });
    }
    [[nodiscard]] bool receives_in_turn() const override {
        return std::any_of(steps_.begin(), steps_.end(),
                           [](const Step& step) { return step.what && step.what->receives_in_turn(); });
    }

    [[nodiscard]] Round round(Rank rank, std::int64_t round) const override {
        const At at = step_of(round);
        const Step& step = *at.step;
        Round found{0, 0, 0};
        if (step.what) {
            found = step.what->round(rank, at.inner, at.repetition);
            if (found.ends > at.inner - step.skipped) found.ends += step.between;
            found.window_number += step.first_window;
        } else {
            found.work = works_[step.work].of(rank, at.repetition.number);
        }
        found.phase =
            phase_numbers_[static_cast<std::size_t>(step.first_phase) + static_cast<std::size_t>(found.phase)];
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
    struct Passes {
        std::int64_t number = 0, of = 1;
    };
    struct Loop {
        std::int64_t first, rounds, times;  ///< of a repetition, and of a pass
    };
    struct Step {
        std::shared_ptr<const StepRounds> what{};  ///< of an exchange; null: work
        std::size_t work = 0;
        std::int64_t rounds = 0;
        std::int64_t skipped = 0;       ///< rounds of `what` that another step has done, ...
        std::int64_t between = 0;       ///< ... and rounds since then
        std::int32_t first_phase = -1;  ///< place of its phases in `phase_numbers_`; -1: to be added
        std::int32_t first_window = 0;
        std::int64_t first = 0;  ///< round of a repetition, and of a loop's first pass
        Passes passes{};
    };

    struct At {
        const Step* step;
        std::int64_t inner;  ///< round of its exchange
        Repetition repetition;
    };

    [[nodiscard]] Step step_of_exchange(std::shared_ptr<const StepRounds> what,
                                        std::int64_t (StepRounds::*rounds)() const) {
        const std::int64_t count = (*what.*rounds)();
        const std::int32_t first = windows_;
        windows_ += what->windows();
        return {.what = std::move(what), .rounds = count, .first_window = first};
    }
    void add(Step step, const std::string& name) {
        if (step.first_phase < 0) {
            step.first_phase = static_cast<std::int32_t>(phase_numbers_.size());
            const auto inner = step.what ? step.what->phases() : std::vector<std::string>{{}};
            for (const std::string& each : inner) {
                std::string own = name;
                if (inner.size() > 1) own.append(" ").append(each);
                phase_numbers_.push_back(phase(own));
            }
        }
        step.first = per_repetition_;
        step.passes = passes_;
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
        const std::int64_t repetition = round < per_repetition_ ? 0 : round / per_repetition_;  // dividing is slow
        std::int64_t number = round - repetition * per_repetition_;
        Passes looped;
        if (!loops_.empty()) looped = first_pass(number);
        const auto next = std::upper_bound(steps_.begin(), steps_.end(), number,
                                           [](std::int64_t r, const Step& step) { return r < step.first; });
        const Step& step = *std::prev(next);
        const Passes passes = looped.of > 1 ? looped : step.passes;
        const std::int64_t times = repetition * passes.of + passes.number;
        return {&step, number - step.first + step.skipped, {times, times + 1 == repetitions_ * passes.of}};
    }
    /// Takes a round of a loop back to the first pass.
    /// \return the pass that it is in
    [[nodiscard]] Passes first_pass(std::int64_t& number) const {
        const auto next = std::upper_bound(loops_.begin(), loops_.end(), number,
                                           [](std::int64_t r, const Loop& loop) { return r < loop.first; });
        if (next == loops_.begin()) return {};
        const Loop& loop = *std::prev(next);
        const std::int64_t pass = (number - loop.first) / loop.rounds;
        if (pass >= loop.times) return {};
        number -= pass * loop.rounds;
        return {pass, loop.times};
    }

    Rank ranks_;
    std::int64_t repetitions_;
    std::int64_t per_repetition_ = 0;
    std::int32_t windows_ = 0;
    Passes passes_{};
    std::vector<Step> steps_;
    std::vector<Loop> loops_;
    std::vector<Work> works_;
    std::vector<std::string> phases_;
    std::vector<std::int32_t> phase_numbers_;  ///< by step and its own phases
    std::map<std::string, std::size_t> begun_;
};

}  // namespace tramontane
