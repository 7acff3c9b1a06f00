#include "fabric.hpp"

#include <stdexcept>

namespace tramontane::pisces16 {

Fabric::Fabric(Engine& engine, Network& network, std::uint32_t ranks)
    : engine_(engine),
      network_(network),
      p_(engine.parameters),
      ports_(network.ports()),
      channels_(network.channels()),
      credits_(p_.buffer / channels_),
      crossbars_(network.switches(), CutThrough(p_.crossbar_slot)),
      crossing_(std::size_t{network.switches()} * ports_ * channels_, VirtualChannel(credits_)),
      leaving_(crossing_),
      outputs_(std::size_t{network.switches()} * ports_, Output{CutThrough(p_.link_slot)}),
      injectors_(ranks, Injector{CutThrough(p_.injection_slot), p_.buffer, {}}) {
    LinkNumber number = 2 * network.nodes();
    for (SwitchId s = 0; s < network.switches(); ++s) {
        for (const Link& link : network.links(s)) {
            Output& output = outputs_[output_of(s, link.port)];
            output.packets = number++;
            output.credits = number++;
            output.latency = p_.link_latency;
            output.target = link.to;
        }
    }
    for (NodeId first = 0, last = 0; first < network.nodes(); first = last) {
        const SwitchId s = network.switch_of(first);
        while (last < network.nodes() && network.switch_of(last) == s) ++last;
        for (NodeId n = first; n < last; ++n, number += 2) {
            if (n >= ranks) continue;
            injectors_[n].credits_back = number;
            injectors_[n].packets = number + 1;
        }
        for (NodeId n = first; n < last; ++n) {
            Output& output = outputs_[output_of(s, network.ejection_port(n))];
            output.packets = number++;
            output.credits = number++;
            output.latency = p_.link_latency;  // the reference has no ejection latency of its own
            output.target = n;
            output.to_node = true;
        }
    }
    engine.numbers = Numbers(number, network.switches(), network.nodes());
}

std::int64_t Fabric::queued(SwitchId at, Port port) const {
    std::int64_t bytes = 0;
    for (std::uint8_t c = 0; c < channels_; ++c) {
        bytes += credits_ - leaving_[std::size_t{output_of(at, port)} * channels_ + c].credits();
    }
    return bytes / p_.packet;
}

void Fabric::handle(const Event& event) {
    switch (event.kind) {
        case Event::Kind::head_at_switch:
            return head_at_switch(event.target, event.item);
        case Event::Kind::head_at_buffer: {
            const Packet& packet = engine_.packets[event.item];
            VirtualChannel& buffer = channel(leaving_, event.target, packet.channel);
            if (buffer.credits() >= packet.bytes) return leave(event.target, event.item);
            return buffer.wait(engine_.packets, event.item);
        }
        case Event::Kind::crossbar_credit: {  // lets at most one packet go
            VirtualChannel& crossbar = channel(crossing_, event.target, event.channel);
            crossbar.give(event.item);
            const Index packet = crossbar.pop(engine_.packets);
            if (packet != none) cross(event.target / ports_, packet);
            return;
        }
        case Event::Kind::buffer_credit: {  // lets all packets go that fit
            VirtualChannel& buffer = channel(leaving_, event.target, event.channel);
            buffer.give(event.item);
            for (Index packet; (packet = buffer.pop(engine_.packets)) != none;) leave(event.target, packet);
            return;
        }
        case Event::Kind::injection_credit: {
            Injector& injector = injectors_[event.target];
            injector.credits += event.item;
            while (!injector.waiting.empty()) {
                const Index message = injector.waiting.first;
                inject(message);
                if (engine_.messages[message].sent < engine_.messages[message].bytes) return;
                injector.waiting.pop(engine_.messages);
                if (!injector.waiting.empty()) engine_.messages[injector.waiting.first].turn = engine_.now();
            }
            return;
        }
        case Event::Kind::head_at_node: {
            const Packet& packet = engine_.packets[event.item];
            if (packet.spacing == 0) return tail_at_node(event.item);
            return engine_.send(engine_.now() + packet.bytes * packet.spacing,
                                engine_.numbers.inside(event.target, Numbers::Part::nic), Event::Kind::tail_at_node,
                                event.target, event.item);
        }
        case Event::Kind::tail_at_node:
            return tail_at_node(event.item);
        default:
            throw std::logic_error("pisces-16: an event for nobody");
    }
}

void Fabric::head_at_switch(SwitchId at, Index index) {
    Packet& packet = engine_.packets[index];
    if (!engine_.messages[packet.message].is_collective()) ++engine_.statistics.hops;
    network_.route(at, packet, engine_.now(), *this);
    VirtualChannel& crossbar = channel(crossing_, output_of(at, packet.port), packet.next_channel);
    if (crossbar.credits() >= packet.bytes) return cross(at, index);
    crossbar.wait(engine_.packets, index);
}

void Fabric::cross(SwitchId at, Index index) {
    Packet& packet = engine_.packets[index];
    const std::uint32_t output = output_of(at, packet.port);
    channel(crossing_, output, packet.next_channel).take(packet.bytes);
    const Passage passage = crossbars_[at].book(engine_.now(), packet.bytes, packet.spacing);
    packet.spacing = passage.spacing(packet.bytes);
    give_back(packet, passage.head);
    packet.channel = packet.next_channel;
    packet.upstream = output;
    packet.from_node = false;
    engine_.send(passage.head, engine_.numbers.inside(at), Event::Kind::head_at_buffer, output, index);
}

void Fabric::leave(std::uint32_t index_of_output, Index index) {
    Packet& packet = engine_.packets[index];
    Output& output = outputs_[index_of_output];
    channel(leaving_, index_of_output, packet.channel).take(packet.bytes);
    const Passage passage = output.server.book(engine_.now(), packet.bytes, packet.spacing);
    packet.spacing = passage.spacing(packet.bytes);
    packet.due += output.latency;
    engine_.send(passage.head, engine_.numbers.inside(index_of_output / ports_), Event::Kind::crossbar_credit,
                 index_of_output, packet.bytes, packet.channel);
    engine_.send(passage.head + output.latency, output.packets,
                 output.to_node ? Event::Kind::head_at_node : Event::Kind::head_at_switch, output.target, index);
}

/// Space in the stage before this one, promised as soon as the head leaves.
void Fabric::give_back(const Packet& packet, Ticks time) {
    if (packet.from_node) {
        engine_.send(time + p_.injection_latency, injectors_[packet.upstream].credits_back,
                     Event::Kind::injection_credit, packet.upstream, packet.bytes);
    } else {
        const Output& output = outputs_[packet.upstream];
        engine_.send(time + output.latency, output.credits, Event::Kind::buffer_credit, packet.upstream, packet.bytes,
                     packet.channel);
    }
}

void Fabric::tail_at_node(Index index) {
    const Packet& packet = engine_.packets[index];
    Message& message = engine_.messages[packet.message];
    message.arrived += packet.bytes;
    if (message.carries_payload()) {
        engine_.delays.add(coarse(engine_.now() - std::min(engine_.now(), packet.due)), message.source, message.target);
    }
    const bool complete = message.arrived == message.bytes;
    if (complete) on_arrival(packet.message);  // it may send at once, before the credit goes
    give_back(packet, engine_.now());
    engine_.packets.give_back(index);
}

void Fabric::post(Index index) {
    engine_.messages[index].turn = engine_.now();
    inject(index);
    const Message& message = engine_.messages[index];
    if (message.sent < message.bytes) injectors_[message.source].waiting.append(engine_.messages, index);
}

/// Hands packets over while there are credits for a full one, whatever their size.
void Fabric::inject(Index index) {
    Message& message = engine_.messages[index];
    Injector& injector = injectors_[message.source];
    while (message.sent < message.bytes && injector.credits >= p_.packet) {
        const Index item = engine_.packets.take();
        Packet& packet = engine_.packets[item];
        packet = {};
        packet.message = index;
        packet.bytes = static_cast<std::uint32_t>(std::min<std::int64_t>(message.bytes - message.sent, p_.packet));
        packet.route.destination = message.target;
        packet.upstream = message.source;
        packet.from_node = true;
        if (!message.is_collective() && !message.carries_payload()) ++engine_.statistics.control_packets;
        injector.credits -= packet.bytes;
        message.sent += packet.bytes;
        const Ticks turn = std::max(message.turn, injector.server.open());
        packet.due = turn + p_.injection_latency + packet.bytes * p_.slowest_slot;
        const Passage passage = injector.server.book(engine_.now(), packet.bytes, packet.spacing);
        packet.spacing = passage.spacing(packet.bytes);
        engine_.send(passage.head + p_.injection_latency, injector.packets, Event::Kind::head_at_switch,
                     network_.switch_of(message.source), item);
        if (message.sent == message.bytes && message.kind == Message::Kind::collective) {
            const Index note = engine_.messages.take();
            engine_.messages[note] = message;
            engine_.messages[note].kind = Message::Kind::collective_sent;
            engine_.send(passage.tail, engine_.numbers.inside(message.source, Numbers::Part::nic), Event::Kind::message,
                         message.source, note);
        }
    }
}

std::uint64_t Fabric::memory() const {
    return outputs_.size() * (sizeof(Output) + 2 * channels_ * sizeof(VirtualChannel)) +
           crossbars_.size() * sizeof(CutThrough) + injectors_.size() * sizeof(Injector);
}

}  // namespace tramontane::pisces16
