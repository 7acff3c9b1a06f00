// The end of the range of time: up to there results are right, and beyond it nothing wraps.
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/earliest_ends.hpp"
#include "given.hpp"
#include "simulation.hpp"
#include "testing.hpp"

using namespace tramontane;
using namespace tramontane::testing;

namespace {

std::string refusal(const Machine& machine, const Schedule& schedule) {
    try {
        const Outcome o = run(machine, schedule);
        return "none: " + std::to_string(o.time_s) + " s";
    } catch (const std::runtime_error& error) {
        return error.what();
    }
}

/// 1 MB/s throughout, packets of 100 MB.
Machine slow(std::int64_t nodes_per_switch) {
    Machine m = pushing("torus", {2, 1, 1}, nodes_per_switch);
    m.link_bandwidth = m.injection_bandwidth = m.logp_bandwidth = tramontane::min_bandwidth;
    m.packet = 100'000'000;
    m.buffer = 800'000'000;
    m.eager_limit = m.short_limit = 0;
    return m;
}

constexpr std::int64_t MB = 1'000'000;  // a second

}  // namespace

TEST_CASE("a day is the end of time") {
    for (const std::int64_t seconds : {1'000, 50'000, 86'000}) {
        const Outcome o = run(slow(1), Given(2, {{0, 1, seconds * MB}}));
        CHECK(std::abs(o.time_s - static_cast<double>(seconds)) < 0.01);
    }
    for (const std::int64_t seconds : {86'401, 95'000, 200'000, 10'000'000}) {
        INFO(seconds);
        const std::string text = refusal(slow(1), Given(2, {{0, 1, seconds * MB}}));
        INFO(text);
        CHECK(text.find("the simulated time exceeds a day") == 0);
    }
}

TEST_CASE("a queue that time can't hold is refused") {
    // All packets are before the crossbar at once, and it needs more than 2^64 ticks.
    Machine m = slow(128);
    m.buffer = 2'000'000'000;
    m.link_bandwidth = m.injection_bandwidth = max_bandwidth;
    m.crossbar_bandwidth = tramontane::min_bandwidth;
    const std::string text = refusal(m, shifted(128, 1, 2'000 * MB));
    INFO(text);
    CHECK(text.find("takes more than 1458 s") != std::string::npos);
}

TEST_CASE("a lower bound beyond the range is refused") {
    const Given schedule(2, {{0, 1, 1'400 * MB}});
    CHECK(std::abs(earliest_ends(slow(1), schedule, 1).last_s.back() - 1'400) < 0.01);
    for (const std::int64_t bytes : {1'500 * MB, std::int64_t{1} << 40, std::int64_t{1} << 62}) {
        CHECK_THROWS_AS(earliest_ends(slow(1), Given(2, {{0, 1, bytes}}), 1), std::runtime_error);
    }
}

TEST_CASE("the model pisces-16 ends at 922 s") {
    Machine m = slow(1);
    m.model = "pisces-16";
    m.geometry = {2, 2, 2};
    m.link_bandwidth = m.injection_bandwidth = 10 * tramontane::min_bandwidth;
    const std::string wrapped = refusal(m, Given(2, {{0, 1, 100 * MB}}));  // a crossbar of 1 TB/s
    INFO(wrapped);
    CHECK(wrapped.find("longer than the server's 2^32 slots last") != std::string::npos);
    m.packet = MB;
    m.crossbar_bandwidth = 1'000 * tramontane::min_bandwidth;
    CHECK(std::abs(run(m, Given(2, {{0, 1, 9'000 * MB}})).time_s - 900) < 1);
    for (const std::int64_t bytes : {9'300 * MB, 50'000 * MB, std::int64_t{1} << 60}) {
        CHECK(refusal(m, Given(2, {{0, 1, bytes}})).find("the simulated time exceeds 922 s") == 0);
    }
    m.link_bandwidth = tramontane::min_bandwidth;  // where a count of slots wraps
    CHECK_THROWS_AS(run(m, Given(2, {{0, 1, MB}})), std::invalid_argument);
}
