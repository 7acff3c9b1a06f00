/// \file
/// Allreduce: every rank has a vector, and in the end all have their sum. By the algorithms of the workload of that
/// name, or by groups of ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../allreduce.hpp"
#include "../workloads/allreduce.hpp"
#include "binomial.hpp"
#include "staged.hpp"

namespace tramontane {

/// By node, then by network: groups of consecutive ranks, the last one maybe smaller, reduce to their first rank; these
/// leaders allreduce by recursive doubling and broadcast within their groups, over binomial trees (Traff and Hunold
/// 2020, "Decomposing MPI collectives for exploiting multi-lane communication"; Bienz, Olson and Gropp 2019,
/// "Node-aware improvements to allreduce").
class HierarchicalAllreduce {
public:
    HierarchicalAllreduce(Rank ranks, std::int64_t group, std::int64_t count)
        : ranks_{ranks},
          group_{static_cast<std::uint32_t>(std::min<std::int64_t>(group, ranks))},
          levels_{BinomialTree{static_cast<Rank>(group_.value()), 0}.levels()},
          leaders_{static_cast<Rank>((static_cast<std::uint32_t>(ranks) - 1) / group_.value() + 1), count} {}

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] std::int64_t count() const { return leaders_.count(); }
    [[nodiscard]] std::int64_t stages() const { return leaders_.stages() + 2 * levels_; }
    [[nodiscard]] std::vector<std::string> phases() const { return {"reduce", "allreduce", "broadcast"}; }
    [[nodiscard]] std::int32_t phase(std::int32_t stage) const {
        return stage < levels_ ? 0 : stage - levels_ < leaders_.stages() ? 1 : 2;
    }

    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const {
        if (phase(stage) != 1) return inside(rank, stage, phase(stage) == 0);
        return leads(rank) ? leaders_.sends(leader(rank), stage - levels_) : 0;
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const {
        if (phase(stage) != 1) return inside(rank, stage, phase(stage) == 2);
        return leads(rank) ? leaders_.receives(leader(rank), stage - levels_) : 0;
    }
    [[nodiscard]] Portion send(Rank rank, std::int32_t stage, std::int32_t index) const {
        if (phase(stage) != 1) {
            const Rank first = leader(rank) * size(), own = rank - first;
            return {first + BinomialTree::partner(own, level(stage)), {0, count()}, phase(stage) == 0};
        }
        Portion portion = leaders_.send(leader(rank), stage - levels_, index);
        portion.peer *= size();
        return portion;
    }
    /// Every message is one half of an exchange, or goes along an edge of a tree.
    [[nodiscard]] Portion receive(Rank rank, std::int32_t stage, std::int32_t index) const {
        return send(rank, stage, index);
    }

private:
    [[nodiscard]] Rank size() const { return static_cast<Rank>(group_.value()); }
    [[nodiscard]] Rank leader(Rank rank) const {
        return static_cast<Rank>(group_.quotient(static_cast<std::uint32_t>(rank)));
    }
    [[nodiscard]] bool leads(Rank rank) const { return leader(rank) * size() == rank; }
    [[nodiscard]] std::int32_t level(std::int32_t stage) const {
        return stage < levels_ ? stage : 2 * levels_ - 1 - (stage - static_cast<std::int32_t>(leaders_.stages()));
    }
    [[nodiscard]] std::int32_t inside(Rank rank, std::int32_t stage, bool child) const {
        const Rank first = leader(rank) * size();
        const BinomialTree tree{std::min(size(), ranks_ - first), 0};
        return (child ? tree.is_child(rank - first, level(stage)) : tree.is_parent(rank - first, level(stage))) ? 1 : 0;
    }

    Rank ranks_;
    Divisor group_;
    std::int32_t levels_;
    RecursiveDoubling leaders_;
};

/// One allreduce by an algorithm of the workload `allreduce`.
[[nodiscard]] inline std::unique_ptr<ContentSchedule> make_flat_allreduce(Rank ranks, const Values& values) {
    const auto* const form = std::find_if(allreduce_algorithms.begin(), allreduce_algorithms.end(),
                                          [&](const auto& each) { return values.is("algorithm", each.name); });
    Values once = values;
    once.set("repeats", std::int64_t{1});
    return form->make(ranks, count_of(values), once);
}

[[nodiscard]] inline CollectiveOperation allreduce_operation() {
    CollectiveOperation operation{"allreduce", {count_key()}, {}};
    for (const AllreduceForm& form : allreduce_algorithms) {
        operation.algorithms.push_back({form.name, form.keys(), make_flat_allreduce});
    }
    operation.algorithms.push_back(
        {"hierarchical", {group_key()}, [](Rank ranks, const Values& values) -> std::unique_ptr<ContentSchedule> {
             const HierarchicalAllreduce algorithm{ranks, values.integer("group"), count_of(values)};
             return std::make_unique<Allreduce<HierarchicalAllreduce>>(algorithm, 1);
         }});
    return operation;
}

}  // namespace tramontane
