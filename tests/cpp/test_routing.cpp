// What routings decide, told queues that are made up.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "given.hpp"
#include "random.hpp"
#include "rules/routing.hpp"
#include "testing.hpp"
#include "topologies/route_walk.hpp"

using namespace tramontane;

namespace {

/// Queues by switch and port; all others are empty.
struct Queues {
    std::map<std::pair<SwitchId, Port>, std::uint64_t> queued;
    std::map<std::uint32_t, std::uint32_t> turns;
    [[nodiscard]] std::uint64_t queue(SwitchId at, Port port) const {
        const auto found = queued.find({at, port});
        return found == queued.end() ? 0 : found->second;
    }
    [[nodiscard]] std::uint64_t queue_anywhere(SwitchId at, Port port) const { return queue(at, port); }
    [[nodiscard]] bool less(std::uint64_t a, std::uint64_t b) const { return a < b; }
    [[nodiscard]] std::uint32_t turn(std::uint32_t counter) { return turns[counter]++; }
};

Machine tree(std::vector<std::int64_t> geometry) {
    Machine m;
    m.topology = "fattree";
    m.geometry = std::move(geometry);
    return m;
}

Machine dragonfly() {
    Machine m;
    m.topology = "dragonfly";
    m.geometry = {5, 5, 5};
    m.nodes_per_switch = 1;
    return m;
}

Machine circulant() {
    Machine m;
    m.topology = "dragonfly1d";
    m.geometry = {4, 9};
    m.nodes_per_switch = 1;
    m.global_links = 2;
    return m;
}

Route to(NodeId destination) {
    Route route{};
    route.destination = destination;
    return route;
}

bool are_equal(const Walk& a, const Walk& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Step& one, const Step& other) {
        return one.at == other.at && one.port == other.port && one.channel == other.channel;
    });
}

}  // namespace

TEST_CASE("there is an only route where nothing is left to chance and queues") {
    std::map<std::string, std::uint64_t> only;  // pairs of nodes that have one, by routing
    for (const Machine& machine : testing::every_network()) {
        const std::unique_ptr<Topology> topology = make_topology(machine);
        const Router router(*topology, machine.routing);
        std::uint64_t& found = only[machine.routing];
        for (const NodeId from : {0, 5}) {
            for (NodeId to = 0; to < 24; ++to) {
                std::vector<Walk> all;
                walk_routes(*topology, router, from, to, [&](const Walk& walk) { all.push_back(walk); });
                const std::optional<Walk> route = only_route(*topology, router, from, to);
                INFO(machine.topology << " " << machine.routing << " " << from << " " << to);
                CHECK(route.has_value() == (all.size() == 1));
                if (route) CHECK(are_equal(*route, all.front()));
                found += route ? 1 : 0;
            }
        }
    }
    CHECK(only["d-mod-k"] > 0);
    CHECK(only["minimal"] > only["valiant"]);
}

TEST_CASE("round-robin takes up ports in turn, from the switch number on") {
    const auto topology = make_topology(tree({4, 4, 3}));
    const Router router(*topology, "round-robin");
    Queues queues;
    for (const SwitchId leaf : {0U, 6U}) {
        for (std::uint32_t turn = 0; turn < 10; ++turn) {
            Route route = to(47);
            CHECK(router.next(leaf, route, Draw(turn), queues).port == 4 + (leaf + turn) % 4);
        }
    }
}

TEST_CASE("round-robin takes parallel links down in turn, each child for itself") {
    // Five nodes a leaf, two leaves: aggregation switch 0 has links e = 0 ... 4, of which even ones lead to leaf 0.
    const auto topology = make_topology(tree({5, 2, 3}));
    const Router router(*topology, "round-robin");
    Queues queues;
    const SwitchId aggregation = 6;
    std::vector<Port> even, odd;
    for (int turn = 0; turn < 4; ++turn) {
        Route route = to(1);
        even.push_back(router.next(aggregation, route, Draw(0), queues).port);
        route = to(6);
        odd.push_back(router.next(aggregation, route, Draw(0), queues).port);
    }
    CHECK(even == std::vector<Port>{0, 2, 4, 0});
    CHECK(odd == std::vector<Port>{1, 3, 1, 3});
}

