/// \file
/// What rules make happen later, and in which order what is due at one moment happens.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "memory/lines.hpp"
#include "placement/places.hpp"
#include "rules/records.hpp"
#include "rules/rule.hpp"
#include "ticks.hpp"

namespace tramontane {

/// A logical process (LP): a switch (0 ... switches - 1) or a node, that is its NICs and ranks (from there on).
using LpId = std::uint32_t;

inline constexpr Ticks never = ~Ticks{0};

/// In the order in which they happen at the same LP and tick.
/// SwitchRules and NodeRules say what each does.
enum class EventKind : std::uint32_t {
    crossbar_credit,
    output_credit,
    nic_wake,
    start,
    resume,
    head_arrival,
    crossbar_exit,
    message_arrival,
};

/// Kind, port and virtual channel of an event in 32 bits.
[[nodiscard]] constexpr std::uint32_t event_code(EventKind kind, std::uint32_t port = 0, std::uint32_t channel = 0) {
    return static_cast<std::uint32_t>(kind) | channel << 4 | port << 12;
}
/// Of a node: which of its ranks, or of its NICs, and what of it. The arrival of a message carries its source, too,
/// which ends the event's key.
[[nodiscard]] constexpr std::uint32_t node_code(EventKind kind, std::uint32_t what) {
    return static_cast<std::uint32_t>(kind) | what << 4;
}
inline constexpr std::uint32_t max_ranks = 1U << 28;  ///< whose numbers fit beside an event's kind
[[nodiscard]] constexpr EventKind kind_of(std::uint32_t code) { return static_cast<EventKind>(code & 15); }
[[nodiscard]] constexpr std::uint32_t what_of(std::uint32_t code) { return code >> 4; }
[[nodiscard]] constexpr std::uint8_t channel_of(std::uint32_t code) {
    return static_cast<std::uint8_t>(code >> 4 & 255);
}
[[nodiscard]] constexpr Port port_of(std::uint32_t code) { return static_cast<Port>(code >> 12); }

/// The part of an engine that is the same for all.
///
/// \tparam Own the engine itself, which has the records (`packets`, `transactions`, `messages`, `credits`, `gaps`,
///     `open_rounds`), what is common to all LPs (`parameters`, `seed`, `switches`, `places`), its counts
///     (`counts()`, `ends()`, `delays`), and
///
///         schedule(time, lp, code, item)  an event of the LP whose events are handled
///         send(time, lp, code, item)      an event of another one, of a later window
///         next_order()                    counts what begins to wait
template <class Own>
class Events {
public:
    /// The LP of a place's node.
    [[nodiscard]] TRAMONTANE_RULE LpId lp_of(std::uint32_t place) const {
        return own().switches + own().places.node_of(place);
    }
    /// The place that an event of a node happens at, or the NIC of that place.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t place_of(LpId lp, std::uint32_t code) const {
        const Places& places = own().places;
        if (!places.several()) return lp - own().switches;
        const std::uint32_t local = what_of(code) & ((1U << places.bits()) - 1);
        return places.at({lp - own().switches, local});
    }
    /// Schedules what a rank or NIC does, at its own node.
    TRAMONTANE_ONCE TRAMONTANE_RULE void schedule_at(std::uint32_t place, Ticks time, EventKind kind) {
        const Address address = own().places.address(place);
        own().schedule(time, own().switches + address.node, node_code(kind, address.local));
    }

    /// A message of `bytes` bytes reaches its target's node, from another node.
    /// \param tie orders it among others of that tick
    TRAMONTANE_ONCE TRAMONTANE_RULE void arrive(Index item, std::uint32_t source, std::uint32_t target,
                                                std::int64_t bytes, Ticks time, std::uint32_t tie) {
        const Address address = own().places.address(own().places.of(target));
        own().send(time, own().switches + address.node, arrival(address.local, item, source, bytes, tie), item);
    }

    /// The same where the target is of the same node.
    TRAMONTANE_ONCE TRAMONTANE_RULE void arrive_inside(Index item, std::uint32_t source, std::uint32_t target,
                                                       std::int64_t bytes, Ticks time, std::uint32_t tie) {
        const Address address = own().places.address(own().places.of(target));
        own().schedule(time, own().switches + address.node, arrival(address.local, item, source, bytes, tie), item);
    }

