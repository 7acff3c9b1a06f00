/// \file
/// What all links of a run carried, put together when it is over: by class, and one by one those that carried most.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "link_use.hpp"
#include "rules/parameters.hpp"
#include "simulation.hpp"
#include "topology.hpp"

namespace tramontane {

/// The meter of a NIC's link, of which nothing has been counted.
[[nodiscard]] inline LinkMeter injection_meter(const Topology& topology) {
    LinkMeter meter;
    meter.link_class = static_cast<std::uint16_t>(topology.link_classes().size());  // after those of the topology
    return meter;
}

/// Sums by class, and those that carried most. Meters must outlive it.
class LinkTotals {
public:
    /// A link that may be one of the hottest of its class.
    struct Candidate {
        std::uint32_t from;
        Port port;
        const LinkMeter* meter;
        std::size_t part;  ///< which has its meter
    };

    LinkTotals(const Topology& topology, const Parameters& parameters, const LinkCounting& counting)
        : counting_(counting) {
        const LinkRates& rates = parameters.links;
        const auto classes = topology.link_classes();
        for (std::size_t i = 0; i < classes.size(); ++i)
            add_class(classes[i].name, rates.rates[rates.of_class[i]].slot);
        add_class(injection_class, parameters.injection_slot);
        hottest_.resize(all_.size());
    }

    /// \param from a switch, or for the class of injection a node
    void add(std::uint32_t from, Port port, const LinkMeter& meter, std::size_t part = 0) {
        LinkUse& all = all_[meter.link_class].second;
        all.add(use_of(meter, all.slot));
        if (counting_.one_by_one()) consider(hottest_[meter.link_class], {from, port, &meter, part});
    }
    /// What links of a class carried over time.
    void add_bins(std::uint32_t link_class, std::vector<UseOfBin> bins) {
        LinkUse own;
        own.slot = all_[link_class].second.slot;
        own.bins = std::move(bins);
        all_[link_class].second.add(own);
    }

    [[nodiscard]] std::uint32_t classes() const { return static_cast<std::uint32_t>(all_.size()); }
    /// The hottest of each class.
    [[nodiscard]] std::vector<Candidate> hottest() const {
        std::vector<Candidate> told;
        for (const auto& few : hottest_) told.insert(told.end(), few.begin(), few.end());
        return told;
    }
    void tell(Outcome& o) const {
        o.link_use = all_;
        for (const auto& [from, port, meter, part] : hottest()) {
            o.used_links.push_back(
                {from, port, meter->link_class, use_of(*meter, all_[meter->link_class].second.slot)});
        }
    }

private:
    [[nodiscard]] static LinkUse use_of(const LinkMeter& meter, Ticks slot) {
        return {.packets = meter.packets,
                .bytes = meter.bytes,
                .peak_queue = meter.peak_queue,
                .links = 1,
                .slot = slot,
                .bins = {}};
    }

    void add_class(const std::string& name, Ticks slot) {
        all_.emplace_back(name, LinkUse{});
        all_.back().second.slot = slot;
        all_.back().second.bins.resize(counting_.bins);
    }

    /// Puts a link among the hottest. Of links that carried the same, places decide.
    void consider(std::vector<Candidate>& hottest, const Candidate& candidate) const {
        const auto hotter = [](const Candidate& a, const Candidate& b) {
            if (a.meter->bytes != b.meter->bytes) return a.meter->bytes > b.meter->bytes;
            return a.from != b.from ? a.from < b.from : a.port < b.port;
        };
        if (hottest.size() == counting_.hottest) {
            if (!hotter(candidate, hottest.back())) return;
            hottest.pop_back();
        }
        hottest.insert(std::lower_bound(hottest.begin(), hottest.end(), candidate, hotter), candidate);
    }

    const LinkCounting counting_;
    std::vector<std::pair<std::string, LinkUse>> all_;
    std::vector<std::vector<Candidate>> hottest_;  // by class
};

}  // namespace tramontane
