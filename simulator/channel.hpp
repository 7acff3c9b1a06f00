/// \file
/// Flow control of one buffer: how much of it is free, which space comes back when, and who waits for it.
///
/// Credits return at a time that is known as soon as the packet's departure is booked. They are therefore kept as a
/// list of (time, bytes) and applied when somebody looks; an event is needed only while something waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "pool.hpp"
#include "ticks.hpp"

namespace tramontane {

struct Credit {
    Ticks time;
    std::uint32_t bytes;
    Index next;
};

/// A queue of records that carry their own `next`.
struct Line {
    Index first = none;
    Index last = none;

    [[nodiscard]] bool empty() const { return first == none; }

    template <class P>
    void append(P& pool, Index i) {
        pool[i].next = none;
        if (first == none) {
            first = i;
        } else {
            pool[last].next = i;
        }
        last = i;
    }

    template <class P>
    Index pop(P& pool) {
        const Index i = first;
        first = pool[i].next;
        if (first == none) last = none;
        return i;
    }

    /// Removes the first record for which `fits` holds; none if there is no such record.
    template <class P, class F>
    Index take_first(P& pool, F&& fits) {
        for (Index before = none, i = first; i != none; before = i, i = pool[i].next) {
            if (!fits(pool[i])) continue;
            (before == none ? first : pool[before].next) = pool[i].next;
            if (last == i) last = before;
            return i;
        }
        return none;
    }
};

/// 32 B, so that the two channels of an output share a cache line. The next credit is kept in the channel itself:
/// where nothing is congested there is no other.
class Channel {
public:
    explicit Channel(std::int64_t space = 0) : credits_(static_cast<std::int32_t>(space)) {}

    Line waiting;  ///< packets (at a NIC: messages) that wait for credits

    [[nodiscard]] std::int64_t credits() const { return credits_; }
    /// Credits that somebody who looked at `now` would find; changes nothing.
    [[nodiscard]] std::int64_t credits_at(const Pool<Credit>& pool, Ticks now) const {
        if (!is_due(now)) return credits_;
        std::int64_t sum = credits_ + static_cast<std::int64_t>(next_bytes_);
        for (Index i = later_.first; i != none && pool[i].time <= now; i = pool[i].next) sum += pool[i].bytes;
        return sum;
    }
    void take(std::uint32_t bytes) {
        credits_ -= static_cast<std::int32_t>(bytes);
#ifdef TRAMONTANE_CHECKS
        if (credits_ < 0) throw std::logic_error("simulator: a buffer holds more than its size");
#endif
    }
    /// Gives back at once.
    void add(std::uint32_t bytes) { credits_ += static_cast<std::int32_t>(bytes); }

    /// Gives back at `time` > 0. Interleaving may let a later packet's tail end first by a fraction of a byte; the list
    /// stays in order.
    void give(Pool<Credit>& pool, Ticks time, std::uint32_t bytes) {
        if (next_bytes_ == 0) {
            next_time_ = time;
            next_bytes_ = bytes;
            return;
        }
        const Index i = pool.take();
        pool[i].time = std::max(time, later_.empty() ? next_time_ : pool[later_.last].time);
        pool[i].bytes = bytes;
        later_.append(pool, i);
    }

    [[nodiscard]] bool expects() const { return next_bytes_ != 0; }
    [[nodiscard]] Ticks next_time() const { return next_time_; }
    [[nodiscard]] bool is_due(Ticks now) const { return next_bytes_ != 0 && next_time_ <= now; }

    void apply_one(Pool<Credit>& pool) {
        credits_ += static_cast<std::int32_t>(next_bytes_);
        if (later_.empty()) {
            next_bytes_ = 0;
            return;
        }
        const Index i = later_.pop(pool);
        next_time_ = pool[i].time;
        next_bytes_ = pool[i].bytes;
        pool.give_back(i);
    }

    void apply(Pool<Credit>& pool, Ticks now) {
        while (is_due(now)) apply_one(pool);
    }

    /// Whether an event for the next credit is pending.
    [[nodiscard]] bool wake() const { return wake_ != 0; }
    void set_wake(bool wake) { wake_ = wake ? 1 : 0; }

private:
    Ticks next_time_ = 0;
    std::int32_t credits_;
    std::uint32_t next_bytes_ : 31 = 0;
    std::uint32_t wake_ : 1 = 0;
    Line later_;
};
static_assert(sizeof(Channel) == 32);

}  // namespace tramontane
