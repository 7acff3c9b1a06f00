/// \file
/// Flow control of one buffer: how much of it is free, which space comes back when, and who waits for it.
///
/// Credits return at a time that is known as soon as the packet's departure is booked. They are therefore kept as a
/// list of (time, bytes) and applied when somebody looks; an event is needed only while something waits.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>

#include "memory/lines.hpp"
#include "rules/records.hpp"
#include "rules/rule.hpp"
#include "ticks.hpp"

namespace tramontane {

/// Some credits in order, in one cache line. A burst leaves thousands of headers' credits at each buffer, most of them
/// at equal distances, because the packets left one after the other: of such, any number follows the last.
struct alignas(64) Credits {
    static constexpr std::uint8_t size = 4;

    std::array<Ticks, size> times;
    std::array<std::uint32_t, size> bytes;
    Index next;
    std::uint8_t begin, end;
    std::uint16_t more;  ///< like the last, each `step` later
    Ticks step;

    [[nodiscard]] TRAMONTANE_RULE Ticks latest() const { return times[end - 1] + more * step; }
    /// Whether the credit could be added to those that come at equal distances.
    /// \pre end == size
    [[nodiscard]] TRAMONTANE_RULE bool extend(Ticks time, std::uint32_t bytes_) {
        if (more == 0) step = times[size - 1] - times[size - 2];
        if (bytes_ != bytes[size - 1] || time - latest() != step || more == 0xffff) return false;
        ++more;
        return true;
    }
    /// Removes the first; whether others follow.
    [[nodiscard]] TRAMONTANE_RULE bool advance() {
        if (++begin != end) return true;
        if (more == 0) return false;
        --more;
        times[--begin] += step;
        return true;
    }
};
static_assert(sizeof(Credits) == 64);

/// A queue of records that carry their own `next`.
struct IntrusiveQueue {
    Index first = none;
    Index last = none;

    [[nodiscard]] TRAMONTANE_RULE bool empty() const { return first == none; }

    template <class P>
    TRAMONTANE_RULE void append(P& pool, Index i) {
        pool[i].next = none;
        if (first == none) {
            first = i;
        } else {
            pool[last].next = i;
        }
        last = i;
    }

    template <class P>
    TRAMONTANE_RULE void prepend(P& pool, Index i) {
        pool[i].next = first;
        if (first == none) last = i;
        first = i;
    }

    template <class P>
    TRAMONTANE_RULE Index pop(P& pool) {
        const Index i = first;
        first = pool[i].next;
        if (first == none) last = none;
        return i;
    }

