// The device engine, whose lanes are threads here: to the last bit the results of the other engine, which shares the
// rules with it and nothing else.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "by_lanes.hpp"
#include "device/agenda.hpp"
#include "device/lane_state.hpp"
#include "device/memory.hpp"
#include "device/records.hpp"
#include "device/rounds.hpp"
#include "device/simulate.hpp"
#include "drawn.hpp"
#include "given.hpp"
#include "killed.hpp"
#include "memory/checkpoint.hpp"
#include "random.hpp"
#include "simulation.hpp"
#include "testing.hpp"

using namespace tramontane;
using namespace tramontane::testing;

namespace {

std::string refusal_of(const Drawn& drawn) {
    try {
        (void)simulate_by_lanes(drawn, {});
    } catch (const std::invalid_argument& refused) {
        return refused.what();
    }
    return "";
}

/// Bytes, by all links.
std::uint64_t carried(const Outcome& o) {
    std::uint64_t bytes = 0;
    for (const auto& [name, use] : o.link_use) bytes += use.bytes;
    return bytes;
}

/// The last bin of time in which a link of some class carries something.
std::size_t last_used_bin(const Outcome& o) {
    std::size_t last = 0;
    for (const auto& [name, use] : o.link_use) {
        for (std::size_t bin = 0; bin < use.bins.size(); ++bin) {
            if (use.bins[bin].bytes > 0) last = std::max(last, bin);
        }
    }
    return last;
}

}  // namespace

TEST_CASE("the device engine finds what the other one finds") {
    for_drawn(1000, 4, [](Drawn& drawn, std::uint64_t number) {
        if (number % 2 == 0) drawn.state_costs(number);
        if (number % 3 == 0) drawn.count_links(number);
        if (number % 5 == 0) drawn.run.waiting_bins = 7;
        if (number % 7 == 0) drawn.receive_in_turn();
        const auto expected = results(drawn.simulate(1, 0));
        CHECK(results(simulate_by_lanes(drawn, {})) == expected);
        CHECK(results(simulate_by_lanes(drawn, {.lanes = 1, .stride = 5, .shuffle = number, .windows = 1})) ==
              expected);
        if (number % 4 == 1) {
            CHECK(results(simulate_by_lanes(drawn, {.lanes = 2 + static_cast<std::uint32_t>(number % 3),
                                                    .shuffle = number,
                                                    .windows = 1000,
                                                    .in_step = 2})) == expected);
        }
    });
}

TEST_CASE("it does where ranks send through several NICs") {
    for_drawn(4000, 3, [](Drawn& drawn, std::uint64_t number) {
        if (number % 2 == 0) drawn.state_costs(number);
        drawn.spread_messages(number);
        const auto expected = results(drawn.simulate(1, 0));
        CHECK(results(simulate_by_lanes(drawn, {})) == expected);
        CHECK(results(simulate_by_lanes(drawn, {.lanes = 1, .shuffle = number, .windows = 1})) == expected);
    });
}

TEST_CASE("it does where links are counted over time") {
    std::uint64_t number = 6000, told = 0;
    for (const Machine& machine : networks_of_devices()) {
        Drawn drawn(machine, ++number);
        if (number % 4 == 0) drawn.spread_messages(number);
        for (const std::uint32_t hottest : {0U, hottest_links, ~0U}) {
            drawn.run.links = {.on = true, .hottest = hottest, .bins = static_cast<std::uint32_t>(3 + number % 90)};
            INFO(machine.topology << " " << machine.routing << " " << drawn.workload << " " << number);
            const Outcome o = drawn.simulate(1, 0);
            CHECK(o.bin_s > 0);
            if (carried(o) > 0) CHECK(last_used_bin(o) >= drawn.run.links.bins / 2);  // half as wide ones would not do
            told += o.used_links.size();
            const auto expected = results(o);
            CHECK(results(simulate_by_lanes(drawn, {.shuffle = number, .windows = 10})) == expected);
            CHECK(results(simulate_by_lanes(drawn, {.lanes = 3, .shuffle = number})) == expected);
        }
    }
    CHECK(told > 20 * (number - 6000));
}