TEST_CASE("round-robin takes a tapered tree's parallel links down in turn, each child for itself") {
    Machine m = tree({2, 2, 1, 1, 1, 3});  // two leaves of two nodes, three links from each to the top
    m.nodes_per_switch = 2;
    const auto topology = make_topology(m);
    const Router router(*topology, "round-robin");
    Queues queues;
    const SwitchId top = 2;
    std::vector<Port> first, second;
    for (int turn = 0; turn < 4; ++turn) {
        Route route = to(1);
        first.push_back(router.next(top, route, Draw(0), queues).port);
        route = to(3);
        second.push_back(router.next(top, route, Draw(0), queues).port);
    }
    CHECK(first == std::vector<Port>{2, 0, 1, 2});
    CHECK(second == std::vector<Port>{5, 3, 4, 5});
}

TEST_CASE("adaptive takes the least queue, any of several") {
    const auto topology = make_topology(tree({3, 4}));
    const Router router(*topology, "adaptive");
    Queues queues;
    for (Port port = 4; port < 8; ++port) queues.queued[{0, port}] = 3;
    queues.queued[{0, 6}] = 2;
    std::set<Port> taken;
    const auto take = [&] {
        taken.clear();
        for (std::uint64_t i = 0; i < 100; ++i) {
            Route route = to(63);
            taken.insert(router.next(0, route, Draw(mix(i)), queues).port);
        }
    };
    take();
    CHECK(taken == std::set<Port>{6});
    queues.queued[{0, 4}] = 2;
    take();
    CHECK(taken == std::set<Port>{4, 6});
}

TEST_CASE("UGAL compares the queues of the first links, weighed by the lengths") {
    const auto topology = make_topology(dragonfly());
    const Router router(*topology, "ugal");
    // From switch 0 to the same place of group 1: one hop by port 11.
    const Port direct = 11;
    Queues queues;
    for (std::uint64_t i = 0; i < 50; ++i) {
        const Draw draw(mix(i));
        const SwitchId via = topology->intermediate(0, 25, draw, false);
        const std::uint64_t hops = topology->distance(0, via) + topology->distance(via, 25);
        Trail trail;
        const Port indirect = topology->towards(0, via, 25, trail, draw).port;
        queues.queued = {{{0, direct}, hops}, {{0, indirect}, 1}};
        Route route = to(25);
        CHECK(router.next(0, route, draw, queues).port == direct);  // hops x 1 is not more than 1 x hops
        queues.queued[{0, direct}] = hops + 1;
        route = to(25);
        CHECK(router.next(0, route, draw, queues).port == indirect);
    }
}

TEST_CASE("UGAL-G sees queues that UGAL does not") {
    const auto topology = make_topology(circulant());
    // From switch 0 of group 0 to group 3: the gateway is switch 2 (offset 3), whose link is port 4.
    const NodeId far = 3 * 4;
    Queues queues;
    queues.queued = {{{2, 4}, 20}};
    for (const bool global : {false, true}) {
        const Router router(*topology, global ? "ugal-g" : "ugal");
        int diverted = 0;
        for (std::uint64_t i = 0; i < 40; ++i) {
            Route route = to(far);
            static_cast<void>(router.next(0, route, Draw(mix(i)), queues));
            diverted += route.stage == Route::Stage::to_intermediate ? 1 : 0;
        }
        CHECK(diverted == (global ? 40 : 0));
    }
}

