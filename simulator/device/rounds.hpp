/// \file
/// A schedule as a table: what each rank does in each round, and to whom it sends. Schedules are compositions of
/// virtual functions, which an accelerator can't call; so the host asks them all there is to know, once.
#pragma once

#include <cstdint>

#include "device/memory.hpp"
#include "rules/rule.hpp"
#include "schedule.hpp"

namespace tramontane::device {

/// What limits the messages that a rank has under way.
struct SendLimits {
    std::int64_t eager = 0;   ///< messages up to this size [B] leave a window of sends at once
    std::int64_t buffer = 0;  ///< of all NICs of a node [B]
};

/// Peers follow one another at equal distances, most of them, and most messages are of equal size. So the sends are
/// kept as runs: few where a round has many sends. Where the table is small, each round of a rank has an entry, which
/// is found at once. In a large one, equal rounds one after the other (ring-k) are one entry, through which runs go on:
/// a transposition of 10^6 ranks has a thousand rounds, of 32 B each for every rank.
class RoundTable {
public:
    /// \param schedule which may be a graph, whose messages are asked of nobody here
    /// \param limits for most_at_once() and most_bytes_at_once()
    /// \param receives whether they are asked for; where they have their turn, they are
    /// \param most_bytes of a table in which each round has an entry
    RoundTable(Memory& memory, const Schedule& schedule, const SendLimits& limits = {}, bool receives = false,
               std::uint64_t most_bytes = std::uint64_t{1} << 30);

    [[nodiscard]] TRAMONTANE_RULE Round round(Rank rank, std::int64_t round) const {
        return different_[entries_[place(rank, round)].what];
    }
    [[nodiscard]] TRAMONTANE_ONCE TRAMONTANE_RULE Transfer send(Rank rank, std::int64_t round,
                                                                std::int32_t index) const {
        const std::size_t at = place(rank, round);
        const Entry& entry = entries_[at];
        if (joins_) index += static_cast<std::int32_t>(round - firsts_[at]) * different_[entry.what].sends;
        return transfer({runs_.get() + entry.first, entry.runs}, index);
    }
    // Where receives are asked for:

    [[nodiscard]] TRAMONTANE_ONCE TRAMONTANE_RULE Transfer receive(Rank rank, std::int64_t round,
                                                                   std::int32_t index) const {
        const std::size_t at = place(rank, round);
        return transfer(receives_of(at), receives_before(at, round) + index);
    }
    [[nodiscard]] TRAMONTANE_RULE Rank source(Rank rank, std::int64_t round, std::int32_t index) const {
        return receive(rank, round, index).peer;
    }
    /// The first receive of a round that is from `source` and for which `is_open(index)` holds. \pre there is one
    template <class IsOpen>
    [[nodiscard]] TRAMONTANE_RULE std::int32_t receive_from(Rank rank, std::int64_t round, Rank source,
                                                            IsOpen&& is_open) const {
        const std::size_t at = place(rank, round);
        const Runs runs = receives_of(at);
        const std::int32_t begin = receives_before(at, round);
        const std::int32_t end = begin + different_[entries_[at].what].receives;
        for (std::uint32_t i = 0; i < runs.count; ++i) {
            const Run& run = runs.first[i];
            const std::int32_t last = i + 1 < runs.count ? std::min(runs.first[i + 1].first, end) : end;
            std::int32_t index = std::max(run.first, begin);
            if (run.step != 0) {  // at most one of them is from there
                if ((source - run.peer) % run.step != 0) continue;
                const std::int32_t only = run.first + (source - run.peer) / run.step;
                if (only >= index && only < last && is_open(only - begin)) return only - begin;
                continue;
            }
            for (; run.peer == source && index < last; ++index) {
                if (is_open(index - begin)) return index - begin;
            }
        }
        fail<std::logic_error>("device: a payload without a receive");
        return 0;
    }
    /// The most that a rank has in a round.
    [[nodiscard]] std::int32_t most_receives() const {
        std::int32_t most = 0;
        for (std::size_t i = 0; i < different_.size(); ++i) most = std::max(most, different_[i].receives);
        return most;
    }
    [[nodiscard]] TRAMONTANE_RULE std::int64_t send_bytes(Rank rank, std::int64_t round, std::int32_t index) const {
        return send(rank, round, index).bytes;
    }
    [[nodiscard]] bool one_sided() const { return one_sided_; }
    [[nodiscard]] bool cuts_rounds() const { return cuts_rounds_; }
    [[nodiscard]] bool receives_in_turn() const { return in_turn_; }

