/// \file
/// Why ranks wait, counted where a point asks for it; and what some of them do when, for timelines.
///
/// Each message keeps a diary: until when which cause held it up. A stretch in which a rank idles is charged to the
/// message whose arrival ends it, moment by moment to the cause that held that message up then. Terms are Scalasca's
/// (Geimer et al., CCPE 2010): late sender, late receiver; where the one who is late was at work, it is imbalance of
/// work (the direct cause in the sense of Boehme et al., ICPP 2010).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rules/rule.hpp"
#include "ticks.hpp"

namespace tramontane {

/// Why a rank waits: for a message, or for the storage; the last two are what else a rank does, in timelines.
enum class Cause : std::uint8_t { late_sender, late_receiver, imbalance, nic_queue, network, storage, work, busy };
inline constexpr std::size_t message_causes = 5, causes = 6;

/// Of one rank: something that it did, or why it waited, from when to when.
struct Stretch {
    std::uint32_t rank;
    std::uint32_t peer;  ///< who it waited for; itself where it did not wait
    Ticks begin, end;
    Cause cause;
    std::uint8_t cpu;  ///< which of its rank's processors did it
    /// Where it waited: the last rank whose doing, not the network, decided when the message that ended it came, and
    /// the moment. Else the rank and its begin.
    std::uint32_t origin;
    Ticks since;
};

/// The causes that held up a message, each until when, from its sender's last work before it was posted on. What is
/// always looked at has one line, with five causes: most messages have no more.
struct alignas(64) Diary {
    static constexpr std::size_t here = 5, most = 19;  // a pulled message has 17 at most
    static constexpr std::size_t bits = 3, counted = most * bits;

    std::uint64_t causes;  ///< three bits each, and how many there are in the bits above
    std::uint32_t sender, origin;
    Ticks since;
    Ticks until[here];

    [[nodiscard]] TRAMONTANE_RULE std::size_t count() const { return causes >> counted; }
    [[nodiscard]] TRAMONTANE_RULE Cause cause(std::size_t i) const {
        return static_cast<Cause>(causes >> bits * i & 7U);
    }
};
static_assert(sizeof(Diary) == 64);

/// Until when the causes held up a message that have no room there.
struct alignas(64) DiaryRest {
    Ticks until[Diary::most - Diary::here];
};

/// One line. What few ranks ever wait for, the storage, is counted elsewhere.
struct alignas(64) WaitingOfRank {
    Ticks sums[message_causes];
    Ticks work_begin, work_end;  ///< its last work
    Ticks idle_since;
};
static_assert(sizeof(WaitingOfRank) == 64);

/// \tparam Own who has the records, and
///
///         heeds(rank)                 whether its waiting is counted
///         heeds(rank, other)          whether a message between them needs a diary
///         tells(rank)                 whether what it does is told, for timelines
///         diary(item), rest(item)     of a transaction
///         of_rank(rank)               what is counted of it
///         of_storage(rank)            how long it waited for the storage
///         begins(item, transactions)  there will be a diary of it
///         tell(told, stretch)         for timelines
template <class Own>
class WaitingRules {
public:
    /// Stretches that are kept; null where nobody keeps any.
    using Told = std::vector<Stretch>*;

    /// A rank hands over the first message of a transfer; before it is ready, it is late.
    template <class Transactions>
    TRAMONTANE_RULE void post(std::uint32_t rank, Index item, Ticks now, const Transactions& transactions) {
        own().begins(item, transactions);
        Diary& diary = own().diary(item);
        const WaitingOfRank& of_rank = own().of_rank(rank);
        diary.causes = entry(Cause::late_sender, 0);
        diary.until[0] = of_rank.work_end > of_rank.work_begin ? of_rank.work_begin : now;
        diary.sender = diary.origin = rank;
        diary.since = now;
        late(item, rank, now, Cause::late_sender);
    }
    /// A rank answers a message that has come. Where nobody waits for an acknowledgement, only this rank will wait for
    /// the message, and not before now: what held it up until now is forgotten.
    TRAMONTANE_RULE void answer(std::uint32_t rank, Index item, bool acknowledged, Ticks now) {
        Diary& diary = own().diary(item);
        if (now > last(diary, item)) {  // the message has waited for the rank
            diary.origin = rank;
            diary.since = now;
        }
        if (acknowledged) return late(item, rank, now, Cause::late_receiver);
        diary.causes = entry(Cause::late_receiver, 0);
        diary.until[0] = now;
    }
    /// The first packet of a message has its turn at the NIC's port.
    TRAMONTANE_RULE void leave(Index item, Ticks now) { add(item, now, Cause::nic_queue); }
    TRAMONTANE_RULE void come(Index item, Ticks now) { add(item, now, Cause::network); }
    TRAMONTANE_RULE void work(std::uint32_t rank, Ticks begin, Ticks end, Told told) {
        WaitingOfRank& of_rank = own().of_rank(rank);
        of_rank.work_begin = begin;
        of_rank.work_end = end;
        own().tell(told, {rank, rank, begin, end, Cause::work, 0, rank, begin});
    }
    /// A processor beside processor 0 works: nobody waits for it but its own rank.
    TRAMONTANE_RULE void work_beside(std::uint32_t rank, std::uint32_t cpu, Ticks begin, Ticks end, Told told) {
        own().tell(told, {rank, rank, begin, end, Cause::work, static_cast<std::uint8_t>(cpu), rank, begin});
    }
    TRAMONTANE_RULE void busy(std::uint32_t rank, Ticks begin, Ticks end, Told told) {
        own().tell(told, {rank, rank, begin, end, Cause::busy, 0, rank, begin});
    }
    /// A rank waited for the storage: whoever waits for it meanwhile has a late sender or receiver.
    TRAMONTANE_RULE void access(std::uint32_t rank, Ticks begin, Ticks end, Told told) {
        own().of_storage(rank) += end - begin;
        own().tell(told, {rank, rank, begin, end, Cause::storage, 0, rank, begin});
    }
    TRAMONTANE_RULE void idle(std::uint32_t rank, Ticks now) {
        if (own().heeds(rank)) own().of_rank(rank).idle_since = now;
    }
    [[nodiscard]] TRAMONTANE_RULE Ticks idle_since(std::uint32_t rank) { return own().of_rank(rank).idle_since; }
    /// A rank idled until a message came.
    /// \param other end of a transfer that is the rank's own
    TRAMONTANE_RULE void charge(std::uint32_t rank, std::uint32_t other, Index item, Ticks from, Ticks to, Told told) {
        if (from >= to) return;
        Diary& diary = own().diary(item);
        if (own().tells(rank)) [[unlikely]]
            tell_causes(rank, diary.sender == rank ? other : diary.sender, item, from, to, told);
        // Backwards: the rank has mostly waited for what the message did last.
        Ticks* const sums = own().of_rank(rank).sums;
        Cause cause = Cause::network;  // what comes after the last entry
        for (std::size_t i = diary.count(); i > 0 && from < to; --i) {
            const Ticks last = until(diary, item, i - 1), begin = std::clamp(last, from, to);
            sums[static_cast<std::size_t>(cause)] += to - begin;
            to = begin;
            cause = diary.cause(i - 1);
        }
        sums[static_cast<std::size_t>(cause)] += to - from;
    }

private:
    [[nodiscard]] TRAMONTANE_RULE Own& own() { return static_cast<Own&>(*this); }

