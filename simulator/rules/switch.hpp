/// \file
/// What a switch does: routing, crossbar, output buffers and links.
///
/// A packet's head at a switch is routed, waits for space in the output buffer of its port and virtual channel, passes
/// the crossbar (one server a switch; an unlimited one takes no time and has no server), waits for space behind the
/// link, and passes the link. The space it held upstream is free again when its head leaves the crossbar, and the
/// upstream side knows one link latency later. These are PISCES' stages; what happens at one tick is done in one event.
///
/// Where links differ (links.hpp), a switch keeps the number of each port's rate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include "random.hpp"
#include "rules/arbiter.hpp"
#include "rules/channel.hpp"
#include "rules/events.hpp"
#include "rules/link_meter.hpp"
#include "rules/parameters.hpp"
#include "rules/records.hpp"
#include "rules/routing.hpp"
#include "rules/rule.hpp"
#include "topologies/links.hpp"
#include "topologies/topology.hpp"

namespace tramontane {

/// Between the injection buffer of a NIC and its switch; not divided by virtual channels.
struct alignas(64) Injection {
    NodeChannel channel;
    Ticks wake = never;  ///< when the NIC goes on; never: with the next message, or credit if packets wait
};
static_assert(sizeof(Injection) == 64);

struct alignas(64) CacheLine {
    std::byte bytes[64];
};

/// \tparam Own who has the switches' records, and
///
///         create(at)                     makes the record of a switch that a packet comes to, with `begin(at, record)`
///         give_upstream(packet, time)    gives back the space that a packet held at the switch it comes from
///         give_to_nic(nic, time, bytes)  gives back space to a NIC: `take_from_switch`, not later than it is due
///         latency_behind(packet)         of the link that a packet came by
/// \tparam Engine see Events
template <class Own, class Engine>
class SwitchRules {
public:
    using Network = typename Engine::Network;

    // What happens at a switch:

    /// A packet's head arrives.
    TRAMONTANE_STEP TRAMONTANE_RULE void head_arrives(SwitchId at, Index item, Ticks now) {
        if (switches_[at] == nullptr) own().create(at);
        Packet& packet = engine_.packets[item];
        ++engine_.counts().hops;
        if (!packet.routed) route(at, packet, now);
        packet.routed = false;
        if (counted_) [[unlikely]] {
            auto& link = static_cast<CountedLink&>(this->link(at, packet.port));
            const Ticks slot = links_differ_ ? rate(at, packet.port).slot : engine_.parameters.link.slot;
            count_arrival(engine_.link_use, link.meter, link.booked(engine_.gaps, slot, now), packet.bytes, now);
        }
        Output& output = out(at, packet.port, packet.channel);
        SwitchChannel& before = output.before;
        if (before.waiting.empty()) before.apply(engine_.credits, now);
        if (before.credits() >= packet.bytes) {  // passes what waits for more space, as in PISCES
            enter_crossbar(at, item, output, now);
        } else {
            packet.order = engine_.next_order();
            before.waiting.append(engine_.packets, item, engine_.parameters.packet);
            engine_.wake_if_needed(at, before, event_code(EventKind::crossbar_credit, packet.port, packet.channel));
        }
    }

    /// A packet's head leaves the crossbar, later than it arrived.
    TRAMONTANE_STEP TRAMONTANE_RULE void head_leaves_crossbar(SwitchId at, Index item, Ticks now) {
        leave_crossbar(at, item, now);
    }

    /// Space in an output buffer is free again, packets wait before the crossbar.
    TRAMONTANE_STEP TRAMONTANE_RULE void crossbar_goes_on(SwitchId at, std::uint32_t code, Ticks now) {
        Output& output = out(at, port_of(code), channel_of(code));
        SwitchChannel& before = output.before;
        // The crossbar lets at most one packet go for each credit, the first that fits.
        while (before.is_due(now)) {
            before.apply_one(engine_.credits);
            const Index item =
                before.waiting.take_fitting(engine_.packets, before.credits(), engine_.parameters.packet);
            if (item != none) enter_crossbar(at, item, output, now);
        }
        before.set_wake(false);
        engine_.wake_if_needed(at, before, code);
    }

