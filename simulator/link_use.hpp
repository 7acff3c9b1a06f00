/// \file
/// What links carried, counted where a point asks for it: in all, and over time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkpoint.hpp"
#include "pages.hpp"
#include "rules/link_meter.hpp"
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

/// What a link carried in a bin, of a width that bins may no longer have; or bytes that passed evenly from some moment
/// in that bin on. Written in as few bytes as it takes: memory that a run touches for the first time costs more than
/// what is done with it.
struct UseNote {
    UseOfBin use;
    std::uint32_t link;
    std::uint16_t bin;
    std::uint8_t width;
    std::uint32_t length = 0;  ///< in which the bytes passed [ticks]; 0: in the bin
    std::uint32_t from = 0;    ///< ticks after the bin's beginning

    static constexpr std::size_t most_bytes = 24;  ///< that `write` touches

    /// \return where the next note goes
    std::byte* write(std::byte* to) const {
        const std::uint64_t rest = length == 0 ? use.peak_queue : std::uint64_t{length} << 32 | from;
        const std::uint32_t of_bytes = size(use.bytes), of_rest = length == 0 ? size(rest) : of_span;
        const auto when = static_cast<std::uint16_t>(std::uint32_t{width} << bits_of_bin | bin);
        const auto sizes = static_cast<std::uint8_t>(of_bytes << 4 | of_rest);
        std::memcpy(to, &link, sizeof(link));
        std::memcpy(to + 4, &when, sizeof(when));
        std::memcpy(to + 6, &sizes, sizeof(sizes));
        std::memcpy(to + 7, &use.bytes, sizeof(use.bytes));
        std::memcpy(to + 7 + of_bytes, &rest, sizeof(rest));
        return to + 7 + of_bytes + of_rest;
    }
    [[nodiscard]] static UseNote read(const std::byte* note) {
        const auto when = word<std::uint16_t>(note + 4);
        const std::uint32_t of_bytes = sizes(note) >> 4, of_rest = sizes(note) & 15;
        const std::uint64_t rest = first_bytes(word<std::uint64_t>(note + 7 + of_bytes), of_rest);
        const bool spans = of_rest == of_span;
        return {.use = {.bytes = first_bytes(word<std::uint64_t>(note + 7), of_bytes), .peak_queue = spans ? 0 : rest},
                .link = link_of(note),
                .bin = static_cast<std::uint16_t>(when & ((1U << bits_of_bin) - 1)),
                .width = static_cast<std::uint8_t>(when >> bits_of_bin),
                .length = spans ? static_cast<std::uint32_t>(rest >> 32) : 0,
                .from = spans ? static_cast<std::uint32_t>(rest) : 0};
    }
    [[nodiscard]] static std::uint32_t link_of(const std::byte* note) { return word<std::uint32_t>(note); }
    /// Where the note behind it is.
    [[nodiscard]] static const std::byte* after(const std::byte* note) {
        return note + 7 + (sizes(note) >> 4) + (sizes(note) & 15);
    }

    /// Adds it to the bins of its link, which have become as wide as `present`.
    void add_to(UseOfBin* bins, std::uint32_t present) const {
        if (length == 0) return bins[Ticks{bin} >> (present - width)].add(use);
        const Ticks begin = (Ticks{bin} << width) + from;
        PassedBytes{begin, begin + length, use.bytes}.each_bin(
            present, [&](std::uint16_t each, std::uint64_t bytes) { bins[each].bytes += bytes; });
    }

private:
    static constexpr std::uint32_t bits_of_bin = 10;
    static constexpr std::uint32_t of_span = 8;  // bytes of `length` and `from`, which are where no such queue can be
    static_assert(max_time_bins <= 1U << bits_of_bin && LinkMeter::most >> 8 * (of_span - 1) == 0);
    static_assert(std::endian::native == std::endian::little);

    template <class T>
    [[nodiscard]] static T word(const std::byte* from) {
        T read;
        std::memcpy(&read, from, sizeof(read));
        return read;
    }
    [[nodiscard]] static std::uint32_t sizes(const std::byte* note) { return word<std::uint8_t>(note + 6); }
    [[nodiscard]] static std::uint32_t size(std::uint64_t number) {
        return (static_cast<std::uint32_t>(std::bit_width(number)) + 7) / 8;
    }
    [[nodiscard]] static std::uint64_t first_bytes(std::uint64_t number, std::uint32_t count) {
        return count == 0 ? 0 : number & ~std::uint64_t{0} >> (64 - 8 * count);
    }
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
          end_(Ticks{bins} << width_),
          chunk_bits_(static_cast<std::uint32_t>(
              std::bit_width(large_page / (sizeof(UseOfBin) * std::max<std::size_t>(bins, 1))))),
          one_by_one_(one_by_one),
          of_classes_(std::size_t{classes} * bins) {}
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
            const UseOfBin use = std::exchange(counted[bin], {});
            if (use.bytes > 0 || use.peak_queue > 0) add(meter, static_cast<std::uint16_t>(Ticks{bin} >> wider), use);
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
    [[nodiscard]] std::vector<std::vector<UseOfBin>> of_links(const std::vector<const LinkMeter*>& meters) const {
        std::vector<std::vector<UseOfBin>> told(meters.size(), std::vector<UseOfBin>(bins_));
        std::vector<bool> asked(links_);  // remains in the cache, which a table of places would not
        std::unordered_map<std::uint32_t, std::size_t> places;
        for (std::size_t place = 0; place < meters.size(); ++place) {
            const std::uint32_t link = meters[place]->number;
            if (link < stored_) std::copy_n(of(link), bins_, told[place].begin());
            add_held(*meters[place], told[place].data());
            if (link == LinkMeter::no_number) continue;  // all it carried, its meter holds
            asked[link] = true;
            places[link] = place;
        }
        each_note_of([&](std::uint32_t link) { return asked[link]; },
                     [&](const UseNote& note) { note.add_to(told[places[note.link]].data(), width_); });
        return told;
    }

