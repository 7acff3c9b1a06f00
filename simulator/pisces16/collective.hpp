/// \file
/// The collectives around a measurement, as SST/macro 16.0 runs them: each rank's sends and receives, and which of them
/// wait for which. They decide when a rank starts, how far round-robin counters have advanced by then, and what early
/// finishers still send.
#pragma once

#include <cstdint>
#include <vector>

namespace tramontane::pisces16 {

struct Action {
    bool sends;
    std::int32_t round;  ///< tells apart messages between the same two ranks
    std::uint32_t partner;
    std::int64_t bytes;
    int waits_for = 0;                     ///< actions that must end before
    std::vector<std::size_t> followers{};  ///< in the order in which they learn that it has ended
    bool active = false;
};

/// One rank's part of a collective.
struct Collective {
    std::vector<Action> actions;
    std::vector<std::size_t> first;  ///< actions to start with, in order
    std::int64_t initial_copy = -1;  ///< [B]; none if negative
    bool copies = true;              ///< a receive ends with a copy
};

/// MPI_Barrier: dissemination over ceil(log2 P) rounds.
[[nodiscard]] Collective barrier(std::uint32_t rank, std::uint32_t ranks);
/// MPI_Init's allreduce of one element of 12 B: recursive halving, then doubling.
[[nodiscard]] Collective initial_allreduce(std::uint32_t rank, std::uint32_t ranks);
/// MPI_Reduce of `elements` of 8 B to rank 0: recursive halving, then a gather by halving the ranks that take part.
[[nodiscard]] Collective reduce(std::uint32_t rank, std::uint32_t ranks, std::int64_t elements);

}  // namespace tramontane::pisces16
