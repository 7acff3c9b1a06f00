/// \file
/// The wires of a network, with the ports at both ends, as SST/macro wants to be told them. Knows nothing of SST/macro.
#pragma once

#include <vector>

#include "topologies/topology.hpp"

namespace tramontane::sst {

/// A link as it leaves a switch.
struct Wire {
    SwitchId to;
    Port port;  ///< of this switch
    Port back;  ///< of the other one: where the link comes in, and by which it sends this way
};

/// The ports of a switch that lead to another one, in order.
[[nodiscard]] inline std::vector<Port> ports_to(const Topology& topology, SwitchId from, SwitchId to) {
    std::vector<Port> ports;
    for (Port port = 0; port < topology.wired_ports(); ++port) {
        if (has_link(topology, from, port) && topology.neighbour(from, port) == to) ports.push_back(port);
    }
    return ports;
}

/// All that leave a switch. Of parallel links, the first here is the first there.
[[nodiscard]] inline std::vector<Wire> wires_of(const Topology& topology, SwitchId at) {
    std::vector<Wire> wires;
    std::vector<bool> seen(topology.wired_ports());
    for (Port port = 0; port < topology.wired_ports(); ++port) {
        if (seen[port] || !has_link(topology, at, port)) continue;
        const SwitchId to = topology.neighbour(at, port);
        const std::vector<Port> there = ports_to(topology, at, to), back = ports_to(topology, to, at);
        for (std::size_t i = 0; i < there.size() && i < back.size(); ++i) {
            seen[there[i]] = true;
            wires.push_back({to, there[i], back[i]});
        }
    }
    return wires;
}

}  // namespace tramontane::sst
