#include "parallel_links.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "geometry.hpp"

namespace tramontane {
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

}  // namespace

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

ParallelLinks::ParallelLinks(std::unique_ptr<Topology> single, const std::vector<Size>& by_class)
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
