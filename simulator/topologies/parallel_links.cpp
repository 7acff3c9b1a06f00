#include "parallel_links.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "geometry.hpp"

namespace tramontane {
namespace {

/// Any network whose switches are linked by several parallel links in place of one, as many as the links' class has.
/// Ports: those of the other network in their order, each with its parallel links side by side. A packet takes any of
/// them at random. They have the other network's virtual channels; as packets of all parallel links wait for the same,
/// no cycle is possible where the other network has none.
class ParallelLinks final : public Topology {
public:
    ParallelLinks(std::unique_ptr<Topology> single, const std::vector<Size>& by_class)
        : single_(std::move(single)), single_wired_(single_->wired_ports()) {
        // A port's links are of one class, whichever the switch.
        std::int64_t ports = 0;
        for (Port port = 0; port < single_wired_; ++port) {
            const Size links = by_class[single_->link_class(0, port)];
            static_cast<void>(checked_ports(ports + links));
            ports_of_.push_back({static_cast<Port>(ports), static_cast<Port>(links)});
            singles_.insert(singles_.end(), links, port);
            ports += links;
        }
        wired_ = static_cast<Port>(ports);
        ports_ = checked_ports(ports + single_->ports() - single_wired_);
        std::int64_t more = 0;  // ports with links
        for (SwitchId at = 0; at < single_->switches(); ++at) {
            std::int64_t own = 0;
            for (Port port = 0; port < single_wired_; ++port) {
                if (ports_of_[port].links > 1 && single_->neighbour(at, port) != at) own += ports_of_[port].links - 1;
            }
            more += own;
            radix_ = std::max(radix_, single_->radix() + own);
        }
        links_ = single_->links() + more / 2;
    }
    SwitchId switches() const override { return single_->switches(); }
    NodeId nodes() const override { return single_->nodes(); }
    NodeId nodes_per_switch() const override { return single_->nodes_per_switch(); }
    std::uint32_t groups() const override { return single_->groups(); }
    Port ports() const override { return ports_; }
    Port wired_ports() const override { return wired_; }
    std::int64_t radix() const override { return radix_; }
    std::int64_t links() const override { return links_; }
    std::vector<LinkClass> link_classes() const override { return single_->link_classes(); }
    LinkClassId link_class(SwitchId at, Port port) const override { return single_->link_class(at, single(port)); }
    SwitchId switch_of(NodeId node) const override { return single_->switch_of(node); }
    Port ejection_port(NodeId node) const override {
        return static_cast<Port>(single_->ejection_port(node) - single_wired_ + wired_);
    }
    SwitchId neighbour(SwitchId at, Port port) const override { return single_->neighbour(at, single(port)); }
    Hop towards(SwitchId at, SwitchId target, NodeId node, Trail& trail, const Draw& draw) const override {
        Hop hop = single_->towards(at, target, node, trail, draw);
        const Ports& own = ports_of_[hop.port];
        const auto link = own.links == 1 ? 0 : draw.below(own.links, link_choice | at);
        hop.port = static_cast<Port>(own.first + link);
        return hop;
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
    static constexpr std::uint64_t link_choice = 1ULL << 47;  // apart from those of the networks and of the router
    /// Parallel links in place of one port.
    struct Ports {
        Port first, links;
    };

    /// The other network's port.
    Port single(Port port) const {
        return port < wired_ ? singles_[port] : static_cast<Port>(port - wired_ + single_wired_);
    }

    std::unique_ptr<Topology> single_;
    Port single_wired_, wired_, ports_;
    std::vector<Ports> ports_of_;  // by port of the other network
    std::vector<Port> singles_;    // by wired port
    std::int64_t radix_ = 0, links_ = 0;
};

}  // namespace

std::unique_ptr<Topology> with_parallel_links(std::unique_ptr<Topology> single, const Machine& machine) {
    const std::vector<LinkClass> classes = single->link_classes();
    std::vector<std::string> names;  // but that of links to nodes
    for (std::size_t i = 1; i < classes.size(); ++i) names.push_back(classes[i].name);
    std::vector<Size> by_class(classes.size(), 1);
    for (const ParallelLinkCount& said : machine.parallel_links) {
        const auto found = std::find(names.begin(), names.end(), said.link_class);
        if (found == names.end()) {
            throw Refusal("parallel_links", "found '" + said.link_class + "' for topology " + machine.topology,
                          joined(names));
        }
        by_class[static_cast<std::size_t>(found - names.begin()) + 1] =
            checked(said.links, "links between two switches", 1, "parallel_links");
    }
    return std::make_unique<ParallelLinks>(std::move(single), by_class);
}

}  // namespace tramontane