    /// Space behind a link is free again, packets wait in the output buffer.
    TRAMONTANE_STEP TRAMONTANE_RULE void link_goes_on(SwitchId at, std::uint32_t code, Ticks now) {
        Output& output = out(at, port_of(code), channel_of(code));
        SwitchChannel& behind = output.behind;
        behind.apply(engine_.credits, now);
        while (true) {
            const Index item =
                behind.waiting.take_fitting(engine_.packets, behind.credits(), engine_.parameters.packet);
            if (item == none) break;
            enter_link(at, item, output, now);
        }
        behind.set_wake(false);
        engine_.wake_if_needed(at, behind, code);
    }

    /// A switch gives space back to a NIC.
    TRAMONTANE_ONCE TRAMONTANE_RULE void take_from_switch(std::uint32_t nic, Ticks time, std::uint32_t bytes) {
        Injection& injection = injection_[nic];
        injection.channel.give(engine_.credits, time, bytes);
        if (injection.wake == never && !injection.channel.waiting.empty()) wake_injection(nic, time);
    }

    [[nodiscard]] TRAMONTANE_RULE Injection& injection(std::uint32_t nic) {
        touch(injection_[nic]);
        return injection_[nic];
    }
    /// Lets the NIC go on at `time`.
    TRAMONTANE_RULE void wake_injection(std::uint32_t nic, Ticks time) {
        injection_[nic].wake = time;
        engine_.schedule_at(nic, time, EventKind::nic_wake);
    }

    /// What waits where in a switch; at most `limit` queues, which are counted down. See rules/deadlock.hpp.
    [[nodiscard]] std::string waiting_packets(SwitchId at, int& limit) const;
    /// Calls `f(switch, port, meter)` for each link of the switches that packets of this part met, where links are
    /// counted.
    template <class F>
    void each_meter(F&& f) const {
        for (SwitchId at = 0; counted_ && at < engine_.switches; ++at) {
            for (Port port = 0; switches_[at] != nullptr && port < topology_.ports(); ++port) {
                prefetch_line(&meter(at, static_cast<Port>(port + 8)));  // behind the last one, whatever is there
                f(at, port, meter(at, port));
            }
        }
    }
    /// The same for those that packets went by.
    template <class F>
    void each_counted_link(F&& f) const {
        each_meter([&](SwitchId at, Port port, LinkMeter& meter) {
            if (meter.packets > 0) f(at, port, meter);
        });
    }

protected:
    /// The two buffers a packet passes on its way out of a switch.
    struct alignas(64) Output {
        SwitchChannel before;  ///< space in the output buffer, waited for before the crossbar
        SwitchChannel behind;  ///< space in the next switch or node, waited for before the link
    };
    static constexpr SwitchId unknown = ~SwitchId{0};

    /// The server of a port and the switch behind it, which is known once a packet has gone there.
    struct Link : Arbiter {
        SwitchId next = unknown;
    };
    static_assert(sizeof(Link) == 16);
    /// Where links are counted: one cache line for all that a packet changes of it.
    struct alignas(64) CountedLink : Link {
        LinkMeter meter;
    };
    static_assert(sizeof(CountedLink) == 64);

    SwitchRules(Engine& engine, const Network& topology, const RouterIn<Network>& router, const LinkCounting& counting)
        : engine_(engine),
          topology_(topology),
          router_(router),
          has_crossbar_(engine.parameters.has_crossbar()),
          links_differ_(!engine.parameters.links.alike()),
          counted_(counting.on),
          channels_(router.channels()),
          space_(engine.parameters.buffer / channels_),
          link_bits_(static_cast<std::uint32_t>(bit_width(counting.on ? sizeof(CountedLink) : sizeof(Link)) - 1)),
          rates_offset_((std::size_t{topology.ports()} + 1) << link_bits_),
          outputs_offset_((rates_offset_ + (links_differ_ ? topology.ports() * sizeof(LinkRateId) : 0) + 63) / 64 * 64),
          lines_((outputs_offset_ + std::size_t{topology.ports()} * channels_ * sizeof(Output)) / sizeof(CacheLine)) {}
    /// The same with the records of another part.
    SwitchRules(const SwitchRules& first, Engine& engine)
        : engine_(engine),
          topology_(first.topology_),
          router_(first.router_),
          has_crossbar_(first.has_crossbar_),
          links_differ_(first.links_differ_),
          counted_(first.counted_),
          channels_(first.channels_),
          space_(first.space_),
          link_bits_(first.link_bits_),
          rates_offset_(first.rates_offset_),
          outputs_offset_(first.outputs_offset_),
          lines_(first.lines_) {}

