/// \file
/// The simulator's routings as a router of SST/macro, on the simulator's networks.
///
/// Random choices are functions of the seed, the source's switch and the number of the packet there, because the seeded
/// draw of SST/macro's routers is a function of the time: all packets that are routed at an instant get the same one.

#include "rules/routing.hpp"

#include <sprockit/errors.h>
#include <sprockit/sim_parameters.h>
#include <sstmac/hardware/network/network_message_fwd.h>
#include <sstmac/hardware/router/router.h>
#include <sstmac/hardware/switch/network_switch.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "network.hpp"

namespace tramontane::sst {
namespace {

/// What a packet remembers of its route; fresh packets have zeros.
struct Header : public sstmac::hw::Packet::Header {
    std::uint16_t dimension : 6;
    std::uint16_t crossed : 1;
    std::uint16_t aims : 1;
    std::uint16_t stage : 2;
    std::uint16_t leg : 2;
    std::uint16_t hops : 4;
    std::uint32_t via;
    std::uint32_t draw;  ///< its random number; 0: none yet

    void keep(const Route& route) {
        dimension = route.trail.dimension & 0x3FU;
        crossed = route.trail.crossed;
        aims = route.trail.aims;
        stage = static_cast<std::uint16_t>(route.stage) & 3U;
        leg = route.leg & 3U;
        hops = route.hops & 0xFU;
        via = route.via;
    }
    [[nodiscard]] Route route(NodeId destination) const {
        Route route;
        route.destination = destination;
        route.via = via;
        route.trail = {static_cast<std::uint8_t>(dimension), crossed != 0, aims != 0};
        route.stage = static_cast<Route::Stage>(stage);
        route.leg = static_cast<std::uint8_t>(leg);
        route.hops = static_cast<std::uint8_t>(hops);
        return route;
    }
};

constexpr int most_channels = 16;  // PISCES keeps a packet's in four bits

}  // namespace

class NetworkRouter final : public sstmac::hw::Router {
public:
    SST_ELI_REGISTER_DERIVED(Router, NetworkRouter, "macro", "tramontane", SST_ELI_ELEMENT_VERSION(1, 0, 0),
                             "routings of Tramontane")

    NetworkRouter(SST::Params& params, sstmac::hw::Topology* topology, sstmac::hw::NetworkSwitch* here)
        : Router(params, topology, here),
          rules_(network_of(topology), params.find<std::string>("routing")),
          seed_(static_cast<std::uint64_t>(params.find<long>("seed", 1))) {
        if (numVC() > most_channels) {
            throw sprockit::InputError("tramontane: " + std::to_string(numVC()) +
                                       " virtual channels, of which PISCES numbers " + std::to_string(most_channels));
        }
    }

    std::string toString() const override { return "router of Tramontane"; }
    int numVC() const override { return rules_.channels(); }

    void route(sstmac::hw::Packet* packet) override {
        auto* const header = packet->rtrHeader<Header>();
        if (header->draw == 0) header->draw = static_cast<std::uint32_t>(random_bits(seed_, my_addr_, ++packets_)) | 1U;
        Route way = header->route(packet->toaddr());
        const Hop hop = rules_.next(my_addr_, way, Draw(mix(header->draw)), View{*this});
        header->keep(way);
        packet->setEdgeOutport(hop.port);
        packet->setDeadlockVC(hop.channel);
    }

private:
    /// What the rules may know of this switch.
    struct View {
        NetworkRouter& here;
        [[nodiscard]] std::uint64_t queue(SwitchId, Port port) const {
            return static_cast<std::uint64_t>(here.netsw_->queueLength(port, all_vcs));
        }
        [[nodiscard]] std::uint64_t queue_anywhere(SwitchId, Port) const {
            throw std::invalid_argument("tramontane: a router of SST/macro sees no other switch's queues");
        }
        [[nodiscard]] bool less(std::uint64_t a, std::uint64_t b) const { return a < b; }
        [[nodiscard]] std::uint32_t turn(std::uint32_t counter) const { return here.turns_[counter]++; }
    };

    static const tramontane::Topology& network_of(sstmac::hw::Topology* topology) {
        const auto* const network = dynamic_cast<Network*>(topology);
        if (network == nullptr) sprockit::abort("router tramontane: a router of topology tramontane only");
        return network->network();
    }

    tramontane::Router rules_;
    std::uint64_t seed_, packets_ = 0;
    std::unordered_map<std::uint32_t, std::uint32_t> turns_;  ///< of ports that are taken in turn
};

}  // namespace tramontane::sst
