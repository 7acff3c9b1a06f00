/// \file
/// From the description of a workload, as a point states it, to its schedule.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "allreduce.hpp"
#include "contents.hpp"
#include "decomposition.hpp"
#include "halo.hpp"
#include "refusal.hpp"
#include "schedule.hpp"
#include "tiled_halo.hpp"
#include "transposition.hpp"

namespace tramontane {

/// The `workload` block of a point, and its ranks. What a kind does not use is ignored.
struct WorkloadSpec {
    std::string kind;       ///< transposition | halo | allreduce
    std::string algorithm;  ///< transposition: see alltoall_algorithms;
                            ///< allreduce: recursive-k | recursive-doubling | ring | rabenseifner
    Rank ranks = 1;
    std::int64_t radix = 0;                       ///< of ring-k, sliding-window (>= 1), bruck, recursive-k (>= 2)
    std::string remainder;                        ///< of recursive-k: paper (the default) | adjacent
    std::int64_t width = 0;                       ///< of the halo [points]
    std::int64_t count = 0;                       ///< of the allreduce's vector [doubles]
    std::int64_t repeats = 1;                     ///< allreduces one after the other
    std::array<std::int64_t, 3> grid{};           ///< points along x, y, z
    std::array<std::int64_t, 2> decomposition{};  ///< processes along x, y; {0, 0}: nearest to square
    bool bisection = false;                       ///< of a halo: decomposed so, see Bisection
    /// Let a transposition have ranks without points in some layout; their messages have 0 bytes. No model would run
    /// so, but a few reference points of two or four ranks do (a grid with ny = 1).
    bool allow_empty_blocks = false;
};

namespace detail {

[[nodiscard]] inline std::string show(const std::array<std::int64_t, 2>& v) {
    return "[" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + "]";
}

inline void require_from(const std::string& key, std::int64_t value, std::int64_t least) {
    if (value < least) {
        refuse(key, std::to_string(value), "an integer from " + std::to_string(least));
    }
}

/// Indices and ranks are counted in 32 bits, bytes in 64: refuse what would overflow rather than go wrong.
/// \param halo points added to the field on each side in x and y
inline void require_countable(const Grid& grid, std::int64_t halo) {
    const std::string shown =
        "[" + std::to_string(grid[0]) + ", " + std::to_string(grid[1]) + ", " + std::to_string(grid[2]) + "]";
    constexpr std::int64_t most = std::numeric_limits<Rank>::max();
    for (const std::int64_t points : grid) {
        if (points < 1 || points > most) {
            refuse("grid", shown, "three integers from 1, each below 2^31");
        }
    }
    if (halo > most) {
        refuse("width", std::to_string(halo), "an integer from 1, below 2^31");
    }
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(grid[0] + 2 * halo, grid[1] + 2 * halo, &bytes) ||
        __builtin_mul_overflow(bytes, grid[2], &bytes) || __builtin_mul_overflow(bytes, element_bytes, &bytes)) {
        refuse("grid", shown, "a field of less than 2^63 bytes, halo included");
    }
}

[[nodiscard]] inline Decomposition checked_decomposition(const WorkloadSpec& spec, const DecompositionLimits& limits) {
    const std::string bounds = "cx <= " + std::to_string(limits.cx) + " and cy <= " + std::to_string(limits.cy) +
                               " (every process needs a point of the grid in every layout)";
    const auto [cx, cy] = spec.decomposition;
    if (cx == 0 && cy == 0) {
        const auto nearest = nearest_square(spec.ranks, limits);
        if (!nearest) {
            refuse("decomposition", "none for " + std::to_string(spec.ranks) + " ranks",
                   "cx * cy = ranks with " + bounds);
        }
        return *nearest;
    }
    constexpr std::int64_t most = std::numeric_limits<Rank>::max();
    if (cx < 1 || cy < 1 || cx > most || cy > most || cx * cy != spec.ranks) {
        refuse("decomposition", show(spec.decomposition),
               "[cx, cy] with cx * cy = ranks (" + std::to_string(spec.ranks) + ")");
    }
    const Decomposition decomposition{static_cast<Rank>(cx), static_cast<Rank>(cy)};
    if (!limits.admit(decomposition) && !(spec.allow_empty_blocks && spec.kind == "transposition")) {
        refuse("decomposition", show(spec.decomposition), bounds);
    }
    return decomposition;
}

template <AllreduceAlgorithm Algorithm>
[[nodiscard]] std::unique_ptr<ContentSchedule> make_allreduce(Algorithm algorithm, std::int64_t repeats) {
    std::int64_t rounds = 0;
    if (__builtin_mul_overflow(algorithm.stages(), repeats, &rounds) || rounds > std::numeric_limits<Rank>::max()) {
        refuse("repeats", std::to_string(repeats),
               "less than 2^31 rounds in all; one allreduce has " + std::to_string(algorithm.stages()));
    }
    return std::make_unique<Allreduce<Algorithm>>(std::move(algorithm), repeats);
}

}  // namespace detail

