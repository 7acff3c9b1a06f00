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

#include "pool.hpp"
#include "ticks.hpp"

namespace tramontane {

/// An idle interval before the last, unbounded one.
struct Gap {
    Ticks start;
    std::uint64_t slots;
};

/// A few gaps in order, in one record of two cache lines. Where there would be more, the oldest is forgotten: it is
/// the one that time will soon have passed, and forgetting can only make the server slower.
class alignas(64) Gaps {
public:
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] Gap& operator[](std::size_t i) { return gaps_[i]; }
    void clear() { size_ = 0; }
    void erase(std::size_t first, std::size_t last) {
        std::copy(gaps_.begin() + last, gaps_.begin() + size_, gaps_.begin() + first);
        size_ -= static_cast<std::uint32_t>(last - first);
    }
    [[nodiscard]] bool full() const { return size_ == gaps_.size(); }
    /// Adds one at the end; there must be room.
    void append(Gap gap) { gaps_[size_++] = gap; }
    /// Inserts before position `at`; there must be room.
    void insert(std::size_t at, Gap gap) {
        std::copy_backward(gaps_.begin() + at, gaps_.begin() + size_, gaps_.begin() + size_ + 1);
        gaps_[at] = gap;
        ++size_;
    }

private:
    std::uint32_t size_;
    std::array<Gap, 15> gaps_;
};

struct Passage {
    Ticks head_leaves;
    Ticks tail_leaves;
};

