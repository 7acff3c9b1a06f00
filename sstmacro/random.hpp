/// \file
/// Random numbers that are the same in each run of a seed.
#pragma once

#include <cstdint>

namespace tramontane::sst {

/// Steele, Lea & Flood, OOPSLA 2014.
class SplitMix64 {
public:
    /// Streams of a seed, one for each rank or switch.
    SplitMix64(std::uint64_t seed, std::uint64_t stream) : state_((seed << 32) ^ stream) {}

    std::uint64_t operator()() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

    /// An integer in [0, range), range > 0.
    int below(int range) { return static_cast<int>(((*this)() >> 32) * static_cast<std::uint64_t>(range) >> 32); }

    /// A number in [0, 1).
    double fraction() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

private:
    std::uint64_t state_;
};

}  // namespace tramontane::sst
