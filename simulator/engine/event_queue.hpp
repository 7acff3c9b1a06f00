/// \file
/// The pending events, grouped into windows.
///
/// A switch or a node is a logical process (LP). Nothing passes between two of them sooner than the smallest latency of
/// the machine. The events of one window of that length are therefore independent between LPs, and are handed out LP by
/// LP: in time order within an LP, in any order between LPs. That keeps a switch in the cache for all its events of a
/// window, and costs no comparison between the millions of events that are pending.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "memory/checkpoint.hpp"
#include "memory/pool.hpp"
#include "rules/events.hpp"
#include "rules/windows.hpp"
#include "ticks.hpp"

namespace tramontane {

struct alignas(16) Event {
    std::uint32_t offset;  ///< ticks since the window began
    LpId lp;
    Index item;          ///< packet or transaction
    std::uint32_t code;  ///< what happens, and where in the LP
};

class EventQueue {
    static constexpr std::uint32_t chunk_events = 255;
#ifdef TRAMONTANE_SMALL_STORAGE
    static constexpr std::uint64_t horizon = 8;  // for tests: results do not depend on it
#else
    static constexpr std::uint64_t horizon = 1024;
#endif
    // windows kept in the ring; later events wait in a heap

    /// As large as it is aligned, so that an event's address tells its chunk and whether that is full.
    struct alignas(4096) Chunk {
        Event* before;  ///< end of the chunk before
        Index index;
        Event events[chunk_events];
    };
    static_assert(sizeof(Chunk) == 4096 && offsetof(Chunk, events) == sizeof(Event));

public:
    /// What is kept of an event, whose offset is not known yet, or to nobody else.
    struct Later {
        Ticks time;
        Event event;
        bool operator>(const Later& other) const {
            return time > other.time;  // keys order what happens at the same time
        }
    };

    /// \param lookahead smallest latency between two LPs [ticks] > 0
    EventQueue(Ticks lookahead, LpId lps)
        : windows_(lookahead),
          digit_bits_((static_cast<std::uint32_t>(std::bit_width(std::uint64_t{lps})) + 1) / 2),
          ring_(horizon, nullptr),
          counts_(std::size_t{2} << digit_bits_) {}

    [[nodiscard]] Ticks begin() const { return windows_.begin(number_); }
    [[nodiscard]] Ticks end() const { return windows_.begin(number_ + 1); }

    /// Adds an event of a window after the current one.
    void push(Ticks time, LpId lp, std::uint32_t code, Index item) {
        const auto [number, offset] = windows_.of(time);
        const Event event{offset, lp, item, code};
        if (number - number_ >= horizon) [[unlikely]] {
            push_later(time, event);
            return;
        }
        put(number, event);
    }

    static constexpr std::uint64_t ended = ~std::uint64_t{0};

    [[nodiscard]] std::uint64_t number_of(Ticks time) const { return windows_.of(time).number; }

    /// Number of the next window that has events; `ended` when nothing is pending.
    [[nodiscard]] std::uint64_t next() const {
        if (pending_ == 0) return later_.empty() ? ended : number_of(later_.top().time);
        std::uint64_t number = number_;
        while (ring_[number % horizon] == nullptr) ++number;
        return number;
    }

    /// Moves to a window before which nothing is pending. Returns its events, by LP and time, and behind them there
    /// is one of no LP.
    std::span<Event> open(std::uint64_t number) {
        number_ = number;
        check_event(begin());
        refill();
        collect();
        return {sorted_.data(), sorted_.size() - 1};
    }

    /// Writes or reads what is pending, between two windows. What is stored in which order does not matter.
    void keep(StateFile& file) {
        file(number_);
        std::uint64_t events = pending_ + later_.size();
        file(events);
        if (file.reading()) {
            for (Later pending{}; events > 0; --events) {
                file(pending);
                push(pending.time, pending.event.lp, pending.event.code, pending.event.item);
            }
            return;
        }
        for (std::uint64_t number = number_; number < number_ + horizon; ++number) {
            each(ring_[number % horizon], [&](const Event& event) {
                Later pending{windows_.begin(number) + event.offset, event};
                file(pending);
            });
        }
        for (auto later = later_; !later.empty(); later.pop()) {
            Later pending = later.top();
            file(pending);
        }
    }

private:
    void refill() {
        while (!later_.empty() && windows_.of(later_.top().time).number - number_ < horizon) {
            put(windows_.of(later_.top().time).number, later_.top().event);
            later_.pop();
        }
    }

    // What is rare has functions of its own: the others need no registers saved then.

    [[gnu::noinline]] void push_later(Ticks time, const Event& event) { later_.push({time, event}); }

