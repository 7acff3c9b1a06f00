#include "statistics/first_bins.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "topologies/route_walk.hpp"

namespace tramontane {
namespace {

// Bounds of what is looked at, so that no product is too large: less is surely counted, too.

void add(std::uint64_t& bytes, std::int64_t more) {
    bytes = std::min(bytes + static_cast<std::uint64_t>(more), std::uint64_t{1} << 40);
}
/// How long they take. \param slot of a byte
Ticks time_of(std::uint64_t bytes, Ticks slot) { return bytes * std::min(slot, Ticks{1} << 20); }

/// Calls `f(transfer, work)` for the messages that a rank sends through the network in a repeat, with what it has
/// worked before that [ps]. At most `most` messages are looked at.
template <class F>
void each_sent(std::uint32_t rank, const Schedule& schedule, const Parameters& parameters, const Places& places,
               std::int64_t most, F&& f) {
    constexpr std::int64_t most_rounds = 4096, most_work = 1'000'000'000'000'000;
    const std::uint32_t home = places.node_of(places.of(rank));
    const std::int64_t rounds = std::min(schedule.rounds() / schedule.repeats(), most_rounds);
    std::int64_t work = 0;
    for (std::int64_t number = 0, looked_at = 0; number < rounds && looked_at < most; ++number) {
        const Round round = schedule.round(rank, number);
        work = std::min(work + round.work, most_work);
        for (std::int32_t i = 0; i < round.sends && looked_at < most; ++i, ++looked_at) {
            const Transfer sent = schedule.send(rank, number, i);
            const bool passes_nic = places.node_of(places.of(static_cast<std::uint32_t>(sent.peer))) != home &&
                                    sent.bytes > std::max<std::int64_t>(parameters.negligible_size, 0);
            if (passes_nic) f(sent, work);
        }
    }
}

/// When at the earliest a rank's NIC has passed the bytes of a repeat, one after the other, the last of them when the
/// rank has worked; 0 if it passes none.
Ticks nic_has_passed(std::uint32_t rank, const Schedule& schedule, const Run& run, const Parameters& parameters,
                     const Places& places) {
    std::uint64_t bytes = 0;
    std::int64_t worked = 0;
    each_sent(rank, schedule, parameters, places, 4096, [&](const Transfer& sent, std::int64_t work) {
        add(bytes, sent.bytes);
        worked = work;
    });
    if (bytes == 0) return 0;
    const Ticks passed = time_of(bytes, parameters.injection_slot) / places.nics();
    return start_of(rank, run) + std::max(passed, from_picoseconds(worked));
}

/// When at the earliest all links have passed what the first ranks send over them, where all packets of a message take
/// the same route. Neighbours share links: so some hundred messages show a good part of what busy links have to pass.
Ticks links_have_passed(const Schedule& schedule, const Parameters& parameters, const Setting& setting) {
    constexpr std::uint32_t most_ranks = 128;
    constexpr std::int64_t most_of_rank = 16;
    const Places& places = setting.places;
    if (places.nics() > 1) return 0;  // which one a message takes is known when it is sent
    const Topology& topology = *setting.topology;
    const auto node_of = [&](std::uint32_t rank) { return setting.allocation.node(places.node_of(places.of(rank))); };
    std::unordered_map<std::uint64_t, std::uint64_t> bytes;  // by link
    Ticks longest = 0;
    for (std::uint32_t rank = 0; rank < std::min(setting.ranks, most_ranks); ++rank) {
        each_sent(rank, schedule, parameters, places, most_of_rank, [&](const Transfer& sent, std::int64_t) {
            const std::optional<Walk> route =
                only_route(topology, setting.router, node_of(rank), node_of(static_cast<std::uint32_t>(sent.peer)));
            if (!route) return;
            for (const Step& step : *route) {
                std::uint64_t& of_link = bytes[std::uint64_t{step.at} * topology.ports() + step.port];
                add(of_link, sent.bytes);
                const LinkRates& links = parameters.links;
                const LinkRate& rate = links.rates[links.of_class[topology.link_class(step.at, step.port)]];
                longest = std::max(longest, time_of(of_link, rate.slot));
            }
        });
    }
    return longest;
}

/// The rank that starts last.
std::uint32_t last_to_start(std::uint32_t ranks, const Run& run) {
    std::uint32_t last = 0;
    if (run.start_jitter == 0) return last;
    Ticks latest = start_of(last, run);
    for (std::uint32_t rank = 1; rank < ranks; ++rank) {
        const Ticks start = start_of(rank, run);
        if (start > latest) last = rank, latest = start;
    }
    return last;
}

}  // namespace

Ticks surely_counted(const Schedule& schedule, const Run& run, const Parameters& parameters, const Setting& setting) {
    if (run.links.bins == 0) return 0;
    const auto passed = [&](std::uint32_t rank) {
        return nic_has_passed(rank, schedule, run, parameters, setting.places);
    };
    // What a NIC has passed, a switch's link passes the NIC's latency later.
    const Ticks by_nics = std::max(passed(0), passed(last_to_start(setting.ranks, run)));
    return std::max(parameters.injection_latency + by_nics, links_have_passed(schedule, parameters, setting));
}

}  // namespace tramontane
