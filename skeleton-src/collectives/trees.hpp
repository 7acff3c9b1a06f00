/// \file
/// Trees over which a vector goes as a whole, beside the binomial one that blocks take (binomial.hpp); and how an
/// algorithm is turned round, or numbered from its root on.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../schedule.hpp"
#include "binomial.hpp"
#include "staged.hpp"

namespace tramontane {

/// All others talk to the root in one stage: it receives, or sends, P - 1 messages with a block each, or with the only
/// one (Chan et al. 2007, "Collective communication: theory, practice, and experience").
class LinearPass {
public:
    LinearPass(Rank ranks, Rank root, TreePass::Way way, TreePass::Load load)
        : order_{ranks, root}, up_{way == TreePass::Way::up}, one_{load == TreePass::Load::one} {}

    [[nodiscard]] Rank ranks() const { return order_.ranks(); }
    [[nodiscard]] std::int32_t stages() const { return ranks() > 1 ? 1 : 0; }
    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t) const { return side(rank, up_); }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t) const { return side(rank, !up_); }
    [[nodiscard]] Parcel send(Rank rank, std::int32_t, std::int32_t index) const { return edge(rank, index); }
    [[nodiscard]] Parcel receive(Rank rank, std::int32_t, std::int32_t index) const { return edge(rank, index); }

private:
    [[nodiscard]] std::int32_t side(Rank rank, bool others) const {
        const bool root = order_.number(rank) == 0;
        return others ? (root ? 0 : 1) : (root ? ranks() - 1 : 0);
    }
    [[nodiscard]] Parcel edge(Rank rank, std::int32_t index) const {
        const Rank number = order_.number(rank), other = number == 0 ? index + 1 : number;
        return {order_.rank(number == 0 ? other : 0), {one_ ? 0 : other, 1}};
    }

    Numbering order_;
    bool up_, one_;
};

/// A tree of the numbers 0 ... P - 1, whose root is 0 and where a parent sends to its children one after the other.
template <class T>
concept OrderedTree = requires(const T& tree, Rank number, std::int32_t place) {
    { tree.ranks() } -> std::same_as<Rank>;
    { tree.parent(number) } -> std::same_as<Rank>;         ///< \pre number > 0
    { tree.place(number) } -> std::same_as<std::int32_t>;  ///< among its siblings. \pre number > 0
    { tree.children(number) } -> std::same_as<std::int32_t>;
    { tree.child(number, place) } -> std::same_as<Rank>;
};

/// Row l has 2^l numbers, and a number's children are 2^l and 2^(l + 1) further: neighbours in a row have their
/// children next to each other (as Open MPI counts them).
class BinaryTree {
public:
    explicit BinaryTree(Rank ranks) : ranks_{ranks} {}

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] Rank parent(Rank number) const {
        const Rank above = row(number) / 2;
        return above - 1 + in_row(number) % above;
    }
    [[nodiscard]] std::int32_t place(Rank number) const { return in_row(number) / (row(number) / 2); }
    [[nodiscard]] std::int32_t children(Rank number) const { return std::min((ranks_ - 1 - number) / row(number), 2); }
    [[nodiscard]] Rank child(Rank number, std::int32_t place) const { return number + row(number) * (place + 1); }

private:
    /// How many numbers there are in a number's row.
    [[nodiscard]] static Rank row(Rank number) {
        return static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(number) + 1));
    }
    [[nodiscard]] static Rank in_row(Rank number) { return number + 1 - row(number); }

    Rank ranks_;
};

/// In base k: a number hangs below the one without its lowest digit that is not 0. The largest subtrees come first.
class KnomialTree {
public:
    KnomialTree(Rank ranks, std::int64_t radix) : ranks_{ranks}, radix_{radix} {
        while (top_ * radix_ < ranks_) top_ *= radix_;
    }

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] Rank parent(Rank number) const {
        const std::int64_t above = value(number) * radix_;
        return static_cast<Rank>(number / above * above);
    }
    [[nodiscard]] std::int32_t place(Rank number) const {
        const std::int64_t own = value(number);
        const Rank above = parent(number);
        std::int32_t before = 0;
        for (std::int64_t each = largest(above); each > own; each /= radix_) before += children_at(above, each);
        return before + static_cast<std::int32_t>((number - above) / own - 1);
    }
    [[nodiscard]] std::int32_t children(Rank number) const {
        std::int32_t all = 0;
        for (std::int64_t each = largest(number); each > 0; each /= radix_) all += children_at(number, each);
        return all;
    }
    [[nodiscard]] Rank child(Rank number, std::int32_t place) const {
        std::int64_t each = largest(number);
        for (; place >= children_at(number, each); each /= radix_) place -= children_at(number, each);
        return static_cast<Rank>(number + each * (place + 1));
    }

private:
    /// The place value of the lowest digit that is not 0. \pre number > 0
    [[nodiscard]] std::int64_t value(Rank number) const {
        std::int64_t each = 1;
        while (number / each % radix_ == 0) each *= radix_;
        return each;
    }
    /// Of a child's digit, at most; 0 if there are no children.
    [[nodiscard]] std::int64_t largest(Rank number) const { return number == 0 ? top_ : value(number) / radix_; }
    [[nodiscard]] std::int32_t children_at(Rank number, std::int64_t value) const {
        return static_cast<std::int32_t>(std::min((ranks_ - 1 - number) / value, radix_ - 1));
    }

    Rank ranks_;
    std::int64_t radix_;
    std::int64_t top_ = 1;  ///< the largest power of the radix below P
};

