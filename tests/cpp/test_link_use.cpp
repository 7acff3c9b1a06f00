// What links carry over time, against sums over all that was counted.
#include "link_use.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "testing.hpp"

using namespace tramontane;

namespace {

/// Bytes that pass evenly, or a packet that finds a queue.
struct Counted {
    Ticks begin, end;
    std::uint64_t bytes, queue;
};

/// The bins of all that was counted, by their definition.
std::vector<UseOfBin> bins_of(const std::vector<Counted>& counted, std::uint32_t bins, std::uint32_t width) {
    std::vector<UseOfBin> made(bins);
    for (const Counted& each : counted) {
        made[each.begin >> width].add({0, each.queue});
        for (std::uint64_t bin = 0; bin < bins; ++bin) {
            const auto passed = [&](Ticks until) {
                const Ticks within = std::clamp(until, each.begin, each.end) - each.begin;
                return each.bytes * within / (each.end - each.begin);
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

/// Counts so much, at moments up to a latest one that grows, for 40 links of two classes.
void check_links_and_classes(std::uint32_t bins, std::uint32_t count) {
    constexpr std::uint32_t links = 40, classes = 2;
    std::mt19937_64 random(bins);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    UseOverTime over_time(bins, classes, true);
    std::vector<LinkMeter> meters(links);
    for (std::uint32_t link = 0; link < links; ++link) meters[link].link_class = link % classes;
    std::vector<std::vector<Counted>> of_links(links), of_classes(classes);
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto link = static_cast<std::uint32_t>(below(links - 1));  // the last one carries nothing
        const Ticks begin = below((std::uint64_t{i} + 1) << 16);
        const Counted each{begin, begin + 1 + below(1 << 22), below(1 << 12), below(4) * below(1 << 20)};
        over_time.find(meters[link], each.begin, each.queue);
        over_time.pass(meters[link], each.begin, each.end, each.bytes);
        of_links[link].push_back(each);
        of_classes[link % classes].push_back(each);
    }
    for (LinkMeter& meter : meters) over_time.settle(meter);
    for (std::uint32_t each = 0; each < classes; ++each) {
        check_same(over_time.of_class(each), bins_of(of_classes[each], bins, over_time.width()));
    }
    const std::vector<std::uint32_t> asked{3, 17, links - 1};
    std::vector<const LinkMeter*> told;
    for (const std::uint32_t link : asked) told.push_back(&meters[link]);
    const auto found = over_time.of_links(told);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        check_same(found[i], bins_of(of_links[asked[i]], bins, over_time.width()));
    }
}

}  // namespace

TEST_CASE("what links carry is in the bins of its time") {
    check_links_and_classes(1, 1000);
    check_links_and_classes(7, 1000);
    check_links_and_classes(1024, 1000);
}

TEST_CASE("notes that take too much memory are added to the bins of links") { check_links_and_classes(8, 400000); }
