/// \file
/// What the data of a run are, so that any element can be told from any other: who had it first, where, and when.
#pragma once

#include <bit>
#include <cstdint>

#include "random.hpp"
#include "schedule.hpp"

namespace tramontane::executor {

/// What a run may be told to do wrong, to prove that verification notices.
enum class Fault {
    none,
    value,   ///< a bit of an element that was received changes
    place,   ///< two elements that were received change places
    missing  ///< a message that was received is as if it had not come
};

/// An element of a field: the 8 bytes of a double, which nobody computes with. Bits from the top: 4 of the repetition,
/// 22 of the rank that had it first, 38 of its place in the grid.
struct Origin {
    std::int64_t repetition;  ///< modulo 16
    Rank rank;
    std::int64_t index;  ///< x + nx (y + ny z)
};

inline constexpr int index_bits = 38;
inline constexpr int rank_bits = 22;

[[nodiscard]] inline double encode(const Origin& origin) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(origin.repetition) << (index_bits + rank_bits) |
                                 static_cast<std::uint64_t>(origin.rank) << index_bits |
                                 static_cast<std::uint64_t>(origin.index));
}

[[nodiscard]] inline Origin decode(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto low = [bits](int shift, int count) {
        return static_cast<std::int64_t>(bits >> shift & ((std::uint64_t{1} << count) - 1));
    };
    return {low(index_bits + rank_bits, 4), static_cast<Rank>(low(index_bits, rank_bits)), low(0, index_bits)};
}

/// What memory holds that nothing has been written to: no encoded element, and no number.
[[nodiscard]] inline double nothing() { return std::bit_cast<double>(~std::uint64_t{0}); }

/// Same bits; `==` would not do, because patterns may look like NaN.
[[nodiscard]] inline bool same(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// What a rank contributes to an element of an allreduce's vector: a whole number below 2^29, so that sums over less
/// than 2^24 ranks are exact in any order. It is scrambled so that contributions which are lost and others which
/// are added twice do not make up for each other.
[[nodiscard]] inline double contribution(Rank rank, std::int64_t element, std::int64_t instance) {
    const std::uint64_t which = (static_cast<std::uint64_t>(instance) << 52) ^
                                (static_cast<std::uint64_t>(rank) << 31) ^ static_cast<std::uint64_t>(element);
    return static_cast<double>(mix(which) >> 35);
}

}  // namespace tramontane::executor
