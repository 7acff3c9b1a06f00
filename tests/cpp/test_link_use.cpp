// What links carry over time, against sums over all that was counted.
#include "statistics/link_use.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "device/link_bins.hpp"
#include "device/memory.hpp"
#include "drawn.hpp"
#include "given.hpp"
#include "setting.hpp"
#include "statistics/first_bins.hpp"
#include "statistics/use_notes.hpp"
#include "testing.hpp"

using namespace tramontane;
using namespace tramontane::testing;

namespace {

/// Bytes that pass evenly, or a packet that finds a queue.
struct Counted {
    Ticks begin, end;
    std::uint32_t bytes;
    std::uint64_t queue;
};

/// The bins of all that was counted, by their definition.
std::vector<UseOfBin> bins_of(const std::vector<Counted>& counted, std::uint32_t bins, std::uint32_t width) {
    std::vector<UseOfBin> made(bins);
    for (const Counted& each : counted) {
        made[each.begin >> width].add({0, each.queue});
        for (std::uint64_t bin = 0; bin < bins; ++bin) {
            const auto passed = [&](Ticks until) {
                __extension__ using Wide = unsigned __int128;
                const Ticks within = std::clamp(until, each.begin, each.end) - each.begin;
                return static_cast<std::uint64_t>(Wide{each.bytes} * within / (each.end - each.begin));
            };
            made[bin].bytes += passed((bin + 1) << width) - passed(bin << width);
        }
    }
    return made;
}

void check_same(const std::vector<UseOfBin>& found, const std::vector<UseOfBin>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t bin = 0; bin < found.size(); ++bin) {
        CHECK(found[bin].bytes == expected[bin].bytes);
        CHECK(found[bin].peak_queue == expected[bin].peak_queue);
    }
}

/// Bits of what is counted.
struct Range {
    int moment = 16;  ///< of the latest one, as it grows
    int length = 22, bytes = 12;
};

constexpr std::uint32_t classes = 2;

/// Counts so much in `counting`, at moments up to a latest one that grows, for 40 links of two classes.
/// \param collect `collect(meters)` is called now and then: from then on `over_time` has what was counted
template <class Counting, class Collect>
void check_links_and_classes(std::uint32_t bins, std::uint32_t count, UseOverTime& over_time, Counting& counting,
                             Collect&& collect, const Range& range = {}, bool one_by_one = true) {
    constexpr std::uint32_t links = 40;
    std::mt19937_64 random(bins);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    std::vector<LinkMeter> meters(links);
    for (std::uint32_t link = 0; link < links; ++link) meters[link].link_class = link % classes;
    std::vector<std::vector<Counted>> of_links(links), of_classes(classes);
    Ticks latest = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto link = static_cast<std::uint32_t>(below(links - 1));  // the last one carries nothing
        const Ticks begin = below((std::uint64_t{i} + 1) << range.moment);
        const Counted each{begin, begin + 1 + below(std::uint64_t{1} << range.length),
                           static_cast<std::uint32_t>(below(std::uint64_t{1} << range.bytes)),
                           below(4) * below(1 << 20)};
        counting.find(meters[link], each.begin, each.queue);
        counting.pass(meters[link], each.begin, each.end, each.bytes);
        if (i % 100 == 0) collect(meters);
        latest = std::max(latest, each.end - 1);
        of_links[link].push_back(each);
        of_classes[link % classes].push_back(each);
    }
    collect(meters);
    for (LinkMeter& meter : meters) over_time.settle(meter);
    CHECK(over_time.width() == first_width(bins, latest));  // as wide as it takes, and no wider
    for (std::uint32_t each = 0; each < classes; ++each) {
        check_same(over_time.of_class(each), bins_of(of_classes[each], bins, over_time.width()));
    }
    if (!one_by_one) return;
    const std::vector<std::uint32_t> asked{3, 17, links - 1};
    std::vector<const LinkMeter*> told;
    for (const std::uint32_t link : asked) told.push_back(&meters[link]);
    const auto found = over_time.of_links(told);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        check_same(found[i], bins_of(of_links[asked[i]], bins, over_time.width()));
    }
}

