/// \file
/// What is pending, by window and site, written to by all lanes at the same time.
///
/// Events of the windows that follow soon lie in bins, one for each site and window, as chains of records; a bit tells
/// that a bin has something. Later ones lie in wheels, where a bucket is as long as the whole wheel before it, and come
/// into the bins in time, through few wheels, however late they are. In which order events come into a bin is left
/// open: whoever takes them out sorts them.
///
/// Nobody reads within a window what another lane has written in it: a push exchanges the end of a chain, and whoever
/// follows the chain does so in a later window. So pushing takes no fence, which on an accelerator would empty the
/// nearest cache of all lanes beside it.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "accelerated.hpp"
#include "device/atomic.hpp"
#include "device/records.hpp"
#include "device/sites.hpp"
#include "divisor.hpp"
#include "random.hpp"
#include "rules/events.hpp"
#include "rules/rule.hpp"
#include "rules/windows.hpp"

namespace tramontane::device {

/// An event, in a chain of a bin, and then in the heap of the lane that handles it.
struct alignas(32) Pending {
    Ticks time;
    std::uint32_t code;
    Index item;         ///< packet or transaction; bytes of credits
    std::uint32_t tie;  ///< of packet or transaction
    union {
        SiteId site;  ///< in a chain
        Index child;  ///< in a heap
    };
    Index next;  ///< of the chain, or sibling in a heap
};
static_assert(sizeof(Pending) == 32);

/// A bit for each of the numbers that follow soon, in a ring.
template <std::uint32_t count>
class Bits {
    static constexpr std::uint32_t of_word = 32;
    static_assert(count % of_word == 0);

public:
    TRAMONTANE_RULE void set(std::uint64_t number) { words_[word(number)] |= bit(number); }
    TRAMONTANE_RULE void clear(std::uint64_t number) { words_[word(number)] &= ~bit(number); }
    /// While others set some, too.
    TRAMONTANE_RULE void set_together(std::uint64_t number) { set_bits(&words_[word(number)], bit(number)); }
    TRAMONTANE_RULE void set_together(const Bits& others) {
        for (std::uint32_t i = 0; i < count / of_word; ++i) {
            if ((others.words_[i] & ~peek(&words_[i])) != 0) set_bits(&words_[i], others.words_[i]);
        }
    }
    /// The first number from `begin` on whose bit is set; `end` if there is none before. \pre end - begin <= count
    ///
    /// It looks at all words, the last one first: so no load waits for another one.
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t next(std::uint64_t begin, std::uint64_t end) const {
        constexpr std::uint32_t words = count / of_word;
        const auto skipped = static_cast<std::uint32_t>(begin % of_word);
        std::uint64_t found = end;
        for (std::uint32_t i = words + 1; i-- > 0;) {
            const std::uint64_t number = begin - skipped + std::uint64_t{i} * of_word;
            const std::uint32_t mask = i == 0 ? ~std::uint32_t{0} << skipped : ~std::uint32_t{0};
            const std::uint32_t bits = words_[word(number)] & mask;
            if (bits != 0) found = number + trailing_zeros(bits);
        }
        return found < end ? found : end;
    }

private:
    [[nodiscard]] TRAMONTANE_RULE static std::uint32_t word(std::uint64_t number) {
        return static_cast<std::uint32_t>(number % count / of_word);
    }
    [[nodiscard]] TRAMONTANE_RULE static std::uint32_t bit(std::uint64_t number) {
        return std::uint32_t{1} << number % of_word;
    }

    std::uint32_t words_[count / of_word] = {};
};

class Agenda {
public:
#ifdef TRAMONTANE_SMALL_STORAGE
    static constexpr std::uint32_t near = 32, buckets = 32;  // for tests: results do not depend on them
#else
    static constexpr std::uint32_t near = 128, buckets = 512;
#endif
    static constexpr std::uint32_t epoch = near / 4;  ///< windows of a bucket of the first wheel
    static constexpr std::uint32_t bits_of_digit = std::bit_width(buckets - 1);
    static constexpr std::uint32_t wheels =
        (64 + bits_of_digit - 1) / bits_of_digit;  ///< for all epochs that there may be
    static constexpr std::uint64_t ended = ~std::uint64_t{0};
    static constexpr std::uint32_t bits_of_word = 32;
    using Soon = Bits<near>;  ///< windows that a lane has put something into

