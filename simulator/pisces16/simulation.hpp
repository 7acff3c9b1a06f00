/// \file
/// One simulation in SST/macro 16.0's own ways: launch, MPI_Init, MPI_Barrier, the schedule, MPI_Reduce.
#pragma once

#include "../simulation.hpp"

namespace tramontane::pisces16 {

/// As tramontane::simulate; the seed is also the router's, and ranks are delayed by the jitter after the barrier.
[[nodiscard]] Outcome simulate(const Machine& machine, const Schedule& schedule, const Run& run, const Poll& poll);

}  // namespace tramontane::pisces16
