/// \file
/// Any network that is written down link by link.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "geometry.hpp"
#include "graph_routes.hpp"

namespace tramontane {

/// Packets take shortest routes; of equally near wires one that depends on the switch and the destination only.
///
/// \tparam Has who has the tables:
///
///     links(), routes()                 of links, and of the ports towards each destination
///     distance(from, to), longest()     links of a route, and of the longest one
///     expect(nodes), each_table(visit)  as a network's, where that is needed
template <class Has>
class GraphNetwork final : public Topology {
public:
    explicit GraphNetwork(Has has) : has_(std::move(has)) {}

    [[nodiscard]] const Has& has() const { return has_; }
    template <class Visit>
    void each_table(Visit&& visit) {
        has_.each_table(visit);
    }

    void expect(const std::vector<NodeId>& nodes) override {
        if constexpr (requires { has_.expect(nodes); }) has_.expect(nodes);
    }
    SwitchId switches() const override { return table().switches(); }
    NodeId nodes() const override { return table().nodes(); }
    NodeId nodes_per_switch() const override { return table().nodes_per_switch(); }
    std::uint32_t groups() const override { return 1; }
    TRAMONTANE_RULE Port ports() const override { return table().ports(); }
    TRAMONTANE_RULE Port wired_ports() const override { return table().ports(); }  // nodes may come before wires
    std::int64_t radix() const override { return table().radix(); }
    std::int64_t links() const override { return table().links(); }
    std::vector<LinkClass> link_classes() const override { return table().link_classes(); }
    TRAMONTANE_RULE LinkClassId link_class(SwitchId at, Port port) const override {
        const Wire* wire = table().behind(at, port);
        return wire == nullptr ? 0 : wire->link_class;
    }
    TRAMONTANE_RULE SwitchId switch_of(NodeId node) const override { return table().switch_of(node); }
    TRAMONTANE_RULE Port ejection_port(NodeId node) const override { return table().port_of(node); }
    TRAMONTANE_RULE SwitchId neighbour(SwitchId at, Port port) const override {
        const Wire* wire = table().behind(at, port);
        return wire == nullptr ? at : wire->next;
    }
    TRAMONTANE_RULE Hop towards(SwitchId at, SwitchId target, NodeId node, Trail& trail, const Draw&) const override {
        const auto& routes = has_.routes();
        const std::uint32_t destination = routes.destination(table(), target, node);
        const Port port = routes.port(at, destination);
        switch (routes.rule()) {
            case RoutePlan::Rule::by_hop:
                return {port, trail.dimension++};
            case RoutePlan::Rule::by_dateline:
                return {port, by_dateline(*table().behind(at, port), trail)};
            default:
                return {port, routes.layer(destination)};
        }
    }
    TRAMONTANE_RULE std::uint32_t distance(SwitchId from, SwitchId to) const override {
        return has_.distance(from, to);
    }
    std::uint64_t switches_near(std::uint64_t own) const override {
        const std::uint64_t all = switches(), between = has_.longest() == 0 ? 0 : has_.longest() - 1;
        return own >= all ? all : std::min(all, own + own * own * between);
    }
    std::uint8_t channels() const override { return has_.routes().channels(); }
    TRAMONTANE_RULE void turn(Trail& trail) const override { trail = {}; }
    TRAMONTANE_RULE SwitchId intermediate(SwitchId from, SwitchId to, const Draw& draw, bool) const override {
        const Size others = table().switches() - (from == to ? 1 : 2);
        return others == 0 ? from : skip(static_cast<Size>(draw.below(others)), from, to);
    }

private:
    [[nodiscard]] TRAMONTANE_RULE const LinkTable& table() const { return has_.links(); }

    Has has_;
};

/// With all its routes, for lanes of an accelerator.
class WholeGraph {
public:
    WholeGraph(const LinkTable& links, const GraphRoutes& routes)
        : links_(links), routes_(routes), longest_(routes.longest()) {}

    [[nodiscard]] TRAMONTANE_RULE const LinkTable& links() const { return links_; }
    [[nodiscard]] TRAMONTANE_RULE const WholeRoutes& routes() const { return routes_; }
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t distance(SwitchId from, SwitchId to) const {
        return route_length(links_, routes_, from, to);
    }
    [[nodiscard]] std::uint32_t longest() const { return longest_; }
    template <class Visit>
    void each_table(Visit&& visit) {
        links_.each_table(visit);
        routes_.each_table(visit);
    }

private:
    LinkTable links_;
    WholeRoutes routes_;
    std::uint32_t longest_;
};

/// A graph as lanes see it; none of another network.
[[nodiscard]] std::optional<GraphNetwork<WholeGraph>> whole_graph(const Topology& topology);

}  // namespace tramontane