    /// Tells a timeline what `charge` counts, with one stretch where a cause follows itself.
    [[gnu::noinline]] TRAMONTANE_RULE void tell_causes(std::uint32_t rank, std::uint32_t peer, Index item, Ticks from,
                                                       Ticks to, Told told) {
        Diary& diary = own().diary(item);
        Stretch next{rank, peer, from, from, Cause::network, 0, diary.origin, diary.since};
        for (std::size_t i = 0; i <= diary.count() && next.end < to; ++i) {
            const bool is_entry = i < diary.count();
            const Cause cause = is_entry ? diary.cause(i) : Cause::network;
            const Ticks end = is_entry ? std::min(until(diary, item, i), to) : to;
            if (end <= next.end) continue;
            if (cause != next.cause) {
                own().tell(told, next);
                next.begin = next.end;
                next.cause = cause;
            }
            next.end = end;
        }
        own().tell(told, next);
    }
    /// A rank is late with what it does for a message; while it was at work, that is why.
    TRAMONTANE_RULE void late(Index item, std::uint32_t rank, Ticks now, Cause cause) {
        const WaitingOfRank& of_rank = own().of_rank(rank);
        if (of_rank.work_end > last(own().diary(item), item)) {
            add(item, of_rank.work_begin, cause);
            add(item, std::min(of_rank.work_end, now), Cause::imbalance);
        }
        add(item, now, cause);
    }
    /// \pre the diary has an entry
    TRAMONTANE_RULE void add(Index item, Ticks until, Cause cause) {
        Diary& diary = own().diary(item);
        const std::size_t n = diary.count();
        if constexpr (checks) {
            if (n == 0 || n == Diary::most) fail<std::logic_error>("simulator: a message waits for more than it can");
        }
        if (n >= Diary::here) [[unlikely]]
            return add_to_long(item, until, cause);
        // Whether it holds up the message at all, no processor can foresee: no branches.
        Ticks* const last = &diary.until[n - 1];
        const bool more = until > *last;
        last[more] = std::max(*last, until);
        diary.causes += entry(cause, n) & -std::uint64_t{more};
    }
    /// The same where the diary's line may be full.
    [[gnu::noinline]] TRAMONTANE_RULE void add_to_long(Index item, Ticks until, Cause cause) {
        Diary& diary = own().diary(item);
        const std::size_t n = diary.count();
        if (until <= last(diary, item)) return;
        this->until(diary, item, n) = until;
        diary.causes += entry(cause, n);
    }
    /// What a diary's causes become more by with its n-th.
    [[nodiscard]] TRAMONTANE_RULE static std::uint64_t entry(Cause cause, std::size_t n) {
        return (std::uint64_t{1} << Diary::counted) + (static_cast<std::uint64_t>(cause) << Diary::bits * n);
    }
    [[nodiscard]] TRAMONTANE_RULE Ticks& until(Diary& diary, Index item, std::size_t i) {
        if (i < Diary::here) [[likely]]
            return diary.until[i];
        return own().rest(item).until[i - Diary::here];
    }
    [[nodiscard]] TRAMONTANE_RULE Ticks last(Diary& diary, Index item) { return until(diary, item, diary.count() - 1); }
};

}  // namespace tramontane