/// As the engine of processors does.
void check_at_once(std::uint32_t bins, std::uint32_t count, const Range& range = {}, Ticks surely = 0) {
    UseOverTime over_time(bins, classes, true, surely);
    check_links_and_classes(bins, count, over_time, over_time, [](auto&) {}, range);
}

}  // namespace

TEST_CASE("what all links carry is counted or refused") {
    LinkMeter meter;
    meter.bytes = std::uint64_t{1} << 62U;
    LinkUse all;
    all.add(meter);
    CHECK(all.bytes == meter.bytes);
    CHECK_THROWS_AS(all.add(meter), std::runtime_error);
}

TEST_CASE("what links carry is in the bins of its time") {
    check_at_once(1, 1000);
    check_at_once(7, 1000);
    check_at_once(1024, 1000);
}

TEST_CASE("what classes carry is in the bins of its time where no link is told") {
    for (const std::uint32_t bins : {1U, 7U, 1024U}) {
        UseOverTime over_time(bins, classes, false);
        check_links_and_classes(bins, 1000, over_time, over_time, [](auto&) {}, {}, false);
    }
}

TEST_CASE("a meter says what a packet finds before it, and refuses what it can't count") {
    LinkMeter meter;
    CHECK(meter.come(100, 0) == 0);
    CHECK(meter.come(50, 7) == 107);
    meter.go(100);
    CHECK(meter.waiting == 50);
    CHECK(meter.come(1, 0) == 50);
    CHECK(meter.packets == 1);
    CHECK(meter.bytes == 100);
    CHECK(meter.peak_queue == 107);
    CHECK(meter.come(1, LinkMeter::most - 52) == LinkMeter::most - 1);
    CHECK_THROWS_AS(meter.come(1, LinkMeter::most - 52), std::runtime_error);
}

TEST_CASE("how wide bins are at first does not matter, where they become wider") {
    for (const std::uint32_t bins : {1U, 7U, 1024U}) check_at_once(bins, 1000, {}, Ticks{1} << 25);
}

TEST_CASE("bins are at first as wide as a moment takes that is in one") {
    CHECK(first_width(64, 0) == first_width(64, 64 * (Ticks{1} << 14) - 1));
    CHECK(first_width(64, 64 * (Ticks{1} << 14)) == 15);
    CHECK(first_width(1, (Ticks{1} << 40) - 1) == 40);
}

TEST_CASE("what a rank sends, and does before, says how long a run is at least") {
    Drawn drawn(every_network()[0], 1);
    drawn.ranks = 8;
    drawn.machine.negligible_size = 0;
    drawn.machine.nics = 1;
    drawn.run.places = {};
    drawn.workload = "kind=halo width=3";
    const auto surely = [&](std::uint32_t bins) {
        const std::unique_ptr<Schedule> schedule = drawn.schedule();
        const Setting setting(drawn.machine, *schedule, drawn.run);
        const Parameters parameters(drawn.machine, *setting.topology);
        drawn.run.links = {.on = true, .bins = bins};
        return surely_counted(*schedule, drawn.run, parameters, setting);
    };
    const Ticks latency = from_picoseconds(drawn.machine.injection_latency);
    CHECK(surely(0) == 0);
    CHECK(surely(8) > latency);
    CHECK(to_seconds(surely(8)) < drawn.simulate(1, 0).time_s);
    drawn.machine.injection_bandwidth = 1;  // B/s
    CHECK(surely(8) < Ticks{1} << 62);
    drawn.run.places.ranks_per_node = 8;  // nothing leaves the node
    CHECK(surely(8) == latency);
}

