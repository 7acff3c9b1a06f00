/// \file
/// Threads that take the parts of a simulation from window to window together.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "engine/event_queue.hpp"

namespace tramontane {

/// Where threads wait for each other: in a loop at first, then without using the processor.
class Barrier {
public:
    explicit Barrier(std::uint32_t threads) : threads_(threads), missing_(threads) {}

    void arrive() {
        if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        missing_.store(threads_, std::memory_order_relaxed);
        generation_.fetch_add(1, std::memory_order_release);
        generation_.notify_all();
    }

    /// \param spins how often this thread looks before it sleeps; less where others had no processor lately
    void arrive_and_wait(int& spins) {
        const std::uint32_t before = generation_.load(std::memory_order_relaxed);
        arrive();
        for (int i = 0; i < spins; ++i) {
            if (generation_.load(std::memory_order_acquire) != before) {
                spins = std::min(most_spins, 2 * spins);
                return;
            }
            pause();
        }
        spins = std::max(least_spins, spins / 2);
        generation_.wait(before, std::memory_order_acquire);
    }

    static constexpr int most_spins = 4096;  // some tens of microseconds, as long as a window may take

private:
    static constexpr int least_spins = 64;

    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    const std::uint32_t threads_;
    std::atomic<std::uint32_t> missing_;
    std::atomic<std::uint32_t> generation_{0};
};

/// Whether windows are worth a barrier: one thread alone is faster where they have few events. All share the first
/// ones, so that each gets its own part's memory from the system.
class Granularity {
public:
    /// \param grain events of a window from which threads share the work; 0: they always do
    explicit Granularity(std::uint32_t grain) : grain_(grain), sum_(memory * grain_) {}

    void add(std::uint64_t events) {
        sum_ += events - sum_ / memory;
        alone_ = sum_ < (alone_ ? 2 : 1) * memory * grain_;
    }
    [[nodiscard]] bool alone() const { return alone_; }

private:
    static constexpr std::uint64_t memory = 16;  // windows that are looked back

    std::uint64_t grain_;
    std::uint64_t sum_;  // events of that many windows
    bool alone_ = false;
};

/// \tparam Part has `next()`, the number of the window for which it or what it has told others has something, or
///     EventQueue::ended; `step(window)`, which each part does once for each window and which returns how many events
///     there were; and `hops()`, how many switches packets have visited in it
template <class Part>
class ThreadTeam {
public:
    /// One thread for each part.
    /// \param poll called by the thread that runs all this, every now and then, with the hops of all parts until the
    ///     last window or the one before; may throw
    /// \param poll_every events of all parts between its calls
    /// \param pause called by that thread after `poll` has returned true, while no part is being stepped
    ThreadTeam(const std::vector<std::unique_ptr<Part>>& parts, std::uint32_t grain,
               std::function<bool(std::uint64_t hops)> poll, std::uint64_t poll_every, std::function<void()> pause)
        : parts_(parts),
          poll_(std::move(poll)),
          poll_every_(poll_every),
          pause_(std::move(pause)),
          barrier_(static_cast<std::uint32_t>(parts.size())),
          begin_{first_window(), Granularity(parts.size() > 1 ? grain : ~0U)},
          together_(begin_),
          said_{std::vector<Said>(parts.size()), std::vector<Said>(parts.size())},
          errors_(parts.size()) {}

    /// Until no part has anything left. An error of one thread ends all, and is thrown on.
    void run() {
        {
            std::vector<std::jthread> threads;
            threads.reserve(parts_.size());
            try {
                for (std::size_t i = 1; i < parts_.size(); ++i) threads.emplace_back([this, i] { work(i); });
                work(0);
            } catch (...) {  // there may be no more threads, or no memory; those that run wait for the others
                fail(0);
                for (std::size_t i = threads.size() + 1; i < parts_.size(); ++i) fail(i);
            }
        }
        for (const std::exception_ptr& error : errors_) {
            if (error) std::rethrow_exception(error);
        }
    }

