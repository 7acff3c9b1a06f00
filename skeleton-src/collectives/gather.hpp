/// \file
/// Gather: every rank has a block, and in the end the root has all of them; and what scatter shares with it.
#pragma once

#include <cstdint>

#include "binomial.hpp"
#include "staged.hpp"
#include "trees.hpp"

namespace tramontane {

/// Blocks of `count` doubles, one for each rank; block b is that of number b, counted from the root on. A block that is
/// on its way through others is passed on and not theirs.
class RootedLayout {
public:
    /// \param way up: all blocks end at the root; down: they begin there
    RootedLayout(Rank ranks, Rank root, std::int64_t count, TreePass::Way way)
        : order_{ranks, root}, root_{root}, count_{count}, up_{way == TreePass::Way::up} {}

    [[nodiscard]] Rank blocks() const { return order_.ranks(); }
    [[nodiscard]] std::int64_t elements(BlockRun run) const { return count_ * run.count; }
    [[nodiscard]] Piece piece(Rank block, Rank, Rank) const {
        const Rank rank = order_.rank(block);
        return {up_ ? rank : root_, up_ ? root_ : rank, own(rank), false};
    }
    [[nodiscard]] Box held(Rank rank, bool done) const {
        const bool at_the_root = done == up_;
        if (at_the_root && rank == root_) return all();
        return at_the_root && !up_ ? Box{} : own(rank);
    }
    [[nodiscard]] Grid field() const { return {count_, blocks(), 1}; }
    [[nodiscard]] Rank owner(std::int64_t, std::int64_t y) const { return up_ ? static_cast<Rank>(y) : root_; }
    [[nodiscard]] bool in_place() const { return up_; }

private:
    [[nodiscard]] Box own(Rank rank) const { return {{0, count_}, {rank, rank + 1}, {0, 1}}; }
    [[nodiscard]] Box all() const { return {{0, count_}, {0, blocks()}, {0, 1}}; }

    Numbering order_;
    Rank root_;
    std::int64_t count_;
    bool up_;
};

/// Gather and scatter are the same, one way or the other: in one stage, or over a binomial tree, where a message has
/// the blocks of a subtree; ceil(log2 P) stages (Thakur et al. 2005).
template <TreePass::Way way>
[[nodiscard]] CollectiveOperation rooted_operation() {
    static constexpr const char* name = way == TreePass::Way::up ? "gather" : "scatter";
    return {name,
            {count_key(), root_key()},
            {{"linear",
              {},
              [](Rank ranks, const Values& values) {
                  const Rank root = root_of(values, ranks);
                  return block_collective(name, LinearPass{ranks, root, way, TreePass::Load::subtree},
                                          RootedLayout{ranks, root, count_of(values, ranks), way});
              }},
             {"binomial", {}, [](Rank ranks, const Values& values) {
                  const Rank root = root_of(values, ranks);
                  return block_collective(name, TreePass{ranks, root, way, TreePass::Load::subtree},
                                          RootedLayout{ranks, root, count_of(values, ranks), way});
              }}}};
}

[[nodiscard]] inline CollectiveOperation gather_operation() { return rooted_operation<TreePass::Way::up>(); }

}  // namespace tramontane
