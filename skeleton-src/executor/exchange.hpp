/// \file
/// How the messages of a round travel, by MPI.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "options.hpp"
#include "payload.hpp"
#include "schedule.hpp"

namespace tramontane::executor {

/// Element of every message. Patterns are not numbers, but MPI hands doubles on bit by bit between machines of a kind.
[[nodiscard]] inline MPI_Datatype element_type() { return MPI_DOUBLE; }

/// Elements of a message as MPI counts them.
/// \throws std::invalid_argument beyond 2^31 - 1
[[nodiscard]] int element_count(std::int64_t bytes);

/// Bytes of a message as MPI counts them.
/// \throws std::invalid_argument beyond 2^31 - 1
[[nodiscard]] int byte_count(std::int64_t bytes);

class Exchange {
public:
    virtual ~Exchange() = default;
    /// Sends and receives all messages of a round; returns when this rank is done with it.
    virtual void run(std::int64_t round) = 0;
};

/// An exchange whose rounds may be left open, several at a time.
class OpenExchange : public Exchange {
public:
    /// Posts all messages of a round.
    virtual void begin(std::int64_t round) = 0;
    /// Waits for them.
    virtual void end(std::int64_t round) = 0;
};

/// Our own way: post all receives, then all sends, in the order of their index, and wait for all of them.
[[nodiscard]] std::unique_ptr<OpenExchange> make_point_to_point(const Schedule& schedule, Rank rank, Payload& payload);

/// The library's: one MPI_Alltoallv (transposition) or MPI_Neighbor_alltoallv (halo exchange) a round, or their
/// nonblocking or persistent forms. Everybody must call it, for it creates communicators.
/// \pre in a round of a transposition all members of a group talk to each other, as in `burst`
/// \throws std::invalid_argument if the library lacks what is asked for
[[nodiscard]] std::unique_ptr<Exchange> make_library_exchange(const Options& options, const Schedule& schedule,
                                                              Rank rank, Payload& payload);

/// A library's allreduce of `count` doubles.
class LibraryAllreduce {
public:
    virtual ~LibraryAllreduce() = default;
    virtual void run() = 0;
};
/// \throws std::invalid_argument if the library lacks what is asked for
[[nodiscard]] std::unique_ptr<LibraryAllreduce> make_library_allreduce(Implementation implementation,
                                                                       const double* contributed, double* reduced,
                                                                       std::int64_t count);

}  // namespace tramontane::executor