TEST_CASE("UGAL-G takes the route with less in its queues, of the two that its packet would go") {
    Machine plus;
    plus.topology = "dragonfly-plus";
    plus.geometry = {2, 3, 1, 4, 3};
    plus.nodes_per_switch = 1;
    Machine several = circulant();  // with two or three links between groups
    several.geometry = {3, 5};
    several.global_links = 4;
    for (const Machine& m : {dragonfly(), circulant(), several, plus}) {
        const auto topology = make_topology(m);
        const Router minimal(*topology, "minimal"), detour(*topology, "valiant"), adaptive(*topology, "ugal-g");
        int detours = 0;
        for (std::uint64_t i = 0; i < 300; ++i) {
            const Draw draw(mix(i));
            Queues queues;
            for (SwitchId at = 0; at < topology->switches(); ++at) {
                for (Port port = 0; port < topology->wired_ports(); ++port) {
                    queues.queued[{at, port}] = below(random_bits(i, at, port), 10);
                }
            }
            const NodeId far = topology->nodes() - 1;
            const auto queued = [&](const Router& router) {
                Route route = to(far);
                std::uint64_t sum = 0;
                SwitchId at = 0;
                for (Hop hop = router.next(at, route, draw, queues); !hop.ejects;
                     hop = router.next(at, route, draw, queues)) {
                    sum += queues.queue(at, hop.port);
                    at = topology->neighbour(at, hop.port);
                }
                return sum;
            };
            const std::uint64_t direct = queued(minimal), other = queued(detour);
            CHECK(queued(adaptive) == std::min(direct, other));
            detours += other < direct ? 1 : 0;
        }
        CHECK(detours > 0);
    }
}

TEST_CASE("PAR asks again at the gateway, UGAL does not, and nobody after the global link but SST/macro 7.1") {
    const auto topology = make_topology(circulant());
    const NodeId far = 3 * 4;  // by switch 2 of group 0, then switch 2 of group 3
    for (const auto& [routing, at_gateway, in_group] :
         {std::tuple{"ugal", false, false}, {"par", true, false}, {"ugal-sstmacro71", true, true}}) {
        INFO(routing);
        const Router router(*topology, routing);
        Queues queues;
        Route route = to(far);
        REQUIRE(router.next(0, route, Draw(7), queues).port == 2);
        Route crowded = route;
        queues.queued = {{{2, 4}, 20}};
        static_cast<void>(router.next(2, crowded, Draw(7), queues));
        CHECK((crowded.stage == Route::Stage::to_intermediate) == at_gateway);

        queues.queued = {};
        REQUIRE(router.next(2, route, Draw(7), queues).port == 4);
        queues.queued = {{{14, 0}, 20}};  // from switch 2 of group 3 to its switch 0
        static_cast<void>(router.next(14, route, Draw(7), queues));
        CHECK((route.stage == Route::Stage::to_intermediate) == in_group);
    }
}

TEST_CASE("what a packet chooses at one switch says nothing of what it chooses at another") {
    /// Pairs of choices at two switches, of many packets.
    const auto pairs = [](const Machine& m, std::array<SwitchId, 2> at, NodeId far) {
        const auto topology = make_topology(m);
        std::set<std::pair<Port, Port>> found;
        for (std::uint64_t i = 0; i < 200; ++i) {
            const Draw draw(mix(i));
            const auto port = [&](SwitchId each) {
                Trail trail;
                return topology->towards(each, topology->switch_of(far), far, trail, draw).port;
            };
            found.emplace(port(at[0]), port(at[1]));
        }
        return found.size();
    };
    Machine grid;
    grid.topology = "hyperx";
    grid.geometry = {3, 3, 2, 2};  // by two links each
    grid.nodes_per_switch = 1;
    CHECK(pairs(grid, {0, 2}, 8) == 4);
    Machine groups = circulant();
    groups.geometry = {4, 3};  // three switches of a group have a link to each other one
    CHECK(pairs(groups, {2, 6}, 8) == 9);
}

TEST_CASE("PAR draws another candidate at the gateway") {
    const auto topology = make_topology(circulant());
    const Router router(*topology, "par");
    int differ = 0;
    for (std::uint64_t i = 0; i < 40; ++i) {
        const auto candidate = [&](SwitchId at) {
            Route route = to(3 * 4);
            Queues queues;
            for (Port port = 0; port < 4; ++port) queues.queued[{0, port}] = port == 2 ? 20 : 0;
            queues.queued[{2, 4}] = 20;
            static_cast<void>(router.next(at, route, Draw(mix(i)), queues));
            return route.via / 4;
        };
        differ += candidate(0) != candidate(2) ? 1 : 0;
    }
    CHECK(differ > 20);
}

