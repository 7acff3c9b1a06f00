#include "parallel_links.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "geometry.hpp"

namespace tramontane {

ParallelPorts::ParallelPorts(const std::vector<Port>& links, Port ports) {
    std::vector<Links> of_single;
    std::vector<Port> singles;
    for (const Port own : links) {
        of_single.push_back({static_cast<Port>(singles.size()), own});
        singles.insert(singles.end(), own, static_cast<Port>(of_single.size() - 1));
    }
    wired_ = static_cast<Port>(singles.size());
    ports_ = static_cast<Port>(singles.size() + ports - links.size());
    of_single_ = std::move(of_single);
    singles_ = std::move(singles);
}

namespace {

/// Links in place of each wired port. A port's links are of one class, whichever the switch.
std::vector<Port> links_of_ports(const Topology& single, const std::vector<Size>& by_class) {
    std::vector<Port> links;
    std::int64_t all = single.ports() - single.wired_ports();
    for (Port port = 0; port < single.wired_ports(); ++port) {
        const Size own = by_class[single.link_class(0, port)];
        all += own;
        links.push_back(checked_ports(own));
    }
    static_cast<void>(checked_ports(all));
    return links;
}

/// Any network whose switches are linked by several parallel links in place of one, as many as the links' class has.
/// They have the other network's virtual channels; as packets of all parallel links wait for the same, no cycle is
/// possible where the other network has none.
class ParallelLinks final : public Topology {
public:
    /// \param by_class links in place of one
    ParallelLinks(std::unique_ptr<Topology> single, const std::vector<Size>& by_class)
        : single_(std::move(single)), parallel_(links_of_ports(*single_, by_class), single_->ports()) {
        std::int64_t more = 0;  // ports with links
        for (SwitchId at = 0; at < single_->switches(); ++at) {
            std::int64_t own = 0;
            for (Port port = 0; port < single_->wired_ports(); ++port) {
                if (parallel_.links(port) > 1 && single_->neighbour(at, port) != at) own += parallel_.links(port) - 1;
            }
            more += own;
            radix_ = std::max(radix_, single_->radix() + own);
        }
        links_ = single_->links() + more / 2;
    }

    [[nodiscard]] ParallelNetwork parts() const { return {*single_, parallel_}; }
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

}  // namespace

std::optional<ParallelNetwork> parallel_network(const Topology& topology) {
    const auto* const parallel = dynamic_cast<const ParallelLinks*>(&topology);
    return parallel == nullptr ? std::nullopt : std::optional<ParallelNetwork>(parallel->parts());
}

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
