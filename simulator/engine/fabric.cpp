#include "engine/fabric.hpp"

#include <limits>

namespace tramontane {

Fabric::Fabric(Engine& engine, const Topology& topology, const Router& router, const LinkCounting& counting)
    : SwitchRules(engine, topology, router, counting),
      met_(topology.switches(), nullptr),
      switches_a_page_(std::max<std::size_t>(1, large_page / (lines_ * sizeof(CacheLine)))),
      memory_(std::uint64_t{router.counters()} * sizeof(std::uint32_t)),
      turns_(router.counters()),
      injections_(allocate_pages<Injection>(engine.places.count())) {
    switches_ = met_.data();
    counters_ = turns_.data();
    injection_ = injections_.get();
    const std::uint32_t places = engine.places.count();
    for (std::uint32_t nic = 0; nic < places; ++nic) injection_[nic].channel = NodeChannel(engine.parameters.buffer);
}

Fabric::Fabric(const Fabric& first, Engine& engine)
    : SwitchRules(first, engine),
      met_(first.met_.size(), nullptr),
      switches_a_page_(first.switches_a_page_),
      turns_(first.turns_.size()),
      injections_(first.injections_) {
    switches_ = met_.data();
    counters_ = turns_.data();
    injection_ = injections_.get();
}

void Fabric::create(SwitchId at) {
    if (room_ == 0) {
        pages_.push_back(allocate_pages<CacheLine>(switches_a_page_ * lines_));
        room_ = switches_a_page_;
    }
    --room_;
    memory_ += lines_ * sizeof(CacheLine);
    begin(at, &pages_.back()[room_ * lines_]);
}

void Fabric::keep(StateFile& file, bool first) {
    file(turns_);
    std::vector<SwitchId> met;
    for (SwitchId at = 0; at < met_.size(); ++at) {
        if (switches_[at] != nullptr) met.push_back(at);
    }
    file(met);
    for (const SwitchId at : met) {
        if (file.reading()) create(at);
        file.array(switches_[at], lines_);
    }
    if (first) file.array(injection_, engine_.places.count());
}

[[gnu::noinline]] Ticks Fabric::latency_behind(const Packet& packet) const {
    const LinkRates& links = engine_.parameters.links;
    const bool own = switches_[packet.upstream] != nullptr;
    const LinkRateId rate = own ? rates(packet.upstream)[packet.upstream_port]
                                : links.of_class[topology_.link_class(packet.upstream, packet.upstream_port)];
    return links.rates[rate].latency;
}

void Fabric::prefetch_output(SwitchId at, Port port, std::uint8_t channel) const {
    prefetch_line(&link(at, port));
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
    const Output& output = fabric.out(at, packet.port, packet.channel);
    for (const SwitchChannel* channel : {&output.before, &output.behind}) {
        channel->prefetch(engine.credits);
        engine.packets.prefetch(channel->waiting.last_full());
    }
}

void Fabric::HeadArrival::handle(Fabric& fabric, const Event& event, Ticks now) {
    fabric.head_arrives(event.lp, event.item, now);
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
    fabric.head_leaves_crossbar(event.lp, event.item, now);
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
    const Output& output = fabric.out(event.lp, port_of(event.code), channel_of(event.code));
    engine.packets.prefetch(output.before.waiting.first_other(engine.packets));
    if (const Index first = output.before.waiting.first_full(); first != none) {
        fabric.prefetch_upstream(engine.packets[first]);
    }
}

void Fabric::CrossbarCredit::handle(Fabric& fabric, const Event& event, Ticks now) {
    fabric.crossbar_goes_on(event.lp, event.code, now);
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
    fabric.link_goes_on(event.lp, event.code, now);
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

}  // namespace tramontane
