/// \file
/// The few atomic operations that lanes need, on a processor and on a GPU.
#pragma once

#include <cstdint>

#include "rules/rule.hpp"

namespace tramontane::device {

#if defined(__CUDA_ARCH__)
TRAMONTANE_RULE inline std::uint32_t load(const std::uint32_t* of) {
    const std::uint32_t value = *static_cast<const volatile std::uint32_t*>(of);
    __threadfence();
    return value;
}
TRAMONTANE_RULE inline std::uint32_t add(std::uint32_t* to, std::uint32_t count) { return atomicAdd(to, count); }
TRAMONTANE_RULE inline void set_bits(std::uint32_t* of, std::uint32_t bits) { atomicOr(of, bits); }
TRAMONTANE_RULE inline bool change(std::uint32_t* of, std::uint32_t from, std::uint32_t to) {
    __threadfence();
    return atomicCAS(of, from, to) == from;
}
#else
inline std::uint32_t load(const std::uint32_t* of) { return __atomic_load_n(of, __ATOMIC_ACQUIRE); }
/// Returns what was there before.
inline std::uint32_t add(std::uint32_t* to, std::uint32_t count) {
    return __atomic_fetch_add(to, count, __ATOMIC_RELAXED);
}
inline void set_bits(std::uint32_t* of, std::uint32_t bits) { __atomic_fetch_or(of, bits, __ATOMIC_RELAXED); }
/// Puts `to` in the place of `from`, with all that was written before; whether that was still there.
inline bool change(std::uint32_t* of, std::uint32_t from, std::uint32_t to) {
    return __atomic_compare_exchange_n(of, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
#endif

}  // namespace tramontane::device