    /// Windows that had events, all of these, and those of the part that had most in each.
    struct Load {
        std::uint64_t windows = 0, events = 0, busiest = 0, hops = 0;
    };
    [[nodiscard]] const Load& load() const { return load_; }

private:
    struct State {
        std::uint64_t window;
        Granularity granularity;
        bool pauses = false;  // before that window
    };
    struct alignas(64) Said {
        std::uint64_t next, events, hops;
        bool pauses;
    };

    [[nodiscard]] std::uint64_t first_window() const {
        std::uint64_t first = EventQueue::ended;
        for (const auto& part : parts_) first = std::min(first, part->next());
        return first;
    }

    void work(std::size_t thread) {
        try {
            share(thread);
        } catch (...) {
            fail(thread);
        }
    }

    void share(std::size_t thread) {
        State state = begin_;
        bool turn = false;
        int spins = Barrier::most_spins;
        while (state.window != EventQueue::ended) {
            if (state.pauses || state.granularity.alone()) {
                if (thread == 0) together_ = go_on_alone(state);
                if (!synchronise(spins)) return;
                state = together_;
                continue;
            }
            const std::uint64_t events = parts_[thread]->step(state.window);
            const bool pauses = thread == 0 && poll();
            said_[turn ? 1 : 0][thread] = {parts_[thread]->next(), events, parts_[thread]->hops(), pauses};
            if (!synchronise(spins)) return;
            Said all{EventQueue::ended, 0, 0, false};
            std::uint64_t busiest = 0;
            for (const Said& said : said_[turn ? 1 : 0]) {
                all = {std::min(all.next, said.next), all.events + said.events, all.hops + said.hops,
                       all.pauses || said.pauses};
                busiest = std::max(busiest, said.events);
            }
            if (thread == 0) note(all.events, busiest, all.hops);
            state.window = all.next;
            state.pauses = all.pauses;
            state.granularity.add(all.events);
            turn = !turn;
        }
    }

    [[nodiscard]] State go_on_alone(State state) {
        if (state.pauses) pause_();
        state.pauses = false;
        while (state.window != EventQueue::ended && state.granularity.alone()) {
            std::uint64_t events = 0, hops = 0;
            for (const auto& part : parts_) events += part->step(state.window);
            for (const auto& part : parts_) hops += part->hops();
            state.window = first_window();
            state.granularity.add(events);
            note(events, events, hops);
            if (poll()) pause_();
        }
        return state;
    }

    /// By the first thread.
    void note(std::uint64_t events, std::uint64_t busiest, std::uint64_t hops) {
        load_ = {load_.windows + 1, load_.events + events, load_.busiest + busiest, hops};
    }

    /// Whether all are to pause. By the first thread, whose own part may have nothing to do for long.
    bool poll() {
        if (load_.events - polled_ < poll_every_) return false;
        polled_ = load_.events;
        return poll_(load_.hops);
    }

    /// False when a thread has failed. Who leaves arrives once more: others may not have seen it yet and wait again.
    [[nodiscard]] bool synchronise(int& spins) {
        barrier_.arrive_and_wait(spins);
        if (!failed_.load(std::memory_order_acquire)) return true;
        barrier_.arrive();
        return false;
    }

    void fail(std::size_t thread) {
        errors_[thread] = std::current_exception();
        failed_.store(true, std::memory_order_release);
        barrier_.arrive();
    }

    const std::vector<std::unique_ptr<Part>>& parts_;
    const std::function<bool(std::uint64_t)> poll_;
    const std::uint64_t poll_every_;
    const std::function<void()> pause_;
    Barrier barrier_;
    const State begin_;
    State together_;                         // where the first thread has come to alone
    std::array<std::vector<Said>, 2> said_;  // by threads in the last window; the two take turns
    std::vector<std::exception_ptr> errors_;
    std::atomic<bool> failed_ = false;
    Load load_;
    std::uint64_t polled_ = 0;  // events until the last poll
};

}  // namespace tramontane
