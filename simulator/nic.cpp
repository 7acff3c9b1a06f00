// The network interface of a node, and the protocol it serves: see node.hpp.
#include <stdexcept>

#include "node.hpp"

namespace tramontane {

/// Sends the transaction back where it came from, as the protocol's next message.
void Nodes::answer(Node& node, std::uint32_t rank, Index item, Transaction::Kind kind, Ticks now) {
    Transaction& e = engine_.transactions[item];
    e.become(kind);
    // Data are longer than short_limit; how long, matters only where even longer messages bypass the packet network.
    const Parameters& p = engine_.parameters;
    const bool certain = e.carries_payload() && p.negligible_size <= p.short_limit;
    post(node, rank, item, certain ? p.short_limit + 1 : size(rank, e), now);
}

/// \param bytes its size, or less where that decides whether it bypasses the packet network as well
void Nodes::post(Node& node, std::uint32_t rank, Index item, std::int64_t bytes, Ticks now) {
    const Transaction& e = engine_.transactions[item];
    const Parameters& p = engine_.parameters;
    if (bytes <= p.negligible_size || bytes == 0) {  // LogP: no contention
        const auto hops = topology_.distance(switch_of(rank), switch_of(e.peer));
        const auto packets = (static_cast<std::uint64_t>(bytes) + p.packet - 1) / p.packet;
        if (e.carries_payload()) engine_.delays.add(0, rank, e.peer, packets);
        const Ticks arrival = now + p.logp_out_in_latency + checked_product(hops, p.logp_hop_latency) +
                              checked_product(static_cast<std::uint64_t>(bytes), p.logp_slot);
        engine_.arrive(item, rank, e.peer, bytes, arrival, tie(rank, e));
        return;
    }
    if constexpr (checks) engine_.ledger.post(size(rank, e));
    const bool alone = node.nic.waiting.empty();
    node.nic.waiting.append(engine_.transactions, item);
    if (alone) take_buffer_credits(node, rank, now);
}

/// Random; orders messages past the packet network that arrive at the same tick.
std::uint32_t Nodes::tie(std::uint32_t source, const Transaction& e) const {
    using Kind = Transaction::Kind;
    const bool from_sender = e.carries_payload() || e.kind() == Kind::header || e.kind() == Kind::eager_header;
    const std::uint32_t sender = from_sender ? source : e.peer;
    auto bits = static_cast<std::uint32_t>(random_bits(engine_.seed, sender, std::uint64_t{e.round} << 32 | e.index()));
    const Kind first = e.kind() < Kind::header ? Kind::eager_header : Kind::header;
    for (int step = static_cast<int>(first); step < static_cast<int>(e.kind()); ++step) {
        bits = static_cast<std::uint32_t>(mix(bits));
    }
    return bits;
}

void Nodes::wake(Node& node, std::uint32_t rank, Ticks now) {
    const auto& [link, due] = fabric_.injection(rank);
    Ticks time = Fabric::never;
    if (node.nic.awaited()) {  // its credits come as packets leave, before the port is free
        time = node.busy_until;
    } else if (link.awaited()) {
        time = std::max(node.busy_until, link.next_time());
    }
    time = std::max(time, now);
    if (time < due) fabric_.wake_injection(rank, time);
}

void Nodes::apply_returned_credits(Node& node, std::uint32_t rank, Ticks now) {
    NicChannel& nic = node.nic;
    NodeChannel& link = fabric_.injection(rank).channel;
    while (true) {
        const Ticks from_buffer = nic.awaited() ? nic.next_time() : Fabric::never;
        const Ticks from_switch = link.awaited() ? link.next_time() : Fabric::never;
        if (std::min(from_buffer, from_switch) > now) return;
        if (from_switch <= from_buffer) {  // at the same tick the switch's credits are first
            take_switch_credits(node, rank, from_switch);
        } else {
            take_buffer_credits(node, rank, from_buffer);
        }
    }
}

void Nodes::take_buffer_credits(Node& node, std::uint32_t rank, Ticks now) {
    const Parameters& p = engine_.parameters;
    IntrusiveQueue& lane = node.nic.waiting;
    node.nic.apply(engine_.credits, now);
    while (!lane.empty() && node.nic.credits() >= p.packet) {
        const Index item = lane.pop(engine_.transactions);
        if (!cut_packet(node, rank, item, now)) continue;
        if (p.round_robin) {
            lane.append(engine_.transactions, item);
        } else {
            lane.prepend(engine_.transactions, item);
        }
    }
}

/// Hands the message's next packet to the injection buffer; whether there are more. As in PISCES, space for a whole
/// packet must be there, whatever the packet's size.
bool Nodes::cut_packet(Node& node, std::uint32_t rank, Index item, Ticks now) {
    const Index index = engine_.packets.take();
    Packet& packet = engine_.packets[index];
    packet = {};
    packet.due = now;
    packet.upstream = engine_.lp_of(rank);
    packet.tie = packet_tie(engine_.seed, rank, node.injected++);
    Transaction& e = engine_.transactions[item];
    if (!e.begun()) {
        const std::int64_t bytes = size(rank, e);
        if (bytes <= engine_.parameters.packet) {
            packet.whole = true;
            packet.message = item;
            packet.bytes = static_cast<std::uint32_t>(bytes);
            e.target = e.peer;
            e.peer = rank;
            packet.route.destination = allocation_.node(e.target);
        } else {
            const Index message = engine_.messages.take();
            engine_.messages[message] = {bytes, bytes, bytes, 0, rank, e.peer, 0, item, e.carries_payload()};
            e.begin(message);
        }
    }
    bool more = false;
    if (!packet.whole) {
        Message& m = engine_.messages[e.message];
        packet.message = e.message;
        packet.bytes = static_cast<std::uint32_t>(std::min<std::int64_t>(m.unsent, engine_.parameters.packet));
        packet.route.destination = allocation_.node(m.target);
        m.unsent -= packet.bytes;
        more = m.unsent > 0;
    }
    if constexpr (checks) engine_.ledger.cut(packet.bytes);
    if (!e.carries_payload()) ++engine_.statistics.control_packets;
    node.nic.take(packet.bytes);
    NodeChannel& link = fabric_.injection(rank).channel;
    if (link.waiting.empty()) link.apply(engine_.credits, now);
    if (link.credits() >= packet.bytes) {
        inject(node, rank, index, now);
    } else {
        packet.order = engine_.next_order();
        link.waiting.append(engine_.packets, index, engine_.parameters.packet);
    }
    return more;
}

void Nodes::inject(Node& node, std::uint32_t rank, Index index, Ticks now) {
    const Parameters& p = engine_.parameters;
    Packet& packet = engine_.packets[index];
    fabric_.injection(rank).channel.take(packet.bytes);
    packet.due = std::max(packet.due, node.busy_until) + p.injection_latency + packet.bytes * p.slowest_slot;
    const Ticks leaves = std::max(node.busy_until, now);
    node.busy_until = leaves + packet.bytes * p.injection_slot;
    packet.spacing = static_cast<std::uint32_t>(p.injection_slot);
    node.nic.give(engine_.credits, leaves, packet.bytes);
    engine_.schedule(leaves + p.injection_latency, switch_of(rank), event_code(EventKind::head_arrival), index);
}

void Nodes::take_switch_credits(Node& node, std::uint32_t rank, Ticks now) {
    NodeChannel& link = fabric_.injection(rank).channel;
    link.apply(engine_.credits, now);
    while (true) {
        const Index index = link.waiting.take_fitting(engine_.packets, link.credits(), engine_.parameters.packet);
        if (index == none) break;
        inject(node, rank, index, now);
    }
}

/// A NIC that matches messages by itself takes what needs no copy, whatever the rank is doing. A header whose receive
/// is not posted waits there for it.
bool Nodes::take_by_hardware(Node& node, std::uint32_t rank, Index item, Ticks now) {
    using Kind = Transaction::Kind;
    const Transaction& e = engine_.transactions[item];
    if (e.kind() != Kind::header && e.kind() != Kind::data && e.kind() != Kind::acknowledgement) return false;
    take(node, rank, item, now);
    return true;
}

void Nodes::deliver(Node& node, std::uint32_t rank, Index item, Ticks now) {
    using Kind = Transaction::Kind;
    const Transaction& e = engine_.transactions[item];
    if (e.kind() == Kind::get || e.kind() == Kind::eager_get) {
        --node.unanswered;
        return answer(node, rank, item, e.kind() == Kind::get ? Kind::data : Kind::eager_data, now);
    }
    const bool taken = engine_.parameters.hardware_progress && take_by_hardware(node, rank, item, now);
    const bool waits = node.state == RankState::waits ||
                       (node.state == RankState::busy_nothing_arrived && is_free_for_message(node, rank, now));
    if (!taken) node.arrived.append(engine_.transactions, item);
    if (!waits) return;
    if (is_interrupted(rank, now)) {
        node.state = RankState::busy;
        return resume_at(rank, noise_.end(rank, now, 0));
    }
    run(node, rank, now);
}

}  // namespace tramontane
