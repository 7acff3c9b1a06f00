/// \file
/// Compatibility mode `pisces-16`: SST/macro 16.0's PISCES tick by tick, for validation only. Every event SST/macro has
/// and that can change a time is an event here, and simultaneous ones come in its order: by number of the link they
/// travel on, then in order of sending. Results are then equal, not similar; these systems are chaotic and one tie
/// broken otherwise changes a result by per cents. The rules are in the report that comes with the measured points;
/// what was found beyond it (ranks that are no power of two, the hops of the 1D dragonfly) is said where it is done.
///
/// This file: time, events, records and parameters shared by network and ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../machine.hpp"
#include "delays.hpp"
#include "memory/pool.hpp"
#include "ticks.hpp"

namespace tramontane::pisces16 {

using SwitchId = std::uint32_t;
using NodeId = std::uint32_t;
using Port = std::uint32_t;
using LinkNumber = std::uint32_t;

/// A machine's parameters in ticks.
struct Parameters {
    explicit Parameters(const Machine& m)
        : link_slot(byte_time(m.link_bandwidth)),
          injection_slot(byte_time(m.injection_bandwidth)),
          crossbar_slot(byte_time(m.crossbar_bandwidth)),
          slowest_slot(std::max({link_slot, injection_slot, crossbar_slot})),
          logp_slot(byte_time(m.logp_bandwidth)),
          memory_slot(byte_time(m.memory_bandwidth)),
          instruction(byte_time(m.processor_frequency)),
          link_latency(from_picoseconds(m.link_latency)),
          injection_latency(from_picoseconds(m.injection_latency)),
          logp_hop_latency(from_picoseconds(m.logp_hop_latency)),
          logp_out_in_latency(from_picoseconds(m.logp_out_in_latency)),
          packet(static_cast<std::uint32_t>(m.packet)),
          buffer(m.buffer),
          eager_limit(m.eager_limit),
          short_limit(m.short_limit),
          negligible_size(m.negligible_size) {}

    Ticks link_slot, injection_slot, crossbar_slot, slowest_slot, logp_slot, memory_slot, instruction;
    Ticks link_latency, injection_latency, logp_hop_latency, logp_out_in_latency;
    std::uint32_t packet;
    std::int64_t buffer;
    std::int64_t eager_limit, short_limit, negligible_size;
};

/// What a packet's route depends on besides its destination.
struct Route {
    enum class Stage : std::uint8_t { source, to_intermediate, to_destination, minimal };

    NodeId destination;
    SwitchId intermediate;   ///< switch that a non-minimal path leads through
    Stage stage;             ///< how far a non-minimal path has got
    std::uint8_t dimension;  ///< torus: of the last hop
    bool crossed;            ///< torus: the wrap link of that dimension
    std::uint8_t hops;       ///< dragonfly: made so far
    std::uint8_t global_hops;
};

struct Packet {
    Route route;
    Index message;
    std::uint32_t bytes;
    Ticks due;               ///< when its last byte would arrive had it met nobody, as far as its path is known
    Ticks spacing;           ///< ticks between its bytes; 0 before its first server
    std::uint32_t upstream;  ///< output port, or node, whose credit it holds
    bool from_node;          ///< upstream is a node
    std::uint8_t channel;    ///< virtual channel it occupies
    std::uint8_t next_channel;
    Port port;   ///< output port at the current switch
    Index next;  ///< in the one queue it waits in
};

/// A message of the network. One record is header, get request, payload and acknowledgement of a transfer in turn.
struct Message {
    enum class Kind : std::uint8_t {
        launch,        ///< starts a rank
        eager,         ///< payload with its envelope
        eager_header,  ///< announces a payload that goes into a buffer
        eager_get,
        eager_data,
        header,  ///< announces a payload that waits for its receive
        get,
        data,
        acknowledgement,
        collective,       ///< of MPI_Init, MPI_Barrier, MPI_Reduce
        collective_sent,  ///< tells the sender that its message has left
    };

