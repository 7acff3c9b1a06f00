/// \file
/// What single links carried in bins of time, noted one after another in as few bytes as it takes: memory that a run
/// touches for the first time costs more than what is done with it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "memory/pages.hpp"
#include "rules/link_meter.hpp"
#include "ticks.hpp"

namespace tramontane {

/// Notes in the order in which they are made: of each a word that says link, bin and form, and apart from the words its
/// numbers of 2 B, mostly one to four. So to look for the notes of a few links is to go through an array of words.
class UseNotes {
public:
    static constexpr std::uint32_t most_parts = 4;  ///< of a note

    /// \param bins of a link
    explicit UseNotes(std::uint32_t bins)
        : link_shift_(form_bits + static_cast<std::uint32_t>(std::bit_width(bins - std::uint32_t{bins > 0}))),
          last_near_(mask(32 - link_shift_)) {}

    /// Whether grow() comes before the next note.
    [[nodiscard]] bool full() const { return words_ - numbers_ < most_bytes; }
    /// Makes room.
    void grow() {
        close();
        if (free_ == 0) {
            if (used_ == chunks_.size()) chunks_.push_back(allocate_pages<std::byte>(large_page, false));
            ++used_;
            free_ = large_page;
        }
        numbers_ = chunks_[used_ - 1].get() + (large_page - free_);
        words_ = numbers_ + block_bytes;
        free_ -= block_bytes;
        populate(numbers_, block_bytes);
        begin_segment();
    }
    /// Notes what a link carried in a bin. \pre not full()
    void add(std::uint32_t link, Ticks bin, std::uint32_t bytes, std::uint32_t queue) {
        if ((bytes | queue) >> 16 != 0 || !is_near(link)) [[unlikely]]
            return add_large(link, bin, bytes, queue);
        add_small(link, bin, bytes, queue);
    }
    /// Whether there is room for the next note, and its word has space for the link.
    [[nodiscard]] bool have_room_for(std::uint32_t link) const { return is_near(link) && !full(); }
    /// Notes what a link carried in a bin, both below 2^16. \pre have_room_for(link)
    void add_small(std::uint32_t link, Ticks bin, std::uint32_t bytes, std::uint32_t queue) {
        put(numbers_, bytes | queue << 16);
        add_word(queue > 0 ? queued : parts, link, bin);
    }
    /// Notes what a link carried in `count` bins from `first` on. \pre have_room_for(link)
    /// \param bytes in each of them, below 2^16, the first one's in the lowest bits
    void add_parts(std::uint32_t link, Ticks first, std::uint64_t bytes, std::uint32_t count) {
        put(numbers_, bytes);
        add_word(parts + count - 1, link, first);
    }
    /// Bins become twice as wide.
    void widen() {
        close();
        for (Segment& segment : segments_) ++segment.wider;
        if (!segments_.empty()) begin_segment();
    }
    /// What notes take [B].
    [[nodiscard]] std::size_t bytes() const { return used_ * large_page - free_; }
    /// Calls `f(link, bin, use)` for what is noted of links for which `asked(link)` holds.
    template <class Asked, class F>
    void each_of(Asked asked, F f) {
        close();
        for (const Segment& segment : segments_) {
            const std::byte* numbers = segment.numbers;
            const std::uint32_t shift = link_shift_;
            for (const std::byte* next = segment.first_word; next != segment.last_word;) {
                next -= sizeof(Word);
                const auto word = get<Word>(next);
                const Form form = word & mask(form_bits);
                if (form == large || asked(word >> shift)) [[unlikely]]
                    tell(word, numbers, segment.wider, asked, f);
                numbers += bytes_of(form);
            }
        }
    }
    /// Forgets all notes, and keeps the memory for others.
    void clear() {
        segments_.clear();
        used_ = free_ = 0;
        numbers_ = words_ = nullptr;
    }

private:
    using Word = std::uint32_t;
    /// Which numbers a note has: one for each part; bytes and a queue; or `large`, where one of them, or the link, has
    /// more bits: link, bytes, and queue, of 4 B each.
    using Form = std::uint32_t;
    static constexpr Form large = 0, parts = 1, queued = parts + most_parts;
    static constexpr std::uint32_t form_bits = 3;
    static constexpr std::ptrdiff_t most_bytes = 16;  ///< of a note
    static constexpr std::size_t block_bytes = large_page / 8;
    static_assert(std::endian::native == std::endian::little);

    /// Notes in a block that were made with bins of the same width. Numbers go up from its beginning, words down from
    /// its end.
    struct Segment {
        const std::byte *numbers, *first_word, *last_word;
        std::uint32_t wider;  ///< bins than they were, as a power of two
    };

    /// What a note's numbers take.
    [[nodiscard]] static std::uint32_t bytes_of(Form form) {
        constexpr static std::uint8_t sizes[] = {12, 2, 4, 6, 8, 4};
        return sizes[form];
    }
    [[nodiscard]] static constexpr std::uint32_t mask(std::uint32_t bits) { return (1U << bits) - 1; }
    template <class T>
    [[nodiscard]] static T get(const std::byte* from) {
        T read;
        std::memcpy(&read, from, sizeof(read));
        return read;
    }
    template <class T>
    static void put(std::byte* to, T number) {
        std::memcpy(to, &number, sizeof(number));
    }

    /// Whether a word has space for the link.
    [[nodiscard]] bool is_near(std::uint32_t link) const { return link <= last_near_; }
    void add_word(Form form, std::uint32_t link, Ticks bin) {
        words_ -= sizeof(Word);
        put(words_, static_cast<Word>(form | bin << form_bits | link << link_shift_));
        numbers_ += bytes_of(form);
    }
    [[gnu::noinline]] void add_large(std::uint32_t link, Ticks bin, std::uint32_t bytes, std::uint32_t queue) {
        put(numbers_, link);
        put(numbers_ + 4, bytes);
        put(numbers_ + 8, queue);
        add_word(large, 0, bin);
    }
    void begin_segment() { segments_.push_back({numbers_, words_, words_, 0}); }
    /// Says where the last segment ends.
    void close() {
        if (!segments_.empty()) segments_.back().last_word = words_;
    }
    template <class Asked, class F>
    [[gnu::noinline]] void tell(Word word, const std::byte* numbers, std::uint32_t wider, Asked asked, F f) const {
        const Form form = word & mask(form_bits);
        const std::uint32_t link = form == large ? get<std::uint32_t>(numbers) : word >> link_shift_;
        const Ticks first = (word & mask(link_shift_)) >> form_bits;
        const auto in_bin = [&](Ticks bin, const UseOfBin& use) { f(link, bin >> wider, use); };
        if (form == large) {
            if (asked(link)) in_bin(first, {get<std::uint32_t>(numbers + 4), get<std::uint32_t>(numbers + 8)});
        } else if (form == queued) {
            in_bin(first, {get<std::uint16_t>(numbers), get<std::uint16_t>(numbers + 2)});
        } else {
            for (std::uint32_t i = 0; i < form; ++i) in_bin(first + i, {get<std::uint16_t>(numbers + 2 * i), 0});
        }
    }

    std::uint32_t link_shift_;  // where in its word a note's link is
    std::uint32_t last_near_;
    std::vector<Pages<std::byte>> chunks_;
    std::size_t used_ = 0;  // chunks in use
    std::size_t free_ = 0;  // bytes of the last one of them that are of no block
    std::vector<Segment> segments_;
    std::byte* numbers_ = nullptr;  // the next note's
    std::byte* words_ = nullptr;    // the last note's
};

}  // namespace tramontane
