/// \file
/// How wide bins of time are at first, where what links carry is counted over time.
///
/// Bins become wider as a run goes on, and what is counted before that is counted in more of them than the result has:
/// ranks begin together, so with the narrowest bins each of their first packets would be in a dozen. A lower bound of
/// how long the run will be avoids that, and changes no result.
#pragma once

#include <algorithm>
#include <cstdint>

#include "places.hpp"
#include "rules/link_meter.hpp"
#include "rules/parameters.hpp"
#include "schedule.hpp"
#include "ticks.hpp"

namespace tramontane {

/// A moment which some link is still to carry something at, or after, if any does: the first rank's NIC passes the
/// bytes of a repeat one after the other, the last of them when the rank has worked, and a switch's link passes them
/// the NIC's latency later. Of many messages the first few thousand are looked at.
[[nodiscard]] inline Ticks surely_counted(const Schedule& schedule, const LinkCounting& counting,
                                          const Parameters& parameters, const Places& places) {
    if (counting.bins == 0) return 0;
    constexpr std::int64_t most = 4096, most_work = 1'000'000'000'000'000;
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40, most_slot = std::uint64_t{1} << 20;
    const std::uint32_t home = places.node_of(places.of(0));
    std::uint64_t bytes = 0;
    std::int64_t work = 0, worked = 0;
    const std::int64_t rounds = std::min<std::int64_t>(schedule.rounds() / schedule.repeats(), most);
    for (std::int64_t number = 0, looked_at = 0; number < rounds; ++number) {
        const Round round = schedule.round(0, number);
        work = std::min(work + round.work, most_work);
        for (std::int32_t i = 0; i < round.sends && looked_at < most; ++i, ++looked_at) {
            const Transfer sent = schedule.send(0, number, i);
            const bool passes_nic = places.node_of(places.of(static_cast<std::uint32_t>(sent.peer))) != home &&
                                    sent.bytes > std::max<std::int64_t>(parameters.negligible_size, 0);
            if (!passes_nic) continue;
            bytes = std::min(bytes + static_cast<std::uint64_t>(sent.bytes), most_bytes);
            worked = work;
        }
    }
    const Ticks passed = bytes * std::min<std::uint64_t>(parameters.injection_slot, most_slot) / places.nics();
    return parameters.injection_latency + std::max(passed, from_picoseconds(worked));
}

}  // namespace tramontane