    /// \param events that there is room for, until `grow`
    /// \param stride of the sites whose bits are one word: those of neighbours lie in as many words
    Agenda(Memory& memory, Ticks lookahead, SiteId sites, std::uint32_t events, std::uint32_t stride)
        : windows(lookahead),
          sites_(sites),
          stride_(stride),
          words_((sites + stride * bits_of_word - 1) / (stride * bits_of_word) * stride),
          events_(memory, events),
          tails_(memory, std::size_t{near} * sites),
          busy_(memory, std::size_t{near} * words_) {}

    const Windows windows;

    [[nodiscard]] TRAMONTANE_RULE Records<Pending>& events() { return events_; }
    /// The window whose events are handled.
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t window() const { return window_; }
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t words() const { return words_; }
    /// The site of a bit.
    [[nodiscard]] TRAMONTANE_RULE SiteId site(std::uint32_t word, std::uint32_t bit) const {
        const std::uint32_t row = stride_.quotient(word);
        return (row * bits_of_word + bit) * stride_.value() + (word - row * stride_.value());
    }

    /// The bits of a word whose sites come before `end`.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t bits_before(std::uint32_t word, SiteId end) const {
        const std::uint32_t row = stride_.quotient(word), rows = stride_.quotient(end);
        const bool one_more = word - row * stride_.value() < end - rows * stride_.value();
        const std::uint32_t before = rows + (one_more ? 1 : 0), first = row * bits_of_word;
        if (before <= first) return 0;
        return before - first >= bits_of_word ? ~std::uint32_t{0} : (std::uint32_t{1} << (before - first)) - 1;
    }

    /// Adds an event of a later window, whose record says `time` and `site`.
    TRAMONTANE_RULE void push(Index event, Ticks time, SiteId site, Soon& soon) {
        const std::uint64_t number = windows.of(time).number;
        if (number - window_ < near) {
            put(number, event, site, soon);
        } else {
            put_far(number / epoch, event);
        }
    }
    /// Lets others know of windows that have something now.
    TRAMONTANE_RULE void note(const Soon& soon) { any_.set_together(soon); }

    /// The bits of a word of busy sites of this window.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t busy(std::uint32_t word) const { return busy_[busy_place(word)]; }
    TRAMONTANE_RULE void clear_busy(std::uint32_t word) { busy_[busy_place(word)] = 0; }
    /// Takes the chain of what happens at a site in this window.
    [[nodiscard]] TRAMONTANE_RULE Index take(SiteId site) {
        Index& tail = tails_[std::size_t{slot(window_)} * sites_ + site];
        const Index last = tail;
        tail = none;
        return last;
    }

    /// Between two windows: goes to the next one that has events; `ended` where there is none.
    /// \throws std::runtime_error where it lies beyond the range of time
    TRAMONTANE_RULE std::uint64_t turn() {
        any_.clear(window_);
        window_ = following();
        if (window_ != ended) check_event(windows.begin(window_));
        return window_;
    }
    /// Begins at a window other than the first. \pre nothing is pending
    void go_to(std::uint64_t window) {
        window_ = window;
        filled_ = window / epoch + 1;
    }
    /// The first window that has events. \pre none of them has been handled
    std::uint64_t begin() { return any_.next(window_, window_ + 1) == window_ ? window_ : turn(); }

    /// Takes all that is pending, in any order. While no lane runs.
    [[nodiscard]] std::vector<Index> take_all() {
        std::vector<Index> all;
        const auto take_chain = [&](Index& tail) {
            for (Index i = tail; i != none; i = events_[i].next) all.push_back(i);
            tail = none;
        };
        for (std::uint64_t number = window_; number < window_ + near; ++number) {
            std::uint32_t* const busy = &busy_[std::size_t{slot(number)} * words_];
            for (std::uint32_t word = 0; word < words_; ++word) {
                for (std::uint32_t bits = busy[word]; bits != 0; bits &= bits - 1) {
                    take_chain(tails_[std::size_t{slot(number)} * sites_ + site(word, trailing_zeros(bits))]);
                }
                busy[word] = 0;
            }
        }
        for (Wheel& wheel : far_) {
            for (Index& tail : wheel.tails) take_chain(tail);
            wheel.any = {};
        }
        any_ = {};
        return all;
    }

private:
    /// The next window that has events; `ended` where there is none. Brings far events nearer on the way.
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t following() {
        while (true) {
            const std::uint64_t next = any_.next(window_ + 1, window_ + near);
            const bool found = next < window_ + near;
            if (found && next / epoch < filled_) return next;
            const Bucket first = first_far();
            if (found && first.begin > next / epoch) {  // which is so where there is none
                filled_ = next / epoch + 1;
                return next;
            }
            if (first.begin == ended) return ended;
            window_ = first.begin * epoch - 1;  // there is nothing before, nor before the next one
            refill(first);
        }
    }

