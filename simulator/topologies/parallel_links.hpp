/// \file
/// Several links between two switches, for any network that does not say them in its geometry.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "memory/table.hpp"
#include "rules/rule.hpp"
#include "topology.hpp"

namespace tramontane {

/// Ports where several links are in place of one: those of the single links in their order, each with its parallel
/// links side by side, then those of nodes. A packet takes any of the parallel links at random.
class ParallelPorts {
public:
    ParallelPorts() = default;
    /// \param links of each wired port of the network with single links, at least one; few enough for port numbers
    /// \param ports of that network
    ParallelPorts(const std::vector<Port>& links, Port ports);

    [[nodiscard]] TRAMONTANE_RULE Port ports() const { return ports_; }
    [[nodiscard]] Port wired() const { return wired_; }
    /// Parallel links in place of a single link's port.
    [[nodiscard]] Port links(Port port) const { return of_single_[port].links; }
    /// The port that the network with single links has there.
    [[nodiscard]] TRAMONTANE_RULE Port single(Port port) const {
        return port < wired_ ? singles_[port] : static_cast<Port>(port - wired_ + of_single_.size());
    }
    /// The port of a node. \param port that it has in the network with single links
    [[nodiscard]] TRAMONTANE_RULE Port ejection(Port port) const {
        return static_cast<Port>(port - of_single_.size() + wired_);
    }
    /// \param hop in the network with single links
    [[nodiscard]] TRAMONTANE_RULE Hop taken(Hop hop, SwitchId at, const Draw& draw) const {
        const Links& own = of_single_[hop.port];
        const auto link = own.links == 1 ? 0 : draw.below(own.links, link_choice | at);
        hop.port = static_cast<Port>(own.first + link);
        return hop;
    }
    template <class Visit>
    void each_table(Visit&& visit) {
        visit(of_single_);
        visit(singles_);
    }

private:
    static constexpr std::uint64_t link_choice = 1ULL << 47;  // apart from those of the networks and of the router
    struct Links {
        Port first, links;
    };

    Table<Links> of_single_;  // by wired port of the network with single links
    Table<Port> singles_;     // by wired port
    Port wired_ = 0, ports_ = 0;
};

/// What a network with parallel links is made of.
struct ParallelNetwork {
    const Topology& single;
    const ParallelPorts& ports;
};
/// None of a network whose links are single, or lie in its geometry.
[[nodiscard]] std::optional<ParallelNetwork> parallel_network(const Topology& topology);

/// The network with as many parallel links as the machine says of each class.
/// \throws Refusal for a class that it does not have, and for too many ports
[[nodiscard]] std::unique_ptr<Topology> with_parallel_links(std::unique_ptr<Topology> single, const Machine& machine);

}  // namespace tramontane
