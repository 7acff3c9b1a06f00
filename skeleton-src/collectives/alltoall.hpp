/// \file
/// All-to-all: every rank has a block for every rank. By the algorithms of the transposition, or by leaders of groups.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../alltoall.hpp"
#include "../blocks.hpp"
#include "../divisor.hpp"
#include "staged.hpp"

namespace tramontane {

/// Blocks of `count` doubles between any two of n members; see SlabSizes.
struct EqualSizes {
    std::int64_t count;
    Rank members;

    [[nodiscard]] std::int64_t operator()(Rank, Rank) const { return count; }
    /// Ways are low + distance + m period with 0 <= low < weight; only for the last m may low be cut short.
    [[nodiscard]] std::int64_t forwarded(Rank, Rank distance, std::int64_t weight, std::int64_t period) const {
        const std::int64_t full = (members - 1 - distance) / period;
        return count * (full * weight + std::min(weight, members - distance - full * period));
    }
};

/// The all-to-all of blocks of one size. Element x of the block from y to z is a point of a field.
class EqualAlltoall final : public AlltoallSchedule<EqualSizes> {
public:
    EqualAlltoall(Alltoall alltoall, std::int64_t count)
        : AlltoallSchedule{alltoall, EqualSizes{count, alltoall.members()}}, count_{count} {}

    [[nodiscard]] Box held(Rank rank, std::int32_t phase) const override {
        const Range own{rank, rank + 1}, all{0, ranks()};
        return {{0, count_}, phase == 0 ? own : all, phase == 0 ? all : own};
    }
    [[nodiscard]] std::optional<Grid> field() const override { return Grid{count_, ranks(), ranks()}; }
    [[nodiscard]] Rank owner(std::int64_t, std::int64_t y) const override { return static_cast<Rank>(y); }
    [[nodiscard]] bool in_place() const override { return false; }

private:
    std::int64_t count_;
};

/// By leaders of groups, in three rounds: each of the first `leaders` ranks of a group is in charge of a share of all
/// groups. Gather: it gets from its own group all blocks for these. Exchange: it sends each of them what its group has
/// for it, in one message to whoever there is in charge of the sender's group. Scatter: it hands out what came. With
/// one leader that is the classic hierarchical all-to-all (Traff and Rougier 2014, "MPI collectives and datatypes for
/// hierarchical all-to-all communication"), with as many as there are ranks the multi-leader one (Kandalla et al. 2009,
/// "Designing multi-leader-based allgather algorithms for multi-core clusters"; Traff and Hunold 2020, "Decomposing
/// MPI collectives for exploiting multi-lane communication"; locality-aware in the words of Bienz, Gautam and Kharel
/// 2022, "A locality-aware Bruck allgather").
class LeaderAlltoall final : public ContentSchedule {
public:
    /// \param group ranks of a group, consecutive; the last group may be smaller
    /// \param leaders of a group, if it has as many ranks, and there are as many groups
    /// \param window messages between groups that a leader may have under way; 0: all
    LeaderAlltoall(Rank ranks, Rank group, Rank leaders, Rank window, std::int64_t count)
        : ranks_{ranks},
          count_{count},
          window_{window},
          group_{static_cast<std::uint32_t>(group)},
          groups_{(ranks - 1) / group + 1},
          shares_{Blocks{groups_, std::min({leaders, group, groups_})},
                  Blocks{groups_, std::min({leaders, ranks - (groups_ - 1) * group, groups_})}} {}

    [[nodiscard]] Rank ranks() const override { return ranks_; }
    [[nodiscard]] std::int64_t rounds() const override { return 3; }
    [[nodiscard]] std::vector<std::string> phases() const override { return {"gather", "exchange", "scatter"}; }

