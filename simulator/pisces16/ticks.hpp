/// \file
/// SST/macro's time: ticks of 0.1 fs, ten thousand a picosecond, and everything truncated. 922 s can be simulated:
/// half of what 64 bits hold, so that no sum of a few times wraps.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "../../skeleton-src/ticks.hpp"

namespace tramontane::pisces16 {

inline constexpr Ticks ticks_per_picosecond = 10'000;
inline constexpr double seconds_per_tick = 1e-16;
inline constexpr Ticks end_of_time = 922 * (ticks_per_picosecond * 1'000'000'000'000);

/// Below it, the 32-bit count of an idle server's slots [bytes] spans more ticks than 64 bits hold.
inline constexpr std::int64_t min_bandwidth = 10'000'000;  ///< [B/s]

/// \throws std::runtime_error where an event would lie beyond the range of time, or before `now`: it has wrapped
inline void check_event(Ticks time, Ticks now = 0) {
    if (time < now || time > end_of_time) {
        throw std::runtime_error("the simulated time exceeds 922 s, the end of the range of the model pisces-16");
    }
}

[[nodiscard]] constexpr Ticks from_picoseconds(std::int64_t picoseconds) {
    return static_cast<Ticks>(picoseconds) * ticks_per_picosecond;
}

/// Ticks a byte takes at `bandwidth` [B/s], or a cycle at a frequency [Hz].
[[nodiscard]] constexpr Ticks byte_time(std::int64_t bandwidth) {
    return ticks_per_picosecond * 1'000'000'000'000 / static_cast<Ticks>(bandwidth);
}

[[nodiscard]] constexpr double to_seconds(Ticks ticks) { return static_cast<double>(ticks) * seconds_per_tick; }

/// A time in the ticks of the simulator's default model, in which delays are counted.
[[nodiscard]] constexpr Ticks coarse(Ticks ticks) {
    return ticks / (ticks_per_picosecond / tramontane::ticks_per_picosecond);
}

}  // namespace tramontane::pisces16
