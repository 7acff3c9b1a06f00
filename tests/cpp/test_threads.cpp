// Several threads within one simulation: to the last bit the same results, and clean ends whatever happens.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "drawn.hpp"
#include "engine/partition.hpp"
#include "engine/thread_team.hpp"
#include "given.hpp"
#include "memory/pool.hpp"
#include "random.hpp"
#include "simulation.hpp"
#include "statistics/waiting.hpp"
#include "testing.hpp"

using namespace tramontane;
using namespace tramontane::testing;

namespace {

struct alignas(64) Record {
    Index next;
};

/// A part that counts windows up to a number, and fails in one.
struct Counting {
    Counting(std::uint64_t windows, std::uint64_t fails) : last(windows), fails_at(fails) {}

    [[nodiscard]] std::uint64_t next() const { return done < last ? done + 1 : EventQueue::ended; }
    std::uint64_t step(std::uint64_t window) {
        if (window == fails_at) throw std::runtime_error("part that fails");
        done = window;
        return events;
    }
    [[nodiscard]] std::uint64_t hops() const { return 2 * done; }

    std::uint64_t last, fails_at, done = 0, events = 100'000;
};

std::vector<std::unique_ptr<Counting>> counting(std::uint32_t parts, std::uint64_t fails_at) {
    std::vector<std::unique_ptr<Counting>> all;
    for (std::uint32_t i = 0; i < parts; ++i) all.push_back(std::make_unique<Counting>(300, i == 1 ? fails_at : ~0ULL));
    return all;
}

}  // namespace

TEST_CASE("results do not depend on the number of threads") {
    std::uint64_t number = 0;
    std::uint32_t most = 1;
    for (const Machine& machine : every_network()) {
        for (int repeat = 0; repeat < 2; ++repeat) {
            Drawn drawn(machine, ++number);
            if (number % 2 == 0) drawn.state_costs(number);
            INFO(machine.topology << " " << machine.routing << " " << drawn.workload << " " << number);
            const auto expected = numbers(drawn.simulate(1, 0));
            for (const std::uint32_t threads : {2U, 3U, 4U}) {
                // One thread that takes all parts in turn does what several do, and is fast on a busy machine.
                const Outcome o = drawn.simulate(threads, ~0U);
                most = std::max(most, o.threads);
                CHECK(numbers(o) == expected);
            }
            if (number % 20 == 0) CHECK(numbers(drawn.simulate(2 + number / 20 % 3, 0)) == expected);
        }
    }
    CHECK(most == 4);
}

TEST_CASE("results do not depend on compiler, optimisation, pages or the queue's length") {
    // Presets (CMakePresets.json) build with GCC and Clang, with large and small storage; all find the same digest.
    std::uint64_t number = 0, digest = 0;
    for (const Machine& machine : every_network()) {
        const bool counted =
            machine.topology == "torus" || machine.topology == "fattree" || machine.topology == "dragonfly";
        if (counted && machine.geometry.size() <= 3) {  // those that a network more does not move
            const Drawn drawn(machine, ++number);
            Outcome o = drawn.simulate(1, 0);
            o.events = o.network_bytes = 0;  // what it took
            for (const double value : numbers(o)) digest = mix(digest ^ std::bit_cast<std::uint64_t>(value));
        }
    }
    CHECK(digest == 0x1ab0700f48abb3c5);
}

TEST_CASE("threads change between working alone and together") {
    Drawn drawn(every_network()[0], 7);
    drawn.workload = "kind=transposition algorithm=ring-k radix=3";
    drawn.ranks = 24;
    const auto expected = numbers(drawn.simulate(1, 0));
    for (const std::uint32_t grain : {5U, 20U}) CHECK(numbers(drawn.simulate(3, grain)) == expected);
}

TEST_CASE("one thread where an event looks beyond its logical process") {
    for (const Machine& machine : every_network()) {
        if (machine.routing == "ugal-g") CHECK(Drawn(machine, 1).simulate(4, 0).threads == 1);
    }
    Drawn drawn(every_network()[0], 1);
    drawn.workload = "kind=allreduce algorithm=recursive-doubling";
    drawn.run.steady_error = 0.01;
    CHECK(drawn.simulate(4, 0).threads == 1);
}

TEST_CASE("a node is in its switch's part, and parts have equally many ranks") {
    const auto topology = make_topology(pushing("torus", {4, 4, 4}, 2));
    const Allocation allocation({}, 64, *topology, 1);  // on half of the switches
    const Partition partition(*topology, allocation, 64, 4);
    std::vector<int> ranks(4), switches(4);
    for (std::uint32_t rank = 0; rank < 64; ++rank) {
        ++ranks[partition.of(64 + rank)];
        CHECK(partition.of(64 + rank) == partition.of(topology->switch_of(rank)));
    }
    for (SwitchId at = 0; at < 64; ++at) ++switches[partition.of(at)];
    CHECK(ranks == std::vector<int>(4, 16));
    CHECK(switches == std::vector<int>(4, 16));
    CHECK(Partition(*topology, Allocation({}, 3, *topology, 1), 3, 4).parts() ==
          2);  // no more than switches with ranks
}