TEST_CASE("SST/macro 7.1 takes a detour's first leg for as long as the direct way") {
    const auto topology = make_topology(dragonfly());
    const Router textbook(*topology, "ugal"), old(*topology, "ugal-sstmacro71");
    const NodeId far = 25;  // one hop from switch 0
    int differ = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
        Queues queues;
        for (Port port = 0; port < 15; ++port) queues.queued[{0, port}] = 2;
        queues.queued[{0, 11}] = 9;  // the direct one: worth up to four hops of detour
        Route a = to(far), b = to(far);
        static_cast<void>(textbook.next(0, a, Draw(mix(i)), queues));
        static_cast<void>(old.next(0, b, Draw(mix(i)), queues));
        if (a.stage == Route::Stage::to_intermediate) {
            CHECK(topology->distance(0, a.via) + topology->distance(a.via, far) <= 4);
        }
        if (b.stage == Route::Stage::to_intermediate) {
            CHECK(1 + topology->distance(b.via, far) <= 4);
            differ += topology->distance(0, b.via) + topology->distance(b.via, far) > 4 ? 1 : 0;
        }
    }
    CHECK(differ > 0);
}

TEST_CASE("DAL takes the least of queue times hops, a minimal port where it is equal") {
    Machine m;
    m.topology = "hyperx";
    m.geometry = {4, 4, 1, 2};
    m.nodes_per_switch = 1;
    const auto topology = make_topology(m);
    const Router router(*topology, "dal");
    REQUIRE(topology->wired_ports() == 9);
    // From (0, 0) to (1, 2): by port 0 along the first dimension, by 5 and 6 along the second, two hops each.
    const NodeId far = 1 + 4 * 2;
    Queues queues;
    const auto taken = [&] {
        std::set<Port> ports;
        for (std::uint64_t i = 0; i < 200; ++i) {
            Route route = to(far);
            ports.insert(router.next(0, route, Draw(mix(i)), queues).port);
        }
        return ports;
    };
    CHECK(taken() == std::set<Port>{0, 5, 6});
    queues.queued = {{{0, 5}, 1}};
    CHECK(taken() == std::set<Port>{0, 6});
    for (Port port = 0; port < 9; ++port) queues.queued[{0, port}] = 3;
    CHECK(taken() == std::set<Port>{0, 5, 6});  // 2 x 3 is less than 3 x 3
    queues.queued[{0, 1}] = queues.queued[{0, 7}] = 2;
    CHECK(taken() == std::set<Port>{0, 5, 6});  // 3 x 2 is not less than 2 x 3
    queues.queued[{0, 1}] = queues.queued[{0, 7}] = 1;
    CHECK(taken() == std::set<Port>{1, 7});
}

TEST_CASE("DAL leaves the way in each dimension once, on a channel for each hop") {
    Machine m;
    m.topology = "hyperx";
    m.geometry = {4, 4, 1, 1};
    m.nodes_per_switch = 1;
    const auto topology = make_topology(m);
    const Router router(*topology, "dal");
    CHECK(router.channels() == 4);
    const SwitchId target = 1 + 4 * 2;
    Queues queues;
    // Whatever leads nearer is full.
    for (SwitchId at = 0; at < 16; ++at) {
        for (const SwitchId aim : {at / 4 * 4 + target % 4, at % 4 + target / 4 * 4}) {
            for (Port port = 0; port < 6; ++port) {
                if (topology->neighbour(at, port) == aim) queues.queued[{at, port}] = 100;
            }
        }
    }
    Route route = to(target);
    SwitchId at = 0;
    std::vector<std::uint8_t> channels;
    for (Hop hop = router.next(at, route, Draw(3), queues); !hop.ejects;
         hop = router.next(at, route, Draw(3), queues)) {
        channels.push_back(hop.channel);
        at = topology->neighbour(at, hop.port);
    }
    CHECK(at == target);
    CHECK(channels == std::vector<std::uint8_t>{0, 1, 2, 3});
}
