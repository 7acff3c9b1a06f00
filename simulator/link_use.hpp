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
/// in that bin on. Mostly written in 8, 10 or 16 B: memory that a run touches for the first time costs more than what
/// is done with it.
struct UseNote {
    std::uint32_t link;
    std::uint16_t bin;
    std::uint8_t width;
    std::uint32_t bytes;
    std::uint32_t peak_queue = 0;
    std::uint32_t length = 0;  ///< in which the bytes passed [ticks]; 0: in the bin
    std::uint32_t from = 0;    ///< ticks after the bin's beginning

    static constexpr std::size_t most_bytes = 24;

    /// \return where the next note goes
    std::byte* write(std::byte* to) const {
        const std::uint64_t when = std::uint64_t{width} << bits_of_bin | bin;
        const std::uint64_t head = std::uint64_t{link} << bits_of_form | when << 32;
        const std::uint64_t span = std::uint64_t{from} << 32 | length;
        if (((bytes | peak_queue) >> 16) != 0) [[unlikely]] {
            put(to, head | large);
            put(to + 6, std::uint64_t{peak_queue} << 32 | bytes);
            put(to + 14, span);
            return to + size(large);
        }
        const std::uint32_t form = length > 0 ? spans : peak_queue > 0 ? queues : passes;
        put(to, head | form | std::uint64_t{bytes} << 48);
        put(to + 8, length > 0 ? span : peak_queue);
        return to + size(form);
    }
    [[nodiscard]] static UseNote read(const std::byte* note) {
        const std::uint32_t form = form_of(note);
        const auto when = word<std::uint16_t>(note + 4);
        const std::byte* const rest = note + (form == large ? 14 : 8);
        const bool has_span = form == spans || form == large;
        return {.link = link_of(note),
                .bin = static_cast<std::uint16_t>(when & mask(bits_of_bin)),
                .width = static_cast<std::uint8_t>(when >> bits_of_bin),
                .bytes = form == large ? word<std::uint32_t>(note + 6) : word<std::uint16_t>(note + 6),
                .peak_queue = form == large    ? word<std::uint32_t>(note + 10)
                              : form == queues ? word<std::uint16_t>(rest)
                                               : 0,
                .length = has_span ? word<std::uint32_t>(rest) : 0,
                .from = has_span ? word<std::uint32_t>(rest + 4) : 0};
    }
    [[nodiscard]] static std::uint32_t link_of(const std::byte* note) {
        return word<std::uint32_t>(note) >> bits_of_form;
    }
    /// Where the note behind it is.
    [[nodiscard]] static const std::byte* after(const std::byte* note) { return note + size(form_of(note)); }

    /// Adds it to the bins of its link, which have become as wide as `present`.
    void add_to(UseOfBin* bins, std::uint32_t present) const {
        if (length == 0) return bins[Ticks{bin} >> (present - width)].add({bytes, peak_queue});
        const Ticks begin = (Ticks{bin} << width) + from;
        PassedBytes{begin, begin + length, bytes}.each_bin(
            present, [&](std::uint16_t each, std::uint64_t passed) { bins[each].bytes += passed; });
    }

private:
    /// How it is written; no machine has 2^30 links.
    enum Form : std::uint32_t { passes, queues, spans, large };
    static constexpr std::uint32_t bits_of_form = 2, bits_of_bin = 10;
    static_assert(max_time_bins <= 1U << bits_of_bin);
    static_assert(std::endian::native == std::endian::little);

    [[nodiscard]] static std::uint32_t size(std::uint32_t form) {
        constexpr std::uint32_t sizes = 8 | 10 << 8 | 16 << 16 | 22 << 24;
        return sizes >> 8 * form & mask(8);
    }
    [[nodiscard]] static constexpr std::uint32_t mask(std::uint32_t bits) { return (1U << bits) - 1; }
    [[nodiscard]] static std::uint32_t form_of(const std::byte* note) {
        return word<std::uint32_t>(note) & mask(bits_of_form);
    }
    template <class T>
    [[nodiscard]] static T word(const std::byte* from) {
        T read;
        std::memcpy(&read, from, sizeof(read));
        return read;
    }
    static void put(std::byte* to, std::uint64_t word) { std::memcpy(to, &word, sizeof(word)); }
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

