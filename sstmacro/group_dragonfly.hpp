/// \file
/// The dragonfly of Zheng & Marguinaud 2018 (Fig. 2c, Table 1) as a topology of SST/macro.
///
/// Release 16.0's own (`cascade`) is wired by one rule and routed by another, and loses packets without a word. This
/// one has both rules here: groups of X x Y switches, all-to-all linked along each row and column, and each switch
/// linked to its counterpart in every other group.
#pragma once

#include <sstmac/hardware/topology/structured_topology.h>

#include <string>
#include <vector>

namespace tramontane::sst {

/// Switch (x, y, g) is x + X (y + Y g). Ports: by column x, by row y, by group g, then the nodes; those that would lead
/// to the switch itself are unused.
///
/// Parameters: `name = tramontane_dragonfly`, `geometry = [X,Y,G]`, `concentration`.
class GroupDragonfly final : public sstmac::hw::StructuredTopology {
public:
    SPKT_REGISTER_DERIVED(sstmac::hw::Topology, GroupDragonfly, "macro", "tramontane_dragonfly",
                          "dragonfly with two-dimensional groups and a link of each switch to each other group")

    explicit GroupDragonfly(SST::Params& params);

    std::string toString() const override { return "dragonfly with two-dimensional groups"; }
    sstmac::SwitchId numSwitches() const override { return x_ * y_ * groups_; }
    sstmac::SwitchId numLeafSwitches() const override { return numSwitches(); }
    int maxNumPorts() const override { return firstNodePort() + concentration(); }
    int diameter() const override { return 3; }
    int numHopsToNode(sstmac::NodeId from, sstmac::NodeId to) const override {
        return distance(static_cast<int>(from) / concentration(), static_cast<int>(to) / concentration());
    }
    void connectedOutports(sstmac::SwitchId at, std::vector<Connection>& links) const override;
    void endpointsConnectedToInjectionSwitch(sstmac::SwitchId at, std::vector<InjectionPort>& nodes) const override;

    int firstNodePort() const { return x_ + y_ + groups_; }
    int groups() const { return groups_; }
    int switchesInGroup() const { return x_ * y_; }
    int groupOf(int at) const { return at / switchesInGroup(); }

    /// Links on the shortest way.
    int distance(int from, int to) const;
    /// Port to the next switch on the minimal way: own global link, then x, then y.
    int portTowards(int at, int to) const;

private:
    struct Place {
        int x, y, g;
    };
    Place place(int at) const { return {at % x_, at / x_ % y_, at / x_ / y_}; }

    int x_ = 1, y_ = 1, groups_ = 1;
};

}  // namespace tramontane::sst
