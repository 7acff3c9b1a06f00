// Several ranks on a node, against what can be worked out by hand; and what must not matter, with checks at each event.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "drawn.hpp"
#include "given.hpp"
#include "placement/places.hpp"
#include "simulation.hpp"
#include "testing.hpp"

using namespace tramontane;
using namespace tramontane::testing;

namespace {

/// Two switches with a node each; a message between two ranks of a node takes 500 ns and goes at 5 GB/s.
Machine two_nodes(std::int64_t nics = 1) {
    Machine m = pushing("torus", {2, 1, 1}, nics);
    m.link_bandwidth = 1'000'000'000'000;  // only the NICs limit
    m.nics = nics;
    m.node_latency = 500'000;
    m.node_bandwidth = 5'000'000'000;
    return m;
}

Run with_ranks(std::uint32_t ranks_per_node) {
    Run run;
    run.places.ranks_per_node = ranks_per_node;
    return run;
}

/// What copies of messages may add: 20 fs a byte.
constexpr double copies = 2e-4;

/// Time of a message of n bytes alone between the nodes [s].
double between_nodes(double n) { return 300e-9 + n / 10e9; }

}  // namespace

TEST_CASE("ranks of a node share its injection, and NICs divide it") {
    constexpr std::int64_t bytes = 1'000'000;
    for (const std::uint32_t ranks : {1U, 2U, 4U, 8U}) {
        for (const std::int64_t nics : {1, 2, 4}) {
            if (nics > ranks) continue;
            for (const NicChoice choice :
                 {NicChoice::rank, NicChoice::block, NicChoice::round_robin, NicChoice::destination}) {
                Machine machine = two_nodes(nics);
                machine.nic_choice = choice;
                const auto k = static_cast<Rank>(ranks);
                std::vector<Given::Message> messages;
                for (Rank rank = 0; rank < k; ++rank) messages.push_back({rank, k + rank, bytes});
                const Outcome o = simulate(machine, Given(2 * k, messages), with_ranks(ranks));
                const double expected = between_nodes(bytes * ranks / static_cast<double>(nics));
                CHECK(o.time_s >= expected * (1 - 1e-9));
                CHECK(o.time_s <= expected * 1.001);
            }
        }
    }
}

TEST_CASE("neighbours on a node share a NIC by block, and those that are far apart by rank") {
    constexpr std::int64_t bytes = 1'000'000;
    for (const Rank other : {1, 2}) {  // of four ranks and two NICs
        for (const NicChoice choice : {NicChoice::rank, NicChoice::block}) {
            Machine machine = two_nodes(2);
            machine.nic_choice = choice;
            const Outcome o = simulate(machine, Given(8, {{0, 4, bytes}, {other, 4 + other, bytes}}), with_ranks(4));
            const bool is_shared = (other == 1) == (choice == NicChoice::block);
            CHECK(o.time_s == Approx(between_nodes(bytes * (is_shared ? 2.0 : 1.0))).epsilon(1e-3));
        }
    }
}

