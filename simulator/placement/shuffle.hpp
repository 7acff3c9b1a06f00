/// \file
/// Numbers in random order, the same for a seed wherever they are drawn.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "random.hpp"

namespace tramontane {

/// The first `count` of a random order of 0 ... all - 1 (Fisher and Yates; Durstenfeld, CACM 1964).
///
/// \param stream tells draws for different things apart
[[nodiscard]] inline std::vector<std::uint32_t> shuffled(std::uint32_t count, std::uint32_t all, std::uint64_t seed,
                                                         std::uint64_t stream) {
    std::vector<std::uint32_t> order(all);
    for (std::uint32_t i = 0; i < all; ++i) order[i] = i;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint64_t other = i + below(random_bits(mix(seed), i, stream), all - i);
        std::swap(order[i], order[other]);
    }
    order.resize(count);
    order.shrink_to_fit();
    return order;
}

}  // namespace tramontane
