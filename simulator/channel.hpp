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

/// A queue in 4 B: a ring of which the last record is known.
class Ring {
public:
    [[nodiscard]] bool empty() const { return last_ == none; }
    [[nodiscard]] Index last() const { return last_; }

    template <class P>
    [[nodiscard]] Index first(const P& pool) const {
        return pool[last_].next;
    }

    template <class P>
    void append(P& pool, Index i) {
        pool[i].next = last_ == none ? i : pool[last_].next;
        if (last_ != none) pool[last_].next = i;
        last_ = i;
    }

    template <class P>
    Index pop(P& pool) {
        return remove_after(pool, last_);
    }

    template <class P>
    Index remove_after(P& pool, Index before) {
        const Index i = pool[before].next;
        pool[before].next = pool[i].next;
        if (i == last_) last_ = i == before ? none : before;
        return i;
    }

private:
    Index last_ = none;
};

/// Packets that wait for room: the first that fits goes, in order of arrival. Looking through hundreds of packets for
/// the one that fits would take most of a simulation's time, so full packets, control messages and the others have
/// lanes of their own. In the first two all are of one size; of the others, the last knows a lower bound.
class Queue {
public:
    [[nodiscard]] bool empty() const { return small_.empty() && other_.empty() && full_.empty(); }

    /// Appends a packet; its `order` tells when it came.
    /// \param full size of a full packet [B]
    template <class P>
    void append(P& packets, Index i, std::uint32_t full) {
        auto& packet = packets[i];
        if (packet.bytes == full) {
            full_.append(packets, i);
        } else if (packet.bytes == small_bytes) {
            small_.append(packets, i);
        } else {
            packet.bound = other_.empty() ? packet.bytes : std::min(packet.bytes, packets[other_.last()].bound);
            other_.append(packets, i);
        }
    }

    /// Removes the first that is not larger than `room`; none if there is none.
    template <class P>
    Index take_fitting(P& packets, std::int64_t room) {
        Ring* best = nullptr;
        for (Ring* lane : {&small_, &full_}) {
            if (lane->empty() || packets[lane->first(packets)].bytes > room) continue;
            if (best == nullptr || earlier(packets, lane->first(packets), best->first(packets))) best = lane;
        }
        if (!other_.empty() && packets[other_.last()].bound <= room) {
            std::uint32_t smallest = ~std::uint32_t{0};
            Index before = other_.last();
            do {
                const Index i = packets[before].next;
                if (best != nullptr && earlier(packets, best->first(packets), i)) return best->pop(packets);
                if (packets[i].bytes <= room) {
                    const std::uint32_t bound = packets[other_.last()].bound;
                    other_.remove_after(packets, before);
                    if (!other_.empty()) packets[other_.last()].bound = bound;
                    return i;
                }
                smallest = std::min(smallest, packets[i].bytes);
                before = i;
            } while (before != other_.last());
            packets[other_.last()].bound = smallest;
        }
        return best != nullptr ? best->pop(packets) : none;
    }

    /// Any that waits, for reports.
    template <class P>
    [[nodiscard]] Index any(const P& packets) const {
        return (small_.empty() ? full_.empty() ? other_ : full_ : small_).first(packets);
    }

    /// The lane of what has no size: a NIC's messages wait for room for a packet, and in order.
    [[nodiscard]] Ring& lane() { return small_; }

private:
    static constexpr std::uint32_t small_bytes = 64;

    /// Orders are 32-bit counts, which may have wrapped.
    template <class P>
    static bool earlier(const P& packets, Index a, Index b) {
        return static_cast<std::int32_t>(packets[a].order - packets[b].order) < 0;
    }

    Ring small_;
    Ring full_;
    Ring other_;
};

/// 32 B, so that the two channels of an output share a cache line. The next credit is kept in the channel itself:
/// where nothing is congested there is no other.
class Channel {
public:
    explicit Channel(std::int64_t space = 0) : credits_(static_cast<std::int32_t>(space)) {}

    Queue waiting;  ///< packets (at a NIC: messages) that wait for credits

    [[nodiscard]] std::int64_t credits() const { return credits_; }
    /// Credits that somebody who looked at `now` would find; changes nothing.
    [[nodiscard]] std::int64_t credits_at(const Pool<Credit>& pool, Ticks now) const {
        if (!is_due(now)) return credits_;
        std::int64_t sum = credits_ + static_cast<std::int64_t>(next_bytes_);
        if (later_.empty()) return sum;
        for (Index i = later_.first(pool);; i = pool[i].next) {
            if (pool[i].time > now) break;
            sum += pool[i].bytes;
            if (i == later_.last()) break;
        }
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
        pool[i].time = std::max(time, later_.empty() ? next_time_ : pool[later_.last()].time);
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
    Ring later_;
    Ticks next_time_ = 0;
    std::int32_t credits_;
    std::uint32_t next_bytes_ : 31 = 0;
    std::uint32_t wake_ : 1 = 0;
};
static_assert(sizeof(Channel) == 32);

}  // namespace tramontane
