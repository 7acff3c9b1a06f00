/// \file
/// The state of the device engine on disk, as the other engine keeps it with one thread: each goes on from what either
/// has written.
#pragma once

#include <span>
#include <vector>

#include "delays.hpp"
#include "device/common.hpp"
#include "device/worker.hpp"
#include "memory/checkpoint.hpp"
#include "schedule.hpp"
#include "simulation.hpp"
#include "statistics/link_use.hpp"
#include "statistics/sums.hpp"

namespace tramontane::device {

/// All that changes in a simulation, and what says how much of it there is.
struct State {
    const Schedule& schedule;
    const Run& run;
    Common& common;
    std::span<Worker> workers;
    SwitchArrays& switches;
    NodeArrays& nodes;
    UseOverTime& over_time;  ///< what links carried, as far as it is collected

    /// What all lanes have counted.
    [[nodiscard]] Sums sums() const;
    [[nodiscard]] Delays delays() const;
    /// Collects what links carried over time, where it is counted.
    void collect_link_use();

    // For count_links:
    template <class F>
    void each_counted_link(F&& f) const {
        workers.front().switches.each_counted_link(f);
        workers.front().nodes.each_counted_injection([&](LpId, NodeId node, LinkMeter& meter) { f(node, 0, meter); });
    }
    [[nodiscard]] UseOverTime& link_use() const { return over_time; }

    /// While no lane runs, and before the last window.
    void write(StateFile& file);
    /// \pre nothing has been simulated
    /// \throws std::invalid_argument for a state of several threads, each of which has numbered its records
    void read(StateFile& file);

private:
    [[nodiscard]] std::span<LaneState> each_state() const { return {common.states.get(), common.states.size()}; }
    /// Free records that lanes keep.
    template <class AnyAtHand>
    [[nodiscard]] std::vector<Index> at_hand(AnyAtHand LaneState::* hand) const {
        std::vector<Index> free;
        for (const LaneState& state : each_state()) {
            const auto own = (state.*hand).all();
            free.insert(free.end(), own.begin(), own.end());
        }
        return free;
    }

    void keep(StateFile& file);
    void keep_counts(StateFile& file);
    void keep_events(StateFile& file);
    void keep_switches(StateFile& file);
    void keep_nodes(StateFile& file);
};

}  // namespace tramontane::device
