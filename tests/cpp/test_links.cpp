// Links of several classes, by simulations that can be worked out by hand.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "given.hpp"
#include "rules/routing.hpp"
#include "simulation.hpp"
#include "testing.hpp"
#include "topologies/links.hpp"
#include "topologies/topology.hpp"

using namespace tramontane;
using namespace tramontane::testing;

namespace {

/// Gives each class a bandwidth and a latency of its own; where the packet goes from slow to fast and back.
void tell_apart(Machine& machine, std::size_t shift) {
    constexpr std::array gigabytes{20, 5, 12, 40, 8, 25, 10};
    machine.link_classes = make_topology(machine)->link_classes();
    for (std::size_t i = 0; i < machine.link_classes.size(); ++i) {
        machine.link_classes[i].bandwidth = gigabytes[(i + shift) % gigabytes.size()] * 1'000'000'000LL;
        machine.link_classes[i].latency = static_cast<std::int64_t>(50'000 + (i + shift) % 5 * 37'000);
    }
}

/// The links on the minimal way of a packet that is alone.
std::vector<LinkRate> way(const Machine& machine, NodeId from, NodeId to) {
    const auto topology = make_topology(machine);
    const LinkRates links(machine, *topology);
    std::vector<LinkRate> met;
    const auto meet = [&](SwitchId at, Port port) {
        met.push_back(links.rates[links.of_class[topology->link_class(at, port)]]);
    };
    const SwitchId target = topology->switch_of(to);
    Trail trail;
    SwitchId at = topology->switch_of(from);
    while (at != target) {
        const Port port = topology->towards(at, target, to, trail, Draw(0)).port;
        meet(at, port);
        at = topology->neighbour(at, port);
    }
    meet(at, topology->ejection_port(to));
    return met;
}

}  // namespace

TEST_CASE("a message alone takes the latencies of its links, and its bytes the slowest one's bandwidth") {
    for (Machine machine : every_network()) {
        // One that has but one way, or several by links of the same classes.
        if (!rule_of(machine.routing).is_fixed() || machine.topology == "dragonfly1d") continue;
        machine.buffer = 1'000'000;
        for (std::size_t shift = 0; shift < 7; ++shift) {
            tell_apart(machine, shift);
            for (const Rank target : {1, 7, 15, 23}) {
                Ticks latency = from_picoseconds(machine.injection_latency);
                Ticks slot = byte_time(machine.injection_bandwidth), every = slot;
                for (const LinkRate& link : way(machine, 0, static_cast<NodeId>(target))) {
                    latency += link.latency;
                    slot = std::max(slot, link.slot);
                    every += link.slot;
                }
                INFO(machine.topology << " to " << target << ", " << shift);
                for (const std::int64_t bytes : {4000, 20 * 4096}) {
                    // Several links, or spines, share its packets.
                    const bool spreads = machine.topology == "hyperx" || machine.topology == "dragonfly-plus";
                    if (bytes > machine.packet && spreads) continue;
                    const Outcome o = run(machine, Given(24, {{0, target, bytes}}));
                    const double expected = to_seconds(latency + static_cast<Ticks>(bytes) * slot);
                    CHECK(std::abs(o.time_s - expected) <= to_seconds(3 * every) + 1e-4 * expected);
                    if (bytes == 4000) CHECK(o.delays.total.max <= 3 * every);
                }
            }
        }
    }
}

