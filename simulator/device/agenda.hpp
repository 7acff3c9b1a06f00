/// \file
/// What is pending, by window and LP, written to by all lanes at the same time.
///
/// Events of the windows that follow soon lie in bins, one for each LP and window, as chains of chunks; a bit tells
/// that a bin has something. Later ones lie in a second wheel, whose buckets are many windows long, and come into the
/// bins in time. In which order events come into a bin is left open: whoever takes them out sorts them.
#pragma once

#include <cstdint>

#include "device/atomic.hpp"
#include "device/records.hpp"
#include "random.hpp"
#include "rules/events.hpp"
#include "rules/rule.hpp"
#include "rules/windows.hpp"

namespace tramontane::device {

struct alignas(16) Pending {
    std::uint32_t offset;  ///< ticks since the window began
    std::uint32_t code;
    Index item;         ///< packet or transaction; bytes of credits
    std::uint32_t tie;  ///< of packet or transaction
};

class Agenda {
    static constexpr std::uint32_t of_chunk = 7;
    struct alignas(128) Chunk {
        Index before;         ///< chunk of the same bin
        std::uint32_t count;  ///< of events that were put here, or that somebody wanted to put here
        Pending events[of_chunk];
    };
    struct alignas(128) FarChunk {
        struct Far {
            Ticks time;
            LpId lp;
            std::uint32_t code, tie;
            Index item;
        };
        Index before;
        std::uint32_t count;
        Far events[5];
    };
    static_assert(sizeof(Chunk) == 128 && sizeof(FarChunk) == 128);

public:
#ifdef TRAMONTANE_SMALL_STORAGE
    static constexpr std::uint32_t near = 8, buckets = 4;  // for tests: results do not depend on them
#else
    static constexpr std::uint32_t near = 128, buckets = 512;
#endif
    static constexpr std::uint32_t epoch = near / 4;  ///< windows of a bucket
    static constexpr std::uint64_t ended = ~std::uint64_t{0};

    /// \param chunks that there is room for, until `grow`
    Agenda(Memory& memory, Ticks lookahead, LpId lps, std::uint32_t chunks)
        : windows(lookahead),
          lps_(lps),
          words_((lps + 31) / 32),
          chunks_(memory, chunks),
          far_chunks_(memory, chunks),
          tails_(memory, std::size_t{near} * lps),
          busy_(memory, std::size_t{near} * words_) {}

    const Windows windows;

    /// The window whose events are handled.
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t window() const { return window_; }
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t words() const { return words_; }

    /// Adds an event of a later window.
    TRAMONTANE_RULE void push(Ticks time, LpId lp, std::uint32_t code, Index item, std::uint32_t tie) {
        const auto [number, offset] = windows.of(time);
        if (number - window_ < near) {
            put(number, lp, {offset, code, item, tie});
        } else {
            put_far(number / epoch, {time, lp, code, tie, item});
        }
    }

    /// Takes the bits of a word of busy LPs of this window.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t take_busy(std::uint32_t word) {
        std::uint32_t& bits = busy_[slot(window_) * words_ + word];
        const std::uint32_t found = bits;
        bits = 0;
        return found;
    }
    /// Takes one of the bits, where each is another lane's. Returns whether it was set.
    [[nodiscard]] TRAMONTANE_RULE bool take_busy(std::uint32_t word, std::uint32_t bit) {
        std::uint32_t* const bits = &busy_[slot(window_) * words_ + word];
        if ((load(bits) >> bit & 1) == 0) return false;
        clear_bits(bits, std::uint32_t{1} << bit);
        return true;
    }
    /// Calls `visit` with each event of an LP in this window, which are then no longer pending.
    template <class Visit>
    TRAMONTANE_RULE void take(LpId lp, Visit&& visit) {
        Index& tail = tails_[slot(window_) * lps_ + lp];
        for (Index i = tail; i != none;) {
            const Chunk& chunk = chunks_[i];
            for (std::uint32_t k = 0; k < chunk.count && k < of_chunk; ++k) visit(chunk.events[k]);
            const Index before = chunk.before;
            chunks_.give_back(i);
            i = before;
        }
        tail = none;
    }

