/// \file
/// How far the ranks are that follow a graph of operations (graphs/table.hpp) and not rounds.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "checkpoint.hpp"
#include "graphs/table.hpp"
#include "pages.hpp"
#include "pool.hpp"
#include "rules/records.hpp"

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

/// Of all ranks; the parts of a simulation share it, and each writes what is its ranks'.
class GraphState {
public:
    explicit GraphState(const GraphSchedule& schedule_)
        : schedule{schedule_},
          followers{std::make_shared<Follower[]>(static_cast<std::size_t>(schedule_.ranks()))},
          operations_{allocate_pages<OperationState>(static_cast<std::size_t>(schedule_.table().operations()))},
          early_{allocate_zeros<Index>(static_cast<std::size_t>(schedule_.table().header().receives))},
          other_cpus_{static_cast<std::uint32_t>(schedule_.table().highest_cpu())} {
        if (other_cpus_ > 0) cpus_ = std::make_shared<OtherCpu[]>(cpus());
        for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(schedule_.table().ranks()); ++rank) {
            const GraphTable::Operations own = of(rank);
            for (std::uint32_t i = 0; i < own.count(); ++i) (*this)(own, i) = begin(own, i);
        }
    }

    [[nodiscard, gnu::always_inline]] GraphTable::Operations of(std::uint32_t rank) const {  // few members are used
        return schedule.table().of(static_cast<Rank>(rank));
    }
    /// Of an operation of a rank.
    [[nodiscard]] OperationState& operator()(const GraphTable::Operations& own, std::uint32_t operation) {
        return operations_[own.first + operation];
    }
    /// The message of a receive that has not been posted, where it has come early.
    [[nodiscard]] Index& early(const GraphTable::Operations& own, std::uint32_t receive) {
        return early_[own.first_receive + receive];
    }
    [[nodiscard]] bool is_posted(const GraphTable::Operations& own, std::uint32_t receive) const {
        return operations_[own.first + receive].number >= OperationState::started;
    }

    /// Processors of a rank beside processor 0.
    [[nodiscard]] std::uint32_t other_cpus() const { return other_cpus_; }
    /// \pre 1 <= cpu <= other_cpus()
    [[nodiscard]] OtherCpu& cpu(std::uint32_t rank, std::uint32_t cpu) {
        return cpus_[std::size_t{rank} * other_cpus_ + cpu - 1];
    }

    // What an event of a rank will touch (Engine::handle_window): of a message the operation at its end, or the send
    // that a get request asks for, and who waits for that operation; of a rank that goes on the operation that ends;
    // and what the rank does next, where it may do it.

    void fetch(std::uint32_t rank) const { prefetch_line(&followers[rank]); }
    void approach(std::uint32_t rank) const {
        const GraphTable::Operations own = of(rank);
        const Follower& follower = followers[rank];
        if (follower.ending != 0) {
            prefetch_line(&operations_[own.first + follower.ending - 1]);
            approach_next(own, follower);
        } else {
            prefetch_next_send(own, follower);
        }
    }
    void reach(std::uint32_t rank) const {
        const Follower& follower = followers[rank];
        if (follower.ending == 0) return;
        const GraphTable::Operations own = of(rank);
        prefetch_dependent(own, operations_[own.first + follower.ending - 1]);
        reach_next(own, follower);
    }
    /// \param goes_on whether the rank does not copy the message first
    void approach(std::uint32_t rank, const Transaction& message, bool goes_on) const {
        const GraphTable::Operations own = of(rank);
        if (asks(message)) return prefetch_line(&own.sends[message.index()]);
        prefetch_line(&operations_[end_of(own, message)]);
        if (goes_on) approach_next(own, followers[rank]);
    }
    void reach(std::uint32_t rank, const Transaction& message, bool goes_on) const {
        if (asks(message)) return;
        const GraphTable::Operations own = of(rank);
        prefetch_dependent(own, operations_[end_of(own, message)]);
        if (goes_on) reach_next(own, followers[rank]);
    }

    void keep(StateFile& file) {
        file.array(followers.get(), static_cast<std::size_t>(schedule.ranks()));
        file.array(operations_.get(), static_cast<std::size_t>(schedule.table().operations()));
        file.array(early_.get(), static_cast<std::size_t>(schedule.table().header().receives));
        if (other_cpus_ > 0) file.array(cpus_.get(), cpus());
    }

    const GraphSchedule& schedule;
    const std::shared_ptr<Follower[]> followers;  // by rank

private:
    [[nodiscard]] static bool asks(const Transaction& message) {
        return message.kind() == Transaction::Kind::get || message.kind() == Transaction::Kind::eager_get;
    }
    /// The place of the operation that a message ends, or begins to.
    [[nodiscard]] static std::uint64_t end_of(const GraphTable::Operations& own, const Transaction& message) {
        const bool answers = message.kind() == Transaction::Kind::acknowledgement;
        return own.first + (answers ? own.operation_of_send(message.index()) : message.round);
    }
    [[nodiscard]] static bool has_next_work(const GraphTable::Operations& own, const Follower& follower) {
        return follower.next_work > 0 && follower.next_work < own.count();
    }
    void approach_next(const GraphTable::Operations& own, const Follower& follower) const {
        prefetch_line(&operations_[own.first + follower.next_receive]);
        prefetch_next_send(own, follower);
        if (has_next_work(own, follower)) prefetch_line(&own.works[own.work_of(follower.next_work)]);
    }
    void reach_next(const GraphTable::Operations& own, const Follower& follower) const {
        if (has_next_work(own, follower)) prefetch_dependent(own, operations_[own.first + follower.next_work]);
    }
    void prefetch_next_send(const GraphTable::Operations& own, const Follower& follower) const {
        if (follower.next_work > 0) prefetch_line(&operations_[own.first + follower.next_work]);  // may wait for it
        if (follower.next_send == 0 || follower.next_send >= own.operation_of_work(0)) return;
        prefetch_line(&operations_[own.first + follower.next_send]);
        prefetch_line(&own.sends[own.send_of(follower.next_send)]);
    }
    void prefetch_dependent(const GraphTable::Operations& own, const OperationState& state) const {
        if (state.by_start != 0 || state.by_end != 0) {
            prefetch_line(&own.all_dependents[state.dependent]);
        } else if (state.dependent != 0) {
            prefetch_line(&operations_[own.first + state.dependent - 1]);
        }
    }
    [[nodiscard]] static OperationState begin(const GraphTable::Operations& own, std::uint32_t operation) {
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

    [[nodiscard]] std::size_t cpus() const { return static_cast<std::size_t>(schedule.ranks()) * other_cpus_; }

    Pages<OperationState> operations_;
    Pages<Index> early_;
    std::uint32_t other_cpus_;
    std::shared_ptr<OtherCpu[]> cpus_;
};

}  // namespace tramontane
