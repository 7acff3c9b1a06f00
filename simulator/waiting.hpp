/// \file
/// Why ranks wait, counted where a point asks for it; and what some of them do when, for timelines.
///
/// Each message keeps a diary: until when which cause held it up. A stretch in which a rank idles is charged to the
/// message whose arrival ends it, moment by moment to the cause that held that message up then. Terms are Scalasca's
/// (Geimer et al., CCPE 2010): late sender, late receiver; where the one who is late was at work, it is imbalance of
/// work (the direct cause in the sense of Boehme et al., ICPP 2010).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "pages.hpp"
#include "pool.hpp"
#include "ticks.hpp"

namespace tramontane {

/// Why a rank waits; the last two are what else a rank does, in timelines.
enum class Cause : std::uint8_t { late_sender, late_receiver, imbalance, nic_queue, network, work, busy };
inline constexpr std::size_t causes = 5;
inline constexpr std::array<const char*, 7> cause_names{"late_sender", "late_receiver", "imbalance", "nic_queue",
                                                        "network",     "work",          "busy"};
inline constexpr std::uint32_t max_waiting_bins = 4096;
inline constexpr std::size_t max_stretches = 20'000'000;

/// Of one rank: something that it did, or why it waited, from when to when.
struct Stretch {
    std::uint32_t rank;
    std::uint32_t peer;  ///< who it waited for; itself where it did not wait
    Ticks begin, end;
    Cause cause;
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
    std::array<Ticks, here> until;

    [[nodiscard]] std::size_t count() const { return causes >> counted; }
    [[nodiscard]] Cause cause(std::size_t i) const { return static_cast<Cause>(causes >> bits * i & 7U); }
};
static_assert(sizeof(Diary) == 64);

/// One diary for each transaction's record, wherever threads take those from.
class Diaries {
public:
    /// \param most whether most messages have one: then large pages are worth what the system does to clear them
    explicit Diaries(bool most) : first_{most}, rest_{most} {}

    void begin(Index item, std::uint32_t sender) {
        Diary& diary = first_[item];
        diary.causes = 0;
        diary.sender = sender;
    }
    /// A rank posts the message, or answers it when it has waited for the rank.
    void turn(Index item, std::uint32_t rank, Ticks now) {
        Diary& diary = first_[item];
        if (diary.count() > 0 && now <= until(diary, item, diary.count() - 1)) return;
        diary.origin = rank;
        diary.since = now;
    }
    void add(Index item, Ticks until, Cause cause) {
        Diary& diary = first_[item];
        const std::size_t n = diary.count();
        if (n > 0 && until <= this->until(diary, item, n - 1)) return;
        if (n > 0 && diary.cause(n - 1) == cause) {
            this->until(diary, item, n - 1) = until;
        } else if (n < Diary::most) {
            this->until(diary, item, n) = until;
            diary.causes +=
                (std::uint64_t{1} << Diary::counted) + (static_cast<std::uint64_t>(cause) << Diary::bits * n);
        }
    }
    [[nodiscard]] const Diary& operator[](Index item) { return first_[item]; }

    /// Calls `f(from, to, cause)` for each part of a stretch of time; what comes after the last entry is the network's.
    template <class F>
    void each(Index item, Ticks from, Ticks to, F&& f) {
        Diary& diary = first_[item];
        for (std::size_t i = 0; i < diary.count() && from < to; ++i) {
            const Ticks end = std::min(until(diary, item, i), to);
            if (end <= from) continue;
            f(from, end, diary.cause(i));
            from = end;
        }
        if (from < to) f(from, to, Cause::network);
    }

    void prefetch(Index item) const { first_.prefetch(item); }

private:
    /// Records in chunks that are made when one of them is needed.
    template <class T>
    class Chunks {
    public:
        explicit Chunks(bool large) : large_{large}, chunks_(new std::atomic<T*>[of_all / of_chunk]()) {}
        ~Chunks() {
            for (std::size_t i = 0; i < of_all / of_chunk; ++i) Release{}(chunks_[i].load());
        }
        Chunks(const Chunks&) = delete;
        Chunks& operator=(const Chunks&) = delete;

        [[nodiscard]] T& operator[](Index item) {
            std::atomic<T*>& chunk = chunks_[item / of_chunk];
            T* records = chunk.load(std::memory_order_acquire);
            if (records == nullptr) [[unlikely]]
                records = make(chunk);
            return records[item % of_chunk];
        }
        void prefetch(Index item) const {
            const T* records = chunks_[item / of_chunk].load(std::memory_order_acquire);
            if (records != nullptr) prefetch_line(&records[item % of_chunk]);
        }

    private:
        static constexpr std::size_t of_chunk = 32768;
        static constexpr std::size_t of_all = std::size_t{1} << 32;

        T* make(std::atomic<T*>& chunk) const {
            Pages<T> made = allocate_pages<T>(of_chunk, large_);
            T* known = nullptr;
            return chunk.compare_exchange_strong(known, made.get()) ? made.release() : known;
        }

