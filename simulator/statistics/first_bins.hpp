/// \file
/// How wide bins of time are at first, where what links carry is counted over time.
///
/// Bins become wider as a run goes on, and what is counted before that is counted in more of them than the result has:
/// ranks begin together, so with the narrowest bins each of their first packets would be in a dozen. A lower bound of
/// how long the run will be avoids that, and changes no result.
#pragma once

#include "rules/parameters.hpp"
#include "schedule.hpp"
#include "setting.hpp"
#include "simulation.hpp"
#include "ticks.hpp"

namespace tramontane {

/// A moment which some link is still to carry something at, or after, if any does; 0 where that is not counted. The
/// first ranks are looked at, and the last one to start.
[[nodiscard]] Ticks surely_counted(const Schedule& schedule, const Run& run, const Parameters& parameters,
                                   const Setting& setting);

}  // namespace tramontane
