// Noise of the operating system, and overheads of the processors.
#include <cmath>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <vector>

#include "given.hpp"
#include "noise.hpp"
#include "random.hpp"
#include "simulation.hpp"
#include "testing.hpp"

using namespace tramontane;
using namespace tramontane::testing;

namespace {

constexpr Ticks us = from_picoseconds(1'000'000);
constexpr NoiseRule periodic{.period = 1'000'000'000, .duration = 100'000'000, .random = false};  // 1 ms, 0.1 ms
constexpr NoiseRule random_moments{.period = 1'000'000'000, .duration = 100'000'000, .random = true};

Run with_noise(const NoiseRule& noise, std::uint64_t seed = 1) {
    Run run;
    run.seed = seed;
    run.noise = noise;
    return run;
}

Ticks ticks(double seconds) { return static_cast<Ticks>(std::llround(seconds / seconds_per_tick)); }

}  // namespace

TEST_CASE("without noise work takes as long as it takes") {
    const Noise none({}, 1);
    CHECK_FALSE(none.on());
    CHECK(none.end(3, 1'000, 500) == 1'500);
}

TEST_CASE("interruptions take their share of any long work") {
    for (const NoiseRule& rule : {periodic, random_moments}) {
        const Noise noise(rule, 1);
        for (std::uint32_t rank = 0; rank < 100; ++rank) {
            const Ticks begin = rank * 77 * us;
            const Ticks work = 90'000 * us;  // in 100 periods of which 0.9 ms remain
            const Ticks lost = noise.end(rank, begin, work) - begin - work;
            CHECK(lost >= 99 * 100 * us);
            CHECK(lost <= 101 * 100 * us);
        }
    }
}

TEST_CASE("work in pieces ends when work in one piece ends") {
    for (const NoiseRule& rule : {periodic, random_moments}) {
        const Noise noise(rule, 7);
        for (std::uint32_t rank = 0; rank < 200; ++rank) {
            Ticks now = below(random_bits(1, rank, 0), 5'000 * us);
            const Ticks begin = now;
            Ticks sum = 0;
            for (std::uint64_t piece = 0; piece < 100; ++piece) {
                const Ticks work = 1 + below(random_bits(2, rank, piece), 200 * us);
                sum += work;
                now = noise.end(rank, now, work);
                REQUIRE(now == noise.end(rank, begin, sum));
            }
        }
    }
}

TEST_CASE("work ends with the last of the moments that it needs, where interrupted ones do not count") {
    for (const bool random : {false, true}) {
        const Noise noise({.period = 3, .duration = 1, .random = random}, 11);
        for (std::uint32_t rank = 0; rank < 20; ++rank) {
            const Ticks begin = 50 * rank;
            Ticks work = 0;
            for (Ticks now = begin; now < begin + from_picoseconds(15); ++now) {
                if (noise.end(rank, now, 0) > now) continue;  // interrupted
                REQUIRE(noise.end(rank, begin, ++work) == now + 1);
            }
            CHECK(work >= from_picoseconds(9));  // of five periods two thirds, more or less
            CHECK(work <= from_picoseconds(11));
        }
    }
}

TEST_CASE("work over any number of interruptions is no longer to simulate") {
    constexpr Ticks second = ticks_per_second;
    for (const bool random : {false, true}) {
        const Noise half({.period = 2, .duration = 1, .random = random}, 3);
        CHECK(half.end(5, 7 * second, 1'000 * second) - 2'007 * second <= from_picoseconds(4));
        const Noise hardly({.period = 1'000'000, .duration = 999'999, .random = random}, 3);
        CHECK_THROWS_AS(hardly.end(5, 0, second), std::runtime_error);  // 10^6 s
        CHECK_THROWS_AS(hardly.end(5, 0, 1'000 * second), std::runtime_error);
        // 80,000 s after 80,000 s are where 64 bits have begun anew.
        CHECK_THROWS_AS(hardly.end(5, 80'000 * second, second * 8 / 100), std::runtime_error);
        CHECK(hardly.end(5, 0, second * 8 / 100) <= 80'001 * second);
    }
}

TEST_CASE("ranks have interruptions of their own, of the seed") {
    /// When during 2 ms, looked at every 20 us, the rank is in a interruption.
    const auto pattern = [](const Noise& noise, std::uint32_t rank) {
        std::vector<bool> away;
        for (Ticks now = 0; now < 2'000 * us; now += 20 * us) away.push_back(noise.end(rank, now, 0) > now);
        return away;
    };
    for (const NoiseRule& rule : {periodic, random_moments}) {
        std::set<std::vector<bool>> ranks, seeds;
        for (std::uint32_t i = 0; i < 50; ++i) {
            ranks.insert(pattern(Noise(rule, 1), i));
            seeds.insert(pattern(Noise(rule, i), 0));
        }
        CHECK(ranks.size() > 20);
        CHECK(seeds.size() > 20);
        CHECK(pattern(Noise(rule, 3), 4) == pattern(Noise(rule, 3), 4));
    }
}

TEST_CASE("at each moment, the first one included, as many ranks are away") {
    // Short operations begin with a point: where no rank was away then, they would meet less noise than long ones.
    const NoiseRule half{.period = 1'000'000'000, .duration = 500'000'000, .random = true};
    for (const NoiseRule& rule : {periodic, random_moments, half}) {
        const Noise noise(rule, 5);
        const double share = static_cast<double>(rule.duration) / static_cast<double>(rule.period);
        for (Ticks now = 0; now < 2'000 * us; now += 125 * us) {
            int away = 0;
            for (std::uint32_t rank = 0; rank < 10'000; ++rank) away += noise.end(rank, now, 0) > now ? 1 : 0;
            CHECK(std::abs(away / 10'000.0 - share) <= 0.02);
        }
    }
}

TEST_CASE("a chain of sends is slowed by the share of the interruptions") {
    Machine machine = pushing("torus", {1, 1, 1}, 2);
    machine.send_overhead = 10'000'000;  // 10 us
    const std::vector<Given::Message> messages(1'000, {0, 1, 8});
    const Outcome quiet = run(machine, Given(2, messages));
    CHECK(std::abs(quiet.phases[0].second - 10e-3) < 1e-9);
    for (const NoiseRule& rule : {periodic, random_moments}) {
        const Outcome noisy = run(machine, Given(2, messages), with_noise(rule));
        CHECK(std::abs(noisy.phases[0].second - 10e-3 / 0.9) <= 0.2e-3);
        CHECK(run(machine, Given(2, messages), with_noise(rule)).time_s == noisy.time_s);
    }
}

TEST_CASE("what arrives during an interruption waits for its end, at the rank but not at the NIC") {
    const Machine machine = pushing("torus", {1, 1, 1}, 2);
    const Given schedule(2, {{0, 1, 104}});
    const Ticks flight = ticks(run(machine, schedule).phases[1].second);
    const NoiseRule often{.period = 1'000'000, .duration = 400'000, .random = false};  // 1 us, 0.4 us
    bool waited = false;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        NoiseRule rule = often;
        rule.random = seed % 2 == 1;
        const Noise noise(rule, seed);
        const Ticks arrival = noise.end(0, 0, 0) + flight;
        const Ticks end = noise.end(1, arrival, 0) - noise.end(1, 0, 0);
        const Ticks simulated = ticks(run(machine, schedule, with_noise(rule, seed)).phases[1].second);
        CHECK(std::abs(static_cast<double>(simulated) - static_cast<double>(end)) <= 1'000);  // of copying
        waited = waited || noise.end(1, arrival, 0) > arrival;
    }
    CHECK(waited);
}

TEST_CASE("overheads are paid once a message, whatever its protocol") {
    for (const std::int64_t bytes : {8, 1'000, 100'000}) {
        Machine machine = pushing("torus", {1, 1, 1}, 3);
        machine.short_limit = 512;
        machine.eager_limit = 8192;
        const Given schedule(3, {{0, 2, bytes}, {1, 2, bytes}});
        const Outcome free = run(machine, schedule);
        machine.send_overhead = 3'000'000;
        CHECK(ticks(run(machine, schedule).time_s) - ticks(free.time_s) == 3 * us);
        machine.receive_overhead = 50'000'000;  // longer than all else: the receiver takes one after the other
        const Outcome slow = run(machine, schedule);
        CHECK(slow.phases[2].second >= 2 * 50e-6);
        CHECK(ticks(slow.time_s) - ticks(free.time_s) <= 103 * us);
        CHECK(slow.bytes == free.bytes);
    }
}
