/// \file
/// The routes that packets between two nodes can take, whatever is drawn and however long the queues are.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "rules/routing.hpp"
#include "topology.hpp"

namespace tramontane {

/// One hop: the packet leaves `at` through `port` on a virtual channel.
struct Step {
    SwitchId at;
    Port port;
    std::uint8_t channel;
};

using Walk = std::vector<Step>;

/// Calls `visit` for each route from `from` to `to`, ejection included; some may come more than once.
/// \throws std::logic_error for a route that does not end or leaves its virtual channels
void walk_routes(const Topology& topology, const Router& router, NodeId from, NodeId to,
                 const std::function<void(const Walk&)>& visit);

/// The route from `from` to `to`, ejection included, if all packets take the same.
/// \throws std::logic_error as walk_routes
[[nodiscard]] std::optional<Walk> only_route(const Topology& topology, const Router& router, NodeId from, NodeId to);

}  // namespace tramontane
