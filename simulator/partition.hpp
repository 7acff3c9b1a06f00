/// \file
/// Which places each part of a simulation has, where several threads simulate one point.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "allocation.hpp"
#include "event_queue.hpp"
#include "topology.hpp"

namespace tramontane {

/// A node belongs to its switch's part, so that only what passes between switches may change parts. Switches whose
/// nodes have ranks are cut into blocks of neighbours with equally many ranks: traffic between neighbours stays in a
/// part. What the other switches have to do depends on the routing; every one goes to another part in turn.
class Partition {
public:
    /// \param parts that are wanted; there are no more than switches whose nodes have ranks
    Partition(const Topology& topology, const Allocation& allocation, std::uint32_t ranks, std::uint32_t parts)
        : owners_(std::size_t{topology.switches()} + ranks) {
        const SwitchId switches = topology.switches();
        std::vector<std::uint32_t> ranks_at(switches);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) ++ranks_at[topology.switch_of(allocation.node(rank))];
        const auto occupied = switches - std::count(ranks_at.begin(), ranks_at.end(), 0U);
        parts_ = static_cast<std::uint32_t>(std::min<std::int64_t>(parts, occupied));
        std::uint64_t before = 0;
        std::uint32_t others = 0;
        for (SwitchId at = 0; at < switches; ++at) {
            const std::uint64_t part = ranks_at[at] > 0 ? before * parts_ / ranks : others++ % parts_;
            owners_[at] = static_cast<std::uint8_t>(part);
            before += ranks_at[at];
        }
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            owners_[switches + rank] = owners_[topology.switch_of(allocation.node(rank))];
        }
    }

    [[nodiscard]] std::uint32_t parts() const { return parts_; }
    [[nodiscard]] std::uint32_t of(Place place) const { return owners_[place]; }

private:
    std::uint32_t parts_;
    std::vector<std::uint8_t> owners_;  // by place
};

}  // namespace tramontane
