/// \file
/// The simulator's time: an unsigned 64-bit count of ticks of 5 fs.
///
/// A day can be simulated (2^64 ticks are 25.6 hours), and a byte takes a whole number of ticks at 1 GB/s, 100 GB/s or
/// 1 TB/s (200 ticks). At other bandwidths the nearest whole number is taken; that is off by half a tick at most, 0.03
/// % at 100 GB/s. All else is truncated.
///
/// Time can't wrap: all quantities are bounded where they are read; products of them, and how far ahead a server is
/// booked, are checked; and no event is handled after `end_of_time`, behind which 5833 s are left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "accelerated.hpp"

namespace tramontane {

using Ticks = std::uint64_t;

inline constexpr Ticks ticks_per_picosecond = 200;
inline constexpr Ticks ticks_per_second = ticks_per_picosecond * 1'000'000'000'000;
inline constexpr double seconds_per_tick = 5e-15;
inline constexpr Ticks end_of_time = 86'400 * ticks_per_second;
inline constexpr Ticks longest_step = (~Ticks{0} - end_of_time) / 4;  ///< 1458 s; a few make one event's time

[[nodiscard]] constexpr Ticks from_picoseconds(std::int64_t picoseconds) {
    return static_cast<Ticks>(picoseconds) * ticks_per_picosecond;
}

/// Ticks a byte takes at `bandwidth` [B/s]; at least one.
[[nodiscard]] constexpr Ticks byte_time(std::int64_t bandwidth) {
    const auto per_second = static_cast<Ticks>(bandwidth);
    return std::max<Ticks>(1, (ticks_per_second + per_second / 2) / per_second);
}

/// Divided, so that it is the double nearest to the time.
[[nodiscard]] constexpr double to_seconds(Ticks ticks) {
    return static_cast<double>(ticks) / static_cast<double>(ticks_per_second);
}

// Out of line, so that a check is a comparison where it stands.
[[noreturn, gnu::cold, gnu::noinline]] TRAMONTANE_RULE inline void refuse_time() {
    fail<std::runtime_error>("the simulated time exceeds a day (86400 s), the end of the simulator's range");
}
[[noreturn, gnu::cold, gnu::noinline]] TRAMONTANE_RULE inline void refuse_step() {
    fail<std::runtime_error>(
        "a copy, a message or its wait for a link takes more than 1458 s, the longest step of the simulator");
}

/// \throws std::runtime_error where an event would lie beyond the range of time
TRAMONTANE_RULE inline void check_event(Ticks time) {
    if (time > end_of_time) [[unlikely]]
        refuse_time();
}
/// \throws std::runtime_error where something takes longer than may be added to a time
TRAMONTANE_RULE inline void check_step(Ticks step) {
    if (step > longest_step) [[unlikely]]
        refuse_step();
}

/// `count` times `each`. \throws std::runtime_error where that is longer than a step may be
[[nodiscard]] TRAMONTANE_RULE inline Ticks checked_product(std::uint64_t count, Ticks each) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{count} * each;  // a division would tell as well, and take longer
    check_step(product > longest_step ? longest_step + 1 : 0);
    return static_cast<Ticks>(product);
}

}  // namespace tramontane