    /// Between two windows: goes to the next one that has events; `ended` where there is none.
    TRAMONTANE_RULE std::uint64_t turn() {
        any_[slot(window_)] = 0;
        chunks_.turn();
        far_chunks_.turn();
        while (true) {
            std::uint64_t next = window_ + 1;
            while (next < window_ + near && any_[slot(next)] == 0) ++next;
            const bool found = next < window_ + near;
            if (found && next / epoch < filled_) return window_ = next;
            // The first bucket that may have something before that.
            std::uint64_t first = filled_;
            while (first < filled_ + buckets && far_[first % buckets] == none) ++first;
            if (found && (first == filled_ + buckets || first > next / epoch)) {
                filled_ = next / epoch + 1;
                return window_ = next;
            }
            if (first == filled_ + buckets) return window_ = ended;
            window_ = first * epoch - 1;  // there is nothing before, nor before the next one
            if (found && next - 1 < window_) window_ = next - 1;
            refill(first);
        }
    }
    /// The first window. \pre nothing has been handled
    std::uint64_t begin() {
        window_ = 0;
        return any_[0] != 0 ? 0 : turn();
    }

    [[nodiscard]] TRAMONTANE_RULE bool crowded() const { return chunks_.crowded() || far_chunks_.crowded(); }
    /// Makes room for more, where it is time. While no lane runs.
    void grow() {
        chunks_.grow();
        far_chunks_.grow();
    }

private:
    [[nodiscard]] TRAMONTANE_RULE static std::size_t slot(std::uint64_t number) { return number % near; }

    TRAMONTANE_RULE void put(std::uint64_t number, LpId lp, const Pending& event) {
        if (!append(chunks_, of_chunk, tails_[slot(number) * lps_ + lp], event)) return;
        set_bits(&busy_[slot(number) * words_ + lp / 32], std::uint32_t{1} << lp % 32);
        set_bits(&any_[slot(number)], 1);
    }
    TRAMONTANE_RULE void put_far(std::uint64_t of_epoch, const FarChunk::Far& event) {
        (void)append(far_chunks_, 5, far_[of_epoch % buckets], event);
    }

    /// Appends to a chain, of which `tail` is the last chunk. Whoever finds that full puts a chunk of its own behind;
    /// nobody waits. Returns whether the chain was empty.
    template <class AnyChunk, class Event>
    TRAMONTANE_RULE static bool append(Records<AnyChunk>& chunks, std::uint32_t room, Index& tail, const Event& event) {
        Index own = none;
        while (true) {
            const Index last = load(&tail);
            if (last != none) {
                const std::uint32_t place = add(&chunks[last].count, 1);
                if (place < room) {
                    chunks[last].events[place] = event;
                    if (own != none) chunks.give_back(own);
                    return false;
                }
            }
            if (own == none) {
                own = chunks.take();
                chunks[own].count = 1;
                chunks[own].events[0] = event;
            }
            chunks[own].before = last;
            if (change(&tail, last, own)) return last == none;
        }
    }

    /// Brings the events of a bucket into the bins; what is of a later turn of the wheel stays.
    TRAMONTANE_RULE void refill(std::uint64_t of_epoch) {
        filled_ = of_epoch + 1;
        Index i = far_[of_epoch % buckets];
        far_[of_epoch % buckets] = none;
        while (i != none) {
            const FarChunk& chunk = far_chunks_[i];
            for (std::uint32_t k = 0; k < chunk.count && k < 5; ++k) {
                const FarChunk::Far& event = chunk.events[k];
                const auto [number, offset] = windows.of(event.time);
                if (number / epoch == of_epoch) {
                    put(number, event.lp, {offset, event.code, event.item, event.tie});
                } else {
                    put_far(number / epoch, event);
                }
            }
            const Index before = chunk.before;
            far_chunks_.give_back(i);
            i = before;
        }
    }

    const LpId lps_;
    const std::uint32_t words_;
    Records<Chunk> chunks_;
    Records<FarChunk> far_chunks_;
    Array<Index> tails_;            // last chunk of each bin, by window and LP
    Array<std::uint32_t> busy_;     // a bit for each bin that has something
    std::uint32_t any_[near] = {};  // whether a window has
    Index far_[buckets] = {};
    std::uint64_t filled_ = 1;  // epochs before this one are in the bins
    std::uint64_t window_ = 0;
};

}  // namespace tramontane::device
