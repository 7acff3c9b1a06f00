/// \file
/// One simulation from machine and schedule to times and counts.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "delays.hpp"
#include "engine/steady.hpp"
#include "machine.hpp"
#include "memory/checkpoint.hpp"
#include "noise.hpp"
#include "placement/allocation.hpp"
#include "placement/places.hpp"
#include "schedule.hpp"
#include "statistics/link_use.hpp"
#include "statistics/waiting.hpp"

namespace tramontane {

/// Raised whenever a change of the model changes results; older records are shown as such.
inline constexpr int model_revision = 7;

/// The revision that last changed the results of points of a machine with this noise. Revision 3: where ranks send
/// through several NICs, each of these counts packets, and a striped message's packets belong to one NIC each,
/// whichever is served first. It changed loops of programs, too. Revision 4: where interfaces match messages by
/// themselves, an eager message that is being prepared overtakes none of their answers. Revision 5 changed few
/// workloads; which ones, and the loops, only tramontane/substrates/simulator.py knows. Revision 6: where noise comes
/// at random moments, the periods of ranks have random phases. Revision 7: a single switch of a fat tree is one group,
/// of nodes and not of interfaces.
[[nodiscard]] inline int model_revision_of(const Machine& machine, const NoiseRule& noise = {},
                                           const AllocationRule& allocation = {}) {
    const bool single_switch =
        machine.topology == "fattree" && machine.geometry.size() == 2 && machine.geometry[0] == 1;
    if (single_switch && machine.nics > 1 && allocation.goes_by_groups()) return 7;
    if (noise.duration > 0 && noise.random) return 6;
    if (machine.hardware_progress) return 4;
    return machine.spreads_messages() ? 3 : 2;
}

inline constexpr std::uint32_t max_threads = 64;  ///< of one simulation

/// What a simulation is told besides machine and schedule.
struct Run {
    std::uint64_t seed = 1;
    std::int64_t start_jitter = 0;  ///< [ps] ranks start at a uniformly random time up to this
    PlacesRule places;
    AllocationRule allocation;
    NoiseRule noise;
    double steady_error = 0;               ///< of the time, relative, at which repeats may be cut short; 0: never
    Limit limit;                           ///< beyond which the time need not be known
    std::uint32_t congestion_bins = 0;     ///< a side of the congestion matrix; 0 for none
    LinkCounting links;                    ///< whether what links carry is counted
    std::uint32_t waiting_bins = 0;        ///< of ranks, by which it is counted why they wait; 0: it is not
    std::vector<std::uint32_t> timeline;   ///< ranks of which is told what they did when
    std::uint32_t threads = 1;             ///< that may be used; results do not depend on them
    Ticks window = 0;                      ///< see Engine; results do not depend on it
    std::uint32_t grain = 512;             ///< events of a window that are worth several threads; 0: all are
    std::uint64_t poll_every = 2'000'000;  ///< events between calls of `poll`, somewhat less than a second
};

/// Of repeats that were cut short, times and counts are those of all; `events`, `delays` and the costs are those of the
/// repeats that were simulated. Where the run was ended because it exceeds a limit, all are of what was simulated.
struct Outcome {
    /// Means over ranks of all that they spent in a phase [s].
    struct Step {
        std::string name;
        double time = 0;  ///< in all; of it:
        double work = 0;
        double busy = 0;  ///< processor's time for messages; the rest it waits
    };
    double time_s = 0;                                   ///< last end minus first start over all ranks
    double begin_s = 0, end_s = 0;                       ///< these, of what was simulated
    std::vector<std::pair<std::string, double>> phases;  ///< likewise, by phase
    std::vector<double> ends;                            ///< last end of each phase minus first start of all [s]
    std::vector<Step> steps;                             ///< by phase
    std::uint64_t messages = 0, packets = 0, bytes = 0;  ///< the workload's own
    std::uint64_t control_packets = 0;
    std::uint64_t hops = 0;  ///< switch visits of all packets
    std::uint64_t events = 0;
    Delays delays;                                          ///< of the workload's packets
    std::vector<std::pair<std::string, LinkUse>> link_use;  ///< by name of the class, where asked for
    std::vector<UsedLink> used_links;                       ///< those that are told one by one, by class
    double bin_s = 0;                                       ///< width of a bin of their times; 0: none
    std::vector<std::array<double, causes>> waiting;        ///< means over the ranks of each bin [s], where asked for
    std::vector<Stretch> timeline;                          ///< by rank, processor and begin
    std::int64_t repeats_simulated = 1;
    double steady_error = 0;  ///< half-width of the 99 % interval of `time_s`, relative; 0: nothing was left out
    double at_least_s = 0;    ///< of the time, above the limit for which the run was ended; 0: it was not
    double imbalance = 1;     ///< bytes sent by the busiest rank over the mean
    std::uint64_t network_bytes = 0;  ///< memory of switch state
    std::uint64_t device_bytes = 0;   ///< the most memory that lanes of the device engine worked on
    std::uint32_t threads = 1;        ///< that were used
    std::uint64_t windows = 0;        ///< that had events; here and below nothing is told by the device engine
    /// How many times as fast as one thread these could be, if meeting took no time, and all events the same.
    double speedup_at_most = 1;
    double wall_s = 0;
    double setup_s = 0;
};

/// Called every now and then with how many switches packets have visited so far; may throw to stop.
using Poll = std::function<void(std::uint64_t hops)>;

/// Whether this build checks at each event that bytes, packets and credits are conserved and time goes forward.
[[nodiscard]] bool checks_invariants();

/// How much memory the process takes more once network and ranks are there and nothing has been sent [B], as the system
/// counts it; 0 where it does not.
[[nodiscard]] std::uint64_t idle_bytes(const Machine& machine, const Schedule& schedule, const Run& run);

/// \param poll empty: nobody asks
/// \param keeping where the state of a long run is kept; a run that goes on from one has as many threads as before
/// \throws std::invalid_argument for a machine or allocation that cannot work, std::runtime_error on deadlock
[[nodiscard]] Outcome simulate(const Machine& machine, const Schedule& schedule, const Run& run, const Poll& poll = {},
                               const Keeping& keeping = {});

}  // namespace tramontane
