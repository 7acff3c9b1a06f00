// The stages ahead of an event ask for the cache lines that it touches.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "given.hpp"
#include "memory/lines.hpp"
#include "simulation.hpp"
#include "testing.hpp"
#include "workload.hpp"

using namespace tramontane;
using namespace tramontane::testing;

// Counting takes minutes under a sanitizer, and shows it nothing new.
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif

#ifndef SANITIZED

namespace {

/// What events touched in a simulation, by kind.
std::array<Lines::Count, Lines::kinds> touched(const Machine& machine, const std::vector<std::string>& workload,
                                               Rank ranks) {
    Lines::here().start();
    const auto schedule = make_workload(split_arguments(workload), ranks, {.empty_blocks = true})->schedule();
    (void)simulate(machine, *schedule, Run{});
    return Lines::here().stop();
}

double share(const Lines::Count& count) {
    return static_cast<double>(count.unasked) / static_cast<double>(std::max<std::uint64_t>(count.touched, 1));
}

}  // namespace

TEST_CASE("events find in the cache what they touch") {
    // Some megabytes of state, so that there are calls ahead; a routing that is known ahead (UGAL is not).
    const std::vector<std::vector<std::string>> workloads{
        {"kind=transposition", "algorithm=ring-k", "radix=4", "grid=360x180x32"},
        {"kind=transposition", "algorithm=burst", "grid=180x90x32"},
        {"kind=halo", "width=10", "grid=720x360x32"},
        {"kind=allreduce", "algorithm=recursive-k", "radix=8", "count=3", "repeats=5"},
    };
    Machine machine = pushing("dragonfly", {8, 8, 8}, 2, "valiant");
    machine.buffer = 128'000;
    machine.short_limit = 512;
    machine.eager_limit = 8192;
    for (const std::int64_t crossbar : {0LL, 100'000'000'000LL}) {
        machine.crossbar_bandwidth = crossbar;
        for (const auto& workload : workloads) {
            if (crossbar > 0 && workload[0] == "kind=transposition") continue;  // the rest will do
            INFO(workload[0] << ", crossbar " << crossbar << " B/s");
            Lines::Count all;
            const auto kinds = touched(machine, workload, 1000);
            for (const Lines::Count& count : kinds) {
                all.touched += count.touched;
                all.unasked += count.unasked;
            }
            REQUIRE(all.touched > 1'000'000);
            CHECK(share(all) < 0.036);
            CHECK(share(kinds[static_cast<std::size_t>(EventKind::head_arrival)]) < 0.027);
            CHECK(share(kinds[static_cast<std::size_t>(EventKind::message_arrival)]) < 0.072);
        }
    }
}
#endif
