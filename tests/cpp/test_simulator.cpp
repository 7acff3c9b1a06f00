// What the simulator is made of, and a schedule that can't end: no workload of ours deadlocks, so the report of a
// deadlock needs one made for it.
#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/event_queue.hpp"
#include "random.hpp"
#include "rules/arbiter.hpp"
#include "rules/channel.hpp"
#include "simulation.hpp"
#include "testing.hpp"

using namespace tramontane;

namespace {

Machine two_nodes() {
    Machine m;
    m.topology = "torus";
    m.geometry = {2, 1, 1};
    m.routing = "minimal";
    m.link_bandwidth = m.injection_bandwidth = m.crossbar_bandwidth = m.logp_bandwidth = 10'000'000'000;
    m.memory_bandwidth = 1'000'000'000'000;
    m.processor_frequency = 2'000'000'000;
    m.link_latency = m.injection_latency = m.logp_hop_latency = m.logp_out_in_latency = 100'000;
    m.packet = 4096;
    m.buffer = 64'000;
    m.eager_limit = 8192;
    m.short_limit = 512;
    return m;
}

/// Rank 1 waits for two messages; rank 0 sends one.
class Unmatched final : public Schedule {
public:
    Rank ranks() const override { return 2; }
    std::int64_t rounds() const override { return 1; }
    std::vector<std::string> phases() const override { return {"all"}; }
    Round round(Rank rank, std::int64_t) const override {
        return rank == 0 ? Round{.phase = 0, .sends = 1, .receives = 0} : Round{.phase = 0, .sends = 0, .receives = 2};
    }
    Transfer send(Rank, std::int64_t, std::int32_t) const override { return {1, 0, 100}; }
    Transfer receive(Rank, std::int64_t, std::int32_t) const override { return {0, 0, 100}; }
};

}  // namespace

TEST_CASE("a deadlock says what waits for what") {
    try {
        static_cast<void>(simulate(two_nodes(), Unmatched{}, Run{}));
        FAIL("it ended");
    } catch (const std::runtime_error& error) {
        const std::string text = error.what();
        INFO(text);
        CHECK(text.find("deadlock: 1 of 2 ranks never end") == 0);
        CHECK(text.find("rank 1 in round 0 waits for 1 receives and 0 sends") != std::string::npos);
    }
}

