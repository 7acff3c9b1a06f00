/// \file
/// Where the records of all nodes lie; the parts of a simulation share them, and each writes those of its nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "engine/unpacking.hpp"
#include "machine.hpp"
#include "memory/pages.hpp"
#include "placement/places.hpp"
#include "rules/link_meter.hpp"
#include "rules/node_records.hpp"
#include "rules/parameters.hpp"
#include "schedule.hpp"
#include "statistics/imbalance.hpp"

namespace tramontane {

[[nodiscard]] inline std::uint32_t checked_rounds(std::int64_t rounds) {
    if (rounds > std::numeric_limits<std::uint32_t>::max()) throw std::invalid_argument("workload: too many rounds");
    return static_cast<std::uint32_t>(rounds);
}

struct NodeStore {
    /// \throws std::invalid_argument for a schedule of too many rounds
    NodeStore(const Machine& machine, const Places& places, const Schedule& schedule, const Parameters& parameters,
              const std::optional<InjectionMeter>& injection)
        : ranks(static_cast<std::uint32_t>(schedule.ranks())),
          rounds(checked_rounds(schedule.rounds())),
          nodes(allocate_pages<NodeRecords::Node>(places.count())),
          open(allocate_zeros<Index>(ranks)) {
        for (std::uint32_t nic = 0; nic < places.count(); ++nic) nodes[nic].nic = NicChannel(parameters.buffer);
        if (places.several() && parameters.node_memory_slot > 0) {
            memory_until = std::make_unique<Ticks[]>(places.nodes());
        }
        if (parameters.message_gap > 0) next_message = std::make_unique<Ticks[]>(places.count());
        if (parameters.costs.of_unexpected()) unexpected = std::make_unique<std::uint32_t[]>(ranks);
        if (injection) {
            injections = allocate_pages<InjectionMeter>(places.count());
            std::uninitialized_fill_n(injections.get(), places.count(), *injection);
        }
        if (machine.unpack_per_byte > 0) unpacking = std::make_unique<Unpacking>(machine, schedule);
    }

    const std::uint32_t ranks;
    const std::uint32_t rounds;
    Pages<NodeRecords::Node> nodes;               ///< by place
    Pages<Index> open;                            ///< by rank; see NodeRules
    std::unique_ptr<Ticks[]> memory_until;        ///< by node of the job; null where memory is unlimited
    std::unique_ptr<Ticks[]> next_message;        ///< by NIC; null where there is no gap
    std::unique_ptr<std::uint32_t[]> unexpected;  ///< by rank; null where they cost nothing
    Pages<InjectionMeter> injections;             ///< by NIC: what its link carries; null where links are not counted
    std::unique_ptr<Unpacking> unpacking;         ///< null where it takes no time

    [[nodiscard]] double imbalance(std::uint32_t places) const {
        return tramontane::imbalance(nodes.get(), places, ranks);
    }
};

}  // namespace tramontane
