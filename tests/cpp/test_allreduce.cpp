#include <memory>
#include <random>

#include "allreduce.hpp"
#include "testing.hpp"

using namespace tramontane;

namespace {

/// Reduces multisets: after it, every element of every rank holds every rank's contribution exactly once.
void check_contributions(const ContentSchedule& schedule, std::int64_t count) {
    const auto ranks = static_cast<std::size_t>(schedule.ranks());
    using Vector = std::vector<std::vector<int>>;  // element, contributor
    std::vector<Vector> memory(ranks, Vector(static_cast<std::size_t>(count), std::vector<int>(ranks, 0)));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        for (auto& element : memory[rank]) {
            element[rank] = 1;
        }
    }
    for (std::int64_t number = 0; number < schedule.rounds(); ++number) {
        const std::vector<Vector> before = memory;
        for (const auto& message : testing::matched(schedule, number)) {
            const Piece& piece = message.received.front();
            for (std::int64_t e = piece.box.x.first; e < piece.box.x.last; ++e) {
                const auto& from = before[static_cast<std::size_t>(message.source)][static_cast<std::size_t>(e)];
                auto& to = memory[static_cast<std::size_t>(message.destination)][static_cast<std::size_t>(e)];
                for (std::size_t who = 0; who < ranks; ++who) {
                    to[who] = from[who] + (piece.combine ? to[who] : 0);
                }
            }
        }
    }
    bool once = true;
    for (const Vector& vector : memory) {
        for (const auto& element : vector) {
            for (const int times : element) {
                once = once && times == 1;
            }
        }
    }
    REQUIRE(once);
}

}  // namespace

TEST_CASE("Every contribution is reduced exactly once, by every algorithm, for any P, k and count") {
    for (Rank ranks = 1; ranks <= 21; ++ranks) {
        for (const std::int64_t count : {1, 3, 23}) {
            for (const std::int64_t radix : {2, 3, 4, 7, 30}) {
                check_contributions(Allreduce{RecursiveK{ranks, radix, count}, 1}, count);
                check_contributions(Allreduce{AdjacentRecursiveK{ranks, radix, count}, 1}, count);
            }
            check_contributions(Allreduce{RecursiveDoubling{ranks, count}, 1}, count);
            check_contributions(Allreduce{RingAllreduce{ranks, count}, 1}, count);
            check_contributions(Allreduce{Rabenseifner{ranks, count}, 1}, count);
        }
    }
}

TEST_CASE("The remainder rule is the paper's up to 2 k^p, and modulo beyond") {
    const RecursiveK small{30, 4, 1};  // k^p = 16, 14 guests
    REQUIRE(small.host(16) == 2);
    REQUIRE(small.host(29) == 15);
    const RecursiveK large{60, 4, 1};  // 44 guests: the paper's rule would send 16 to -28
    REQUIRE(large.host(16) == 0);
    REQUIRE(large.host(59) == 11);
    REQUIRE(large.receives(11, 0) == 3);
    REQUIRE(large.receives(12, 0) == 2);
}

TEST_CASE("Guests may sit next to their hosts") {
    const AdjacentRecursiveK algorithm{22, 4, 1};  // k^p = 16: six runs of two ranks, then ten of one
    REQUIRE(algorithm.sends(1, 0) == 1);
    REQUIRE(algorithm.send(1, 0, 0).peer == 0);
    REQUIRE(algorithm.receives(10, 0) == 1);
    REQUIRE(algorithm.receive(10, 0, 0).peer == 11);
    REQUIRE(algorithm.receives(12, 0) == 0);
    REQUIRE(algorithm.send(0, 1, 0).peer == 2);   // from the first run to the second
    REQUIRE(algorithm.send(21, 2, 0).peer == 6);  // 15 to 3 in base 4, fourth run
    const AdjacentRecursiveK many{60, 4, 1};      // twelve runs of four, then four of three
    REQUIRE(many.receives(0, 0) == 3);
    REQUIRE(many.receives(48, 0) == 2);
    REQUIRE(many.send(50, 0, 0).peer == 48);
}

TEST_CASE("Partners differ in one digit, and come in cyclic order") {
    const RecursiveK algorithm{64, 4, 1};
    const Rank rank = 2 * 16 + 1 * 4 + 3;
    for (const auto& [stage, value] : {std::pair{0, 1}, std::pair{1, 4}, std::pair{2, 16}}) {
        const Rank digit = rank / value % 4;
        for (std::int32_t index = 0; index < 3; ++index) {
            REQUIRE(algorithm.send(rank, stage, index).peer == rank + ((digit + index + 1) % 4 - digit) * value);
            REQUIRE(algorithm.receive(rank, stage, index).peer == rank + ((digit + 3 - index) % 4 - digit) * value);
        }
    }
}

TEST_CASE("Stages: floor(log_k P), plus two for a remainder") {
    REQUIRE(RecursiveK{4096, 16, 1}.stages() == 3);
    REQUIRE(RecursiveK{4097, 16, 1}.stages() == 5);
    REQUIRE(RecursiveK{7, 12, 1}.stages() == 2);
    REQUIRE(RecursiveK{1, 2, 1}.stages() == 0);
    REQUIRE(Allreduce{RecursiveK{64, 4, 3}, 50}.rounds() == 150);
}

TEST_CASE("Both ends agree at 10^6 ranks") {
    std::vector<std::unique_ptr<ContentSchedule>> schedules;
    schedules.push_back(std::make_unique<Allreduce<RecursiveK>>(RecursiveK{1000000, 21, 3}, 50));
    schedules.push_back(std::make_unique<Allreduce<AdjacentRecursiveK>>(AdjacentRecursiveK{1000000, 21, 3}, 50));
    schedules.push_back(std::make_unique<Allreduce<RecursiveDoubling>>(RecursiveDoubling{1000000, 3}, 50));
    schedules.push_back(std::make_unique<Allreduce<RingAllreduce>>(RingAllreduce{1000000, 1000003}, 50));
    schedules.push_back(std::make_unique<Allreduce<Rabenseifner>>(Rabenseifner{1000000, 1000003}, 50));
    std::mt19937 dice{1};
    for (const auto& schedule : schedules) {
        int checked = 0;
        bool agree = true;
        while (checked < 2000) {
            const auto rank = static_cast<Rank>(dice() % 1000000U);
            const auto number = static_cast<std::int64_t>(dice() % static_cast<std::uint64_t>(schedule->rounds()));
            const std::int32_t sends = schedule->round(rank, number).sends;
            for (std::int32_t index = 0; index < sends; ++index, ++checked) {
                const Transfer sent = schedule->send(rank, number, index);
                int met = 0;
                for (std::int32_t other = 0; other < schedule->round(sent.peer, number).receives; ++other) {
                    const Transfer received = schedule->receive(sent.peer, number, other);
                    met += received.peer == rank && received.tag == sent.tag && received.bytes == sent.bytes ? 1 : 0;
                }
                agree = agree && met == 1;
            }
        }
        REQUIRE(agree);
    }
}
