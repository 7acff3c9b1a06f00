#include "route_walk.hpp"

#include <stdexcept>

namespace tramontane {
namespace {

/// Answers every question about the switches in every way.
struct AnyView {
    Script& script;
    Port ports;
    [[nodiscard]] std::uint64_t queue(SwitchId, Port) const { return 0; }
    [[nodiscard]] std::uint64_t queue_anywhere(SwitchId, Port) const { return 0; }
    [[nodiscard]] bool less(std::uint64_t, std::uint64_t) { return script.next(2) == 1; }
    [[nodiscard]] std::uint64_t turn(std::uint32_t) { return script.next(ports); }
};

/// The route with these choices.
Walk walk(const Topology& topology, const Router& router, NodeId from, NodeId to, Script& script) {
    constexpr std::size_t longest = 1'000;
    Route route{};
    route.destination = to;
    Walk walk;
    SwitchId at = topology.switch_of(from);
    while (true) {
        const Hop hop = router.next(at, route, Draw(0, &script), AnyView{script, topology.ports()});
        walk.push_back({at, hop.port, hop.channel});
        if (at == topology.switch_of(to)) return walk;
        at = topology.neighbour(at, hop.port);
        if (walk.size() > longest || hop.channel >= router.channels()) {
            throw std::logic_error("routing: from node " + std::to_string(from) + " to node " + std::to_string(to) +
                                   " by switch " + std::to_string(at));
        }
    }
}

}  // namespace

void walk_routes(const Topology& topology, const Router& router, NodeId from, NodeId to,
                 const std::function<void(const Walk&)>& visit) {
    Script script;
    do {
        visit(walk(topology, router, from, to, script));
    } while (script.advance());
}

std::optional<Walk> only_route(const Topology& topology, const Router& router, NodeId from, NodeId to) {
    Script script;
    Walk first = walk(topology, router, from, to, script);
    if (script.advance()) return std::nullopt;
    return first;
}

}  // namespace tramontane
