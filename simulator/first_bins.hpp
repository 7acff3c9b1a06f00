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
#include "setting.hpp"
#include "simulation.hpp"
#include "ticks.hpp"

namespace tramontane {

/// When at the earliest a rank's NIC has passed the bytes of a repeat, one after the other, the last of them when the
/// rank has worked; 0 if it passes none. Of many messages the first few thousand are looked at.
[[nodiscard]] inline Ticks nic_has_passed(std::uint32_t rank, const Schedule& schedule, const Run& run,
                                          const Parameters& parameters, const Places& places) {
    constexpr std::int64_t most = 4096, most_work = 1'000'000'000'000'000;
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40, most_slot = std::uint64_t{1} << 20;
    const std::uint32_t home = places.node_of(places.of(rank));
    std::uint64_t bytes = 0;
    std::int64_t work = 0, worked = 0;
    const std::int64_t rounds = std::min<std::int64_t>(schedule.rounds() / schedule.repeats(), most);
    for (std::int64_t number = 0, looked_at = 0; number < rounds; ++number) {
        const Round round = schedule.round(rank, number);
        work = std::min(work + round.work, most_work);
        for (std::int32_t i = 0; i < round.sends && looked_at < most; ++i, ++looked_at) {
            const Transfer sent = schedule.send(rank, number, i);
            const bool passes_nic = places.node_of(places.of(static_cast<std::uint32_t>(sent.peer))) != home &&
                                    sent.bytes > std::max<std::int64_t>(parameters.negligible_size, 0);
            if (!passes_nic) continue;
            bytes = std::min(bytes + static_cast<std::uint64_t>(sent.bytes), most_bytes);
            worked = work;
        }
    }
    if (bytes == 0) return 0;
    const Ticks passed = bytes * std::min<std::uint64_t>(parameters.injection_slot, most_slot) / places.nics();
    return start_of(rank, run) + std::max(passed, from_picoseconds(worked));
}

/// A moment which some link is still to carry something at, or after, if any does: what a NIC has passed, a switch's
/// link passes the NIC's latency later. Of all ranks the first one is looked at, and the last one to start.
[[nodiscard]] inline Ticks surely_counted(const Schedule& schedule, const Run& run, const Parameters& parameters,
                                          const Places& places) {
    if (run.links.bins == 0) return 0;
    std::uint32_t last = 0;
    Ticks latest = start_of(last, run);
    const auto ranks = static_cast<std::uint32_t>(run.start_jitter > 0 ? schedule.ranks() : 0);
    for (std::uint32_t rank = 1; rank < ranks; ++rank) {
        const Ticks start = start_of(rank, run);
        if (start > latest) last = rank, latest = start;
    }
    const auto passed = [&](std::uint32_t rank) { return nic_has_passed(rank, schedule, run, parameters, places); };
    return parameters.injection_latency + std::max(passed(0), passed(last));
}

}  // namespace tramontane
