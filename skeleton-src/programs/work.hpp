/// \file
/// How long a rank computes between messages.
#pragma once

#include <cstdint>
#include <limits>

#include "../blocks.hpp"
#include "../decomposition.hpp"
#include "../random.hpp"
#include "../spread.hpp"

namespace tramontane {

/// The work of a step: fixed, or so much a point of the rank's block.
class Work {
public:
    /// \param fixed work of each rank [ps]
    /// \param imbalance spread over ranks, the same in all repetitions; noise: of each repetition by itself
    Work(std::int64_t fixed, Spread imbalance, Spread noise, std::uint64_t seed)
        : fixed_{fixed}, imbalance_{imbalance}, noise_{noise}, seed_{mix(seed ^ salt)} {}

    /// Adds `each` [ps] for every point that a rank has of a grid. \pre no rank's work overflows; see most()
    void per_point(std::int64_t each, const Grid& grid, Decomposition decomposition) {
        each_ = each;
        levels_ = grid[2];
        x_ = Blocks{grid[0], decomposition.cx};
        y_ = Blocks{grid[1], decomposition.cy};
    }

    /// Work of a rank [ps]. Pure in all arguments.
    [[nodiscard]] std::int64_t of(Rank rank, std::int64_t repetition) const {
        std::int64_t work = fixed_;
        if (each_ > 0) {
            const Rank iy = rank / x_.parts();
            work += each_ * levels_ * x_.size(rank - iy * x_.parts()) * y_.size(iy);
        }
        const auto who = static_cast<std::uint64_t>(rank);
        work = imbalance_.of(work, random_bits(seed_, who, 0));
        return noise_.of(work, random_bits(seed_, who, static_cast<std::uint64_t>(repetition) + 1));
    }

    /// The most that any rank works [ps], or nothing if that can't be counted.
    [[nodiscard]] std::int64_t most() const {
        std::int64_t points = 0, work = 0;
        const bool overflows = __builtin_mul_overflow(x_.size(0) * y_.size(0), levels_, &points) ||
                               __builtin_mul_overflow(points, each_, &work) ||
                               __builtin_add_overflow(work, fixed_, &work) || __builtin_mul_overflow(work, 4, &work);
        return overflows ? std::numeric_limits<std::int64_t>::max() : work;
    }

private:
    static constexpr std::uint64_t salt = 0x776f726b;  // tells its random numbers from others of the same seed

    std::int64_t fixed_;
    Spread imbalance_, noise_;
    std::uint64_t seed_;
    std::int64_t each_ = 0;
    std::int64_t levels_ = 1;
    Blocks x_{1, 1}, y_{1, 1};
};

}  // namespace tramontane
