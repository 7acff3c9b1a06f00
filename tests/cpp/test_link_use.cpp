// What links carry over time, against sums over all that was counted.
#include "link_use.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "device/link_bins.hpp"
#include "device/memory.hpp"
#include "drawn.hpp"
#include "first_bins.hpp"
#include "given.hpp"
#include "setting.hpp"
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
        return surely_counted(*schedule, {.on = true, .bins = bins}, parameters, setting.places);
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

TEST_CASE("notes that take too much memory are added to the bins of links") { check_at_once(8, 400000); }

TEST_CASE("a packet may pass for so long that its bytes times that are no word") {
    check_at_once(9, 500, {.moment = 50, .length = 58, .bytes = 31});
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
