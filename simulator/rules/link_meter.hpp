/// \file
/// What is counted of a link: in all, and over time.
///
/// Over time it is counted in a fixed number of bins. All begin at 0; when something is later than the last bin, bins
/// become twice as wide, neighbours joined. So memory is bounded, and what is counted is the same in whatever order it
/// comes: the width follows from the latest moment alone, and a bin's contents from its bounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

#include "rules/rule.hpp"
#include "ticks.hpp"

namespace tramontane {

inline constexpr std::uint32_t max_time_bins = 1024;

/// What a point asks of its links.
struct LinkCounting {
    bool on = false;
    std::uint32_t hottest = 0;  ///< links of each class that are told one by one, the busiest first
    std::uint32_t bins = 0;     ///< of time; 0: only what was carried in all

    [[nodiscard]] bool one_by_one() const { return hottest > 0; }
};

/// Of one link, or of several, within a bin of time.
struct UseOfBin {
    std::uint64_t bytes = 0;
    std::uint64_t peak_queue = 0;  ///< longest queue that a packet found before it [B]; of several links, the longest

    TRAMONTANE_RULE void add(const UseOfBin& other) {
        bytes += other.bytes;
        peak_queue = std::max(peak_queue, other.peak_queue);
    }
};

/// What is counted of the link behind a port. It shares a cache line with the port's server (SwitchRules).
struct LinkMeter {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t peak_queue = 0;
    std::uint32_t waiting = 0;  ///< of packets that have come to the switch and are not on the link [B]
    std::uint16_t link_class = 0;
    // For MeterRules, of a link that is counted by itself: what is counted mostly belongs to the bin that was counted
    // last, and stays here until another one is.
    std::uint8_t width = 0;                       ///< of these bins [ticks], as a power of two
    std::uint16_t passed_bin = 0, found_bin = 0;  ///< the last one's ...
    std::uint32_t passed = 0;                     ///< ... bytes, ...
    std::uint32_t found = 0;                      ///< ... and the longest queue
    std::uint32_t number = no_number;             ///< of a link that has bins of its own, from the first one on

    static constexpr std::uint32_t no_number = ~std::uint32_t{0};
    static constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();  ///< bytes that it may hold

    /// A packet comes to the switch.
    /// \param booked what the link is to pass before [B], beside what waits
    /// \return the queue that it finds before it [B]
    TRAMONTANE_RULE std::uint64_t come(std::uint32_t of_packet, std::uint64_t booked) {
        const std::uint64_t queue = waiting + booked;
        if (queue + of_packet > most) [[unlikely]]
            fail<std::runtime_error>("statistics.links: found a queue of 4 GiB, allowed: less, as by machine.buffer");
        waiting += of_packet;
        peak_queue = std::max(peak_queue, queue);
        return queue;
    }
    /// It goes on the link.
    TRAMONTANE_RULE void go(std::uint32_t of_packet) {
        ++packets;
        bytes += of_packet;
        waiting -= of_packet;
    }
};
static_assert(sizeof(LinkMeter) == 48);

/// Of the link from a NIC to its switch.
struct alignas(64) InjectionMeter : LinkMeter {};

/// Bytes that pass evenly from `begin` to `end`, which is later.
struct PassedBytes {
    Ticks begin, end;
    std::uint64_t bytes;

