#include "links.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "families.hpp"
#include "geometry.hpp"

namespace tramontane {

std::vector<LinkClass> link_classes_of(const Machine& machine, const Topology& topology) {
    std::vector<LinkClass> all = topology.link_classes();
    for (const LinkClass& said : machine.link_classes) {
        const auto found = std::find_if(all.begin(), all.end(), [&](const auto& own) { return own.name == said.name; });
        if (found == all.end()) {
            std::vector<std::string> names;
            for (const LinkClass& own : all) names.push_back(own.name);
            throw Refusal("link.classes", "found '" + said.name + "' for topology " + machine.topology, joined(names));
        }
        if (said.bandwidth != 0) found->bandwidth = said.bandwidth;
        if (said.latency != 0) found->latency = said.latency;
    }
    for (LinkClass& each : all) {
        if (each.bandwidth == 0) each.bandwidth = machine.link_bandwidth;
        if (each.latency == 0) each.latency = machine.link_latency;
    }
    return all;
}

LinkRates::LinkRates(const Machine& machine, const Topology& topology) {
    std::vector<LinkRate> by_class;
    for (const LinkClass& each : link_classes_of(machine, topology)) {
        by_class.push_back({byte_time(each.bandwidth), from_picoseconds(each.latency)});
    }
    std::vector<LinkRate> different = by_class;
    std::sort(different.begin(), different.end());
    different.erase(std::unique(different.begin(), different.end()), different.end());
    std::vector<LinkRateId> numbers;
    for (const LinkRate& each : by_class) {
        const auto found = std::lower_bound(different.begin(), different.end(), each);
        numbers.push_back(static_cast<LinkRateId>(found - different.begin()));
    }
    rates = std::move(different);
    of_class = std::move(numbers);
}

Ticks LinkRates::least_latency() const {
    Ticks least = rates.front().latency;
    for (const LinkRate& each : rates) least = std::min(least, each.latency);
    return least;
}

}  // namespace tramontane