    /// Removes the first record for which `fits` holds; none if there is no such record.
    template <class P, class F>
    TRAMONTANE_RULE Index take_first(P& pool, F&& fits) {
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
class IntrusiveRing {
public:
    [[nodiscard]] TRAMONTANE_RULE bool empty() const { return last_ == none; }
    [[nodiscard]] TRAMONTANE_RULE Index last() const { return last_; }

    template <class P>
    [[nodiscard]] TRAMONTANE_RULE Index first(const P& pool) const {
        return pool[last_].next;
    }

    template <class P>
    TRAMONTANE_RULE void append(P& pool, Index i) {
        pool[i].next = last_ == none ? i : pool[last_].next;
        if (last_ != none) pool[last_].next = i;
        last_ = i;
    }

    template <class P>
    TRAMONTANE_RULE Index pop(P& pool) {
        return remove_after(pool, last_);
    }

    template <class P>
    TRAMONTANE_RULE Index remove_after(P& pool, Index before) {
        const Index i = pool[before].next;
        pool[before].next = pool[i].next;
        if (i == last_) last_ = i == before ? none : before;
        return i;
    }

private:
    Index last_ = none;
};

/// Records that are put aside, in 4 B. Putting one aside touches no other: they have long left the cache.
class IntrusiveStack {
public:
    [[nodiscard]] TRAMONTANE_RULE bool empty() const { return top_ == none; }
    [[nodiscard]] TRAMONTANE_RULE Index top() const { return top_; }

    template <class P>
    TRAMONTANE_RULE void push(P& pool, Index i) {
        pool[i].next = top_;
        top_ = i;
    }

    /// Removes those for which `fits(record)` holds; they come in the order in which they were put aside.
    template <class P, class F>
    TRAMONTANE_RULE IntrusiveQueue take(P& pool, F&& fits) {
        IntrusiveQueue taken;
        Index* link = &top_;
        for (Index i = top_; i != none;) {
            auto& record = pool[i];
            const Index next = record.next;
            if (fits(record)) {
                *link = next;
                taken.prepend(pool, i);
            } else {
                link = &record.next;
            }
            i = next;
        }
        return taken;
    }

private:
    Index top_ = none;
};

/// Packets that wait for room: the first that fits goes, in order of arrival. Looking through hundreds of packets for
/// the one that fits would take most of a simulation's time, so full packets, control messages and the others have
/// lanes of their own. In the first two all are of one size; of the others, the last knows a lower bound.
///
/// No packet is looked at before it goes, as far as possible: those that wait have long left the cache.
class Queue {
public:
    [[nodiscard]] TRAMONTANE_RULE bool empty() const { return (full_.first | small_.last() | other_.last()) == none; }

    /// Appends a packet; its `order` tells when it came.
    /// \param full size of a full packet [B]
    template <class P>
    TRAMONTANE_ONCE TRAMONTANE_RULE void append(P& packets, Index i, std::uint32_t full) {
        auto& packet = packets[i];
        if (packet.bytes == full) {
            full_.append(packets, i);
        } else if (packet.bytes == control_bytes) {
            small_.append(packets, i);
        } else {
            packet.bound = other_.empty() ? packet.bytes : std::min(packet.bytes, packets[other_.last()].bound);
            other_.append(packets, i);
        }
    }

    /// Removes the first that is not larger than `room`; none if there is none.
    template <class P>
    TRAMONTANE_ONCE TRAMONTANE_RULE Index take_fitting(P& packets, std::int64_t room, std::uint32_t full) {
        if ((small_.last() | other_.last()) == none) return !full_.empty() && full <= room ? pop_full(packets) : none;
        const bool small_fits = !small_.empty() && control_bytes <= room;
        const bool full_fits = !full_.empty() && full <= room;
        const bool other_fits = !other_.empty() && packets[other_.last()].bound <= room;
        if (!other_fits && !small_fits) return full_fits ? pop_full(packets) : none;
        const bool small_leads = small_fits && (!full_fits || earlier(packets, small_.first(packets), full_.first));
        const Index best = small_leads ? small_.first(packets) : full_fits ? full_.first : none;
        if (other_fits) {
            std::uint32_t smallest = ~std::uint32_t{0};
            Index before = other_.last();
            do {
                const Index i = packets[before].next;
                if (best != none && earlier(packets, best, i)) break;
                if (packets[i].bytes <= room) {
                    const std::uint32_t bound = packets[other_.last()].bound;
                    other_.remove_after(packets, before);
                    if (!other_.empty()) packets[other_.last()].bound = bound;
                    packets.prefetch(first_other(packets));
                    return i;
                }
                smallest = std::min(smallest, packets[i].bytes);
                before = i;
                if (before == other_.last()) packets[before].bound = smallest;
            } while (before != other_.last());
        }
        if (best == none) return none;
        return small_leads ? pop_small(packets) : pop_full(packets);
    }

    /// The first full packet, which is most likely to go next; none if there is none.
    [[nodiscard]] TRAMONTANE_RULE Index first_full() const { return full_.first; }
    /// The full packet that another would be appended to.
    [[nodiscard]] TRAMONTANE_RULE Index last_full() const { return full_.last; }
    /// Of packets of no common size the last, which knows how much room one of them needs at least, and the first.
    [[nodiscard]] TRAMONTANE_RULE Index last_other() const { return other_.last(); }
    template <class P>
    [[nodiscard]] TRAMONTANE_RULE Index first_other(const P& packets) const {
        return other_.empty() ? none : other_.first(packets);
    }

    /// Any that waits, for reports.
    template <class P>
    [[nodiscard]] TRAMONTANE_RULE Index any(const P& packets) const {
        return !full_.empty() ? full_.first : (small_.empty() ? other_ : small_).first(packets);
    }

private:
    // The packet behind one that goes is often next within the same window, where no stage fetches it.
    template <class P>
    TRAMONTANE_RULE Index pop_full(P& packets) {
        const Index i = full_.pop(packets);
        packets.prefetch(full_.first);
        return i;
    }
    template <class P>
    TRAMONTANE_RULE Index pop_small(P& packets) {
        const Index i = small_.pop(packets);
        if (!small_.empty()) packets.prefetch(small_.first(packets));
        return i;
    }

    /// Orders are 32-bit counts, which may have wrapped.
    template <class P>
    TRAMONTANE_RULE static bool earlier(const P& packets, Index a, Index b) {
        return static_cast<std::int32_t>(packets[a].order - packets[b].order) < 0;
    }

    IntrusiveQueue full_;
    IntrusiveRing small_;
    IntrusiveRing other_;
};

/// The next `Near` credits are kept in the channel itself: there are rarely more, and fetching them from elsewhere
/// costs as much as everything else that a packet does at a switch.
template <std::size_t Near, class Waiting = Queue>
class Channel {
public:
    TRAMONTANE_RULE explicit Channel(std::int64_t space = 0) : credits_(static_cast<std::int32_t>(space)) {
        times_.fill(Ticks{never});  // by value: an accelerator has no constants to refer to
    }

    [[nodiscard]] TRAMONTANE_RULE std::int64_t credits() const { return credits_; }
    /// Credits that somebody who looked at `now` would find; changes nothing.
    template <class Pool>
    [[nodiscard]] TRAMONTANE_RULE std::int64_t credits_at(const Pool& pool, Ticks now) const {
        std::int64_t sum = credits_;
        for (std::size_t i = 0; i < Near; ++i) {
            if (times_[i] > now) return sum;
            sum += bytes_[i];
        }
        for (Index i = first_; i != none; i = pool[i].next) {
            const Credits& some = pool[i];
            for (std::size_t k = some.begin; k < some.end; ++k) {
                if (some.times[k] > now) return sum;
                sum += some.bytes[k];
            }
            for (std::uint32_t k = 0; k < some.more; ++k) {
                if (some.times[Credits::size - 1] + (k + 1) * some.step > now) return sum;
                sum += some.bytes[Credits::size - 1];
            }
        }
        return sum;
    }
    TRAMONTANE_RULE void take(std::uint32_t bytes) {
        touch(*this);
        credits_ -= static_cast<std::int32_t>(bytes);
#ifdef TRAMONTANE_CHECKS
        if (credits_ < 0) fail<std::logic_error>("simulator: a buffer holds more than its size");
#endif
    }
    /// Gives back at once.
    TRAMONTANE_RULE void add(std::uint32_t bytes) { credits_ += static_cast<std::int32_t>(bytes); }

    /// Gives back at `time`. Interleaving may let a later packet's tail end first by a fraction of a byte; the list
    /// stays in order.
    template <class Pool>
    TRAMONTANE_ONCE TRAMONTANE_RULE void give(Pool& pool, Ticks time, std::uint32_t bytes) {
        touch(*this);
        if (times_[Near - 1] == never) {
            std::size_t i = 0;
            while (times_[i] != never) ++i;
            times_[i] = i == 0 ? time : std::max(time, times_[i - 1]);
            bytes_[i] = bytes;
            return;
        }
        give_to_pool(pool, time, bytes);
    }

    [[nodiscard]] TRAMONTANE_RULE bool expects() const { return times_[0] != never; }
    [[nodiscard]] TRAMONTANE_RULE Ticks next_time() const { return times_[0]; }
    [[nodiscard]] TRAMONTANE_RULE bool is_due(Ticks now) const { return times_[0] <= now; }

    template <class Pool>
    TRAMONTANE_ONCE TRAMONTANE_RULE void apply_one(Pool& pool) {
        credits_ += static_cast<std::int32_t>(bytes_[0]);
        for (std::size_t i = 1; i < Near; ++i) {
            times_[i - 1] = times_[i];
            bytes_[i - 1] = bytes_[i];
        }
        if (first_ == none) {
            times_[Near - 1] = never;
            return;
        }
        const Index i = first_;
        Credits& first = pool[i];
        times_[Near - 1] = first.times[first.begin];
        bytes_[Near - 1] = first.bytes[first.begin];
        if (!first.advance()) {
            first_ = first.next;
            pool.give_back(i);
            pool.prefetch(first_);
        }
    }

    template <class Pool>
    TRAMONTANE_ONCE TRAMONTANE_RULE void apply(Pool& pool, Ticks now) {
        touch(*this);
        while (is_due(now)) apply_one(pool);
    }

    /// Whether something waits for a credit that is on its way.
    [[nodiscard]] TRAMONTANE_RULE bool awaited() const { return expects() && !waiting.empty(); }

    /// Whether an event for the next credit is pending (switches; a node catches up instead).
    [[nodiscard]] TRAMONTANE_RULE bool wake() const { return (last_and_wake_ & wake_bit) != 0; }
    TRAMONTANE_RULE void set_wake(bool on) { last_and_wake_ = last_block() | (on ? wake_bit : 0); }

    /// Brings what is not in the channel itself into the cache: the next credits, and where others are added.
    template <class Pool>
    TRAMONTANE_RULE void prefetch(const Pool& pool) const {
        if (first_ == none) return;
        pool.prefetch(first_);
        if (last_block() != first_) pool.prefetch(last_block());
    }

private:
    /// The rare part of `give`, kept out of the way of the other.
    template <class Pool>
    [[gnu::noinline]] TRAMONTANE_RULE void give_to_pool(Pool& pool, Ticks time, std::uint32_t bytes) {
        if (first_ == none) {
            first_ = new_block(pool);
            set_last(first_);
            time = std::max(time, times_[Near - 1]);
        } else {
            Credits& last = pool[last_block()];
            time = std::max(time, last.latest());
            if (last.end == Credits::size) {
                if (bytes <= control_bytes && last.extend(time, bytes)) return;
                last.next = new_block(pool);
                set_last(last.next);
            }
        }
        Credits& last = pool[last_block()];
        last.times[last.end] = time;
        last.bytes[last.end++] = bytes;
    }

    template <class Pool>
    TRAMONTANE_RULE static Index new_block(Pool& pool) {
        const Index i = pool.take();
        if ((i & wake_bit) != 0) fail<std::runtime_error>("simulator: a pool is full");
        pool[i].next = none;
        pool[i].begin = pool[i].end = 0;
        pool[i].more = 0;
        pool[i].step = 0;
        return i;
    }

    // No bit fields: the compiler would write single bytes of what is read as a word soon after, and the processor
    // would wait until all its stores are done.
    static constexpr Index wake_bit = Index{1} << 31;
    [[nodiscard]] TRAMONTANE_RULE Index last_block() const { return last_and_wake_ & ~wake_bit; }
    TRAMONTANE_RULE void set_last(Index i) { last_and_wake_ = i | (last_and_wake_ & wake_bit); }

    static constexpr Ticks never = ~Ticks{0};

    // Credits to come, in order of time; those beyond `Near` are in the pool.
    std::array<Ticks, Near> times_;
    std::array<std::uint32_t, Near> bytes_{};
    std::int32_t credits_;

public:
    Waiting waiting;  ///< packets (at a NIC: messages) that wait for credits

private:
    Index first_ = none;          ///< of the pool's
    Index last_and_wake_ = none;  ///< the last of the pool's, meaningful where there is a first; what `wake` says
};

/// Of a switch's buffers: one cache line. Of a node's: two of them and the rest of an idle rank take less than 200 B.
/// A NIC's messages wait for room for a packet, whatever they are, and in order.
using SwitchChannel = Channel<3>;
using NodeChannel = Channel<2>;
using NicChannel = Channel<2, IntrusiveQueue>;
static_assert(sizeof(SwitchChannel) == 64 && sizeof(NodeChannel) == 56 && sizeof(NicChannel) == 48);

}  // namespace tramontane