TEST_CASE("a rank that starts late, and sends, says how long a run is at least") {
    Drawn drawn(every_network()[0], 1);
    drawn.ranks = 8;
    drawn.machine.negligible_size = 0;
    drawn.run.places = {};
    drawn.run.links = {.on = true, .bins = 8};
    drawn.workload = "kind=halo width=3";
    const std::unique_ptr<Schedule> schedule = drawn.schedule();
    const auto surely = [&] {
        const Setting setting(drawn.machine, *schedule, drawn.run);
        const Parameters parameters(drawn.machine, *setting.topology);
        return surely_counted(*schedule, drawn.run, parameters, setting);
    };
    drawn.run.start_jitter = 0;
    const Ticks at_once = surely();
    drawn.run.start_jitter = 1'000'000'000;  // ps
    Ticks first = start_of(0, drawn.run), last = first;
    for (std::uint32_t rank = 1; rank < 8; ++rank) {
        first = std::min(first, start_of(rank, drawn.run));
        last = std::max(last, start_of(rank, drawn.run));
    }
    CHECK(surely() >= last);
    CHECK(surely() <= last + at_once);
    CHECK(to_seconds(surely()) < to_seconds(first) + drawn.simulate(1, 0).time_s);
}

TEST_CASE("what the first ranks send over a link says how long a run is at least") {
    constexpr Rank ranks = 12;
    constexpr std::int64_t bytes = 100'000;
    std::vector<Given::Message> messages;
    for (Rank rank = 0; rank + 1 < ranks; ++rank) messages.push_back({rank, ranks - 1, bytes});
    const Given schedule(ranks, messages);
    const auto surely = [&](const Machine& machine) {
        Run run;
        run.links = {.on = true, .bins = 64};
        const Setting setting(machine, schedule, run);
        return surely_counted(schedule, run, Parameters(machine, *setting.topology), setting);
    };
    Machine machine = pushing("torus", {16, 1, 1});
    const Ticks alone = bytes * byte_time(machine.link_bandwidth);
    CHECK(surely(machine) == (ranks - 1) * alone);  // the link to the last rank
    CHECK(to_seconds(surely(machine)) < run(machine, schedule).time_s);
    machine.link_classes = {{"ejection", machine.link_bandwidth / 2, machine.link_latency}};
    CHECK(surely(machine) == (ranks - 1) * 2 * alone);
    CHECK(to_seconds(surely(machine)) < run(machine, schedule).time_s);
    machine.negligible_size = bytes;  // nothing passes a link
    CHECK(surely(machine) == from_picoseconds(machine.injection_latency));
    // Where routes are drawn, a NIC's bytes are all that is known.
    machine = pushing("torus", {4, 4, 1}, 1, "valiant");
    CHECK(surely(machine) == from_picoseconds(machine.injection_latency) + alone);
}