        bool large_;
        std::unique_ptr<std::atomic<T*>[]> chunks_;
    };
    struct Rest {
        std::array<Ticks, Diary::most - Diary::here> until;
    };

    [[nodiscard]] Ticks& until(Diary& diary, Index item, std::size_t i) {
        return i < Diary::here ? diary.until[i] : rest_[item].until[i - Diary::here];
    }

    Chunks<Diary> first_;
    Chunks<Rest> rest_;
};

/// What is known of all ranks; each rank's own is written by the part that has it.
class Waiting {
public:
    using Sums = std::array<Ticks, causes>;

    /// \param told ranks whose stretches are kept
    /// \param all whether all ranks' waiting is counted; else only that of those that are told
    Waiting(std::uint32_t ranks, const std::vector<std::uint32_t>& told, bool all)
        : all_(all), ranks_(ranks), told_(ranks / bits + 1, 0), diaries_(all) {
        for (const std::uint32_t rank : told) told_[rank / bits] |= std::uint64_t{1} << rank % bits;
    }

    /// Whether a diary of messages between two ranks is needed.
    [[nodiscard]] bool heeds(std::uint32_t a, std::uint32_t b) const { return all_ || tells(a) || tells(b); }
    [[nodiscard]] bool heeds(std::uint32_t rank) const { return all_ || tells(rank); }

    /// A rank hands over the first message of a transfer; before it is ready, it is late.
    template <class T>
    void post(std::uint32_t rank, Index item, Ticks now, const Pool<T>& transactions) {
        diaries_.prefetch(transactions.coming());
        diaries_.begin(item, rank);
        late(item, rank, now, Cause::late_sender);
    }
    /// A rank answers a message that has come.
    void answer(std::uint32_t rank, Index item, Ticks now) { late(item, rank, now, Cause::late_receiver); }
    /// The first packet of a message has its turn at the NIC's port.
    void leave(Index item, Ticks now) { diaries_.add(item, now, Cause::nic_queue); }
    void come(Index item, Ticks now) { diaries_.add(item, now, Cause::network); }
    void work(std::uint32_t rank, Ticks begin, Ticks end, std::vector<Stretch>& told) {
        ranks_[rank].work_begin = begin;
        ranks_[rank].work_end = end;
        tell(told, {rank, rank, begin, end, Cause::work, rank, begin});
    }
    void busy(std::uint32_t rank, Ticks begin, Ticks end, std::vector<Stretch>& told) const {
        tell(told, {rank, rank, begin, end, Cause::busy, rank, begin});
    }
    void idle(std::uint32_t rank, Ticks now) {
        if (heeds(rank)) ranks_[rank].idle_since = now;
    }
    [[nodiscard]] Ticks idle_since(std::uint32_t rank) const { return ranks_[rank].idle_since; }
    /// A rank idled until a message came.
    /// \param other end of a transfer that is the rank's own
    void charge(std::uint32_t rank, std::uint32_t other, Index item, Ticks from, Ticks to, std::vector<Stretch>& told) {
        const Diary& diary = diaries_[item];
        const std::uint32_t peer = diary.sender == rank ? other : diary.sender;
        diaries_.each(item, from, to, [&](Ticks begin, Ticks end, Cause cause) {
            ranks_[rank].sums[static_cast<std::size_t>(cause)] += end - begin;
            tell(told, {rank, peer, begin, end, cause, diary.origin, diary.since});
        });
    }

    /// Brings what the arrival of a message will touch into the cache.
    void prefetch(std::uint32_t rank, Index item) const {
        if (!heeds(rank)) return;
        diaries_.prefetch(item);
        prefetch_line(&ranks_[rank]);
    }

    [[nodiscard]] const Sums& sums(std::uint32_t rank) const { return ranks_[rank].sums; }
    [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(ranks_.size()); }

private:
    static constexpr std::uint32_t bits = 64;

    struct alignas(64) OfRank {
        Sums sums;
        Ticks work_begin, work_end;  ///< its last work
        Ticks idle_since;
    };

    [[nodiscard]] bool tells(std::uint32_t rank) const { return (told_[rank / bits] >> rank % bits & 1) != 0; }

    void late(Index item, std::uint32_t rank, Ticks now, Cause cause) {
        const OfRank& own = ranks_[rank];
        diaries_.turn(item, rank, now);
        diaries_.add(item, own.work_begin, cause);
        diaries_.add(item, std::min(own.work_end, now), Cause::imbalance);
        diaries_.add(item, now, cause);
    }
    void tell(std::vector<Stretch>& told, const Stretch& stretch) const {
        if (!tells(stretch.rank) || stretch.end <= stretch.begin) return;
        if (told.size() == max_stretches) throw std::runtime_error("timeline: more than 20 million stretches");
        told.push_back(stretch);
    }

    const bool all_;
    ZeroRecords<OfRank> ranks_;        // for a timeline, few ranks' are touched
    std::vector<std::uint64_t> told_;  // a bit a rank: it stays in the nearest cache
    Diaries diaries_;
};

}  // namespace tramontane