TEST_CASE("it does where ranks do an operation of the catalogue") {
    for_drawn(7000, 3, [](Drawn& drawn, std::uint64_t number) {
        drawn.do_together(number);
        const auto expected = results(drawn.simulate(1, 0));
        CHECK(results(simulate_by_lanes(drawn, {})) == expected);
        CHECK(results(simulate_by_lanes(drawn, {.lanes = 3, .shuffle = number, .windows = 8})) == expected);
    });
}

TEST_CASE("it does where ranks wait for a storage or for their job to start") {
    const char* const accesses =
        "kind=program repeat=2 communicators.heads.leaders=4 "
        "steps.0.kind=write steps.0.bytes=90000 steps.0.communicator=heads "
        "steps.1.kind=allreduce steps.1.algorithm=ring steps.1.count=40 steps.1.repeats=1 "
        "steps.2.kind=read steps.2.total=70000 "
        "steps.3.kind=halo steps.3.width=2 steps.3.grid=30x30x4 steps.3.one_sided.synchronisation=fence "
        "one_sided.put=90000 one_sided.fence=700000 "
        "storage.bandwidth=10000000000 storage.node_bandwidth=1000000000 storage.latency=5000000";
    const char* const jobs =
        "kind=jobs jobs.0.name=a jobs.0.ranks=6 jobs.0.workload.kind=random-shifts jobs.0.workload.bytes=3000 "
        "jobs.0.workload.rounds=3 jobs.1.name=b jobs.1.ranks=6 jobs.1.start=7000000 "
        "jobs.1.workload.kind=random-shifts jobs.1.workload.bytes=3000 jobs.1.workload.rounds=3";
    constexpr auto storage = static_cast<std::size_t>(Cause::storage);
    std::uint64_t number = 7000;
    for (const Machine& machine : networks_of_devices()) {
        for (const char* const workload : {accesses, jobs}) {
            Drawn drawn(machine, ++number);
            drawn.workload = workload;
            drawn.ranks = 12;
            drawn.run.places = {};
            drawn.machine.nics = 1;
            drawn.run.waiting_bins = 12;
            INFO(machine.topology << " " << machine.routing << " " << number);
            const Outcome outcome = drawn.simulate(1, 0);
            CHECK((outcome.waiting[0][storage] > 0) == (workload == accesses));
            const auto expected = results(outcome);
            CHECK(results(drawn.simulate(3, 0)) == expected);
            CHECK(results(simulate_by_lanes(drawn, {.lanes = 3, .shuffle = number, .windows = 8})) == expected);
        }
    }
}

TEST_CASE("it does where ranks follow a graph of operations") {
    for_drawn(5000, 4, [](Drawn& drawn, std::uint64_t number) {
        drawn.follow_graph();
        if (number % 2 == 0) drawn.state_costs(number);
        if (number % 3 == 0) drawn.spread_messages(number);
        if (number % 2 == 0) drawn.run.waiting_bins = 3;
        const auto expected = results(drawn.simulate(1, 0));
        CHECK(results(simulate_by_lanes(drawn, {})) == expected);
        CHECK(results(simulate_by_lanes(drawn, {.lanes = 1, .stride = 3, .shuffle = number, .windows = 1})) ==
              expected);
        if (number % 4 == 1) {
            CHECK(results(simulate_by_lanes(drawn, {.lanes = 3, .shuffle = number, .windows = 1000})) == expected);
            CHECK(results(drawn.simulate(3, 0)) == expected);
        }
    });
}

