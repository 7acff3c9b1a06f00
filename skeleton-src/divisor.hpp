/// \file
/// Division by a number that is known only at run time but used again and again.
#pragma once

#include <cstdint>

namespace tramontane {

/// Divides by one multiplication. A schedule is asked about 10^9 times and would otherwise divide at every call.
///
/// With m = floor((2^64 - 1) / d), floor(n / d) = floor(m (n + 1) / 2^64) for all n and d below 2^32: the error of m
/// makes the product too small by less than 1 / d, and the "+ 1" leaves at least that much room.
class Divisor {
public:
    explicit constexpr Divisor(std::uint32_t divisor = 1) : magic_{~std::uint64_t{0} / divisor}, divisor_{divisor} {}

    [[nodiscard]] constexpr std::uint32_t value() const { return divisor_; }

    [[nodiscard]] constexpr std::uint32_t quotient(std::uint32_t n) const {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::uint32_t>((static_cast<Wide>(magic_) * (std::uint64_t{n} + 1)) >> 64);
    }

    [[nodiscard]] constexpr std::uint32_t remainder(std::uint32_t n) const { return n - quotient(n) * divisor_; }

private:
    std::uint64_t magic_;
    std::uint32_t divisor_;
};

}  // namespace tramontane
