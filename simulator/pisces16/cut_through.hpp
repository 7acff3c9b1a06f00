/// \file
/// PISCES' cut-through arbitrator to the letter: an exact list of idle intervals, and 32-bit counts as SST/macro 16 has
/// them. The model proper has a faster server (arbiter.hpp) that may forget gaps; here none may be forgotten.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "ticks.hpp"

namespace tramontane::pisces16 {

/// When a packet's head and tail leave a server.
struct Passage {
    Ticks head;
    Ticks tail;

    /// Byte time of the packet behind the server.
    [[nodiscard]] Ticks spacing(std::uint32_t bytes) const { return (tail - head) / bytes; }
};

class CutThrough {
public:
    explicit CutThrough(Ticks slot) : slot_(slot) {}

    /// Books a packet whose head is here `now` and whose bytes follow every `spacing` ticks. Calls come in order of
    /// time.
    Passage book(Ticks now, std::uint32_t bytes, Ticks spacing) {
        forget_past(now);
        const Ticks buffered = now + bytes * spacing;
        Passage passage{idle_.front().start, idle_.front().start};
        std::uint32_t left = bytes, sent = 0;
        std::size_t i = 0;
        while (left > 2) {  // stragglers of one or two bytes, left by truncation, take no time
            if (i == idle_.size()) refuse_wrap();
            Interval& idle = idle_[i];
            const Ticks end = idle.start + idle.slots * slot_;
            if (spacing <= slot_ || buffered <= idle.start) {
                if (idle.slots > left) {
                    idle.slots -= left;
                    idle.start += left * slot_;
                    passage.tail = idle.start;
                    break;
                }
                left -= idle.slots;
                sent += idle.slots;
                passage.tail = end;
                erase(i);
            } else if (buffered >= end) {
                // Unsigned on purpose: where more was sent than whole byte times have passed, this wraps to "all".
                const auto arrived = static_cast<std::uint32_t>((end - now) / spacing);
                const std::uint32_t can = std::min(left, arrived - sent);
                const std::uint32_t used = std::min(can, idle.slots);
                left -= used;
                sent += used;
                passage.tail = end;
                if (can >= idle.slots) {
                    erase(i);
                } else {
                    idle.slots -= used;  // what is kept lies at the front of the interval
                    ++i;
                }
            } else {  // the last byte comes in while the interval lasts
                const auto before = static_cast<std::uint32_t>((buffered - idle.start) / slot_);
                const std::uint32_t after = i + 1 == idle_.size() ? unbounded : idle.slots - before;
                idle.slots = before;
                idle_.insert(idle_.begin() + static_cast<std::ptrdiff_t>(i) + 1, {buffered, after});
            }
        }
        check_event(open());
        return passage;
    }

    /// When what is booked so far ends.
    [[nodiscard]] Ticks open() const { return idle_.back().start; }

private:
    static constexpr std::uint32_t unbounded = ~std::uint32_t{0};
    struct Interval {
        Ticks start;
        std::uint32_t slots;
    };

    void erase(std::size_t i) {
        idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
        if (idle_.empty()) refuse_wrap();
    }

    /// What is called unbounded ends before the packet's last byte comes.
    [[noreturn]] static void refuse_wrap() {
        throw std::runtime_error("model pisces-16: a packet comes in for longer than the server's 2^32 slots last");
    }

    void forget_past(Ticks now) {
        std::size_t past = 0;
        while (past + 1 < idle_.size() && idle_[past].start + idle_[past].slots * slot_ <= now &&
               idle_[past].start < now) {
            ++past;
        }
        idle_.erase(idle_.begin(), idle_.begin() + static_cast<std::ptrdiff_t>(past));
        Interval& first = idle_.front();
        if (idle_.size() == 1) {
            first.slots = unbounded;
            first.start = std::max(first.start, now);
        } else if (first.start < now) {
            first.slots -= static_cast<std::uint32_t>((now - first.start) / slot_);
            first.start = now;
        }
    }

    Ticks slot_;
    std::vector<Interval> idle_{{0, unbounded}};
};

}  // namespace tramontane::pisces16
