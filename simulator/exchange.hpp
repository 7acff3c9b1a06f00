/// \file
/// What threads that simulate one point together tell each other at the end of each window.
///
/// Nothing passes between two places sooner than a window lasts (event_queue.hpp), so each thread handles the events of
/// its places in a window without looking at the others (conservative synchronisation; Lubachevsky, CACM 1989).
/// What is meant for a place of another thread waits in a box until all have ended the window. There are two boxes from
/// each thread to each other, which take turns: while one is emptied, the other is filled, so that threads meet once a
/// window.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "event_queue.hpp"
#include "partition.hpp"
#include "records.hpp"

namespace tramontane {

/// Where threads wait for each other: in a loop at first, then without using the processor.
class Barrier {
public:
    explicit Barrier(std::uint32_t threads) : threads_(threads), missing_(threads) {}

    void arrive() {
        if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        missing_.store(threads_, std::memory_order_relaxed);
        meetings_.fetch_add(1, std::memory_order_release);
        meetings_.notify_all();
    }

    void arrive_and_wait() {
        const std::uint32_t before = meetings_.load(std::memory_order_relaxed);
        arrive();
        for (int i = 0; i < spins; ++i) {
            if (meetings_.load(std::memory_order_acquire) != before) return;
            pause();
        }
        meetings_.wait(before, std::memory_order_acquire);
    }

private:
    static constexpr int spins = 2000;  // some tens of microseconds: as long as a window may take

    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    const std::uint32_t threads_;
    std::atomic<std::uint32_t> missing_;
    std::atomic<std::uint32_t> meetings_{0};
};

/// What happens at a place of another thread.
struct Crossing {
    Ticks time;
    Place place;
    std::uint32_t code;
    Index item;  ///< message; bytes of credits that come back to an output; nothing for a packet's head
};

struct alignas(64) Outbox {
    std::vector<Crossing> events;
    std::vector<Packet> packets;  ///< of the heads among the events, in their order

    void clear() {
        events.clear();
        packets.clear();
    }
};

class Exchange {
public:
    explicit Exchange(const Partition& partition)
        : partition_(partition),
          threads_(partition.parts()),
          barrier_(threads_),
          states_(threads_),
          boxes_{std::vector<Outbox>(std::size_t{threads_} * threads_),
                 std::vector<Outbox>(std::size_t{threads_} * threads_)} {}

    [[nodiscard]] std::uint32_t threads() const { return threads_; }
    [[nodiscard]] std::uint32_t owner(Place place) const { return partition_.of(place); }

    /// What thread `from` tells thread `to` in its current window.
    [[nodiscard]] Outbox& box(std::uint32_t from, std::uint32_t to) { return boxes_[states_[from].turn][at(from, to)]; }

    /// What thread `from` told thread `to` in the window before.
    [[nodiscard]] Outbox& received(std::uint32_t from, std::uint32_t to) {
        return boxes_[1 - states_[to].turn][at(from, to)];
    }

    /// Waits for the other threads.
    /// \param next the first window for which this thread has, or has told others, something
    /// \returns the first one of all threads; EventQueue::ended when there is none or a thread has failed
    [[nodiscard]] std::uint64_t agree(std::uint32_t thread, std::uint64_t next) {
        const std::uint32_t turn = states_[thread].turn;
        states_[thread].said[turn] = {next, false};
        states_[thread].turn = 1 - turn;
        barrier_.arrive_and_wait();
        std::uint64_t first = EventQueue::ended;
        for (const State& state : states_) {
            if (state.said[turn].failed) return EventQueue::ended;
            first = std::min(first, state.said[turn].next);
        }
        return first;
    }

    /// Ends the simulation for all threads. This one must not come back.
    void fail(std::uint32_t thread) {
        states_[thread].said[states_[thread].turn].failed = true;
        barrier_.arrive();
    }

private:
    struct Said {
        std::uint64_t next = EventQueue::ended;
        bool failed = false;
    };
    struct alignas(64) State {
        std::uint32_t turn = 0;  // which boxes it fills; only its own thread reads it
        Said said[2];
    };

    [[nodiscard]] std::size_t at(std::uint32_t from, std::uint32_t to) const {
        return std::size_t{from} * threads_ + to;
    }

    const Partition& partition_;
    const std::uint32_t threads_;
    Barrier barrier_;
    std::vector<State> states_;
    std::vector<Outbox> boxes_[2];
};

}  // namespace tramontane
