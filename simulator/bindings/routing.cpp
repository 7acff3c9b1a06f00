/// \file
/// Routes of a canonical machine, for tests and for looking at networks.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "machine_dict.hpp"
#include "simulation.hpp"
#include "topologies/route_walk.hpp"

namespace nb = nanobind;

namespace tramontane::bindings {
namespace {

struct Network {
    explicit Network(const nb::dict& dict)
        : machine(machine_from_dict(dict)), topology(make_topology(machine)), router(*topology, machine.routing) {}
    void check(NodeId node) const {
        if (node >= topology->nodes()) throw std::invalid_argument("no node " + std::to_string(node));
    }

    Machine machine;
    std::unique_ptr<Topology> topology;
    Router router;
};

/// The switches a packet visits on the minimal route between two nodes.
std::vector<SwitchId> minimal_route(const nb::dict& dict, NodeId from, NodeId to) {
    const Network net(dict);
    net.check(from);
    net.check(to);
    const SwitchId target = net.topology->switch_of(to);
    std::vector<SwitchId> route{net.topology->switch_of(from)};
    Trail trail;
    while (route.back() != target) {
        const Hop hop = net.topology->towards(route.back(), target, to, trail, Draw(0));
        route.push_back(net.topology->neighbour(route.back(), hop.port));
    }
    return route;
}

using Hops = std::vector<std::tuple<SwitchId, int, int>>;

/// All routes between two nodes, each once.
std::vector<Hops> routes(const nb::dict& dict, NodeId from, NodeId to) {
    const Network net(dict);
    net.check(from);
    net.check(to);
    std::set<Hops> found;
    walk_routes(*net.topology, net.router, from, to, [&](const Walk& walk) {
        Hops hops;
        for (const Step& step : walk) hops.emplace_back(step.at, step.port, step.channel);
        found.insert(std::move(hops));
    });
    return {found.begin(), found.end()};
}

/// Which virtual channel of which link a packet may wait for while it holds another, over all routes of the network.
/// Channels between switches are numbered (switch, port, virtual channel).
std::vector<std::pair<std::uint32_t, std::uint32_t>> channel_dependencies(const nb::dict& dict) {
    const Network net(dict);
    const Topology& topology = *net.topology;
    const auto number = [&](const Step& s) {
        return (s.at * std::uint32_t{topology.ports()} + s.port) * net.router.channels() + s.channel;
    };
    std::unordered_set<std::uint64_t> found;
    for (NodeId from = 0; from < topology.nodes(); ++from) {
        // Where a route goes depends on the switch it begins at, not on the node.
        if (from > 0 && topology.switch_of(from) == topology.switch_of(from - 1)) continue;
        for (NodeId to = 0; to < topology.nodes(); ++to) {
            walk_routes(topology, net.router, from, to, [&](const Walk& walk) {
                for (std::size_t i = 2; i < walk.size(); ++i) {  // the last step ejects, and nodes always take
                    found.insert(std::uint64_t{number(walk[i - 2])} << 32 | number(walk[i - 1]));
                }
            });
        }
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    pairs.reserve(found.size());
    for (const std::uint64_t pair : found) {
        pairs.emplace_back(static_cast<std::uint32_t>(pair >> 32), static_cast<std::uint32_t>(pair));
    }
    return pairs;
}

/// The switch behind each port of a switch; itself where there is none.
std::vector<SwitchId> neighbours(const nb::dict& dict, SwitchId at, const std::vector<int>& ports) {
    const Network net(dict);
    if (at >= net.topology->switches()) throw std::invalid_argument("no switch " + std::to_string(at));
    std::vector<SwitchId> result;
    result.reserve(ports.size());
    for (const int port : ports) result.push_back(net.topology->neighbour(at, static_cast<Port>(port)));
    return result;
}

}  // namespace
}  // namespace tramontane::bindings

void bind_routing(nb::module_& module) {
    using namespace nb::literals;
    namespace b = tramontane::bindings;
    module.def("minimal_route", &b::minimal_route, "machine"_a, "source"_a, "destination"_a,
               "Switches on a minimal route from one node to another, in order.");
    module.def("routes", &b::routes, "machine"_a, "source"_a, "destination"_a,
               "Every route from one node to another as a list of (switch, port, virtual channel); the last port is "
               "the destination's.");
    module.def("channel_dependencies", &b::channel_dependencies, "machine"_a,
               "Pairs of virtual channels, numbered over all links, of which a packet may hold the first while it "
               "waits for the second.");
    module.def("neighbours", &b::neighbours, "machine"_a, "switch"_a, "ports"_a,
               "The switches behind ports of a switch that lead to switches.");
}
