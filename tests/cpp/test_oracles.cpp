// Simulations that can be worked out by hand and need messages of our choice; tests/simulator/test_oracles.py has those
// that workloads can state.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "given.hpp"
#include "simulation.hpp"
#include "testing.hpp"

using namespace tramontane;
using namespace tramontane::testing;

namespace {

constexpr double latency = 100e-9;
constexpr double byte = 0.1e-9;

double end_of(const Outcome& outcome, std::size_t rank) { return outcome.phases[rank].second; }

}  // namespace

TEST_CASE("each protocol takes its messages' latencies one after the other, on any network and routing") {
    struct Protocol {
        std::int64_t short_limit, eager_limit;
        int messages, control;
    };
    // eager; header, get, payload; and header, get, payload, acknowledgement
    const std::vector<Protocol> protocols{{4096, 4096, 1, 0}, {512, 4096, 3, 2}, {512, 1024, 4, 3}};
    for (Machine machine : every_network()) {
        for (const Protocol& protocol : protocols) {
            machine.short_limit = protocol.short_limit;
            machine.eager_limit = protocol.eager_limit;
            for (const Rank target : {1, 7, 15, 23}) {
                const Outcome o = run(machine, Given(24, {{0, target, 4000}}));
                INFO(machine.topology << " " << machine.routing << ", " << protocol.messages << " messages to "
                                      << target);
                CHECK(o.control_packets == static_cast<std::uint64_t>(protocol.control));
                const double hops = static_cast<double>(o.hops);  // of all messages, by whichever way
                const double expected = (protocol.messages + hops) * latency + (4000 + protocol.control * 64) * byte;
                CHECK(std::abs(o.time_s - expected) <= 3 * hops * byte);
            }
        }
    }
}

TEST_CASE("one sender serves two receivers one after the other, or in turn if told so") {
    constexpr std::int64_t bytes = 100 * 4096;
    const Given schedule(3, {{0, 1, bytes}, {0, 2, bytes}});
    Machine machine = pushing("torus", {1, 1, 1}, 3);
    const Outcome fifo = run(machine, schedule);
    constexpr double copies = 8e-9;  // at 200 TB/s, by sender and receiver
    CHECK(std::abs(end_of(fifo, 1) - (2 * latency + bytes * byte)) <= copies);
    CHECK(std::abs(end_of(fifo, 2) - (2 * latency + 2 * bytes * byte)) <= copies);
    // In turn, the first ends one packet before the second; the injection buffer, 15 packets, is filled by the first.
    machine.round_robin_injection = true;
    const Outcome turn = run(machine, schedule);
    CHECK(std::abs(end_of(turn, 2) - end_of(fifo, 2)) <= copies);
    CHECK(end_of(turn, 1) < end_of(turn, 2));
    CHECK(end_of(turn, 1) >= 2 * latency + (2 * bytes - 20 * 4096) * byte);
    // Pulled messages are served in order of their requests, which here is the order of the receivers' headers.
    machine.round_robin_injection = false;
    machine.short_limit = machine.eager_limit = 512;
    const Outcome pulled = run(machine, schedule);
    CHECK(end_of(pulled, 2) - end_of(pulled, 1) >= 0.99 * bytes * byte);
}

TEST_CASE("with a window the next send starts when one of those under way is complete") {
    constexpr std::int64_t bytes = 10 * 4096;
    const std::vector<Given::Message> messages{{0, 1, bytes}, {0, 2, bytes}, {0, 3, bytes}, {0, 4, bytes}};
    Machine machine = pushing("torus", {1, 1, 1}, 5);
    machine.short_limit = machine.eager_limit = 512;  // complete with the acknowledgement
    const double control = 2 * latency + 64 * byte;
    const double alone = 3 * control + 2 * latency + bytes * byte;
    const auto end = [&](std::int32_t window) { return end_of(run(machine, Given(5, messages, window)), 0); };
    CHECK(std::abs(end(1) - 4 * alone) <= 4e-9);
    // Without a limit data follow data. With two under way the third header is posted while the second data leave, and
    // has to wait for their end; the fourth goes before the third data.
    CHECK(std::abs(end(0) - (alone + 3 * bytes * byte)) <= 40e-9);
    CHECK(end(4) == end(0));
    CHECK(std::abs(end(2) - (alone + 3 * bytes * byte + 2 * control)) <= 40e-9);
    // What is eager is complete as soon as it is posted.
    machine.short_limit = machine.eager_limit = 1'000'000;
    CHECK(end(1) == end(0));
}

