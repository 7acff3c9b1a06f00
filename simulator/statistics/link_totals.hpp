/// \file
/// What all links of a run carried, put together when it is over: by class, and one by one those that carried most.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rules/link_meter.hpp"
#include "rules/parameters.hpp"
#include "simulation.hpp"
#include "statistics/link_use.hpp"
#include "ticks.hpp"
#include "topologies/topology.hpp"

namespace tramontane {

/// The meter of a NIC's link, of which nothing has been counted.
[[nodiscard]] inline InjectionMeter injection_meter(const Topology& topology) {
    InjectionMeter meter;
    meter.link_class = static_cast<std::uint16_t>(topology.link_classes().size());  // after those of the topology
    return meter;
}

/// Of which nothing has been counted; without bins where nobody asks.
/// \param surely see first_width
[[nodiscard]] inline UseOverTime use_over_time(const Topology& topology, const LinkCounting& counting, Ticks surely) {
    const auto classes = static_cast<std::uint32_t>(topology.link_classes().size());
    return UseOverTime(counting.bins, classes + 1, counting.one_by_one(), surely);
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
        all_[meter.link_class].second.add(meter);
        if (counting_.one_by_one()) consider(hottest_[meter.link_class], {from, port, &meter, part});
    }
    /// What links of a class carried over time.
    void add_bins(std::uint32_t link_class, const std::vector<UseOfBin>& bins) {
        std::vector<UseOfBin>& all = all_[link_class].second.bins;
        for (std::size_t bin = 0; bin < bins.size(); ++bin) all[bin].add(bins[bin]);
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
            UsedLink& told = o.used_links.emplace_back(UsedLink{from, port, meter->link_class, {}});
            told.use.slot = all_[meter->link_class].second.slot;
            told.use.add(*meter);
        }
    }

private:
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

/// What some links carried over time, in their order.
template <class Part>
[[nodiscard]] std::vector<std::vector<UseOfBin>> bins_of(const std::vector<LinkTotals::Candidate>& links,
                                                         const std::vector<Part*>& parts) {
    std::vector<std::vector<UseOfBin>> bins(links.size());
    for (std::size_t part = 0; part < parts.size(); ++part) {
        std::vector<const LinkMeter*> meters;
        std::vector<std::size_t> places;
        for (std::size_t place = 0; place < links.size(); ++place) {
            if (links[place].part != part) continue;
            meters.push_back(links[place].meter);
            places.push_back(place);
        }
        auto own = parts[part]->link_use().of_links(meters);
        for (std::size_t i = 0; i < own.size(); ++i) bins[places[i]] = std::move(own[i]);
    }
    return bins;
}

/// Tells what all links carried, by class, and what some did one by one.
///
/// \tparam Part some of the links, with
///
///     each_counted_link(f)  calls `f(from, port, meter)` for each that carried something; see LinkTotals
///     link_use()            what they carried over time
template <class Part>
void count_links(Outcome& o, const std::vector<Part*>& parts, const Topology& topology, const Parameters& parameters,
                 const LinkCounting& counting) {
    LinkTotals totals(topology, parameters, counting);
    std::uint32_t width = 0;
    for (Part* const part : parts) width = std::max(width, part->link_use().width());
    if (counting.bins > 0) o.bin_s = to_seconds(Ticks{1} << width);
    for (std::size_t number = 0; number < parts.size(); ++number) {
        UseOverTime& over_time = parts[number]->link_use();
        over_time.widen(width);
        parts[number]->each_counted_link([&](std::uint32_t from, Port port, LinkMeter& meter) {
            if (over_time.wanted()) over_time.settle(meter);
            totals.add(from, port, meter, number);
        });
        for (std::uint32_t i = 0; over_time.wanted() && i < totals.classes(); ++i) {
            totals.add_bins(i, over_time.of_class(i));
        }
    }
    totals.tell(o);
    if (counting.bins == 0) return;
    auto bins = bins_of(totals.hottest(), parts);
    for (std::size_t i = 0; i < bins.size(); ++i) o.used_links[i].use.bins = std::move(bins[i]);
}

}  // namespace tramontane
