/// \file
/// Several links between two switches, for any network that does not say them in its geometry.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "rules/rule.hpp"
#include "table.hpp"
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

/// Any network whose switches are linked by several parallel links in place of one, as many as the links' class has.
/// They have the other network's virtual channels; as packets of all parallel links wait for the same, no cycle is
/// possible where the other network has none.
class ParallelLinks final : public Topology {
public:
    /// \param by_class links in place of one
    ParallelLinks(std::unique_ptr<Topology> single, const std::vector<std::uint32_t>& by_class);

    [[nodiscard]] const Topology& single() const { return *single_; }
    [[nodiscard]] const ParallelPorts& parallel() const { return parallel_; }

    SwitchId switches() const override { return single_->switches(); }
    NodeId nodes() const override { return single_->nodes(); }
    NodeId nodes_per_switch() const override { return single_->nodes_per_switch(); }
    std::uint32_t groups() const override { return single_->groups(); }
    Port ports() const override { return parallel_.ports(); }
    Port wired_ports() const override { return parallel_.wired(); }
    std::int64_t radix() const override { return radix_; }
    std::int64_t links() const override { return links_; }
    std::vector<LinkClass> link_classes() const override { return single_->link_classes(); }
    LinkClassId link_class(SwitchId at, Port port) const override {
        return single_->link_class(at, parallel_.single(port));
    }
    SwitchId switch_of(NodeId node) const override { return single_->switch_of(node); }
    Port ejection_port(NodeId node) const override { return parallel_.ejection(single_->ejection_port(node)); }
    SwitchId neighbour(SwitchId at, Port port) const override { return single_->neighbour(at, parallel_.single(port)); }
    Hop towards(SwitchId at, SwitchId target, NodeId node, Trail& trail, const Draw& draw) const override {
        return parallel_.taken(single_->towards(at, target, node, trail, draw), at, draw);
    }
    std::uint32_t distance(SwitchId from, SwitchId to) const override { return single_->distance(from, to); }
    bool non_minimal_may_be_shorter() const override { return single_->non_minimal_may_be_shorter(); }
    std::uint64_t switches_near(std::uint64_t own) const override { return single_->switches_near(own); }
    std::uint8_t channels() const override { return single_->channels(); }
    std::uint8_t channels_by_hop() const override { return single_->channels_by_hop(); }
    void turn(Trail& trail) const override { single_->turn(trail); }
    SwitchId intermediate(SwitchId from, SwitchId to, const Draw& draw, bool elsewhere) const override {
        return single_->intermediate(from, to, draw, elsewhere);
    }

private:
    std::unique_ptr<Topology> single_;
    ParallelPorts parallel_;
    std::int64_t radix_ = 0, links_ = 0;
};

/// The network with as many parallel links as the machine says of each class.
/// \throws Refusal for a class that it does not have, and for too many ports
[[nodiscard]] std::unique_ptr<Topology> with_parallel_links(std::unique_ptr<Topology> single, const Machine& machine);

}  // namespace tramontane
