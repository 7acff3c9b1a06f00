#include "network.hpp"

#include <sprockit/errors.h>
#include <sprockit/sim_parameters.h>

#include <numeric>
#include <stdexcept>

#include "wires.hpp"

namespace tramontane::sst {
namespace {

/// PISCES keeps a packet's port in eight bits; packets to the others would go astray without a word.
constexpr int most_ports = 256;

Machine described(SST::Params& params) {
    Machine machine;
    machine.topology = params.find<std::string>("family");
    std::vector<int> sizes;
    if (params.contains("geometry")) params.find_array("geometry", sizes);
    machine.geometry.assign(sizes.begin(), sizes.end());
    machine.nodes_per_switch = params.find<long>("nodes_per_switch", 0);
    machine.global_links = params.find<long>("global_links", 0);
    machine.arrangement = params.find<std::string>("arrangement", "");
    machine.table = params.find<std::string>("table", "");
    std::vector<std::string> classes;
    if (params.contains("parallel_links")) params.find_array("parallel_links", classes);
    for (const std::string& each : classes) {
        const std::size_t colon = each.find(':');
        machine.parallel_links.push_back({each.substr(0, colon), std::stol(each.substr(colon + 1))});
    }
    return machine;
}

}  // namespace

Network::Network(SST::Params& params) : Topology(params) {
    try {
        network_ = make_topology(described(params));
    } catch (const std::invalid_argument& mistake) {
        throw sprockit::InputError(std::string("tramontane: ") + mistake.what());
    }
    if (maxNumPorts() > most_ports) {
        throw sprockit::InputError("tramontane: " + std::to_string(maxNumPorts()) +
                                   " ports a switch, of which PISCES numbers " + std::to_string(most_ports));
    }
    nodes_of_.resize(network_->switches());
    for (NodeId node = 0; node < network_->nodes(); ++node) nodes_of_[network_->switch_of(node)].push_back(node);
    std::vector<NodeId> used(static_cast<std::size_t>(params.find<long>("used", network_->nodes())));
    std::iota(used.begin(), used.end(), NodeId{0});
    network_->expect(used);
}

void Network::connectedOutports(sstmac::SwitchId at, std::vector<Connection>& links) const {
    links.clear();
    for (const Wire& wire : wires_of(*network_, at)) links.push_back({at, wire.to, wire.port, wire.back});
}

void Network::endpointsConnectedToInjectionSwitch(sstmac::SwitchId at, std::vector<InjectionPort>& nodes) const {
    nodes.clear();
    for (const NodeId node : nodes_of_[at]) nodes.push_back({node, network_->ejection_port(node), 0});
}

}  // namespace tramontane::sst
