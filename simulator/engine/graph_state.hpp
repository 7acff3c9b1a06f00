/// \file
/// Where the records lie of ranks that follow a graph of operations, and what is fetched ahead of them.
#pragma once

#include <cstdint>
#include <memory>

#include "graphs/table.hpp"
#include "memory/pages.hpp"
#include "memory/pool.hpp"
#include "rules/graph_records.hpp"
#include "rules/records.hpp"

namespace tramontane {

/// Of all ranks; the parts of a simulation share it, and each writes what is its ranks'.
class GraphState {
public:
    explicit GraphState(const GraphSchedule& schedule)
        : followers_(std::make_unique<Follower[]>(static_cast<std::size_t>(schedule.ranks()))),
          operations_(allocate_pages<OperationState>(static_cast<std::size_t>(schedule.table().operations()))),
          early_(allocate_zeros<Index>(static_cast<std::size_t>(schedule.table().header().receives))) {
        records.table = schedule.table();
        records.work_scale = schedule.work_scale();
        records.followers = followers_.get();
        records.operations = operations_.get();
        records.early = early_.get();
        records.other_cpus = static_cast<std::uint32_t>(schedule.table().highest_cpu());
        if (records.other_cpus > 0) {
            cpus_ = std::make_unique<OtherCpu[]>(static_cast<std::size_t>(schedule.ranks()) * records.other_cpus);
            records.cpus = cpus_.get();
        }
        records.begin();
    }

    GraphRecords records;

    // What an event of a rank will touch (Engine::handle_window): of a message the operation at its end, or the send
    // that a get request asks for, and who waits for that operation; of a rank that goes on the operation that ends;
    // and what the rank does next, where it may do it.

    void fetch(std::uint32_t rank) const { prefetch_line(&records.followers[rank]); }
    void approach(std::uint32_t rank) const {
        const GraphTable::Operations own = records.of(rank);
        const Follower& follower = records.followers[rank];
        if (follower.ending != 0) {
            prefetch_line(&records.operations[own.first + follower.ending - 1]);
            approach_next(own, follower);
        } else {
            prefetch_next_send(own, follower);
        }
    }
    void reach(std::uint32_t rank) const {
        const Follower& follower = records.followers[rank];
        if (follower.ending == 0) return;
        const GraphTable::Operations own = records.of(rank);
        prefetch_dependent(own, records.operations[own.first + follower.ending - 1]);
        reach_next(own, follower);
    }
    /// \param goes_on whether the rank does not copy the message first
    void approach(std::uint32_t rank, const Transaction& message, bool goes_on) const {
        const GraphTable::Operations own = records.of(rank);
        if (asks(message)) return prefetch_line(&own.sends[message.index()]);
        prefetch_line(&records.operations[end_of(own, message)]);
        if (goes_on) approach_next(own, records.followers[rank]);
    }
    void reach(std::uint32_t rank, const Transaction& message, bool goes_on) const {
        if (asks(message)) return;
        const GraphTable::Operations own = records.of(rank);
        prefetch_dependent(own, records.operations[end_of(own, message)]);
        if (goes_on) reach_next(own, records.followers[rank]);
    }

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
        prefetch_line(&records.operations[own.first + follower.next_receive]);
        prefetch_next_send(own, follower);
        if (has_next_work(own, follower)) prefetch_line(&own.works[own.work_of(follower.next_work)]);
    }
    void reach_next(const GraphTable::Operations& own, const Follower& follower) const {
        if (has_next_work(own, follower)) prefetch_dependent(own, records.operations[own.first + follower.next_work]);
    }
    void prefetch_next_send(const GraphTable::Operations& own, const Follower& follower) const {
        if (follower.next_work > 0)
            prefetch_line(&records.operations[own.first + follower.next_work]);  // may wait for it
        if (follower.next_send == 0 || follower.next_send >= own.operation_of_work(0)) return;
        prefetch_line(&records.operations[own.first + follower.next_send]);
        prefetch_line(&own.sends[own.send_of(follower.next_send)]);
    }
    void prefetch_dependent(const GraphTable::Operations& own, const OperationState& state) const {
        if (state.by_start != 0 || state.by_end != 0) {
            prefetch_line(&own.all_dependents[state.dependent]);
        } else if (state.dependent != 0) {
            prefetch_line(&records.operations[own.first + state.dependent - 1]);
        }
    }

    std::unique_ptr<Follower[]> followers_;
    Pages<OperationState> operations_;
    Pages<Index> early_;
    std::unique_ptr<OtherCpu[]> cpus_;
};

}  // namespace tramontane
