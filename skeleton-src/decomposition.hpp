/// \file
/// How many processes along x and along y.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule.hpp"

namespace tramontane {

/// Points along x, y and z.
using Grid = std::array<std::int64_t, 3>;

/// Processes along x (cx) and y (cy); rank = iy * cx + ix.
struct Decomposition {
    Rank cx;
    Rank cy;

    [[nodiscard]] constexpr bool operator==(const Decomposition&) const = default;
};

/// Upper bounds of a decomposition.
struct DecompositionLimits {
    std::int64_t cx;
    std::int64_t cy;

    [[nodiscard]] constexpr bool admit(Decomposition d) const { return d.cx <= cx && d.cy <= cy; }
};

/// What limits cx and cy, by name: an extent of the grid that one of them cuts into blocks of at least a point.
class DecompositionBounds {
public:
    struct Bound {
        const char* extent;  ///< "nx", "ny" or "nz"
        std::int64_t points;
    };

    /// \param cx, cy all extents that it cuts
    DecompositionBounds(const std::vector<Bound>& cx, const std::vector<Bound>& cy)
        : cx_{tightest(cx)}, cy_{tightest(cy)} {}

    [[nodiscard]] DecompositionLimits limits() const { return {cx_.points, cy_.points}; }
    [[nodiscard]] std::string described() const {
        return shown("cx", " <= ", cx_) + " and " + shown("cy", " <= ", cy_);
    }
    /// The bound that is violated, in words; empty if none is.
    [[nodiscard]] std::string violated(Decomposition d) const {
        if (d.cx > cx_.points) return shown("cx = " + std::to_string(d.cx), " > ", cx_);
        return d.cy > cy_.points ? shown("cy = " + std::to_string(d.cy), " > ", cy_) : "";
    }

private:
    [[nodiscard]] static Bound tightest(const std::vector<Bound>& bounds) {
        return *std::min_element(bounds.begin(), bounds.end(),
                                 [](const Bound& a, const Bound& b) { return a.points < b.points; });
    }
    [[nodiscard]] static std::string shown(const std::string& side, const char* relation, const Bound& bound) {
        return side + relation + bound.extent + " = " + std::to_string(bound.points);
    }

    Bound cx_, cy_;
};

/// Every process has at least one point in each of the four layouts of Fig. 3 (Zheng & Marguinaud 2018, section 3.1):
/// cx cuts x, z and y, cy cuts y and x. So cx <= nz, which bounds the paper's grid at ny * nz = 3,686,400 processes.
[[nodiscard]] inline DecompositionBounds transposition_bounds(const Grid& grid) {
    return {{{"nx", grid[0]}, {"nz", grid[2]}, {"ny", grid[1]}}, {{"ny", grid[1]}, {"nx", grid[0]}}};
}

/// A halo exchange has only the layout of Fig. 3a: cx cuts x, cy cuts y.
[[nodiscard]] inline DecompositionBounds halo_bounds(const Grid& grid) {
    return {{{"nx", grid[0]}}, {{"ny", grid[1]}}};
}

/// The decomposition nearest to a square, min |log(cx / cy)|, within limits; cx <= cy where two are as near.
///
/// cx * cy is given, so nearness to a square is the smallness of the larger factor: the first admissible divisor from
/// sqrt(ranks) downward, in at most sqrt(ranks) steps and without comparing logarithms.
/// \return nothing if no pair of factors is within the limits
[[nodiscard]] inline std::optional<Decomposition> nearest_square(Rank ranks, DecompositionLimits limits) {
    Rank small = 1;
    while (static_cast<std::int64_t>(small + 1) * (small + 1) <= ranks) {
        ++small;
    }
    for (; small >= 1; --small) {
        if (ranks % small != 0) {
            continue;
        }
        const Decomposition wide{small, ranks / small};
        const Decomposition tall{ranks / small, small};
        if (limits.admit(wide)) {
            return wide;
        }
        if (limits.admit(tall)) {
            return tall;
        }
    }
    return std::nullopt;
}

}  // namespace tramontane
