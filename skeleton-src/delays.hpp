/// \file
/// Queueing delays: how much later a packet's last byte arrived than it would have on the same path, had nothing else
/// been there. Kept as a histogram and, on request, by source and destination. Counts and ticks are whole numbers, so
/// that sums do not depend on the order in which packets arrive, nor on which thread saw them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "accelerated.hpp"
#include "ticks.hpp"

namespace tramontane {

/// Packets and their delays: what the histogram has once and the congestion matrix once a cell.
struct DelaySum {
    __extension__ using Wide = unsigned __int128;  // 10^9 packets of 10 us each are beyond 64 bits

    std::uint64_t packets = 0;
    Ticks max = 0;
    Wide ticks = 0;

    TRAMONTANE_RULE void add(Ticks delay, std::uint64_t count = 1) {
        packets += count;
        max = std::max(max, delay);
        ticks += Wide{delay} * count;
    }
    void add(const DelaySum& other) {
        packets += other.packets;
        max = std::max(max, other.max);
        ticks += other.ticks;
    }
    /// [s]
    [[nodiscard]] double sum() const { return static_cast<double>(ticks) / static_cast<double>(ticks_per_second); }
};

/// Bins of equal width on a logarithmic axis: 10 a decade from 1 ns to 10 s, one below and one above.
namespace delay_bins {

inline constexpr std::size_t count = 102;

/// First delay of each bin.
inline constexpr std::array<Ticks, count> lower = [] {
    // 10^(k/10) to 17 digits, so that no machine's pow() decides where a packet is counted.
    constexpr std::array<double, 10> steps{1.0,
                                           1.2589254117941673,
                                           1.5848931924611135,
                                           1.9952623149688796,
                                           2.5118864315095801,
                                           3.1622776601683793,
                                           3.9810717055349725,
                                           5.0118723362727229,
                                           6.3095734448019325,
                                           7.9432823472428150};
    std::array<Ticks, count> bounds{};
    double decade = 1000 * ticks_per_picosecond;
    for (std::size_t bin = 1; bin < count; ++bin) {
        // std::lround is not constexpr, and nothing here lies near the edge of what a double holds.
        bounds[bin] = static_cast<Ticks>(decade * steps[(bin - 1) % 10] + 0.5);  // NOLINT(bugprone-incorrect-roundings)
        if (bin % 10 == 0) decade *= 10;
    }
    return bounds;
}();

/// Eighths of powers of two: 2^0.125 is less than 10^0.1, so that a cell lies in two bins at most.
[[nodiscard]] TRAMONTANE_RULE constexpr std::size_t cell(Ticks delay) {
    const auto width = static_cast<std::size_t>(bit_width(delay | 8));
    return width * 8 + ((delay >> (width - 4)) & 7);
}

/// The bin in which a cell begins.
inline constexpr std::array<std::uint8_t, 65 * 8> of_cell = [] {
    std::array<std::uint8_t, 65 * 8> first{};
    std::size_t bin = 0;
    for (std::size_t i = 4 * 8; i < first.size(); ++i) {
        const Ticks least = Ticks{8 + i % 8} << (i / 8 - 4);
        while (bin + 1 < count && lower[bin + 1] <= least) ++bin;
        first[i] = static_cast<std::uint8_t>(bin);
    }
    return first;
}();

/// \param lower_, of_cell_ the tables above, where they can be read
[[nodiscard]] TRAMONTANE_RULE inline std::size_t of(Ticks delay, const Ticks* lower_, const std::uint8_t* of_cell_) {
    const std::size_t bin = of_cell_[cell(delay)];
    return bin + 1 < count && delay >= lower_[bin + 1] ? bin + 1 : bin;
}
[[nodiscard]] inline std::size_t of(Ticks delay) { return of(delay, lower.data(), of_cell.data()); }

}  // namespace delay_bins

inline constexpr std::uint32_t max_congestion_bins = 512;

/// Delays between source and destination processes; ranks r with the same floor(r x bins / ranks) share a bin.
class CongestionMatrix {
public:
    CongestionMatrix() = default;
    /// \param bins a side; no more than ranks are used, 0 for no matrix
    CongestionMatrix(std::uint32_t bins, std::uint32_t ranks)
        : bins_(std::min(bins, ranks)), ranks_(ranks), cells_(std::size_t{bins_} * bins_) {}

    [[nodiscard]] bool wanted() const { return bins_ > 0; }
    [[nodiscard]] std::uint32_t bins() const { return bins_; }
    [[nodiscard]] const DelaySum& at(std::uint32_t source, std::uint32_t destination) const {
        return cells_[std::size_t{source} * bins_ + destination];
    }
    void add(Ticks delay, std::uint32_t source, std::uint32_t destination, std::uint64_t count) {
        cells_[std::size_t{bin_of(source)} * bins_ + bin_of(destination)].add(delay, count);
    }
    /// Writes or reads the cells.
    template <class File>
    void keep(File& file) {
        file(cells_);
    }
    void add(const CongestionMatrix& other) { add(other.cells_.data()); }
    /// Cells of a matrix of as many bins.
    void add(const DelaySum* cells) {
        for (std::size_t i = 0; i < cells_.size(); ++i) cells_[i].add(cells[i]);
    }

private:
    [[nodiscard]] std::uint32_t bin_of(std::uint32_t rank) const {
        return static_cast<std::uint32_t>(std::uint64_t{rank} * bins_ / ranks_);
    }

    std::uint32_t bins_ = 0;
    std::uint32_t ranks_ = 1;
    std::vector<DelaySum> cells_;
};

/// All there is to know of the delays of the workload's packets.
struct Delays {
    DelaySum total;
    std::array<std::uint64_t, delay_bins::count> histogram{};  ///< packets
    CongestionMatrix matrix;

    Delays() = default;
    Delays(std::uint32_t congestion_bins, std::uint32_t ranks) : matrix(congestion_bins, ranks) {}

    /// `count` packets from rank `source` to rank `destination` that were delayed by this much each.
    void add(Ticks delay, std::uint32_t source, std::uint32_t destination, std::uint64_t count = 1) {
        total.add(delay, count);
        histogram[delay_bins::of(delay)] += count;
        if (matrix.wanted()) matrix.add(delay, source, destination, count);
    }
    /// Writes or reads all that was added.
    template <class File>
    void keep(File& file) {
        file(total);
        file(histogram);
        matrix.keep(file);
    }
    /// What another thread saw.
    void add(const Delays& other) {
        add(other.total, other.histogram.data());
        matrix.add(other.matrix);
    }
    /// The same but for the matrix. \param packets by bin of the histogram
    void add(const DelaySum& all, const std::uint64_t* packets) {
        total.add(all);
        for (std::size_t bin = 0; bin < histogram.size(); ++bin) histogram[bin] += packets[bin];
    }
};

}  // namespace tramontane
