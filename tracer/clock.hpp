/// \file
/// A clock that costs little to read, because a traced call reads it three times.
#pragma once

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace tramontane::tracer {

/// The host's steady clock, which its processes share [ns].
inline std::int64_t host_time() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Counts the processor's own ticks where these are steady, else reads the host's clock.
class Clock {
public:
    /// Takes two milliseconds, to see how long a tick is.
    void start() {
        counts_ = steady_ticks();
        if (!counts_) return;
        const std::int64_t begin = host_time();
        const std::uint64_t first = ticks();
        std::int64_t now = begin;
        while (now < begin + 2'000'000) now = host_time();
        per_tick_ = (static_cast<Wide>(now - begin) << 32U) / (ticks() - first);
        first_tick_ = first;
        first_time_ = begin;
    }
    /// [ns], as `host_time`.
    [[nodiscard]] std::int64_t now() const {
        if (!counts_) return host_time();
        return first_time_ + static_cast<std::int64_t>((per_tick_ * (ticks() - first_tick_)) >> 32U);
    }

private:
    __extension__ using Wide = unsigned __int128;

#if defined(__x86_64__)
    static bool steady_ticks() {
        unsigned a = 0, b = 0, c = 0, d = 0;
        return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8U & 1U) != 0;  // "invariant TSC"
    }
    static std::uint64_t ticks() { return __rdtsc(); }
#else
    static bool steady_ticks() { return false; }
    static std::uint64_t ticks() { return 0; }
#endif

    bool counts_ = false;
    Wide per_tick_ = 0;  ///< [ns], times 2^32
    std::uint64_t first_tick_ = 0;
    std::int64_t first_time_ = 0;
};

}  // namespace tramontane::tracer
