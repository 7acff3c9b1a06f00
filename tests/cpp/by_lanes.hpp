/// \file
/// Drawn points by the device engine, alone and together.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/simulate.hpp"
#include "drawn.hpp"
#include "given.hpp"
#include "simulation.hpp"
#include "testing.hpp"

namespace tramontane::testing {

/// Draws points of each network of the device engine, `of_each` of them, and calls `look(drawn, number)` for each.
/// \param number one less than that of the first
template <class Look>
void for_drawn(std::uint64_t number, int of_each, Look&& look) {
    for (const Machine& machine : networks_of_devices()) {
        for (int repeat = 0; repeat < of_each; ++repeat) {
            Drawn drawn(machine, ++number);
            INFO(machine.topology << " " << machine.routing << " " << drawn.workload << " " << number);
            look(drawn, number);
        }
    }
}

/// All that a result tells, but for what it took.
[[nodiscard]] inline std::vector<double> results(Outcome o) {
    o.events = 0;
    return numbers(o);
}

[[nodiscard]] inline Outcome simulate_by_lanes(const Drawn& drawn, const device::Form& form) {
    return device::simulate(drawn.machine, *drawn.schedule(), drawn.run, form);
}

/// Simulates points beside each other. \return what is found of each: nothing of one that fails
[[nodiscard]] inline std::vector<std::vector<double>> simulate_together(const std::vector<Drawn>& points,
                                                                        const device::Form& form) {
    std::vector<std::unique_ptr<Schedule>> schedules;
    std::vector<device::Asked> asked;
    for (const Drawn& drawn : points) {
        schedules.push_back(drawn.schedule());
        asked.push_back({drawn.machine, *schedules.back(), drawn.run});
    }
    std::vector<std::vector<double>> found(points.size());
    std::vector<int> told(points.size());
    device::simulate_together(
        asked, form, [] {},
        [&](std::size_t number, const Outcome* outcome) {
            ++told[number];
            if (outcome != nullptr) found[number] = results(*outcome);
        });
    CHECK(told == std::vector<int>(points.size(), 1));
    return found;
}

/// Points of each network, that differ in length.
[[nodiscard]] inline std::vector<Drawn> points_together(std::uint64_t number) {
    std::vector<Drawn> points;
    for (const Machine& machine : networks_of_devices()) {
        for (int repeat = 0; repeat < 2; ++repeat) {
            points.emplace_back(machine, ++number);
            if (number % 3 == 0) points.back().count_links(number);
        }
    }
    return points;
}

/// A point whose times become too long to be told.
[[nodiscard]] inline Drawn fails() {
    Drawn drawn(every_network()[0], 1);
    drawn.workload = "kind=halo width=3";
    drawn.machine.send_overhead_per_byte = max_time;
    drawn.machine.eager_limit = drawn.machine.short_limit = 128;
    return drawn;
}

}  // namespace tramontane::testing
