/// \file
/// Memory for what is touched at random by the million: in large pages, where the system has them, because a miss in
/// the address translation costs as much as a miss in the cache.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace tramontane {

/// Brings a line into the cache. The empty statement keeps the compiler from taking functions that do nothing else for
/// functions without effect, whose calls may be left out: GCC 12 left out nearly all.
[[gnu::always_inline]] inline void prefetch_line(const void* line) {
    __builtin_prefetch(line);
    asm volatile("");
}

inline constexpr std::size_t large_page = std::size_t{1} << 21;

struct Release {
    void operator()(void* memory) const { std::free(memory); }
};

/// An array of default-initialised elements that starts at a large page. `T` must not need destruction.
template <class T>
using Pages = std::unique_ptr<T[], Release>;

template <class T>
[[nodiscard]] Pages<T> allocate_pages(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= large_page);
    const std::size_t bytes = (count * sizeof(T) + large_page - 1) / large_page * large_page;
    void* const memory = std::aligned_alloc(large_page, bytes);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);  // advice: it may fail
#endif
    T* const array = static_cast<T*>(memory);
    std::uninitialized_default_construct_n(array, count);
    return Pages<T>(array);
}

}  // namespace tramontane
