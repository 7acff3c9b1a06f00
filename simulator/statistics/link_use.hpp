/// \file
/// What links carried, counted where a point asks for it: in all, and over time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/checkpoint.hpp"
#include "memory/pages.hpp"
#include "rules/link_meter.hpp"
#include "rules/parameters.hpp"
#include "statistics/use_notes.hpp"
#include "ticks.hpp"

namespace tramontane {

inline constexpr std::uint32_t hottest_links = 10;  ///< of each class, that are told where they are asked for

/// Packets and bytes, those of the protocols among them.
struct LinkUse {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t peak_queue = 0;  ///< see UseOfBin
    std::uint64_t links = 0;       ///< that carried something
    Ticks slot = 0;                ///< of a byte
    std::vector<UseOfBin> bins;

    /// Adds what a link carried in all.
    /// \throws std::runtime_error where all carry more than is counted
    void add(const LinkMeter& meter) {
        packets += meter.packets;
        bytes = checked_count(WideCount{bytes} + meter.bytes, "bytes on links");
        peak_queue = std::max(peak_queue, meter.peak_queue);
        ++links;
    }
    /// How long the link, or how long all of them in sum, passed bytes [ticks].
    [[nodiscard]] double busy() const { return static_cast<double>(bytes) * static_cast<double>(slot); }
};

/// What classes of links, and single links where they are told, carry over time. All bins are equally wide.
///
/// Which links are told is known at the end. Few bins of most links hold something, so bins of single links are noted
/// one after another. Only when these notes take as much memory as all bins of all links need, links get bins.
class UseOverTime : public MeterRules<UseOverTime> {
public:
    /// \param surely see first_width
    explicit UseOverTime(std::uint32_t bins = 0, std::uint32_t classes = 0, bool one_by_one = false, Ticks surely = 0)
        : bins_(bins),
          width_(first_width(bins, surely)),
          end_(end_of(bins, width_)),
          chunk_bits_(static_cast<std::uint32_t>(
              std::bit_width(large_page / (sizeof(UseOfBin) * std::max<std::size_t>(bins, 1))))),
          one_by_one_(one_by_one),
          of_classes_(std::size_t{classes} * bins),
          notes_(bins) {}
    /// The same, of which nothing has been counted yet.
    [[nodiscard]] UseOverTime another() const {
        UseOverTime made(bins_, 0, one_by_one_);
        made.width_ = width_;
        made.end_ = end_;
        made.of_classes_.resize(of_classes_.size());
        return made;
    }

    [[nodiscard]] bool wanted() const { return bins_ > 0; }
    /// Width of a bin [ticks], as a power of two.
    [[nodiscard]] std::uint32_t width() const { return width_; }

    /// Makes bins so wide at least.
    void widen(std::uint32_t width) {
        while (width_ < width) double_width();
    }

    // A class's bins are few and remain in the cache. Those of a link don't, and its class learns what its meter held.

    /// Bytes pass a link evenly from `begin` to `end`.
    [[gnu::noinline]] void pass(LinkMeter& meter, Ticks begin, Ticks end, std::uint32_t bytes) {
        end = std::max(end, begin + 1);
        if (end > end_) [[unlikely]]
            return reach_and_pass(meter, begin, end, bytes);
        const Ticks first = begin >> width_, bin = (end - 1) >> width_;
        if (one_by_one_) {
            if (first != bin) return pass_in_own_bins(meter, begin, end, bytes);
            if (meter.passed_bin != bin || meter.width != width_ ||
                std::uint64_t{meter.passed} + bytes > LinkMeter::most)
                return pass_in_other(meter, static_cast<std::uint16_t>(bin), bytes);
            meter.passed += bytes;
        } else {
            if (first != bin) return pass_in_bins(meter, {begin, end, bytes});
            of_class(meter)[bin].bytes += bytes;
        }
    }
    /// A packet finds a queue before it.
    [[gnu::noinline]] void find(LinkMeter& meter, Ticks now, std::uint64_t queue) {
        if (now >= end_) [[unlikely]]
            return reach_and_find(meter, now, queue);
        const Ticks bin = now >> width_;
        if (one_by_one_) {
            if (meter.found_bin != bin || meter.width != width_)
                return find_in_other(meter, static_cast<std::uint16_t>(bin), queue);
            meter.found = std::max(meter.found, static_cast<std::uint32_t>(queue));
        } else {
            of_class(meter)[bin].add({0, queue});
        }
    }

