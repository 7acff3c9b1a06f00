/// \file
/// The catalogue of collectives, and their descriptor as a workload.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../collectives/allgather.hpp"
#include "../collectives/allreduce.hpp"
#include "../collectives/alltoall.hpp"
#include "../collectives/alltoallv.hpp"
#include "../collectives/barrier.hpp"
#include "../collectives/broadcast.hpp"
#include "../collectives/gather.hpp"
#include "../collectives/neighbourhood.hpp"
#include "../collectives/reduce.hpp"
#include "../collectives/scatter.hpp"
#include "../collectives/staged.hpp"
#include "kind.hpp"

namespace tramontane {

[[nodiscard]] inline const std::vector<CollectiveOperation>& collective_operations() {
    static const std::vector<CollectiveOperation> operations{
        barrier_operation(),   broadcast_operation(),    reduce_operation(),    gather_operation(),
        scatter_operation(),   allgather_operation(),    allreduce_operation(), alltoall_operation(),
        alltoallv_operation(), neighbourhood_operation()};
    return operations;
}

/// A collective of the catalogue, among any ranks that are counted from 0.
///
/// \param values `operation`, `algorithm` and their keys
/// \throws std::invalid_argument for what that number of ranks cannot have, with one line
[[nodiscard]] inline std::unique_ptr<ContentSchedule> make_collective(const Values& values, Rank ranks) {
    const auto& operations = collective_operations();
    const auto operation = std::find_if(operations.begin(), operations.end(),
                                        [&](const auto& each) { return values.is("operation", each.name); });
    const auto algorithm = std::find_if(operation->algorithms.begin(), operation->algorithms.end(),
                                        [&](const auto& each) { return values.is("algorithm", each.name); });
    return algorithm->make(ranks, values);
}

class CollectiveWorkload final : public Workload {
public:
    CollectiveWorkload(Values values, Rank ranks) : Workload{std::move(values), ranks} {
        static_cast<void>(schedule({}));  // refuses what is not possible
    }

    [[nodiscard]] std::unique_ptr<Schedule> schedule(std::span<const std::byte> /*setup*/) const override {
        return make_collective(values(), ranks());
    }
};

/// `operation`, the algorithms of each, and then the keys of both.
[[nodiscard]] inline std::vector<Key> collective_keys() {
    std::vector<Key> keys{Key::word("operation", {})}, own;
    const auto add = [](std::vector<Key>& to, Key key, const std::string& with, const std::string& value) {
        key.with = with;
        key.with_value = value;
        const bool known = std::any_of(to.begin(), to.end(), [&](const Key& each) {
            return each.name == key.name && each.with == key.with && each.with_value == key.with_value;
        });
        if (!known) to.push_back(std::move(key));
    };
    for (const CollectiveOperation& operation : collective_operations()) {
        keys.front().words.push_back(operation.name);
        Key algorithms = Key::word("algorithm", {});
        for (const Key& key : operation.keys) add(own, key, "operation", operation.name);
        for (const CollectiveAlgorithm& algorithm : operation.algorithms) {
            algorithms.words.push_back(algorithm.name);
            for (const Key& key : algorithm.keys) add(own, key, "algorithm", algorithm.name);
        }
        add(keys, std::move(algorithms), "operation", operation.name);
    }
    keys.insert(keys.end(), own.begin(), own.end());
    return keys;
}

[[nodiscard]] inline WorkloadKind collective_kind() {
    return {"collective", collective_keys(), "",
            [](Values values, Rank ranks, const Permissions&) -> std::unique_ptr<Workload> {
                return std::make_unique<CollectiveWorkload>(std::move(values), ranks);
            }};
}

}  // namespace tramontane
