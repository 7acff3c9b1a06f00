#include <map>
#include <mutex>
#include <tuple>

#include "geometry.hpp"
#include "graph_routes.hpp"

namespace tramontane {
namespace {

/// A graph and the routes in it, which points of one process share.
struct Routed {
    Routed(const std::string& path, std::int64_t nodes_per_switch, bool any_switch)
        : table(path, nodes_per_switch), routes(table, any_switch) {}

    const LinkTable table;
    const GraphRoutes routes;
};

std::shared_ptr<const Routed> routed(const Machine& m) {
    static std::mutex making;
    static std::map<std::tuple<std::string, std::int64_t, bool>, std::weak_ptr<const Routed>> all;
    const bool any_switch = !m.routing.empty() && m.routing != "minimal";
    const std::lock_guard<std::mutex> locked(making);
    const std::int64_t nodes = LinkTable::says_nodes(m.table) ? 0 : m.nodes_per_switch;
    auto& known = all[{m.table, nodes, any_switch}];
    std::shared_ptr<const Routed> made = known.lock();
    if (!made) known = made = std::make_shared<const Routed>(m.table, nodes, any_switch);
    return made;
}

/// Any network that is written down link by link. Packets take shortest routes; of equally near wires one that depends
/// on the switch and the destination only.
class Graph final : public Topology {
public:
    explicit Graph(const Machine& m) : routed_(routed(m)), table_(routed_->table), routes_(&routed_->routes) {
        if (!routes_->all_fit() && !m.routing.empty() && m.routing != "minimal") {
            throw Refusal("routing",
                          "found '" + m.routing + "' for a graph of " + std::to_string(switches()) +
                              " switches, whose routes by any of them are more than 1.5 GiB",
                          "minimal");
        }
    }
    void expect(const std::vector<NodeId>& nodes) override {
        if (routes_->all_fit()) return;
        own_ = std::make_unique<const GraphRoutes>(routed_->routes, nodes);
        routes_ = own_.get();
    }
    SwitchId switches() const override { return table_.switches(); }
    NodeId nodes() const override { return table_.nodes(); }
    NodeId nodes_per_switch() const override { return table_.nodes_per_switch(); }
    std::uint32_t groups() const override { return 1; }
    Port ports() const override { return table_.ports(); }
    Port wired_ports() const override { return table_.ports(); }  // nodes may come before wires
    std::int64_t radix() const override { return table_.radix(); }
    std::int64_t links() const override { return table_.links(); }
    std::vector<LinkClass> link_classes() const override { return table_.link_classes(); }
    LinkClassId link_class(SwitchId at, Port port) const override {
        const Wire* wire = table_.behind(at, port);
        return wire == nullptr ? 0 : wire->link_class;
    }
    SwitchId switch_of(NodeId node) const override { return table_.switch_of(node); }
    Port ejection_port(NodeId node) const override { return table_.port_of(node); }
    SwitchId neighbour(SwitchId at, Port port) const override {
        const Wire* wire = table_.behind(at, port);
        return wire == nullptr ? at : wire->next;
    }
    Hop towards(SwitchId at, SwitchId target, NodeId node, Trail& trail, const Draw&) const override {
        const std::uint32_t destination = routes_->destination(target, node);
        const Port port = routes_->port(at, destination);
        switch (routes_->rule()) {
            case GraphRoutes::Rule::by_hop:
                return {port, trail.dimension++};
            case GraphRoutes::Rule::by_dateline:
                return {port, by_dateline(*table_.behind(at, port), trail)};
            default:
                return {port, routes_->layer(destination)};
        }
    }
    std::uint32_t distance(SwitchId from, SwitchId to) const override { return routes_->distance(from, to); }
    std::uint64_t switches_near(std::uint64_t own) const override {
        const std::uint64_t all = switches(), between = routes_->longest() == 0 ? 0 : routes_->longest() - 1;
        return own >= all ? all : std::min(all, own + own * own * between);
    }
    std::uint8_t channels() const override { return routes_->channels(); }
    void turn(Trail& trail) const override { trail = {}; }
    SwitchId intermediate(SwitchId from, SwitchId to, const Draw& draw, bool) const override {
        const Size others = switches() - (from == to ? 1 : 2);
        return others == 0 ? from : skip(static_cast<Size>(draw.below(others)), from, to);
    }

private:
    std::shared_ptr<const Routed> routed_;
    const LinkTable& table_;
    const GraphRoutes* routes_;
    std::unique_ptr<const GraphRoutes> own_;  // of a job, where not all fit
};

}  // namespace

const Family& graph_family() {
    static const Family family{
        .name = "graph",
        .shapes = {{.name = "graph", .text = "none: `file` says all", .keys = {}}},
        .routings = {"minimal", "valiant", "ugal"},
        .by_table = true,
        .make = [](const Machine& m) -> std::unique_ptr<Topology> { return std::make_unique<Graph>(m); },
        .example = {},
    };
    return family;
}

}  // namespace tramontane
