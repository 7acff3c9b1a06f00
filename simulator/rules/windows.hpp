/// \file
/// Windows: stretches of time of equal length.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "rules/rule.hpp"
#include "ticks.hpp"

namespace tramontane {

class Windows {
public:
    /// \param lookahead smallest latency between two LPs [ticks] > 0; their length, or less where it is too long
    explicit Windows(Ticks lookahead)
        : length_(std::min<Ticks>(lookahead, ~std::uint32_t{0})),
          inverse_(length_ == 0 ? 0 : ~std::uint64_t{0} / length_) {
        if (lookahead == 0) throw std::invalid_argument("simulator: a latency of 0 leaves no look-ahead");
    }

    [[nodiscard]] TRAMONTANE_RULE Ticks length() const { return length_; }
    [[nodiscard]] TRAMONTANE_RULE Ticks begin(std::uint64_t number) const { return number * length_; }

    struct Place {
        std::uint64_t number;
        std::uint32_t offset;
    };
    /// Divides without dividing; the product with floor(2^64 / window) is the quotient or one less.
    [[nodiscard]] TRAMONTANE_RULE Place of(Ticks time) const {
        __extension__ using Wide = unsigned __int128;
        auto number = static_cast<std::uint64_t>((static_cast<Wide>(time) * inverse_) >> 64);
        Ticks offset = time - number * length_;
        if (offset >= length_) {
            ++number;
            offset -= length_;
        }
        return {number, static_cast<std::uint32_t>(offset)};
    }

private:
    Ticks length_;
    std::uint64_t inverse_;  // 2^64 / length
};

}  // namespace tramontane
