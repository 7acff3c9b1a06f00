/// \file
/// All that does not change in a simulation: network, routing, and where ranks are.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine.hpp"
#include "placement/allocation.hpp"
#include "placement/places.hpp"
#include "random.hpp"
#include "rules/events.hpp"
#include "rules/routing.hpp"
#include "schedule.hpp"
#include "simulation.hpp"
#include "topologies/topology.hpp"

namespace tramontane {

inline void check(const Machine& m, const Schedule& schedule, const Router& router) {
    if (m.buffer > std::numeric_limits<std::int32_t>::max()) {  // a channel counts its free bytes in 32 bits
        throw std::invalid_argument("machine.buffer: at most 2^31 - 1 B");
    }
    if (m.buffer / router.channels() < m.packet) {  // would deadlock
        throw std::invalid_argument("machine.buffer: " + std::to_string(m.buffer) + " B over " +
                                    std::to_string(router.channels()) + " virtual channels hold no packet of " +
                                    std::to_string(m.packet) + " B");
    }
    if (m.packet < 1 || m.packet > 1'000'000'000)
        throw std::invalid_argument("machine.packet: must lie in 1 B ... 1 GB");
    if (m.hardware_progress && schedule.receives_in_turn()) {
        // A network interface would have to wait for a busy rank to post its next receive.
        throw std::invalid_argument(
            "machine.protocol.progress: found hardware with receives in turn (calls: isend-recv), allowed: calls");
    }
}

/// \throws std::invalid_argument for what keeps no checkpoint
inline void check_keeping(const Run& run, const Keeping& keeping) {
    if (keeping.wanted && (run.waiting_bins > 0 || !run.timeline.empty())) {
        throw std::invalid_argument("statistics.waiting: keeps no checkpoint");
    }
}

[[nodiscard]] inline std::uint32_t checked_ranks(std::int64_t ranks) {
    if (ranks >= max_ranks) throw std::invalid_argument("ranks: at most " + std::to_string(max_ranks - 1));
    return static_cast<std::uint32_t>(ranks);
}

/// When a rank starts.
[[nodiscard]] inline Ticks start_of(std::uint32_t rank, const Run& run) {
    return below(random_bits(~run.seed, rank, 0), from_picoseconds(run.start_jitter) + 1);
}

struct Setting {
    /// \throws std::invalid_argument or Refusal for what can't be
    Setting(const Machine& machine, const Schedule& schedule, const Run& run)
        : topology(make_topology(machine)),
          router(*topology, machine.routing),
          ranks(checked_ranks(schedule.ranks())),
          places(run.places, ranks, machine),
          allocation(run.allocation, places.nodes(), *topology, run.seed, places.nics()) {
        check(machine, schedule, router);
        topology->expect(all_nodes());
    }

    /// Calls `start(time, lp, code)` for each rank.
    template <class Start>
    void each_start(const Run& run, Start&& start) const {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            const Address address = places.address(places.of(rank));
            start(start_of(rank, run), topology->switches() + address.node, node_code(EventKind::start, address.local));
        }
    }

    const std::unique_ptr<Topology> topology;
    const Router router;
    const std::uint32_t ranks;
    const Places places;
    const Allocation allocation;

private:
    /// NICs of the job, each a node of the topology.
    [[nodiscard]] std::vector<NodeId> all_nodes() const {
        std::vector<NodeId> all;
        for (std::uint32_t node = 0; node < places.nodes(); ++node) {
            for (std::uint32_t nic = 0; nic < places.nics(); ++nic) all.push_back(allocation.node(node, nic));
        }
        return all;
    }
};

}  // namespace tramontane
