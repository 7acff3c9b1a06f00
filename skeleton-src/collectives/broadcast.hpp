/// \file
/// Broadcast: the root has a vector, and in the end all ranks have it.
#pragma once

#include <cstdint>

#include "../blocks.hpp"
#include "allgather.hpp"
#include "binomial.hpp"
#include "chain.hpp"
#include "staged.hpp"
#include "trees.hpp"

namespace tramontane {

/// A vector of the root, cut into blocks.
class BroadcastLayout {
public:
    BroadcastLayout(Rank root, std::int64_t count, Rank blocks) : root_{root}, blocks_{count, blocks} {}

    [[nodiscard]] Rank blocks() const { return blocks_.parts(); }
    [[nodiscard]] std::int64_t elements(BlockRun run) const {
        return blocks_.first(run.first + run.count) - blocks_.first(run.first);
    }
    [[nodiscard]] Piece piece(Rank block, Rank, Rank receiver) const {
        return {root_, receiver, {blocks_.range(block), {0, 1}, {0, 1}}, false};
    }
    [[nodiscard]] Box held(Rank rank, bool done) const {
        return {{0, done || rank == root_ ? blocks_.points() : 0}, {0, 1}, {0, 1}};
    }
    [[nodiscard]] Grid field() const { return {blocks_.points(), 1, 1}; }
    [[nodiscard]] Rank owner(std::int64_t, std::int64_t) const { return root_; }
    [[nodiscard]] bool in_place() const { return true; }

private:
    Rank root_;
    Blocks blocks_;
};

[[nodiscard]] inline CollectiveOperation broadcast_operation() {
    static constexpr const char* name = "broadcast";
    static constexpr auto whole = [](const auto& pass, Rank root, const Values& values) {
        return block_collective(name, pass, BroadcastLayout{root, count_of(values), 1});
    };
    using Way = TreePass::Way;
    using Load = TreePass::Load;
    return {name,
            {count_key(), root_key()},
            // Whoever has the vector passes it on; ceil(log2 P) stages (Thakur et al. 2005).
            {{"binomial",
              {},
              [](Rank ranks, const Values& values) {
                  const Rank root = root_of(values, ranks);
                  return whole(TreePass{ranks, root, Way::down, Load::one}, root, values);
              }},
             // P blocks are scattered over a binomial tree and gathered by all round a ring, for long vectors (Barnett
             // et al. 1994, "Interprocessor collective communication library"; Thakur et al. 2005).
             {"scatter-allgather",
              {},
              [](Rank ranks, const Values& values) {
                  const Rank root = root_of(values, ranks);
                  return block_collective(
                      name, Sequence{TreePass{ranks, root, Way::down, Load::subtree}, RingPass{ranks, root}},
                      BroadcastLayout{root, count_of(values), ranks});
              }},
             // The same, gathered by recursive doubling.
             {"scatter-doubling",
              {},
              [](Rank ranks, const Values& values) {
                  const Rank root = root_of(values, ranks);
                  return block_collective(name,
                                          Sequence{TreePass{ranks, root, Way::down, Load::subtree},
                                                   FromRoot{DoublingAllgather{ranks}, root}},
                                          BroadcastLayout{root, count_of(values), ranks});
              }},
             {"linear",
              {},
              [](Rank ranks, const Values& values) {
                  const Rank root = root_of(values, ranks);
                  return whole(LinearPass{ranks, root, Way::down, Load::one}, root, values);
              }},
             // Pjesivac-Grbovic et al. 2007, "Performance analysis of MPI collective operations"; the other two trees
             // as Open MPI has them.
             {"binary",
              {},
              [](Rank ranks, const Values& values) {
                  const Rank root = root_of(values, ranks);
                  return whole(OrderedPass{BinaryTree{ranks}, root}, root, values);
              }},
             {"k-nomial",
              {Key::integer("radix", 2, std::int64_t{4})},
              [](Rank ranks, const Values& values) {
                  const Rank root = root_of(values, ranks);
                  return whole(OrderedPass{KnomialTree{ranks, values.integer("radix")}, root}, root, values);
              }},
             {"binomial-ascending",
              {},
              [](Rank ranks, const Values& values) {
                  const Rank root = root_of(values, ranks);
                  return whole(OrderedPass{AscendingTree{ranks}, root}, root, values);
              }},
             {"chain", {segments_key()}, [](Rank ranks, const Values& values) {
                  const Rank root = root_of(values, ranks), segments = segments_of(values, ranks);
                  return block_collective(name, ChainPass{ranks, root, segments},
                                          BroadcastLayout{root, count_of(values), segments});
              }}}};
}

}  // namespace tramontane
