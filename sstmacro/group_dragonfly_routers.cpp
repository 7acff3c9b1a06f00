/// \file
/// Minimal, Valiant's and UGAL's routing on the dragonfly with two-dimensional groups.
///
/// Random switches come from a generator of each switch's own (SplitMix64 of seed and switch), because the seeded draw
/// of SST/macro's routers is a function of the time: all packets that are routed at an instant get the same one.

#include <sstmac/hardware/network/network_message_fwd.h>
#include <sstmac/hardware/router/router.h>
#include <sstmac/hardware/switch/network_switch.h>

#include <sprockit/sim_parameters.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "group_dragonfly.hpp"
#include "random.hpp"

namespace tramontane::sst {
namespace {

/// One of `range` numbers, but neither `first` nor `second` (which may be equal).
int skip(int pick, int first, int second) {
    if (pick >= std::min(first, second)) ++pick;
    if (first != second && pick >= std::max(first, second)) ++pick;
    return pick;
}

/// What a packet remembers; fresh packets have zeros.
struct Header : public sstmac::hw::Packet::Header {
    std::uint8_t stage;    ///< 0: undecided, 1: to the intermediate switch, 2: to the destination
    std::uint8_t second;   ///< 1 behind an intermediate switch
    std::uint8_t crossed;  ///< 1 behind the global link of this leg
    std::uint32_t via;
};

}  // namespace

/// Own global link, then x, then y. Second virtual channel behind the global link.
class MinimalRouter : public sstmac::hw::Router {
public:
    SST_ELI_REGISTER_DERIVED(Router, MinimalRouter, "macro", "tramontane_dragonfly_minimal",
                             SST_ELI_ELEMENT_VERSION(1, 0, 0), "minimal routing on tramontane_dragonfly")

    MinimalRouter(SST::Params& params, sstmac::hw::Topology* topology, sstmac::hw::NetworkSwitch* here)
        : Router(params, topology, here), network_(dynamic_cast<GroupDragonfly*>(topology)) {
        if (network_ == nullptr)
            sprockit::abort("tramontane_dragonfly_*: routers of topology tramontane_dragonfly only");
    }

    std::string toString() const override { return "tramontane dragonfly router"; }
    int numVC() const override { return 2; }

    void route(sstmac::hw::Packet* packet) override {
        auto* header = packet->rtrHeader<Header>();
        const int node = static_cast<int>(packet->toaddr());
        const int here = static_cast<int>(my_addr_), target = node / network_->concentration();
        // A packet that meets its destination's switch on the way elsewhere is ejected there.
        if (here == target) {
            header->edge_port =
                static_cast<std::uint16_t>(network_->firstNodePort() + node % network_->concentration());
            header->deadlock_vc = 0;
            return;
        }
        if (header->stage == 0) decide(*header, here, target);
        if (header->stage == 1 && here == static_cast<int>(header->via)) {
            header->stage = 2;
            header->second = 1;
            header->crossed = 0;
        }
        const int aim = header->stage == 1 ? static_cast<int>(header->via) : target;
        if (network_->groupOf(here) != network_->groupOf(aim)) header->crossed = 1;
        header->edge_port = static_cast<std::uint16_t>(network_->portTowards(here, aim));
        header->deadlock_vc = static_cast<std::uint8_t>(2 * header->second + channel(here, aim, *header));
    }

protected:
    /// Whether to go by an intermediate switch, and by which.
    virtual void decide(Header& header, int /*here*/, int /*target*/) { header.stage = 2; }

    GroupDragonfly* network_;

private:
    /// The global link itself still uses the first channel.
    int channel(int here, int aim, const Header& header) const {
        return network_->groupOf(here) == network_->groupOf(aim) && header.crossed != 0 ? 1 : 0;
    }
};

/// Minimally to a random switch, from there minimally on: between groups to any switch of a third group, inside a group
/// to a third switch of the group, as release 7.1 did. Two virtual channels for each leg.
class ValiantRouter : public MinimalRouter {
public:
    SST_ELI_REGISTER_DERIVED(Router, ValiantRouter, "macro", "tramontane_dragonfly_valiant",
                             SST_ELI_ELEMENT_VERSION(1, 0, 0), "Valiant's routing on tramontane_dragonfly")

    ValiantRouter(SST::Params& params, sstmac::hw::Topology* topology, sstmac::hw::NetworkSwitch* here)
        : MinimalRouter(params, topology, here),
          random_(static_cast<std::uint64_t>(params.find<long>("seed", 1)), static_cast<std::uint64_t>(addr())) {}

    int numVC() const override { return 4; }

protected:
    void decide(Header& header, int here, int target) override {
        const int via = intermediate(here, target);
        header.stage = via == here ? 2 : 1;
        header.via = static_cast<std::uint32_t>(via);
    }

    /// `here` itself where there is none.
    int intermediate(int here, int target) {
        const int size = network_->switchesInGroup(), a = here / size, b = target / size;
        if (a == b) {
            if (size < 3) return here;
            return a * size + skip(random_.below(size - 2), here % size, target % size);
        }
        if (network_->groups() < 3) return here;
        const int pick = random_.below((network_->groups() - 2) * size);
        return skip(pick / size, a, b) * size + pick % size;
    }

private:
    SplitMix64 random_;
};

/// UGAL-L, decided once at the source's switch: by the intermediate switch if the queue of its first port x hops is
/// less than that of the minimal way.
class UgalRouter final : public ValiantRouter {
public:
    SST_ELI_REGISTER_DERIVED(Router, UgalRouter, "macro", "tramontane_dragonfly_ugal", SST_ELI_ELEMENT_VERSION(1, 0, 0),
                             "UGAL-L on tramontane_dragonfly")

    using ValiantRouter::ValiantRouter;

protected:
    void decide(Header& header, int here, int target) override {
        const int via = intermediate(here, target);
        const bool detour =
            via != here && switchPaths(network_->distance(here, target),
                                       network_->distance(here, via) + network_->distance(via, target),
                                       network_->portTowards(here, target), network_->portTowards(here, via));
        header.stage = detour ? 1 : 2;
        header.via = static_cast<std::uint32_t>(via);
    }
};

}  // namespace tramontane::sst
