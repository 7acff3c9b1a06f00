/// \file
/// Sets of ranks that communicate among themselves: rank arithmetic instead of tables, so that 10^6 ranks cost nothing.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../divisor.hpp"
#include "../schedule.hpp"

namespace tramontane {

/// Cuts all ranks into groups, or takes one group out of them; a rank that is in none has nothing to do.
///
/// With x fastest among the processes [cx, cy] of a grid, its rows are `consecutive` groups of cx ranks, its columns
/// groups of ranks that are cx apart (`every`). Nodes of k ranks in blocks are `consecutive` groups of k, their first
/// ranks the `leaders` of k.
class Communicator {
public:
    enum class Rule : std::uint8_t {
        all,          ///< one group
        consecutive,  ///< groups of `size` ranks one after the other; the last may be smaller
        every,        ///< `size` groups; each has the ranks that are alike modulo `size`
        leaders,      ///< one group: the first rank of each of the consecutive groups
        range         ///< one group: `size` ranks from `first` on
    };

    /// \pre 1 <= size <= ranks; 0 <= first and first + size <= ranks for a range
    Communicator(Rule rule, Rank ranks, Rank size, Rank first = 0)
        : rule_{rule}, ranks_{ranks}, first_{first}, by_{static_cast<std::uint32_t>(size)} {}

    /// Where a rank is: its group, and its number in it.
    struct Place {
        Rank group;
        Rank local;  ///< -1: it is in no group
        Rank size;   ///< of the group
    };

    [[nodiscard]] Place place(Rank rank) const {
        const auto quotient = static_cast<Rank>(by_.quotient(static_cast<std::uint32_t>(rank)));
        const Rank remainder = rank - quotient * size();
        switch (rule_) {
            case Rule::consecutive:
                return {quotient, remainder, std::min(size(), ranks_ - quotient * size())};
            case Rule::every:
                return {remainder, quotient, (ranks_ - remainder - 1) / size() + 1};
            case Rule::leaders:
                return {0, remainder == 0 ? quotient : -1, largest()};
            case Rule::range:
                return {0, rank >= first_ && rank - first_ < size() ? rank - first_ : -1, size()};
            case Rule::all:
                break;
        }
        return {0, rank, ranks_};
    }

    /// The rank that has a number in a group.
    [[nodiscard]] Rank rank(Rank group, Rank local) const {
        switch (rule_) {
            case Rule::consecutive:
                return group * size() + local;
            case Rule::every:
                return local * size() + group;
            case Rule::leaders:
                return local * size();
            case Rule::range:
                return first_ + local;
            case Rule::all:
                break;
        }
        return local;
    }

    [[nodiscard]] Rank groups() const {
        return rule_ == Rule::every ? size() : rule_ == Rule::consecutive ? place(ranks_ - 1).group + 1 : 1;
    }

    /// Ranks of the largest group, and of the smallest: groups have no more than these two sizes.
    [[nodiscard]] Rank largest() const {
        switch (rule_) {
            case Rule::consecutive:
            case Rule::range:
                return size();
            case Rule::every:
            case Rule::leaders:
                return (ranks_ - 1) / size() + 1;
            case Rule::all:
                break;
        }
        return ranks_;
    }
    [[nodiscard]] Rank smallest() const {
        if (rule_ == Rule::consecutive && ranks_ % size() != 0) return ranks_ % size();
        if (rule_ == Rule::every) return ranks_ / size();
        return largest();
    }

    /// Whether it is one group of all ranks.
    [[nodiscard]] bool whole() const { return largest() == ranks_; }

private:
    [[nodiscard]] Rank size() const { return static_cast<Rank>(by_.value()); }

    Rule rule_;
    Rank ranks_;
    Rank first_;
    Divisor by_;
};

}  // namespace tramontane
