// Parts of the compatibility mode; that its times are SST/macro's is tests/simulator/test_pisces16.py's.
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "pisces16/collective.hpp"
#include "pisces16/cut_through.hpp"
#include "pisces16/hashed_random.hpp"
#include "simulation.hpp"
#include "testing.hpp"

namespace tramontane::pisces16 {  // in which it stays where several files are compiled as one

namespace {

using Messages = std::map<std::tuple<std::uint32_t, std::uint32_t, std::int32_t>, std::int64_t>;

/// Sends and receives of all ranks meet, one to one.
template <class Make>
void check_meeting(std::uint32_t ranks, Make&& make) {
    Messages sent, received;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        for (const Action& a : make(rank, ranks).actions) {
            CHECK(a.partner != rank);
            auto& messages = a.sends ? sent : received;
            const auto key = a.sends ? std::tuple(rank, a.partner, a.round) : std::tuple(a.partner, rank, a.round);
            CHECK(messages.emplace(key, a.bytes).second);
        }
    }
    CHECK(sent == received);
}

/// Rank 0 waits for a message that nobody sends.
class Unmatched final : public Schedule {
public:
    Rank ranks() const override { return 2; }
    std::int64_t rounds() const override { return 1; }
    std::vector<std::string> phases() const override { return {"all"}; }
    Round round(Rank rank, std::int64_t) const override { return {0, 0, rank == 0 ? 1 : 0}; }
    Transfer send(Rank, std::int64_t, std::int32_t) const override { return {}; }
    Transfer receive(Rank, std::int64_t, std::int32_t) const override { return {1, 0, 100}; }
};

}  // namespace

TEST_CASE("pisces-16: a deadlock says what waits for what") {
    Machine m;
    m.topology = "torus";
    m.geometry = {2, 1, 1};
    m.nodes_per_switch = 1;
    m.routing = "minimal";
    m.model = "pisces-16";
    m.link_bandwidth = m.injection_bandwidth = m.crossbar_bandwidth = m.logp_bandwidth = 10'000'000'000;
    m.memory_bandwidth = 1'000'000'000'000;
    m.processor_frequency = 2'000'000'000;
    m.link_latency = m.injection_latency = m.logp_hop_latency = m.logp_out_in_latency = 100'000;
    m.packet = 4096;
    m.buffer = 64'000;
    try {
        static_cast<void>(simulate(m, Unmatched{}, Run{}));
        FAIL("it ended");
    } catch (const std::runtime_error& error) {
        CHECK(error.what() == std::string("deadlock: 1 of 2 ranks never end; rank 0 in round 0 waits for 1 requests"));
    }
}

TEST_CASE("collectives send what they receive, for any number of ranks") {
    for (std::uint32_t ranks = 1; ranks <= 40; ++ranks) {
        INFO(ranks << " ranks");
        check_meeting(ranks, [](auto rank, auto all) { return barrier(rank, all); });
        check_meeting(ranks, [](auto rank, auto all) { return initial_allreduce(rank, all); });
        check_meeting(ranks, [](auto rank, auto all) { return reduce(rank, all, 3); });
    }
}

TEST_CASE("the 12 bytes of MPI_Init end up everywhere") {
    // With 4 ranks the element is given to rank 0 and comes back: 1 -> 0, 3 -> 2, 2 -> 0, and the same backwards.
    std::int64_t bytes = 0;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        for (const Action& a : initial_allreduce(rank, 4).actions) bytes += a.sends ? a.bytes : 0;
    }
    CHECK(bytes == 6 * 12);
}

TEST_CASE("a cut-through server interleaves") {
    CutThrough server(10);
    SECTION("a packet whose bytes are all there takes its time") {
        const Passage a = server.book(100, 50, 0);
        CHECK(a.head == 100);
        CHECK(a.tail == 600);
        const Passage b = server.book(200, 50, 0);
        CHECK(b.head == 600);
        CHECK(b.tail == 1100);
        CHECK(b.spacing(50) == 10);
    }
    SECTION("one that trickles in leaves room for another") {
        const Passage slow = server.book(0, 100, 20);  // 2000 ticks for 1000 ticks' worth
        CHECK(slow.head == 0);
        CHECK(slow.tail == 2000);
        const Passage fast = server.book(0, 100, 0);
        CHECK(fast.head == 0);
        CHECK(fast.tail == 1000);
        CHECK(server.book(0, 10, 0).head == 2000);
    }
    SECTION("one or two last bytes take no time") { CHECK(server.book(0, 2, 0).tail == 0); }
}

TEST_CASE("hashed random numbers depend on the time alone and avoid the ends") {
    const HashedRandom random(42);
    for (Ticks now = 0; now < 1000; ++now) {
        const std::uint32_t drawn = random.draw(now * 1'000'000, 7, 2, 5);
        CHECK(drawn < 7);
        CHECK(drawn != 2);
        CHECK(drawn != 5);
        CHECK(drawn == random.draw(now * 1'000'000, 7, 2, 5));
    }
}

}  // namespace tramontane::pisces16
