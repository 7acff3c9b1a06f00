#include "graph.hpp"

#include <map>
#include <mutex>
#include <string>
#include <tuple>

namespace tramontane {
namespace {

/// A graph and the routes in it, which points of one process share.
struct Routed {
    Routed(const std::string& path, std::int64_t nodes_per_switch, bool any_switch)
        : links(path, nodes_per_switch), routes(links, any_switch) {}

    const LinkTable links;
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

/// With routes that are made when they are asked for.
class SharedGraph {
public:
    explicit SharedGraph(const Machine& m) : routed_(routed(m)), links_(&routed_->links), routes_(&routed_->routes) {
        if (!routes_->all_fit() && !m.routing.empty() && m.routing != "minimal") {
            throw Refusal("routing",
                          "found '" + m.routing + "' for a graph of " + std::to_string(links_->switches()) +
                              " switches, whose routes by any of them are more than 1.5 GiB",
                          "minimal");
        }
    }
    void expect(const std::vector<NodeId>& nodes) {
        if (routes_->all_fit()) return;
        own_ = std::make_unique<const GraphRoutes>(routed_->routes, nodes);
        routes_ = own_.get();
    }
    [[nodiscard]] const LinkTable& links() const { return *links_; }
    [[nodiscard]] const GraphRoutes& routes() const { return *routes_; }
    [[nodiscard]] std::uint32_t distance(SwitchId from, SwitchId to) const { return routes_->distance(from, to); }
    [[nodiscard]] std::uint32_t longest() const { return routes_->longest(); }

private:
    std::shared_ptr<const Routed> routed_;
    const LinkTable* links_;
    const GraphRoutes* routes_;
    std::unique_ptr<const GraphRoutes> own_;  // of a job, where not all fit
};

using Graph = GraphNetwork<SharedGraph>;

}  // namespace

std::optional<GraphNetwork<WholeGraph>> whole_graph(const Topology& topology) {
    const auto* const graph = dynamic_cast<const Graph*>(&topology);
    if (graph == nullptr) return std::nullopt;
    return GraphNetwork(WholeGraph(graph->has().links(), graph->has().routes()));
}

const Family& graph_family() {
    static const Family family{
        .name = "graph",
        .shapes = {{.name = "graph", .text = "none: `file` says all", .keys = {}}},
        .routings = {"minimal", "valiant", "ugal"},
        .by_table = true,
        .make = [](const Machine& m) -> std::unique_ptr<Topology> { return std::make_unique<Graph>(SharedGraph(m)); },
        .example = {},
    };
    return family;
}

}  // namespace tramontane