    [[nodiscard]] Round round(Rank rank, std::int64_t round) const override {
        const Place at = place(rank);
        const bool leads = at.local < at.leaders;
        const std::int32_t others = leads ? at.size - 1 : 0, chiefs = at.leaders - (leads ? 1 : 0);
        switch (round) {
            case 0:
                return {0, chiefs, others};
            case 1: {
                const std::int32_t partners = leads ? exchanges(at) : 0;
                return {1, partners, partners, window_};
            }
            default:
                return {2, others, chiefs};
        }
    }

    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        const Message message = sent(rank, round, index);
        return {message.peer, 0, element_bytes * message.box.size()};
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        const Message message = received(rank, round, index);
        return {message.peer, 0, element_bytes * message.box.size()};
    }
    [[nodiscard]] std::vector<Piece> send_contents(Rank rank, std::int64_t round, std::int32_t index) const override {
        const Message message = sent(rank, round, index);
        return {{rank, message.peer, message.box, false}};
    }
    [[nodiscard]] std::vector<Piece> receive_contents(Rank rank, std::int64_t round,
                                                      std::int32_t index) const override {
        const Message message = received(rank, round, index);
        return {{message.peer, rank, message.box, false}};
    }

    /// Element x of the block from y to z: those of one's own; between the phases, of a leader those of its group for
    /// its share, then of its share for its group; those for oneself.
    [[nodiscard]] Box held(Rank rank, std::int32_t phase) const override {
        const Place at = place(rank);
        const Range own{rank, rank + 1}, all{0, ranks_};
        if (phase == 0) return box(own, all);
        if (phase == 3) return box(all, own);
        if (at.local >= at.leaders) return {};
        return phase == 1 ? box(members(at.group), share(at, at.local)) : box(share(at, at.local), members(at.group));
    }
    [[nodiscard]] std::optional<Grid> field() const override { return Grid{count_, ranks_, ranks_}; }
    [[nodiscard]] Rank owner(std::int64_t, std::int64_t y) const override { return static_cast<Rank>(y); }
    [[nodiscard]] bool in_place() const override { return false; }

private:
    struct Place {
        Rank group;
        Rank first;    ///< rank of the group
        Rank size;     ///< of the group
        Rank leaders;  ///< of the group
        Rank local;    ///< number of the rank in its group
        const Blocks* shares;
    };

    struct Message {
        Rank peer;
        Box box;
    };

    [[nodiscard]] Place place(Rank rank) const {
        const auto group = static_cast<Rank>(group_.quotient(static_cast<std::uint32_t>(rank)));
        const Rank first = group * width();
        const Blocks& shares = shares_of(group);
        return {group, first, std::min(width(), ranks_ - first), shares.parts(), rank - first, &shares};
    }
    [[nodiscard]] Rank width() const { return static_cast<Rank>(group_.value()); }
    [[nodiscard]] const Blocks& shares_of(Rank group) const { return shares_[group + 1 < groups_ ? 0 : 1]; }

    /// Ranks of groups.
    [[nodiscard]] Range members(Range groups) const {
        return {groups.first * width(), std::min<std::int64_t>(groups.last * width(), ranks_)};
    }
    [[nodiscard]] Range members(Rank group) const { return members(Range{group, group + 1}); }
    /// Ranks of which a leader is in charge.
    [[nodiscard]] Range share(const Place& at, Rank leader) const { return members(at.shares->range(leader)); }
    [[nodiscard]] Box box(Range from, Range to) const { return {{0, count_}, from, to}; }

    /// Number of the leader that a rank sends to, or receives from: after itself if it is one.
    [[nodiscard]] static Rank chief(const Place& at, std::int32_t index) {
        const Rank after = at.local < at.leaders ? at.local + 1 : at.local % at.leaders;
        return (after + index) % at.leaders;
    }
    /// Number of the rank that a leader sends to, or receives from.
    [[nodiscard]] static Rank other(const Place& at, std::int32_t index) { return (at.local + 1 + index) % at.size; }

