/// \file
/// Reduce: every rank has a vector, and in the end the root has their sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../allreduce.hpp"
#include "../blocks.hpp"
#include "binomial.hpp"
#include "chain.hpp"
#include "staged.hpp"
#include "trees.hpp"

namespace tramontane {

/// Partial sums of a vector, or of its segments, go to the root.
///
/// \tparam Pass whose messages have a run of segments each
template <BlockAlgorithm Pass>
class TreeReduce {
public:
    TreeReduce(Pass pass, Rank root, std::int64_t count, Rank segments = 1)
        : pass_{std::move(pass)}, root_{root}, segments_{count, segments} {}

    [[nodiscard]] Rank ranks() const { return pass_.ranks(); }
    [[nodiscard]] std::int64_t count() const { return segments_.points(); }
    [[nodiscard]] std::int64_t stages() const { return pass_.stages(); }
    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const { return pass_.sends(rank, stage); }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const { return pass_.receives(rank, stage); }
    [[nodiscard]] Portion send(Rank rank, std::int32_t stage, std::int32_t index) const {
        return portion(pass_.send(rank, stage, index));
    }
    [[nodiscard]] Portion receive(Rank rank, std::int32_t stage, std::int32_t index) const {
        return portion(pass_.receive(rank, stage, index));
    }
    [[nodiscard]] std::vector<std::string> phases() const { return {"reduce"}; }
    [[nodiscard]] Range result(Rank rank) const { return {0, rank == root_ ? count() : 0}; }

private:
    [[nodiscard]] Portion portion(const Parcel& parcel) const {
        const auto [first, count] = parcel.blocks;
        return {parcel.peer, {segments_.first(first), segments_.first(first + count)}, true};
    }

    Pass pass_;
    Rank root_;
    Blocks segments_;
};

/// Rabenseifner's reduce (2004): the reduce-scatter of his allreduce, then the blocks go to the root over a binomial
/// tree, for long vectors. Ranks are counted so that the root is member 0.
class ScatterGatherReduce {
public:
    ScatterGatherReduce(Rank ranks, Rank root, std::int64_t count)
        : scatter_{ranks, count}, order_{ranks, before(ranks, root, scatter_.fold().folds())}, root_{root} {}

    [[nodiscard]] Rank ranks() const { return scatter_.ranks(); }
    [[nodiscard]] std::int64_t count() const { return scatter_.count(); }
    [[nodiscard]] std::int64_t stages() const { return scattering() + bits(); }
    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const {
        const Rank number = order_.number(rank);
        return stage < scattering() ? scatter_.sends(number, stage) : gathers(number, stage, true);
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const {
        const Rank number = order_.number(rank);
        return stage < scattering() ? scatter_.receives(number, stage) : gathers(number, stage, false);
    }
    [[nodiscard]] Portion send(Rank rank, std::int32_t stage, std::int32_t index) const {
        const Rank number = order_.number(rank);
        return placed(stage < scattering() ? scatter_.send(number, stage, index) : gathered(number, stage));
    }
    [[nodiscard]] Portion receive(Rank rank, std::int32_t stage, std::int32_t index) const {
        const Rank number = order_.number(rank);
        return placed(stage < scattering() ? scatter_.receive(number, stage, index) : gathered(number, stage));
    }
    [[nodiscard]] std::vector<std::string> phases() const { return {"reduce"}; }
    [[nodiscard]] Range result(Rank rank) const { return {0, rank == root_ ? count() : 0}; }

private:
    /// The rank that is number 0: where there are ranks too many, number 1 is member 0.
    [[nodiscard]] static Rank before(Rank ranks, Rank root, bool folds) {
        return !folds ? root : root > 0 ? root - 1 : ranks - 1;
    }
    [[nodiscard]] int bits() const { return scatter_.fold().bits(); }
    [[nodiscard]] std::int32_t scattering() const { return bits() + (scatter_.fold().folds() ? 1 : 0); }
    /// The bit in which the two ends of a message to the root differ: the one halved by last comes first.
    [[nodiscard]] int bit(std::int32_t stage) const { return bits() - 1 - (stage - scattering()); }

    [[nodiscard]] std::int32_t gathers(Rank number, std::int32_t stage, bool sending) const {
        if (scatter_.fold().gives(number)) return 0;
        const Rank own = scatter_.fold().member(number) >> bit(stage);
        return own == (sending ? 1 : 0) && gathered(number, stage).elements.size() > 0 ? 1 : 0;
    }
    [[nodiscard]] Portion gathered(Rank number, std::int32_t stage) const {
        const Rank own = scatter_.fold().member(number), other = own ^ (Rank{1} << bit(stage));
        return {scatter_.fold().rank(other), scatter_.share(std::max(own, other), bit(stage) + 1), false};
    }
    [[nodiscard]] Portion placed(Portion portion) const {
        portion.peer = order_.rank(portion.peer);
        return portion;
    }

    Rabenseifner scatter_;
    Numbering order_;
    Rank root_;
};

/// One reduce by an algorithm.
template <class Algorithm>
[[nodiscard]] std::unique_ptr<ContentSchedule> make_reduce(Algorithm algorithm) {
    return std::make_unique<Allreduce<Algorithm>>(std::move(algorithm), 1);
}

[[nodiscard]] inline CollectiveOperation reduce_operation() {
    using Way = TreePass::Way;
    using Load = TreePass::Load;
    return {
        "reduce",
        {count_key(), root_key()},
        // ceil(log2 P) stages (Thakur et al. 2005).
        {{"binomial",
          {},
          [](Rank ranks, const Values& values) {
              const Rank root = root_of(values, ranks);
              return make_reduce(TreeReduce{TreePass{ranks, root, Way::up, Load::one}, root, count_of(values)});
          }},
         {"rabenseifner",
          {},
          [](Rank ranks, const Values& values) {
              return make_reduce(ScatterGatherReduce{ranks, root_of(values, ranks), count_of(values)});
          }},
         {"linear",
          {},
          [](Rank ranks, const Values& values) {
              const Rank root = root_of(values, ranks);
              return make_reduce(TreeReduce{LinearPass{ranks, root, Way::up, Load::one}, root, count_of(values)});
          }},
         // The trees and the chain of a broadcast, the other way (Pjesivac-Grbovic et al. 2007).
         {"binary",
          {},
          [](Rank ranks, const Values& values) {
              const Rank root = root_of(values, ranks);
              return make_reduce(TreeReduce{Reversed{OrderedPass{BinaryTree{ranks}, root}}, root, count_of(values)});
          }},
         {"chain", {segments_key()}, [](Rank ranks, const Values& values) {
              const Rank root = root_of(values, ranks), segments = segments_of(values, ranks);
              return make_reduce(
                  TreeReduce{Reversed{ChainPass{ranks, root, segments}}, root, count_of(values), segments});
          }}}};
}

}  // namespace tramontane
