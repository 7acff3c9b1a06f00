/// \file
/// Whether events find in the cache what they touch, for builds with checks (TRAMONTANE_CHECKS).
///
/// Stages ahead of an event ask for the cache lines that it will touch (Engine::handle_window). Nothing fails where one
/// is forgotten: the simulation is only slower. So a build with checks counts the lines that events touch, and of these
/// the ones that neither a stage asked for nor an event touched a short while before. A test bounds their share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "rules/rule.hpp"

namespace tramontane {

#ifdef TRAMONTANE_CHECKS
inline constexpr bool checks = true;
#else
inline constexpr bool checks = false;
#endif

/// Counts of one thread, by kind of event.
class Lines {
public:
    static constexpr std::size_t kinds = 8;
    struct Count {
        std::uint64_t touched = 0;
        std::uint64_t unasked = 0;
    };

    /// Of this thread.
    [[nodiscard]] static Lines& here() {
        thread_local Lines lines;
        return lines;
    }

    /// Counts from now on, which makes a simulation several times slower.
    void start() {
        *this = {};
        counting_ = true;
    }
    /// What has been counted since.
    std::array<Count, kinds> stop() {
        counting_ = false;
        return counts_;
    }

    void ask(const void* address) {
        if (counting_) known_[line_of(address)] = event_;
    }
    /// The event's handler touches `bytes` from `address` on.
    void touch(const void* address, std::size_t bytes) {
        if (!handling_) return;
        const auto last = line_of(static_cast<const std::byte*>(address) + bytes - 1);
        for (std::uintptr_t line = line_of(address); line <= last; ++line) {
            const auto [known, is_new] = known_.try_emplace(line, event_);
            Count& count = counts_[kind_];
            ++count.touched;
            if (is_new || event_ - known->second > memory) ++count.unasked;
            known->second = event_;
        }
    }
    void begin(std::uint32_t kind) {
        kind_ = kind;
        handling_ = counting_;
    }
    void end() {
        handling_ = false;
        ++event_;
    }

private:
    static constexpr std::uint64_t memory = 256;  // events for which a line is taken to stay in the cache

    [[nodiscard]] static std::uintptr_t line_of(const void* address) {
        return reinterpret_cast<std::uintptr_t>(address) / 64;
    }

    std::unordered_map<std::uintptr_t, std::uint64_t> known_;  // when a line was asked for or touched
    std::array<Count, kinds> counts_{};
    std::uint64_t event_ = 0;
    std::uint32_t kind_ = 0;
    bool counting_ = false;
    bool handling_ = false;
};

/// Says in a build with checks that a record is read or written now.
template <class T>
[[gnu::always_inline]] TRAMONTANE_RULE inline void touch(const T& record) {
    if constexpr (checks) Lines::here().touch(&record, sizeof(T));
}

/// Brings a line into the cache. The empty statement keeps the compiler from taking functions that do nothing else for
/// functions without effect, whose calls may be left out: GCC 12 left out nearly all.
[[gnu::always_inline]] TRAMONTANE_RULE inline void prefetch_line([[maybe_unused]] const void* line) {
#if defined(__CUDA_ARCH__)
    asm volatile("prefetch.global.L1 [%0];" : : "l"(line));
#elif !defined(TRAMONTANE_ON_DEVICE)
    if constexpr (checks) Lines::here().ask(line);
    __builtin_prefetch(line);
    asm volatile("");
#endif
}

}  // namespace tramontane