    // A class's bins are few and remain in the cache. Those of a link don't, and its class learns what its meter held.

    /// Bytes pass a link evenly from `begin` to `end`.
    [[gnu::noinline]] void pass(LinkMeter& meter, Ticks begin, Ticks end, std::uint32_t bytes) {
        end = std::max(end, begin + 1);
        if (end > end_) [[unlikely]]
            return reach_and_pass(meter, begin, end, bytes);
        const Ticks bin = (end - 1) >> width_;
        if (begin >> width_ != bin) [[unlikely]]
            return pass_in_bins(meter, begin, end, bytes);
        if (one_by_one_) {
            if (meter.passed_bin != bin || meter.width != width_ ||
                std::uint64_t{meter.passed} + bytes > LinkMeter::most)
                return pass_in_other(meter, static_cast<std::uint16_t>(bin), bytes);
            meter.passed += bytes;
        } else {
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

    // What is rare, by itself: so the usual case needs no registers saved.

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
    /// In a bin that a link's meter is not at.
    [[gnu::noinline]] void pass_in_other(LinkMeter& meter, std::uint16_t bin, std::uint32_t bytes) {
        renew(meter, width_);
        hold_passed(meter, bin, bytes);
    }
    [[gnu::noinline]] void find_in_other(LinkMeter& meter, std::uint16_t bin, std::uint64_t queue) {
        renew(meter, width_);
        hold_found(meter, bin, queue);
    }
    [[gnu::noinline]] void pass_in_bins(LinkMeter& meter, Ticks begin, Ticks end, std::uint32_t bytes) {
        const Ticks first = begin >> width_, from = begin - (first << width_), length = end - begin;
        const PassedBytes passed{begin, end, bytes};
        if (one_by_one_) {
            renew(meter, width_);
            // Where its meter is at the first of two bins, it goes on to the second one: a note either way.
            const bool goes_on = first == meter.passed_bin && (end - 1) >> width_ == first + 1;
            if (goes_on || ((length | from) >> 32) != 0) {
                return passed.each_bin(width_,
                                       [&](std::uint16_t bin, std::uint64_t part) { hold_passed(meter, bin, part); });
            }
            note(meter, {.link = 0,
                         .bin = static_cast<std::uint16_t>(first),
                         .width = static_cast<std::uint8_t>(width_),
                         .bytes = bytes,
                         .length = static_cast<std::uint32_t>(length),
                         .from = static_cast<std::uint32_t>(from)});
        }
        UseOfBin* const bins = of_class(meter);
        passed.each_bin(width_, [&](std::uint16_t bin, std::uint64_t part) { bins[bin].bytes += part; });
    }
    void add(LinkMeter& meter, std::uint16_t bin, const UseOfBin& use) {
        of_class(meter)[bin].add(use);
        if (!one_by_one_) return;
        std::uint64_t bytes = use.bytes;  // more than a meter holds come from elsewhere, see take()
        for (; bytes > LinkMeter::most; bytes -= LinkMeter::most) [[unlikely]]
            note(meter, note_of(bin, LinkMeter::most, 0));
        note(meter, note_of(bin, bytes, use.peak_queue));
    }
    [[nodiscard]] UseNote note_of(std::uint16_t bin, std::uint64_t bytes, std::uint64_t queue) const {
        return {.link = 0,
                .bin = bin,
                .width = static_cast<std::uint8_t>(width_),
                .bytes = static_cast<std::uint32_t>(bytes),
                .peak_queue = static_cast<std::uint32_t>(queue)};
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
