/// \file
/// The records that travel: transactions, which say what a message is, messages of several packets, and packets.
#pragma once

#include <cstdint>

#include "random.hpp"
#include "rules/routing.hpp"
#include "rules/rule.hpp"
#include "ticks.hpp"
#include "topologies/links.hpp"

namespace tramontane {

/// Headers, get requests and acknowledgements are of this size [B] (SST/macro 16.0).
inline constexpr std::uint32_t control_bytes = 64;

/// One transfer of the schedule on its way through the protocol. The same record is header, get request, payload and
/// acknowledgement in turn; each is one message on the network. It says no more than which transfer it is, because a
/// burst has as many of them as messages: what else there is to know follows from the schedule.
struct Transaction {
    enum class Kind : std::uint8_t {
        eager,         ///< up to short_limit: payload with its transaction
        eager_header,  ///< up to eager_limit: header, get request, payload
        eager_get,
        eager_data,
        header,  ///< larger: header, get request once header and receive have met, payload, acknowledgement
        get,
        data,
        acknowledgement,
    };
    static constexpr int index_bits = 28;

    union {
        /// At a node: the rank at the other end, in a NIC beside the one it comes from (Places::with_local); on its
        /// way: that it comes from.
        std::uint32_t peer;
        Index message;        ///< partly cut into packets: its record
        std::uint32_t bytes;  ///< an eager payload that has arrived: its size [B]
    };
    std::uint32_t round;

private:
    std::uint32_t what_;  // kind, whether it is begun, index; no bit fields, see Channel

public:
    union {
        Index next;            ///< in the one queue it waits in
        std::uint32_t target;  ///< on its way: the rank it goes to
        std::uint32_t tie;     ///< when its arrival is known: orders it among others of that tick
    };

    /// \param index_ of the send in its round
    TRAMONTANE_RULE void address(std::uint32_t to, std::uint32_t round_, std::uint32_t index_, Kind kind_) {
        peer = to;
        round = round_;
        what_ = index_ << 4 | static_cast<std::uint32_t>(kind_);
    }
    [[nodiscard]] TRAMONTANE_RULE Kind kind() const { return static_cast<Kind>(what_ & 7); }
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t index() const { return what_ >> 4; }
    /// Whether it is partly cut into packets.
    [[nodiscard]] TRAMONTANE_RULE bool begun() const { return (what_ & begun_bit) != 0; }
    TRAMONTANE_RULE void begin(Index record) {
        message = record;
        what_ |= begun_bit;
    }
    /// Whether an eager payload has come before its receive was posted; it is whole by then, so that it needs no bit of
    /// its own.
    [[nodiscard]] TRAMONTANE_RULE bool came_early() const { return begun(); }
    TRAMONTANE_RULE void set_came_early(bool early) { what_ = what() | (early ? begun_bit : 0); }
    /// An eager payload that has arrived needs its index no longer, and may say where it comes from instead.
    TRAMONTANE_RULE void note_source(std::uint32_t source) { what_ = source << 4 | (what_ & 15); }
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t source() const { return is_eager_payload() ? index() : peer; }
    /// What is sent back is the protocol's next message.
    TRAMONTANE_RULE void become(Kind kind_) { what_ = index() << 4 | static_cast<std::uint32_t>(kind_); }

    /// Kind and index: with source and round they tell a message from all others.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t what() const { return what_ & ~begun_bit; }

    [[nodiscard]] TRAMONTANE_RULE bool is_eager_payload() const {
        return kind() == Kind::eager || kind() == Kind::eager_data;
    }
    [[nodiscard]] TRAMONTANE_RULE bool carries_payload() const { return is_eager_payload() || kind() == Kind::data; }

private:
    static constexpr std::uint32_t begun_bit = 8;
};
static_assert(sizeof(Transaction) == 16);

/// Transfers of a round that are not complete.
struct Left {
    std::int32_t receives = 0;
    std::int32_t sends = 0;
    [[nodiscard]] TRAMONTANE_RULE bool any() const { return receives > 0 || sends > 0; }
};

/// A round whose transfers go on while its rank does something else (split phase).
struct OpenRound {
    std::uint32_t round;
    Left left;
    Index next;  ///< of its rank, plus 1; 0: none
};

/// A message of several packets, from the first one's cut to the arrival of all.
struct alignas(64) Message {
    std::int64_t bytes;
    std::int64_t unsent;   ///< [B] not yet cut into packets
    std::int64_t missing;  ///< [B] not yet on the last link
    Ticks arrival;         ///< of its last byte, as far as its packets are on the last link
    std::uint32_t source;  ///< rank it leaves from
    std::uint32_t target;
    std::uint32_t arrival_tie;  ///< of the packet with the last byte
    Index transaction;
    bool carries_payload;  ///< as the transaction says, which is far away where the packets arrive
};

struct alignas(64) Packet {
    /// Before the injection port: when the packet came there. Beyond it: when its last byte would arrive had it met
    /// nobody since, as far as its path is known; see delays.hpp.
    Ticks due;
    [[no_unique_address]] Route route;  // what follows may use its last bytes
    LinkRateId slowest;                 ///< link it has met, as a number of LinkRates; kept where links differ
    Index message;                      ///< whole: its transaction
    std::uint32_t bytes;
    std::uint32_t spacing;  ///< ticks between its bytes; 0 before its first server
    std::uint32_t tie;    ///< random, but each of a rank's packets has another (packet_tie); orders packets that arrive
                          ///< at the same tick, and picks the intermediate switch
    std::uint32_t order;  ///< when it began to wait, as a count
    std::uint32_t bound;  ///< no packet that waits in this lane is smaller; valid in its last packet
    std::uint32_t upstream;  ///< switch whose output, or from `switches` on NIC, this packet came from and whose credit
                             ///< it holds
    Port upstream_port;
    std::uint8_t upstream_channel;
    std::uint8_t channel;  ///< taken at the current switch
    Port port;             ///< taken at the current switch
    bool whole;            ///< is a message by itself
    bool routed : 1;       ///< port and channel of the switch ahead are known
    bool ejected : 1;      ///< the port leads to the destination
    bool begins : 1;       ///< a message; kept where NICs need a gap between them
    Index next;            ///< in the one queue it waits in
};
static_assert(sizeof(Packet) == 64);

/// Finds the way that a packet takes at a switch. \param view see RouterIn::next
template <class Router, class View>
TRAMONTANE_RULE void route_packet(const Router& router, std::uint64_t seed, SwitchId at, Packet& packet, View&& view) {
    const Hop hop = router.next(at, packet.route, Draw(mix(seed ^ packet.tie)), view);
    packet.port = hop.port;
    packet.channel = hop.channel;
    packet.ejected = hop.ejects;
    packet.routed = true;
}

}  // namespace tramontane
