/// \file
/// The two records that travel: messages, and the packets they are cut into.
#pragma once

#include <cstdint>

#include "pool.hpp"
#include "routing.hpp"
#include "ticks.hpp"

namespace tramontane {

/// One transfer of the schedule on its way through the protocol. The same record is header, get request, payload and
/// acknowledgement in turn; each is one message on the network.
struct alignas(64) Message {
    enum class Kind : std::uint8_t {
        eager,         ///< up to short_limit: payload with its envelope
        eager_header,  ///< up to eager_limit: header, get request, payload
        eager_get,
        eager_data,
        header,  ///< larger: header, get request once header and receive have met, payload, acknowledgement
        get,
        data,
        acknowledgement,
    };

    std::int64_t payload;  ///< [B] of the transfer
    std::int64_t unsent;   ///< [B] of this network message not yet cut into packets
    std::int64_t missing;  ///< [B] of this network message not yet on the last link
    Ticks arrival;         ///< of its last byte, as far as its packets are on the last link
    std::uint32_t source;  ///< rank this network message leaves from
    std::uint32_t target;
    std::uint32_t round;
    std::uint32_t index;        ///< of the send in its round
    std::uint32_t tie;          ///< random; orders messages that arrive at the same tick
    std::uint32_t arrival_tie;  ///< of the packet with the last byte
    Index next;                 ///< in the one queue it waits in
    Kind kind;

    [[nodiscard]] bool carries_payload() const {
        return kind == Kind::eager || kind == Kind::eager_data || kind == Kind::data;
    }
};
static_assert(sizeof(Message) == 64);

struct alignas(64) Packet {
    /// Before the injection port: when the packet came there. Beyond it: when its last byte would arrive had it met
    /// nobody since, as far as its path is known; see delays.hpp.
    Ticks due;
    Route route;
    Index message;
    std::uint32_t bytes;
    std::uint32_t spacing;   ///< ticks between its bytes; 0 before its first server
    std::uint32_t tie;       ///< random; orders packets that arrive at the same tick, and picks its intermediate switch
    std::uint32_t order;     ///< when it began to wait, as a count
    std::uint32_t bound;     ///< no packet that waits in this lane is smaller; valid in its last packet
    std::uint32_t upstream;  ///< place whose output this packet came from and whose credit it holds
    Port upstream_port;
    std::uint8_t upstream_channel;
    std::uint8_t channel;  ///< taken at the current switch
    Port port;             ///< taken at the current switch
    bool routed;           ///< port and channel of the switch ahead are known
    bool ejected;          ///< the port leads to the destination
    Index next;            ///< in the one queue it waits in
};
static_assert(sizeof(Packet) == 64);

}  // namespace tramontane
