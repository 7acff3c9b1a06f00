/// \file
/// What marks a rule: a function that is compiled for processors and for accelerators alike.
///
/// On an accelerator nothing can be thrown. What must not happen ends the kernel there, and the host is told why.
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__)
#define TRAMONTANE_RULE __host__ __device__
#else
#define TRAMONTANE_RULE
#endif

// A processor is quickest where the steps that every packet takes are one function. The compilers of accelerators
// inline all that they can anyway, which made a megabyte of code and compiled for minutes: so what is called from many
// places is there once.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define TRAMONTANE_STEP                    ///< inlined by a processor, always
#define TRAMONTANE_ONCE [[gnu::noinline]]  ///< inlined by a processor where its compiler likes
#else
#define TRAMONTANE_STEP [[gnu::always_inline]]
#define TRAMONTANE_ONCE
#endif

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define TRAMONTANE_ON_DEVICE 1
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

namespace tramontane {

/// What an accelerator can tell the host of an error, whose text comes beside it.
enum class Failure : int { none, runtime, invalid, logic };

#if defined(__CUDACC__) || defined(__HIPCC__)
/// Tells the host and ends the kernel.
__device__ void end_kernel(Failure kind, const char* what);
#endif

/// What must not happen has happened: an exception on a processor; on an accelerator the end of the kernel.
template <class Error>
[[noreturn, gnu::cold, gnu::noinline]] TRAMONTANE_RULE inline void fail(const char* what) {
#ifdef TRAMONTANE_ON_DEVICE
    end_kernel(std::is_same_v<Error, std::logic_error>        ? Failure::logic
               : std::is_same_v<Error, std::invalid_argument> ? Failure::invalid
                                                              : Failure::runtime,
               what);
    __builtin_unreachable();
#else
    throw Error(what);
#endif
}

// What the C++ library leaves to the compiler of a processor: on an accelerator that would be a call of nothing.

/// As std::copy.
template <class T>
TRAMONTANE_RULE void copy_down(const T* first, const T* last, T* to) {
#ifdef TRAMONTANE_ON_DEVICE
    while (first != last) *to++ = *first++;
#else
    std::copy(first, last, to);
#endif
}
/// As std::copy_backward.
template <class T>
TRAMONTANE_RULE void copy_up(const T* first, const T* last, T* end) {
#ifdef TRAMONTANE_ON_DEVICE
    while (last != first) *--end = *--last;
#else
    std::copy_backward(first, last, end);
#endif
}
/// As std::bit_width.
[[nodiscard]] TRAMONTANE_RULE constexpr int bit_width(std::uint64_t value) {
#if defined(__CUDA_ARCH__)
    return 64 - __clzll(static_cast<long long>(value));
#elif defined(TRAMONTANE_ON_DEVICE)
    return value == 0 ? 0 : 64 - __builtin_clzll(value);
#else
    return static_cast<int>(std::bit_width(value));
#endif
}
/// As std::countr_zero. \pre value > 0
[[nodiscard]] TRAMONTANE_RULE constexpr std::uint32_t trailing_zeros(std::uint32_t value) {
#if defined(__CUDA_ARCH__)
    return static_cast<std::uint32_t>(__ffs(static_cast<int>(value)) - 1);
#elif defined(TRAMONTANE_ON_DEVICE)
    return static_cast<std::uint32_t>(__builtin_ctz(value));
#else
    return static_cast<std::uint32_t>(std::countr_zero(value));
#endif
}

}  // namespace tramontane
