/// \file
/// The few atomic operations that lanes need, on a processor and on an accelerator.
#pragma once

#include <cstdint>

#include "rules/rule.hpp"

namespace tramontane::device {

/// What others have written before their `change` is seen after it.
TRAMONTANE_RULE inline std::uint32_t load(const std::uint32_t* of) {
#ifdef TRAMONTANE_ON_DEVICE
    const std::uint32_t value = *static_cast<const volatile std::uint32_t*>(of);
    __threadfence();
    return value;
#else
    return __atomic_load_n(of, __ATOMIC_ACQUIRE);
#endif
}
/// Returns what was there before.
TRAMONTANE_RULE inline std::uint32_t add(std::uint32_t* to, std::uint32_t count) {
#ifdef TRAMONTANE_ON_DEVICE
    return atomicAdd(to, count);
#else
    return __atomic_fetch_add(to, count, __ATOMIC_RELAXED);
#endif
}
TRAMONTANE_RULE inline std::uint64_t add(std::uint64_t* to, std::uint64_t count) {
#ifdef TRAMONTANE_ON_DEVICE
    static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
    return atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(count));
#else
    return __atomic_fetch_add(to, count, __ATOMIC_RELAXED);
#endif
}
TRAMONTANE_RULE inline void raise(std::uint64_t* to, std::uint64_t value) {
#ifdef TRAMONTANE_ON_DEVICE
    atomicMax(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
#else
    std::uint64_t known = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (known < value && !__atomic_compare_exchange_n(to, &known, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
#endif
}
TRAMONTANE_RULE inline void set_bits(std::uint32_t* of, std::uint32_t bits) {
#ifdef TRAMONTANE_ON_DEVICE
    atomicOr(of, bits);
#else
    __atomic_fetch_or(of, bits, __ATOMIC_RELAXED);
#endif
}
TRAMONTANE_RULE inline void clear_bits(std::uint32_t* of, std::uint32_t bits) {
#ifdef TRAMONTANE_ON_DEVICE
    atomicAnd(of, ~bits);
#else
    __atomic_fetch_and(of, ~bits, __ATOMIC_RELAXED);
#endif
}
/// Puts `to` in the place of `from`, with all that was written before; whether that was still there.
TRAMONTANE_RULE inline bool change(std::uint32_t* of, std::uint32_t from, std::uint32_t to) {
#ifdef TRAMONTANE_ON_DEVICE
    __threadfence();
    return atomicCAS(of, from, to) == from;
#else
    return __atomic_compare_exchange_n(of, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
#endif
}

}  // namespace tramontane::device
