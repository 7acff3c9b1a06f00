/// \file
/// The simulator's networks as a topology of SST/macro, so that both send along the same wires.
#pragma once

#include <sstmac/hardware/topology/topology.h>

#include <memory>
#include <string>
#include <vector>

#include "topologies/topology.hpp"

namespace tramontane::sst {

/// Any network that `make_topology` makes; switches, ports and nodes have the numbers that they have there.
///
/// Parameters: `name = tramontane`, and of a machine file `family` (its `topology`), `geometry`, `nodes_per_switch`,
/// `global_links`, `arrangement`, `table` and `parallel_links` (`[class:links,...]`), as far as the family has them;
/// `used`: the first so many nodes have ranks.
class Network final : public sstmac::hw::Topology {
public:
    SPKT_REGISTER_DERIVED(sstmac::hw::Topology, Network, "macro", "tramontane", "networks of Tramontane");

    /// \throws sprockit::InputError with one line for a network that can't be, or that PISCES can't number
    explicit Network(SST::Params& params);

    [[nodiscard]] const tramontane::Topology& network() const { return *network_; }

    std::string toString() const override { return "network of Tramontane"; }
    sstmac::SwitchId numSwitches() const override { return network_->switches(); }
    sstmac::SwitchId maxSwitchId() const override { return network_->switches(); }
    sstmac::NodeId numNodes() const override { return network_->nodes(); }
    sstmac::NodeId maxNodeId() const override { return network_->nodes(); }
    int maxNumPorts() const override { return network_->ports(); }
    int numHopsToNode(sstmac::NodeId from, sstmac::NodeId to) const override {
        return static_cast<int>(network_->distance(network_->switch_of(from), network_->switch_of(to)));
    }
    sstmac::SwitchId endpointToSwitch(sstmac::NodeId node) const override { return network_->switch_of(node); }
    void connectedOutports(sstmac::SwitchId at, std::vector<Connection>& links) const override;
    void endpointsConnectedToInjectionSwitch(sstmac::SwitchId at, std::vector<InjectionPort>& nodes) const override;
    void endpointsConnectedToEjectionSwitch(sstmac::SwitchId at, std::vector<InjectionPort>& nodes) const override {
        endpointsConnectedToInjectionSwitch(at, nodes);
    }

private:
    std::unique_ptr<tramontane::Topology> network_;
    std::vector<std::vector<NodeId>> nodes_of_;  ///< by switch
};

}  // namespace tramontane::sst
