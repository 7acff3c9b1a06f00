/// \file
/// A schedule as a table: what each rank does in each round, and to whom it sends. Schedules are compositions of
/// virtual functions, which an accelerator can't call; so the host asks them all there is to know, once.
#pragma once

#include <cstdint>

#include "device/memory.hpp"
#include "rules/rule.hpp"
#include "schedule.hpp"

namespace tramontane::device {

class RoundTable {
public:
    /// \throws std::invalid_argument for what would be too large
    RoundTable(Memory& memory, const Schedule& schedule);

    [[nodiscard]] TRAMONTANE_RULE Round round(Rank rank, std::int64_t round) const {
        return different_[rounds_[place(rank, round)].what];
    }
    [[nodiscard]] TRAMONTANE_RULE Transfer send(Rank rank, std::int64_t round, std::int32_t index) const {
        const std::uint64_t number = rounds_[place(rank, round)].first + static_cast<std::uint64_t>(index);
        return {peers_[number], 0, sizes_[size_of_[number]]};
    }
    [[nodiscard]] bool one_sided() const { return one_sided_; }
    /// Such schedules are refused before.
    [[nodiscard]] static bool receives_in_turn() { return false; }
    /// Graphs have none.
    [[nodiscard]] static const GraphSchedule* graph() { return nullptr; }

    /// Messages of the workload that may be under way at a time.
    [[nodiscard]] std::uint64_t most_at_once() const { return most_at_once_; }
    /// [B]
    [[nodiscard]] std::uint64_t bytes() const;

private:
    struct Entry {
        std::uint64_t first;  ///< of its sends, among all
        std::uint32_t what;   ///< number among rounds that differ
    };
    [[nodiscard]] TRAMONTANE_RULE std::size_t place(Rank rank, std::int64_t round) const {
        return static_cast<std::size_t>(rank) * count_ + static_cast<std::size_t>(round);
    }

    std::size_t count_;  // rounds
    bool one_sided_;
    std::uint64_t most_at_once_ = 0;
    Array<Entry> rounds_;  // by rank and round
    Array<Round> different_;
    Array<Rank> peers_;             // by send
    Array<std::uint16_t> size_of_;  // by send: number among sizes that differ
    Array<std::int64_t> sizes_;     // [B]
};

}  // namespace tramontane::device