    void put(std::uint64_t number, const Event& event) {
        ++pending_;
        Event*& end = ring_[number % horizon];
        if (reinterpret_cast<std::uintptr_t>(end) % sizeof(Chunk) == 0) [[unlikely]] {
            put_first(end, event);
            return;
        }
        *end++ = event;
    }

    /// In a new chunk.
    [[gnu::noinline]] void put_first(Event*& end, const Event& event) {
        const Index index = chunks_.take();
        Chunk& chunk = chunks_[index];
        chunk.before = end;
        chunk.index = index;
        chunk.events[0] = event;
        end = chunk.events + 1;
    }

    /// The chunk of which `end` is the end so far.
    [[nodiscard]] static Chunk& chunk_of(Event* end) {
        return *reinterpret_cast<Chunk*>((reinterpret_cast<std::uintptr_t>(end) - 1) / sizeof(Chunk) * sizeof(Chunk));
    }

    void collect() {
        Event*& end = ring_[number_ % horizon];
        std::size_t events = 0;
        for (Event* e = end; e != nullptr; e = chunk_of(e).before) {
            events += static_cast<std::size_t>(e - chunk_of(e).events);
        }
        pending_ -= events;
        sorted_.resize(events + 1);
        sorted_[events] = {0, ~LpId{0}, none, 0};
        if (events <= few) {
            std::size_t n = 0;
            each(end, [&](const Event& event) { insert(0, n++, event); });
        } else if (events < counts_.size() / 4) {
            std::size_t n = 0;
            each(end, [&](const Event& event) { sorted_[n++] = event; });
            std::sort(sorted_.begin(), sorted_.end() - 1, Before());
        } else {
            sort_by_place(end);
        }
        while (end != nullptr) {
            const Chunk& chunk = chunk_of(end);
            end = chunk.before;
            chunks_.give_back(chunk.index);
        }
    }

    template <class F>
    void each(Event* end, F&& visit) const {
        for (; end != nullptr; end = chunk_of(end).before) {
            for (const Event* event = chunk_of(end).events; event != end; ++event) visit(*event);
        }
    }

    /// What events are sorted by, as one number.
    [[nodiscard]] static std::uint64_t key(const Event& event) { return std::uint64_t{event.lp} << 32 | event.offset; }
    struct Before {  // no function: a call of one would not be inlined in sorting
        [[nodiscard]] bool operator()(const Event& a, const Event& b) const { return key(a) < key(b); }
    };

    /// Puts an event, which may be the one at `end`, where it belongs among the sorted ones from `first` to `end`.
    void insert(std::size_t first, std::size_t end, const Event event) {
        for (; end > first && key(event) < key(sorted_[end - 1]); --end) sorted_[end] = sorted_[end - 1];
        sorted_[end] = event;
    }

    /// Two counting passes over the LP, then the few events of each LP by time.
    void sort_by_place(Event* end) {
        const std::uint32_t size = 1U << digit_bits_;
        const std::uint32_t mask = size - 1;
        std::fill(counts_.begin(), counts_.end(), 0);
        each(end, [&](const Event& event) {
            ++counts_[event.lp & mask];
            ++counts_[size + (event.lp >> digit_bits_)];
        });
        for (std::uint32_t half = 0; half < 2; ++half) {
            std::uint32_t sum = 0;
            for (std::uint32_t d = 0; d < size; ++d) {
                const std::uint32_t count = counts_[half * size + d];
                counts_[half * size + d] = sum;
                sum += count;
            }
        }
        half_sorted_.resize(sorted_.size() - 1);
        each(end, [&](const Event& event) { half_sorted_[counts_[event.lp & mask]++] = event; });
        for (const Event& event : half_sorted_) sorted_[counts_[size + (event.lp >> digit_bits_)]++] = event;
        for (std::size_t i = 0; i < half_sorted_.size();) {
            std::size_t j = i + 1;
            while (sorted_[j].lp == sorted_[i].lp) ++j;
            sort_by_time(i, j);
            i = j;
        }
    }

    void sort_by_time(std::size_t first, std::size_t last) {
        if (last - first > few) {
            std::sort(sorted_.begin() + static_cast<std::ptrdiff_t>(first),
                      sorted_.begin() + static_cast<std::ptrdiff_t>(last), Before());
            return;
        }
        for (std::size_t i = first + 1; i < last; ++i) insert(first, i, sorted_[i]);
    }

    static constexpr std::size_t few = 24;  // so many are sorted by insertion

    Windows windows_;
    std::uint32_t digit_bits_;
    std::uint64_t number_ = 0;
    std::uint64_t pending_ = 0;
    std::vector<Event*> ring_;  // end of each window's events
    Pool<Chunk> chunks_;
    std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
    std::vector<Event> half_sorted_, sorted_;
    std::vector<std::uint32_t> counts_;
};

}  // namespace tramontane
