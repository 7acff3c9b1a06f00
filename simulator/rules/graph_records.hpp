/// \file
/// How far the ranks are that follow a graph of operations (graphs/table.hpp) and not rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "graphs/table.hpp"
#include "rules/rule.hpp"

namespace tramontane {

/// A rank's operations that wait for its processor, and those that it is busy with. Numbers of operations are stored
/// plus 1; 0: none.
struct Follower {
    std::uint32_t first_ready = 0, last_ready = 0;
    std::uint32_t ending = 0;     ///< the first of those that end when the processor is free
    std::uint32_t preparing = 0;  ///< a send
    std::uint32_t ended = 0;      ///< how many
    std::uint32_t early = 0;      ///< messages that came before their receive was posted, so far
    // The operations after those of each kind that have started last: mostly the next ones to start.
    std::uint32_t next_receive = 0, next_send = 0, next_work = 0;
};

/// How far an operation is, and who waits for it. The table says that, too; but what is asked for with each message
/// stands here, in a line of its own, so that few pages of the table are looked at.
struct OperationState {
    static constexpr std::uint32_t started = (1U << 29) - 2, ended = started + 1;

    /// How many of those that it waits for are not done; where it is ready, the next one that is, plus 1; that it has
    /// started; that it has ended.
    std::uint32_t number : 29;
    std::uint32_t by_start : 1;     ///< others wait until it has started, ...
    std::uint32_t by_end : 1;       ///< ... or until it has ended, unless only one does
    std::uint32_t comes_early : 1;  ///< a receive that has not been posted, whose message is here
    std::uint32_t dependent;  ///< with either of these the place of its first dependent in the table; else the one
                              ///< that waits for its end, plus 1, or 0: there is none
};
static_assert(sizeof(OperationState) == 8 && GraphTable::most_of_rank < std::int64_t{OperationState::started});

/// Another processor of a rank than 0, which does one thing at a time, in the order in which that became ready. Numbers
/// are as in `Follower`.
struct OtherCpu {
    std::uint32_t first_ready = 0, last_ready = 0;
    std::uint32_t working = 0;
};

/// Of all ranks, in memory that belongs to whoever executes the rules.
struct GraphRecords {
    GraphView table;
    std::int64_t work_scale = GraphSchedule::whole;
    Follower* followers = nullptr;  ///< by rank
    OperationState* operations = nullptr;
    Index* early = nullptr;  ///< by receive
    OtherCpu* cpus = nullptr;
    std::uint32_t other_cpus = 0;  ///< processors of a rank beside processor 0

    [[nodiscard, gnu::always_inline]] TRAMONTANE_RULE GraphTable::Operations of(std::uint32_t rank) const {
        return table.of(static_cast<Rank>(rank));  // few members are used
    }
    /// Of an operation of a rank.
    [[nodiscard]] TRAMONTANE_RULE OperationState& operator()(const GraphTable::Operations& own,
                                                             std::uint32_t operation) const {
        return operations[own.first + operation];
    }
    /// The message of a receive that has not been posted, where it has come early.
    [[nodiscard]] TRAMONTANE_RULE Index& early_of(const GraphTable::Operations& own, std::uint32_t receive) const {
        return early[own.first_receive + receive];
    }
    [[nodiscard]] TRAMONTANE_RULE bool is_posted(const GraphTable::Operations& own, std::uint32_t receive) const {
        return operations[own.first + receive].number >= OperationState::started;
    }
    /// \pre 1 <= cpu <= other_cpus
    [[nodiscard]] TRAMONTANE_RULE OtherCpu& cpu(std::uint32_t rank, std::uint32_t cpu) const {
        return cpus[std::size_t{rank} * other_cpus + cpu - 1];
    }
    /// How long a work of the table takes [ps].
    [[nodiscard]] TRAMONTANE_RULE std::int64_t scaled(std::int64_t picoseconds) const {
        return GraphSchedule::scaled_by(work_scale, picoseconds);
    }

    /// Has all operations wait for what they wait for in the table.
    void begin() {
        for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(table.ranks()); ++rank) {
            const GraphTable::Operations own = of(rank);
            for (std::uint32_t i = 0; i < own.count(); ++i) (*this)(own, i) = at_first(own, i);
        }
    }
    /// Writes or reads all that changes. \param ranks which may be more than the table has
    template <class File>
    void keep(File& file, std::size_t ranks) {
        file.array(followers, ranks);
        file.array(operations, static_cast<std::size_t>(table.operations()));
        file.array(early, static_cast<std::size_t>(table.header().receives));
        if (other_cpus > 0) file.array(cpus, ranks * other_cpus);
    }

private:
    [[nodiscard]] static OperationState at_first(const GraphTable::Operations& own, std::uint32_t operation) {
        OperationState state{own.needs[operation], 0, 0, 0, 0};
        bool starts = false, ends = false;
        const std::span<const GraphTable::Dependent> all = own.dependents(operation);
        if (all.empty()) return state;
        if (all.size() == 1 && all[0].on_start == 0) {
            state.dependent = all[0].operation + 1;
            return state;
        }
        for (const GraphTable::Dependent& each : all) (each.on_start != 0 ? starts : ends) = true;
        state.by_start = starts ? 1 : 0;
        state.by_end = ends ? 1 : 0;
        state.dependent = own.dependents_begin[operation];
        return state;
    }
};

}  // namespace tramontane