TEST_CASE("n senders to one receiver take as long as the receiver's link") {
    for (const Rank n : {2, 7, 24}) {
        constexpr std::int64_t bytes = 50 * 4096;  // far more than all buffers hold
        std::vector<Given::Message> messages;
        for (Rank rank = 0; rank < n; ++rank) messages.push_back({rank, n, bytes});
        const Given schedule(n + 1, messages);
        const double busy = n * bytes * byte;
        INFO(n << " senders");
        const Outcome near = run(pushing("torus", {1, 1, 1}, n + 1), schedule);
        CHECK(std::abs(near.time_s - (2 * latency + busy)) <= 1e-3 * busy);
        // The farther ones' first bytes need not be the first: the link is busy as soon as the nearest are there.
        const Outcome far = run(pushing("torus", {5, 5, 1}, 1), schedule);
        CHECK(far.time_s >= 3 * latency + busy * (1 - 1e-3));
        CHECK(far.time_s <= 6 * latency + busy * (1 + 1e-3));
    }
}

TEST_CASE("two nodes exchange at full rate in both directions at once") {
    constexpr std::int64_t bytes = 1000 * 4096;
    for (const std::int64_t switches : {1, 2}) {
        const Machine machine = pushing("torus", {switches, 1, 1}, 2 / switches);
        const Outcome one = run(machine, Given(2, {{0, 1, bytes}}));
        const Outcome both = run(machine, Given(2, {{0, 1, bytes}, {1, 0, bytes}}));
        const double expected = static_cast<double>(switches + 1) * latency + bytes * byte;
        CHECK(std::abs(one.time_s - expected) <= 1e-3 * expected);
        CHECK(std::abs(both.time_s - one.time_s) <= 1e-3 * bytes * byte);
    }
}

TEST_CASE("patterns that load the busiest links evenly reach the bisection bound where buffers are ample") {
    constexpr std::int64_t bytes = 200 * 4096;
    struct Pattern {
        std::string name;
        Machine machine;
        Rank ranks, shift;
        double flows;  ///< that share each of the busiest links
    };
    Machine dragonfly = pushing("dragonfly", {3, 3, 4}, 2);
    const std::vector<Pattern> patterns{
        // Half round a ring: every positive link carries the messages of 4 switches (ties go the positive way).
        {"torus", pushing("torus", {8, 1, 1}), 8, 4, 4},
        // Of two switches, the messages of all 8 nodes.
        {"torus, 8 nodes a switch", pushing("torus", {2, 1, 1}, 8), 16, 8, 8},
        // D-mod-k gives each message of a shift its own way up and down.
        {"fat tree", pushing("fattree", {3, 4}, 0, "d-mod-k"), 64, 32, 1},
        // To the next group: both nodes of a switch share its one global link there.
        {"dragonfly", dragonfly, 72, 18, 2},
        // To the next group: its four nodes share the one link there.
        {"dragonfly+", pushing("dragonfly-plus", {2, 2, 2, 3, 1}, 0), 12, 4, 4},
        // Across a path of eight switches: all four nodes of a half share the link in its middle.
        {"mesh", pushing("torus", {8, 0}, 1), 8, 4, 4},
        // To the other half of the last dimension: all three nodes of a switch share its one link there.
        {"hyperx", pushing("hyperx", {3, 4, 1, 1}, 3), 36, 18, 3},
        // DAL shares the four parallel links between the nodes.
        {"hyperx, parallel links", pushing("hyperx", {2, 4}, 8, "dal"), 16, 8, 2},
    };
    for (const Pattern& pattern : patterns) {
        Machine machine = pattern.machine;
        machine.buffer = 1'000'000;
        const Outcome o = run(machine, shifted(pattern.ranks, pattern.shift, bytes));
        INFO(pattern.name);
        const double bound = pattern.flows * bytes * byte;
        CHECK(o.time_s >= bound);
        CHECK(o.time_s <= 1.02 * bound + 10 * latency);
    }
}

TEST_CASE("with small buffers a ring's messages block each other, as in SST/macro's rules") {
    // Packets that end at the next switch wait behind those that go on and find no room: with 64 KB, half of the links'
    // bandwidth is lost. Both models have independent code for it.
    constexpr std::int64_t bytes = 200 * 4096;
    const Given ring = shifted(8, 4, bytes);
    std::vector<double> lost;
    for (const char* model : {"default", "pisces-16"}) {
        Machine machine = pushing("torus", {8, 1, 1});
        machine.model = model;
        const double small = run(machine, ring).time_s;
        machine.buffer = 1'000'000;
        const double ample = run(machine, ring).time_s;
        lost.push_back(small / ample);
    }
    CHECK(lost[0] > 1.5);
    CHECK(std::abs(lost[1] / lost[0] - 1) < 0.02);
}
