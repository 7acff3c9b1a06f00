/// \file
/// Routing: the rules by which packets choose among the ways a topology offers. docs/routing.md defines each.
///
/// A route has up to three legs: minimal as far as nothing else is decided, to an intermediate switch, to the
/// destination. Within a leg packets go minimally. Virtual channels grow from leg to leg (one-dimensional dragonfly:
/// from hop to hop), which keeps all routes free of deadlock.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.hpp"
#include "topologies/families.hpp"
#include "topologies/topology.hpp"

namespace tramontane {

/// The part of a packet that routing reads and writes.
struct Route {
    Route() = default;  // so no aggregate, behind which GCC 11 leaves the last bytes of a record unused
    NodeId destination;
    SwitchId via;  ///< intermediate switch, valid while on the way to it; DAL: a bit for each dimension left once
    Trail trail;
    enum class Stage : std::uint8_t { undecided, to_intermediate, to_destination } stage = Stage::undecided;
    std::uint8_t leg = 0;
    std::uint8_t hops = 0;  ///< taken so far; counted only where channels go by hops
};

/// How a routing chooses, in the order of what it needs to know.
enum class Policy : std::uint8_t {
    minimal,
    valiant,
    ugal,
    ugal_g,
    par,
    ugal_sstmacro71,
    round_robin,
    adaptive,
    dal,
};
inline constexpr Policy last_without_queues = Policy::valiant;           // those before it ask none, either
inline constexpr Policy last_by_intermediate = Policy::ugal_sstmacro71;  // those after it have no intermediate switch

/// A routing by its name. Which networks have it, their families say.
struct RoutingRule {
    std::string_view name;
    Policy policy;
    bool elsewhere = false;  ///< non-minimal routes inside a group lead through another one

    /// Whether it takes routes that are not minimal.
    [[nodiscard]] TRAMONTANE_RULE bool non_minimal() const {
        return (policy != Policy::minimal && policy <= last_by_intermediate) || policy == Policy::dal;
    }
    /// Whether all routes but those between neighbours of one switch are non-minimal.
    [[nodiscard]] TRAMONTANE_RULE bool always_non_minimal() const { return policy == Policy::valiant; }
    /// Whether packets of one message need no routes of their own: none non-minimal, no look at queues, nothing in
    /// turn.
    [[nodiscard]] TRAMONTANE_RULE bool is_fixed() const { return policy == Policy::minimal; }
    /// Whether no packet looks at queues.
    [[nodiscard]] TRAMONTANE_RULE bool asks_no_queue() const { return policy <= last_without_queues; }
};

inline constexpr std::array rules{
    RoutingRule{"minimal", Policy::minimal},
    RoutingRule{"d-mod-k", Policy::minimal},
    RoutingRule{"valiant", Policy::valiant},
    RoutingRule{"valiant-global", Policy::valiant, true},
    RoutingRule{"ugal", Policy::ugal},
    RoutingRule{"ugal-g", Policy::ugal_g},
    RoutingRule{"par", Policy::par},
    RoutingRule{"ugal-sstmacro71", Policy::ugal_sstmacro71},
    RoutingRule{"round-robin", Policy::round_robin},
    RoutingRule{"adaptive", Policy::adaptive},
    RoutingRule{"dal", Policy::dal},
};

/// Virtual channels of a route's leg: `first` plus the topology's own, of which it has `last` + 1.
struct Leg {
    std::uint8_t first = 0;
    std::uint8_t last = 0;
};

/// \throws std::invalid_argument for a name that no network's routing has
[[nodiscard]] inline const RoutingRule& rule_of(std::string_view routing) {
    for (const RoutingRule& rule : rules) {
        if (rule.name == routing) return rule;
    }
    throw std::invalid_argument("machine.routing: no rule for '" + std::string(routing) + "'");
}

/// \tparam Network a Topology, or what has its functions without being one
template <class Network>
class RouterIn {
public:
    /// \throws Refusal for a routing the topology does not have
    RouterIn(const Network& topology, const std::string& routing)
        : topology_(topology), policy_(checked_rule(topology, routing).policy), elsewhere_(rule_of(routing).elsewhere) {
        assign_channels();
        if (policy_ == Policy::par) in_group_ = topology.switches() / topology.groups();
    }
    /// The same for the same network in another form.
    template <class Other>
    RouterIn(const RouterIn<Other>& router, const Network& topology)
        : topology_(topology),
          policy_(router.policy_),
          elsewhere_(router.elsewhere_),
          by_hop_(router.by_hop_),
          channels_(router.channels_),
          legs_(router.legs_),
          in_group_(router.in_group_) {}

