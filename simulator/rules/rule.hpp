/// \file
/// What marks a rule: a function that says what a switch, a network interface or a rank does with records that are
/// given to it.
///
/// Rules stand once. They own no storage, lock nothing, and schedule nothing themselves: whoever executes them gives
/// records by index, and takes what follows (rules/events.hpp). So one text of them is compiled for processors and for
/// accelerators.
#pragma once

#include <cstdint>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define TRAMONTANE_RULE __host__ __device__
#else
#define TRAMONTANE_RULE
#endif

namespace tramontane {

/// What must not happen has happened: an exception on a processor; on an accelerator the end of the kernel.
template <class Error>
[[noreturn, gnu::cold, gnu::noinline]] TRAMONTANE_RULE inline void fail(const char* what) {
#if defined(__CUDA_ARCH__)
    (void)what;
    __trap();
#else
    throw Error(what);
#endif
}

/// A record's number among those of its kind. Numbers follow from who was first and decide nothing.
using Index = std::uint32_t;
inline constexpr Index none = 0;

}  // namespace tramontane
