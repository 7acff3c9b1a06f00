/// \file
/// A cut-through server of fixed bandwidth: injection port, crossbar or link.
///
/// PISCES' rule in its own words: the server keeps the idle time it still has, as intervals of whole byte slots. A
/// packet leaves as soon as there is a free slot; where its bytes come in more slowly than the server could pass them
/// on, it takes only the slots it needs and the gaps stay free for others. Interleaving therefore shows up as a packet
/// with a longer byte time (reference: SST/macro 16.0, PISCES, cut_through arbitrator).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "memory/lines.hpp"
#include "rules/rule.hpp"
#include "ticks.hpp"

namespace tramontane {

/// An idle interval before the last, unbounded one.
struct Gap {
    Ticks start;
    std::uint64_t slots;
};

/// A few gaps in order, in one record of four cache lines. Where there would be more, the oldest is forgotten: it is
/// the one that time will soon have passed, and forgetting can only make the server slower.
class alignas(64) Gaps {
public:
    [[nodiscard]] TRAMONTANE_RULE bool empty() const { return begin_ == end_; }
    [[nodiscard]] TRAMONTANE_RULE std::size_t size() const { return end_ - begin_; }
    [[nodiscard]] TRAMONTANE_RULE Gap& operator[](std::size_t i) { return gaps_[begin_ + i]; }
    [[nodiscard]] TRAMONTANE_RULE Gap* begin() { return gaps_.data() + begin_; }
    [[nodiscard]] TRAMONTANE_RULE Gap* end() { return gaps_.data() + end_; }
    TRAMONTANE_RULE void clear() { begin_ = end_ = 0; }
    TRAMONTANE_RULE void erase(std::size_t i) {
        copy_down(begin() + i + 1, end(), begin() + i);
        --end_;
    }
    /// Erases the first `n`.
    TRAMONTANE_RULE void erase_first(std::size_t n) { begin_ += static_cast<std::uint32_t>(n); }
    [[nodiscard]] TRAMONTANE_RULE bool full() const { return size() == gaps_.size(); }
    /// Adds one at the end; there must be room.
    TRAMONTANE_RULE void append(Gap gap) {
        if (end_ == gaps_.size()) move_to_begin();
        gaps_[end_++] = gap;
    }
    /// Inserts before position `at`; there must be room.
    TRAMONTANE_RULE void insert(std::size_t at, Gap gap) {
        if (end_ == gaps_.size()) move_to_begin();
        copy_up(begin() + at, end(), end() + 1);
        gaps_[begin_ + at] = gap;
        ++end_;
    }

private:
    [[gnu::noinline]] TRAMONTANE_RULE void move_to_begin() {
        copy_down(begin(), end(), gaps_.data());
        end_ -= begin_;
        begin_ = 0;
    }

    std::uint32_t begin_, end_;
    std::array<Gap, 15> gaps_;
};
static_assert(sizeof(Gaps) == 256);

struct Passage {
    Ticks head_leaves;
    Ticks tail_leaves;

    /// Ticks between the bytes of a packet that left so; 21 us at most. As a rule nothing held it up: a division less.
    /// \param slot of the server
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t spacing(std::uint32_t bytes, Ticks slot) const {
        const Ticks length = tail_leaves - head_leaves;
        const Ticks spacing = length == bytes * slot ? slot : length / bytes;
        return static_cast<std::uint32_t>(std::min<Ticks>(spacing, ~std::uint32_t{0}));
    }
};

/// Idle time of one server: bounded gaps (usually none; kept aside in a pool) and everything from `open` on.
class Arbiter {
public:
    /// Books a packet of `bytes` > 0 bytes whose head arrives at `now` and whose bytes follow every `spacing` ticks
    /// (0: all are there), on a server that needs `slot` ticks a byte. Calls must come in order of `now`.
    template <class Pool>
    TRAMONTANE_STEP TRAMONTANE_RULE Passage book(Pool& pool, Ticks slot, Ticks now, std::uint32_t bytes,
                                                 Ticks spacing) {
        touch(*this);
        if (gaps_ == none) {
            open_ = std::max(open_, now);
            if (is_in_time(slot, now + bytes * spacing, spacing)) {
                const Ticks head = open_;
                open_ += bytes * slot;
                return {head, open_};
            }
        }
        return book_with_gaps(pool, slot, now, bytes, spacing);
    }

