/// \file
/// Routing: minimal, Valiant's scheme (Valiant 1982) or UGAL-L (Singh 2005) over any topology.
///
/// A packet goes minimally, or minimally to an intermediate switch and from there minimally on; each of the two legs
/// has virtual channels of its own, which keeps the routes free of deadlock. UGAL-L decides once, at the source switch:
/// Valiant's route if (queue of its first port) x (its hops) < (queue of the minimal port) x (minimal hops), where a
/// queue is the number of whole packets that have left for the next switch and whose space is not yet free again.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "topology.hpp"

namespace tramontane {

/// The part of a packet that routing reads and writes.
struct Route {
    NodeId destination;
    SwitchId via;  ///< intermediate switch, valid while leg == 1 of a non-minimal route
    Trail trail;
    enum class Stage : std::uint8_t { fresh, to_intermediate, to_destination } stage = Stage::fresh;
    bool second_leg = false;
};

class Router {
public:
    Router(const Topology& topology, const std::string& routing) : topology_(topology) {
        if (routing == "minimal" || routing == "d-mod-k") {
            policy_ = Policy::minimal;
        } else if (routing == "valiant") {
            policy_ = Policy::valiant;
        } else if (routing == "valiant-global") {
            policy_ = Policy::valiant;
            elsewhere_ = true;
        } else if (routing == "ugal") {
            policy_ = Policy::ugal;
        } else {
            throw std::invalid_argument("machine.routing: '" + routing + "' is unknown");
        }
        channels_ = static_cast<std::uint8_t>(topology.channels() * (policy_ == Policy::minimal ? 1 : 2));
    }

    [[nodiscard]] std::uint8_t channels() const { return channels_; }

    /// Whether the packet's next hop is the same whenever it is asked for.
    [[nodiscard]] bool ignores_queues(const Route& route) const {
        return policy_ != Policy::ugal || route.stage != Route::Stage::fresh;
    }

    /// The next port and virtual channel of a packet whose head is at switch `at`.
    /// \param bits 64 random bits of the packet
    /// \param queue packets queued behind a port of this switch: std::uint64_t(Port)
    template <class Queue>
    Hop next(SwitchId at, Route& route, std::uint64_t bits, Queue&& queue) const {
        const SwitchId target = topology_.switch_of(route.destination);
        // A packet that meets its destination's switch on the first leg is ejected there, as in PISCES.
        if (at == target) return {topology_.ejection_port(route.destination), 0};
        if (route.stage == Route::Stage::fresh) {
            route.stage = Route::Stage::to_destination;
            if (policy_ != Policy::minimal) depart(at, target, route, bits, queue);
        }
        if (route.stage == Route::Stage::to_intermediate && at == route.via) {
            route.stage = Route::Stage::to_destination;
            route.second_leg = true;
            topology_.turn(route.trail);
        }
        Hop hop = topology_.towards(at, route.stage == Route::Stage::to_intermediate ? route.via : target,
                                    route.destination, route.trail);
        if (route.second_leg) hop.channel = static_cast<std::uint8_t>(hop.channel + topology_.channels());
        return hop;
    }

private:
    enum class Policy : std::uint8_t { minimal, valiant, ugal };

    template <class Queue>
    void depart(SwitchId at, SwitchId target, Route& route, std::uint64_t bits, Queue&& queue) const {
        const SwitchId via = topology_.intermediate(at, target, bits, elsewhere_);
        if (via == at) return;
        if (policy_ == Policy::ugal) {
            Trail unused;
            const Hop direct = topology_.towards(at, target, route.destination, unused);
            unused = {};
            const Hop detour = topology_.towards(at, via, route.destination, unused);
            const std::uint64_t direct_hops = topology_.distance(at, target);
            const std::uint64_t detour_hops = topology_.distance(at, via) + topology_.distance(via, target);
            if (queue(detour.port) * detour_hops >= queue(direct.port) * direct_hops) return;
        }
        route.via = via;
        route.stage = Route::Stage::to_intermediate;
    }

    const Topology& topology_;
    Policy policy_ = Policy::minimal;
    bool elsewhere_ = false;
    std::uint8_t channels_ = 1;
};

}  // namespace tramontane
