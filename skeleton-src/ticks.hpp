/// \file
/// The simulator's time: an unsigned 64-bit count of ticks of 0.1 fs, the tick of SST/macro, so that byte times of
/// 1 GB/s to 1000 GB/s are whole numbers and 1844 s can be simulated. Everything is truncated, never rounded.
#pragma once

#include <cstdint>

namespace tramontane {

using Ticks = std::uint64_t;

inline constexpr Ticks ticks_per_picosecond = 10'000;
inline constexpr double seconds_per_tick = 1e-16;

[[nodiscard]] constexpr Ticks from_picoseconds(std::int64_t picoseconds) {
    return static_cast<Ticks>(picoseconds) * ticks_per_picosecond;
}

/// Ticks a byte takes at `bandwidth` [B/s].
[[nodiscard]] constexpr Ticks byte_time(std::int64_t bandwidth) {
    return static_cast<Ticks>(10'000'000'000'000'000 / bandwidth);
}

[[nodiscard]] constexpr double to_seconds(Ticks ticks) { return static_cast<double>(ticks) * seconds_per_tick; }

}  // namespace tramontane