    template <class Pool>
    TRAMONTANE_RULE void prefetch(const Pool& pool) const {
        pool.prefetch_whole(gaps_);
    }

    /// Bytes that are booked and have not left at `now`. Slots that stay idle are none: others may have them.
    template <class Pool>
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t booked(Pool& pool, Ticks slot, Ticks now) const {
        if (open_ <= now) return 0;
        std::uint64_t slots = (open_ - now) / slot;
        if (gaps_ == none) return slots;
        for (const Gap& gap : pool[gaps_]) {
            if (gap.start >= now) {
                slots -= gap.slots;
            } else if (const Ticks end = gap.start + gap.slots * slot; end > now) {
                slots -= (end - now) / slot;
            }
        }
        return slots;
    }

private:
    /// A packet on its way through the server: so much of it has a slot, until then.
    struct Sending {
        Ticks now, last, spacing;
        std::uint64_t bytes, sent;
        Ticks tail_leaves;

        /// Whole slots cannot place up to two bytes, from truncation: they are dropped and take no time.
        [[nodiscard]] TRAMONTANE_RULE bool is_done() const { return left() <= 2; }
        [[nodiscard]] TRAMONTANE_RULE std::uint64_t left() const { return bytes - sent; }
        /// Bytes without a slot that are there at `time`, which is not after the last one's.
        [[nodiscard]] TRAMONTANE_RULE std::uint64_t waiting(Ticks time) const {
            return std::max(sent, (time - now) / spacing) - sent;
        }
    };

    /// Whether no byte comes later than the server could pass it on from `open` on.
    [[nodiscard]] TRAMONTANE_RULE bool is_in_time(Ticks slot, Ticks last, Ticks spacing) const {
        return spacing <= slot || last <= open_;
    }

    /// By itself, so that the usual case of a link needs no registers saved.
    template <class Pool>
    [[gnu::noinline]] TRAMONTANE_RULE Passage book_with_gaps(Pool& pool, Ticks slot, Ticks now, std::uint32_t bytes,
                                                             Ticks spacing) {
        if (gaps_ != none) forget_past(pool, slot, now);
        open_ = std::max(open_, now);
        Ticks head = open_;
        Sending packet{now, now + bytes * spacing, spacing, bytes, 0, head};
        if (gaps_ != none) {
            Gaps& gaps = pool[gaps_];
            if (gaps.full()) gaps.erase_first(1);  // a packet splits at most one interval
            packet.tail_leaves = head = gaps[0].start;
            const std::size_t i = trickle(gaps, slot, packet);
            if (i < gaps.size() && !packet.is_done()) {
                if (interleave(gaps, i, slot, packet)) packet.sent = packet.bytes;
                if (gaps.empty()) release(pool);
            }
            if (!packet.is_done()) take_open(pool, slot, packet);
        } else if (is_in_time(slot, packet.last, spacing) || !packet.is_done()) {
            take_open(pool, slot, packet);
        }
        return {head, packet.tail_leaves};
    }

    template <class Pool>
    TRAMONTANE_RULE void forget_past(Pool& pool, Ticks slot, Ticks now) {
        Gaps& gaps = pool[gaps_];
        Gap* first = gaps.begin();
        while (first != gaps.end() && first->start + first->slots * slot <= now) ++first;
        gaps.erase_first(static_cast<std::size_t>(first - gaps.begin()));
        if (gaps.empty()) {
            release(pool);
        } else if (gaps[0].start < now) {
            gaps[0].slots -= (now - gaps[0].start) / slot;
            gaps[0].start = now;
        }
    }

