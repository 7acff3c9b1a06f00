/// \file
/// Keys and rules that all workloads have whose ranks share a grid: its points, and which of them each rank has.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "../contents.hpp"
#include "../decomposition.hpp"
#include "../keys.hpp"
#include "../refusal.hpp"

namespace tramontane {

[[nodiscard]] inline Key grid_key() {
    return {.name = "grid", .integers = 3, .most = std::numeric_limits<Rank>::max()};
}

/// \param words that stand for decompositions of other kinds
[[nodiscard]] inline Key decomposition_key(std::vector<std::string> words = {}) {
    return {.name = "decomposition", .integers = 2, .words = std::move(words), .optional = true};
}

[[nodiscard]] inline Grid grid_of(const Values& values) {
    const auto& points = values.integers("grid");
    return {points[0], points[1], points[2]};
}

/// Indices and ranks are counted in 32 bits, bytes in 64: refuse what would overflow rather than go wrong.
/// \param halo points added to the field on each side in x and y
inline void require_countable(const Grid& grid, std::int64_t halo) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(grid[0] + 2 * halo, grid[1] + 2 * halo, &bytes) ||
        __builtin_mul_overflow(bytes, grid[2], &bytes) || __builtin_mul_overflow(bytes, element_bytes, &bytes)) {
        refuse("grid",
               "[" + std::to_string(grid[0]) + ", " + std::to_string(grid[1]) + ", " + std::to_string(grid[2]) + "]",
               "a field of less than 2^63 bytes, halo included");
    }
}

/// The decomposition that is asked for, or the default one: nearest to square with at least a point for every rank.
/// \param bounds what limits it
/// \param empty_blocks whether it may go beyond
/// \throws std::invalid_argument if it is impossible, or there is none
[[nodiscard]] inline Decomposition decomposition_of(const Values& values, Rank ranks, const DecompositionBounds& bounds,
                                                    bool empty_blocks = false) {
    if (values.find("decomposition") == nullptr) {
        const auto nearest = nearest_square(ranks, bounds.limits());
        if (!nearest) {
            const Grid grid = grid_of(values);
            refuse_key("ranks",
                       std::to_string(ranks) + ", which has no decomposition on the grid " + std::to_string(grid[0]) +
                           " x " + std::to_string(grid[1]) + " x " + std::to_string(grid[2]),
                       "a number of ranks that can be cut into cx * cy with " + bounds.described());
        }
        return *nearest;
    }
    const auto& given = values.integers("decomposition");
    const std::int64_t cx = given[0], cy = given[1];
    constexpr std::int64_t most = std::numeric_limits<Rank>::max();
    if (cx > most || cy > most || cx * cy != ranks) {
        const std::string product = cx > most || cy > most ? "too many" : std::to_string(cx * cy);
        refuse("decomposition",
               "[" + std::to_string(cx) + ", " + std::to_string(cy) + "], that is " + product + " processes",
               "cx * cy = " + std::to_string(ranks) + ", the number of ranks");
    }
    const Decomposition decomposition{static_cast<Rank>(cx), static_cast<Rank>(cy)};
    const std::string violated = bounds.violated(decomposition);
    if (!violated.empty() && !empty_blocks) refuse("decomposition", violated, bounds.described());
    return decomposition;
}

[[nodiscard]] inline Value value_of(Decomposition decomposition) {
    return std::vector<std::int64_t>{decomposition.cx, decomposition.cy};
}

/// The largest of `parts` blocks of `extent` points, relative to the mean.
[[nodiscard]] inline double largest_share(std::int64_t extent, std::int64_t parts) {
    const auto rounded_up = (extent + parts - 1) / parts * parts;
    return static_cast<double>(rounded_up) / static_cast<double>(extent);
}

/// The largest block where two extents are cut by a decomposition, relative to the mean.
[[nodiscard]] inline double largest_share(std::int64_t by_cx, std::int64_t by_cy, Decomposition decomposition) {
    return largest_share(by_cx, decomposition.cx) * largest_share(by_cy, decomposition.cy);
}

}  // namespace tramontane
