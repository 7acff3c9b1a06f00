// A run that is ended anywhere and goes on from its checkpoint gives the same bits.
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "device/simulate.hpp"
#include "drawn.hpp"
#include "given.hpp"
#include "killed.hpp"
#include "memory/checkpoint.hpp"
#include "simulation.hpp"
#include "testing.hpp"

using namespace tramontane;
using namespace tramontane::testing;

TEST_CASE("who polls is told how many switches packets have visited") {
    std::uint64_t number = 0, told = 0;
    for (const Machine& machine : every_network()) {
        const Drawn drawn(machine, ++number);
        INFO(machine.topology << " " << machine.routing << " " << drawn.workload << " " << number);
        Run run = drawn.run;
        run.threads = number % 4 < 2 ? 1 : 3;
        run.grain = number % 10 == 0 ? 0 : ~0U;  // together, or one for all
        run.poll_every = 50;
        const device::Form form{.windows = 1};
        for (const device::Form* const by : {static_cast<const device::Form*>(nullptr), &form}) {
            if (by != nullptr && machine.routing == "ugal-g") continue;  // not for devices
            std::uint64_t last = 0;
            const auto poll = [&](std::uint64_t hops) {
                CHECK(hops >= last);
                last = hops;
            };
            const Outcome o = simulated(drawn, run, poll, {}, by);
            CHECK(last <= o.hops);
            if (by != nullptr) CHECK(last == o.hops);
            told += last;
        }
    }
    CHECK(told > 0);
}

TEST_CASE("a run goes on from where it was ended with the same bits") {
    const ScratchFile scratch;
    std::uint64_t number = 0, resumed = 0;
    std::uint32_t most = 1;
    for (const Machine& machine : every_network()) {
        Drawn drawn(machine, ++number);
        if (number % 2 == 0) drawn.state_costs(number);
        if (number % 3 == 0) drawn.count_links(number);
        INFO(machine.topology << " " << machine.routing << " " << drawn.workload << " " << number);
        const auto expected = numbers(simulated(drawn, drawn.run, {}));
        Run run = drawn.run;
        run.threads = number % 4 < 2 ? 1 : 3;
        run.grain = number % 10 == 0 ? 0 : ~0U;  // together, or one for all
        run.poll_every = 50 + number;
        std::string from;
        for (std::uint64_t moment = 1; moment < 40 && killed_after(drawn, run, moment, from, scratch.path);
             moment = 3 * moment + 3) {
            from = scratch.path;  // the next attempt goes on from there
            const Outcome o = simulated(drawn, drawn.run, {}, {.from = from, .wanted = {}, .written = {}});
            most = std::max(most, o.threads);
            CHECK(numbers(o) == expected);
            ++resumed;
        }
    }
    CHECK(most == 3);  // as many as before, whatever is asked for
    CHECK(resumed > number);
}

TEST_CASE("each engine goes on from what either has written, with the same bits") {
    const ScratchFile scratch;
    std::uint64_t number = 5000, resumed = 0, turn = 0;
    for (const Machine& machine : networks_of_devices()) {
        Drawn drawn(machine, ++number);
        if (number % 2 == 0) drawn.state_costs(number);
        if (number % 3 == 0) drawn.spread_messages(number);
        if (number % 4 == 0) drawn.follow_graph();
        if (number % 7 == 0) drawn.receive_in_turn();
        if (number % 2 == 1) drawn.count_links(number);
        INFO(machine.topology << " " << machine.routing << " " << drawn.workload << " " << number);
        const auto results = [](Outcome o) {
            o.events = 0;  // space that comes back is an event of one engine only
            return numbers(o);
        };
        const auto expected = results(simulated(drawn, drawn.run, {}));
        Run run = drawn.run;
        run.poll_every = 50 + number % 100;
        const device::Form few{.lanes = 1, .stride = 3, .shuffle = number, .windows = 1 + number % 7};
        const device::Form many{.lanes = 2 + static_cast<std::uint32_t>(number % 3), .windows = 20, .in_step = 2};
        const std::vector<const device::Form*> engines{&few, nullptr, &many, &few};
        std::string from;
        for (std::uint64_t moment = 1; moment < 60; moment = 2 * moment + 3) {
            const device::Form* const writer = engines[turn++ % engines.size()];
            if (!killed_after(drawn, run, moment, from, scratch.path, writer)) break;
            from = scratch.path;  // the next attempt goes on from there
            const Keeping kept{.from = from, .wanted = {}, .written = {}};
            CHECK(results(simulated(drawn, drawn.run, {}, kept)) == expected);
            CHECK(results(simulated(drawn, drawn.run, {}, kept, &few)) == expected);
            CHECK(results(simulated(drawn, drawn.run, {}, kept, &many)) == expected);
            ++resumed;
        }
    }
    CHECK(2 * resumed > 3 * (number - 5000));
}

