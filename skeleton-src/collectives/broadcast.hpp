/// \file
/// Broadcast: the root has a vector, and in the end all ranks have it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "../blocks.hpp"
#include "allgather.hpp"
#include "binomial.hpp"
#include "staged.hpp"

namespace tramontane {

/// The vector travels in segments down a chain of ranks that begins at the root; a rank passes one on while it gets the
/// next. S segments take S + P - 2 stages (Watts and van de Geijn 1995, "A pipelined broadcast for multidimensional
/// meshes").
class ChainPass {
public:
    ChainPass(Rank ranks, Rank root, Rank segments) : order_{ranks, root}, segments_{segments} {}

    [[nodiscard]] Rank ranks() const { return order_.ranks(); }
    [[nodiscard]] std::int32_t stages() const { return ranks() == 1 ? 0 : ranks() - 2 + segments_; }
    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const {
        const Rank number = order_.number(rank);
        return number + 1 < ranks() && passes(number, stage) ? 1 : 0;
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const {
        const Rank number = order_.number(rank);
        return number > 0 && passes(number - 1, stage) ? 1 : 0;
    }
    [[nodiscard]] Parcel send(Rank rank, std::int32_t stage, std::int32_t) const {
        const Rank number = order_.number(rank);
        return {order_.rank(number + 1), {stage - number, 1}};
    }
    [[nodiscard]] Parcel receive(Rank rank, std::int32_t stage, std::int32_t) const {
        const Rank number = order_.number(rank);
        return {order_.rank(number - 1), {stage - (number - 1), 1}};
    }

private:
    [[nodiscard]] bool passes(Rank number, std::int32_t stage) const {
        return stage >= number && stage - number < segments_;
    }

    BinomialTree order_;  ///< for its numbers only
    Rank segments_;
};

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
    using Way = TreePass::Way;
    using Load = TreePass::Load;
    return {name,
            {count_key(), root_key()},
            // Whoever has the vector passes it on; ceil(log2 P) stages (Thakur et al. 2005).
            {{"binomial",
              {},
              [](Rank ranks, const Values& values) {
                  const Rank root = root_of(values, ranks);
                  return block_collective(name, TreePass{ranks, root, Way::down, Load::one},
                                          BroadcastLayout{root, count_of(values), 1});
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
             {"chain", {Key::integer("segments", 1)}, [](Rank ranks, const Values& values) {
                  const Rank root = root_of(values, ranks);
                  const std::int64_t count = count_of(values);
                  const std::int64_t segments = std::min(values.integer("segments"), count);
                  if (segments > std::numeric_limits<Rank>::max() - ranks) {
                      refuse("segments", std::to_string(segments), "less than 2^31 rounds in all");
                  }
                  return block_collective(name, ChainPass{ranks, root, static_cast<Rank>(segments)},
                                          BroadcastLayout{root, count, static_cast<Rank>(segments)});
              }}}};
}

}  // namespace tramontane
