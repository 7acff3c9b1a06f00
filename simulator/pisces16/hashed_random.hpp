/// \file
/// SST/macro's random numbers where its router has a seed: a hash of the time, not a stream. All packets that are
/// routed at the same tick draw the same number, and packets that follow each other at link speed draw few different
/// ones; an honest generator gives other times.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "ticks.hpp"

namespace tramontane::pisces16 {

class HashedRandom {
public:
    explicit HashedRandom(std::uint64_t seed) : seed_(static_cast<std::uint32_t>(seed)) {}

    /// The first draw in [0, range) that is neither `a` nor `b`.
    [[nodiscard]] std::uint32_t draw(Ticks now, std::uint32_t range, std::uint32_t a, std::uint32_t b) const {
        // Draws may repeat for ever (the shift soon leaves nothing of the seed); SST/macro then hangs.
        for (std::uint32_t attempt = 0; attempt < 64; ++attempt) {
            const std::uint32_t value = bits(static_cast<std::uint32_t>(now), attempt) % range;
            if (value != a && value != b) return value;
        }
        for (std::uint32_t value = 0; value < range; ++value) {
            if (value != a && value != b) return value;
        }
        throw std::invalid_argument("machine.geometry: too small for an intermediate switch or group");
    }

private:
    [[nodiscard]] std::uint32_t bits(std::uint32_t time, std::uint32_t attempt) const {
        const std::uint32_t shift = attempt + 5;
        std::uint32_t w = shift < 32 ? (seed_ * (time + 31)) << shift : 0;
        std::uint32_t z = 7 * (time + 5) + 3;
        // One step of a pair of multiply-with-carry generators (Marsaglia).
        z = 36969 * (z & 0xffff) + (z >> 16);
        w = 18000 * (w & 0xffff) + (w >> 16);
        return (z << 16) + (w & 0xffff);
    }

    std::uint32_t seed_;
};

}  // namespace tramontane::pisces16
