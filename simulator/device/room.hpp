/// \file
/// How much room the device engine makes for what it keeps, before it has seen any of it. Planning asks here, too.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/lane_state.hpp"

namespace tramontane::device {

/// Where there would be more sites, ports are none: bins of all sites and windows are to take less than 4 GiB.
inline constexpr std::uint64_t most_sites = std::uint64_t{1} << 23;

/// Records of a kind that there is room for at first, beside what a window may take.
///
/// \param places switches and interfaces
[[nodiscard]] constexpr std::uint64_t records_at_first(std::uint64_t places, std::uint64_t lanes) {
#ifdef TRAMONTANE_SMALL_STORAGE
    constexpr std::uint64_t most = 1 << 11;
#else
    constexpr std::uint64_t most = 1 << 18;
#endif
    constexpr std::uint64_t each = 64, at_hand = decltype(LaneState::packets)::most;
    return std::clamp<std::uint64_t>(each * places, 1 << 11, most) + std::min(lanes, places) * at_hand;
}

}  // namespace tramontane::device