TEST_CASE("points that are simulated together are what they are by themselves") {
    std::vector<Drawn> points = points_together(2000);
    std::vector<std::vector<double>> expected;
    for (const Drawn& drawn : points) expected.push_back(results(drawn.simulate(1, 0)));
    for (const std::uint32_t at_once : {1U, 3U, 64U}) {
        CHECK(simulate_together(points, {.shuffle = at_once, .windows = 40, .points = at_once}) == expected);
    }
    CHECK(simulate_together(points, {.lanes = 2, .shuffle = 1, .windows = 400, .points = 5}) == expected);
    // What is refused takes no other with it.
    for (const std::size_t refused : {std::size_t{0}, points.size() / 2, points.size() - 1}) {
        points[refused].run.steady_error = 0.01;
        expected[refused].clear();
        CHECK(simulate_together(points, {.windows = 100, .points = 7}) == expected);
    }
    CHECK(simulate_together({}, {}).empty());
}

TEST_CASE("a table of rounds says what its schedule says") {
    device::HostMemory memory;
    for (const Rank ranks : {1, 4, 20, 99, 144}) {
        for (const std::string& words : std::vector<std::string>{
                 "kind=transposition algorithm=ring-k radix=1", "kind=transposition algorithm=ring-k radix=3",
                 "kind=transposition algorithm=pairwise", "kind=transposition algorithm=sliding-window radix=2",
                 "kind=transposition algorithm=bruck", "kind=allreduce algorithm=recursive-k radix=3 repeats=40",
                 "kind=allreduce algorithm=ring repeats=2", "kind=halo width=3",
                 "kind=halo width=3 calls=isend-recv"}) {
            const auto schedule = small_workload(words, ranks);
            for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
                INFO(words << " of " << ranks << ", " << most << " B");
                const device::RoundTable table(memory, *schedule, {}, true, most);
                std::uint64_t wrong = 0;
                for (Rank rank = 0; rank < ranks; ++rank) {
                    for (std::int64_t number = 0; number < schedule->rounds(); ++number) {
                        const Round expected = schedule->round(rank, number), found = table.round(rank, number);
                        wrong += found.sends != expected.sends || found.receives != expected.receives ||
                                 found.phase != expected.phase || found.window != expected.window;
                        for (std::int32_t i = 0; i < expected.sends; ++i) {
                            const Transfer told = table.send(rank, number, i), sent = schedule->send(rank, number, i);
                            wrong += told.peer != sent.peer || told.bytes != sent.bytes;
                        }
                        std::vector<bool> taken(static_cast<std::size_t>(expected.receives));
                        for (std::int32_t i = 0; i < expected.receives; ++i) {
                            const Transfer told = table.receive(rank, number, i),
                                           met = schedule->receive(rank, number, i);
                            wrong += told.peer != met.peer || told.bytes != met.bytes;
                            const std::int32_t first = table.receive_from(rank, number, met.peer, [&](std::int32_t k) {
                                return !taken[static_cast<std::size_t>(k)];
                            });
                            wrong += first != i;
                            taken[static_cast<std::size_t>(i)] = true;
                        }
                    }
                }
                CHECK(wrong == 0);
                CHECK(table.receives_in_turn() == schedule->receives_in_turn());
            }
        }
    }
}

TEST_CASE("where a table of rounds is large, rounds of ring-k take next to nothing") {
    device::HostMemory memory;
    const auto schedule = small_workload("kind=transposition algorithm=ring-k radix=1 decomposition=1x24", 24);
    const std::uint64_t joined = device::RoundTable(memory, *schedule, {}, false, 0).bytes();
    CHECK(joined < device::RoundTable(memory, *schedule).bytes() / 3);
    CHECK(joined < 24 * 200);
}

