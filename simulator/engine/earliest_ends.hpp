/// \file
/// When ranks could end at the earliest: a schedule on a network without contention. No simulation of the same point is
/// faster, so what this bound excludes need not be simulated.
#pragma once

#include <cstdint>
#include <vector>

#include "machine.hpp"
#include "placement/allocation.hpp"
#include "placement/places.hpp"
#include "schedule.hpp"

namespace tramontane {

/// At n - 1, of the first n repeats of a schedule.
struct EarliestEnds {
    std::vector<double> first_s;  ///< no rank ends sooner after the first start
    std::vector<double> last_s;   ///< the last rank ends no sooner
};

/// What is counted of a message: the copies of its two ends, of which a rank makes one after the other; the latencies
/// of a shortest path, or of the way inside a node; its bytes at the slowest server on the way. Where links differ,
/// each is taken for the fastest and for that of the smallest latency. What is left out only delays: everybody else's
/// packets, buffers and credits, who else shares a node's NICs and memory, handshakes of the protocols, second copies
/// of what comes early, late starts.
///
/// \throws std::invalid_argument for a machine that cannot work, or of another model than the default;
///     std::runtime_error where a rank ends beyond the range of time
[[nodiscard]] EarliestEnds earliest_ends(const Machine& machine, const Schedule& schedule, std::uint64_t seed,
                                         const AllocationRule& rule = {}, const PlacesRule& places = {});

}  // namespace tramontane
