/// \file
/// What a rank does, without MPI and without time: the one description of a workload that every substrate executes.
///
/// A schedule is a pure function of (rank, round, index). Nothing is stored per rank, so a million ranks cost nothing,
/// a round of 10^6 sends (`burst`) is never written down, and any part of it can be tested by itself.
///
/// Rounds are numbered alike on all ranks and a message sent in round r is received in round r; a rank without work in
/// a round just has no transfers in it. A substrate executes a round as the paper's skeleton does (section 3): post all
/// receives, then all sends, in order of their index, then wait for all of them. With a window, it posts that many
/// sends and another one whenever one of them is complete (as MPI_Waitany says). A round may receive in turn instead:
/// it posts all sends, then one receive after another (MPI_Recv).
///
/// A round may also be work between messages; or leave its messages under way (split phase), for a later round to wait
/// for them. In a one-sided exchange rounds stand for the calls of a window. And a round may read or write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tramontane {

using Rank = std::int32_t;

/// One message, seen from one of its two ends.
struct Transfer {
    Rank peer;           ///< the other end
    std::int32_t tag;    ///< tells apart messages between the same two ranks in the same round
    std::int64_t bytes;  ///< payload [B]; may be 0
};

/// What a round is of a one-sided exchange; the same on all ranks (programs/one_sided.hpp).
enum class WindowCall : std::uint8_t {
    none,                 ///< it is of no such exchange
    puts,                 ///< its messages are written into memory of the receivers, which do nothing for that
    acknowledged_puts,    ///< and it counts as sent only when the receiver's network interface has answered
    fence,                ///< of all ranks
    fence_of_neighbours,  ///< of those that this rank puts to, or that put to it
    post_start,
    complete_wait,
    lock,      ///< of all ranks
    flush,     ///< of all ranks
    unlock,    ///< of all ranks
    read,      ///< what was put to this rank is there
    notify,    ///< its messages are empty puts, ...
    notified,  ///< ... and another round waits for those that come to this rank
    within     ///< of a call that another round stands for
};

/// Whether the messages of a round are puts.
[[nodiscard]] constexpr bool is_put(WindowCall call) {
    return call == WindowCall::puts || call == WindowCall::acknowledged_puts || call == WindowCall::notify;
}

/// What a round moves between its rank and a storage.
enum class Access : std::uint8_t { none, write, read };

/// How many transfers a rank has in a round, and the phase of the operation the round belongs to.
struct Round {
    std::int32_t phase;
    std::int32_t sends;
    std::int32_t receives;
    std::int32_t window = 0;  ///< sends that may be under way at a time, 0: all
    bool in_turn = false;     ///< posts its receives after its sends, each when the one before it is complete
    bool waits = true;        ///< for all of its transfers; else a later round does
    std::int64_t work = 0;    ///< of the rank's processor, or of its access [ps]; then there are no transfers
    bool idles = false;       ///< the time of `work` passes, and the processor does nothing
    std::int64_t ends = 0;    ///< waits for the round that is so many before; then there are no transfers
    bool sends_only = false;  ///< of the round that it ends, it waits for what this rank sends
    WindowCall call = WindowCall::none;
    Access access = Access::none;    ///< then there are no transfers
    std::int32_t window_number = 0;  ///< of a window call, within a repeat
    /// After so many receives the next phase begins, within the round, and so on; 0: the round has one phase. Only with
    /// a window.
    std::int32_t phase_receives = 0;
    std::int64_t put_cost = 0;  ///< of the sender's processor for each put [ps]
    std::int64_t bytes = 0;     ///< of the access
};

class ContentSchedule;
class GraphSchedule;

class Schedule {
public:
    virtual ~Schedule() = default;

    [[nodiscard]] virtual Rank ranks() const = 0;
    /// Number of rounds, the same for every rank.
    [[nodiscard]] virtual std::int64_t rounds() const = 0;
    /// How often the same rounds come one after the other; divides `rounds()`.
    [[nodiscard]] virtual std::int64_t repeats() const { return 1; }
    /// Names of the phases in order, e.g. {"a-b", "b-c", "c-d"}.
    [[nodiscard]] virtual std::vector<std::string> phases() const = 0;
    /// How many ranks have a phase; the others never come to it.
    [[nodiscard]] virtual Rank ranks_in(std::int32_t /*phase*/) const { return ranks(); }
    [[nodiscard]] virtual Round round(Rank rank, std::int64_t round) const = 0;
    /// The `index`-th send (receive) of `rank` in `round`; 0 <= index < round(rank, round).sends (.receives).
    [[nodiscard]] virtual Transfer send(Rank rank, std::int64_t round, std::int32_t index) const = 0;
    /// The bytes of that send, for schedules that have them at hand without the rest.
    [[nodiscard]] virtual std::int64_t send_bytes(Rank rank, std::int64_t round, std::int32_t index) const {
        return send(rank, round, index).bytes;
    }
    [[nodiscard]] virtual Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const = 0;
    [[nodiscard]] Rank source(Rank rank, std::int64_t round, std::int32_t index) const {
        return receive(rank, round, index).peer;
    }
    /// Whether there are rounds of one-sided exchanges.
    [[nodiscard]] virtual bool one_sided() const { return false; }
    /// Whether there are rounds that read or write.
    [[nodiscard]] virtual bool reads_or_writes() const { return false; }
    /// Whether there are rounds of several phases; see Round::phase_receives.
    [[nodiscard]] virtual bool cuts_rounds() const { return false; }
    /// Whether there are rounds whose receives are posted in turn.
    [[nodiscard]] virtual bool receives_in_turn() const { return false; }
    /// Itself, if it says what its messages carry.
    [[nodiscard]] virtual const ContentSchedule* contents() const { return nullptr; }
    /// Itself, if operations depend on one another: then its one round has them without their order.
    [[nodiscard]] virtual const GraphSchedule* graph() const { return nullptr; }
};

}  // namespace tramontane