TEST_CASE("an idle server passes a packet at its own granularity, or at the packet's") {
    Pool<Gaps> pool;
    Arbiter arbiter;
    const Passage fast = arbiter.book(pool, 100, 1'000, 10, 0);
    CHECK(fast.head_leaves == 1'000);
    CHECK(fast.tail_leaves == 2'000);
    const Passage queued = arbiter.book(pool, 100, 1'500, 10, 50);
    CHECK(queued.head_leaves == 2'000);
    CHECK(queued.tail_leaves == 3'000);
    const Passage slow = arbiter.book(pool, 100, 10'000, 10, 800);
    CHECK(slow.head_leaves == 10'000);
    CHECK(slow.tail_leaves == 18'000);
}

TEST_CASE("a server's idle slots between a slow packet's bytes serve others") {
    Pool<Gaps> pool;
    Arbiter arbiter;
    static_cast<void>(arbiter.book(pool, 100, 0, 100, 800));  // takes one slot of eight until 80'000
    const Passage other = arbiter.book(pool, 100, 0, 100, 100);
    CHECK(other.head_leaves == 0);
    CHECK(other.tail_leaves <= 20'000);
}

TEST_CASE("a server is booked for bytes, not for slots that they leave idle") {
    Pool<Gaps> pool;
    Arbiter arbiter;
    CHECK(arbiter.booked(pool, 100, 0) == 0);
    static_cast<void>(arbiter.book(pool, 100, 0, 100, 800));  // takes one slot of eight until 80'000
    const std::uint64_t slow = arbiter.booked(pool, 100, 0);
    CHECK((slow == 99 || slow == 100));                // up to a byte is lost to whole slots
    CHECK(arbiter.booked(pool, 100, 40'000) <= slow);  // nor those that are left of a gap
    static_cast<void>(arbiter.book(pool, 100, 0, 100, 100));
    CHECK(arbiter.booked(pool, 100, 0) <= slow + 100);
    CHECK(arbiter.booked(pool, 100, 0) > slow);
    CHECK(arbiter.booked(pool, 100, 79'900) == 1);
    CHECK(arbiter.booked(pool, 100, 80'000) == 0);
}

TEST_CASE("a server forgets its oldest idle time when it has too many gaps") {
    Pool<Gaps> pool;
    Arbiter arbiter;
    for (Ticks i = 1; i <= 20; ++i) {  // each comes until i x 10^6, and leaves a gap after the one before
        static_cast<void>(arbiter.book(pool, 100, 0, 100, i * 10'000));
    }
    const Passage next = arbiter.book(pool, 100, 0, 1, 0);  // which may need one more: of the gaps 14 are left
    CHECK(next.head_leaves == 6'000'000);
}

TEST_CASE("a server never passes more than its bandwidth") {
    // Random packets, some slow, some fast: by any time no more bytes have left than there were slots.
    Pool<Gaps> pool;
    Arbiter arbiter;
    constexpr Ticks slot = 100;
    std::uint64_t bytes = 0, packets = 0;
    Ticks now = 0, last = 0;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
        now += below(random_bits(1, 2, i), 20'000);
        const auto size = static_cast<std::uint32_t>(1 + below(random_bits(3, 4, i), 300));
        const Ticks spacing = below(random_bits(5, 6, i), 4) * 150;
        const Passage p = arbiter.book(pool, slot, now, size, spacing);
        REQUIRE(p.head_leaves >= now);
        REQUIRE(p.tail_leaves >= p.head_leaves);
        bytes += size;
        ++packets;
        last = std::max(last, p.tail_leaves);
        // Up to three bytes a packet are lost to whole slots.
        REQUIRE(last / slot + 3 * packets >= bytes);
    }
}

TEST_CASE("events come window by window, each lp's in order of time") {
    constexpr Ticks window = 1'000;
    constexpr LpId lps = 300;
    for (const std::uint64_t count : {50ULL, 20'000ULL}) {
        EventQueue queue(window, lps);
        std::multiset<std::pair<Ticks, LpId>> expected;
        for (std::uint64_t i = 0; i < count; ++i) {
            // Some far beyond the ring of windows.
            const Ticks time = below(random_bits(1, i, 0), i % 10 == 0 ? 50'000'000 : 50'000);
            const auto lp = static_cast<LpId>(below(random_bits(2, i, 0), lps));
            queue.push(time, lp, 0, static_cast<Index>(i));
            expected.emplace(time, lp);
        }
        std::multiset<std::pair<Ticks, LpId>> seen;
        Ticks before = 0;
        while (true) {
            const std::uint64_t window = queue.next();
            if (window == EventQueue::ended) break;
            const auto events = queue.open(window);
            REQUIRE_FALSE(events.empty());
            REQUIRE(queue.begin() >= before);
            before = queue.end();
            std::set<LpId> done;
            for (std::size_t i = 0; i < events.size(); ++i) {
                if (i > 0 && events[i].lp == events[i - 1].lp) {
                    REQUIRE(events[i].offset >= events[i - 1].offset);
                } else {
                    REQUIRE(done.insert(events[i].lp).second);
                }
                seen.emplace(queue.begin() + events[i].offset, events[i].lp);
            }
        }
        CHECK(seen == expected);
    }
}

TEST_CASE("credits come back in time and in order") {
    Pool<Credits> pool;
    SwitchChannel channel(1'000);
    channel.take(900);
    channel.give(pool, 10, 300);
    channel.give(pool, 20, 300);
    channel.give(pool, 20, 300);
    channel.apply(pool, 9);
    CHECK(channel.credits() == 100);
    channel.apply(pool, 10);
    CHECK(channel.credits() == 400);
    CHECK(channel.expects());
    channel.apply(pool, 30);
    CHECK(channel.credits() == 1'000);
    CHECK_FALSE(channel.expects());
    CHECK(pool.used() == 0);
}

TEST_CASE("of the records put aside those that fit come in order, and the others stay") {
    struct Record {
        std::uint32_t round;
        Index next;
    };
    Pool<Record> pool;
    IntrusiveStack aside;
    std::vector<Index> put;
    for (const std::uint32_t round : {5, 1, 5, 5, 9, 1}) {
        put.push_back(pool.take());
        pool[put.back()].round = round;
        aside.push(pool, put.back());
    }
    const auto taken = [&](std::uint32_t round) {
        IntrusiveQueue line = aside.take(pool, [&](const Record& record) { return record.round == round; });
        std::vector<Index> indices;
        while (!line.empty()) indices.push_back(line.pop(pool));
        return indices;
    };
    CHECK(taken(1) == std::vector{put[1], put[5]});
    CHECK(taken(2).empty());
    CHECK(taken(5) == std::vector{put[0], put[2], put[3]});
    CHECK_FALSE(aside.empty());
    CHECK(taken(9) == std::vector{put[4]});
    CHECK(aside.empty());
}
