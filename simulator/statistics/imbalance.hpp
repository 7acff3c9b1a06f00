/// \file
/// How evenly ranks send.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "rules/parameters.hpp"

namespace tramontane {

/// Bytes the busiest rank sends over the mean.
/// \param senders their records, and maybe some of places without a rank, each with its `bytes`
/// \throws std::runtime_error where all together send more than is counted
template <class Sender>
[[nodiscard]] double imbalance(const Sender* senders, std::size_t count, std::size_t ranks) {
    std::uint64_t most = 0;
    WideCount all = 0;
    for (std::size_t i = 0; i < count; ++i) {
        most = std::max(most, senders[i].bytes);
        all += senders[i].bytes;
    }
    const std::uint64_t sum = checked_count(all, "bytes");
    return sum == 0 ? 1.0 : static_cast<double>(most) * static_cast<double>(ranks) / static_cast<double>(sum);
}

}  // namespace tramontane
