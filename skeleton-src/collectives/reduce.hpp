/// \file
/// Reduce: every rank has a vector, and in the end the root has their sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../allreduce.hpp"
#include "binomial.hpp"
#include "staged.hpp"

namespace tramontane {

/// Partial sums go up a binomial tree; ceil(log2 P) stages (Thakur et al. 2005).
class BinomialReduce {
public:
    BinomialReduce(Rank ranks, Rank root, std::int64_t count)
        : tree_{ranks, root, TreePass::Way::up, TreePass::Load::one}, root_{root}, count_{count} {}

    [[nodiscard]] Rank ranks() const { return tree_.ranks(); }
    [[nodiscard]] std::int64_t count() const { return count_; }
    [[nodiscard]] std::int64_t stages() const { return tree_.stages(); }
    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const { return tree_.sends(rank, stage); }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const { return tree_.receives(rank, stage); }
    [[nodiscard]] Portion send(Rank rank, std::int32_t stage, std::int32_t index) const {
        return {tree_.send(rank, stage, index).peer, {0, count_}, true};
    }
    [[nodiscard]] Portion receive(Rank rank, std::int32_t stage, std::int32_t index) const {
        return send(rank, stage, index);
    }
    [[nodiscard]] std::vector<std::string> phases() const { return {"reduce"}; }
    [[nodiscard]] Range result(Rank rank) const { return {0, rank == root_ ? count_ : 0}; }

private:
    TreePass tree_;
    Rank root_;
    std::int64_t count_;
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
    BinomialTree order_;  ///< for its numbers only
    Rank root_;
};

template <class Algorithm>
[[nodiscard]] std::unique_ptr<ContentSchedule> make_reduce(Rank ranks, const Values& values) {
    return std::make_unique<Allreduce<Algorithm>>(Algorithm{ranks, root_of(values, ranks), count_of(values)}, 1);
}

[[nodiscard]] inline CollectiveOperation reduce_operation() {
    return {"reduce",
            {count_key(), root_key()},
            {{"binomial", {}, make_reduce<BinomialReduce>}, {"rabenseifner", {}, make_reduce<ScatterGatherReduce>}}};
}

}  // namespace tramontane
