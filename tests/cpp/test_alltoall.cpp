#include <set>

#include "alltoall.hpp"
#include "testing.hpp"

using namespace tramontane;

namespace {

/// Sizes of all kinds, some of them zero.
struct AnySizes {
    std::int64_t operator()(Rank origin, Rank destination) const { return (origin * 7 + destination * 13) % 5; }
};

/// Moves blocks (origin, destination) as the schedule says; only a block that is held can be sent on.
void execute_and_check(const ContentSchedule& exchange) {
    const Rank ranks = exchange.ranks();
    using Block = std::pair<Rank, Rank>;
    std::vector<std::set<Block>> memory(static_cast<std::size_t>(ranks));
    for (Rank i = 0; i < ranks; ++i) {
        for (Rank j = 0; j < ranks; ++j) {
            memory[static_cast<std::size_t>(i)].insert({i, j});
        }
    }
    for (std::int64_t number = 0; number < exchange.rounds(); ++number) {
        std::vector<std::pair<Rank, Block>> moved;
        for (const auto& message : testing::matched(exchange, number)) {
            for (const Piece& piece : message.sent) {
                const Block block{piece.origin, piece.destination};
                REQUIRE(memory[static_cast<std::size_t>(message.source)].erase(block) == 1);
                moved.emplace_back(message.destination, block);
            }
        }
        for (const auto& [rank, block] : moved) {
            REQUIRE(memory[static_cast<std::size_t>(rank)].insert(block).second);
        }
    }
    for (Rank i = 0; i < ranks; ++i) {
        REQUIRE(memory[static_cast<std::size_t>(i)].size() == static_cast<std::size_t>(ranks));
        for (const auto& [origin, destination] : memory[static_cast<std::size_t>(i)]) {
            REQUIRE(destination == i);
        }
    }
}

}  // namespace

TEST_CASE("Every block of an all-to-all arrives once, by every algorithm") {
    for (Rank ranks = 1; ranks <= 18; ++ranks) {
        execute_and_check(AlltoallSchedule{Alltoall::bruck(ranks), AnySizes{}});
        execute_and_check(AlltoallSchedule{Alltoall::burst(ranks), AnySizes{}});
        execute_and_check(AlltoallSchedule{Alltoall::pairwise(ranks), AnySizes{}});
        for (const std::int64_t radix : {1, 2, 3, 5, 17, 40}) {
            execute_and_check(AlltoallSchedule{Alltoall::ring(ranks, radix), AnySizes{}});
            execute_and_check(AlltoallSchedule{Alltoall::sliding_window(ranks, radix), AnySizes{}});
            if (radix > 1) execute_and_check(AlltoallSchedule{Alltoall::bruck(ranks, radix), AnySizes{}});
        }
    }
}

TEST_CASE("Stages of Table 2") {
    for (Rank n = 1; n <= 130; ++n) {
        REQUIRE(Alltoall::burst(n).stages() == (n > 1 ? 1 : 0));
        std::int32_t log2 = 0;
        while ((1 << log2) < n) {
            ++log2;
        }
        REQUIRE(Alltoall::bruck(n).stages() == log2);
        for (Rank k = 1; k <= 140; k += 3) {
            REQUIRE(Alltoall::ring(n, k).stages() == (n - 1 + k - 1) / k);
        }
    }
}

TEST_CASE("The closed form of a bruck message equals the sum over its blocks") {
    for (Rank n = 2; n <= 40; ++n) {
        const Alltoall bruck = Alltoall::bruck(n, 2 + n % 7);
        for (const std::int64_t points : {n - 1, n, n + 7, 3 * n - 2}) {
            const Blocks by_origin{points, n};
            const Blocks by_destination{2 * points + 3, n};
            const SlabSizes sizes{by_origin, by_destination, 3};
            const auto one_by_one = [&](Rank origin, Rank destination) { return sizes(origin, destination); };
            for (std::int32_t stage = 0; stage < bruck.stages(); ++stage) {
                for (Rank from = 0; from < n; ++from) {
                    for (std::int32_t index = 0; index < bruck.messages(stage); ++index) {
                        const Rank distance = bruck.distance(stage, index);
                        REQUIRE(bruck.elements(sizes, from, stage, distance) ==
                                bruck.elements(one_by_one, from, stage, distance));
                    }
                }
            }
        }
    }
}

TEST_CASE("A burst of 10^6 ranks is one round of 999,999 messages, none of them stored") {
    struct One {
        std::int64_t operator()(Rank, Rank) const { return 1; }
    };
    const AlltoallSchedule<One> burst{Alltoall::burst(1000000), One{}};
    REQUIRE(burst.rounds() == 1);
    REQUIRE(burst.round(5, 0).sends == 999999);
    REQUIRE(burst.send(5, 0, 0).peer == 6);
    REQUIRE(burst.send(5, 0, 999998).peer == 4);
    REQUIRE(burst.receive(5, 0, 5).peer == 999999);
    REQUIRE(burst.send(5, 0, 999998).bytes == 8);
}

TEST_CASE("Shifts do not overflow with as many ranks as there can be") {
    const Rank n = 2147483647;
    const Alltoall ring = Alltoall::ring(n, 2147483647);
    REQUIRE(ring.stages() == 1);
    REQUIRE(ring.messages(0) == n - 1);
    REQUIRE(ring.ahead(n - 1, ring.distance(0, n - 2)) == n - 2);
    REQUIRE(ring.behind(0, n - 1) == 1);
    REQUIRE(Alltoall::bruck(n).stages() == 31);
    REQUIRE(Alltoall::bruck(n, 50'000).stages() == 2);
    REQUIRE(Alltoall::bruck(n, 50'000).messages(1) == 42'949);
    REQUIRE(Alltoall::bruck(n, 50'000).distance(1, 42'948) == 2'147'450'000);
    REQUIRE(Alltoall::bruck(n, 1LL << 40).stages() == 1);
}
