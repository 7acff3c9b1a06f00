/// \file
/// Amounts that differ at random, such as the work of ranks or the sizes of blocks.
#pragma once

#include <cstdint>

#include "random.hpp"

namespace tramontane {

/// What makes amounts differ, such as the work of ranks: a factor that is uniform in [1 - ppm, 1 + ppm] / 10^6, so that
/// the mean does not depend on it.
struct Spread {
    static constexpr std::int64_t one = 1'000'000;
    std::int64_t ppm = 0;  ///< 0 to 10^6

    /// \param bits random ones
    [[nodiscard]] std::int64_t of(std::int64_t amount, std::uint64_t bits) const {
        if (ppm == 0) return amount;
        __extension__ using Wide = __int128;
        const auto factor = one - ppm + static_cast<std::int64_t>(below(bits, static_cast<std::uint64_t>(2 * ppm + 1)));
        return static_cast<std::int64_t>((static_cast<Wide>(amount) * factor) / one);
    }
    /// The most that `of` returns.
    [[nodiscard]] std::int64_t most(std::int64_t amount) const {
        __extension__ using Wide = __int128;
        return static_cast<std::int64_t>((static_cast<Wide>(amount) * (one + ppm)) / one);
    }
};

}  // namespace tramontane
