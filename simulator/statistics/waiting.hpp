/// \file
/// Where it is counted why ranks wait, and what some of them do when.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "memory/pages.hpp"
#include "memory/pool.hpp"
#include "rules/waiting.hpp"
#include "ticks.hpp"

namespace tramontane {

inline constexpr std::array<const char*, 8> cause_names{"late_sender", "late_receiver", "imbalance", "nic_queue",
                                                        "network",     "storage",       "work",      "busy"};
inline constexpr std::uint32_t max_waiting_bins = 4096;
inline constexpr std::size_t max_stretches = 20'000'000;

/// Refuses a timeline that is too long. Each part of a run checks its own stretches, and the run those of all parts: so
/// the refusal does not depend on the number of threads.
inline void check_stretches(std::size_t number) {
    if (number > max_stretches) {
        throw std::invalid_argument("timeline: found more than 20 million stretches, allowed: fewer, of fewer ranks");
    }
}

/// Mean time that ranks waited for each cause [s], in so many bins of ranks at most.
/// \param sums_of a rank, for messages [ticks]
/// \param storage_of a rank, for the storage [ticks]
template <class SumsOf, class StorageOf>
[[nodiscard]] std::vector<std::array<double, causes>> mean_waiting(std::uint64_t ranks, std::uint32_t bins,
                                                                   SumsOf&& sums_of, StorageOf&& storage_of) {
    const std::uint64_t used = std::min<std::uint64_t>(bins, ranks);
    std::vector<std::array<double, causes>> means(used);
    std::vector<double> numbers(used);
    for (std::uint64_t rank = 0; used > 0 && rank < ranks; ++rank) {
        const std::uint64_t bin = rank * used / ranks;
        const Ticks* const sums = sums_of(static_cast<std::uint32_t>(rank));
        ++numbers[bin];
        for (std::size_t cause = 0; cause < message_causes; ++cause) means[bin][cause] += to_seconds(sums[cause]);
        means[bin][static_cast<std::size_t>(Cause::storage)] +=
            to_seconds(storage_of(static_cast<std::uint32_t>(rank)));
    }
    for (std::uint64_t bin = 0; bin < used; ++bin) {
        for (double& mean : means[bin]) mean /= numbers[bin];
    }
    return means;
}

/// What is known of all ranks; each rank's own is written by the part that has it.
class Waiting : public WaitingRules<Waiting> {
public:
    /// \param told ranks whose stretches are kept
    /// \param all whether all ranks' waiting is counted; else only that of those that are told
    Waiting(std::uint32_t ranks, const std::vector<std::uint32_t>& told, bool all)
        : all_(all),
          count_(ranks),
          ranks_(all),
          storage_(allocate_zeros<Ticks>(ranks)),
          told_(ranks / bits + 1, 0),
          diaries_(all),
          rests_(all) {
        if (ranks > 0) ranks_.make_room(ranks - 1);
        for (const std::uint32_t rank : told) told_[rank / bits] |= std::uint64_t{1} << rank % bits;
    }

    /// Whether a diary of messages between two ranks is needed.
    [[nodiscard]] bool heeds(std::uint32_t a, std::uint32_t b) const { return all_ || tells(a) || tells(b); }
    [[nodiscard]] bool heeds(std::uint32_t rank) const { return all_ || tells(rank); }

    /// Whether what a rank does is told.
    [[nodiscard]] bool tells(std::uint32_t rank) const { return (told_[rank / bits] >> rank % bits & 1) != 0; }

    /// Brings what is written of a message, or counted of a rank, into the cache, where that is so of most of them.
    void prefetch(Index item) const {
        if (all_) diaries_.prefetch(item);
    }
    void prefetch_rank(std::uint32_t rank) const {
        if (all_) ranks_.prefetch(rank);
    }

    /// How long a rank waited for messages, by cause.
    [[nodiscard]] const Ticks* sums(std::uint32_t rank) const { return ranks_[rank].sums; }
    /// How long it waited for the storage.
    [[nodiscard]] Ticks storage(std::uint32_t rank) const { return storage_[rank]; }
    [[nodiscard]] std::uint32_t ranks() const { return count_; }

private:
    friend WaitingRules;
    static constexpr std::uint32_t bits = 64;

    template <class T>
    void begins(Index item, const Pool<T>& transactions) {
        diaries_.make_room(item);
        rests_.make_room(item);
        diaries_.prefetch(transactions.coming());
    }
    [[nodiscard]] Diary& diary(Index item) { return diaries_[item]; }
    [[nodiscard]] DiaryRest& rest(Index item) { return rests_[item]; }
    [[nodiscard]] WaitingOfRank& of_rank(std::uint32_t rank) { return ranks_[rank]; }
    [[nodiscard]] Ticks& of_storage(std::uint32_t rank) { return storage_[rank]; }
    void tell(Told told, const Stretch& stretch) const {
        if (!tells(stretch.rank) || stretch.end <= stretch.begin) return;
        check_stretches(told->size() + 1);
        told->push_back(stretch);
    }

    const bool all_;
    const std::uint32_t count_;
    // Whether most ranks and messages have one says whether large pages are worth what the system does to clear them.
    RecordsBeside<WaitingOfRank> ranks_;
    Pages<Ticks> storage_;
    std::vector<std::uint64_t> told_;  // a bit a rank: it stays in the nearest cache
    RecordsBeside<Diary> diaries_;
    RecordsBeside<DiaryRest> rests_;
};

}  // namespace tramontane