TEST_CASE("what loads links of a quarter of the bandwidth takes four times as long") {
    constexpr std::int64_t bytes = 100 * 4096;
    constexpr double byte = 0.1e-9;
    struct Pattern {
        Machine machine;
        Rank ranks, shift;
        std::vector<std::string> classes;  ///< of the busiest links
        double flows;                      ///< that share each of them
    };
    const std::vector<Pattern> patterns{
        {pushing("torus", {8, 1, 1}), 8, 4, {"dimension-1"}, 4},
        {pushing("torus", {1, 1, 2}, 4), 8, 4, {"dimension-3"}, 4},
        {pushing("fattree", {3, 4}, 0, "d-mod-k"), 64, 32, {"up-1", "up-2", "down-2", "down-1", "ejection"}, 1},
        {pushing("fattree", {4, 4, 4}, 0, "d-mod-k"), 64, 32, {"up-1", "up-2", "down-2", "down-1", "ejection"}, 1},
        {pushing("dragonfly", {3, 3, 4}, 2), 72, 18, {"global"}, 2},
        {pushing("dragonfly", {4, 1, 1}, 3), 12, 3, {"local"}, 3},
        {pushing("dragonfly-plus", {2, 2, 2, 3, 1}, 0), 12, 4, {"global"}, 4},
        {pushing("hyperx", {3, 4, 1, 1}, 3), 36, 18, {"dimension-2"}, 3},
        {pushing("hyperx", {2, 4}, 8, "dal"), 16, 8, {"dimension-1"}, 2},
    };
    for (const Pattern& pattern : patterns) {
        for (const std::string& slow : pattern.classes) {
            Machine machine = pattern.machine;
            machine.buffer = 4'000'000;
            machine.link_classes = {{slow, machine.link_bandwidth / 4, 0}};
            const Outcome o = run(machine, shifted(pattern.ranks, pattern.shift, bytes));
            INFO(machine.topology << ", " << slow);
            const double bound = 4 * pattern.flows * bytes * byte;
            CHECK(o.time_s >= bound);
            CHECK(o.time_s <= 1.03 * bound + 2e-6);
        }
    }
}

TEST_CASE("a tapered level takes as much longer as it has fewer links up than down") {
    constexpr std::int64_t bytes = 100 * 4096;
    constexpr double byte = 0.1e-9;
    struct Tree {
        std::vector<std::int64_t> geometry;  ///< children, parents and links of each level
        Rank nodes;
        double taper;
    };
    const std::vector<Tree> trees{
        {{4, 4, 1, 4, 1, 1}, 16, 1},
        {{4, 4, 1, 2, 1, 1}, 16, 2},
        {{4, 4, 1, 1, 1, 1}, 16, 4},
        {{4, 4, 1, 1, 1, 2}, 16, 2},           // two parallel links in place of two parents
        {{4, 2, 4, 1, 4, 1, 1, 1, 2}, 32, 1},  // eight nodes of a subtree share eight links
        {{4, 2, 4, 1, 4, 1, 1, 1, 1}, 32, 2},
        {{2, 2, 2, 2, 1, 2, 2, 1, 1, 1, 1, 1}, 16, 2},
    };
    for (const Tree& tree : trees) {
        Machine machine = pushing("fattree", tree.geometry, 0, "d-mod-k");
        machine.buffer = 4'000'000;
        const Outcome o = run(machine, shifted(tree.nodes, tree.nodes / 2, bytes));
        INFO(tree.nodes << " nodes, " << tree.taper);
        const double bound = tree.taper * bytes * byte;
        CHECK(o.time_s >= bound);
        CHECK(o.time_s <= 1.03 * bound + 2e-6);
    }
}

TEST_CASE("parallel links share what one link had to carry") {
    constexpr std::int64_t bytes = 200 * 4096;
    constexpr double byte = 0.1e-9;
    struct Pattern {
        Machine machine;
        Rank ranks, shift;
        std::string of_class;
        double flows;  ///< that share one link where it is alone
    };
    const std::vector<Pattern> patterns{
        {pushing("torus", {8, 1, 1}), 8, 4, "dimension-1", 4},
        {pushing("dragonfly", {3, 3, 4}, 4), 144, 36, "global", 4},
        {pushing("dragonfly", {4, 1, 1}, 4), 16, 4, "local", 4},
    };
    for (const Pattern& pattern : patterns) {
        for (const std::int64_t links : {1, 4}) {
            Machine machine = pattern.machine;
            machine.buffer = 16'000'000;
            machine.parallel_links = {{pattern.of_class, links}};
            const Outcome o = run(machine, shifted(pattern.ranks, pattern.shift, bytes));
            INFO(machine.topology << ", " << links << " links");
            // Packets take any of them at random, so they are a little uneven.
            const double bound = pattern.flows / static_cast<double>(links) * bytes * byte;
            CHECK(o.time_s >= bound);
            CHECK(o.time_s <= (links == 1 ? 1.03 : 1.2) * bound + 2e-6);
        }
    }
}