TEST_CASE("parts have as many nodes of the job as each other, whatever the numbers of both") {
    for (const Machine& machine : every_network()) {
        const auto topology = make_topology(machine);
        for (const char* const kind : {"first-available", "random"}) {
            for (std::uint32_t nodes = 1; nodes <= topology->nodes(); nodes += 1 + nodes / 3) {
                AllocationRule rule;
                rule.kind = kind;
                const Allocation allocation(rule, nodes, *topology, nodes);
                std::vector<std::uint32_t> at(topology->switches());
                for (std::uint32_t node = 0; node < nodes; ++node) ++at[topology->switch_of(allocation.node(node))];
                const std::uint32_t most = *std::max_element(at.begin(), at.end());
                for (const std::uint32_t parts : {1U, 2U, 5U, 16U}) {
                    INFO(machine.topology << ", " << nodes << " nodes, " << parts << " parts, " << kind);
                    const Partition partition(*topology, allocation, nodes, parts);
                    std::vector<std::uint32_t> of_part(partition.parts());
                    for (std::uint32_t node = 0; node < nodes; ++node)
                        ++of_part[partition.of(topology->switches() + node)];
                    const auto [least, largest] = std::minmax_element(of_part.begin(), of_part.end());
                    CHECK(*least > 0);
                    CHECK(*largest - *least <= 2 * most);
                }
            }
        }
    }
}

TEST_CASE("records that one thread takes and another gives back are used again") {
    Pool<Record> first;
    Pool<Record> second(Pool<Record>::SameAs{first});
    std::vector<Index> under_way;
    Index largest = 0;
    for (int i = 0; i < 1'000'000; ++i) {
        under_way.push_back(first.take());
        largest = std::max(largest, under_way.back());
        if (under_way.size() < 1'000) continue;
        for (const Index item : under_way) second.give_back(item);
        under_way.clear();
    }
    for (const Index item : under_way) second.give_back(item);
    CHECK(largest < 100'000);
    CHECK(first.used() + second.used() == 0);
}

TEST_CASE("an error of one thread ends all, and is thrown on") {
    const auto poll = [](std::uint64_t) { return false; };
    for (const std::uint32_t grain : {0U, ~0U}) {
        for (const std::uint64_t fails_at : {1ULL, 150ULL, 300ULL}) {
            const auto parts = counting(4, fails_at);
            ThreadTeam crew(parts, grain, poll, 2'000'000, {});
            CHECK_THROWS_WITH(crew.run(), "part that fails");
        }
        const auto parts = counting(4, ~0ULL);
        ThreadTeam(parts, grain, poll, 2'000'000, {}).run();
        for (const auto& part : parts) CHECK(part->done == 300);
    }
}

TEST_CASE("threads tell how many windows and events there were, and what the busiest part had of them") {
    // Together, or one for all; the first window is shared whatever it has.
    for (const auto& [grain, alone] : {std::pair{0U, 0ULL}, {512U, 0ULL}, {~0U, 299ULL}}) {
        const auto parts = counting(4, ~0ULL);
        ThreadTeam crew(parts, grain, [](std::uint64_t) { return false; }, 2'000'000, {});
        crew.run();
        CHECK(crew.load().windows == 300);
        CHECK(crew.load().events == 300ULL * 4 * 100'000);
        CHECK(crew.load().busiest == (300 - alone + 4 * alone) * 100'000);
        CHECK(crew.load().hops == 300ULL * 4 * 2);
    }
}

TEST_CASE("who asks several threads to stop is heard, also where the first one's part has no events") {
    const auto stop = [](std::uint64_t) -> bool { throw std::runtime_error("stop"); };
    for (const std::uint32_t grain : {0U, ~0U}) {
        for (const std::uint64_t of_first : {100'000U, 0U}) {
            const auto parts = counting(3, ~0ULL);
            parts[0]->events = of_first;
            ThreadTeam crew(parts, grain, stop, 2'000'000, {});
            CHECK_THROWS_WITH(crew.run(), "stop");
            CHECK(parts[0]->done < 300);
        }
    }
}

TEST_CASE("a timeline of more than 20 million stretches is refused") {
    CHECK_NOTHROW(check_stretches(max_stretches));
    CHECK_THROWS_WITH(check_stretches(max_stretches + 1),
                      "timeline: found more than 20 million stretches, allowed: fewer, of fewer ranks");
}