    // The record of a switch is one block: its crossbar, then its links by port, with their meters where they are
    // counted, then their rates where they differ, then its outputs by port and virtual channel.

    [[nodiscard]] TRAMONTANE_RULE std::byte* record(SwitchId at) const {
        return reinterpret_cast<std::byte*>(switches_[at]);
    }
    [[nodiscard]] TRAMONTANE_RULE Arbiter& crossbar(SwitchId at) const {
        return *reinterpret_cast<Arbiter*>(record(at));
    }
    [[nodiscard]] TRAMONTANE_RULE Link& link(SwitchId at, Port port) const {
        return *reinterpret_cast<Link*>(record(at) + ((std::size_t{port} + 1) << link_bits_));
    }
    [[nodiscard]] TRAMONTANE_RULE Output* outputs(SwitchId at) const {
        return reinterpret_cast<Output*>(record(at) + outputs_offset_);
    }
    [[nodiscard]] TRAMONTANE_RULE Output& out(SwitchId at, Port port, std::uint8_t channel) const {
        return outputs(at)[std::size_t{port} * channels_ + channel];
    }
    /// Of a link, where links are counted.
    [[nodiscard]] TRAMONTANE_RULE LinkMeter& meter(SwitchId at, Port port) const {
        return static_cast<CountedLink&>(link(at, port)).meter;
    }
    [[nodiscard]] TRAMONTANE_RULE LinkRateId* rates(SwitchId at) const {
        return reinterpret_cast<LinkRateId*>(record(at) + rates_offset_);
    }
    /// Of a link, where links differ.
    [[nodiscard]] TRAMONTANE_RULE const LinkRate& rate(SwitchId at, Port port) const {
        return engine_.parameters.links.rates[rates(at)[port]];
    }

    /// As std::uninitialized_fill_n, which accelerators don't have.
    template <class T>
    TRAMONTANE_RULE static void create_all(T* first, std::size_t count, const T& value) {
        for (std::size_t i = 0; i < count; ++i) ::new (static_cast<void*>(first + i)) T(value);
    }

    /// Begins the record of a switch, in `lines_` lines.
    TRAMONTANE_ONCE TRAMONTANE_RULE void begin(SwitchId at, CacheLine* record) {
        switches_[at] = record;
        create_all(&crossbar(at), 1, Arbiter{});
        for (Port port = 0; port < topology_.ports(); ++port) {
            if (!counted_) {
                create_all(&link(at, port), 1, Link{});
                continue;
            }
            create_all(static_cast<CountedLink*>(&link(at, port)), 1, CountedLink{});
            meter(at, port).link_class = topology_.link_class(at, port);
        }
        const LinkRates& links = engine_.parameters.links;
        for (Port port = 0; links_differ_ && port < topology_.ports(); ++port) {
            rates(at)[port] = links.of_class[topology_.link_class(at, port)];
        }
        const std::size_t count = std::size_t{topology_.ports()} * channels_;
        create_all(outputs(at), count, Output{SwitchChannel(space_), SwitchChannel(space_)});
    }

    /// Routes a packet before its head arrives, where the moment does not matter to its route.
    TRAMONTANE_RULE void route_ahead(SwitchId at, Packet& packet) {
        if (!packet.routed && router_.ignores_state(packet.route)) route(at, packet, 0);
    }

    TRAMONTANE_ONCE TRAMONTANE_RULE void route(SwitchId at, Packet& packet, Ticks now) {
        route_packet(router_, engine_.seed, at, packet, View{*this, now});
    }

    // --- a packet's way through a switch; as a rule the stages follow one another in one event -----------------------

    /// Sees to it that a packet is due with its bytes at the slowest server of its way so far.
    TRAMONTANE_RULE void meet(Packet& packet, LinkRateId rate) const {
        if (rate <= packet.slowest) return;
        const Parameters& p = engine_.parameters;
        const Ticks before = p.slowest_slot(p.links.rates[packet.slowest]);
        packet.due += packet.bytes * (p.slowest_slot(p.links.rates[rate]) - before);
        packet.slowest = rate;
    }

