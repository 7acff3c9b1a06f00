/// \file
/// How far the ranks are that follow a graph of operations (graphs/table.hpp) and not rounds.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "checkpoint.hpp"
#include "graphs/table.hpp"
#include "pages.hpp"
#include "pool.hpp"

namespace tramontane {

/// A rank's operations that wait for its processor, and those that it is busy with. Numbers of operations are stored
/// plus 1; 0: none.
struct Follower {
    std::uint32_t first_ready = 0, last_ready = 0;
    std::uint32_t ending = 0;     ///< the first of those that end when the processor is free
    std::uint32_t preparing = 0;  ///< a send
    std::uint32_t ended = 0;      ///< how many
    std::uint32_t early = 0;      ///< messages that came before their receive was posted, so far
};

/// Of all ranks; the parts of a simulation share it, and each writes what is its ranks'.
class GraphState {
public:
    static constexpr std::uint32_t started = std::numeric_limits<std::uint32_t>::max() - 1, ended = started + 1;

    explicit GraphState(const GraphSchedule& schedule_)
        : schedule{schedule_},
          followers{std::make_shared<Follower[]>(static_cast<std::size_t>(schedule_.ranks()))},
          operations_{allocate_zeros<std::uint32_t>(static_cast<std::size_t>(schedule_.table().operations()))},
          early_{allocate_zeros<Index>(static_cast<std::size_t>(schedule_.table().header().receives))} {}

    [[nodiscard]] GraphTable::Operations of(std::uint32_t rank) const {
        return schedule.table().of(static_cast<Rank>(rank));
    }
    /// Of an operation of a rank, in turn: how many of those that it waits for are done; the next one that is ready,
    /// plus 1; that it has started; that it has ended.
    [[nodiscard]] std::uint32_t& operator()(const GraphTable::Operations& own, std::uint32_t operation) {
        return operations_[own.first + operation];
    }
    /// The message of a receive that has not been posted; none: it has not come.
    [[nodiscard]] Index& early(const GraphTable::Operations& own, std::uint32_t receive) {
        return early_[own.first_receive + receive];
    }
    [[nodiscard]] bool is_posted(const GraphTable::Operations& own, std::uint32_t receive) const {
        return operations_[own.first + receive] >= started;
    }

    void keep(StateFile& file) {
        file.array(followers.get(), static_cast<std::size_t>(schedule.ranks()));
        file.array(operations_.get(), static_cast<std::size_t>(schedule.table().operations()));
        file.array(early_.get(), static_cast<std::size_t>(schedule.table().header().receives));
    }

    const GraphSchedule& schedule;
    const std::shared_ptr<Follower[]> followers;  // by rank

private:
    Pages<std::uint32_t> operations_;
    Pages<Index> early_;
};

}  // namespace tramontane