TEST_CASE("what the device engine finds does not depend on how long its windows are") {
    Drawn drawn(every_network()[1], 3);
    drawn.workload = "kind=transposition algorithm=ring-k radix=3";
    drawn.ranks = 20;
    const auto expected = results(drawn.simulate(1, 0));
    for (const Ticks window : {Ticks{700'000}, Ticks{3'000'017}}) {  // 3.5 and 15 ns
        drawn.run.window = window;
        CHECK(results(simulate_by_lanes(drawn, {.lanes = 1, .shuffle = 5})) == expected);
    }
}

TEST_CASE("there is room for what all ranks begin at once") {
    Machine machine = pushing("torus", {4, 4, 8}, 4);
    machine.buffer = 64 * machine.packet;  // which all are sent in a window
    machine.injection_bandwidth = 10'000'000'000'000;
    const Rank ranks = 500;
    for (const std::int64_t eager_limit : {0, 1 << 30}) {
        machine.eager_limit = machine.short_limit = eager_limit;
        for (const std::int64_t bytes : {100, 10'000, 200'000}) {
            INFO(bytes << " B, eager up to " << eager_limit << " B");
            std::vector<Given::Message> messages;
            for (Rank rank = 0; rank < ranks; ++rank) {
                for (const Rank distance : {1, 170, 330}) {
                    messages.push_back({rank, (rank + distance) % ranks, bytes});
                }
            }
            const Given schedule(ranks, messages);
            CHECK(results(device::simulate(machine, schedule, {}, {.lanes = 2})) ==
                  results(simulate(machine, schedule, {})));
        }
    }
}

TEST_CASE("sums of delays are as long as they are") {
    Machine machine = pushing("torus", {3, 3, 1});
    machine.packet = 100'000'000;
    machine.buffer = 20 * machine.packet;
    machine.link_bandwidth = machine.injection_bandwidth = min_bandwidth;  // 100 s a packet
    std::vector<Given::Message> messages;
    for (Rank rank = 1; rank < 9; ++rank) messages.push_back({rank, 0, machine.buffer});
    const Given schedule(9, messages);
    Run run;
    run.congestion_bins = 1;
    const Outcome expected = simulate(machine, schedule, run);
    CHECK(expected.delays.matrix.at(0, 0).ticks >> 64 > 0);
    CHECK(results(device::simulate(machine, schedule, run, {.lanes = 2})) == results(expected));
}

TEST_CASE("the device engine refuses what it can't do in one line") {
    for (const Machine& machine : every_network()) {
        if (machine.routing != "ugal-g") continue;
        CHECK(refusal_of(Drawn(machine, 1)).find("'ugal-g'") != std::string::npos);
    }
    const auto changed = [](auto&& change) {
        Drawn drawn(every_network()[0], 1);
        change(drawn);
        return refusal_of(drawn);
    };
    CHECK(changed([](Drawn& d) { d.machine.model = "pisces-16"; }).find("pisces-16") != std::string::npos);
    CHECK(changed([](Drawn& d) { d.run.steady_error = 0.01; }).find("steady") != std::string::npos);
    CHECK(changed([](Drawn& d) { d.run.limit.time_s = 1; }).find("a limit") != std::string::npos);
    CHECK(changed([](Drawn& d) { d.run.timeline = {0}; }).find("timeline") != std::string::npos);
}

TEST_CASE("errors of a lane end all, and a deadlock is told") {
    for (const std::uint32_t lanes : {1U, 3U})
        CHECK_THROWS_AS(simulate_by_lanes(fails(), {.lanes = lanes}), std::runtime_error);
}

TEST_CASE("records that are given back are taken again from the next window on, and there is room for more") {
    device::HostMemory memory;
    device::Records<std::uint64_t> records(memory, 16);
    std::vector<Index> held;
    std::vector<bool> taken(1000);
    const auto take = [&] {
        Index i = none;
        records.take(&i, 1);
        CHECK(i != none);
        CHECK(!taken[i]);
        taken[i] = true;
        records[i] = 7 * i;
        held.push_back(i);
    };
    const auto give_back = [&](std::size_t of) {
        CHECK(records[held[of]] == 7 * held[of]);
        taken[held[of]] = false;
        records.give_back(&held[of], 1);
        held[of] = held.back();
        held.pop_back();
    };
    for (std::uint64_t window = 0; window < 60; ++window) {
        for (std::uint64_t i = 0; i < 5; ++i) take();
        const std::uint64_t back = window < 30 ? 3 : 7;
        for (std::uint64_t i = 0; i < back; ++i) give_back(below(random_bits(5, window, i), held.size()));
        (void)records.turn();
        records.grow();
    }
    CHECK(held.empty());
    Index last = none;
    records.take(&last, 1);
    CHECK(last < 128);  // few more than were held at a time
    std::vector<Index> many(1 << 12);
    CHECK_THROWS_AS(records.take(many.data(), static_cast<std::uint32_t>(many.size())), std::invalid_argument);
    device::Records<std::uint64_t> few(memory, 16);
    for (std::size_t i = 1; i < few.room(); ++i) few.take(&last, 1);
    CHECK(last < few.room());
    CHECK_THROWS_AS(few.take(&last, 1), std::invalid_argument);
}

TEST_CASE("records are kept, and there is room for more, when none were free and some have been taken since") {
    const ScratchFile scratch;
    device::HostMemory memory;
    device::Records<std::uint64_t> records(memory, 16);
    std::vector<Index> held(9);
    records.take(held.data(), 9);
    for (const Index i : held) records[i] = 7 * i;
    CHECK(records.used(0) == 9);
    CHECK(records.used(4) == 5);
    {
        StateFile file(scratch.path, StateFile::Mode::write);
        records.keep(file, {});
        file.flush();
    }
    records.grow();
    CHECK(records.room() > 16);
    device::Records<std::uint64_t> others(memory, 16);
    StateFile file(scratch.path, StateFile::Mode::read);
    others.keep(file, {});
    CHECK(others.used(0) == 9);
    for (const Index i : held) {
        CHECK(records[i] == 7 * i);
        CHECK(others[i] == 7 * i);
    }
}

TEST_CASE("an agenda gives back all that it is told, whenever that is due") {
    using device::Agenda;
    constexpr Ticks window = 1000;
    device::HostMemory memory;
    const auto stride = GENERATE(1U, 3U, 64U);
    Agenda agenda(memory, window, 40, 1 << 11, stride);
    device::LaneState state{};
    device::Pool<device::Pending, &device::LaneState::pending> pending(agenda.events(), device::OwnState(&state));
    std::vector<std::vector<std::uint64_t>> due(1);  // by window: what
    std::uint64_t count = 0, found = 0, last = 0;
    const auto add = [&](Ticks time) {
        const auto lp = static_cast<LpId>(count % 40);
        const Index event = pending.take();
        pending[event] = {time, 3, static_cast<Index>(count), 0, {lp}, none};
        Agenda::Soon soon;
        agenda.push(event, time, lp, soon);
        agenda.note(soon);
        ++count;
    };
    // Some soon, some beyond the bins, some beyond the first wheel, and some up to a day.
    for (std::uint64_t i = 0; i < 300; ++i) {
        const std::uint64_t range = i % 4 == 0   ? 50
                                    : i % 4 == 1 ? 10 * Agenda::near
                                    : i % 4 == 2 ? 3ULL * Agenda::epoch * Agenda::buckets
                                                 : (end_of_time >> i % 40) / (2 * window);
        add(below(random_bits(1, 2, i), range * window));
    }
    for (std::uint64_t number = agenda.begin(); number != Agenda::ended; number = agenda.turn()) {
        CHECK((number > last || found == 0));
        last = number;
        std::vector<Ticks> more;
        for (std::uint32_t word = 0; word < agenda.words(); ++word) {
            const std::uint32_t bits = agenda.busy(word);
            agenda.clear_busy(word);
            for (std::uint32_t bit = 0; bit < 32; ++bit) {
                if ((bits >> bit & 1) == 0) continue;
                for (Index i = agenda.take(agenda.site(word, bit)); i != none;) {
                    const device::Pending event = pending[i];
                    pending.give_back(i);
                    i = event.next;
                    ++found;
                    CHECK(event.item % 40 == agenda.site(word, bit));
                    CHECK(event.time / window == number);
                    const Ticks later = 1 + below(random_bits(3, 4, event.item), 2ULL * Agenda::near);
                    if (count + more.size() < 900) more.push_back(event.time + later * window);
                }
            }
        }
        for (const Ticks time : more) add(time);
    }
    CHECK(count == 900);
    CHECK(found == count);
}