    [[nodiscard]] TRAMONTANE_RULE std::uint8_t channels() const { return channels_; }

    /// Whether non-minimal routes inside a group lead through another one.
    [[nodiscard]] TRAMONTANE_RULE bool non_minimal_elsewhere() const { return elsewhere_; }

    /// Counters that `View::turn` must keep; 0 where nothing is taken in turn.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t counters() const {
        return policy_ == Policy::round_robin ? topology_.counters() : 0;
    }

    /// Whether that is so for all packets.
    [[nodiscard]] TRAMONTANE_RULE bool asks_no_queue() const { return policy_ <= last_without_queues; }
    /// Whether the packet's next hop is the same whenever it is asked for.
    [[nodiscard]] TRAMONTANE_RULE bool ignores_state(const Route& route) const {
        return asks_no_queue() || (policy_ <= last_by_intermediate && route.stage != Route::Stage::undecided);
    }

    /// The next port and virtual channel of a packet whose head is at switch `at`.
    ///
    /// \param view what routing may know of the switches:
    ///     queue(at, port)        packets that have left through a port of this switch and still hold space behind it
    ///     queue_anywhere(s, port)  the same of any switch
    ///     less(a, b)             whether cost a is less than b
    ///     turn(counter)          how often this was asked before
    template <class View>
    TRAMONTANE_RULE Hop next(SwitchId at, Route& route, const Draw& draw, View&& view) const {
        const SwitchId target = topology_.switch_of(route.destination);
        // A packet that meets its destination's switch on the way elsewhere is ejected there, as in PISCES.
        if (at == target) return {topology_.ejection_port(route.destination), 0, true};
        if (policy_ > last_by_intermediate) {
            if (policy_ == Policy::dal) return by_dimension(at, target, route, draw, view);
            return {among_equals(at, route.destination, draw, view), 0};
        }
        if (route.stage == Route::Stage::undecided) {
            if (policy_ == Policy::minimal) {
                route.stage = Route::Stage::to_destination;
            } else {
                decide(at, target, route, draw, view);
            }
        }
        if (route.stage == Route::Stage::to_intermediate && at == route.via) {
            route.stage = Route::Stage::to_destination;
            route.trail.aims = false;
            ++route.leg;
            topology_.turn(route.trail);
        }
        Hop hop = topology_.towards(at, route.stage == Route::Stage::to_intermediate ? route.via : target,
                                    route.destination, route.trail, draw);
        if (by_hop_) {
            hop.channel = route.hops++;
        } else {
            const Leg& leg = legs_[route.leg];
            hop.channel = static_cast<std::uint8_t>(leg.first + std::min(hop.channel, leg.last));
        }
        return hop;
    }

private:
    template <class Other>
    friend class RouterIn;

    static const RoutingRule& checked_rule(const Topology& topology, const std::string& routing) {
        check_routing(topology.family(), routing);
        return rule_of(routing);
    }

    static constexpr std::uint64_t port_choice = 1ULL << 48, again = 2ULL << 48;  // salts, with a switch number

    void assign_channels() {
        const std::uint8_t own = topology_.channels();
        const auto last = static_cast<std::uint8_t>(own - 1);
        if (policy_ == Policy::dal) {
            // A channel for each hop. A dimension of two switches has none to deroute by.
            channels_ = 0;
            for (std::uint32_t d = 0; d < topology_.dimensions(); ++d) {
                channels_ = static_cast<std::uint8_t>(channels_ + (topology_.row(0, 0, d).size > 2 ? 2 : 1));
            }
        } else if (policy_ == Policy::minimal || policy_ > last_by_intermediate) {
            legs_[0] = {0, last};
            channels_ = own;
        } else if (topology_.channels_by_hop() > 0) {
            by_hop_ = true;
            channels_ = topology_.channels_by_hop();
        } else {
            channels_ = static_cast<std::uint8_t>(2 * own);
            legs_ = {Leg{0, last}, Leg{own, last}, Leg{}};
            if (decides_again()) {
                // The first two legs need one channel each: a dragonfly's minimal route passes its global link first
                // and then x and y. So there are no more channels than for other non-minimal routes.
                legs_ = {Leg{0, 0}, Leg{1, 0}, Leg{2, last}};
            }
        }
    }