/// Default decomposition of a transposition or halo exchange: nearest to square with at least a point for everyone.
/// \throws std::invalid_argument if there is none
[[nodiscard]] inline Decomposition default_decomposition(const std::string& kind, Rank ranks, const Grid& grid) {
    WorkloadSpec spec{};
    spec.ranks = ranks;
    return detail::checked_decomposition(spec, kind == "halo" ? halo_limits(grid) : transposition_limits(grid));
}

/// \param setup a HaloTable that outlives the schedule; without, a schedule that needs one makes its own
/// \throws std::invalid_argument with one line that names key, what was found and what is allowed
[[nodiscard]] inline std::unique_ptr<ContentSchedule> make_content_schedule(const WorkloadSpec& spec,
                                                                            std::span<const std::byte> setup = {}) {
    if (spec.ranks < 1) {
        refuse("ranks", std::to_string(spec.ranks), "an integer from 1");
    }
    if (spec.kind == "transposition") {
        detail::require_countable(spec.grid, 0);
        return std::make_unique<Transposition>(spec.grid,
                                               detail::checked_decomposition(spec, transposition_limits(spec.grid)),
                                               spec.algorithm, spec.radix);
    }
    if (spec.kind == "halo") {
        detail::require_from("width", spec.width, 1);
        detail::require_countable(spec.grid, spec.width);
        if (spec.bisection) return std::make_unique<TiledHalo>(spec.grid, spec.ranks, spec.width, setup);
        return std::make_unique<HaloExchange>(spec.grid, detail::checked_decomposition(spec, halo_limits(spec.grid)),
                                              spec.width);
    }
    if (spec.kind == "allreduce") {
        detail::require_from("count", spec.count, 1);
        detail::require_from("repeats", spec.repeats, 1);
        if (spec.count > std::numeric_limits<Rank>::max()) {
            refuse("count", std::to_string(spec.count), "less than 2^31 doubles");
        }
        if (spec.algorithm == "recursive-k") {
            detail::require_from("radix", spec.radix, 2);
            if (spec.remainder == "adjacent") {
                return detail::make_allreduce(AdjacentRecursiveK{spec.ranks, spec.radix, spec.count}, spec.repeats);
            }
            if (!spec.remainder.empty() && spec.remainder != "paper") {
                refuse("remainder", "'" + spec.remainder + "'", "paper, adjacent");
            }
            return detail::make_allreduce(RecursiveK{spec.ranks, spec.radix, spec.count}, spec.repeats);
        }
        if (spec.algorithm == "recursive-doubling") {
            return detail::make_allreduce(RecursiveDoubling{spec.ranks, spec.count}, spec.repeats);
        }
        if (spec.algorithm == "ring") {
            return detail::make_allreduce(RingAllreduce{spec.ranks, spec.count}, spec.repeats);
        }
        if (spec.algorithm == "rabenseifner") {
            return detail::make_allreduce(Rabenseifner{spec.ranks, spec.count}, spec.repeats);
        }
        refuse("algorithm", "'" + spec.algorithm + "'", "recursive-k, recursive-doubling, ring, rabenseifner");
    }
    refuse("kind", "'" + spec.kind + "'", "transposition, halo, allreduce");
}

/// The same, for those who need sizes only.
[[nodiscard]] inline std::unique_ptr<Schedule> make_schedule(const WorkloadSpec& spec) {
    return make_content_schedule(spec);
}

}  // namespace tramontane
