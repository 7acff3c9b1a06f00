#include <map>

#include "halo.hpp"
#include "testing.hpp"

using namespace tramontane;

namespace {

using Point = std::pair<std::int64_t, std::int64_t>;  // x and y, unwrapped as its holder counts
using Field = std::map<Point, Point>;                 // what stands there: the point of the grid

/// Exchanges the halos of a field whose values are its own indices, on a grid with one level.
void check_extended_blocks(std::int64_t nx, std::int64_t ny, Decomposition d, std::int64_t width) {
    const HaloExchange schedule{{nx, ny, 1}, d, width};
    std::vector<Field> memory(static_cast<std::size_t>(schedule.ranks()));
    const auto field_of = [&](Rank rank) -> Field& { return memory[static_cast<std::size_t>(rank)]; };
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
        const Box own = schedule.held(rank, 0);
        for (std::int64_t x = own.x.first; x < own.x.last; ++x) {
            for (std::int64_t y = own.y.first; y < own.y.last; ++y) {
                field_of(rank)[{x, y}] = {x, y};
            }
        }
    }
    for (std::int32_t sweep = 0; sweep < 2; ++sweep) {
        const std::vector<Field> before = memory;  // NOLINT(performance-*): field_of() changes the memory
        for (const auto& message : testing::matched(schedule, sweep)) {
            const Box from = message.sent.front().box;
            const Box to = message.received.front().box;
            for (std::int64_t i = 0; i < from.x.size(); ++i) {
                for (std::int64_t j = 0; j < from.y.size(); ++j) {
                    const auto value =
                        before[static_cast<std::size_t>(message.source)].find({from.x.first + i, from.y.first + j});
                    REQUIRE(value != before[static_cast<std::size_t>(message.source)].end());
                    const bool is_new =
                        field_of(message.destination).insert({{to.x.first + i, to.y.first + j}, value->second}).second;
                    REQUIRE(is_new);
                }
            }
        }
        // Beyond what the others have, a block meets its own image.
        for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
            Field& field = field_of(rank);
            const Box own = schedule.held(rank, 0);
            const Box now = schedule.held(rank, sweep + 1);
            const Range along = sweep == 0 ? own.x : own.y;
            const Range across = sweep == 0 ? now.y : now.x;
            const std::int64_t n = sweep == 0 ? nx : ny;
            const auto at = [&](std::int64_t i, std::int64_t j) { return sweep == 0 ? Point{i, j} : Point{j, i}; };
            for (std::int64_t step = 0; step < width; ++step) {
                for (std::int64_t j = across.first; j < across.last; ++j) {
                    for (const auto& [i, image] : {std::pair{along.first - 1 - step, along.first - 1 - step + n},
                                                   std::pair{along.last + step, along.last + step - n}}) {
                        if (!field.contains(at(i, j))) {
                            field[at(i, j)] = field.at(at(image, j));
                        }
                    }
                }
            }
        }
    }
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
        const Box all = schedule.held(rank, 2);
        REQUIRE(field_of(rank).size() == static_cast<std::size_t>(all.size()));
        for (const auto& [where, what] : field_of(rank)) {
            REQUIRE(what == Point{testing::modulo(where.first, nx), testing::modulo(where.second, ny)});
        }
    }
}

}  // namespace

TEST_CASE("Every point of the extended block is right, corners included") {
    for (const std::int64_t width : {1, 2, 3, 5, 11}) {
        check_extended_blocks(7, 9, {3, 4}, width);  // uneven blocks, over several neighbours
        check_extended_blocks(6, 5, {6, 5}, width);  // one point a block
        check_extended_blocks(8, 4, {2, 2}, width);  // the same neighbour on both sides
        check_extended_blocks(5, 6, {1, 3}, width);  // nobody else in x
        check_extended_blocks(4, 3, {1, 1}, width);  // nobody else at all
    }
}

TEST_CASE("A narrow halo has four messages, a wide one reaches further") {
    const HaloExchange narrow{{40, 40, 2}, {4, 4}, 3};
    REQUIRE(narrow.round(5, 0).sends == 2);
    REQUIRE(narrow.send(5, 0, 0).bytes == 8 * 3 * 10 * 2);
    REQUIRE(narrow.send(5, 1, 0).bytes == 8 * 3 * 16 * 2);  // 10 points and the halo on both sides
    const HaloExchange wide{{40, 40, 2}, {4, 4}, 12};
    REQUIRE(wide.round(5, 0).sends == 4);
    REQUIRE(wide.send(5, 0, 0).bytes == 8 * 10 * 10 * 2);
    REQUIRE(wide.send(5, 0, 1).bytes == 8 * 2 * 10 * 2);
}
