/// \file
/// Roles: sets of ranks with programs of their own, such as a model and its I/O servers, and messages between them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../blocks.hpp"
#include "../schedule.hpp"
#include "program.hpp"

namespace tramontane {

/// Ranks, numbered in their order: so many that have equal distances, those of a list, or all that are in no other set.
/// Only a list takes memory.
class RankSet {
public:
    [[nodiscard]] static RankSet apart(Rank first, Rank distance, Rank size) {
        RankSet set;
        set.first_ = first, set.distance_ = distance, set.size_ = size;
        return set;
    }
    /// \param ranks ascending
    [[nodiscard]] static RankSet list(std::vector<Rank> ranks) {
        RankSet set;
        set.size_ = static_cast<Rank>(ranks.size());
        set.listed_ = std::make_shared<const std::vector<Rank>>(std::move(ranks));
        return set;
    }
    /// Those of `all` ranks that the others leave. \pre the others have no rank in common
    [[nodiscard]] static RankSet rest(Rank all, std::vector<RankSet> others) {
        RankSet set;
        set.size_ = all;
        for (const RankSet& other : others) set.size_ -= other.size();
        set.others_ = std::make_shared<const std::vector<RankSet>>(std::move(others));
        return set;
    }

    [[nodiscard]] Rank size() const { return size_; }
    /// How many are below a rank: the number of a rank that is one of them.
    [[nodiscard]] Rank below(Rank rank) const {
        if (listed_) {
            return static_cast<Rank>(std::lower_bound(listed_->begin(), listed_->end(), rank) - listed_->begin());
        }
        if (others_) {
            Rank count = rank;
            for (const RankSet& other : *others_) count -= other.below(rank);
            return count;
        }
        return rank <= first_ ? 0 : std::min((rank - first_ - 1) / distance_ + 1, size_);
    }
    [[nodiscard]] bool has(Rank rank) const { return below(rank + 1) > below(rank); }
    /// The rank that has a number.
    [[nodiscard]] Rank rank(Rank number) const {
        if (listed_) return (*listed_)[static_cast<std::size_t>(number)];
        if (!others_) return first_ + number * distance_;
        Rank low = number, high = number;  // of the numbers below it are those of the others: it is between these
        for (const RankSet& other : *others_) high += other.size();
        while (low < high) {
            const Rank middle = low + (high - low) / 2;
            if (below(middle + 1) > number) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

private:
    RankSet() = default;

    Rank first_ = 0, distance_ = 1, size_ = 0;
    std::shared_ptr<const std::vector<Rank>> listed_;
    std::shared_ptr<const std::vector<RankSet>> others_;
};

/// With whom of another role each rank of a role has a message. The larger role's ranks have one partner each.
struct Partners {
    enum class Rule : std::uint8_t {
        cyclic,  ///< by the rank's number modulo the smaller role's ranks
        block,   ///< consecutive ranks have the same partner; as many for each as possible
        all      ///< everybody with everybody
    };
    Rule rule;
    Rank own, other;  ///< ranks of the two roles

    [[nodiscard]] Rank count(Rank number) const {
        if (rule == Rule::all) return other;
        if (own >= other) return 1;
        return rule == Rule::block ? static_cast<Rank>(Blocks{other, own}.size(number))
                                   : (other - number - 1) / own + 1;
    }
    /// Number of the `index`-th partner.
    [[nodiscard]] Rank at(Rank number, std::int32_t index) const {
        if (rule == Rule::all) return index;
        if (own >= other) return rule == Rule::block ? Blocks{own, other}.owner(number) : number % other;
        return rule == Rule::block ? static_cast<Rank>(Blocks{other, own}.first(number)) + index : number + index * own;
    }
};

/// Bytes that so many parts have each, or share as equally as possible.
struct Share {
    std::int64_t each = 0;
    std::int64_t total = 0;  ///< 0: each has as much as `each` says

    [[nodiscard]] std::int64_t of(std::int64_t part, std::int64_t parts) const {
        return total == 0 ? each : total / parts + (part < total % parts ? 1 : 0);
    }
};

/// Messages from the ranks of a role to those of another, in one round: a step of both.
class RoleMessages final : public StepRounds {
public:
    RoleMessages(RankSet sources, RankSet targets, Partners::Rule rule, Share bytes)
        : sources_{std::move(sources)},
          targets_{std::move(targets)},
          of_source_{rule, sources_.size(), targets_.size()},
          of_target_{rule, targets_.size(), sources_.size()},
          bytes_{bytes} {}

    [[nodiscard]] std::int64_t rounds() const override { return 1; }
    [[nodiscard]] std::vector<std::string> phases() const override { return {""}; }
    [[nodiscard]] Round round(Rank rank, std::int64_t /*round*/, Repetition /*at*/) const override {
        if (sources_.has(rank)) return {0, of_source_.count(sources_.below(rank)), 0};
        return {0, 0, of_target_.count(targets_.below(rank))};
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t /*round*/, std::int32_t index) const override {
        const Rank source = sources_.below(rank), target = of_source_.at(source, index);
        return {targets_.rank(target), 0, bytes(source, target)};
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t /*round*/, std::int32_t index) const override {
        const Rank target = targets_.below(rank), source = of_target_.at(target, index);
        return {sources_.rank(source), 0, bytes(source, target)};
    }

private:
    [[nodiscard]] std::int64_t bytes(Rank source, Rank target) const {
        const std::int64_t sources = sources_.size(), targets = targets_.size();
        if (of_source_.rule == Partners::Rule::all) return bytes_.of(source * targets + target, sources * targets);
        return sources >= targets ? bytes_.of(source, sources) : bytes_.of(target, targets);
    }

    RankSet sources_, targets_;
    Partners of_source_, of_target_;
    Share bytes_;
};

/// Work as a step with rounds.
class WorkRounds final : public StepRounds {
public:
    explicit WorkRounds(Work work) : work_{work} {}
    [[nodiscard]] std::int64_t rounds() const override { return 1; }
    [[nodiscard]] std::vector<std::string> phases() const override { return {""}; }
    [[nodiscard]] Round round(Rank rank, std::int64_t /*round*/, Repetition at) const override {
        return {.phase = 0, .sends = 0, .receives = 0, .work = work_.of(rank, at.number)};
    }
    [[nodiscard]] Transfer send(Rank, std::int64_t, std::int32_t) const override { return {}; }
    [[nodiscard]] Transfer receive(Rank, std::int64_t, std::int32_t) const override { return {}; }

private:
    Work work_;
};

/// A step among the ranks of a role, in which they have numbers of their own.
class WithinRole final : public StepRounds {
public:
    WithinRole(RankSet ranks, std::shared_ptr<const StepRounds> step)
        : ranks_{std::move(ranks)}, step_{std::move(step)} {}

    [[nodiscard]] std::int64_t rounds() const override { return step_->rounds(); }
    [[nodiscard]] std::int64_t begun() const override { return step_->begun(); }
    [[nodiscard]] bool receives_in_turn() const override { return step_->receives_in_turn(); }
    [[nodiscard]] std::vector<std::string> phases() const override { return step_->phases(); }
    [[nodiscard]] Round round(Rank rank, std::int64_t round, Repetition at) const override {
        return step_->round(ranks_.below(rank), round, at);
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        return outside(step_->send(ranks_.below(rank), round, index));
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        return outside(step_->receive(ranks_.below(rank), round, index));
    }

private:
    [[nodiscard]] Transfer outside(Transfer transfer) const {
        transfer.peer = ranks_.rank(transfer.peer);
        return transfer;
    }

    RankSet ranks_;
    std::shared_ptr<const StepRounds> step_;
};

struct Role {
    std::string name;
    RankSet ranks;
    std::shared_ptr<const Program> program;
};

/// Each rank does the program of its role. Rounds are numbered alike in all programs: those that a role has fewer of
/// than its partner before a message between the two are idle ones. Phases are those of each role by itself.
class RoleSchedule final : public Schedule {
public:
    /// \pre every rank has one role; all programs have the same rounds and repeats
    RoleSchedule(Rank ranks, std::vector<Role> roles) : ranks_{ranks}, roles_{std::move(roles)} {
        for (const Role& role : roles_) {
            first_phases_.push_back(static_cast<std::int32_t>(phases_.size()));
            for (const std::string& each : role.program->phases()) {
                phases_.push_back(role.name + " " + each);
                sizes_.push_back(role.ranks.size());
            }
        }
    }

    [[nodiscard]] Rank ranks() const override { return ranks_; }
    [[nodiscard]] std::int64_t rounds() const override { return roles_.front().program->rounds(); }
    [[nodiscard]] std::int64_t repeats() const override { return roles_.front().program->repeats(); }
    [[nodiscard]] std::vector<std::string> phases() const override { return phases_; }
    [[nodiscard]] Rank ranks_in(std::int32_t phase) const override { return sizes_[static_cast<std::size_t>(phase)]; }

    [[nodiscard]] bool reads_or_writes() const override {
        return std::any_of(roles_.begin(), roles_.end(),
                           [](const Role& role) { return role.program->reads_or_writes(); });
    }
    [[nodiscard]] bool receives_in_turn() const override {
        return std::any_of(roles_.begin(), roles_.end(),
                           [](const Role& role) { return role.program->receives_in_turn(); });
    }

    [[nodiscard]] Round round(Rank rank, std::int64_t number) const override {
        const std::size_t role = role_of(rank);
        Round found = roles_[role].program->round(rank, number);
        found.phase += first_phases_[role];
        return found;
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t number, std::int32_t index) const override {
        return roles_[role_of(rank)].program->send(rank, number, index);
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t number, std::int32_t index) const override {
        return roles_[role_of(rank)].program->receive(rank, number, index);
    }

private:
    [[nodiscard]] std::size_t role_of(Rank rank) const {
        const auto found = std::find_if(roles_.begin(), std::prev(roles_.end()),
                                        [&](const Role& role) { return role.ranks.has(rank); });
        return static_cast<std::size_t>(found - roles_.begin());
    }

    Rank ranks_;
    std::vector<Role> roles_;
    std::vector<std::int32_t> first_phases_;
    std::vector<std::string> phases_;
    std::vector<Rank> sizes_;  ///< of the roles, by phase
};

}  // namespace tramontane