TEST_CASE("a message inside a node takes latency and bytes over bandwidth, beside any other") {
    for (const Machine& network : every_network()) {
        Machine machine = network;
        machine.node_latency = 500'000;
        machine.node_bandwidth = 5'000'000'000;
        const Outcome o =
            simulate(machine, Given(4, {{0, 1, 10'000}, {0, 2, 10'000}, {3, 1, 5'000}, {3, 2, 0}}), with_ranks(4));
        CHECK(o.time_s == Approx(2.5e-6).epsilon(copies));
        CHECK(o.hops == 0);
        CHECK(o.packets == 8);
        CHECK(o.delays.total.packets == 8);
        CHECK(o.delays.total.max == 0);
    }
}

TEST_CASE("the memory of a node serves one message after the other, that of another node others") {
    Machine machine = two_nodes();
    machine.node_memory_bandwidth = 20'000'000'000;
    std::vector<Given::Message> messages;
    for (Rank rank = 1; rank < 8; ++rank) messages.push_back({0, rank, 100'000});
    messages.push_back({8, 9, 100'000});
    const Outcome o = simulate(machine, Given(16, messages), with_ranks(8));
    const auto end = [](int before) { return 500e-9 + before * 5e-6 + 20e-6; };
    for (const auto& [name, time] : o.phases) {
        const int rank = std::stoi(name);
        if (rank >= 1 && rank < 8) CHECK(time == Approx(end(rank - 1)).epsilon(copies));
        if (rank == 9) CHECK(time == Approx(end(0)).epsilon(copies));
    }
    machine.node_memory_bandwidth = 2'000'000'000;  // slower than a message's own: the whole way at that rate
    const Outcome slow = simulate(machine, Given(8, {{0, 1, 100'000}, {2, 3, 100'000}}), with_ranks(8));
    CHECK(slow.time_s == Approx(500e-9 + 2 * 50e-6).epsilon(copies));
}

TEST_CASE("ranks alone on nodes with room for two send as on nodes of their own, where they post ahead of events",
          "[one-thread]") {
    const auto results = [](const Drawn& drawn) {
        Outcome o = drawn.simulate(1, ~0U);
        const std::uint64_t events = std::exchange(o.events, 0);
        o.network_bytes = 0;
        return std::pair{numbers(o), events};
    };
    std::uint64_t number = 0, fewer = 0;
    for (int round = 0; round < 6; ++round) {
        for (const Machine& machine : every_network()) {
            Drawn drawn(machine, ++number);
            drawn.machine.nics = 1;
            drawn.machine.node_latency = 10'000;
            drawn.machine.node_bandwidth = 50'000'000'000;
            drawn.machine.hardware_progress = false;
            drawn.machine.short_limit = drawn.machine.eager_limit = 2048;
            drawn.machine.send_overhead = 20'000 << number % 7;
            if (number % 3 != 0) {
                drawn.workload = number % 3 == 1 ? small_program : "kind=transposition algorithm=burst";
                drawn.ranks = std::max<Rank>(drawn.ranks, 5);
            }
            INFO(machine.topology << " " << machine.routing << " " << drawn.workload << " " << number);
            drawn.run.places = {};
            const auto [own, ahead] = results(drawn);
            drawn.run.places.ranks_per_node = 2;
            drawn.run.places.mapping = "given";
            for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(drawn.ranks); ++rank) {
                drawn.run.places.nodes.push_back(rank);
            }
            const auto [others, events] = results(drawn);
            CHECK(others == own);
            fewer += ahead < events ? 1 : 0;
        }
    }
    CHECK(fewer > number / 2);
}

TEST_CASE("every mapping keeps the books, with any number of threads and any window") {
    std::uint64_t number = 0, several = 0;
    for (const Machine& machine : every_network()) {
        for (int repeat = 0; repeat < 3; ++repeat) {
            Drawn drawn(machine, ++number);
            if (number % 2 == 0) drawn.state_costs(number);
            if (drawn.run.places.ranks_per_node == 1) continue;
            ++several;
            INFO(machine.topology << " " << machine.routing << " " << drawn.workload << " " << number);
            Outcome expected = drawn.simulate(1, 0);
            CHECK(numbers(drawn.simulate(2 + number % 3, 0)) == numbers(expected));
            drawn.run.window = 7'000;
            Outcome narrow = drawn.simulate(1, 0);
            expected.events = narrow.events = 0;  // a NIC may be called up twice for a tick, by two windows
            CHECK(numbers(narrow) == numbers(expected));
        }
    }
    CHECK(several > 20);
}

TEST_CASE("which of a rank's interfaces is served first depends on neither threads nor windows") {
    std::uint64_t number = 3000;
    for (const Machine& machine : every_network()) {
        for (int repeat = 0; repeat < 3; ++repeat) {
            Drawn drawn(machine, ++number);
            if (number % 2 == 0) drawn.state_costs(number);
            drawn.spread_messages(number);
            if (drawn.machine.nics == 1) continue;
            REQUIRE(model_revision_of(drawn.machine) >= 3);
            INFO(machine.topology << " " << machine.routing << " " << drawn.workload << " " << number);
            Outcome expected = drawn.simulate(1, 0);
            expected.events = 0;  // an interface may be called up twice for a tick, by two windows
            for (const std::uint32_t threads : {1U, 2 + static_cast<std::uint32_t>(number % 2)}) {
                if (threads > 1 && repeat > 0) continue;
                drawn.run.window = threads > 1 ? 0 : 3'000 + 1'000 * (number % 7);
                Outcome found = drawn.simulate(threads, 0);
                found.events = 0;
                CHECK(numbers(found) == numbers(expected));
            }
        }
    }
}

TEST_CASE("a revision of the model is old only where a later one has changed results") {
    Machine machine = two_nodes();
    CHECK(model_revision_of(machine) == 2);
    machine.nic_choice = NicChoice::round_robin;
    machine.stripe_above = 1'000;
    CHECK(model_revision_of(machine) == 2);  // with one interface there is nothing to choose
    machine.nics = 2;
    CHECK(model_revision_of(machine) == 3);
    machine.nic_choice = NicChoice::block;
    CHECK(model_revision_of(machine) == 3);
    machine.stripe_above = 0;
    CHECK(model_revision_of(machine) == 2);
    machine.hardware_progress = true;
    CHECK(model_revision_of(machine) == 4);
}

TEST_CASE("a message takes the interface that its rule says, at both ends") {
    Machine machine = two_nodes(3);
    const PlacesRule rule{.ranks_per_node = 4, .mapping = "block", .tile = {}, .grid = {}, .nodes = {}};
    const auto nic = [&](NicChoice choice, std::uint32_t rank, const Places::Sent& sent) {
        machine.nic_choice = choice;
        const Places places(rule, 8, machine);
        return places.address(places.nic_of(places.of(rank), sent)).local;
    };
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
        const std::uint32_t local = rank % 4;
        for (const Places::Sent sent : {Places::Sent{5, 0, 0}, {6, 1, 0}, {7, 0, 1}, {4, 7, 4}}) {
            CHECK(nic(NicChoice::rank, rank, sent) == local % 3);
            CHECK(nic(NicChoice::block, rank, sent) == local * 3 / 4);
            CHECK(nic(NicChoice::round_robin, rank, sent) == (local + sent.round + sent.index) % 3);
            CHECK(nic(NicChoice::destination, rank, sent) == (1 + sent.to % 4) % 3);
        }
    }
}

TEST_CASE("places follow from ranks, and ranks from places") {
    const Machine machine = two_nodes();
    for (const char* mapping : {"block", "cyclic", "random", "tile"}) {
        PlacesRule rule{.ranks_per_node = 6, .mapping = mapping, .tile = {3, 2}, .grid = {6, 4}, .nodes = {}};
        const Places places(rule, 24, machine);
        CHECK(places.nodes() == 4);
        std::vector<std::uint32_t> held(4);
        for (std::uint32_t rank = 0; rank < 24; ++rank) {
            const std::uint32_t place = places.of(rank);
            CHECK(places.rank_at(place) == rank);
            CHECK(places.at(places.address(place)) == place);
            CHECK(places.address(place).node == places.node_of(place));
            CHECK(places.address(place).local == held[places.node_of(place)]++);
        }
    }
    const PlacesRule tile{.ranks_per_node = 6, .mapping = "tile", .tile = {3, 2}, .grid = {6, 4}, .nodes = {}};
    CHECK(Places(tile, 24, machine).node_of(Places(tile, 24, machine).of(15)) == 3);  // process (3, 2)
    for (const std::array<std::uint32_t, 2> wrong : {std::array{2U, 3U}, std::array{6U, 2U}, std::array{0U, 6U}}) {
        PlacesRule rule = tile;
        rule.tile = wrong;
        if (wrong[0] == 2) rule.grid = {3, 8};
        CHECK_THROWS_AS(Places(rule, 24, machine), std::invalid_argument);
    }
    CHECK_THROWS_AS(
        Places({.ranks_per_node = 1024, .mapping = "block", .tile = {}, .grid = {}, .nodes = {}}, 1U << 18, machine),
        std::invalid_argument);  // a rank and its index on a node need 28 bits
}
