/// \file
/// What links carry over time, as lanes count it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/atomic.hpp"
#include "device/memory.hpp"
#include "rules/link_meter.hpp"
#include "rules/rule.hpp"
#include "statistics/link_use.hpp"

namespace tramontane::device {

/// Each link that has carried something has bins of its own, as wide as its meter says. An LP's links are always
/// counted by the same lane: so lanes have nothing to agree on but which link has which number, and that decides
/// nothing. The host puts all of it together.
class LinkBins : public MeterRules<LinkBins> {
public:
    /// \param bins of each link; 0: nobody asks
    /// \param links that there may be at most
    /// \param surely see first_width
    LinkBins(Memory& memory, std::uint32_t bins, std::size_t links, Ticks surely = 0)
        : bins_(bins), first_width_(first_width(bins, surely)) {
        if (bins > 0) of_links_ = Array<UseOfBin>(memory, links * bins);
    }

    [[nodiscard]] TRAMONTANE_RULE bool wanted() const { return bins_ > 0; }

    /// Bytes pass a link evenly from `begin` to `end`.
    TRAMONTANE_ONCE TRAMONTANE_RULE void pass(LinkMeter& meter, Ticks begin, Ticks end, std::uint32_t bytes) {
        end = std::max(end, begin + 1);
        const std::uint32_t width = reach(meter, end - 1);
        PassedBytes{begin, end, bytes}.each_bin(
            width, [&](std::uint16_t bin, std::uint64_t part) { hold_passed(meter, bin, part); });
    }
    /// A packet finds a queue before it.
    TRAMONTANE_ONCE TRAMONTANE_RULE void find(LinkMeter& meter, Ticks now, std::uint64_t queue) {
        const std::uint32_t width = reach(meter, now);
        hold_found(meter, static_cast<std::uint16_t>(now >> width), queue);
    }

    // What the host does, while no lane runs; `each_meter(f)` calls `f(meter)` for all of them:

    /// Moves what bins hold to `all`.
    template <class EachMeter>
    void collect(UseOverTime& all, EachMeter&& each_meter) {
        each_meter([&](const LinkMeter& meter) { all.widen(meter.width); });
        all.know(links_);
        each_meter([&](LinkMeter& meter) {
            if (meter.number != LinkMeter::no_number) all.take(meter, of(meter));
        });
    }
    /// Goes on from what has been counted elsewhere, with the meters of then. \pre nothing has been counted here
    template <class EachMeter>
    void go_on(const UseOverTime& all, EachMeter&& each_meter) {
        links_ = all.links();
        each_meter([&](LinkMeter& meter) {
            if (meter.number >= links_) meter.number = LinkMeter::no_number;  // by lanes, where no link is told
        });
    }

private:
    friend MeterRules;

    [[nodiscard]] TRAMONTANE_RULE UseOfBin* of(const LinkMeter& meter) const {
        return of_links_.get() + std::size_t{meter.number} * bins_;
    }
    TRAMONTANE_RULE std::uint32_t reach(LinkMeter& meter, Ticks time) {
        std::uint32_t width = meter.width < first_width_ ? first_width_ : meter.width;
        while (time >> width >= bins_) check_width(++width);
        if (width != meter.width) widen(meter, width);
        return width;
    }
    TRAMONTANE_ONCE TRAMONTANE_RULE void widen(LinkMeter& meter, std::uint32_t width) {
        const bool has_bins = meter.number != LinkMeter::no_number;
        for (std::uint32_t own = meter.width; has_bins && own < width; ++own) join_pairs(of(meter), bins_);
        renew(meter, width);
    }
    TRAMONTANE_RULE void add(LinkMeter& meter, std::uint16_t bin, std::uint32_t bytes, std::uint32_t queue) {
        if (meter.number == LinkMeter::no_number) meter.number = device::add(&links_, 1);
        of(meter)[bin].add({bytes, queue});
    }

    const std::uint32_t bins_, first_width_;
    std::uint32_t links_ = 0;  // that have a number
    Array<UseOfBin> of_links_;
};

}  // namespace tramontane::device
