/// \file
/// The windows of one-sided exchanges, by MPI.
#pragma once

#include <cstdint>
#include <memory>

#include "payload.hpp"
#include "schedule.hpp"

namespace tramontane::executor {

/// A window for each round of puts of a repeat; those of a loop are used in each pass. It has two halves, which are
/// used in turn: a rank may put again while its neighbour still reads what was put before, but not twice, for it has
/// heard of the neighbour in between. A notification, which MPI has not, is a counter in the target's window that the
/// origin increments.
class Windows {
public:
    Windows() = default;
    Windows(const Windows&) = delete;
    Windows& operator=(const Windows&) = delete;
    virtual ~Windows() = default;

    /// Puts what the payload has packed for a round.
    virtual void put(std::int64_t round) = 0;
    /// Tells the targets of a round that it has come; nothing is moved.
    virtual void notify(std::int64_t round) = 0;
    /// Waits until the origins of a round have told it.
    virtual void wait_notified(std::int64_t round) = 0;
    /// The MPI calls that a round stands for.
    virtual void call(const Round& round) = 0;
    /// Moves what a round of puts has put here out of the window, into the payload.
    virtual void read(std::int64_t round) = 0;
};

/// Everybody must call it, and destroy it.
/// \throws std::invalid_argument where there are no windows, and for too many of them
[[nodiscard]] std::unique_ptr<Windows> make_windows(const Schedule& schedule, Rank rank, Payload& payload);

}  // namespace tramontane::executor
