/// \file
/// What all parts of a simulation share: parameters in ticks, pending events, records and counters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "arbiter.hpp"
#include "channel.hpp"
#include "delays.hpp"
#include "event_queue.hpp"
#include "exchange.hpp"
#include "ledger.hpp"
#include "machine.hpp"
#include "records.hpp"

namespace tramontane {

enum class EventKind : std::uint32_t {
    crossbar_credit,  ///< switch: space in an output buffer is free again, packets wait before the crossbar
    output_credit,    ///< switch: space behind a link is free again, packets wait in the output buffer
    injection,        ///< node: its NIC goes on; packets or messages wait there
    start,            ///< node: the rank starts
    resume,           ///< node: the rank goes on, its work is done or a detour over
    head,             ///< switch: a packet's head arrives
    output,           ///< switch: a packet's head leaves the crossbar
    message,          ///< node: a message's last byte arrives
};

/// Kind, port and virtual channel of an event in 32 bits.
[[nodiscard]] constexpr std::uint32_t event_code(EventKind kind, std::uint32_t port = 0, std::uint32_t channel = 0) {
    return static_cast<std::uint32_t>(kind) | channel << 4 | port << 12;
}
[[nodiscard]] constexpr EventKind kind_of(std::uint32_t code) { return static_cast<EventKind>(code & 15); }
[[nodiscard]] constexpr std::uint8_t channel_of(std::uint32_t code) {
    return static_cast<std::uint8_t>(code >> 4 & 255);
}
[[nodiscard]] constexpr Port port_of(std::uint32_t code) { return static_cast<Port>(code >> 12); }

/// A machine's parameters in ticks.
struct Parameters {
    explicit Parameters(const Machine& m)
        : link_slot(byte_time(m.link_bandwidth)),
          injection_slot(byte_time(m.injection_bandwidth)),
          crossbar_slot(byte_time(m.crossbar_bandwidth)),
          slowest_slot(std::max({link_slot, injection_slot, crossbar_slot})),
          logp_slot(byte_time(m.logp_bandwidth)),
          memory_slot(byte_time(m.memory_bandwidth)),
          instruction(static_cast<Ticks>(10'000'000'000'000'000 / m.processor_frequency)),
          link_latency(from_picoseconds(m.link_latency)),
          injection_latency(from_picoseconds(m.injection_latency)),
          logp_hop_latency(from_picoseconds(m.logp_hop_latency)),
          logp_out_in_latency(from_picoseconds(m.logp_out_in_latency)),
          send_overhead(from_picoseconds(m.send_overhead)),
          receive_overhead(from_picoseconds(m.receive_overhead)),
          packet(static_cast<std::uint32_t>(m.packet)),
          buffer(m.buffer),
          eager_limit(m.eager_limit),
          short_limit(m.short_limit),
          negligible_size(m.negligible_size),
          round_robin(m.round_robin_injection) {}

    [[nodiscard]] Ticks lookahead() const { return std::min({link_latency, injection_latency, logp_out_in_latency}); }

    /// Time a rank is busy copying n bytes: 3 instructions a word; above 64 B the memory's bandwidth comes on top
    /// (SST/macro 16.0's default cost of eager messages).
    [[nodiscard]] Ticks copy(std::int64_t n) const {
        const auto words = static_cast<Ticks>(n) / 8;
        return 3 * words * instruction + (words > 8 ? static_cast<Ticks>(n) * memory_slot : 0);
    }

    Ticks link_slot, injection_slot, crossbar_slot, slowest_slot, logp_slot, memory_slot, instruction;
    Ticks link_latency, injection_latency, logp_hop_latency, logp_out_in_latency;
    Ticks send_overhead, receive_overhead;
    std::uint32_t packet;
    std::int64_t buffer;
    std::int64_t eager_limit, short_limit, negligible_size;
    bool round_robin;
};

struct Statistics {
    std::uint64_t messages = 0;         ///< of the workload
    std::uint64_t bytes = 0;            ///< of the workload
    std::uint64_t packets = 0;          ///< of the workload
    std::uint64_t control_packets = 0;  ///< of headers, get requests, acknowledgements
    std::uint64_t hops = 0;             ///< switch visits of all packets
    std::uint64_t events = 0;
    std::uint64_t delivered_bytes = 0;  ///< of the workload

    void add(const Statistics& other) {
        messages += other.messages;
        bytes += other.bytes;
        packets += other.packets;
        control_packets += other.control_packets;
        hops += other.hops;
        events += other.events;
        delivered_bytes += other.delivered_bytes;
    }
};

/// Events, records and counters of all places, or, where several threads simulate one point, of those of one part.
/// Envelopes and messages are then the same records for all parts, because both ends write them (each fields of its
/// own, or one after the other).
class Engine {
public:
    /// \param exchange with other parts; null where there are none
    Engine(const Machine& machine, std::uint64_t seed_, SwitchId switches_, Place places_, Exchange* exchange)
        : parameters(machine),
          seed(seed_),
          switches(switches_),
          places(places_),
          queue_(parameters.lookahead(), places),
          exchange_(exchange) {}

    /// The engine of another part. \pre nothing has been simulated
    Engine(Engine& first, std::uint32_t part)
        : parameters(first.parameters),
          seed(first.seed),
          switches(first.switches),
          places(first.places),
          envelopes(Pool<Envelope>::SameAs{first.envelopes}),
          messages(Pool<Message>::SameAs{first.messages}),
          delays(first.delays),
          queue_(parameters.lookahead(), places),
          exchange_(first.exchange_),
          part_(part) {}

    const Parameters parameters;
    const std::uint64_t seed;
    const SwitchId switches;
    const Place places;
    Pool<Packet> packets;
    Pool<Envelope> envelopes;
    Pool<Message> messages;
    Pool<Credits> credits;
    Pool<Gaps> gaps;
    Statistics statistics;
    Delays delays;
    Ledger ledger;  ///< where invariants are checked

    /// Counts what begins to wait; compared within one queue only.
    [[nodiscard]] std::uint32_t next_order() { return order_++; }

    [[nodiscard]] Place place_of(std::uint32_t rank) const { return switches + rank; }

    /// Brings what a packet belongs to into the cache.
    void prefetch_message(const Packet& packet) const {
        if (packet.whole) {
            envelopes.prefetch(packet.message);
        } else {
            messages.prefetch(packet.message);
        }
    }

    /// A message of `bytes` bytes reaches its target's node.
    /// \param tie orders it among others of that tick
    void arrive(Index item, std::uint32_t source, std::uint32_t target, std::int64_t bytes, Ticks time,
                std::uint32_t tie) {
        Envelope& envelope = envelopes[item];
        if (envelope.carries_payload()) statistics.delivered_bytes += static_cast<std::uint64_t>(bytes);
        if (envelope.is_eager_payload()) {
            if (bytes > std::numeric_limits<std::uint32_t>::max()) {
                throw std::runtime_error("simulator: an eager message of 4 GiB or more");
            }
            envelope.bytes = static_cast<std::uint32_t>(bytes);
        } else {
            envelope.peer = source;
        }
        envelope.tie = tie;
        send(time, place_of(target), event_code(EventKind::message), item);
    }

    void schedule(Ticks time, Place place, std::uint32_t code, Index item = none) {
        if (place == here_ && time < end_) {
            add_nearby({static_cast<std::uint32_t>(time - begin_), place, item, code});
        } else {
            schedule_elsewhere(time, place, code, item);
        }
    }

    /// An event of a later window; that is all that one place can do to another of its part.
    void schedule_elsewhere(Ticks time, Place place, std::uint32_t code, Index item) {
#ifdef TRAMONTANE_CHECKS
        if (time < end_) throw std::logic_error("simulator: an event reaches another place within a window");
#endif
        queue_.push(time, place, code, item);
    }

    /// Whether the place is of this part.
    [[nodiscard]] bool owns(Place place) const { return exchange_ == nullptr || exchange_->owner(place) == part_; }

    /// An event of a later window at a place that may be another part's. A packet whose head arrives there goes along.
    void send(Ticks time, Place place, std::uint32_t code, Index item) {
        if (owns(place)) return schedule_elsewhere(time, place, code, item);
        Outbox& box = tell(time, place, code, item);
        if (kind_of(code) != EventKind::head) return;
        box.packets.push_back(packets[item]);
        if constexpr (checks) ledger.leave(packets[item].bytes);
        packets.give_back(item);
    }

    /// Gives credits back to an output of another part's switch.
    void send_credit(Ticks time, SwitchId at, Port port, std::uint8_t channel, std::uint32_t bytes) {
        tell(time, at, event_code(EventKind::output_credit, port, channel), bytes);
    }

    /// Gives credits back to `channel` of `place` at `time`, and sees to it that what waits there is woken.
    template <class AnyChannel>
    void give(Place place, AnyChannel& channel, std::uint32_t wake_code, Ticks time, std::uint32_t bytes) {
        // What is due now needs no longer be listed: the lists of a burst of small packets would be long, and cold when
        // the next packet looks. No later look is before this window.
        if (channel.waiting.empty()) channel.apply(credits, begin_);
        channel.give(credits, time, bytes);
        wake_if_needed(place, channel, wake_code);
    }

    template <class AnyChannel>
    void wake_if_needed(Place place, AnyChannel& channel, std::uint32_t wake_code) {
        if (channel.wake() || channel.waiting.empty() || !channel.expects()) return;
        channel.set_wake(true);
        schedule(channel.next_time(), place, wake_code);
    }

    // Where a place leaves steps for later and then does each as if it had been an event at its time, it must know what
    // would have come first at the same tick: events that were stored before their window began come before `sudden`
    // ones, which were made in it.

    /// Whether an event that is made at `now` for `time` is sudden.
    [[nodiscard]] bool sudden(Ticks now, Ticks time) const { return queue_.same_window(now, time); }
    /// Whether the current event is sudden.
    [[nodiscard]] bool is_sudden() const { return sudden_; }
    /// Whether no other than sudden events follow the current one at its place and tick.
    [[nodiscard]] bool is_last_of_tick(Ticks now) const {
        return following_->place != here_ || begin_ + following_->offset != now;
    }

    /// The next window in which this part has events, or others those that it has told them.
    [[nodiscard]] std::uint64_t next_window() const { return std::min(queue_.next(), told_); }

    /// Takes what other parts have told since the last time: events, and credits, with which `credit(crossing)` is
    /// called. To be done before each window by each part.
    template <class Credit>
    void receive(Credit&& credit) {
        if (exchange_ == nullptr) return;
        told_ = EventQueue::ended;
        for (std::uint32_t other = 0; other < exchange_->parts(); ++other) {
            Outbox& box = exchange_->box(turn_, other, part_);
            const Packet* packet = box.packets.data();
            for (const Crossing& crossing : box.events) {
                if (kind_of(crossing.code) == EventKind::output_credit) {
                    credit(crossing);
                    continue;
                }
                Index item = crossing.item;
                if (kind_of(crossing.code) == EventKind::head) {
                    item = packets.take();
                    if constexpr (checks) ledger.enter(packet->bytes);
                    packets[item] = *packet++;
                }
                queue_.push(crossing.time, crossing.place, crossing.code, item);
            }
            box.clear();
        }
        turn_ = !turn_;
    }

    /// Handles the events of a window. Memory is slow: `fetch(event)` is called well ahead for what the event names,
    /// `approach(event)` somewhat ahead for what that leads to, `reach(event)` shortly before for what that leads to in
    /// turn, `handle(event, time)` when it is due. Nothing is called ahead while `memory` [B] is so little that it
    /// stays in the cache: it would cost a fifth of the rate.
    template <class Fetch, class Approach, class Reach, class Handle>
    void handle_window(std::uint64_t window, std::uint64_t memory, Fetch&& fetch, Approach&& approach, Reach&& reach,
                       Handle&& handle) {
        const auto events = queue_.open(window);
        begin_ = queue_.begin();
        end_ = queue_.end();
        const std::size_t n = events.size();
        // Calls ahead are made for several events at a time: where a page's address must be looked up, fetching a line
        // ahead holds the processor up nearly as long as a load would, unless it has others to do at the same time.
        std::size_t turn = memory > cached ? 0 : n;  // the event that calls ahead come before
        std::size_t fetched = 0, approached = 0, reached = 0;
        const auto prepare = [&] {
            for (const std::size_t to = std::min(n, turn + far); fetched < to; ++fetched) fetch(events[fetched]);
            for (const std::size_t to = std::min(n, turn + near); approached < to; ++approached)
                approach(events[approached]);
            for (const std::size_t to = std::min(n, turn + next); reached < to; ++reached) reach(events[reached]);
            turn += together;
        };
        Event* following = events.data();
        Event* const last = following + n;  // of no place
        while (following != last) {
            const Place here = here_ = following->place;
            [[maybe_unused]] std::uint32_t latest = 0;
            while (true) {  // this place's events, old and new, in order of time
                const std::uint32_t stored = following->place == here ? following->offset : no_offset;
                Event event;
                const bool sudden = first_nearby_->offset < stored;
                if (sudden) {
                    event = take_nearby();
                } else if (stored != no_offset) {
                    if (following - events.data() == static_cast<std::ptrdiff_t>(turn)) prepare();
                    if (tied(following[0], following[1])) order_ties(following);
                    event = *following++;
                } else {
                    break;
                }
                sudden_ = sudden;
                following_ = following;
#ifdef TRAMONTANE_CHECKS
                if (event.offset < latest) throw std::logic_error("simulator: time went backwards");
                latest = event.offset;
#endif
                ++statistics.events;
                handle(event, begin_ + event.offset);
            }
        }
        here_ = nowhere;
    }

    void start_at(Ticks time, Place place, std::uint32_t code) { queue_.push(time, place, code, none); }

private:
    Outbox& tell(Ticks time, Place place, std::uint32_t code, Index item) {
        if constexpr (checks) {
            if (time < end_) throw std::logic_error("simulator: an event reaches another part within a window");
        }
        Outbox& box = exchange_->box(turn_, part_, exchange_->owner(place));
        box.events.push_back({time, place, code, item});
        told_ = std::min(told_, queue_.number_of(time));
        return box;
    }

    static constexpr std::uint64_t cached = std::uint64_t{1} << 19;  // half of a usual second-level cache
    // For how many events calls ahead are made at a time, and how far ahead each of them is for the last of these.
    static constexpr std::size_t together = 8;
    static constexpr std::size_t far = 24 + together;
    static constexpr std::size_t near = 12 + together;
    static constexpr std::size_t next = 4 + together;
    static constexpr Place nowhere = ~Place{0};
    static constexpr std::uint32_t no_offset = ~std::uint32_t{0};  // behind all of a window

    /// What happens first at the same place and tick: returning credits, ranks, then packets in a random order that
    /// belongs to the packets, so that no port is favoured and the result does not depend on how events were stored,
    /// nor on the number of threads. Should two have drawn the same, it is decided by where they come from.
    [[nodiscard]] std::uint64_t tie(const Event& event) const {
        const auto drawn = [](std::uint32_t number, std::uint32_t from) {
            return std::uint64_t{1} << 63 | std::uint64_t{number} << 31 | (from & 0x7fff'ffff);
        };
        switch (kind_of(event.code)) {
            case EventKind::head:
            case EventKind::output: {
                const Packet& packet = packets[event.item];
                return drawn(packet.tie, packet.upstream << 9 ^ packet.upstream_port);
            }
            case EventKind::message:
                return drawn(envelopes[event.item].tie, envelopes[event.item].origin());
            default:
                return event.code;
        }
    }

    /// Whether two events are of the same place and tick.
    [[nodiscard]] static bool tied(const Event& a, const Event& b) {
        return a.offset == b.offset && a.place == b.place;
    }

    void order_ties(Event* first) {
        // There are few; looking up what orders them takes longer than the rest.
        ties_.clear();
        for (const Event* event = first; tied(*event, *first); ++event) {
            const Tied tied{tie(*event), *event};
            std::size_t to = ties_.size();
            ties_.push_back(tied);
            for (; to > 0 && ties_[to - 1].tie > tied.tie; --to) ties_[to] = ties_[to - 1];
            ties_[to] = tied;
        }
        for (const Tied& tied : ties_) *first++ = tied.event;
    }

    struct Tied {
        std::uint64_t tie;
        Event event;
    };
    std::vector<Tied> ties_;

    /// Most come in the order of their times.
    void add_nearby(const Event& event) {
        if (end_nearby_ == &nearby_.back()) [[unlikely]]
            make_room_nearby();
        Event* to = end_nearby_++;
        for (; to > first_nearby_ && after(to[-1], event); --to) to[0] = to[-1];
        *to = event;
        end_nearby_->offset = no_offset;
    }

    [[gnu::noinline]] void make_room_nearby() {
        const auto first = first_nearby_ - nearby_.data(), end = end_nearby_ - nearby_.data();
        nearby_.resize(2 * nearby_.size());
        first_nearby_ = nearby_.data() + first;
        end_nearby_ = nearby_.data() + end;
    }

    Event take_nearby() {
        const Event event = *first_nearby_++;
        if (first_nearby_ == end_nearby_) {
            first_nearby_ = end_nearby_ = nearby_.data();
            first_nearby_->offset = no_offset;
        }
        return event;
    }

    [[nodiscard]] bool after(const Event& a, const Event& b) const {
        return a.offset != b.offset ? a.offset > b.offset : tie(a) > tie(b);
    }

    EventQueue queue_;
    Exchange* const exchange_;  // null: there is one part
    const std::uint32_t part_ = 0;
    bool turn_ = false;                       // which of the exchange's boxes are filled
    std::uint64_t told_ = EventQueue::ended;  // the first window for which other parts have been told something
    // New events of the current place and window, by time, and behind them one of no time.
    std::vector<Event> nearby_{16, Event{no_offset, 0, none, 0}};
    Event* first_nearby_ = nearby_.data();
    Event* end_nearby_ = nearby_.data();
    std::uint32_t order_ = 0;
    Place here_ = nowhere;
    bool sudden_ = false;
    const Event* following_ = nullptr;  // of the window
    Ticks begin_ = 0;
    Ticks end_ = 0;
};

}  // namespace tramontane