    template <class AnyChannel>
    TRAMONTANE_STEP TRAMONTANE_RULE void wake_if_needed(LpId lp, AnyChannel& channel, std::uint32_t wake_code) {
        if (channel.wake() || channel.waiting.empty() || !channel.expects()) return;
        channel.set_wake(true);
        own().schedule(channel.next_time(), lp, wake_code);
    }

    // What happens at one LP and tick is ordered by keys. They are functions of what happens, not of how events were
    // stored: the smallest key of those that are pending goes first, whether its event is old or new. So results depend
    // neither on the length of a window nor on the number of threads.
    //
    // First come returning credits and ranks, by kind, channel and port. Then packets and messages follow in a random
    // order that is their own, so that no port is favoured; where two have drawn the same number, their origins decide.

    /// Orders nearly all events of one LP and tick.
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t key(std::uint32_t code, Index item) const {
        constexpr std::uint64_t random = std::uint64_t{1} << 63;
        switch (kind_of(code)) {
            case EventKind::head_arrival:
            case EventKind::crossbar_exit:
                return random | own().packets[item].tie;
            case EventKind::message_arrival:
                return random | own().transactions[item].tie;
            default:
                return code;
        }
    }

    /// \pre the events are of the same LP and tick
    template <class Event>
    [[nodiscard]] TRAMONTANE_ONCE TRAMONTANE_RULE bool goes_first(const Event& a, std::uint64_t key_a, const Event& b,
                                                                  std::uint64_t key_b) const {
        if (key_a != key_b) [[likely]]
            return key_a < key_b;
        const Origin origin_a = origin(a.code, a.item), origin_b = origin(b.code, b.item);
        if constexpr (checks) {
            // A node's injection may be called up twice for the same tick; the second time it finds nothing to do.
            if (origin_a == origin_b && kind_of(a.code) != EventKind::nic_wake) {
                fail<std::logic_error>("simulator: two events of one place and tick have the same key");
            }
        }
        return origin_a < origin_b;
    }

private:
    [[nodiscard]] TRAMONTANE_RULE Own& own() { return static_cast<Own&>(*this); }
    [[nodiscard]] TRAMONTANE_RULE const Own& own() const { return static_cast<const Own&>(*this); }

    /// Makes a message say what its arrival needs to know. Returns the event's code.
    TRAMONTANE_RULE std::uint32_t arrival(std::uint32_t local, Index item, std::uint32_t source, std::int64_t bytes,
                                          std::uint32_t tie) {
        Transaction& transaction = own().transactions[item];
        if (transaction.carries_payload()) own().counts().delivered_bytes += static_cast<std::uint64_t>(bytes);
        if (transaction.is_eager_payload()) {
            if (bytes > std::numeric_limits<std::uint32_t>::max()) {
                fail<std::runtime_error>("simulator: an eager message of 4 GiB or more");
            }
            transaction.bytes = static_cast<std::uint32_t>(bytes);
        } else {
            transaction.peer = source;
        }
        transaction.tie = tie;
        return node_code(EventKind::message_arrival, source << own().places.bits() | local);
    }

    /// Orders those of equal keys. No two of them are alike: a rank draws other numbers for its other packets, and
    /// sends a message of each kind, round and index once.
    struct Origin {
        std::uint32_t rank, round, what;
        auto operator<=>(const Origin&) const = default;
    };
    [[nodiscard]] TRAMONTANE_RULE Origin origin(std::uint32_t code, Index item) const {
        switch (kind_of(code)) {
            case EventKind::head_arrival:
            case EventKind::crossbar_exit: {
                const Packet& packet = own().packets[item];
                return {packet.whole ? own().transactions[packet.message].peer : own().messages[packet.message].source,
                        0, 0};
            }
            case EventKind::message_arrival: {
                const Transaction& transaction = own().transactions[item];
                return {what_of(code) >> own().places.bits(), transaction.round, transaction.what()};
            }
            default:
                return {};
        }
    }
};

}  // namespace tramontane