    /// Calls `f(bin, bytes)` for each bin of that width that they pass in.
    template <class F>
    TRAMONTANE_RULE void each_bin(std::uint32_t width, F&& f) const {
        // The usual case first, for which no bits are counted.
        const Ticks length = end - begin;
        if (((bytes | length) >> 32) == 0 || bit_width(bytes) + bit_width(length) <= 64) [[likely]] {
            each_bin_of_few(width, f);
        } else {
            each_bin_of_many(width, f);
        }
    }
    /// The same. \pre bytes * (end - begin) < 2^64
    template <class F>
    TRAMONTANE_RULE void each_bin_of_few(std::uint32_t width, F&& f) const {
        each(width, f, [&](Ticks time) { return passed_of_few(time); });
    }
    /// How many bytes have passed so long after `begin`, rounded down. \pre bytes * (end - begin) < 2^64
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t passed_of_few(Ticks time) const { return bytes * time / (end - begin); }

private:
    template <class F>
    [[gnu::noinline]] TRAMONTANE_RULE void each_bin_of_many(std::uint32_t width, F&& f) const {
        each(width, f, [&](Ticks time) { return passed(time); });
    }
    /// \param passed `passed(time)` says how many bytes have passed so long after `begin`
    template <class F, class Passed>
    TRAMONTANE_RULE void each(std::uint32_t width, F&& f, Passed&& passed) const {
        Ticks bin = begin >> width;
        std::uint64_t before = 0;
        for (Ticks time = ((bin + 1) << width) - begin; time < end - begin; time += Ticks{1} << width, ++bin) {
            const std::uint64_t until = passed(time);
            f(static_cast<std::uint16_t>(bin), until - before);
            before = until;
        }
        f(static_cast<std::uint16_t>(bin), bytes - before);
    }
    /// bytes * time / (end - begin), rounded down, where the product has more bits than a word: accelerators divide no
    /// longer ones. \pre time <= end - begin < 2^62
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t passed(Ticks time) const {
        std::uint64_t quotient = 0, rest = 0;
        for (int bit = bit_width(bytes); bit-- > 0;) {
            quotient *= 2;
            rest = 2 * rest + (bytes >> bit & 1) * time;
            for (; rest >= end - begin; rest -= end - begin) ++quotient;
        }
        return quotient;
    }
};

/// How wide bins are at first [ticks], as a power of two: 82 ps, less than a packet takes, or as wide as it takes to
/// have a moment in one that surely will be. All ranks may start at once, and first packets would be in many narrow
/// bins.
[[nodiscard]] TRAMONTANE_RULE inline std::uint32_t first_width(std::uint32_t bins, Ticks surely) {
    std::uint32_t width = 14;
    while (bins > 0 && surely >> width >= bins) ++width;
    return width;
}

/// A single bin may be too short for a day.
TRAMONTANE_RULE inline void check_width(std::uint32_t width) {
    if (width > 63) [[unlikely]]
        fail<std::runtime_error>("statistics.bins: found 1, allowed: 2 or more in a run of more than 12 hours");
}

/// How a link that is counted by itself is counted over time.
///
/// \tparam Own who has the bins, and
///
///     add(meter, bin, bytes, queue)  adds what a link carried in a bin that its meter leaves
template <class Own>
class MeterRules {
protected:
    TRAMONTANE_RULE void hold_passed(LinkMeter& meter, std::uint16_t bin, std::uint64_t bytes) {
        if (bin != meter.passed_bin || meter.passed + bytes > LinkMeter::most) {
            if (meter.passed > 0) leave(meter, meter.passed_bin);
            meter.passed_bin = bin;
        }
        meter.passed += static_cast<std::uint32_t>(bytes);
    }
    TRAMONTANE_RULE void hold_found(LinkMeter& meter, std::uint16_t bin, std::uint64_t queue) {
        if (bin != meter.found_bin) {
            if (meter.found > 0) leave(meter, meter.found_bin);
            meter.found_bin = bin;
        }
        meter.found = std::max(meter.found, static_cast<std::uint32_t>(queue));
    }
    /// Gives a meter's bins another width, no smaller one.
    TRAMONTANE_RULE static void renew(LinkMeter& meter, std::uint32_t width) {
        const std::uint32_t wider = width - meter.width;
        if (wider == 0) [[likely]]
            return;
        // A meter that has counted nothing is at bin 0, which is bin 0 of any width.
        meter.passed_bin = static_cast<std::uint16_t>(Ticks{meter.passed_bin} >> wider);
        meter.found_bin = static_cast<std::uint16_t>(Ticks{meter.found_bin} >> wider);
        meter.width = static_cast<std::uint8_t>(width);
    }
    /// Makes the bins of a link, or of a class, twice as wide.
    TRAMONTANE_RULE static void join_pairs(UseOfBin* of, std::uint32_t bins) {
        for (std::uint32_t to = 0; to < bins; ++to) {
            const std::uint32_t from = 2 * to;
            UseOfBin joined = from < bins ? of[from] : UseOfBin{};
            if (from + 1 < bins) joined.add(of[from + 1]);
            of[to] = joined;
        }
    }

private:
    TRAMONTANE_RULE void leave(LinkMeter& meter, std::uint16_t bin) {
        const std::uint32_t bytes = bin == meter.passed_bin ? std::exchange(meter.passed, 0) : 0;
        const std::uint32_t queue = bin == meter.found_bin ? std::exchange(meter.found, 0) : 0;
        if (bytes > 0 || queue > 0) own().add(meter, bin, bytes, queue);
    }

    [[nodiscard]] TRAMONTANE_RULE Own& own() { return static_cast<Own&>(*this); }
};

/// Counts a packet that comes before a link, and the queue that it finds there: what has come for it before, and what
/// the link is booked for [B].
template <class OverTime>
[[gnu::always_inline]] TRAMONTANE_RULE inline void count_arrival(OverTime& over_time, LinkMeter& meter,
                                                                 std::uint64_t booked, std::uint32_t bytes, Ticks now) {
    const std::uint64_t queue = meter.come(bytes, booked);
    if (queue > 0 && over_time.wanted()) over_time.find(meter, now, queue);
}
/// Counts a packet that goes on a link, and passes it from `begin` to `end`.
template <class OverTime>
[[gnu::always_inline]] TRAMONTANE_RULE inline void count_passage(OverTime& over_time, LinkMeter& meter, Ticks begin,
                                                                 Ticks end, std::uint32_t bytes) {
    meter.go(bytes);
    if (over_time.wanted()) over_time.pass(meter, begin, end, bytes);
}

}  // namespace tramontane