TEST_CASE("rounds that ranks have left open go on as well", "[one-thread]") {
    const ScratchFile scratch;
    for (std::uint64_t number = 1; number < 5; ++number) {
        Drawn drawn(every_network()[0], number);
        REQUIRE(drawn.ranks >= 5);  // as the program asks
        drawn.workload = small_program;
        const auto expected = numbers(simulated(drawn, drawn.run, {}));
        Run run = drawn.run;
        run.poll_every = 50;
        std::uint64_t moment = 1;
        for (; killed_after(drawn, run, moment, "", scratch.path); moment += 20) {
            INFO(number << " " << moment);
            const Keeping kept{.from = scratch.path, .wanted = {}, .written = {}};
            CHECK(numbers(simulated(drawn, drawn.run, {}, kept)) == expected);
        }
        CHECK(moment > 100);
    }
}

TEST_CASE("the device engine refuses a state of several threads in one line") {
    const ScratchFile scratch;
    Drawn drawn(every_network()[0], 1);
    Run run = drawn.run;
    run.threads = 2;
    run.poll_every = 50;
    REQUIRE(killed_after(drawn, run, 2, "", scratch.path));
    const device::Form form;
    CHECK_THROWS_WITH(simulated(drawn, run, {}, {.from = scratch.path, .wanted = {}, .written = {}}, &form),
                      "device: found a checkpoint of 2 threads, allowed: cpu");
}

TEST_CASE("repeats that may be cut short go on as well") {
    const ScratchFile scratch;
    Drawn drawn(every_network()[0], 3);
    drawn.workload = "kind=allreduce algorithm=recursive-doubling repeats=60";
    drawn.run.noise = {};
    Run run = drawn.run;
    run.steady_error = 0.05;
    run.poll_every = 100;
    const Outcome expected = simulated(drawn, run, {});
    CHECK(expected.repeats_simulated < 60);
    REQUIRE(killed_after(drawn, run, 4, "", scratch.path));
    const Outcome found = simulated(drawn, run, {}, {.from = scratch.path, .wanted = {}, .written = {}});
    CHECK(numbers(found) == numbers(expected));
    CHECK(found.repeats_simulated == expected.repeats_simulated);
}

TEST_CASE("a state that can't be written is told, and the run goes on") {
    const Drawn drawn(every_network()[0], 1);
    Run run = drawn.run;
    run.poll_every = 50;
    for (const char* file : {"/dev/full", "/nowhere/state"}) {
        std::string told;
        const Keeping keeping{.from = "",
                              .wanted = [&] { return std::string{file}; },
                              .written = [&](const std::string& error) { told = error; }};
        CHECK(numbers(simulated(drawn, run, {}, keeping)) == numbers(simulated(drawn, run, {})));
        CHECK(told.find("checkpoint: No ") == 0);
    }
}

TEST_CASE("where there is room for a part of a state only, each engine says so and goes on with all that it has") {
    const ScratchFile scratch;
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto ignored = std::signal(SIGXFSZ, SIG_IGN);  // so that writing fails, as on a disk that is full
    std::uint64_t number = 8000;
    int failed = 0;
    for (const Machine& machine : networks_of_devices()) {
        Drawn drawn(machine, ++number);
        INFO(machine.topology << " " << machine.routing << " " << drawn.workload << " " << number);
        Run run = drawn.run;
        run.poll_every = 200;
        const device::Form lanes{.windows = 20};
        for (const device::Form* const form : {static_cast<const device::Form*>(nullptr), &lanes}) {
            std::uint64_t polls = 0, size = 0;
            const Keeping keeping{.from = "",
                                  .wanted =
                                      [&] {
                                          rlimit limit = before;
                                          // Whole at first, then as much of it as is different each time.
                                          if (polls++ > 0) limit.rlim_cur = random_bits(1, number, polls) % size;
                                          CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
                                          return scratch.path.string();
                                      },
                                  .written =
                                      [&](const std::string& error) {
                                          CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
                                          CHECK(error.empty() == (polls == 1));
                                          if (polls == 1) size = std::filesystem::file_size(scratch.path);
                                          failed += error.empty() ? 0 : 1;
                                      }};
            Outcome expected = simulated(drawn, drawn.run, {});
            Outcome found = simulated(drawn, run, {}, keeping, form);
            expected.events = found.events = 0;  // of one engine only, some of them
            CHECK(numbers(found) == numbers(expected));
        }
    }
    (void)std::signal(SIGXFSZ, ignored);
    CHECK(failed > 300);
}

TEST_CASE("a state that is too short, or not there, is refused") {
    const ScratchFile scratch;
    const Drawn drawn(every_network()[0], 1);
    Run run = drawn.run;
    run.poll_every = 50;
    REQUIRE(killed_after(drawn, run, 3, "", scratch.path));
    std::filesystem::resize_file(scratch.path, std::filesystem::file_size(scratch.path) - 1);
    const auto resume = [&](const std::string& from) {
        return simulated(drawn, run, {}, {.from = from, .wanted = {}, .written = {}});
    };
    CHECK_THROWS_WITH(resume(scratch.path), "checkpoint: too short");
    CHECK_THROWS_WITH(resume("/nowhere/state"), "checkpoint: No such file or directory");
}