    Kind kind;
    NodeId source, target;
    std::int64_t payload;        ///< [B] of the transfer
    std::int64_t bytes;          ///< [B] of this network message
    std::int64_t sent, arrived;  ///< [B] of it handed to the injection buffer, received
    Ticks turn;                  ///< when the message before it had left the NIC
    std::int64_t round;          ///< of the schedule, or of the collective
    std::int32_t tag;
    std::uint32_t sequence;  ///< of envelopes between two ranks; of collectives of a rank
    Index next;              ///< in the one queue it waits in

    [[nodiscard]] bool is_collective() const { return kind >= Kind::collective; }
    [[nodiscard]] bool is_envelope() const {
        return kind == Kind::eager || kind == Kind::eager_header || kind == Kind::header;
    }
    [[nodiscard]] bool carries_payload() const {
        return kind == Kind::eager || kind == Kind::eager_data || kind == Kind::data;
    }
};

struct Event {
    enum class Kind : std::uint8_t {
        head_at_switch,
        head_at_buffer,
        crossbar_credit,
        buffer_credit,
        injection_credit,
        head_at_node,
        tail_at_node,
        logp_send,  ///< a message enters the contention-free path
        message,    ///< a message is complete at a node, or has left it
        wake,       ///< a rank has computed
    };

    Ticks time;
    std::uint64_t order;  ///< of sending
    LinkNumber link;
    std::uint32_t target;  ///< switch, output port, node or rank
    std::uint32_t item;    ///< packet or message; bytes of a credit
    Kind kind;
    std::uint8_t channel;  ///< of a credit
};

/// What sends events to itself has a number like a link's. Later built comes first: switches from the last to the
/// first, then nodes likewise, and of a node its NIC, operating system, memory and the node itself.
class Numbers {
public:
    enum class Part : std::uint32_t { nic, system, memory, node };

    Numbers() = default;
    Numbers(LinkNumber links, SwitchId switches, NodeId nodes) : links_(links), switches_(switches), nodes_(nodes) {}

    [[nodiscard]] LinkNumber inside(SwitchId s) const { return links_ + (switches_ - 1 - s); }
    [[nodiscard]] LinkNumber inside(NodeId n, Part part) const {
        return links_ + switches_ + 4 * (nodes_ - 1 - n) + static_cast<LinkNumber>(part);
    }
    [[nodiscard]] static LinkNumber logp_out(NodeId n) { return 2 * n; }
    [[nodiscard]] static LinkNumber logp_in(NodeId n) { return 2 * n + 1; }

private:
    LinkNumber links_ = 0;
    SwitchId switches_ = 0;
    NodeId nodes_ = 0;
};

struct Statistics {
    std::uint64_t messages = 0, packets = 0, bytes = 0;  ///< the workload's own
    std::uint64_t control_packets = 0;
    std::uint64_t hops = 0;  ///< switch visits of the workload's packets and their control packets
    std::uint64_t events = 0;
};

class Engine {
public:
    explicit Engine(const Machine& machine) : parameters(machine) {}

    const Parameters parameters;
    Pool<Packet> packets;
    Pool<Message> messages;
    Numbers numbers;
    Statistics statistics;
    Delays delays;

    [[nodiscard]] Ticks now() const { return now_; }

    void send(Ticks time, LinkNumber link, Event::Kind kind, std::uint32_t target, std::uint32_t item = none,
              std::uint8_t channel = 0) {
        check_event(time, now_);
        pending_.push_back({time, sent_++, link, target, item, kind, channel});
        std::push_heap(pending_.begin(), pending_.end(), After{});
    }

    [[nodiscard]] bool idle() const { return pending_.empty(); }

    /// Takes the next event and advances the time to it.
    Event next() {
        std::pop_heap(pending_.begin(), pending_.end(), After{});
        const Event event = pending_.back();
        pending_.pop_back();
        now_ = event.time;
        ++statistics.events;
        return event;
    }

private:
    struct After {
        bool operator()(const Event& a, const Event& b) const {
            if (a.time != b.time) return a.time > b.time;
            if (a.link != b.link) return a.link > b.link;
            return a.order > b.order;
        }
    };

    std::vector<Event> pending_;  // a heap
    std::uint64_t sent_ = 0;
    Ticks now_ = 0;
};

}  // namespace tramontane::pisces16
