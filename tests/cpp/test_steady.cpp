// When repeats are cut short.
#include <cmath>
#include <random>
#include <vector>

#include "engine/steady.hpp"
#include "testing.hpp"

using namespace tramontane;

namespace {

bool near(double found, double expected, double tolerance) {
    return std::abs(found - expected) <= tolerance * std::abs(expected);
}

}  // namespace

TEST_CASE("quantiles of Student's t are those of the tables") {
    CHECK(near(student_t(3), 5.841, 0.01));
    CHECK(near(student_t(5), 4.032, 0.002));
    CHECK(near(student_t(12), 3.055, 0.001));
    CHECK(near(student_t(1e9), 2.576, 0.001));
}

TEST_CASE("equal repeats leave no doubt") {
    const std::vector<double> durations(8, 100.0);
    const Forecast found = forecast(durations, 40);
    CHECK(near(found.repeat, 100, 1e-9));
    CHECK(std::abs(found.half_width) < 1e-9);
}

TEST_CASE("long and short repeats in turn leave none either") {
    const std::vector<double> durations{90, 110, 90, 110, 90, 110, 90, 110};
    CHECK(near(forecast(durations, 40).repeat, 100, 1e-9));
    CHECK(std::abs(forecast(durations, 40).half_width) < 1e-9);
}

TEST_CASE("the interval of four batches of two, by hand") {
    const std::vector<double> durations{99, 99, 101, 101, 99, 99, 101, 101};
    // Sums of pairs deviate by 2, so a sum of k repeats by sqrt(4 / 2 * 4 / 3 k).
    CHECK(near(forecast(durations, 8).half_width, student_t(3) * std::sqrt(8.0 / 3 * 8 * (1 + 8.0 / 8)), 1e-9));
}

TEST_CASE("independent repeats lie in the interval as often as it says") {
    std::mt19937 random(1);
    std::normal_distribution<double> scatter(100, 3);
    int inside = 0;
    constexpr int trials = 2000;
    for (int trial = 0; trial < trials; ++trial) {
        std::vector<double> durations(24);
        for (double& each : durations) each = scatter(random);
        double rest = 0;
        for (int i = 0; i < 30; ++i) rest += scatter(random);
        const Forecast found = forecast(durations, 30);
        inside += std::abs(rest - 30 * found.repeat) <= found.half_width;
    }
    CHECK(inside >= 0.985 * trials);
}

namespace {

/// Two ranks end repeat after repeat, each after its own time.
Repeats watch(double error, Ticks first, Ticks second, int repeats) {
    Repeats watched(2, 3 * 50, 50, error);
    for (int repeat = 1; repeat <= repeats; ++repeat) {
        for (const Ticks pace : {first, second}) {
            if (static_cast<std::uint32_t>(3 * repeat) > watched.rounds()) return watched;
            watched.ended(static_cast<std::uint32_t>(3 * repeat), 0, pace * static_cast<Ticks>(repeat));
        }
    }
    return watched;
}

}  // namespace

TEST_CASE("a steady schedule ends with the repeat that has begun") {
    const Repeats watched = watch(0.01, 1000, 1000, 50);
    CHECK(watched.simulated() == 11);  // two for the start, eight, and the one that had begun
    CHECK(watched.left_out() == 39);
    CHECK(watched.rounds() == 33);
    CHECK(near(watched.forecast().repeat, 1000, 1e-9));
}

TEST_CASE("ranks that drift apart are as uncertain as the drift over what is left out") {
    const Repeats watched = watch(0.01, 950, 1000, 50);
    CHECK(watched.left_out() == 19);  // 25 more or less each, of 50 * 1000
    CHECK(near(watched.forecast().half_width, 19 * 25, 1e-9));
}

TEST_CASE("the first quarter does not count, and of the others as many long as short ones do") {
    Repeats watched(1, 3 * 200, 200, 0.01);
    Ticks now = 0;
    for (std::uint32_t repeat = 1; repeat <= 200 && 3 * repeat <= watched.rounds(); ++repeat) {
        now += repeat <= 7 ? 5000 : repeat % 2 == 0 ? 900 : 1100;
        watched.ended(3 * repeat, 0, now);
    }
    // Of 24 durations that are known then, five do not count, nor does one so that their number is even.
    CHECK(watched.simulated() == 26);
    CHECK(near(watched.forecast().repeat, 1000, 1e-9));
}

namespace {

/// Two ranks, 50 repeats of which each takes 10 at least; some take `pace`, and the first rank ends 1 before the other.
Repeats watch_limit(Ticks limit, Ticks pace, int repeats) {
    Limit known{.time_s = to_seconds(limit), .more = {}};
    for (Ticks n = 0; n < 50; ++n) known.more.push_back(10 * n);
    Repeats watched(2, 3 * 50, 50, 0, known);
    for (int repeat = 1; repeat <= repeats; ++repeat) {
        for (const Ticks early : {1, 0}) {
            if (static_cast<std::uint32_t>(3 * repeat) > watched.rounds()) return watched;
            watched.ended(static_cast<std::uint32_t>(3 * repeat), 0, pace * static_cast<Ticks>(repeat) - early);
        }
    }
    return watched;
}

}  // namespace

TEST_CASE("a schedule ends with the repeat after which it exceeds the limit for sure") {
    const Repeats watched = watch_limit(600, 20, 50);  // 20 n - 1 + 10 (50 - n) > 600 from n = 11 ended ones on
    CHECK(watched.simulated() == 12);                  // one rank has just ended the twelfth
    CHECK(watched.rounds() == 36);
    CHECK(near(watched.at_least_s(), to_seconds(609), 1e-12));
}

TEST_CASE("a schedule that may be as short as the limit goes on") {
    const Repeats watched = watch_limit(1000, 20, 50);  // it takes exactly that
    CHECK(watched.watched());
    CHECK(watched.left_out() == 0);
    CHECK(watched.at_least_s() == 0);
}

TEST_CASE("nothing is cut short without need") {
    CHECK(watch(0.01, 1000, 1000, 9).left_out() == 0);
    CHECK_FALSE(watch(0, 1000, 1000, 50).watched());
}
