/// \file
/// The few atomic operations that lanes need, on a processor and on an accelerator. None of them orders what else is
/// written: what one lane writes, others read only after all have met.
#pragma once

#include <cstdint>

#include "rules/rule.hpp"

namespace tramontane::device {

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
/// \param to no memory of a multiprocessor
TRAMONTANE_RULE inline void raise(std::uint64_t* to, std::uint64_t value) {
#ifdef TRAMONTANE_ON_DEVICE
#if defined(__CUDA_ARCH__)
    __builtin_assume(__isGlobal(to));
#endif
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
/// What is there, or was there shortly before.
TRAMONTANE_RULE inline std::uint32_t peek(const std::uint32_t* at) {
#ifdef TRAMONTANE_ON_DEVICE
    return *at;
#else
    return __atomic_load_n(at, __ATOMIC_RELAXED);
#endif
}
/// Adds without waiting for what was there. \param to no memory of a multiprocessor
TRAMONTANE_RULE inline void count(std::uint64_t* to, std::uint64_t more) {
#if defined(__CUDA_ARCH__)
    __builtin_assume(__isGlobal(to));
#endif
    (void)add(to, more);
}
/// Puts a 1 there, as others may at the same time.
TRAMONTANE_RULE inline void mark(std::uint8_t* at) {
#ifdef TRAMONTANE_ON_DEVICE
    *at = 1;
#else
    __atomic_store_n(at, std::uint8_t{1}, __ATOMIC_RELAXED);
#endif
}
/// Puts `value` there, and returns what was there before.
TRAMONTANE_RULE inline std::uint32_t exchange(std::uint32_t* of, std::uint32_t value) {
#ifdef TRAMONTANE_ON_DEVICE
    return atomicExch(of, value);
#else
    return __atomic_exchange_n(of, value, __ATOMIC_RELAXED);
#endif
}

}  // namespace tramontane::device