    TRAMONTANE_STEP TRAMONTANE_RULE void enter_crossbar(SwitchId at, Index item, Output& output, Ticks now) {
        Packet& packet = engine_.packets[item];
        output.before.take(packet.bytes);
        Ticks leaves = now;
        if (has_crossbar_) {
            const Passage passage =
                crossbar(at).book(engine_.gaps, engine_.parameters.crossbar_slot, now, packet.bytes, packet.spacing);
            check_step(passage.tail_leaves - now);
            packet.spacing = passage.spacing(packet.bytes, engine_.parameters.crossbar_slot);
            leaves = passage.head_leaves;
        }
        if (packet.upstream < engine_.switches) {
            Ticks time = leaves + engine_.parameters.link.latency;
            if (links_differ_) [[unlikely]]
                time = leaves + own().latency_behind(packet);
            own().give_upstream(packet, time);
        } else {
            own().give_to_nic(packet.upstream - engine_.switches, leaves + engine_.parameters.injection_latency,
                              packet.bytes);
        }
        if (leaves == now) {
            leave_crossbar(at, item, now);
        } else {
            engine_.schedule(leaves, at, event_code(EventKind::crossbar_exit), item);
        }
    }

    TRAMONTANE_STEP TRAMONTANE_RULE void leave_crossbar(SwitchId at, Index item, Ticks now) {
        Packet& packet = engine_.packets[item];
        Output& output = out(at, packet.port, packet.channel);
        SwitchChannel& behind = output.behind;
        if (behind.waiting.empty()) behind.apply(engine_.credits, now);
        if (behind.credits() >= packet.bytes) {
            enter_link(at, item, output, now);
        } else {
            packet.order = engine_.next_order();
            behind.waiting.append(engine_.packets, item, engine_.parameters.packet);
            engine_.wake_if_needed(at, behind, event_code(EventKind::output_credit, packet.port, packet.channel));
        }
    }

    /// \tparam differ whether links do, by a constant: this is where most of the time goes
    template <bool differ>
    TRAMONTANE_STEP TRAMONTANE_RULE void pass_link(SwitchId at, Index item, Output& output, Ticks now) {
        Packet& packet = engine_.packets[item];
        output.behind.take(packet.bytes);
        Link& server = link(at, packet.port);
        const LinkRate& rate = differ ? this->rate(at, packet.port) : engine_.parameters.link;
        const Passage passage = server.book(engine_.gaps, rate.slot, now, packet.bytes, packet.spacing);
        check_step(passage.tail_leaves - now);
        const std::uint32_t bytes = packet.bytes;
        packet.spacing = passage.spacing(bytes, rate.slot);
        if (passage.head_leaves == now && output.before.waiting.empty()) {
            output.before.add(packet.bytes);  // its space in the output buffer is free again at once
        } else {
            engine_.give(at, output.before, event_code(EventKind::crossbar_credit, packet.port, packet.channel),
                         passage.head_leaves, packet.bytes);
        }

        packet.due += rate.latency;
        if constexpr (differ) meet(packet, rates(at)[packet.port]);
        if (packet.ejected) {
            // The receiving NIC frees the space when the tail is in.
            const Ticks tail = passage.head_leaves + rate.latency + Ticks{packet.bytes} * packet.spacing;
            engine_.give(at, output.behind, event_code(EventKind::output_credit, packet.port, packet.channel),
                         tail + rate.latency, packet.bytes);
            eject(item, tail);
        } else {
            packet.upstream = at;
            packet.upstream_port = packet.port;
            packet.upstream_channel = packet.channel;
            if (server.next == unknown) server.next = topology_.neighbour(at, packet.port);
            engine_.send(passage.head_leaves + rate.latency, server.next, event_code(EventKind::head_arrival), item);
        }
        if (counted_) [[unlikely]] {
            LinkMeter& meter = static_cast<CountedLink&>(server).meter;
            count_passage(engine_.link_use, meter, passage.head_leaves, passage.tail_leaves, bytes);
        }
    }

    [[gnu::noinline]] TRAMONTANE_RULE void enter_one_of_different_links(SwitchId at, Index item, Output& output,
                                                                        Ticks now) {
        pass_link<true>(at, item, output, now);
    }

    TRAMONTANE_STEP TRAMONTANE_RULE void enter_link(SwitchId at, Index item, Output& output, Ticks now) {
        if (links_differ_) [[unlikely]]
            return enter_one_of_different_links(at, item, output, now);
        pass_link<false>(at, item, output, now);
    }

