/// \file
/// The state of the device engine on disk, as the other engine keeps it with one thread: each goes on from what either
/// has written.
#pragma once

#include <cstdint>

#include "checkpoint.hpp"
#include "delays.hpp"
#include "device/common.hpp"
#include "device/worker.hpp"
#include "schedule.hpp"
#include "simulation.hpp"
#include "sums.hpp"

namespace tramontane::device {

/// All that changes in a simulation, and what says how much of it there is.
struct State {
    const Schedule& schedule;
    const Run& run;
    Common& common;
    Worker* workers;
    SwitchArrays& switches;
    NodeArrays& nodes;

    /// What all lanes have counted.
    [[nodiscard]] Sums sums() const;
    [[nodiscard]] Delays delays() const;

    /// While no lane runs, and before the last window.
    void write(StateFile& file);
    /// \pre nothing has been simulated
    /// \throws std::invalid_argument for a state of several threads, each of which has numbered its records
    void read(StateFile& file);

private:
    void keep(StateFile& file);
    void keep_counts(StateFile& file);
    void keep_events(StateFile& file);
    void keep_switches(StateFile& file);
    void keep_nodes(StateFile& file);
};

}  // namespace tramontane::device
