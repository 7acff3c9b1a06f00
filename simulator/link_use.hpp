/// \file
/// What links carried, counted where a point asks for it: in all, and over time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "checkpoint.hpp"
#include "pages.hpp"
#include "pool.hpp"
#include "ticks.hpp"

namespace tramontane {

inline constexpr std::uint32_t hottest_links = 10;  ///< of each class, that are told where they are asked for
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

    void add(const UseOfBin& other) {
        bytes += other.bytes;
        peak_queue = std::max(peak_queue, other.peak_queue);
    }
};

/// Packets and bytes, those of the protocols among them.
struct LinkUse {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t peak_queue = 0;  ///< see UseOfBin
    std::uint64_t links = 0;       ///< that carried something
    Ticks slot = 0;                ///< of a byte
    std::vector<UseOfBin> bins;

    void add(const LinkUse& other) {
        packets += other.packets;
        bytes += other.bytes;
        peak_queue = std::max(peak_queue, other.peak_queue);
        links += other.links;
        slot = other.slot;
        bins.resize(std::max(bins.size(), other.bins.size()));
        for (std::size_t i = 0; i < other.bins.size(); ++i) bins[i].add(other.bins[i]);
    }
    /// How long the link, or how long all of them in sum, passed bytes [ticks].
    [[nodiscard]] double busy() const { return static_cast<double>(bytes) * static_cast<double>(slot); }
};

/// Series over time, one for each link or class, in a fixed number of bins. All begin at 0; when something is later
/// than the last bin, bins become twice as wide, neighbours joined. So memory is bounded, and what is counted is the
/// same in whatever order it comes: the width follows from the latest moment alone, and a bin's contents from its
/// bounds.
class UseOverTime {
public:
    explicit UseOverTime(std::uint32_t bins = 0, std::uint32_t series = 0)
        : bins_(bins),
          chunk_bits_(static_cast<std::uint32_t>(
              std::bit_width(large_page / (sizeof(UseOfBin) * std::max<std::size_t>(bins, 1))))) {
        while (series_ < series) (void)add_series();
    }
    /// The same, of which nothing has been counted yet.
    [[nodiscard]] UseOverTime another() const { return UseOverTime(bins_, series_); }

    [[nodiscard]] bool wanted() const { return bins_ > 0; }
    /// Width of a bin [ticks], as a power of two.
    [[nodiscard]] std::uint32_t width() const { return width_; }

    [[nodiscard]] std::uint32_t add_series() {
        const std::uint32_t series = series_++;
        if (series >> chunk_bits_ == chunks_.size()) chunks_.push_back(allocate_pages<UseOfBin>(of_chunk() * bins_));
        return series;
    }

    /// Bytes pass evenly from `begin` to `end`.
    void pass(std::uint32_t series, Ticks begin, Ticks end, std::uint64_t bytes) {
        end = std::max(end, begin + 1);
        reach(end - 1);
        UseOfBin* const own = of(series);
        Ticks bin = begin >> width_;
        const Ticks last = (end - 1) >> width_;
        std::uint64_t before = 0;
        for (; bin < last; ++bin) {
            __extension__ using Wide = unsigned __int128;
            const Ticks until = ((bin + 1) << width_) - begin;
            const auto passed = static_cast<std::uint64_t>(Wide{bytes} * until / (end - begin));
            own[bin].bytes += passed - before;
            before = passed;
        }
        own[last].bytes += bytes - before;
    }

    /// A packet finds a queue before it.
    void find(std::uint32_t series, Ticks now, std::uint64_t queue) {
        reach(now);
        UseOfBin& bin = of(series)[now >> width_];
        bin.peak_queue = std::max(bin.peak_queue, queue);
    }

    /// Brings into the cache where something of about `now` will be counted.
    void prefetch(std::uint32_t series, Ticks now) const {
        if (const Ticks bin = now >> width_; series < series_ && bin < bins_) prefetch_line(of(series) + bin);
    }

    /// Makes bins so wide at least.
    void widen(std::uint32_t width) {
        while (width_ < width) double_width();
    }

    [[nodiscard]] std::vector<UseOfBin> series(std::uint32_t series) const {
        const UseOfBin* const first = of(series);
        return {first, first + bins_};
    }

    void keep(StateFile& file) {
        file(width_);
        std::uint32_t count = series_;
        file(count);
        while (series_ < count) (void)add_series();
        for (const auto& chunk : chunks_) file.array(chunk.get(), of_chunk() * bins_);
    }

private:
    static constexpr std::uint32_t least_width = 14;  // 82 ps, less than a packet takes

    /// Series of a chunk, which is about as large as a large page.
    [[nodiscard]] std::size_t of_chunk() const { return std::size_t{1} << chunk_bits_; }
    [[nodiscard]] UseOfBin* of(std::uint32_t series) const {
        return &chunks_[series >> chunk_bits_][(series & (of_chunk() - 1)) * bins_];
    }
    void reach(Ticks time) {
        while (time >> width_ >= bins_) [[unlikely]]
            double_width();
    }
    [[gnu::noinline]] void double_width() {
        ++width_;
        for (std::uint32_t series = 0; series < series_; ++series) {
            UseOfBin* const own = of(series);
            for (std::uint32_t to = 0; to < bins_; ++to) {
                const std::uint32_t from = 2 * to;
                UseOfBin joined = from < bins_ ? own[from] : UseOfBin{};
                if (from + 1 < bins_) joined.add(own[from + 1]);
                own[to] = joined;
            }
        }
    }

    std::uint32_t bins_;
    std::uint32_t chunk_bits_;
    std::uint32_t width_ = least_width;
    std::uint32_t series_ = 0;
    std::vector<Pages<UseOfBin>> chunks_;
};

/// What is counted of the link behind a port, in one cache line.
struct alignas(64) LinkMeter {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t waiting = 0;  ///< of packets that have come to the switch and are not on the link [B]
    std::uint64_t peak_queue = 0;
    std::uint32_t series = no_series;  ///< of UseOverTime
    std::uint16_t link_class = 0;

    static constexpr std::uint32_t no_series = ~std::uint32_t{0};
};

/// The class of links from nodes to switches, which is none of the topology's.
inline constexpr const char* injection_class = "injection";

/// A link that is told by itself.
struct UsedLink {
    std::uint32_t from;  ///< switch; of injections the node, as the topology calls each NIC
    std::uint16_t port;
    std::uint16_t link_class;
    LinkUse use;
};

}  // namespace tramontane
