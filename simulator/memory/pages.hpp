/// \file
/// Memory for what is touched at random by the million: in large pages, where the system has them, because a miss in
/// the address translation costs as much as a miss in the cache.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <type_traits>

namespace tramontane {

#ifdef TRAMONTANE_SMALL_STORAGE
inline constexpr std::size_t large_page = std::size_t{1} << 13;  // for tests: results do not depend on it
#else
inline constexpr std::size_t large_page = std::size_t{1} << 21;
#endif

struct Release {
    void operator()(void* memory) const { std::free(memory); }
};

/// An array of default-initialised elements that starts at a large page. `T` must not need destruction.
template <class T>
using Pages = std::unique_ptr<T[], Release>;

/// \param large whether most of it is touched, and in no order: else clearing large pages costs more than it saves
template <class T>
[[nodiscard]] Pages<T> allocate_pages(std::size_t count, bool large = true) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= large_page);
    const std::size_t bytes = (count * sizeof(T) + large_page - 1) / large_page * large_page;
    void* const memory = std::aligned_alloc(large_page, bytes);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (large) madvise(memory, bytes, MADV_HUGEPAGE);  // advice: it may fail
#else
    static_cast<void>(large);
#endif
    T* const array = static_cast<T*>(memory);
    std::uninitialized_default_construct_n(array, count);
    return Pages<T>(array);
}

/// Has the system give memory to what will be written soon, all at once: that is cheaper than page by page, each of
/// which interrupts what is going on. Of what is not whole pages, nothing is populated.
inline void populate([[maybe_unused]] void* first, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    madvise(first, bytes, MADV_POPULATE_WRITE);  // advice: it may fail
#endif
}

/// An array of zeros, of which pages that nobody touches take no memory.
template <class T>
[[nodiscard]] Pages<T> allocate_zeros(std::size_t count) {
    static_assert(std::is_unsigned_v<T>);
    void* const memory = std::calloc(std::max<std::size_t>(count, 1), sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return Pages<T>(static_cast<T*>(memory));
}

/// A range of addresses to which memory comes large page by large page. An array in it grows without moving, and each
/// of its elements is one addition away. There are as many addresses as the machine has memory; unused ones cost
/// nothing. Where addresses are limited (ulimit -v), each array has its share of those that are left: of several
/// threads, each has some.
class Reservation {
public:
    /// \param large as for allocate_pages
    explicit Reservation(std::size_t most, bool large = true) {
        size_ = (std::min(most, addresses()) / large_page + 2) * large_page;  // one for alignment
        while ((start_ = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) ==
               MAP_FAILED) {
            size_ /= 2;  // a limit on addresses
            if (size_ < 2 * large_page) throw std::bad_alloc();
        }
#ifdef MADV_HUGEPAGE
        if (large) madvise(start_, size_, MADV_HUGEPAGE);  // advice: it may fail
#else
        static_cast<void>(large);
#endif
        const auto address = reinterpret_cast<std::uintptr_t>(start_);
        first_ = static_cast<std::byte*>(start_) + (large_page - address % large_page) % large_page;
    }
    ~Reservation() { munmap(start_, size_); }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

    [[nodiscard]] std::byte* first() const { return first_; }

    /// Makes one more large page usable; false where there is no more.
    [[nodiscard]] bool grow() {
        std::byte* const page = first_ + used_;
        if (page + large_page > static_cast<std::byte*>(start_) + size_) return false;
        if (mprotect(page, large_page, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
        used_ += large_page;
        return true;
    }

private:
    [[nodiscard]] static std::size_t addresses() {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t machine = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page;
        rlimit limit{};
        if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return machine;
        std::size_t used = 0;  // and stays 0 where the system does not tell
        std::ifstream("/proc/self/statm") >> used;
        const std::size_t most = limit.rlim_cur;
        return std::min(machine, (most - std::min(most, used * page)) / 8);
    }

    void* start_;
    std::byte* first_;
    std::size_t size_, used_ = 0;
};

}  // namespace tramontane