TEST_CASE("notes tell what was noted, whatever link, bin and size") {
    std::mt19937_64 random(1);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    const std::vector<std::uint32_t> links{0, 1, 77, 1U << 18, 1U << 19, (1U << 22) + 1, 1U << 29, ~0U - 1};
    for (const std::uint32_t bins : {1U, 2U, 64U, 1000U, 1024U}) {
        UseNotes notes(bins);
        std::vector<std::vector<UseOfBin>> noted(links.size(), std::vector<UseOfBin>(bins));
        const auto add = [&](std::size_t link) {
            if (notes.full()) notes.grow();
            if (below(2) == 0 || !notes.have_room_for(links[link])) {
                const std::uint64_t bin = below(bins), bytes = below(below(4) == 0 ? std::uint64_t{1} << 32 : 1 << 16),
                                    queue = below(2) * below(below(4) == 0 ? std::uint64_t{1} << 32 : 1 << 16);
                notes.add(links[link], bin, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(queue));
                noted[link][bin].add({bytes, queue});
                return;
            }
            const auto count = static_cast<std::uint32_t>(1 + below(std::min(bins, UseNotes::most_parts)));
            const std::uint64_t first = below(bins - count + 1);
            std::uint64_t parts = 0;
            for (std::uint32_t i = 0; i < count; ++i) {
                const std::uint64_t part = below(1 << 16);
                parts |= part << 16 * i;
                noted[link][first + i].add({part, 0});
            }
            notes.add_parts(links[link], first, parts, count);
        };
        const auto check = [&] {
            std::vector<std::vector<UseOfBin>> told(links.size(), std::vector<UseOfBin>(bins));
            const std::size_t left_out = below(links.size());
            notes.each_of([&](std::uint32_t link) { return link != links[left_out]; },
                          [&](std::uint32_t link, Ticks bin, const UseOfBin& use) {
                              const auto place = std::find(links.begin(), links.end(), link) - links.begin();
                              told.at(static_cast<std::size_t>(place)).at(bin).add(use);
                          });
            for (std::size_t link = 0; link < links.size(); ++link) {
                check_same(told[link], link == left_out ? std::vector<UseOfBin>(bins) : noted[link]);
            }
        };
        check();
        for (std::uint32_t turn = 0; turn < 4; ++turn) {
            for (std::uint32_t i = 0; i < 1000; ++i) add(below(links.size()));
            check();
            notes.widen();
            for (auto& of_link : noted) {
                std::vector<UseOfBin> joined(bins);
                for (std::uint32_t bin = 0; bin < bins; ++bin) joined[bin / 2].add(of_link[bin]);
                of_link = joined;
            }
            check();
        }
        CHECK(notes.bytes() > 0);
        notes.clear();
        CHECK(notes.bytes() == 0);
        noted.assign(links.size(), std::vector<UseOfBin>(bins));
        check();
        add(0);
        check();
    }
}

TEST_CASE("notes that take too much memory are added to the bins of links") { check_at_once(8, 400000); }

TEST_CASE("a packet may pass for so long that its bytes times that are no word") {
    check_at_once(9, 500, {.moment = 50, .length = 58, .bytes = 31});
}

TEST_CASE("what passes in no time when the last bin ends is in the next one") {
    for (const bool one_by_one : {false, true}) {
        UseOverTime over_time(4, classes, one_by_one);
        LinkMeter meter;
        const Ticks end = Ticks{4} << over_time.width();
        over_time.pass(meter, end, end, 2);
        over_time.settle(meter);
        CHECK(Ticks{2} << over_time.width() == end);  // wider bins
        CHECK(over_time.of_class(0)[2].bytes == 2);
    }
}

TEST_CASE("bins hold the last moments of a day") {
    constexpr Ticks late = ~Ticks{0} - (Ticks{1} << 50);
    device::HostMemory memory;
    for (const std::uint32_t bins : {1U, 2U, 7U, 64U, 1024U}) {
        UseOverTime over_time(bins, classes, true);
        device::LinkBins by_lanes(memory, bins, 1);
        LinkMeter meter, other;
        if (bins == 1) {
            CHECK_THROWS_AS(over_time.pass(meter, late, late + 10, 1), std::runtime_error);
            CHECK_THROWS_AS(by_lanes.pass(other, late, late + 10, 1), std::runtime_error);
            continue;
        }
        over_time.pass(meter, late, late + 10, 1);
        by_lanes.pass(other, late, late + 10, 1);
        over_time.settle(meter);
        CHECK(over_time.of_class(0)[late >> over_time.width()].bytes == 1);
        CHECK(other.width == over_time.width());
    }
}

TEST_CASE("what lanes count of links is the same, whenever it is collected") {
    device::HostMemory memory;
    for (const int bits : {12, 31}) {  // the latter in sum more than a meter holds, or a note
        for (const std::uint32_t bins : {1U, 7U, 1024U}) {
            const Ticks surely = Ticks{1} << (bins == 7 ? 25 : 0);
            UseOverTime over_time(bins, classes, true, surely);
            device::LinkBins by_lanes(memory, bins, 40, surely);
            const auto collect = [&](std::vector<LinkMeter>& meters) {
                by_lanes.collect(over_time, [&](auto&& f) { std::for_each(meters.begin(), meters.end(), f); });
            };
            check_links_and_classes(bins, 1000, over_time, by_lanes, collect, {.bytes = bits});
        }
    }
}