/// Idle time of one server: bounded gaps (usually none; kept aside in a pool) and everything from `open` on.
class Arbiter {
public:
    /// Books a packet of `bytes` > 0 bytes whose head arrives at `now` and whose bytes follow every `spacing` ticks
    /// (0: all are there), on a server that needs `slot` ticks a byte. Calls must come in order of `now`.
    [[gnu::always_inline]] Passage book(Pool<Gaps>& pool, Ticks slot, Ticks now, std::uint32_t bytes, Ticks spacing) {
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

    void prefetch(const Pool<Gaps>& pool) const { pool.prefetch_whole(gaps_); }

private:
    /// Whether no byte comes later than the server could pass it on from `open` on.
    [[nodiscard]] bool is_in_time(Ticks slot, Ticks last, Ticks spacing) const {
        return spacing <= slot || last <= open_;
    }

    /// By itself, so that the usual case of a link needs no registers saved.
    [[gnu::noinline]] Passage book_with_gaps(Pool<Gaps>& pool, Ticks slot, Ticks now, std::uint32_t bytes,
                                             Ticks spacing) {
        if (gaps_ != none) forget_past(pool, slot, now);
        if (gaps_ != none) return interleave(pool, slot, now, bytes, spacing);
        open_ = std::max(open_, now);
        const Ticks head = open_;
        return {head, take_open(pool, slot, now + bytes * spacing, bytes, bytes, spacing)};
    }

    void forget_past(Pool<Gaps>& pool, Ticks slot, Ticks now) {
        Gaps& gaps = pool[gaps_];
        std::size_t first = 0;
        while (first < gaps.size() && gaps[first].start + gaps[first].slots * slot <= now) ++first;
        if (first > 0) gaps.erase(0, first);
        if (gaps.empty()) {
            release(pool);
        } else if (gaps[0].start < now) {
            gaps[0].slots -= (now - gaps[0].start) / slot;
            gaps[0].start = now;
        }
    }

    void release(Pool<Gaps>& pool) {
        pool[gaps_].clear();
        pool.give_back(gaps_);
        gaps_ = none;
    }

    /// Takes slots after `open` for the last `left` of a packet's bytes, and leaves those it does not need as a gap.
    /// \param last when the packet's last byte is in
    /// \return when the tail leaves
    Ticks take_open(Pool<Gaps>& pool, Ticks slot, Ticks last, std::uint64_t bytes, std::uint64_t left, Ticks spacing) {
        if (is_in_time(slot, last, spacing)) return open_ += left * slot;
        const Gap gap{open_, (last - open_) / slot};
        const Ticks end = gap.start + gap.slots * slot;
        // Less than a slot remains, in which no byte but the last comes.
        const std::uint64_t arrived = end == last ? bytes : bytes - 1, sent = bytes - left;
        const std::uint64_t can = arrived > sent ? arrived - sent : 0;
        open_ = last;
        if (can < gap.slots) {
            if (gaps_ == none) {
                gaps_ = pool.take();
                pool[gaps_].clear();
            }
            pool[gaps_].append({gap.start, gap.slots - can});
            return end;
        }
        left -= gap.slots;
        return left > dropped ? open_ += left * slot : end;
    }

    /// The usual case by itself, because it is most of the work at a crossbar: the first gaps end before the packet
    /// does, and take only some of its bytes. Returns the first gap that is different.
    static std::size_t trickle(Gaps& gaps, Ticks slot, Ticks now, Ticks last, Ticks spacing, std::uint64_t& left,
                               std::uint64_t& sent, Ticks& tail_leaves) {
        std::size_t i = 0;
        if (spacing <= slot) return i;
        for (; i < gaps.size() && left > dropped; ++i) {
            Gap& gap = gaps[i];
            const Ticks end = gap.start + gap.slots * slot;
            if (last <= gap.start || last < end) break;
            const std::uint64_t arrived = (end - now) / spacing;
            const std::uint64_t can = std::min(left, arrived > sent ? arrived - sent : 0);
            if (can >= gap.slots) break;
            gap.slots -= can;
            left -= can;
            sent += can;
            tail_leaves = end;
        }
        return i;
    }

    Passage interleave(Pool<Gaps>& pool, Ticks slot, Ticks now, std::uint32_t bytes, Ticks spacing) {
        Gaps& gaps = pool[gaps_];
        if (gaps.full()) gaps.erase(0, 1);  // a packet splits at most one interval
        const Ticks last = now + bytes * spacing;
        Passage passage{gaps.empty() ? std::max(open_, now) : gaps[0].start, 0};
        passage.tail_leaves = passage.head_leaves;
        std::uint64_t left = bytes;
        std::uint64_t sent = 0;
        std::size_t i = trickle(gaps, slot, now, last, spacing, left, sent, passage.tail_leaves);
        while (left > dropped) {
            if (i == gaps.size()) {
                open_ = std::max(open_, now);
                passage.tail_leaves = take_open(pool, slot, last, bytes, left, spacing);
                break;
            }
            const Ticks start = gaps[i].start;
            if (spacing <= slot || last <= start) {  // all bytes are there in time: use slots from the front
                if (gaps[i].slots <= left) {
                    passage.tail_leaves = start + gaps[i].slots * slot;
                    left -= gaps[i].slots;
                    sent += gaps[i].slots;
                    gaps.erase(i, i + 1);
                    continue;
                }
                passage.tail_leaves = start + left * slot;
                gaps[i].start = passage.tail_leaves;
                gaps[i].slots -= left;
                break;
            }
            const Ticks end = start + gaps[i].slots * slot;
            if (last < end) {  // the packet ends inside: cut the interval there and use its first part
                const std::uint64_t slots = (last - start) / slot;
                const std::uint64_t rest = gaps[i].slots - slots;
                gaps[i].slots = slots;
                gaps.insert(i + 1, {last, rest});
            }
            const Ticks gap_end = start + gaps[i].slots * slot;
            const std::uint64_t arrived = (gap_end - now) / spacing;
            const std::uint64_t can = std::min(left, arrived > sent ? arrived - sent : 0);
            passage.tail_leaves = gap_end;
            if (can >= gaps[i].slots) {
                left -= gaps[i].slots;
                sent += gaps[i].slots;
                gaps.erase(i, i + 1);
            } else {
                gaps[i].slots -= can;
                left -= can;
                sent += can;
                ++i;
            }
        }
        if (gaps.empty()) release(pool);
        return passage;
    }

    /// Bytes that whole slots cannot place, from truncation: they take no time.
    static constexpr std::uint64_t dropped = 2;

    Ticks open_ = 0;
    Index gaps_ = none;
};

}  // namespace tramontane
