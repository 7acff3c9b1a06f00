/// \file
/// What rules have in common. A rule is a function that says what a switch, a network interface or a rank does with
/// records that are given to it.
///
/// Rules stand once. They own no storage, lock nothing, and schedule nothing themselves: whoever executes them gives
/// records by index, and takes what follows (rules/events.hpp). So one text of them is compiled for processors and for
/// accelerators.
#pragma once

#include <cstdint>

#include "accelerated.hpp"

namespace tramontane {

/// A record's number among those of its kind. Numbers follow from who was first and decide nothing.
using Index = std::uint32_t;
inline constexpr Index none = 0;

}  // namespace tramontane