    // What somebody else counts, in bins of the meters' widths:

    /// Links that have a number.
    [[nodiscard]] std::uint32_t links() const { return links_; }
    /// Others have given so many numbers. Where no link is told, none of them needs one.
    void know(std::uint32_t links) {
        if (one_by_one_) links_ = std::max(links_, links);
    }
    /// Takes over what was counted of a link, and leaves zeros. \pre bins are as wide as the meter's, or wider
    void take(LinkMeter& meter, UseOfBin* counted) {
        const std::uint32_t wider = width_ - meter.width;
        for (std::uint32_t bin = 0; bin < bins_; ++bin) {
            auto [bytes, queue] = std::exchange(counted[bin], {});
            for (std::uint64_t part = 0; bytes > 0 || queue > 0; bytes -= part, queue = 0) {
                part = std::min(bytes, LinkMeter::most);
                add(meter, static_cast<std::uint16_t>(Ticks{bin} >> wider), static_cast<std::uint32_t>(part),
                    static_cast<std::uint32_t>(queue));
            }
        }
    }

    // When nothing more is counted, and bins have become as wide as they will:

    /// Adds to the class of a link what its meter still holds.
    void settle(LinkMeter& meter) {
        renew(meter, width_);
        add_held(meter, of_class(meter));
    }
    /// \pre the meters of all links are settled
    [[nodiscard]] std::vector<UseOfBin> of_class(std::uint32_t link_class) const {
        const auto first = of_classes_.begin() + std::ptrdiff_t{link_class} * bins_;
        return {first, first + bins_};
    }
    /// \param meters of some links, each once, which are settled
    [[nodiscard]] std::vector<std::vector<UseOfBin>> of_links(const std::vector<const LinkMeter*>& meters) {
        std::vector<std::vector<UseOfBin>> told(meters.size(), std::vector<UseOfBin>(bins_));
        std::vector<std::uint8_t> asked(links_);  // remains in the cache, which a table of places would not
        std::unordered_map<std::uint32_t, std::size_t> places;
        for (std::size_t place = 0; place < meters.size(); ++place) {
            const std::uint32_t link = meters[place]->number;
            if (link < stored_) std::copy_n(of(link), bins_, told[place].begin());
            add_held(*meters[place], told[place].data());
            if (link == LinkMeter::no_number) continue;  // all it carried, its meter holds
            asked[link] = 1;
            places[link] = place;
        }
        notes_.each_of([of = asked.data()](std::uint32_t link) { return of[link] != 0; },
                       [&](std::uint32_t link, Ticks bin, const UseOfBin& use) { told[places[link]][bin].add(use); });
        return told;
    }

    void keep(StateFile& file) {
        store_notes();
        file(width_);
        end_ = end_of(bins_, width_);
        file(of_classes_);
        file(links_);
        store_up_to(links_);
        for (const auto& chunk : chunks_) file.array(chunk.get(), of_chunk() * bins_);
    }

private:
    friend MeterRules;

    [[nodiscard]] UseOfBin* of_class(const LinkMeter& meter) {
        return &of_classes_[std::size_t{meter.link_class} * bins_];
    }
    static void add_held(const LinkMeter& meter, UseOfBin* to) {
        to[meter.passed_bin].add({meter.passed, 0});
        to[meter.found_bin].add({0, meter.found});
    }

    // What is rare, by itself: so the usual case needs no registers saved.

