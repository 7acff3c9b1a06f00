#include "fabric.hpp"

#include <limits>

namespace tramontane {

Fabric::Fabric(Engine& engine, const Topology& topology, const Router& router, const LinkCounting& counting)
    : engine_(engine),
      topology_(topology),
      router_(router),
      has_crossbar_(engine.parameters.has_crossbar()),
      links_differ_(!engine.parameters.links.alike()),
      links_(counting.on     ? Links::counted
             : links_differ_ ? Links::different
                             : Links::plain),
      channels_(router.channels()),
      space_(engine.parameters.buffer / channels_),
      outputs_offset_(((std::size_t{topology.ports()} + 1) * sizeof(Link) +
                       (links_differ_ ? topology.ports() * sizeof(LinkRateId) : 0) + 63) /
                      64 * 64),
      meters_offset_(outputs_offset_ + std::size_t{topology.ports()} * channels_ * sizeof(Output)),
      lines_((meters_offset_ + (counting.on ? topology.ports() * sizeof(LinkMeter) : 0)) / sizeof(CacheLine)),
      meters_have_series_(counting.one_by_one()),
      switches_(topology.switches(), nullptr),
      switches_a_page_(std::max<std::size_t>(1, large_page / (lines_ * sizeof(CacheLine)))),
      memory_(std::uint64_t{router.counters()} * sizeof(std::uint32_t)),
      counters_(router.counters()),
      injection_(allocate_pages<Injection>(engine.places.count())) {
    const std::uint32_t places = engine.places.count();
    for (std::uint32_t nic = 0; nic < places; ++nic) injection_[nic].channel = NodeChannel(engine.parameters.buffer);
}

Fabric::Fabric(const Fabric& first, Engine& engine)
    : engine_(engine),
      topology_(first.topology_),
      router_(first.router_),
      has_crossbar_(first.has_crossbar_),
      links_differ_(first.links_differ_),
      links_(first.links_),
      channels_(first.channels_),
      space_(first.space_),
      outputs_offset_(first.outputs_offset_),
      meters_offset_(first.meters_offset_),
      lines_(first.lines_),
      meters_have_series_(first.meters_have_series_),
      switches_(first.switches_.size(), nullptr),
      switches_a_page_(first.switches_a_page_),
      counters_(first.counters_.size()),
      injection_(first.injection_) {}

void Fabric::create(SwitchId at) {
    if (room_ == 0) {
        pages_.push_back(allocate_pages<CacheLine>(switches_a_page_ * lines_));
        room_ = switches_a_page_;
    }
    --room_;
    switches_[at] = &pages_.back()[room_ * lines_];
    memory_ += lines_ * sizeof(CacheLine);
    std::uninitialized_fill_n(links(at), std::size_t{topology_.ports()} + 1, Link{});
    const LinkRates& links = engine_.parameters.links;
    for (Port port = 0; links_differ_ && port < topology_.ports(); ++port) {
        rates(at)[port] = links.of_class[topology_.link_class(at, port)];
    }
    const std::size_t count = std::size_t{topology_.ports()} * channels_;
    std::uninitialized_fill_n(outputs(at), count, Output{SwitchChannel(space_), SwitchChannel(space_)});
    if (links_ != Links::counted) return;
    std::uninitialized_fill_n(&meter(at, 0), topology_.ports(), LinkMeter{});
    for (Port port = 0; port < topology_.ports(); ++port) {
        meter(at, port).link_class = topology_.link_class(at, port);
        if (!meters_have_series_) meter(at, port).series = meter(at, port).link_class;
    }
}

void Fabric::keep(StateFile& file, bool first) {
    file(counters_);
    std::vector<SwitchId> met;
    for (SwitchId at = 0; at < switches_.size(); ++at) {
        if (switches_[at] != nullptr) met.push_back(at);
    }
    file(met);
    for (const SwitchId at : met) {
        if (file.reading()) create(at);
        file.array(switches_[at], lines_);
    }
    if (first) file.array(injection_.get(), engine_.places.count());
}

void Fabric::route(SwitchId at, Packet& packet, Ticks now) {
    const Hop hop = router_.next(at, packet.route, Draw(mix(engine_.seed ^ packet.tie)), View{*this, now});
    packet.port = hop.port;
    packet.channel = hop.channel;
    packet.ejected = hop.ejects;
    packet.routed = true;
}

// --- a packet's way through a switch --------------------------------------------------------------------------------

[[gnu::noinline]] Ticks Fabric::latency_behind(const Packet& packet) const {
    const LinkRates& links = engine_.parameters.links;
    const bool own = switches_[packet.upstream] != nullptr;
    const LinkRateId rate = own ? rates(packet.upstream)[packet.upstream_port]
                                : links.of_class[topology_.link_class(packet.upstream, packet.upstream_port)];
    return links.rates[rate].latency;
}

/// Sees to it that a packet is due with its bytes at the slowest server of its way so far.
inline void Fabric::meet(Packet& packet, LinkRateId rate) const {
    if (rate <= packet.slowest) return;
    const Parameters& p = engine_.parameters;
    const Ticks before = p.slowest_slot(p.links.rates[packet.slowest]);
    packet.due += packet.bytes * (p.slowest_slot(p.links.rates[rate]) - before);
    packet.slowest = rate;
}

[[gnu::always_inline]] inline void Fabric::enter_crossbar(SwitchId at, Index item, Output& output, Ticks now) {
    Packet& packet = engine_.packets[item];
    output.before.take(packet.bytes);
    Ticks leaves = now;
    if (has_crossbar_) {
        const Passage passage =
            crossbar(at).book(engine_.gaps, engine_.parameters.crossbar_slot, now, packet.bytes, packet.spacing);
        check_step(passage.tail_leaves - now);
        packet.spacing = passage.spacing(packet.bytes);
        leaves = passage.head_leaves;
    }
    if (packet.upstream < engine_.switches) {
        Ticks time = leaves + engine_.parameters.link.latency;
        if (links_differ_) [[unlikely]]
            time = leaves + latency_behind(packet);
        if (switches_[packet.upstream]) {
            engine_.give(packet.upstream, out(packet.upstream, packet.upstream_port, packet.upstream_channel).behind,
                         event_code(EventKind::output_credit, packet.upstream_port, packet.upstream_channel), time,
                         packet.bytes);
        } else {
            engine_.send_credit(time, packet.upstream, packet.upstream_port, packet.upstream_channel, packet.bytes);
        }
    } else {
        const std::uint32_t nic = packet.upstream - engine_.switches;
        const Ticks time = leaves + engine_.parameters.injection_latency;
        injection_[nic].channel.give(engine_.credits, time, packet.bytes);
        if (injection_[nic].wake == never && !injection_[nic].channel.waiting.empty()) wake_injection(nic, time);
    }
    if (leaves == now) {
        leave_crossbar(at, item, now);
    } else {
        engine_.schedule(leaves, at, event_code(EventKind::crossbar_exit), item);
    }
}

[[gnu::always_inline]] inline void Fabric::leave_crossbar(SwitchId at, Index item, Ticks now) {
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
[[gnu::always_inline]] inline Passage Fabric::pass_link(SwitchId at, Index item, Output& output, Ticks now) {
    Packet& packet = engine_.packets[item];
    output.behind.take(packet.bytes);
    Link& server = link(at, packet.port);
    const LinkRate& rate = differ ? this->rate(at, packet.port) : engine_.parameters.link;
    const Passage passage = server.book(engine_.gaps, rate.slot, now, packet.bytes, packet.spacing);
    check_step(passage.tail_leaves - now);
    packet.spacing = passage.spacing(packet.bytes);

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
    return passage;
}

[[gnu::noinline]] void Fabric::enter_one_of_different_links(SwitchId at, Index item, Output& output, Ticks now) {
    pass_link<true>(at, item, output, now);
}

[[gnu::noinline]] void Fabric::enter_counted_link(SwitchId at, Index item, Output& output, Ticks now) {
    const Packet& packet = engine_.packets[item];
    const std::uint32_t bytes = packet.bytes;
    LinkMeter& meter = this->meter(at, packet.port);
    ++meter.packets;
    meter.bytes += bytes;
    meter.waiting -= bytes;
    const Passage passage =
        links_differ_ ? pass_link<true>(at, item, output, now) : pass_link<false>(at, item, output, now);
    if (engine_.link_use.wanted()) {
        engine_.link_use.pass(meter.series, passage.head_leaves, passage.tail_leaves, bytes);
    }
}

/// Counts the queue that a packet finds before its link: what has come to the switch for it, and what the link is
/// booked for.
[[gnu::noinline]] void Fabric::note_arrival(SwitchId at, const Packet& packet, Ticks now) {
    LinkMeter& meter = this->meter(at, packet.port);
    const Ticks open = link(at, packet.port).open();
    const Ticks slot = links_differ_ ? rate(at, packet.port).slot : engine_.parameters.link.slot;
    const std::uint64_t queue = meter.waiting + (open > now ? (open - now) / slot : 0);
    meter.waiting += packet.bytes;
    meter.peak_queue = std::max(meter.peak_queue, queue);
    if (!engine_.link_use.wanted()) return;
    if (meter.series == LinkMeter::no_series) meter.series = engine_.link_use.add_series();
    engine_.link_use.find(meter.series, now, queue);
}

[[gnu::always_inline]] inline void Fabric::enter_link(SwitchId at, Index item, Output& output, Ticks now) {
    if (links_ != Links::plain) [[unlikely]] {
        if (links_ == Links::counted) return enter_counted_link(at, item, output, now);
        return enter_one_of_different_links(at, item, output, now);
    }
    pass_link<false>(at, item, output, now);
}

/// Counts a packet that is on its last link; when all of a message are, its arrival is known.
[[gnu::always_inline]] inline void Fabric::eject(Index item, Ticks tail) {
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
            if (engine_.owns(engine_.lp_of(engine_.places.of(message.source))) && message.missing < message.unsent) {
                throw std::logic_error("simulator: more bytes of a message arrived than were sent");
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

void Fabric::prefetch_output(SwitchId at, Port port, std::uint8_t channel) const {
    prefetch_line(&link(at, port));
    if (links_ == Links::counted) [[unlikely]]
        prefetch_line(&meter(at, port));
    const Output& output = out(at, port, channel);
    prefetch_line(&output.before);
    prefetch_line(&output.behind);
}

[[gnu::always_inline]] inline void Fabric::prefetch_upstream(const Packet& packet) const {
    if (packet.upstream < engine_.switches) {
        if (!switches_[packet.upstream]) return;  // another part's
        if (links_differ_) [[unlikely]]
            prefetch_line(&rates(packet.upstream)[packet.upstream_port]);
        prefetch_line(&out(packet.upstream, packet.upstream_port, packet.upstream_channel).behind);
    } else {
        prefetch_line(&injection_[packet.upstream - engine_.switches]);
    }
}

/// The packets that a credit may let go, and the credits that follow.
void Fabric::prefetch_waiting(const SwitchChannel& channel) const {
    engine_.packets.prefetch(channel.waiting.first_full());
    engine_.packets.prefetch(channel.waiting.last_other());
    channel.prefetch(engine_.credits);
}

// --- a packet's head arrives -----------------------------------------------------------------------------------------

void Fabric::HeadArrival::fetch(const Fabric& fabric, const Event& event) {
    fabric.engine_.packets.prefetch(event.item);
    fabric.prefetch_switch(event.lp);
}

void Fabric::HeadArrival::approach(Fabric& fabric, const Event& event) {
    const SwitchId at = event.lp;
    Packet& packet = fabric.engine_.packets[event.item];
    fabric.prefetch_upstream(packet);
    fabric.route_ahead(at, packet);
    if (!fabric.switches_[at]) return;
    if (fabric.has_crossbar_) fabric.crossbar(at).prefetch(fabric.engine_.gaps);
    if (!packet.routed) return;
    fabric.prefetch_output(at, packet.port, packet.channel);
    if (packet.ejected) fabric.engine_.prefetch_message(packet);
}

void Fabric::HeadArrival::reach(const Fabric& fabric, const Event& event) {
    const Engine& engine = fabric.engine_;
    const SwitchId at = event.lp;
    const Packet& packet = engine.packets[event.item];
    if (packet.upstream < engine.switches) {
        if (fabric.switches_[packet.upstream]) {  // else another part's
            const Output& upstream = fabric.out(packet.upstream, packet.upstream_port, packet.upstream_channel);
            upstream.behind.prefetch(engine.credits);
        }
    } else {
        fabric.injection_[packet.upstream - engine.switches].channel.prefetch(engine.credits);
    }
    if (!packet.routed || !fabric.switches_[at]) return;
    fabric.prefetch_bin(at, packet.port);
    const Output& output = fabric.out(at, packet.port, packet.channel);
    for (const SwitchChannel* channel : {&output.before, &output.behind}) {
        channel->prefetch(engine.credits);
        engine.packets.prefetch(channel->waiting.last_full());
    }
}

void Fabric::HeadArrival::handle(Fabric& fabric, const Event& event, Ticks now) {
    const SwitchId at = event.lp;
    Engine& engine = fabric.engine_;
    if (fabric.switches_[at] == nullptr) fabric.create(at);
    Packet& packet = engine.packets[event.item];
    ++engine.statistics.hops;
    if (!packet.routed) fabric.route(at, packet, now);
    packet.routed = false;
    if (fabric.links_ == Links::counted) [[unlikely]]
        fabric.note_arrival(at, packet, now);
    Output& output = fabric.out(at, packet.port, packet.channel);
    SwitchChannel& before = output.before;
    if (before.waiting.empty()) before.apply(engine.credits, now);
    if (before.credits() >= packet.bytes) {  // passes what waits for more space, as in PISCES
        fabric.enter_crossbar(at, event.item, output, now);
    } else {
        packet.order = engine.next_order();
        before.waiting.append(engine.packets, event.item, engine.parameters.packet);
        engine.wake_if_needed(at, before, event_code(EventKind::crossbar_credit, packet.port, packet.channel));
    }
}

// --- a packet's head leaves the crossbar -----------------------------------------------------------------------------

void Fabric::CrossbarExit::fetch(const Fabric& fabric, const Event& event) {
    fabric.engine_.packets.prefetch(event.item);
    fabric.prefetch_switch(event.lp);
}

void Fabric::CrossbarExit::approach(const Fabric& fabric, const Event& event) {
    const Packet& packet = fabric.engine_.packets[event.item];
    fabric.prefetch_output(event.lp, packet.port, packet.channel);
    if (packet.ejected) fabric.engine_.prefetch_message(packet);
}

void Fabric::CrossbarExit::handle(Fabric& fabric, const Event& event, Ticks now) {
    fabric.leave_crossbar(event.lp, event.item, now);
}

// --- an output buffer has room again ---------------------------------------------------------------------------------

void Fabric::CrossbarCredit::fetch(const Fabric& fabric, const Event& event) {
    fabric.prefetch_switch(event.lp);
    fabric.prefetch_output(event.lp, port_of(event.code), channel_of(event.code));
}

void Fabric::CrossbarCredit::approach(const Fabric& fabric, const Event& event) {
    fabric.prefetch_waiting(fabric.out(event.lp, port_of(event.code), channel_of(event.code)).before);
}

void Fabric::CrossbarCredit::reach(const Fabric& fabric, const Event& event) {
    const Engine& engine = fabric.engine_;
    fabric.prefetch_bin(event.lp, port_of(event.code));
    const Output& output = fabric.out(event.lp, port_of(event.code), channel_of(event.code));
    engine.packets.prefetch(output.before.waiting.first_other(engine.packets));
    if (const Index first = output.before.waiting.first_full(); first != none) {
        fabric.prefetch_upstream(engine.packets[first]);
    }
}

void Fabric::CrossbarCredit::handle(Fabric& fabric, const Event& event, Ticks now) {
    Engine& engine = fabric.engine_;
    Output& output = fabric.out(event.lp, port_of(event.code), channel_of(event.code));
    SwitchChannel& before = output.before;
    // The crossbar lets at most one packet go for each credit, the first that fits.
    while (before.is_due(now)) {
        before.apply_one(engine.credits);
        const Index item = before.waiting.take_fitting(engine.packets, before.credits(), engine.parameters.packet);
        if (item != none) fabric.enter_crossbar(event.lp, item, output, now);
    }
    before.set_wake(false);
    engine.wake_if_needed(event.lp, before, event.code);
}

// --- there is room behind a link again -------------------------------------------------------------------------------

void Fabric::OutputCredit::fetch(const Fabric& fabric, const Event& event) { CrossbarCredit::fetch(fabric, event); }

void Fabric::OutputCredit::approach(const Fabric& fabric, const Event& event) {
    const Output& output = fabric.out(event.lp, port_of(event.code), channel_of(event.code));
    fabric.prefetch_waiting(output.before);  // a packet that leaves often lets another into the output buffer at once
    fabric.prefetch_waiting(output.behind);
}

void Fabric::OutputCredit::reach(const Fabric& fabric, const Event& event) {
    CrossbarCredit::reach(fabric, event);
    const Engine& engine = fabric.engine_;
    const Output& output = fabric.out(event.lp, port_of(event.code), channel_of(event.code));
    engine.packets.prefetch(output.behind.waiting.first_other(engine.packets));
    if (const Index first = output.behind.waiting.first_full(); first != none) {
        const Packet& packet = engine.packets[first];
        if (packet.ejected) engine.prefetch_message(packet);
    }
}

void Fabric::OutputCredit::handle(Fabric& fabric, const Event& event, Ticks now) {
    Engine& engine = fabric.engine_;
    Output& output = fabric.out(event.lp, port_of(event.code), channel_of(event.code));
    SwitchChannel& behind = output.behind;
    behind.apply(engine.credits, now);
    while (true) {
        const Index item = behind.waiting.take_fitting(engine.packets, behind.credits(), engine.parameters.packet);
        if (item == none) break;
        fabric.enter_link(event.lp, item, output, now);
    }
    behind.set_wake(false);
    engine.wake_if_needed(event.lp, behind, event.code);
}

// --- what routing may know of queues ---------------------------------------------------------------------------------

std::uint64_t Fabric::queued_packets(SwitchId at, Port port, Ticks now) {
    std::int64_t bytes = 0;
    for (std::uint8_t channel = 0; channel < channels_; ++channel) {
        SwitchChannel& behind = out(at, port, channel).behind;
        if (behind.waiting.empty()) behind.apply(engine_.credits, now);
        bytes += space_ - behind.credits();
    }
    return static_cast<std::uint64_t>(bytes) / engine_.parameters.packet;
}

std::uint64_t Fabric::queued_packets_anywhere(SwitchId at, Port port, Ticks now) const {
    if (!switches_[at]) return 0;
    const Output* output = outputs(at) + std::size_t{port} * channels_;
    std::int64_t bytes = 0;
    for (std::uint8_t channel = 0; channel < channels_; ++channel, ++output) {
        bytes += space_ - output->behind.credits_at(engine_.credits, now);
    }
    return static_cast<std::uint64_t>(bytes) / engine_.parameters.packet;
}

void Fabric::verify(SwitchId at, bool idle) const {
    if (!switches_[at]) return;
    const Output* output = outputs(at);
    for (std::size_t i = 0; i < std::size_t{topology_.ports()} * channels_; ++i, ++output) {
        for (const auto* buffer : {&output->before, &output->behind}) {
            const std::int64_t promised = buffer->credits_at(engine_.credits, std::numeric_limits<Ticks>::max() - 1);
            verify_buffer(buffer->credits(), promised, space_, idle);
        }
    }
}

std::string Fabric::waiting(SwitchId at, int& limit) const {
    std::string text;
    if (!switches_[at]) return text;
    const std::size_t count = std::size_t{topology_.ports()} * channels_;
    const Output* output = outputs(at);
    for (std::size_t i = 0; i < count; ++i, ++output) {
        for (const SwitchChannel* channel : {&output->before, &output->behind}) {
            if (channel->waiting.empty()) continue;
            if (limit == 0) return text;
            --limit;
            const Packet& packet = engine_.packets[channel->waiting.any(engine_.packets)];
            text += "; switch " + std::to_string(at) + " port " + std::to_string(i / channels_) + " channel " +
                    std::to_string(i % channels_) + ": a packet of " + std::to_string(packet.bytes) + " B to node " +
                    std::to_string(packet.route.destination) + " waits for " +
                    (channel == &output->before ? "the output buffer" : "space behind the link") + " (" +
                    std::to_string(channel->credits()) + " B free)";
        }
    }
    return text;
}

}  // namespace tramontane
