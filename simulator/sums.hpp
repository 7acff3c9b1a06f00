/// \file
/// What the parts of a simulation have counted, together.
#pragma once

#include <cstdint>
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
    NodeRecords::Span span;
    std::vector<NodeRecords::Span> phases;
    std::vector<NodeRecords::Totals> totals;
    std::uint32_t ended = 0;                      ///< ranks
    std::uint64_t packets = 0, transactions = 0;  ///< under way

    template <class Engine, class Nodes>
    void add(const Engine& engine, const Nodes& nodes) {
        counts.add(engine.statistics);
        span.add(nodes.span());
        phases.resize(nodes.phases().size());
        totals.resize(phases.size());
        for (std::size_t i = 0; i < phases.size(); ++i) {
            phases[i].add(nodes.phases()[i]);
            totals[i].add(nodes.totals()[i]);
        }
        ended += nodes.ended();
        packets += engine.packets.used();
        transactions += engine.transactions.used();
    }

    /// \param who says who waits for what
    /// \throws std::runtime_error on deadlock
    template <class Who>
    void verify_ended(std::uint32_t ranks, Who&& who) const {
        if (ended == ranks) return;
        throw std::runtime_error("deadlock: " + std::to_string(ranks - ended) + " of " + std::to_string(ranks) +
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
        o.time_s = to_seconds(span.length());
        const auto names = schedule.phases();
        for (std::size_t i = 0; i < names.size(); ++i) {
            o.phases.emplace_back(names[i], to_seconds(phases[i].length()));
            o.ends.push_back(to_seconds(phases[i].end - std::min(span.begin, phases[i].end)));
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