    /// Of so many bins of that width; no later than the last moment there is.
    [[nodiscard]] static Ticks end_of(std::uint32_t bins, std::uint32_t width) {
        return bins > ~Ticks{0} >> width ? ~Ticks{0} : Ticks{bins} << width;
    }
    void reach(Ticks time) {
        while (time >= end_) double_width();
    }
    [[gnu::noinline]] void reach_and_pass(LinkMeter& meter, Ticks begin, Ticks end, std::uint32_t bytes) {
        reach(end - 1);
        pass(meter, begin, end, bytes);
    }
    [[gnu::noinline]] void reach_and_find(LinkMeter& meter, Ticks now, std::uint64_t queue) {
        reach(now);
        find(meter, now, queue);
    }
    /// In a bin that a link's meter is not at. What is usual calls nothing.
    [[gnu::noinline]] void pass_in_other(LinkMeter& meter, std::uint16_t bin, std::uint32_t bytes) {
        const std::uint32_t held = meter.passed;
        const std::uint16_t before = meter.passed_bin;
        if (meter.width != width_ || before == bin || (held | meter.found) >> 16 != 0 ||
            !notes_.have_room_for(meter.number)) [[unlikely]]
            return leave_and_pass(meter, bin, bytes);
        meter.passed_bin = bin;
        meter.passed = bytes;
        if (held == 0) return;
        UseOfBin& of_bin = of_class(meter)[before];
        of_bin.bytes += held;
        if (meter.found == 0 || meter.found_bin != before) return notes_.add_parts(meter.number, before, held, 1);
        const std::uint32_t queue = std::exchange(meter.found, 0);
        of_bin.peak_queue = std::max<std::uint64_t>(of_bin.peak_queue, queue);
        notes_.add_small(meter.number, before, held, queue);
    }
    [[gnu::noinline]] void leave_and_pass(LinkMeter& meter, std::uint16_t bin, std::uint32_t bytes) {
        renew(meter, width_);
        hold_passed(meter, bin, bytes);
        give_number(meter);
    }
    [[gnu::noinline]] void find_in_other(LinkMeter& meter, std::uint16_t bin, std::uint64_t queue) {
        if (meter.found > 0 || meter.width != width_) return leave_and_find(meter, bin, queue);
        meter.found_bin = bin;
        meter.found = static_cast<std::uint32_t>(queue);
    }
    [[gnu::noinline]] void leave_and_find(LinkMeter& meter, std::uint16_t bin, std::uint64_t queue) {
        renew(meter, width_);
        hold_found(meter, bin, queue);
    }
    /// In bins of its class.
    [[gnu::noinline]] void pass_in_bins(const LinkMeter& meter, const PassedBytes& passed) {
        UseOfBin* const bins = of_class(meter);
        passed.each_bin(width_, [&](std::uint16_t bin, std::uint64_t part) { bins[bin].bytes += part; });
    }
    /// In several bins of a link, mostly two. What is usual calls nothing.
    [[gnu::noinline]] void pass_in_own_bins(LinkMeter& meter, Ticks begin, Ticks end, std::uint32_t bytes) {
        const Ticks last = (end - 1) >> width_;
        if (last - (begin >> width_) > 1 || (bytes >> 16 | (end - begin) >> 48) != 0 ||
            !notes_.have_room_for(meter.number)) [[unlikely]]
            return pass_in_many(meter, begin, end, bytes);
        const std::uint64_t before = PassedBytes{begin, end, bytes}.passed_of_few((last << width_) - begin);
        UseOfBin* const of_bin = of_class(meter) + last;
        of_bin[-1].bytes += before;
        of_bin[0].bytes += bytes - before;
        notes_.add_parts(meter.number, last - 1, before | (bytes - before) << 16, 2);
        if (meter.passed == 0 && meter.width == width_) meter.passed_bin = static_cast<std::uint16_t>(last);
    }
    /// The same in so many bins as a note has parts for, at most; in more, or where there is no room, by the meter.
    [[gnu::noinline]] void pass_in_many(LinkMeter& meter, Ticks begin, Ticks end, std::uint32_t bytes) {
        const Ticks first = begin >> width_, more = ((end - 1) >> width_) - first;
        if (more >= UseNotes::most_parts || (bytes >> 16 | (end - begin) >> 48) != 0 ||
            !notes_.have_room_for(meter.number))
            return pass_on(meter, begin, end, bytes);
        UseOfBin* of_bin = of_class(meter) + first;
        std::uint64_t parts = 0;
        std::uint32_t bits = 0;
        PassedBytes{begin, end, bytes}.each_bin_of_few(width_, [&](std::uint16_t, std::uint64_t part) {
            parts |= part << bits;
            bits += 16;
            of_bin++->bytes += part;
        });
        notes_.add_parts(meter.number, first, parts, static_cast<std::uint32_t>(more) + 1);
    }
    /// In bins of a link, its meter going from one to the next.
    [[gnu::noinline]] void pass_on(LinkMeter& meter, Ticks begin, Ticks end, std::uint32_t bytes) {
        renew(meter, width_);
        PassedBytes{begin, end, bytes}.each_bin(
            width_, [&](std::uint16_t bin, std::uint64_t part) { hold_passed(meter, bin, part); });
    }
    void add(LinkMeter& meter, std::uint16_t bin, std::uint32_t bytes, std::uint32_t queue) {
        of_class(meter)[bin].add({bytes, queue});
        if (one_by_one_) notes_for(meter).add(meter.number, bin, bytes, queue);
    }
    void give_number(LinkMeter& meter) {
        if (meter.number == LinkMeter::no_number) meter.number = links_++;
    }
    /// Where the next note of a link, which has a number from now on, has room.
    [[nodiscard]] UseNotes& notes_for(LinkMeter& meter) {
        give_number(meter);
        if (notes_.full()) [[unlikely]]
            make_room();
        return notes_;
    }
    [[gnu::noinline]] void make_room() {
        const std::size_t all_bins = std::size_t{links_} * bins_ * sizeof(UseOfBin);
        if (notes_.bytes() >= std::max(all_bins, large_page)) store_notes();
        notes_.grow();
    }
    /// Adds all notes to the bins of their links, and forgets them.
    void store_notes() {
        store_up_to(links_);
        notes_.each_of([](std::uint32_t) { return true; },
                       [&](std::uint32_t link, Ticks bin, const UseOfBin& use) { of(link)[bin].add(use); });
        notes_.clear();
    }

