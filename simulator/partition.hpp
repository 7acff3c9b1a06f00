/// \file
/// Which LPs each part of a simulation has, where several threads simulate one point.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "allocation.hpp"
#include "event_queue.hpp"
#include "topology.hpp"

namespace tramontane {

/// A node belongs to its switch's part, so that only what passes between switches may change parts. Switches whose
/// nodes have ranks are cut into blocks of neighbours, some for each part: traffic between neighbours stays in a part,
/// and parts are equally busy even where not all ranks are (an allreduce whose number of ranks is no power of the
/// radix). What the other switches have to do depends on the routing; every one goes to another part in turn.
class Partition {
public:
    /// \param parts that are wanted, at most 256; there are no more than switches whose nodes have ranks
    /// \param nodes of the job
    Partition(const Topology& topology, const Allocation& allocation, std::uint32_t nodes, std::uint32_t parts)
        : owners_(std::size_t{topology.switches()} + nodes) {
        const SwitchId switches = topology.switches();
        std::vector<bool> occupied(switches);
        for (std::uint32_t node = 0; node < nodes; ++node) occupied[topology.switch_of(allocation.node(node))] = true;
        const auto all = static_cast<std::uint64_t>(std::count(occupied.begin(), occupied.end(), true));
        parts_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(parts, all));
        const std::uint64_t blocks = parts_ * std::min<std::uint64_t>(blocks_a_part, all / parts_);
        std::uint64_t with_ranks = 0, without = 0;
        for (SwitchId at = 0; at < switches; ++at) {
            owners_[at] = static_cast<std::uint8_t>((occupied[at] ? with_ranks++ * blocks / all : without++) % parts_);
        }
        for (std::uint32_t node = 0; node < nodes; ++node) {
            owners_[switches + node] = owners_[topology.switch_of(allocation.node(node))];
        }
    }

    [[nodiscard]] std::uint32_t parts() const { return parts_; }
    [[nodiscard]] std::uint32_t of(LpId lp) const { return owners_[lp]; }

private:
    static constexpr std::uint64_t blocks_a_part = 8;

    std::uint32_t parts_;
    std::vector<std::uint8_t> owners_;  // by LP
};

}  // namespace tramontane
