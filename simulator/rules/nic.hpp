/// \file
/// The network interfaces of a node, the way between its ranks, and the protocol they serve: see node.hpp.
#pragma once

#include <cstring>

#include "rules/node.hpp"

namespace tramontane {

/// Sends the transaction back where it came from, as the protocol's next message.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::answer(std::uint32_t rank, Index item, Transaction::Kind kind,
                                                         Ticks now) {
    Transaction& e = engine_.transactions[item];
    e.become(kind);
    if (waiting_ && !e.carries_payload() && waiting_->heeds(rank, e.peer)) [[unlikely]]
        waiting_->answer(rank, item, kind != Transaction::Kind::eager_get, now);
    // Data are longer than short_limit, but those that are pulled; how long, matters only where even longer messages
    // bypass the packet network.
    const Parameters& p = engine_.parameters;
    const bool certain = e.carries_payload() && p.negligible_size <= p.short_limit && !has_puts_;
    post(rank, item, certain ? p.short_limit + 1 : size(rank, e), now);
}

/// \param bytes its size, or less where that decides whether it bypasses the packet network as well
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::post(std::uint32_t rank, Index item, std::int64_t bytes, Ticks now) {
    Transaction& e = engine_.transactions[item];
    const Parameters& p = engine_.parameters;
    const std::uint32_t place = places_.of(rank);
    if (places_.shared() && places_.node_of(place) == places_.node_of(places_.of(e.peer))) {
        return hand_over(rank, item, now);
    }
    if (bytes <= p.negligible_size || bytes == 0) {  // LogP: no contention
        const auto hops = topology_.distance(switch_of(place), switch_of(places_.of(e.peer)));
        if (e.carries_payload()) engine_.delays.add(0, rank, e.peer, p.packets_of(static_cast<std::uint64_t>(bytes)));
        const Ticks arrival = now + p.logp_out_in_latency + checked_product(hops, p.logp_hop_latency) +
                              checked_product(static_cast<std::uint64_t>(bytes), p.logp_slot);
        engine_.arrive(item, rank, e.peer, bytes, arrival, tie(rank, e));
        return;
    }
    if constexpr (checks) engine_.ledger.post(size(rank, e));
    std::uint32_t nic = place;
    if (places_.several()) {
        nic = places_.nic_of(place, {e.peer, e.round, e.index()});
        if (places_.stripes() && e.carries_payload()) {
            if (const std::int64_t all = size(rank, e); all > stripe_above_) return stripe(rank, nic, item, all, now);
        }
        e.peer = places_.with_local(e.peer, places_.address(place).local);
    }
    queue(nic, item, now);
}

/// Lets a message wait for its turn in a NIC.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::queue(std::uint32_t nic, Index item, Ticks now) {
    Node& node = this->node(nic);
    const bool alone = node.nic.waiting.empty();
    node.nic.waiting.append(engine_.transactions, item);
    if (alone) take_buffer_credits(node, nic, now);
}

/// Gives a message to all NICs of the node, which take its packets in turn. Each has a record to queue, which says its
/// next packet where others say a round; the message's own record travels.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::stripe(std::uint32_t rank, std::uint32_t first, Index item,
                                                         std::int64_t bytes, Ticks now) {
    const Transaction e = engine_.transactions[item];
    const Index message = engine_.messages.take();
    engine_.messages[message] = {bytes, bytes, bytes, 0, rank, e.peer, 0, item, true};
    if (waiting_ && waiting_->heeds(rank, e.peer)) [[unlikely]]
        waiting_->leave(item, std::max(node(first).busy_until, now));
    const std::uint64_t packets = engine_.parameters.packets_of(static_cast<std::uint64_t>(bytes));
    for (std::uint32_t i = 0; i < std::min<std::uint64_t>(places_.nics(), packets); ++i) {
        const Index part = engine_.transactions.take();
        engine_.transactions[part].address(e.peer, i, 0, e.kind());
        engine_.transactions[part].begin(message);
        queue(places_.nic_after(first, i), part, now);
    }
}