    /// Links of a chunk, which is about as large as a large page.
    [[nodiscard]] std::size_t of_chunk() const { return std::size_t{1} << chunk_bits_; }
    [[nodiscard]] UseOfBin* of(std::uint32_t link) const {
        return &chunks_[link >> chunk_bits_][(link & (of_chunk() - 1)) * bins_];
    }
    void store_up_to(std::uint32_t links) {
        while (chunks_.size() * of_chunk() < links) chunks_.push_back(allocate_pages<UseOfBin>(of_chunk() * bins_));
        stored_ = std::max(stored_, links);
    }
    [[gnu::noinline]] void double_width() {
        check_width(++width_);
        end_ = end_of(bins_, width_);
        notes_.widen();
        for (std::size_t first = 0; first < of_classes_.size(); first += bins_) join_pairs(&of_classes_[first], bins_);
        for (std::uint32_t link = 0; link < stored_; ++link) join_pairs(of(link), bins_);
    }

    std::uint32_t bins_;
    std::uint32_t width_;
    Ticks end_;  // of the last bin
    std::uint32_t chunk_bits_;
    bool one_by_one_;
    std::uint32_t links_ = 0;              // that have a number
    std::uint32_t stored_ = 0;             // of these, that have bins in chunks_
    std::vector<UseOfBin> of_classes_;     // class by class
    std::vector<Pages<UseOfBin>> chunks_;  // link by link
    UseNotes notes_;
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