/// The binomial tree the other way: a number hangs below the one without its highest bit. The root sends to its next
/// neighbour first, and then twice as far each time.
class AscendingTree {
public:
    explicit AscendingTree(Rank ranks) : ranks_{ranks} {}

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] Rank parent(Rank number) const { return number ^ (Rank{1} << (bits(number) - 1)); }
    [[nodiscard]] std::int32_t place(Rank number) const { return bits(number) - 1 - bits(parent(number)); }
    [[nodiscard]] std::int32_t children(Rank number) const {
        return std::max(bits(ranks_ - 1 - number) - bits(number), 0);
    }
    [[nodiscard]] Rank child(Rank number, std::int32_t place) const {
        return number + (Rank{1} << (bits(number) + place));
    }

private:
    [[nodiscard]] static std::int32_t bits(Rank number) { return std::bit_width(static_cast<std::uint32_t>(number)); }

    Rank ranks_;
};

/// Once down a tree with the whole vector: who has it sends it to one child a stage.
template <OrderedTree Tree>
class OrderedPass {
public:
    OrderedPass(Tree tree, Rank root)
        : tree_{std::move(tree)}, order_{tree_.ranks(), root}, got_(static_cast<std::size_t>(tree_.ranks())) {
        for (Rank number = 1; number < ranks(); ++number) {  // parents come before their children
            const std::int32_t own = got(tree_.parent(number)) + tree_.place(number) + 1;
            got_[static_cast<std::size_t>(number)] = own;
            stages_ = std::max(stages_, own);
        }
    }

    [[nodiscard]] Rank ranks() const { return tree_.ranks(); }
    [[nodiscard]] std::int32_t stages() const { return stages_; }
    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const {
        const Rank number = order_.number(rank);
        const std::int32_t place = stage - got(number);
        return place >= 0 && place < tree_.children(number) ? 1 : 0;
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const {
        return stage + 1 == got(order_.number(rank)) ? 1 : 0;
    }
    [[nodiscard]] Parcel send(Rank rank, std::int32_t stage, std::int32_t) const {
        const Rank number = order_.number(rank);
        return {order_.rank(tree_.child(number, stage - got(number))), {0, 1}};
    }
    [[nodiscard]] Parcel receive(Rank rank, std::int32_t, std::int32_t) const {
        return {order_.rank(tree_.parent(order_.number(rank))), {0, 1}};
    }

private:
    [[nodiscard]] std::int32_t got(Rank number) const { return got_[static_cast<std::size_t>(number)]; }

    Tree tree_;
    Numbering order_;
    std::vector<std::int32_t> got_;  ///< after how many stages a number has the vector
    std::int32_t stages_ = 0;
};

/// The last stage first, every message back to where it came from.
template <BlockAlgorithm Forward>
class Reversed {
public:
    explicit Reversed(Forward forward) : forward_{std::move(forward)} {}

    [[nodiscard]] Rank ranks() const { return forward_.ranks(); }
    [[nodiscard]] std::int32_t stages() const { return forward_.stages(); }
    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const { return forward_.receives(rank, at(stage)); }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const { return forward_.sends(rank, at(stage)); }
    [[nodiscard]] Parcel send(Rank rank, std::int32_t stage, std::int32_t index) const {
        return forward_.receive(rank, at(stage), index);
    }
    [[nodiscard]] Parcel receive(Rank rank, std::int32_t stage, std::int32_t index) const {
        return forward_.send(rank, at(stage), index);
    }

private:
    [[nodiscard]] std::int32_t at(std::int32_t stage) const { return stages() - 1 - stage; }

    Forward forward_;
};

/// An algorithm whose ranks are numbered from a root on, and its blocks with them.
template <BlockAlgorithm Numbered>
class FromRoot {
public:
    FromRoot(Numbered numbered, Rank root) : numbered_{std::move(numbered)}, order_{numbered_.ranks(), root} {}

    [[nodiscard]] Rank ranks() const { return numbered_.ranks(); }
    [[nodiscard]] std::int32_t stages() const { return numbered_.stages(); }
    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const {
        return numbered_.sends(order_.number(rank), stage);
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const {
        return numbered_.receives(order_.number(rank), stage);
    }
    [[nodiscard]] Parcel send(Rank rank, std::int32_t stage, std::int32_t index) const {
        return placed(numbered_.send(order_.number(rank), stage, index));
    }
    [[nodiscard]] Parcel receive(Rank rank, std::int32_t stage, std::int32_t index) const {
        return placed(numbered_.receive(order_.number(rank), stage, index));
    }

private:
    [[nodiscard]] Parcel placed(Parcel parcel) const {
        parcel.peer = order_.rank(parcel.peer);
        return parcel;
    }

    Numbered numbered_;
    Numbering order_;
};

}  // namespace tramontane
