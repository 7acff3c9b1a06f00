/// \file
/// The binomial tree, over which barrier, broadcast, reduce, gather and scatter go.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "../schedule.hpp"
#include "staged.hpp"

namespace tramontane {

/// Numbers of ranks, from a root on.
class Numbering {
public:
    Numbering(Rank ranks, Rank root) : ranks_{ranks}, root_{root} {}

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] Rank number(Rank rank) const { return rank >= root_ ? rank - root_ : rank + (ranks_ - root_); }
    [[nodiscard]] Rank rank(Rank number) const {
        return number < ranks_ - root_ ? number + root_ : number - (ranks_ - root_);
    }

private:
    Rank ranks_;
    Rank root_;
};

/// Number v > 0 hangs, at the level of its lowest one bit, below the number without that bit; its subtree is the
/// 2^level numbers from v on, as far as there are so many.
class BinomialTree : public Numbering {
public:
    BinomialTree(Rank ranks, Rank root)
        : Numbering{ranks, root},
          levels_{static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(ranks - 1)))} {}

    /// ceil(log2 P)
    [[nodiscard]] std::int32_t levels() const { return levels_; }

    [[nodiscard]] bool is_child(Rank number, std::int32_t level) const { return below(number, level) == one(level); }
    [[nodiscard]] bool is_parent(Rank number, std::int32_t level) const {
        return below(number, level) == 0 && number < ranks() - one(level);
    }
    /// The other end of the edge of a child, or of a parent, at a level.
    [[nodiscard]] static Rank partner(Rank number, std::int32_t level) { return number ^ one(level); }

    /// The subtree of a child.
    [[nodiscard]] BlockRun subtree(Rank child, std::int32_t level) const {
        return {child, std::min(one(level), ranks() - child)};
    }

private:
    [[nodiscard]] static Rank one(std::int32_t level) { return Rank{1} << level; }
    /// The bits of a number up to that of a level.
    [[nodiscard]] static Rank below(Rank number, std::int32_t level) {
        return number & static_cast<Rank>((std::uint32_t{2} << level) - 1);
    }

    std::int32_t levels_;
};

/// Once over the tree, a level a stage: up from the leaves, or down from the root with the largest subtree first.
/// The message between a child and its parent has either the blocks of the child's subtree, by number, or the only one.
class TreePass {
public:
    enum class Way : std::uint8_t { up, down };
    enum class Load : std::uint8_t { one, subtree };

    TreePass(Rank ranks, Rank root, Way way, Load load) : tree_{ranks, root}, way_{way}, load_{load} {}

    [[nodiscard]] Rank ranks() const { return tree_.ranks(); }
    [[nodiscard]] std::int32_t stages() const { return tree_.levels(); }
    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const { return side(rank, stage, way_ == Way::up); }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const {
        return side(rank, stage, way_ == Way::down);
    }
    [[nodiscard]] Parcel send(Rank rank, std::int32_t stage, std::int32_t) const { return edge(rank, stage); }
    [[nodiscard]] Parcel receive(Rank rank, std::int32_t stage, std::int32_t) const { return edge(rank, stage); }

private:
    [[nodiscard]] std::int32_t level(std::int32_t stage) const {
        return way_ == Way::up ? stage : tree_.levels() - 1 - stage;
    }
    [[nodiscard]] std::int32_t side(Rank rank, std::int32_t stage, bool child) const {
        const Rank number = tree_.number(rank);
        return (child ? tree_.is_child(number, level(stage)) : tree_.is_parent(number, level(stage))) ? 1 : 0;
    }
    [[nodiscard]] Parcel edge(Rank rank, std::int32_t stage) const {
        const Rank number = tree_.number(rank), other = BinomialTree::partner(number, level(stage));
        return {tree_.rank(other),
                load_ == Load::one ? BlockRun{0, 1} : tree_.subtree(std::max(number, other), level(stage))};
    }

    BinomialTree tree_;
    Way way_;
    Load load_;
};

}  // namespace tramontane
