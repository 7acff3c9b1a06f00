// Queueing delays: bins, and simulations whose delays can be worked out by hand.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "delays.hpp"
#include "given.hpp"
#include "random.hpp"
#include "simulation.hpp"
#include "testing.hpp"

using namespace tramontane;
using namespace tramontane::testing;

namespace {

constexpr Ticks ns = from_picoseconds(1000);
constexpr double tick = seconds_per_tick;

Run with_congestion(std::uint32_t bins) {
    Run run;
    run.congestion_bins = bins;
    return run;
}

constexpr double packet_time = 409.6 * ns;  // ticks of a full packet at 10 GB/s

/// How far a time is from what was expected, as a share; whole byte slots cost up to a few bytes a packet.
double off(double seconds, double expected_ticks) { return std::abs(seconds / tick / expected_ticks - 1); }

}  // namespace

TEST_CASE("bins of delays are ten a decade from 1 ns to 10 s, one below and one above") {
    CHECK(delay_bins::of(0) == 0);
    CHECK(delay_bins::of(1 * ns - 1) == 0);
    for (std::size_t decade = 0; decade < 10; ++decade) {
        const auto first = static_cast<Ticks>(std::pow(10.0, static_cast<double>(decade))) * ns;
        CHECK(delay_bins::of(first) == 1 + 10 * decade);
        CHECK(delay_bins::of(first - 1) == 10 * decade);
    }
    CHECK(delay_bins::of(10'000'000'000 * ns) == delay_bins::count - 1);
    CHECK(delay_bins::of(std::numeric_limits<Ticks>::max()) == delay_bins::count - 1);
    for (std::size_t bin = 1; bin < delay_bins::count; ++bin) {
        CHECK(delay_bins::of(delay_bins::lower[bin]) == bin);
        CHECK(delay_bins::of(delay_bins::lower[bin] - 1) == bin - 1);
        const double expected = ns * std::pow(10.0, static_cast<double>(bin - 1) / 10);
        CHECK(std::abs(static_cast<double>(delay_bins::lower[bin]) - expected) <= 1 + 4e-15 * expected);
    }
    for (std::uint64_t i = 0; i < 100'000; ++i) {
        const Ticks delay = random_bits(1, 2, i) >> (i % 64);
        const std::size_t bin = delay_bins::of(delay);
        REQUIRE(delay_bins::lower[bin] <= delay);
        REQUIRE((bin + 1 == delay_bins::count || delay < delay_bins::lower[bin + 1]));
    }
}

TEST_CASE("what threads saw adds up") {
    Delays all(3, 7), one(3, 7), other(3, 7);
    for (std::uint64_t i = 0; i < 1'000; ++i) {
        const Ticks delay = random_bits(3, 4, i) >> (i % 60);
        const auto source = static_cast<std::uint32_t>(below(random_bits(5, 6, i), 7));
        const auto target = static_cast<std::uint32_t>(below(random_bits(7, 8, i), 7));
        all.add(delay, source, target);
        (i % 3 == 0 ? one : other).add(delay, source, target);
    }
    one.add(other);
    CHECK(one.histogram == all.histogram);
    CHECK(one.total.ticks == all.total.ticks);
    CHECK(one.total.max == all.total.max);
    for (std::uint32_t source = 0; source < 3; ++source) {
        for (std::uint32_t target = 0; target < 3; ++target) {
            CHECK(one.matrix.at(source, target).ticks == all.matrix.at(source, target).ticks);
            CHECK(one.matrix.at(source, target).packets == all.matrix.at(source, target).packets);
            CHECK(one.matrix.at(source, target).max == all.matrix.at(source, target).max);
        }
    }
}

TEST_CASE("a packet that is alone takes hops times latency and is not delayed, on any network and routing") {
    for (Machine machine : every_network()) {
        for (const std::int64_t link_bandwidth : {2'000'000'000LL, 10'000'000'000LL, 40'000'000'000LL}) {
            machine.link_bandwidth = link_bandwidth;
            const std::int64_t slowest = std::min<std::int64_t>(10'000'000'000, link_bandwidth);
            for (const Rank target : {1, 7, 15, 23}) {
                for (const std::int64_t bytes : {std::int64_t{24}, std::int64_t{1000}, machine.packet}) {
                    const Outcome o = run(machine, Given(24, {{0, target, bytes}}));
                    INFO(machine.topology << " " << machine.routing << " to " << target << ": " << o.hops << " hops");
                    CHECK(o.delays.histogram[0] == 1);
                    CHECK(o.delays.total.max < 1 * ns);
                    const double latency = (1.0 + static_cast<double>(o.hops)) * 100 * ns;
                    const double transfer =
                        static_cast<double>(bytes) * ticks_per_second / static_cast<double>(slowest);
                    const double byte = ticks_per_second / static_cast<double>(slowest);
                    CHECK(std::abs(o.time_s / tick - latency - transfer) <= 4 * byte * static_cast<double>(o.hops));
                }
            }
        }
    }
}

TEST_CASE("packets of one message do not delay each other unless a link is slower than the injection") {
    Machine machine = pushing("torus", {2, 1, 1});
    const Outcome even = run(machine, Given(2, {{0, 1, 100 * 4096}}));
    CHECK(even.delays.histogram[0] == 100);
    // Each comes 4096 B x 0.1 ns after the one before it and leaves 0.2 ns x 4096 after it: the i-th is i x 409.6 ns
    // late, and 0 + 1 + ... + 7 = 28.
    machine.link_bandwidth = 5'000'000'000;
    const Outcome slow = run(machine, Given(2, {{0, 1, 8 * 4096}}));
    CHECK(off(slow.delays.total.sum(), packet_time * 28) <= 1e-3);
    CHECK(off(to_seconds(slow.delays.total.max), packet_time * 7) <= 1e-3);
}

TEST_CASE("of two senders to one receiver every other packet waits for one more") {
    // Packet j = 0, 1, ... of both leaves the receiver's link after j others and has come with the (j / 2)-th of its
    // sender.
    for (const std::uint64_t packets : {1, 2, 8}) {
        const auto bytes = static_cast<std::int64_t>(packets) * 4096;
        const Outcome o =
            run(pushing("torus", {1, 1, 1}, 3), Given(3, {{0, 2, bytes}, {1, 2, bytes}}), with_congestion(3));
        CHECK(off(o.delays.total.sum(), packet_time * static_cast<double>(packets * packets)) <= 1e-3);
        CHECK(off(to_seconds(o.delays.total.max), packet_time * static_cast<double>(packets)) <= 1e-3);
        CHECK(o.delays.matrix.at(0, 2).packets == packets);
        CHECK(o.delays.matrix.at(1, 2).packets == packets);
        CHECK(o.delays.matrix.at(0, 1).packets == 0);
        CHECK(o.delays.matrix.at(0, 2).ticks + o.delays.matrix.at(1, 2).ticks == o.delays.total.ticks);
    }
}

TEST_CASE("of n senders to one receiver the k-th packet waits for k others") {
    const Rank n = 15;
    std::vector<Given::Message> messages;
    for (Rank rank = 0; rank < n; ++rank) messages.push_back({rank, n, 4096});
    const Outcome o = run(pushing("torus", {1, 1, 1}, n + 1), Given(n + 1, messages));
    CHECK(off(o.delays.total.sum(), packet_time * n * (n - 1) / 2) <= 1e-3);
    CHECK(off(to_seconds(o.delays.total.max), packet_time * (n - 1)) <= 1e-3);
}

TEST_CASE("messages that bypass the network count as packets without delay, control messages not at all") {
    Machine machine = pushing("torus", {2, 1, 1});
    machine.negligible_size = 10'000;
    machine.short_limit = 512;
    machine.eager_limit = 1024;
    const Outcome o = run(machine, Given(2, {{0, 1, 9000}, {0, 1, 0}, {1, 0, 20'000}}), with_congestion(2));
    CHECK(o.packets == 3 + 0 + 5);
    CHECK(o.delays.total.packets == o.packets);
    CHECK(o.delays.histogram[0] == o.packets);
    CHECK(o.delays.matrix.at(0, 1).packets == 3);
    CHECK(o.delays.matrix.at(1, 0).packets == 5);
}

TEST_CASE("ranks are binned evenly") {
    const Outcome o =
        run(pushing("torus", {7, 1, 1}), shifted(7, 1, 100), with_congestion(3));  // ranks 0 1 2 | 3 4 | 5 6
    CHECK(o.delays.matrix.bins() == 3);
    const std::uint64_t expected[3][3] = {{2, 1, 0}, {0, 1, 1}, {1, 0, 1}};
    for (std::uint32_t source = 0; source < 3; ++source) {
        for (std::uint32_t target = 0; target < 3; ++target) {
            CHECK(o.delays.matrix.at(source, target).packets == expected[source][target]);
        }
    }
    CHECK(run(pushing("torus", {7, 1, 1}), shifted(7, 1, 100), with_congestion(512)).delays.matrix.bins() == 7);
}
