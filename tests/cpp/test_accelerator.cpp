// The device engine on an accelerator: to the last bit the results of the engine for processors. Where no accelerator
// is, all of it is left out; on one: `device_tests "[accelerator]"` (docs/gpu.md). An accelerator that has failed
// refuses all that comes after it: so each kind of point has a test of its own, which can be run by itself.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "by_lanes.hpp"
#include "device/accelerator.hpp"
#include "device/simulate.hpp"
#include "drawn.hpp"
#include "given.hpp"
#include "killed.hpp"
#include "testing.hpp"

using namespace tramontane;
using namespace tramontane::testing;

namespace {

bool has_accelerator() {
    try {
        (void)device::accelerator();
    } catch (const std::invalid_argument& none) {
        WARN(none.what());
        return false;
    }
    return true;
}

/// One block of lanes or all of them, and launches of few windows or of many.
device::Form form_of(std::uint64_t number) {
    return {.lanes = number % 7 == 0 ? 0U : 1U,
            .windows = number % 20 == 0 ? 7 : device::windows_of_kernel,
            .accelerator = true};
}

/// Compares points of all networks, so many of each; `alter(drawn, number)` makes them what they are.
template <class Alter>
void compare(std::uint64_t number, int of_each, Alter&& alter) {
    if (!has_accelerator()) return;
    int compared = 0;
    for_drawn(number, of_each, [&](Drawn& drawn, std::uint64_t own) {
        alter(drawn, own);
        CHECK(results(simulate_by_lanes(drawn, form_of(own))) == results(drawn.simulate(1, 0)));
        ++compared;
    });
    WARN(device::accelerator().name() << ": compared " << compared << " points");
    CHECK(compared >= 20 * of_each);
}

}  // namespace

TEST_CASE("an accelerator finds what processors find", "[accelerator]") {
    compare(7000, 8, [](Drawn&, std::uint64_t) {});
}

TEST_CASE("an accelerator finds it where each step costs something", "[accelerator]") {
    compare(17000, 6, [](Drawn& drawn, std::uint64_t number) { drawn.state_costs(number); });
}

TEST_CASE("an accelerator finds it where ranks send through several NICs", "[accelerator]") {
    compare(27000, 4, [](Drawn& drawn, std::uint64_t number) {
        drawn.spread_messages(number);
        if (number % 2 == 0) drawn.state_costs(number);
    });
}

TEST_CASE("an accelerator finds it where links are counted", "[accelerator]") {
    compare(37000, 4, [](Drawn& drawn, std::uint64_t number) { drawn.count_links(number); });
}

TEST_CASE("an accelerator finds it where ranks follow a graph of operations", "[accelerator]") {
    compare(47000, 4, [](Drawn& drawn, std::uint64_t number) {
        drawn.follow_graph();
        if (number % 2 == 0) drawn.state_costs(number);
        if (number % 3 == 0) drawn.spread_messages(number);
    });
}

TEST_CASE("an accelerator finds why ranks wait", "[accelerator]") {
    compare(57000, 4, [](Drawn& drawn, std::uint64_t number) {
        drawn.run.waiting_bins = 7;
        if (number % 2 == 0) drawn.follow_graph();
        if (number % 3 == 0) drawn.state_costs(number);
    });
}

TEST_CASE("an accelerator finds it where ranks receive in turn", "[accelerator]") {
    compare(67000, 2, [](Drawn& drawn, std::uint64_t number) {
        drawn.receive_in_turn();
        if (number % 2 == 0) drawn.state_costs(number);
    });
}

TEST_CASE("an accelerator finds of points together what processors find of each", "[accelerator]") {
    if (!has_accelerator()) return;
    const std::vector<Drawn> points = points_together(9000);
    const auto found = simulate_together(points, {.lanes = 0, .windows = 100, .accelerator = true});
    for (std::size_t i = 0; i < points.size(); ++i) CHECK(found[i] == results(points[i].simulate(1, 0)));
    WARN("together: compared " << points.size() << " points");
    CHECK(points.size() >= 20);
}

TEST_CASE("an accelerator and processors go on from what either has written", "[accelerator]") {
    if (!has_accelerator()) return;
    const ScratchFile scratch;
    std::uint64_t number = 77000, resumed = 0;
    for (const Machine& machine : networks_of_devices()) {
        Drawn drawn(machine, ++number);
        if (number % 2 == 0) drawn.state_costs(number);
        if (number % 4 == 0) drawn.follow_graph();
        if (number % 3 == 0) drawn.count_links(number);
        INFO(machine.topology << " " << machine.routing << " " << drawn.workload << " " << number);
        const auto expected = results(drawn.simulate(1, 0));
        Run run = drawn.run;
        run.poll_every = 50 + number % 100;
        const device::Form form{.lanes = 1, .windows = 20 + number % 50, .accelerator = true};
        std::string from;
        const device::Form* writer = &form;
        for (const std::uint64_t moment : {2, 5}) {
            if (!killed_after(drawn, run, moment, from, scratch.path, writer)) break;
            from = scratch.path;  // the next attempt goes on from there
            const Keeping kept{.from = from, .wanted = {}, .written = {}};
            CHECK(results(simulated(drawn, drawn.run, {}, kept)) == expected);
            CHECK(results(simulated(drawn, drawn.run, {}, kept, &form)) == expected);
            writer = nullptr;
            ++resumed;
        }
    }
    WARN("went on " << resumed << " times");
    CHECK(resumed > 20);
}

// The last one: after it nothing runs there.
TEST_CASE("an error on an accelerator is told as on a processor", "[accelerator]") {
    if (!has_accelerator()) return;
    const Drawn drawn = fails();
    std::string told;
    try {
        (void)simulate_by_lanes(drawn, {});
    } catch (const std::runtime_error& error) {
        told = error.what();
    }
    REQUIRE(!told.empty());
    CHECK_THROWS_WITH(simulate_by_lanes(drawn, form_of(1)), told);
}
