/// \file
/// Random numbers as a pure function of (seed, who, how many so far). No generator has a state, so what a packet draws
/// does not depend on what was simulated before it, nor on the number of threads.
#pragma once

#include <cstdint>

namespace tramontane {

/// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, figure 15).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

[[nodiscard]] constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t who, std::uint64_t count) {
    return mix(mix(mix(seed) ^ who) ^ count);
}

/// A permutation of 32-bit numbers that looks random (Murmur3's finaliser; Appleby, 2011).
[[nodiscard]] constexpr std::uint32_t permuted(std::uint32_t z) {
    z = (z ^ (z >> 16)) * 0x85ebca6bU;
    z = (z ^ (z >> 13)) * 0xc2b2ae35U;
    return z ^ (z >> 16);
}

/// A random number for the `count`-th packet of a rank, and another one for each of its packets: for given seed and
/// rank it is a permutation of the counts.
[[nodiscard]] constexpr std::uint32_t packet_tie(std::uint64_t seed, std::uint32_t rank, std::uint32_t count) {
    const std::uint64_t of_rank = mix(mix(seed) ^ rank);
    return permuted(permuted(count ^ static_cast<std::uint32_t>(of_rank)) + static_cast<std::uint32_t>(of_rank >> 32));
}

/// An integer in [0, range) out of 64 random bits (multiply and shift; the bias is below range / 2^64).
[[nodiscard]] constexpr std::uint64_t below(std::uint64_t bits, std::uint64_t range) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(bits) * range) >> 64);
}

}  // namespace tramontane