    // A later event's epoch is a number of as many digits as there are wheels. It lies in the wheel of the highest
    // digit that differs from that of the first epoch that is not in the bins, so all before it agree: the bucket is
    // the digit.

    struct Wheel {
        Index tails[buckets];  ///< last event of each bucket
        Bits<buckets> any;     ///< a bit for each bucket that has something
    };
    struct Bucket {
        std::uint32_t wheel;
        std::uint64_t begin;  ///< the first epoch of what is left of it; `ended`: there is no bucket
    };

    [[nodiscard]] TRAMONTANE_RULE static std::uint32_t digit(std::uint64_t of_epoch, std::uint32_t wheel) {
        return static_cast<std::uint32_t>((of_epoch >> wheel * bits_of_digit) % buckets);
    }

    /// The first bucket that has something; of several that begin alike the longest.
    [[nodiscard]] TRAMONTANE_RULE Bucket first_far() const {
        Bucket first{0, ended};
        for (auto wheel = static_cast<std::uint32_t>(bit_width(used_)); wheel-- > 0;) {
            const std::uint32_t here = digit(filled_, wheel), found = far_[wheel].any.next(here, buckets);
            if (found == buckets) continue;
            const std::uint32_t shift = wheel * bits_of_digit;
            const std::uint64_t begin = found == here ? filled_ : ((filled_ >> shift) + (found - here)) << shift;
            if (begin < first.begin) first = {wheel, begin};
        }
        return first;
    }

    [[nodiscard]] TRAMONTANE_RULE static std::uint32_t slot(std::uint64_t number) {
        return static_cast<std::uint32_t>(number % near);
    }

    [[nodiscard]] TRAMONTANE_RULE std::size_t busy_place(std::uint32_t word) const {
        return std::size_t{slot(window_)} * words_ + word;
    }

    TRAMONTANE_RULE void put(std::uint64_t number, Index event, SiteId site, Soon& soon) {
        const std::uint32_t at = slot(number);
        const Index before = exchange(&tails_[std::size_t{at} * sites_ + site], event);
        events_[event].next = before;
        soon.set(number);
        if (before != none) return;
        const std::uint32_t row = stride_.quotient(site);
        const std::uint32_t word = row / bits_of_word * stride_.value() + (site - row * stride_.value());
        set_bits(&busy_[std::size_t{at} * words_ + word], std::uint32_t{1} << row % bits_of_word);
    }
    TRAMONTANE_RULE void put_far(std::uint64_t of_epoch, Index event) {
        const int differ = bit_width(of_epoch ^ filled_);
        const std::uint32_t wheel = differ == 0 ? 0 : static_cast<std::uint32_t>(differ - 1) / bits_of_digit;
        const std::uint32_t bucket = digit(of_epoch, wheel);
        const Index before = exchange(&far_[wheel].tails[bucket], event);
        events_[event].next = before;
        if (before != none) return;
        far_[wheel].any.set_together(bucket);
        const std::uint32_t bit = std::uint32_t{1} << wheel;
        if ((peek(&used_) & bit) == 0) set_bits(&used_, bit);
    }

    /// Brings the events of a bucket into the bins, or into the wheels before its own.
    TRAMONTANE_RULE void refill(const Bucket& bucket) {
        filled_ = bucket.begin + (bucket.wheel == 0 ? 1 : 0);
        Wheel& wheel = far_[bucket.wheel];
        const std::uint32_t place = digit(bucket.begin, bucket.wheel);
        Soon soon;
        Index i = wheel.tails[place];
        wheel.tails[place] = none;
        wheel.any.clear(place);
        while (i != none) {
            const Pending& event = events_[i];
            const Index next = event.next;
            const std::uint64_t number = windows.of(event.time).number;
            if (number / epoch < filled_) {
                put(number, i, event.site, soon);
            } else {
                put_far(number / epoch, i);
            }
            i = next;
        }
        note(soon);
    }

    const SiteId sites_;
    const Divisor stride_;
    const std::uint32_t words_;
    Records<Pending> events_;
    Array<Index> tails_;         // last event of each bin, by window and site
    Array<std::uint32_t> busy_;  // a bit for each bin that has something
    Bits<near> any_;             // a bit for each window that has
    Wheel far_[wheels] = {};     // what is later than all bins
    std::uint32_t used_ = 0;     // a bit for each wheel that has ever had something
    std::uint64_t filled_ = 1;   // epochs before this one are in the bins
    std::uint64_t window_ = 0;
};

}  // namespace tramontane::device
