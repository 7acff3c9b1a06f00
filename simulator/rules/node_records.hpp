/// \file
/// The record of a node: of a rank and of a network interface (NIC).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "rules/channel.hpp"
#include "rules/records.hpp"
#include "rules/rule.hpp"
#include "ticks.hpp"

namespace tramontane {

struct NodeRecords {
    struct Span {
        Ticks begin = std::numeric_limits<Ticks>::max();
        Ticks end = 0;
        [[nodiscard]] Ticks length() const { return end > begin ? end - begin : 0; }
        void add(const Span& other) {
            begin = std::min(begin, other.begin);
            end = std::max(end, other.end);
        }
    };
    /// First start and last end over some ranks, and how many have ended.
    struct Ends {
        Span span;
        std::uint32_t ended = 0;
        TRAMONTANE_RULE void begin(Ticks time) { span.begin = std::min(span.begin, time); }
        TRAMONTANE_RULE void end(Ticks time) {
            span.end = std::max(span.end, time);
            ++ended;
        }
        void add(const Ends& other) {
            span.add(other.span);
            ended += other.ended;
        }
    };
    /// Sums over all ranks, and over all rounds of a phase [ticks].
    struct Totals {
        __extension__ using Wide = unsigned __int128;
        Wide begun = 0, ended = 0;  ///< moments; their difference is what the ranks spent in the phase, ...
        Wide work = 0;              ///< ... and these are parts of it: work, ...
        Wide busy = 0;              ///< ... and the processor's time for messages
        void add(const Totals& other) {
            begun += other.begun;
            ended += other.ended;
            work += other.work;
            busy += other.busy;
        }
    };

    /// What a rank is doing. Arrows without a word follow at once; `resume` is an event, `arrival` that of a message.
    ///
    ///     begins_round -> posts -> sends --- all are posted ----> waits ---- nothing has arrived: until an arrival
    ///       ^    |                ^   |                           ^ | |
    ///       |    '-> ended    resume  | overhead, copy     resume | | '-- overhead of a payload --> receives
    ///       |                     |   v                           | |                              (resume)
    ///       |                  prepares_send                 busy <-+-- copies
    ///       |                                                       |
    ///       '------------- everything has been sent and received ---'
    ///
    /// A round of work goes from begins_round to works, and on when that is done. A round that does not wait goes on
    /// when all is posted, and a later one begins where it waits.
    enum class RankState : std::uint8_t {
        begins_round,
        works,
        posts,  ///< its receives
        sends,
        prepares_send,  ///< overhead and copy
        posts_in_turn,  ///< the next receive
        waits,
        receives,              ///< overhead
        busy,                  ///< until its event, then it waits
        busy_nothing_arrived,  ///< the same; no event is scheduled, because the arrival queue is empty
        ended
    };

    /// How far a rank has got in one go.
    struct Step {
        Ticks time;    ///< the rank's own, which may be ahead of the event's
        bool goes_on;  ///< else the rank is busy, waits for the network, or has ended

        [[nodiscard]] TRAMONTANE_RULE static Step until(Ticks time) { return {time, true}; }
        [[nodiscard]] TRAMONTANE_RULE static Step blocked() { return {0, false}; }
    };

    // The NIC serves messages (`nic.waiting`) into the injection buffer as packets, and packets that wait there
    // (`Injection::channel.waiting`) through its port into the first switch:
    //
    //     message --- room for a packet in the buffer? ---> packet --- room in the first switch? ---> port, link
    //                 (credit: a packet left the port)                (credit: it left the crossbar)
    //
    // Both credits are known in advance. When exactly packets move up nobody can see while the port is busy; so the NIC
    // has an event (NicWake) only when the port is free, and applies the credits that have returned in the meantime
    // before anything else happens at its node to a rank that uses it.

    static constexpr std::int32_t sends_freely = 0, left_open = -1, puts = -2, acknowledged_puts = -3,
                                  in_turn = std::numeric_limits<std::int32_t>::max();

    struct alignas(64) Node {
        // NIC
        /// Messages that wait for space in the injection buffer.
        [[no_unique_address]] NicChannel nic;  // what follows may use its last bytes
        std::uint32_t unanswered = 0;          ///< headers sent whose get requests have not come
        Ticks busy_until = 0;                  ///< the injection port, with packets that have space in the first switch
        std::uint32_t injected = 0;            ///< packets so far, of the rank or of the NIC; counts random numbers
        // rank
        std::uint32_t round = 0;
        Left left;
        std::int32_t next_send = 0;
        std::int32_t sends = 0;
        /// Sends at a time; sends_freely: all; in_turn: all, but receives one by one; else all, and the round is left
        /// open.
        std::int32_t window = 0;
        std::int16_t phase = -1;
        RankState state = RankState::begins_round;
        std::uint8_t open = 0;   ///< rounds that were left open
        Ticks free_at = 0;       ///< busy_nothing_arrived: until then
        IntrusiveQueue arrived;  ///< messages the rank has not looked at
        /// Messages of later rounds it has looked at, by the last bits of the round: they have left the cache, so that
        /// looking through all of them in each round takes long.
        std::array<IntrusiveStack, 4> early;
        std::uint64_t bytes = 0;

        [[nodiscard]] TRAMONTANE_RULE IntrusiveStack& early_of(std::uint32_t of_round) {
            return early[of_round % early.size()];
        }
    };
    static_assert(sizeof(Node) == 128);
};

}  // namespace tramontane