    [[nodiscard]] TRAMONTANE_RULE bool decides_again() const {
        return policy_ == Policy::par || policy_ == Policy::ugal_sstmacro71;
    }

    /// Whether and where to leave the minimal route; may leave the route undecided.
    template <class View>
    TRAMONTANE_RULE void decide(SwitchId at, SwitchId target, Route& route, const Draw& draw, View&& view) const {
        const Draw candidate = decides_again() ? draw.salted(again | at) : draw;
        const SwitchId via = topology_.intermediate(at, target, candidate, elsewhere_);
        Hop direct{};
        bool non_minimal = via != at;
        if (policy_ != Policy::valiant) {
            Trail trail;
            direct = topology_.towards(at, target, route.destination, trail, draw);
            non_minimal =
                non_minimal && non_minimal_is_better(at, target, via, direct.port, route.destination, draw, view);
        }
        if (non_minimal) {
            route.stage = Route::Stage::to_intermediate;
            route.via = via;
            route.trail.aims = true;
            if (decides_again()) {
                ++route.leg;
                topology_.turn(route.trail);
            }
            return;
        }
        if (policy_ == Policy::ugal_sstmacro71) return;
        if (policy_ == Policy::par && topology_.neighbour(at, direct.port) / in_group_ == at / in_group_) return;
        route.stage = Route::Stage::to_destination;
    }

    template <class View>
    [[nodiscard]] TRAMONTANE_RULE bool non_minimal_is_better(SwitchId at, SwitchId target, SwitchId via, Port direct,
                                                             NodeId destination, const Draw& draw, View&& view) const {
        if (policy_ == Policy::ugal_g) {
            const std::uint64_t straight = queues_along(at, target, target, destination, draw, view);
            return view.less(queues_along(at, via, target, destination, draw, view), straight);
        }
        Trail trail;
        trail.aims = true;
        const Hop indirect = topology_.towards(at, via, destination, trail, draw);
        const std::uint64_t direct_hops = topology_.distance(at, target);
        // SST/macro 7.1 took the first leg for as long as the direct way.
        const std::uint64_t first_leg = policy_ == Policy::ugal_sstmacro71 ? direct_hops : topology_.distance(at, via);
        const std::uint64_t non_minimal_hops = first_leg + topology_.distance(via, target);
        return view.less(view.queue(at, indirect.port) * non_minimal_hops, view.queue(at, direct) * direct_hops);
    }

    /// Sum of the queues at all switches of a route by `via` (or `target` itself).
    template <class View>
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t queues_along(SwitchId at, SwitchId via, SwitchId target,
                                                             NodeId destination, const Draw& draw, View&& view) const {
        Trail trail;
        trail.aims = via != target;
        std::uint64_t sum = 0;
        while (at != target) {
            if (at == via) {
                via = target;
                trail = {};
            }
            const Hop hop = topology_.towards(at, via, destination, trail, draw);
            sum += view.queue_anywhere(at, hop.port);
            at = topology_.neighbour(at, hop.port);
        }
        return sum;
    }

    /// One of the ports of a tree that lead equally far.
    template <class View>
    [[nodiscard]] TRAMONTANE_RULE Port among_equals(SwitchId at, NodeId destination, const Draw& draw,
                                                    View&& view) const {
        const Alternatives some = topology_.alternatives(at, destination);
        const auto port = [&](std::uint64_t i) { return static_cast<Port>(some.first + some.stride * i); };
        if (some.count == 1) return some.first;
        if (policy_ == Policy::round_robin) return port((std::uint64_t{at} + view.turn(some.counter)) % some.count);
        std::uint64_t best = draw.below(some.count, port_choice | at);
        if (draw.enumerates()) return port(best);
        std::uint64_t least = view.queue(at, port(best));
        for (std::uint64_t k = 1, i = best; k < some.count; ++k) {
            i = i + 1 == some.count ? 0 : i + 1;
            const std::uint64_t queue = view.queue(at, port(i));
            if (!view.less(queue, least)) continue;
            least = queue;
            best = i;
        }
        return port(best);
    }

