/// \file
/// What the parts of a simulation have counted, together.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "rules/node_records.hpp"
#include "rules/parameters.hpp"
#include "schedule.hpp"
#include "simulation.hpp"
#include "ticks.hpp"

namespace tramontane {

struct Sums {
    Statistics counts;
    std::vector<NodeRecords::Span> phases;
    std::vector<NodeRecords::Totals> totals;
    NodeRecords::Ends ends;
    std::uint64_t packets = 0, transactions = 0;  ///< under way

    /// \param of_phases, totals_ of as many phases as others'
    void add(const NodeRecords::Ends& some, std::span<const NodeRecords::Span> of_phases,
             std::span<const NodeRecords::Totals> totals_) {
        ends.add(some);
        phases.resize(of_phases.size());
        totals.resize(of_phases.size());
        for (std::size_t i = 0; i < phases.size(); ++i) {
            phases[i].add(of_phases[i]);
            totals[i].add(totals_[i]);
        }
    }

    /// \param who says who waits for what
    /// \throws std::runtime_error on deadlock
    template <class Who>
    void verify_ended(std::uint32_t ranks, Who&& who) const {
        if (ends.ended == ranks) return;
        throw std::runtime_error("deadlock: " + std::to_string(ranks - ends.ended) + " of " + std::to_string(ranks) +
                                 " ranks never end" + who());
    }
    /// \throws std::logic_error where something is left, or was lost
    void verify() const {
        if (counts.delivered_bytes == counts.bytes && packets == 0 && transactions == 0) return;
        throw std::logic_error("simulator: " + std::to_string(counts.bytes) + " B were sent, " +
                               std::to_string(counts.delivered_bytes) + " B arrived");
    }

    /// Times and counts, but for delays.
    void tell(Outcome& o, const Schedule& schedule) const {
        o.time_s = to_seconds(ends.span.length());
        o.begin_s = to_seconds(ends.span.begin);
        o.end_s = to_seconds(ends.span.end);
        const auto names = schedule.phases();
        for (std::size_t i = 0; i < names.size(); ++i) {
            o.phases.emplace_back(names[i], to_seconds(phases[i].length()));
            o.ends.push_back(to_seconds(phases[i].end - std::min(ends.span.begin, phases[i].end)));
            const Rank among = schedule.ranks_in(static_cast<std::int32_t>(i));
            const auto mean = [&](NodeRecords::Totals::Wide sum) {
                return static_cast<double>(sum) / among * seconds_per_tick;
            };
            o.steps.push_back(
                {names[i], mean(totals[i].ended - totals[i].begun), mean(totals[i].work), mean(totals[i].busy)});
        }
        o.messages = counts.messages;
        o.packets = counts.packets;
        o.bytes = counts.bytes;
        o.control_packets = counts.control_packets;
        o.hops = counts.hops;
        o.events = counts.events;
    }
};

}  // namespace tramontane
