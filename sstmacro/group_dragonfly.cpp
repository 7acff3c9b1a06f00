#include "group_dragonfly.hpp"

#include <sprockit/errors.h>
#include <sprockit/sim_parameters.h>

#include "ports.hpp"

namespace tramontane::sst {

GroupDragonfly::GroupDragonfly(SST::Params& params) : StructuredTopology(params) {
    std::vector<int> sizes;
    params.find_array("geometry", sizes);
    if (sizes.size() != 3 || sizes[0] < 1 || sizes[1] < 1 || sizes[2] < 1) {
        throw sprockit::InputError("tramontane_dragonfly: geometry must be [X,Y,groups], each 1 or more");
    }
    x_ = sizes[0];
    y_ = sizes[1];
    groups_ = sizes[2];
    require_numbered_ports("tramontane_dragonfly", maxNumPorts());
}

void GroupDragonfly::connectedOutports(sstmac::SwitchId at, std::vector<Connection>& links) const {
    links.clear();
    const Place own = place(static_cast<int>(at));
    const auto link = [&](Place other, int port, int back) {
        const int to = other.x + x_ * (other.y + y_ * other.g);
        links.push_back({at, sstmac::SwitchId(to), port, back});
    };
    // The port at the other end is the one that leads back here.
    for (int x = 0; x < x_; ++x) {
        if (x != own.x) link({x, own.y, own.g}, x, own.x);
    }
    for (int y = 0; y < y_; ++y) {
        if (y != own.y) link({own.x, y, own.g}, x_ + y, x_ + own.y);
    }
    for (int g = 0; g < groups_; ++g) {
        if (g != own.g) link({own.x, own.y, g}, x_ + y_ + g, x_ + y_ + own.g);
    }
}

void GroupDragonfly::endpointsConnectedToInjectionSwitch(sstmac::SwitchId at, std::vector<InjectionPort>& nodes) const {
    nodes.clear();
    for (int i = 0; i < concentration(); ++i) {
        nodes.push_back({sstmac::NodeId(at * concentration() + i), firstNodePort() + i, 0});
    }
}

int GroupDragonfly::distance(int from, int to) const {
    const Place a = place(from), b = place(to);
    return (a.x != b.x) + (a.y != b.y) + (a.g != b.g);
}

int GroupDragonfly::portTowards(int at, int to) const {
    const Place a = place(at), b = place(to);
    if (a.g != b.g) return x_ + y_ + b.g;
    if (a.x != b.x) return b.x;
    return x_ + b.y;
}

}  // namespace tramontane::sst
