#include <random>
#include <set>

#include "testing.hpp"
#include "transposition.hpp"

using namespace tramontane;

namespace {

bool contains(const Box& box, std::int64_t x, std::int64_t y, std::int64_t z) {
    return x >= box.x.first && x < box.x.last && y >= box.y.first && y < box.y.last && z >= box.z.first &&
           z < box.z.last;
}

Values algorithm_of(const std::string& name, std::int64_t radix) {
    Values values;
    values.set("algorithm", name);
    values.set("radix", radix);
    return values;
}

/// Follows every grid point: in each phase it stays, or is in exactly one block from its old to its new holder.
void check_every_point(const Grid& grid, Decomposition d, const std::string& algorithm, std::int64_t radix) {
    const Transposition schedule{grid, d, algorithm_of(algorithm, radix)};
    std::int64_t number = 0;
    for (std::int32_t phase = 0; phase < 3; ++phase) {
        std::set<std::pair<Rank, Rank>> delivered;
        std::vector<Piece> pieces;
        for (; number < schedule.rounds() && schedule.round(0, number).phase == phase; ++number) {
            for (const auto& message : testing::matched(schedule, number)) {
                for (const Piece& piece : message.received) {
                    if (piece.destination == message.destination) {
                        REQUIRE(delivered.insert({piece.origin, piece.destination}).second);
                        pieces.push_back(piece);
                    }
                }
            }
        }
        for (std::int64_t x = 0; x < grid[0]; ++x) {
            for (std::int64_t y = 0; y < grid[1]; ++y) {
                for (std::int64_t z = 0; z < grid[2]; ++z) {
                    Rank before = -1;
                    Rank after = -1;
                    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
                        if (contains(schedule.held(rank, phase), x, y, z)) {
                            REQUIRE(before == -1);
                            before = rank;
                        }
                        if (contains(schedule.held(rank, phase + 1), x, y, z)) {
                            REQUIRE(after == -1);
                            after = rank;
                        }
                    }
                    int moves = 0;
                    for (const Piece& piece : pieces) {
                        if (contains(piece.box, x, y, z)) {
                            REQUIRE(piece.origin == before);
                            REQUIRE(piece.destination == after);
                            ++moves;
                        }
                    }
                    REQUIRE(moves == (before == after ? 0 : 1));
                }
            }
        }
    }
    REQUIRE(number == schedule.rounds());
}

}  // namespace

TEST_CASE("Layout a becomes b, c, d of Fig. 3, point by point") {
    for (const std::string algorithm : {"ring-k", "burst", "bruck", "pairwise", "sliding-window"}) {
        check_every_point({7, 6, 5}, {3, 4}, algorithm, 2);
        check_every_point({5, 5, 4}, {4, 3}, algorithm, algorithm == "bruck" ? 3 : 1);
        check_every_point({6, 7, 3}, {1, 5}, algorithm, 9);
        check_every_point({6, 7, 5}, {5, 1}, algorithm, 3);
        check_every_point({2, 2, 2}, {1, 1}, algorithm, 2);
    }
}

TEST_CASE("Layouts are those of Fig. 3") {
    const Transposition schedule{{7, 6, 5}, {3, 4}, algorithm_of("burst", 0)};
    const Rank rank = 1 * 3 + 2;  // iy = 1, ix = 2
    REQUIRE(schedule.held(rank, 0) == Box{{5, 7}, {2, 4}, {0, 5}});
    REQUIRE(schedule.held(rank, 1) == Box{{0, 7}, {2, 4}, {4, 5}});
    REQUIRE(schedule.held(rank, 2) == Box{{2, 4}, {0, 6}, {4, 5}});
    REQUIRE(schedule.held(rank, 3) == Box{{2, 4}, {4, 6}, {0, 5}});
}

TEST_CASE("Both ends agree at 10^6 ranks on the paper's grid") {
    std::mt19937 dice{1};
    for (const std::string algorithm : {"ring-k", "burst", "bruck", "pairwise", "sliding-window"}) {
        const Transposition schedule{{28800, 14400, 256}, {250, 4000}, algorithm_of(algorithm, 4)};
        bool agree = true;
        for (int i = 0; i < 20000; ++i) {
            const auto rank = static_cast<Rank>(dice() % 1000000U);
            const auto number = static_cast<std::int64_t>(dice() % static_cast<std::uint64_t>(schedule.rounds()));
            const auto index =
                static_cast<std::int32_t>(dice() % static_cast<std::uint32_t>(schedule.round(rank, number).sends));
            const Transfer sent = schedule.send(rank, number, index);
            const Transfer received = schedule.receive(sent.peer, number, index);
            agree = agree && received.peer == rank && received.tag == sent.tag && received.bytes == sent.bytes;
        }
        REQUIRE(agree);
    }
}