/// Gives a message to another rank of the node. It begins when the node's memory has served the payloads before it, and
/// passes at the slower of its own bandwidth and the memory's.
///
/// The peer's NIC answers a get request by itself, whatever its rank is doing. Where no memory serves one payload after
/// the other, what it sends is certain, and goes without an event of its own.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::hand_over(std::uint32_t rank, Index item, Ticks now) {
    using Kind = Transaction::Kind;
    Transaction& e = engine_.transactions[item];
    const Parameters& p = engine_.parameters;
    const bool asks = e.kind() == Kind::get || e.kind() == Kind::eager_get;
    if (asks && memory_until_ == nullptr && (waiting_ == nullptr || !waiting_->heeds(rank, e.peer))) {
        now += p.node_latency + checked_product(control_bytes, p.node_slot);
        --node(places_.of(e.peer)).unanswered;
        const std::uint32_t asked = rank;
        rank = e.peer;
        e.peer = asked;
        e.become(e.kind() == Kind::get ? Kind::data : Kind::eager_data);
    }
    const std::int64_t bytes = size(rank, e);
    const auto count = static_cast<std::uint64_t>(bytes);
    Ticks begin = now;
    if (e.carries_payload()) {
        engine_.delays.add(0, rank, e.peer, p.packets_of(count));
        if (memory_until_) {
            Ticks& until = memory_until_[places_.node_of(places_.of(rank))];
            begin = std::max(now, until);
            until = begin + checked_product(count, p.node_memory_slot);
            check_event(until);
        }
    }
    const Ticks arrival = begin + p.node_latency + checked_product(count, p.node_slot);
    engine_.arrive_inside(item, rank, e.peer, bytes, arrival, tie(rank, e));
}