    template <class Pool>
    TRAMONTANE_RULE void release(Pool& pool) {
        pool[gaps_].clear();
        pool.give_back(gaps_);
        gaps_ = none;
    }

    /// Takes slots after `open` for the rest of a packet, and leaves those that it does not need as a gap.
    template <class Pool>
    TRAMONTANE_RULE void take_open(Pool& pool, Ticks slot, Sending& packet) {
        if (!is_in_time(slot, packet.last, packet.spacing)) {
            Gap gap{open_, (packet.last - open_) / slot};
            packet.tail_leaves = gap.start + gap.slots * slot;
            open_ = packet.last;
            // Less than a slot remains, in which no byte but the last comes.
            const std::uint64_t arrived = packet.tail_leaves == packet.last ? packet.bytes : packet.bytes - 1;
            const std::uint64_t can = std::max(packet.sent, arrived) - packet.sent;
            if (can < gap.slots) {
                gap.slots -= can;
                if (gaps_ == none) {
                    gaps_ = pool.take();
                    pool[gaps_].clear();
                }
                pool[gaps_].append(gap);
                return;
            }
            packet.sent += gap.slots;
            if (packet.is_done()) return;
        }
        packet.tail_leaves = open_ += packet.left() * slot;
    }

    /// The usual case by itself, because it is most of the work at a crossbar: the first gaps end before the packet
    /// does, and take only some of its bytes. Returns the first gap that is different.
    TRAMONTANE_RULE static std::size_t trickle(Gaps& gaps, Ticks slot, Sending& sending) {
        if (sending.spacing <= slot) return 0;
        Sending packet = sending;  // in registers
        Gap* gap = gaps.begin();
        for (; gap != gaps.end() && !packet.is_done(); ++gap) {
            const Ticks end = gap->start + gap->slots * slot;
            if (end > packet.last) break;
            const std::uint64_t can = packet.waiting(end);
            if (can >= gap->slots) break;
            gap->slots -= can;
            packet.sent += can;
            packet.tail_leaves = end;
        }
        sending = packet;
        return static_cast<std::size_t>(gap - gaps.begin());
    }

    /// From gap `i` on, all that may happen. Returns whether the packet has all the slots it needs.
    [[gnu::noinline]] TRAMONTANE_RULE static bool interleave(Gaps& gaps, std::size_t i, Ticks slot, Sending& packet) {
        while (i < gaps.size() && !packet.is_done()) {
            Gap& gap = gaps[i];
            if (packet.spacing <= slot || packet.last <= gap.start) {  // all bytes are there: use slots from the front
                if (gap.slots > packet.left()) {
                    packet.tail_leaves = gap.start + packet.left() * slot;
                    gap.slots -= packet.left();
                    gap.start = packet.tail_leaves;
                    return true;
                }
                packet.tail_leaves = gap.start + gap.slots * slot;
                packet.sent += gap.slots;
                gaps.erase(i);
                continue;
            }
            if (packet.last < gap.start + gap.slots * slot) {  // the packet ends inside: cut, and use the first part
                const std::uint64_t slots = (packet.last - gap.start) / slot;
                const std::uint64_t rest = gap.slots - slots;
                gap.slots = slots;
                gaps.insert(i + 1, {packet.last, rest});
            }
            packet.tail_leaves = gaps[i].start + gaps[i].slots * slot;
            const std::uint64_t can = packet.waiting(packet.tail_leaves);
            if (can >= gaps[i].slots) {
                packet.sent += gaps[i].slots;
                gaps.erase(i);
            } else {
                gaps[i].slots -= can;
                packet.sent += can;
                ++i;
            }
        }
        return packet.is_done();
    }

    Ticks open_ = 0;
    Index gaps_ = none;
};

}  // namespace tramontane
