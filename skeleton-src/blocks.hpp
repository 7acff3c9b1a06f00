/// \file
/// How one dimension of a field is cut among processes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "divisor.hpp"
#include "schedule.hpp"

namespace tramontane {

/// Half-open range of indices [first, last).
struct Range {
    std::int64_t first;
    std::int64_t last;

    [[nodiscard]] constexpr std::int64_t size() const { return last - first; }
    [[nodiscard]] constexpr bool operator==(const Range&) const = default;
};

/// `points` indices cut into `parts` consecutive blocks; the first (points mod parts) blocks are one longer.
///
/// Zheng & Marguinaud 2018, section 3.1: the number of points need not be a multiple of the number of cores.
/// Blocks may be empty (parts > points). Both numbers must be below 2^31, and parts at least 1.
class Blocks {
public:
    Blocks(std::int64_t points, Rank parts)
        : points_{points},
          base_{points / parts},
          extra_{static_cast<Rank>(points % parts)},
          parts_{parts},
          long_{static_cast<std::uint32_t>(base_ + 1)},
          short_{static_cast<std::uint32_t>(std::max<std::int64_t>(base_, 1))} {}

    [[nodiscard]] std::int64_t points() const { return points_; }
    [[nodiscard]] Rank parts() const { return parts_; }

    [[nodiscard]] std::int64_t size(Rank part) const { return base_ + (part < extra_ ? 1 : 0); }

    /// First index of a part; first(parts()) is the number of points.
    [[nodiscard]] std::int64_t first(Rank part) const { return base_ * part + std::min(part, extra_); }

    [[nodiscard]] Range range(Rank part) const { return {first(part), first(part + 1)}; }

    /// The part that holds an index; 0 <= index < points().
    [[nodiscard]] Rank owner(std::int64_t index) const {
        const std::int64_t in_long_blocks = (base_ + 1) * extra_;
        return index < in_long_blocks
                   ? static_cast<Rank>(long_.quotient(static_cast<std::uint32_t>(index)))
                   : extra_ + static_cast<Rank>(short_.quotient(static_cast<std::uint32_t>(index - in_long_blocks)));
    }

    /// Points in the `count` parts that end with `part`, counted backwards and cyclically; 0 <= count <= parts().
    [[nodiscard]] std::int64_t backward_sum(Rank part, Rank count) const {
        const Rank before = part + 1 - count;
        return first(part + 1) - (before >= 0 ? first(before) : first(parts_ + before) - points_);
    }

    /// Points in the `count` parts start, start + stride, ... modulo parts(), once around at most.
    ///
    /// In closed form, because the Bruck all-to-all needs it for every message: a walk that passes the end once is two
    /// walks that do not, and in each of them the long parts come first.
    [[nodiscard]] std::int64_t strided_sum(Rank start, std::int64_t stride, Rank count) const {
        const std::int64_t here = std::min<std::int64_t>(count, steps_to(parts_, start, stride));
        const std::int64_t rest = count - here;
        const std::int64_t again = start + here * stride - parts_;
        return base_ * count + std::min(here, steps_to(extra_, start, stride)) +
               (rest > 0 ? std::min(rest, steps_to(extra_, again, stride)) : 0);
    }

private:
    /// How many of start, start + stride, ... are below `end`.
    [[nodiscard]] static std::int64_t steps_to(std::int64_t end, std::int64_t start, std::int64_t stride) {
        return start < end ? (end - start - 1) / stride + 1 : 0;
    }

    std::int64_t points_;
    std::int64_t base_;
    Rank extra_;
    Rank parts_;
    Divisor long_;
    Divisor short_;
};

}  // namespace tramontane
