/// \file
/// The pending events, grouped into windows.
///
/// Nothing passes between two places (switches, nodes) sooner than the smallest latency of the machine. The events of
/// one window of that length are therefore independent between places, and are handed out place by place: in time
/// order within a place, in any order between places. That keeps a switch in the cache for all its events of a window,
/// and costs no comparison between the millions of events that are pending.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <queue>
#include <span>
#include <stdexcept>
#include <vector>

#include "pool.hpp"
#include "ticks.hpp"

namespace tramontane {

/// A switch (0 ... switches - 1) or a node (from there on).
using Place = std::uint32_t;

struct Event {
    std::uint32_t offset;  ///< ticks since the window began
    Place place;
    Index item;          ///< packet or envelope
    std::uint32_t code;  ///< what happens, and where in the place
};

class EventQueue {
    static constexpr std::uint32_t chunk_events = 255;
    static constexpr std::uint64_t horizon = 1024;  // windows kept in the ring; later events wait in a heap

    struct Chunk {
        Index next;
        std::uint32_t count;
        Event events[chunk_events];
    };
    struct Later {
        Ticks time;
        std::uint64_t order;
        Event event;
        bool operator>(const Later& other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };

public:
    /// \param lookahead smallest latency between two places [ticks] > 0
    EventQueue(Ticks lookahead, Place places)
        : window_(std::min<Ticks>(lookahead, ~std::uint32_t{0})),
          per_window_(window_ == 0 ? 0 : ~std::uint64_t{0} / window_),
          digit_bits_((static_cast<std::uint32_t>(std::bit_width(std::uint64_t{places})) + 1) / 2),
          ring_(horizon, none),
          counts_(std::size_t{2} << digit_bits_) {
        if (lookahead == 0) throw std::invalid_argument("simulator: a latency of 0 leaves no look-ahead");
    }

    [[nodiscard]] Ticks begin() const { return number_ * window_; }
    [[nodiscard]] Ticks end() const { return (number_ + 1) * window_; }

    /// \pre a <= b
    [[nodiscard]] bool same_window(Ticks a, Ticks b) const {
        return b - a < window_ && window_of(a).number == window_of(b).number;
    }

    /// Adds an event of a window after the current one.
    void push(Ticks time, Place place, std::uint32_t code, Index item) {
        const auto [number, offset] = window_of(time);
        const Event event{offset, place, item, code};
        if (number - number_ < horizon) {
            put(number, event);
        } else {
            later_.push({time, order_++, event});
        }
    }

    /// Moves to the next window that has events; all of them, by place and time. Empty when nothing is pending.
    std::span<Event> next_window() {
        if (pending_ == 0) {
            if (later_.empty()) return {};
            number_ = later_.top().time / window_;
        } else if (started_) {
            ++number_;
        }
        started_ = true;
        refill();
        while (ring_[number_ % horizon] == none) {
            ++number_;
            refill();
        }
        collect();
        return {sorted_.data(), sorted_.size()};
    }

private:
    struct Window {
        std::uint64_t number;
        std::uint32_t offset;
    };

    /// Divides without dividing; the product with floor(2^64 / window) is the quotient or one less.
    [[nodiscard]] Window window_of(Ticks time) const {
        __extension__ using Wide = unsigned __int128;
        auto number = static_cast<std::uint64_t>((static_cast<Wide>(time) * per_window_) >> 64);
        Ticks offset = time - number * window_;
        if (offset >= window_) {
            ++number;
            offset -= window_;
        }
        return {number, static_cast<std::uint32_t>(offset)};
    }

    void refill() {
        while (!later_.empty() && later_.top().time / window_ - number_ < horizon) {
            put(later_.top().time / window_, later_.top().event);
            later_.pop();
        }
    }

    void put(std::uint64_t number, const Event& event) {
        Index& head = ring_[number % horizon];
        if (head == none || chunks_[head].count == chunk_events) {
            const Index fresh = chunks_.take();
            chunks_[fresh].next = head;
            chunks_[fresh].count = 0;
            head = fresh;
        }
        Chunk& chunk = chunks_[head];
        chunk.events[chunk.count++] = event;
        ++pending_;
    }

    void collect() {
        Index& head = ring_[number_ % horizon];
        std::size_t events = 0;
        for (Index i = head; i != none; i = chunks_[i].next) events += chunks_[i].count;
        pending_ -= events;
        sorted_.resize(events);
        if (events < counts_.size() / 4) {
            std::size_t n = 0;
            each(head, [&](const Event& event) { sorted_[n++] = event; });
            std::sort(sorted_.begin(), sorted_.end(), before);
        } else {
            sort_by_place(head);
        }
        while (head != none) {
            const Index next = chunks_[head].next;
            chunks_.give_back(head);
            head = next;
        }
    }

    template <class F>
    void each(Index head, F&& visit) const {
        for (Index i = head; i != none; i = chunks_[i].next) {
            const Chunk& chunk = chunks_[i];
            for (std::uint32_t k = 0; k < chunk.count; ++k) visit(chunk.events[k]);
        }
    }

    [[nodiscard]] static bool before(const Event& a, const Event& b) {
        return (std::uint64_t{a.place} << 32 | a.offset) < (std::uint64_t{b.place} << 32 | b.offset);
    }

    /// Two counting passes over the place, then the few events of each place by time.
    void sort_by_place(Index head) {
        const std::uint32_t size = 1U << digit_bits_;
        const std::uint32_t mask = size - 1;
        std::fill(counts_.begin(), counts_.end(), 0);
        each(head, [&](const Event& event) {
            ++counts_[event.place & mask];
            ++counts_[size + (event.place >> digit_bits_)];
        });
        for (std::uint32_t half = 0; half < 2; ++half) {
            std::uint32_t sum = 0;
            for (std::uint32_t d = 0; d < size; ++d) {
                const std::uint32_t count = counts_[half * size + d];
                counts_[half * size + d] = sum;
                sum += count;
            }
        }
        half_sorted_.resize(sorted_.size());
        each(head, [&](const Event& event) { half_sorted_[counts_[event.place & mask]++] = event; });
        for (const Event& event : half_sorted_) sorted_[counts_[size + (event.place >> digit_bits_)]++] = event;
        for (std::size_t i = 0; i < sorted_.size();) {
            std::size_t j = i + 1;
            while (j < sorted_.size() && sorted_[j].place == sorted_[i].place) ++j;
            sort_by_time(i, j);
            i = j;
        }
    }

    void sort_by_time(std::size_t first, std::size_t last) {
        if (last - first > many) {
            std::sort(sorted_.begin() + static_cast<std::ptrdiff_t>(first),
                      sorted_.begin() + static_cast<std::ptrdiff_t>(last), before);
            return;
        }
        for (std::size_t i = first + 1; i < last; ++i) {
            const Event event = sorted_[i];
            std::size_t to = i;
            for (; to > first && sorted_[to - 1].offset > event.offset; --to) sorted_[to] = sorted_[to - 1];
            sorted_[to] = event;
        }
    }

    static constexpr std::size_t many = 24;  // more are not sorted by insertion

    Ticks window_;
    std::uint64_t per_window_;  // 2^64 / window
    std::uint32_t digit_bits_;
    std::uint64_t number_ = 0;
    bool started_ = false;
    std::uint64_t pending_ = 0;
    std::uint64_t order_ = 0;
    std::vector<Index> ring_;
    Pool<Chunk> chunks_;
    std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
    std::vector<Event> half_sorted_, sorted_;
    std::vector<std::uint32_t> counts_;
};

}  // namespace tramontane
