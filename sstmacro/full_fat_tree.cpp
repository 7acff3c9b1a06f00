#include "full_fat_tree.hpp"

#include <sprockit/errors.h>
#include <sprockit/sim_parameters.h>
#include <sstmac/hardware/router/router.h>

#include <cstdint>
#include <limits>

#include "ports.hpp"

namespace tramontane::sst {

FullFatTree::FullFatTree(SST::Params& params) : StructuredTopology(params) {
    std::vector<int> sizes;
    params.find_array("geometry", sizes);
    if (sizes.size() != 2 || sizes[0] < 1 || sizes[0] > most_levels || sizes[1] < 1) {
        throw sprockit::InputError("tramontane_fattree: geometry must be [levels,down ports], levels up to 31");
    }
    levels_ = sizes[0];
    down_ = sizes[1];
    require_numbered_ports("tramontane_fattree", maxNumPorts());
    if (concentration() != down_) {
        throw sprockit::InputError("tramontane_fattree: concentration must be the number of down ports");
    }
    std::int64_t power = 1;
    for (int exponent = 0; exponent <= levels_; ++exponent, power *= down_) {
        if (power * levels_ > std::numeric_limits<int>::max()) {
            throw sprockit::InputError("tramontane_fattree: 2^31 switches or nodes and more");
        }
        power_[static_cast<std::size_t>(exponent)] = static_cast<int>(power);
    }
}

void FullFatTree::connectedOutports(sstmac::SwitchId at, std::vector<Connection>& links) const {
    links.clear();
    const int level = static_cast<int>(at) / width(), label = static_cast<int>(at) % width();
    const auto link = [&](int to_level, int to_label, int port, int back) {
        links.push_back({at, sstmac::SwitchId(to_level * width() + to_label), port, back});
    };
    // The port at the other end is the one that leads back here: it sets the digit to what it is here.
    for (int port = 0; level > 0 && port < down_; ++port) {
        link(level - 1, withDigit(label, level - 1, port), port, down_ + digit(label, level - 1));
    }
    for (int port = 0; level + 1 < levels_ && port < down_; ++port) {
        link(level + 1, withDigit(label, level, port), down_ + port, digit(label, level));
    }
}

void FullFatTree::endpointsConnectedToInjectionSwitch(sstmac::SwitchId at, std::vector<InjectionPort>& nodes) const {
    nodes.clear();
    if (static_cast<int>(at) >= width()) return;
    for (int port = 0; port < down_; ++port) {
        nodes.push_back({sstmac::NodeId(at * down_ + port), port, 0});
    }
}

int FullFatTree::numHopsToNode(sstmac::NodeId from, sstmac::NodeId to) const {
    int up = 0;
    while (static_cast<int>(from) / power(up + 1) != static_cast<int>(to) / power(up + 1)) ++up;
    return 2 * up;
}

int FullFatTree::portTowards(int at, int node) const {
    const int level = at / width(), label = at % width();
    const bool below = label / power(level) == node / power(level + 1);
    return (below ? 0 : down_) + digit(node, level);
}

class DModKRouter final : public sstmac::hw::Router {
public:
    SST_ELI_REGISTER_DERIVED(Router, DModKRouter, "macro", "tramontane_fattree_d_mod_k",
                             SST_ELI_ELEMENT_VERSION(1, 0, 0), "D-mod-k on tramontane_fattree")

    DModKRouter(SST::Params& params, sstmac::hw::Topology* topology, sstmac::hw::NetworkSwitch* here)
        : Router(params, topology, here), tree_(dynamic_cast<FullFatTree*>(topology)) {
        if (tree_ == nullptr) sprockit::abort("tramontane_fattree_d_mod_k: a router of tramontane_fattree only");
    }

    std::string toString() const override { return "tramontane fat tree router"; }
    int numVC() const override { return 1; }

    void route(sstmac::hw::Packet* packet) override {
        packet->setEdgeOutport(tree_->portTowards(static_cast<int>(my_addr_), static_cast<int>(packet->toaddr())));
        packet->setDeadlockVC(0);
    }

private:
    FullFatTree* tree_;
};

}  // namespace tramontane::sst