/// Random; orders messages past the packet network that arrive at the same tick.
template <class Engine, class Switches>
TRAMONTANE_RULE std::uint32_t NodeRules<Engine, Switches>::tie(std::uint32_t source, const Transaction& e) const {
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

template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::wake(Node& node, std::uint32_t nic, Ticks now) {
    const auto& [link, due] = fabric_.injection(nic);
    Ticks time = never;
    if (node.nic.awaited()) {  // its credits come as packets leave, before the port is free
        time = node.busy_until;
    } else if (link.awaited()) {
        time = std::max(node.busy_until, link.next_time());
    }
    time = std::max(time, now);
    if (time < due) fabric_.wake_injection(nic, time);
}

template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::apply_returned_credits(Node& node, std::uint32_t nic, Ticks now) {
    const NicChannel& buffer = node.nic;
    const NodeChannel& link = fabric_.injection(nic).channel;
    while (true) {
        const Ticks from_buffer = buffer.awaited() ? buffer.next_time() : never;
        const Ticks from_switch = link.awaited() ? link.next_time() : never;
        if (std::min(from_buffer, from_switch) > now) return;
        if (from_switch <= from_buffer) {  // at the same tick the switch's credits are first
            take_switch_credits(node, nic, from_switch);
        } else {
            take_buffer_credits(node, nic, from_buffer);
        }
    }
}

template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::take_buffer_credits(Node& node, std::uint32_t nic, Ticks now) {
    const Parameters& p = engine_.parameters;
    IntrusiveQueue& lane = node.nic.waiting;
    node.nic.apply(engine_.credits, now);
    while (!lane.empty() && node.nic.credits() >= p.packet) {
        const Index item = lane.pop(engine_.transactions);
        if (places_.several()) engine_.transactions.prefetch(lane.first);  // ranks of a node queue in their NIC
        if (!cut_packet(node, nic, item, now)) continue;
        if (p.round_robin) {
            lane.append(engine_.transactions, item);
        } else {
            lane.prepend(engine_.transactions, item);
        }
    }
}

/// The rank that a message in a NIC comes from, which the message no longer says then.
template <class Engine, class Switches>
TRAMONTANE_RULE std::uint32_t NodeRules<Engine, Switches>::sender_of(std::uint32_t nic, Transaction& e) const {
    if (!places_.several()) return places_.rank_at(nic);
    const std::uint32_t place = places_.beside(nic, e.peer);
    e.peer = places_.rank_in(e.peer);
    return places_.rank_at(place);
}

/// The number of a rank's next packet, which no other of its packets has. Where a rank uses several NICs, each counts
/// for itself: which of them is served first depends on when each is looked at, as long as nobody can see the
/// difference.
template <class Engine, class Switches>
TRAMONTANE_RULE std::uint32_t NodeRules<Engine, Switches>::next_number(Node& node, std::uint32_t nic,
                                                                       std::uint32_t rank) {
    if (!places_.several()) return node.injected++;
    if (!places_.spread()) return nodes_[places_.of(rank)].injected++;
    return node.injected++ * places_.nics() + places_.address(nic).local;
}

/// Hands the message's next packet to the injection buffer; whether there are more. As in PISCES, space for a whole
/// packet must be there, whatever the packet's size.
template <class Engine, class Switches>
TRAMONTANE_RULE bool NodeRules<Engine, Switches>::cut_packet(Node& node, std::uint32_t nic, Index item, Ticks now) {
    const Index index = engine_.packets.take();
    Packet& packet = engine_.packets[index];
    std::memset(static_cast<void*>(&packet), 0, sizeof(packet));  // as it is by default
    packet.due = now;
    packet.upstream = engine_.switches + nic;
    Transaction& e = engine_.transactions[item];
    std::uint32_t rank = 0;  // that it comes from
    if (!e.begun()) {
        rank = sender_of(nic, e);
        const std::int64_t bytes = size(rank, e);
        if (waiting_ && waiting_->heeds(rank, e.peer)) [[unlikely]]
            waiting_->leave(item, std::max(node.busy_until, now));
        if (bytes <= engine_.parameters.packet) {
            packet.whole = packet.begins = true;
            packet.message = item;
            packet.bytes = static_cast<std::uint32_t>(bytes);
            e.target = e.peer;
            e.peer = rank;
            packet.route.destination = destination(e.target, e);
        } else {
            const Index message = engine_.messages.take();
            engine_.messages[message] = {bytes, bytes, bytes, 0, rank, e.peer, 0, item, e.carries_payload()};
            e.begin(message);
        }
    }
    bool more = false, is_done_part = false;
    if (!packet.whole) {
        Message& m = engine_.messages[e.message];
        const std::int64_t most = engine_.parameters.packet;
        const bool is_part = m.transaction != item;
        const std::int64_t from = is_part ? e.round * most : m.bytes - m.unsent;
        packet.message = e.message;
        packet.bytes = static_cast<std::uint32_t>(std::min(m.bytes - from, most));
        rank = m.source;
        packet.begins = from == 0;
        m.unsent -= packet.bytes;
        if (!is_part) [[likely]] {
            packet.route.destination = destination(m.target, e);
            more = m.unsent > 0;
        } else {
            packet.route.destination = destination_of_stripe(m.target, nic);
            e.round += places_.nics();
            more = e.round * most < m.bytes;
            is_done_part = !more;
        }
    }
    packet.tie = packet_tie(engine_.seed, rank, next_number(node, nic, rank));
    if (injections_) [[unlikely]] {
        const Parameters& p = engine_.parameters;
        const Ticks busy = node.busy_until > now ? node.busy_until - now : 0;
        // The port is idle between messages that keep a gap: what is booked then is what the buffer holds.
        const std::uint64_t booked =
            next_message_ ? static_cast<std::uint64_t>(p.buffer - node.nic.credits() - injections_[nic].waiting)
                          : busy / p.injection_slot;
        count_arrival(engine_.link_use, injections_[nic], booked, packet.bytes, now);
    }
    if constexpr (checks) engine_.ledger.cut(packet.bytes);
    if (!e.carries_payload()) ++engine_.counts().control_packets;
    node.nic.take(packet.bytes);
    NodeChannel& link = fabric_.injection(nic).channel;
    if (link.waiting.empty()) link.apply(engine_.credits, now);
    if (link.credits() >= packet.bytes) {
        inject(node, nic, index, now);
    } else {
        packet.order = engine_.next_order();
        link.waiting.append(engine_.packets, index, engine_.parameters.packet);
    }
    if (is_done_part) [[unlikely]]
        engine_.transactions.give_back(item);
    return more;
}

template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::inject(Node& node, std::uint32_t nic, Index index, Ticks now) {
    const Parameters& p = engine_.parameters;
    Packet& packet = engine_.packets[index];
    fabric_.injection(nic).channel.take(packet.bytes);
    if (next_message_ && packet.begins) [[unlikely]] {
        node.busy_until = std::max({node.busy_until, now, next_message_[nic]});
        next_message_[nic] = node.busy_until + p.message_gap;
    }
    packet.due = std::max(packet.due, node.busy_until) + p.injection_latency + packet.bytes * p.least_slot;
    const Ticks leaves = std::max(node.busy_until, now);
    node.busy_until = leaves + packet.bytes * p.injection_slot;
    packet.spacing = static_cast<std::uint32_t>(p.injection_slot);
    node.nic.give(engine_.credits, leaves, packet.bytes);
    engine_.schedule(leaves + p.injection_latency, switch_of(nic), event_code(EventKind::head_arrival), index);
    if (injections_) [[unlikely]]
        count_passage(engine_.link_use, injections_[nic], leaves, node.busy_until, packet.bytes);
}

template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::take_switch_credits(Node& node, std::uint32_t nic, Ticks now) {
    NodeChannel& link = fabric_.injection(nic).channel;
    link.apply(engine_.credits, now);
    while (true) {
        const Index index = link.waiting.take_fitting(engine_.packets, link.credits(), engine_.parameters.packet);
        if (index == none) break;
        inject(node, nic, index, now);
    }
}

/// A NIC that matches messages by itself takes what needs no copy, whatever the rank is doing. A header whose receive
/// is not posted waits there for it.
template <class Engine, class Switches>
TRAMONTANE_RULE bool NodeRules<Engine, Switches>::take_by_hardware(Node& node, std::uint32_t rank, Index item,
                                                                   Ticks now) {
    using Kind = Transaction::Kind;
    const Transaction& e = engine_.transactions[item];
    if (e.kind() != Kind::header && e.kind() != Kind::data && e.kind() != Kind::acknowledgement) return false;
    if (graph_) {
        take_for_operation_by_hardware(rank, item, now);
        return true;
    }
    if (e.round == node.round && !is_posted(node, rank, e.round)) {
        node.early_of(e.round).push(engine_.transactions, item);
    } else {
        take(node, rank, item, now);
    }
    return true;
}

/// A put, or its acknowledgement: NICs move both, whatever the ranks are doing. A put to a rank that has not begun the
/// round is remembered for it.
template <class Engine, class Switches>
TRAMONTANE_RULE bool NodeRules<Engine, Switches>::take_put(Node& node, std::uint32_t rank, Index item, Ticks now) {
    using Kind = Transaction::Kind;
    if (graph_) return take_put_for_operation(rank, item, now);
    const Transaction::Kind kind = engine_.transactions[item].kind();
    if (kind != Kind::data && kind != Kind::acknowledgement) return false;
    const std::uint32_t round = engine_.transactions[item].round;
    const WindowCall call = schedule_.round(static_cast<Rank>(rank), round).call;
    if (!is_put(call)) return false;
    Left* const left = is_posted(node, rank, round) ? left_of(node, rank, round) : nullptr;
    if (kind == Kind::acknowledgement) {
        --left->sends;
        engine_.transactions.give_back(item);
        return true;
    }
    if (left != nullptr) {
        --left->receives;
    } else {
        const Index early = engine_.transactions.take();
        engine_.transactions[early] = engine_.transactions[item];
        node.early_of(round).push(engine_.transactions, early);
    }
    if (call == WindowCall::acknowledged_puts) {
        answer(rank, item, Kind::acknowledgement, now);
    } else {
        engine_.transactions.give_back(item);
    }
    return true;
}

/// Has an eager payload say what its rank will ask.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::note_arrival(std::uint32_t place, std::uint32_t code, Index item) {
    Transaction& e = engine_.transactions[item];
    if (!e.is_eager_payload()) return;
    if (notes_sources_) e.note_source(what_of(code) >> places_.bits());
    const Node& node = nodes_[place];
    const std::uint32_t rank = places_.rank_at(place);
    e.set_came_early(!is_posted(node, rank, e.round) || !is_next(node, rank, e));
}

/// Counts how long a rank has done nothing but wait until now, when a message comes to it.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::charge_waiting(const Node& node, std::uint32_t rank, Index item,
                                                                 Ticks now) {
    Ticks since = now;
    if (node.state == RankState::waits) since = waiting_->idle_since(rank);
    if (node.state == RankState::busy_nothing_arrived) since = std::min(node.free_at, now);
    waiting_->charge(rank, engine_.transactions[item].peer, item, since, now, stretches_);
    waiting_->idle(rank, now);
}

template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::deliver(Node& node, std::uint32_t rank, Index item, Ticks now) {
    using Kind = Transaction::Kind;
    const Transaction& e = engine_.transactions[item];
    if (e.kind() == Kind::get || e.kind() == Kind::eager_get) {
        --node.unanswered;
        return answer(rank, item, e.kind() == Kind::get ? Kind::data : Kind::eager_data, now);
    }
    if (waiting_ && waiting_->heeds(rank)) [[unlikely]]
        charge_waiting(node, rank, item, now);
    const bool taken = (has_puts_ && take_put(node, rank, item, now)) ||
                       (engine_.parameters.hardware_progress && take_by_hardware(node, rank, item, now));
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