    /// Messages of the workload that may be under way at a time.
    [[nodiscard]] std::uint64_t most_at_once() const { return most_at_once_; }
    /// Bytes of these that NICs may put into the network at a time.
    [[nodiscard]] std::uint64_t most_bytes_at_once() const { return most_bytes_at_once_; }
    /// [B]
    [[nodiscard]] std::uint64_t bytes() const;

    /// Sends, or receives, of an entry whose peers are `step` apart, and whose sizes are equal.
    struct Run {
        std::int32_t first;  ///< of the entry, counted through its rounds
        Rank peer;           ///< of that one
        std::int32_t step;
        std::uint32_t size;  ///< number among sizes that differ

        [[nodiscard]] TRAMONTANE_RULE Rank peer_of(std::int32_t index) const { return peer + (index - first) * step; }
    };
    /// A round of a rank, or several equal ones.
    struct Entry {
        std::uint64_t first;  ///< of its runs, among all
        std::uint32_t runs;
        std::uint32_t what;  ///< number among rounds that differ
    };

private:
    /// The last of `count` for which `is_not_after` holds; it does for the first.
    template <class IsNotAfter>
    [[nodiscard]] static TRAMONTANE_RULE std::uint32_t last_not_after(std::uint32_t count, IsNotAfter&& is_not_after) {
        std::uint32_t found = 0;
        for (std::uint32_t end = count; end - found > 1;) {
            const std::uint32_t middle = found + (end - found) / 2;
            (is_not_after(middle) ? found : end) = middle;
        }
        return found;
    }
    /// Those of an entry.
    struct Runs {
        const Run* first;
        std::uint32_t count;
    };
    [[nodiscard]] TRAMONTANE_RULE Transfer transfer(Runs runs, std::int32_t index) const {
        const Run& run =
            runs.first[last_not_after(runs.count, [&](std::uint32_t i) { return runs.first[i].first <= index; })];
        return {run.peer_of(index), 0, sizes_[run.size]};
    }
    [[nodiscard]] TRAMONTANE_RULE Runs receives_of(std::size_t place) const {
        const std::uint64_t first = receives_begin_[place];
        return {receive_runs_.get() + first, static_cast<std::uint32_t>(receives_begin_[place + 1] - first)};
    }
    /// Receives of an entry in rounds before this one.
    [[nodiscard]] TRAMONTANE_RULE std::int32_t receives_before(std::size_t place, std::int64_t round) const {
        if (!joins_) return 0;
        return static_cast<std::int32_t>(round - firsts_[place]) * different_[entries_[place].what].receives;
    }
    /// Number of the entry in which a rank's round is.
    [[nodiscard]] TRAMONTANE_RULE std::size_t place(Rank rank, std::int64_t round) const {
        if (!joins_) return static_cast<std::size_t>(rank) * count_ + static_cast<std::size_t>(round);
        const std::uint64_t first = of_rank_[static_cast<std::size_t>(rank)];
        const auto entries = static_cast<std::uint32_t>(of_rank_[static_cast<std::size_t>(rank) + 1] - first);
        return first + last_not_after(entries, [&](std::uint32_t i) { return firsts_[first + i] <= round; });
    }

    std::size_t count_;  // rounds
    bool joins_;         // equal rounds to one entry
    bool one_sided_, cuts_rounds_, in_turn_;
    std::uint64_t most_at_once_ = 0, most_bytes_at_once_ = 0;
    Array<Entry> entries_;          // by rank and round
    Array<std::uint32_t> firsts_;   // their first rounds; none where each round has an entry
    Array<std::uint64_t> of_rank_;  // the first entry of each rank, and of none; likewise
    Array<Run> runs_;
    Array<std::uint64_t>
        receives_begin_;  // first run of each entry, and of none; empty where receives are not asked for
    Array<Run> receive_runs_;
    Array<Round> different_;
    Array<std::int64_t> sizes_;  // [B]
};

}  // namespace tramontane::device
