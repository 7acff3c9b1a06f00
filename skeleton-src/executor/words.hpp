/// \file
/// Data that are no field: words of 8 bytes, drawn from a stamp that says whose they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "random.hpp"

namespace tramontane::executor {

inline constexpr std::int64_t word_bytes = 8;

[[nodiscard]] inline std::size_t words_of(std::int64_t bytes) {
    return static_cast<std::size_t>((bytes + word_bytes - 1) / word_bytes);
}

/// The `at`-th word of so many bytes; beyond them, bytes of the last one are 0.
[[nodiscard]] inline std::uint64_t word(std::uint64_t stamp, std::size_t at, std::int64_t bytes) {
    std::uint64_t bits = mix(stamp ^ at);
    const std::int64_t left = bytes - static_cast<std::int64_t>(at) * word_bytes;
    if (left < word_bytes)
        std::memset(reinterpret_cast<char*>(&bits) + left, 0, static_cast<std::size_t>(word_bytes - left));
    return bits;
}

}  // namespace tramontane::executor
