/// \file
/// A schedule as a table: what each rank does in each round, and to whom it sends. Schedules are compositions of
/// virtual functions, which an accelerator can't call; so the host asks them all there is to know, once.
#pragma once

#include <cstdint>

#include "device/memory.hpp"
#include "rules/rule.hpp"
#include "schedule.hpp"

namespace tramontane::device {

/// Peers of a round follow one another at equal distances, most of them, and most messages are of equal size. So the
/// sends are kept as runs: few where a round has many sends. Rounds are kept one by one, so that ring-k, which has many
/// of few sends, still takes 32 B a round and rank.
class RoundTable {
public:
    RoundTable(Memory& memory, const Schedule& schedule);

    [[nodiscard]] TRAMONTANE_RULE Round round(Rank rank, std::int64_t round) const {
        return different_[rounds_[place(rank, round)].what];
    }
    [[nodiscard]] TRAMONTANE_ONCE TRAMONTANE_RULE Transfer send(Rank rank, std::int64_t round,
                                                                std::int32_t index) const {
        const Entry& entry = rounds_[place(rank, round)];
        const Run* const runs = runs_.get() + entry.first;
        std::uint32_t found = 0;
        for (std::uint32_t end = entry.runs; end - found > 1;) {
            const std::uint32_t middle = found + (end - found) / 2;
            (runs[middle].first <= index ? found : end) = middle;
        }
        const Run& run = runs[found];
        return {run.peer + (index - run.first) * run.step, 0, sizes_[run.size]};
    }
    [[nodiscard]] TRAMONTANE_RULE std::int64_t send_bytes(Rank rank, std::int64_t round, std::int32_t index) const {
        return send(rank, round, index).bytes;
    }
    [[nodiscard]] bool one_sided() const { return one_sided_; }
    [[nodiscard]] bool cuts_rounds() const { return cuts_rounds_; }
    /// Such schedules are refused before.
    [[nodiscard]] static bool receives_in_turn() { return false; }
    /// Graphs have none.
    [[nodiscard]] static const GraphSchedule* graph() { return nullptr; }

    /// Messages of the workload that may be under way at a time.
    [[nodiscard]] std::uint64_t most_at_once() const { return most_at_once_; }
    /// [B]
    [[nodiscard]] std::uint64_t bytes() const;

    /// Sends of a round whose peers are `step` apart, and whose sizes are equal.
    struct Run {
        std::int32_t first;  ///< send of the round
        Rank peer;           ///< of that one
        std::int32_t step;
        std::uint32_t size;  ///< number among sizes that differ
    };
    struct Entry {
        std::uint64_t first;  ///< of its runs, among all
        std::uint32_t runs;
        std::uint32_t what;  ///< number among rounds that differ
    };

private:
    [[nodiscard]] TRAMONTANE_RULE std::size_t place(Rank rank, std::int64_t round) const {
        return static_cast<std::size_t>(rank) * count_ + static_cast<std::size_t>(round);
    }

    std::size_t count_;  // rounds
    bool one_sided_, cuts_rounds_;
    std::uint64_t most_at_once_ = 0;
    Array<Entry> rounds_;  // by rank and round
    Array<Run> runs_;
    Array<Round> different_;
    Array<std::int64_t> sizes_;  // [B]
};

}  // namespace tramontane::device
