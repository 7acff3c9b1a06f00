/// \file
/// Which LPs each part of a simulation has, where several threads simulate one point.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/event_queue.hpp"
#include "placement/allocation.hpp"
#include "topologies/topology.hpp"

namespace tramontane {

/// A node belongs to its switch's part, so that only what passes between switches may change parts. Switches whose
/// nodes have ranks are cut into blocks of neighbours, several for each part: traffic between neighbours stays in a
/// part, and parts are equally busy even where not all ranks are (an allreduce whose number of ranks is no power of the
/// radix). The part with the fewest ranks so far gets the next block, and blocks become smaller, down to one switch: so
/// parts have as many ranks as each other, to within those of a switch or two. What the other switches have to do
/// depends on the routing; every one goes to another part in turn.
class Partition {
public:
    /// \param parts that are wanted, at most 256; there are no more than switches whose nodes have ranks
    /// \param nodes of the job
    Partition(const Topology& topology, const Allocation& allocation, std::uint32_t nodes, std::uint32_t parts)
        : owners_(std::size_t{topology.switches()} + nodes) {
        const SwitchId switches = topology.switches();
        std::vector<std::uint32_t> nodes_at(switches);
        for (std::uint32_t node = 0; node < nodes; ++node) ++nodes_at[topology.switch_of(allocation.node(node))];
        std::vector<SwitchId> occupied, others;
        for (SwitchId at = 0; at < switches; ++at) (nodes_at[at] > 0 ? occupied : others).push_back(at);
        parts_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(parts, occupied.size()));
        std::vector<std::uint64_t> loads(parts_);
        for (std::size_t next = 0; next < occupied.size();) {
            const auto part = std::min_element(loads.begin(), loads.end()) - loads.begin();
            const std::size_t block = std::max<std::size_t>(1, (occupied.size() - next) / (blocks_a_part * parts_));
            for (const std::size_t end = next + block; next < end; ++next) {
                owners_[occupied[next]] = static_cast<std::uint8_t>(part);
                loads[static_cast<std::size_t>(part)] += nodes_at[occupied[next]];
            }
        }
        for (std::size_t i = 0; i < others.size(); ++i) owners_[others[i]] = static_cast<std::uint8_t>(i % parts_);
        for (std::uint32_t node = 0; node < nodes; ++node) {
            owners_[switches + node] = owners_[topology.switch_of(allocation.node(node))];
        }
    }

    [[nodiscard]] std::uint32_t parts() const { return parts_; }
    [[nodiscard]] std::uint32_t of(LpId lp) const { return owners_[lp]; }

private:
    static constexpr std::uint64_t blocks_a_part = 16;  // about as many, and some of one switch

    std::uint32_t parts_;
    std::vector<std::uint8_t> owners_;  // by LP
};

}  // namespace tramontane