    /// Counts a packet that is on its last link; when all of a message are, its arrival is known.
    TRAMONTANE_STEP TRAMONTANE_RULE void eject(Index item, Ticks tail) {
        const Packet& packet = engine_.packets[item];
        const Ticks delay = tail - std::min(tail, packet.due);
        if constexpr (checks) engine_.ledger.leave(packet.bytes);
        if (packet.whole) {
            const Transaction& transaction = engine_.transactions[packet.message];
            if (transaction.carries_payload()) engine_.delays.add(delay, transaction.peer, transaction.target);
            engine_.arrive(packet.message, transaction.peer, transaction.target, packet.bytes, tail, packet.tie);
        } else {
            Message& message = engine_.messages[packet.message];
            if (message.carries_payload) {
                engine_.delays.add(delay, message.source, message.target);
            }
            if (tail > message.arrival) {
                message.arrival = tail;
                message.arrival_tie = packet.tie;
            } else if (tail == message.arrival) {
                message.arrival_tie = std::max(message.arrival_tie, packet.tie);
            }
            message.missing -= packet.bytes;
            if constexpr (checks) {
                // What has not been sent only its own part may look at.
                if (engine_.owns(engine_.lp_of(engine_.places.of(message.source))) &&
                    message.missing < message.unsent) {
                    fail<std::logic_error>("simulator: more bytes of a message arrived than were sent");
                }
            }
            if (message.missing == 0) {
                engine_.arrive(message.transaction, message.source, message.target, message.bytes, message.arrival,
                               message.arrival_tie);
                engine_.messages.give_back(packet.message);
            }
        }
        engine_.packets.give_back(item);
    }

    // --- what routing may know of queues -----------------------------------------------------------------------------

    TRAMONTANE_RULE std::uint64_t queued_packets(SwitchId at, Port port, Ticks now) {
        std::int64_t bytes = 0;
        for (std::uint8_t channel = 0; channel < channels_; ++channel) {
            SwitchChannel& behind = out(at, port, channel).behind;
            if (behind.waiting.empty()) behind.apply(engine_.credits, now);
            bytes += space_ - behind.credits();
        }
        return static_cast<std::uint64_t>(bytes) / engine_.parameters.packet;
    }

    /// The same without touching the switch, whose own time may differ by less than a window.
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t queued_packets_anywhere(SwitchId at, Port port, Ticks now) const {
        if (!switches_[at]) return 0;
        const Output* output = outputs(at) + std::size_t{port} * channels_;
        std::int64_t bytes = 0;
        for (std::uint8_t channel = 0; channel < channels_; ++channel, ++output) {
            bytes += space_ - output->behind.credits_at(engine_.credits, now);
        }
        return static_cast<std::uint64_t>(bytes) / engine_.parameters.packet;
    }

    /// What a queue counts for in a comparison: a byte's time on that link; 1 where links are alike.
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t weight(SwitchId at, Port port) const {
        return links_differ_ ? rate(at, port).slot : 1;
    }

    /// What the router may know at one time.
    struct View {
        SwitchRules& rules;
        Ticks now;
        [[nodiscard]] TRAMONTANE_RULE std::uint64_t queue(SwitchId at, Port port) {
            return rules.queued_packets(at, port, now) * rules.weight(at, port);
        }
        [[nodiscard]] TRAMONTANE_RULE std::uint64_t queue_anywhere(SwitchId at, Port port) const {
            const std::uint64_t packets = rules.queued_packets_anywhere(at, port, now);
            return packets == 0 ? 0 : packets * rules.weight(at, port);
        }
        [[nodiscard]] TRAMONTANE_RULE bool less(std::uint64_t a, std::uint64_t b) const { return a < b; }
        [[nodiscard]] TRAMONTANE_RULE std::uint32_t turn(std::uint32_t counter) { return rules.counters_[counter]++; }
    };

    Engine& engine_;
    const Network& topology_;
    const RouterIn<Network>& router_;
    const bool has_crossbar_;
    const bool links_differ_;
    const bool counted_;  // whether links are
    std::uint8_t channels_;
    std::int64_t space_;       // bytes of a buffer for one virtual channel
    std::uint32_t link_bits_;  // bytes of a Link or CountedLink, as a power of two
    std::size_t rates_offset_, outputs_offset_, lines_;

    // The owner's:
    CacheLine** switches_ = nullptr;     // records; null until a packet comes, and where another part has it
    std::uint32_t* counters_ = nullptr;  // of ports that are taken in turn
    Injection* injection_ = nullptr;     // by NIC

private:
    [[nodiscard]] TRAMONTANE_RULE Own& own() { return static_cast<Own&>(*this); }
};

}  // namespace tramontane
