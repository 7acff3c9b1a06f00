/// \file
/// The full fat tree of Zheng & Marguinaud 2018 (Fig. 2b) with D-mod-k routing, of any height.
///
/// Release 16.0's own tree has three levels and takes the up ports in turn.
#pragma once

#include <sstmac/hardware/topology/structured_topology.h>

#include <array>
#include <string>
#include <vector>

namespace tramontane::sst {

/// n levels of d^(n-1) switches with d ports down and d up (those of the top level unused); d^n nodes. Switch s of
/// level l is l d^(n-1) + s; its label s has n-1 digits of base d. Up from level l, digit l becomes the number of the
/// up port; down to level l, digit l becomes the number of the down port. Ports: down, then up.
///
/// Parameters: `name = tramontane_fattree`, `geometry = [n,d]`, `concentration = d`.
class FullFatTree final : public sstmac::hw::StructuredTopology {
public:
    SPKT_REGISTER_DERIVED(sstmac::hw::Topology, FullFatTree, "macro", "tramontane_fattree",
                          "full fat tree of any height")

    explicit FullFatTree(SST::Params& params);

    std::string toString() const override { return "full fat tree"; }
    sstmac::SwitchId numSwitches() const override { return levels_ * width(); }
    sstmac::SwitchId numLeafSwitches() const override { return width(); }
    int maxNumPorts() const override { return 2 * down_; }
    int diameter() const override { return 2 * (levels_ - 1); }
    int numHopsToNode(sstmac::NodeId from, sstmac::NodeId to) const override;
    void connectedOutports(sstmac::SwitchId at, std::vector<Connection>& links) const override;
    void endpointsConnectedToInjectionSwitch(sstmac::SwitchId at, std::vector<InjectionPort>& nodes) const override;

    /// D-mod-k (Zahavi et al. 2010): up by the digit of the destination that the level decides, until it lies below.
    int portTowards(int at, int node) const;

private:
    static constexpr int most_levels = 31;

    int width() const { return power_[static_cast<std::size_t>(levels_ - 1)]; }
    int power(int exponent) const { return power_[static_cast<std::size_t>(exponent)]; }
    int digit(int number, int position) const { return number / power(position) % down_; }
    int withDigit(int label, int position, int value) const {
        return label + (value - digit(label, position)) * power(position);
    }

    int levels_ = 1, down_ = 1;
    std::array<int, most_levels + 1> power_{};
};

}  // namespace tramontane::sst
