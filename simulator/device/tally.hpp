/// \file
/// What lanes count. Nobody waits for a count: lanes add to it, and only the host looks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "delays.hpp"
#include "device/atomic.hpp"
#include "rules/parameters.hpp"
#include "rules/rule.hpp"

namespace tramontane::device {

class Count {
public:
    TRAMONTANE_RULE void operator++() { count(&value_, 1); }
    TRAMONTANE_RULE void operator+=(std::uint64_t more) { count(&value_, more); }
    [[nodiscard]] std::uint64_t value() const { return value_; }
    void begin(std::uint64_t value) { value_ = value; }

private:
    std::uint64_t value_;
};

/// As Statistics.
struct Counted {
    Count messages, bytes, packets, control_packets, hops, events, delivered_bytes;

    [[nodiscard]] Statistics all() const {
        return {messages.value(), bytes.value(),  packets.value(),        control_packets.value(),
                hops.value(),     events.value(), delivered_bytes.value()};
    }
    void begin(const Statistics& from) {
        messages.begin(from.messages);
        bytes.begin(from.bytes);
        packets.begin(from.packets);
        control_packets.begin(from.control_packets);
        hops.begin(from.hops);
        events.begin(from.events);
        delivered_bytes.begin(from.delivered_bytes);
    }
};

/// Of lanes in step. Zeros at first.
struct alignas(128) Tally {
    Counted counted;
    Count delays_low, delays_high;  ///< sums of their lower 32 bits, and of the others
    std::uint64_t longest_delay;
    Count histogram[delay_bins::count];

    TRAMONTANE_RULE void add(Ticks delay, std::size_t bin, std::uint64_t packets) {
        histogram[bin] += packets;
        if (delay == 0) return;
        delays_low += (delay & 0xffffffff) * packets;
        if (delay >> 32 != 0) delays_high += (delay >> 32) * packets;
        raise(&longest_delay, delay);
    }
    void tell(Delays& all) const {
        DelaySum sum;
        std::array<std::uint64_t, delay_bins::count> packets;
        for (std::size_t bin = 0; bin < packets.size(); ++bin) sum.packets += packets[bin] = histogram[bin].value();
        sum.max = longest_delay;
        sum.ticks = (DelaySum::Wide{delays_high.value()} << 32) + delays_low.value();
        all.add(sum, packets.data());
    }
    void begin(const Delays& from) {
        delays_low.begin(static_cast<std::uint64_t>(from.total.ticks & 0xffffffff));
        delays_high.begin(static_cast<std::uint64_t>(from.total.ticks >> 32));
        longest_delay = from.total.max;
        for (std::size_t bin = 0; bin < delay_bins::count; ++bin) histogram[bin].begin(from.histogram[bin]);
    }
};

}  // namespace tramontane::device