    /// Groups that a leader exchanges with: its share but its own.
    [[nodiscard]] std::int32_t exchanges(const Place& at) const {
        const Range share = at.shares->range(at.local);
        const bool own = share.first <= at.group && at.group < share.last;
        return static_cast<std::int32_t>(share.size()) - (own ? 1 : 0);
    }

    /// The group of the `index`-th message that a leader sends: those after its own group first, in a cycle.
    [[nodiscard]] Rank partner(const Place& at, std::int32_t index) const {
        const Range share = at.shares->range(at.local);
        const std::int64_t length = share.size();
        const bool own = share.first <= at.group && at.group < share.last;
        const std::int64_t start = own ? at.group - share.first + 1 : at.group % length;
        return static_cast<Rank>(share.first + (start + index) % length);
    }

    [[nodiscard]] Message sent(Rank rank, std::int64_t round, std::int32_t index) const {
        const Place at = place(rank);
        switch (round) {
            case 0: {
                const Rank leader = chief(at, index);
                return {at.first + leader, box({rank, rank + 1}, share(at, leader))};
            }
            case 1: {
                const Rank group = partner(at, index);
                return {across(at, group), box(members(at.group), members(group))};
            }
            default: {
                const Rank to = at.first + other(at, index);
                return {to, box(share(at, at.local), {to, to + 1})};
            }
        }
    }
    [[nodiscard]] Message received(Rank rank, std::int64_t round, std::int32_t index) const {
        const Place at = place(rank);
        switch (round) {
            case 0: {
                const Rank from = at.first + other(at, index);
                return {from, box({from, from + 1}, share(at, at.local))};
            }
            case 1: {
                const Rank group = partner(at, index);
                return {across(at, group), box(members(group), members(at.group))};
            }
            default: {
                const Rank leader = chief(at, index);
                return {at.first + leader, box(share(at, leader), {rank, rank + 1})};
            }
        }
    }
    /// The leader of a group that is in charge of this one.
    [[nodiscard]] Rank across(const Place& at, Rank group) const {
        return group * width() + shares_of(group).owner(at.group);
    }

    Rank ranks_;
    std::int64_t count_;
    std::int32_t window_;
    Divisor group_;
    Rank groups_;
    std::array<Blocks, 2> shares_;  ///< of the leaders of any group but the last, and of the last
};

[[nodiscard]] inline CollectiveOperation alltoall_operation() {
    static constexpr auto blocks = [](Rank ranks) { return std::int64_t{ranks} * ranks; };
    static constexpr auto by_leaders = [](Rank ranks, const Values& values,
                                          Rank leaders) -> std::unique_ptr<ContentSchedule> {
        const auto group = static_cast<Rank>(std::min<std::int64_t>(values.integer("group"), ranks));
        const Value* const window = values.find("radix");
        const auto under_way = window == nullptr ? 0 : std::min<std::int64_t>(values.integer("radix"), ranks);
        return std::make_unique<LeaderAlltoall>(ranks, group, leaders, static_cast<Rank>(under_way),
                                                count_of(values, blocks(ranks)));
    };
    CollectiveOperation operation{"alltoall", {count_key()}, {}};
    for (const AlltoallAlgorithm& algorithm : alltoall_algorithms) {
        operation.algorithms.push_back({algorithm.name, algorithm.keys(),
                                        [](Rank ranks, const Values& values) -> std::unique_ptr<ContentSchedule> {
                                            return std::make_unique<EqualAlltoall>(make_alltoall(values, ranks),
                                                                                   count_of(values, blocks(ranks)));
                                        }});
    }
    Key window = Key::integer("radix", 1);
    window.optional = true;
    operation.algorithms.push_back({"leaders", {group_key(), window}, [](Rank ranks, const Values& values) {
                                        return by_leaders(ranks, values, 1);
                                    }});
    operation.algorithms.push_back({"multi-leader", {group_key(), window}, [](Rank ranks, const Values& values) {
                                        return by_leaders(ranks, values, ranks);
                                    }});
    return operation;
}

}  // namespace tramontane