    /// A port that DAL may take.
    struct Candidate {
        std::uint32_t dimension = 0;
        Port port = 0;
        bool derouted = false;
    };

    /// Calls `visit` for each port along which a packet may come nearer, or past which it may deroute.
    template <class Visit>
    TRAMONTANE_RULE void each_candidate(SwitchId at, SwitchId target, const Route& route, bool derouted,
                                        Visit&& visit) const {
        for (std::uint32_t d = 0; d < topology_.dimensions(); ++d) {
            const Row row = topology_.row(at, target, d);
            if (row.own == row.aim || (derouted && (route.via >> d & 1) != 0)) continue;
            const std::uint32_t aim = row.aim - (row.aim > row.own ? 1 : 0);
            for (std::uint32_t place = derouted ? 0 : aim; place < (derouted ? row.size - 1 : aim + 1); ++place) {
                if (derouted && place == aim) continue;
                for (std::uint32_t link = 0; link < row.links; ++link) {
                    visit(Candidate{d, static_cast<Port>(row.first + place * row.links + link), derouted});
                }
            }
        }
    }

    /// The one with the least queue times hops from there; where that is equal a minimal one, else any of them.
    template <class View>
    [[nodiscard]] TRAMONTANE_RULE Candidate least_candidate(SwitchId at, SwitchId target, const Route& route,
                                                            const Draw& draw, View&& view) const {
        const std::uint64_t hops = topology_.distance(at, target);
        Candidate best;
        std::uint64_t least = 0, seen = 0;
        for (const bool derouted : {false, true}) {
            if (derouted && least == 0) break;  // nothing is less
            std::uint64_t equal = 0;
            each_candidate(at, target, route, derouted, [&](const Candidate& candidate) {
                const std::uint64_t cost = view.queue(at, candidate.port) * (hops + (derouted ? 1 : 0));
                if (seen++ == 0 || view.less(cost, least)) {
                    equal = 1;
                } else if (equal == 0 || view.less(least, cost) ||
                           draw.below(++equal, port_choice | seen << 32 | at) != 0) {
                    return;
                }
                least = cost;
                best = candidate;
            });
        }
        return best;
    }

    /// Any of them, for those who want to see all.
    [[nodiscard]] Candidate any_candidate(SwitchId at, SwitchId target, const Route& route, const Draw& draw) const {
        std::vector<Candidate> all;
        for (const bool derouted : {false, true}) {
            each_candidate(at, target, route, derouted, [&](const Candidate& candidate) { all.push_back(candidate); });
        }
        return all[draw.below(all.size())];
    }

    /// DAL [Ahn2009]: at each switch the next dimension, and whether to go past its aim, once in each.
    template <class View>
    [[nodiscard]] TRAMONTANE_RULE Hop by_dimension(SwitchId at, SwitchId target, Route& route, const Draw& draw,
                                                   View&& view) const {
        if (route.hops == 0) route.via = 0;
#ifdef TRAMONTANE_ON_DEVICE  // where nobody enumerates routes
        const Candidate best = least_candidate(at, target, route, draw, view);
#else
        const Candidate best =
            draw.enumerates() ? any_candidate(at, target, route, draw) : least_candidate(at, target, route, draw, view);
#endif
        if (best.derouted) route.via |= SwitchId{1} << best.dimension;
        return {best.port, route.hops++};
    }

    const Network& topology_;
    Policy policy_;
    bool elsewhere_;
    bool by_hop_ = false;
    std::uint8_t channels_ = 1;
    std::array<Leg, 3> legs_{};
    SwitchId in_group_ = 1;
};

using Router = RouterIn<Topology>;

}  // namespace tramontane