    void keep(StateFile& file) {
        store_notes();
        file(width_);
        end_ = Ticks{bins_} << width_;
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
    std::uint32_t reach(LinkMeter& meter, Ticks time) {
        while (time >= end_) [[unlikely]]
            double_width();
        if (one_by_one_) renew(meter, width_);
        return width_;
    }
    void count_passed(LinkMeter& meter, const PassedBytes& passed, std::uint32_t width) {
        const Ticks bin = (passed.end - 1) >> width;
        if (passed.begin >> width != bin) [[unlikely]]
            return count_in_bins(meter, passed, width);
        count_in_bin(meter, static_cast<std::uint16_t>(bin), passed.bytes);
    }
    /// A class's bins are few and remain in the cache. Those of a link don't, and its class learns what its meter held.
    void count_in_bin(LinkMeter& meter, std::uint16_t bin, std::uint64_t bytes) {
        if (one_by_one_) {
            hold_passed(meter, bin, bytes);
        } else {
            of_class(meter)[bin].bytes += bytes;
        }
    }
    [[gnu::noinline]] void count_in_bins(LinkMeter& meter, const PassedBytes& passed, std::uint32_t width) {
        const Ticks first = passed.begin >> width, length = passed.end - passed.begin;
        if (one_by_one_) {
            if ((passed.end - 1) >> width == first + 1 || length > LinkMeter::most) {
                return passed.each_bin(width,
                                       [&](std::uint16_t bin, std::uint64_t bytes) { hold_passed(meter, bin, bytes); });
            }
            // In three bins or more: `length` is longer than a bin, and so than `from`.
            note(meter, {.use = {passed.bytes, 0},
                         .link = 0,
                         .bin = static_cast<std::uint16_t>(first),
                         .width = static_cast<std::uint8_t>(width),
                         .length = static_cast<std::uint32_t>(length),
                         .from = static_cast<std::uint32_t>(passed.begin - (first << width))});
        }
        UseOfBin* const bins = of_class(meter);
        passed.each_bin(width, [&](std::uint16_t bin, std::uint64_t bytes) { bins[bin].bytes += bytes; });
    }
    void count_found(LinkMeter& meter, std::uint16_t bin, std::uint64_t queue) {
        if (one_by_one_) {
            hold_found(meter, bin, queue);
        } else {
            of_class(meter)[bin].add({0, queue});
        }
    }
    void add(LinkMeter& meter, std::uint16_t bin, const UseOfBin& use) {
        of_class(meter)[bin].add(use);
        if (!one_by_one_) return;
        note(meter, {.use = use, .link = 0, .bin = bin, .width = static_cast<std::uint8_t>(width_)});
    }
    void note(LinkMeter& meter, UseNote note) {
        if (meter.number == LinkMeter::no_number) meter.number = links_++;
        note.link = meter.number;
        if (next_note_ >= last_note_) make_room();
        next_note_ = note.write(next_note_);
    }

    [[gnu::noinline]] void make_room() {
        const std::size_t all_bins = std::size_t{links_} * bins_ * sizeof(UseOfBin);
        if (ends_.size() * large_page >= std::max(all_bins, large_page)) store_notes();
        if (next_note_ != nullptr) ends_.back() = next_note_;
        // In small pages: notes are written, and read, one after another.
        if (ends_.size() == notes_.size()) notes_.push_back(allocate_pages<std::byte>(large_page, false));
        next_note_ = notes_[ends_.size()].get();
        last_note_ = next_note_ + large_page - UseNote::most_bytes;
        ends_.push_back(next_note_);
    }
    /// Calls `f(note)` for each note of a link for which `asked(link)` holds.
    template <class Asked, class F>
    void each_note_of(Asked&& asked, F&& f) const {
        for (std::size_t chunk = 0; chunk < ends_.size(); ++chunk) {
            const std::byte* const end = chunk + 1 < ends_.size() ? ends_[chunk] : next_note_;
            for (const std::byte* next = notes_[chunk].get(); next != end; next = UseNote::after(next)) {
                if (asked(UseNote::link_of(next))) f(UseNote::read(next));
            }
        }
    }
    /// Adds all notes to the bins of their links, and forgets them.
    void store_notes() {
        store_up_to(links_);
        each_note_of([](std::uint32_t) { return true; },
                     [&](const UseNote& note) { note.add_to(of(note.link), width_); });
        ends_.clear();
        next_note_ = last_note_ = nullptr;
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
        ++width_;
        end_ = Ticks{bins_} << width_;
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
    std::vector<Pages<std::byte>> notes_;
    std::vector<const std::byte*> ends_;  // of the notes in each chunk in use; that of the last one is next_note_
    std::byte* next_note_ = nullptr;
    std::byte* last_note_ = nullptr;  // where a note still has space
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
