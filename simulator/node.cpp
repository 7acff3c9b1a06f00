#include "node.hpp"

#include <stdexcept>

namespace tramontane {
namespace {

std::uint32_t checked_rounds(std::int64_t rounds) {
    if (rounds > std::numeric_limits<std::uint32_t>::max()) throw std::invalid_argument("workload: too many rounds");
    return static_cast<std::uint32_t>(rounds);
}

}  // namespace

Nodes::Nodes(Engine& engine, Fabric& fabric, const Topology& topology, const Allocation& allocation,
             const Schedule& schedule, const Noise& noise, const Repeats& repeats)
    : engine_(engine),
      fabric_(fabric),
      topology_(topology),
      allocation_(allocation),
      schedule_(schedule),
      noise_(noise),
      repeats_(repeats),
      rounds_(checked_rounds(schedule.rounds())),
      ranks_(static_cast<std::uint32_t>(schedule.ranks())),
      nodes_(allocate_pages<Node>(ranks_)),
      phases_(schedule.phases().size()) {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) nodes_[rank].nic = NicChannel(engine.parameters.buffer);
}

Nodes::Nodes(const Nodes& first, Engine& engine, Fabric& fabric)
    : engine_(engine),
      fabric_(fabric),
      topology_(first.topology_),
      allocation_(first.allocation_),
      schedule_(first.schedule_),
      noise_(first.noise_),
      repeats_(first.repeats_),
      rounds_(first.rounds_),
      ranks_(first.ranks_),
      nodes_(first.nodes_),
      phases_(first.phases_.size()) {}

// --- events ----------------------------------------------------------------------------------------------------------

void Nodes::AnyEvent::fetch(const Nodes& nodes, const Event& event) {
    const std::uint32_t rank = nodes.rank_of(event);
    const auto* node = reinterpret_cast<const std::byte*>(&nodes.nodes_[rank]);
    for (std::size_t line = 0; line < sizeof(Node); line += 64) prefetch_line(node + line);
    prefetch_line(&nodes.fabric_.injection(rank));
}

/// What the next packet of the rank will need.
void Nodes::AnyEvent::approach(const Nodes& nodes, const Event& event) {
    const std::uint32_t rank = nodes.rank_of(event);
    const Engine& engine = nodes.engine_;
    Node& node = nodes.nodes_[rank];
    const NodeChannel& link = nodes.fabric_.injection(rank).channel;
    node.nic.prefetch(engine.credits);
    link.prefetch(engine.credits);
    engine.packets.prefetch(link.waiting.first_full());
    engine.packets.prefetch(link.waiting.last_full());
    engine.packets.prefetch(link.waiting.last_other());
    engine.envelopes.prefetch(node.nic.waiting.first);
    engine.envelopes.prefetch(node.arrived.first);
    engine.envelopes.prefetch(node.early_of(node.round + 1).top());
}

/// The record of the message that the next packet will be cut from, and the first messages of the next round.
void Nodes::AnyEvent::reach(const Nodes& nodes, const Event& event) {
    const std::uint32_t rank = nodes.rank_of(event);
    const Engine& engine = nodes.engine_;
    Node& node = nodes.nodes_[rank];
    const Index first = node.nic.waiting.first;
    if (first != none && engine.envelopes[first].begun()) engine.messages.prefetch(engine.envelopes[first].message);
    engine.packets.prefetch(nodes.fabric_.injection(rank).channel.waiting.first_other(engine.packets));
    const Index early = node.early_of(node.round + 1).top();
    if (early != none) engine.envelopes.prefetch(engine.envelopes[early].next);
}

void Nodes::NicWake::handle(Nodes& nodes, const Event& event, Ticks now) {
    const std::uint32_t rank = nodes.rank_of(event);
    Ticks& due = nodes.fabric_.injection(rank).wake;
    if (due != now) return;  // an earlier one has seen to everything
    due = Fabric::never;
    Node& node = nodes.node(rank);
    nodes.catch_up(node, rank, now);
    nodes.wake(node, rank, now);
}

void Nodes::Start::handle(Nodes& nodes, const Event& event, Ticks now) {
    const std::uint32_t rank = nodes.rank_of(event);
    nodes.span_.begin = std::min(nodes.span_.begin, now);
    if (nodes.in_detour(rank, now)) return nodes.resume_after(rank, now, 0);
    nodes.resume(rank, now);
}

void Nodes::Resume::handle(Nodes& nodes, const Event& event, Ticks now) { nodes.resume(nodes.rank_of(event), now); }

void Nodes::MessageArrival::handle(Nodes& nodes, const Event& event, Ticks now) {
    const std::uint32_t rank = nodes.rank_of(event);
    Node& node = nodes.node(rank);
    nodes.catch_up(node, rank, now);
    nodes.deliver(node, rank, event.item, now);
    nodes.wake(node, rank, now);
}

// --- the rank --------------------------------------------------------------------------------------------------------

void Nodes::resume(std::uint32_t rank, Ticks now) {
    Node& node = this->node(rank);
    catch_up(node, rank, now);
    run(node, rank, now);
    wake(node, rank, now);
}

/// Goes on until the rank is busy, waits for the network, or has ended.
void Nodes::run(Node& node, std::uint32_t rank, Ticks now) {
    // The rank's own time. What a rank does, and how long that takes, is certain until it looks at what has arrived; so
    // it goes ahead as far as nobody can see that something is done before its time.
    Ticks time = now;
    while (true) {
        switch (node.doing) {
            case Doing::begins_round:
                if (time > now && (repeats_.watches(node.round) || !node.early_of(node.round).empty())) {
                    return resume_at(rank, time);
                }
                if (!begin_round(node, rank, time)) return;
                break;
            case Doing::prepares_send:
            case Doing::sends:
                if (!post_sends(node, rank, now, time)) return;
                break;
            case Doing::busy:
                node.doing = Doing::waits;
                break;
            case Doing::receives:
            case Doing::waits:
                if (!progress(node, rank, now, time)) return;
                break;
            case Doing::busy_alone:
            case Doing::ended:
                return;
        }
    }
}

/// False where the rank has ended.
/// \param time when the round begins; then, when messages that were here before are copied
bool Nodes::begin_round(Node& node, std::uint32_t rank, Ticks& time) {
    if (node.phase >= 0)
        phases_[static_cast<std::size_t>(node.phase)].end =
            std::max(phases_[static_cast<std::size_t>(node.phase)].end, time);
    if (repeats_.watched()) {
        repeats_.ended(node.round, span_.begin, time);
        rounds_ = repeats_.rounds();
    }
    if (node.round == rounds_) {
        node.doing = Doing::ended;
        span_.end = std::max(span_.end, time);
        ++ended_;
        return false;
    }
    const Round round = schedule_.round(static_cast<Rank>(rank), node.round);
    if (round.sends >> Envelope::index_bits != 0) throw std::invalid_argument("workload: too many sends in a round");
    node.phase = static_cast<std::int16_t>(round.phase);
    node.window = round.window;
    Span& phase = phases_[static_cast<std::size_t>(round.phase)];
    phase.begin = std::min(phase.begin, time);
    node.sends = node.sends_left = round.sends;
    node.receives_left = round.receives;
    node.next_send = 0;
    node.doing = Doing::sends;
    const Ticks copying = take_early(node, rank, time);
    if (copying > 0) time = noise_.end(rank, time, copying);
    return true;
}

/// Posts the receives of messages that were here before. Returns how long copying them takes.
Ticks Nodes::take_early(Node& node, std::uint32_t rank, Ticks now) {
    Ticks copying = 0;
    const auto of_this_round = [&](const Envelope& e) { return e.round == node.round; };
    Line taken = node.early_of(node.round).take(engine_.envelopes, of_this_round);
    while (!taken.empty()) {
        const Index item = taken.pop(engine_.envelopes);
        const Envelope& e = engine_.envelopes[item];
        if (e.kind() == Envelope::Kind::header) {
            answer(node, rank, item, Envelope::Kind::get, now);
        } else {
            copying += engine_.parameters.copy(e.bytes);
            check_step(copying);
            --node.receives_left;
            engine_.envelopes.give_back(item);
        }
    }
    return copying;
}

/// False where the rank has to go on later.
/// \param time when the first send is prepared; then, when the last is posted
bool Nodes::post_sends(Node& node, std::uint32_t rank, Ticks now, Ticks& time) {
    const Parameters& p = engine_.parameters;
    for (; may_send(node); ++node.next_send) {
        const Transfer t = schedule_.send(static_cast<Rank>(rank), node.round, node.next_send);
        Envelope::Kind kind = Envelope::Kind::header;
        const Ticks work = p.send_overhead + (t.bytes <= p.short_limit ? p.copy(t.bytes) : 0);
        if (work > 0 && node.doing == Doing::sends) {
            time = noise_.end(rank, time, work);
            node.doing = Doing::prepares_send;
        }
        if (time > now && (t.bytes > p.short_limit || !goes_at_once(node, rank, t.bytes, time))) {
            resume_at(rank, time);
            return false;
        }
        node.doing = Doing::sends;
        if (t.bytes <= p.short_limit) {
            kind = Envelope::Kind::eager;
        } else if (t.bytes <= p.eager_limit) {
            kind = Envelope::Kind::eager_header;
        }
        if (kind != Envelope::Kind::header) --node.sends_left;
        if (kind != Envelope::Kind::eager) ++node.unanswered;
        ++engine_.statistics.messages;
        engine_.statistics.bytes += static_cast<std::uint64_t>(t.bytes);
        engine_.statistics.packets += (static_cast<std::uint64_t>(t.bytes) + p.packet - 1) / p.packet;
        node.bytes += static_cast<std::uint64_t>(t.bytes);
        const Index item = engine_.envelopes.take();
        Envelope& e = engine_.envelopes[item];
        e.address(static_cast<std::uint32_t>(t.peer), node.round, static_cast<std::uint32_t>(node.next_send), kind);
        post(node, rank, item, kind == Envelope::Kind::eager ? t.bytes : control_bytes, time);
    }
    if (time > now && (node.receives_left > 0 || node.sends_left > 0)) {
        wait_from(node, rank, time);
        return false;
    }
    node.doing = Doing::waits;
    return true;
}

/// Whether an eager message that is posted at `time`, later than now, waits for no credits in the NIC, and nothing else
/// is posted before it: only get requests are answered without the rank.
bool Nodes::goes_at_once(Node& node, std::uint32_t rank, std::int64_t bytes, Ticks time) {
    NodeChannel& link = fabric_.injection(rank).channel;
    if (node.unanswered > 0 || !node.nic.waiting.empty() || !link.waiting.empty()) return false;
    node.nic.apply(engine_.credits, time);
    link.apply(engine_.credits, time);
    return node.nic.credits() >= bytes + engine_.parameters.packet && link.credits() >= bytes;
}

/// Looks at what has arrived until the round is over; false when there is nothing to look at or the rank is busy.
/// \param time when the round is over: later than `now` where it ends with a copy
bool Nodes::progress(Node& node, std::uint32_t rank, Ticks now, Ticks& time) {
    while (node.receives_left > 0 || node.sends_left > 0) {
        if (node.arrived.empty()) return false;
        if (engine_.parameters.receive_overhead > 0 && engine_.envelopes[node.arrived.first].carries_payload() &&
            node.doing == Doing::waits) {
            node.doing = Doing::receives;
            resume_after(rank, now, engine_.parameters.receive_overhead);
            return false;
        }
        node.doing = Doing::waits;
        const Ticks copying = take(node, rank, node.arrived.pop(engine_.envelopes), now);
        if (copying > 0) {
            time = noise_.end(rank, now, copying);
            if (node.receives_left == 0 && node.sends_left == 0) break;
            wait_from(node, rank, time);
            return false;
        }
        if (may_send(node)) {
            node.doing = Doing::sends;
            return true;
        }
    }
    ++node.round;
    node.doing = Doing::begins_round;
    return true;
}

void Nodes::wait_from(Node& node, std::uint32_t rank, Ticks time) {
    if (node.arrived.empty()) {
        node.doing = Doing::busy_alone;
        node.free_at = time;
    } else {
        node.doing = Doing::busy;
        resume_at(rank, time);
    }
}

bool Nodes::disturb(Node& node, std::uint32_t rank, Ticks now) {
    if (node.free_at > now) {
        node.doing = Doing::busy;
        resume_at(rank, node.free_at);
        return false;
    }
    node.doing = Doing::waits;
    return true;
}

/// One message out of the queue of arrivals. Returns how long the rank is busy with it.
Ticks Nodes::take(Node& node, std::uint32_t rank, Index item, Ticks now) {
    const Envelope& e = engine_.envelopes[item];
    const bool expected = e.round == node.round;
    switch (e.kind()) {
        case Envelope::Kind::eager: {
            const Ticks copying = engine_.parameters.copy(e.bytes);
            if (!expected) {  // into a buffer now, out of it when the receive is posted
                node.early_of(e.round).push(engine_.envelopes, item);
            } else {
                engine_.envelopes.give_back(item);
                --node.receives_left;
            }
            return copying;
        }
        case Envelope::Kind::eager_header:
            answer(node, rank, item, Envelope::Kind::eager_get, now);
            return 0;
        case Envelope::Kind::header:
            if (expected) {
                answer(node, rank, item, Envelope::Kind::get, now);
            } else {
                node.early_of(e.round).push(engine_.envelopes, item);
            }
            return 0;
        case Envelope::Kind::eager_data: {
            if (!expected) {
                node.early_of(e.round).push(engine_.envelopes, item);
                return 0;
            }
            const Ticks copying = engine_.parameters.copy(e.bytes);
            engine_.envelopes.give_back(item);
            --node.receives_left;
            return copying;
        }
        case Envelope::Kind::data:
            --node.receives_left;
            answer(node, rank, item, Envelope::Kind::acknowledgement, now);
            return 0;
        case Envelope::Kind::acknowledgement:
            --node.sends_left;
            engine_.envelopes.give_back(item);
            return 0;
        case Envelope::Kind::eager_get:
        case Envelope::Kind::get:
            break;  // the NIC's
    }
    throw std::logic_error("simulator: a get request reached a rank");
}

// --- the NIC ---------------------------------------------------------------------------------------------------------

/// Sends the envelope back where it came from, as the protocol's next message.
void Nodes::answer(Node& node, std::uint32_t rank, Index item, Envelope::Kind kind, Ticks now) {
    Envelope& e = engine_.envelopes[item];
    e.become(kind);
    // Data are longer than short_limit; how long, matters only where even longer messages bypass the packet network.
    const Parameters& p = engine_.parameters;
    const bool certain = e.carries_payload() && p.negligible_size <= p.short_limit;
    post(node, rank, item, certain ? p.short_limit + 1 : size(rank, e), now);
}

/// \param bytes its size, or less where that decides whether it bypasses the packet network as well
void Nodes::post(Node& node, std::uint32_t rank, Index item, std::int64_t bytes, Ticks now) {
    const Envelope& e = engine_.envelopes[item];
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
    node.nic.waiting.append(engine_.envelopes, item);
    if (alone) take_buffer_credits(node, rank, now);
}

/// Random; orders messages past the packet network that arrive at the same tick.
std::uint32_t Nodes::tie(std::uint32_t source, const Envelope& e) const {
    using Kind = Envelope::Kind;
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

void Nodes::catch_up(Node& node, std::uint32_t rank, Ticks now) {
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
    Line& lane = node.nic.waiting;
    node.nic.apply(engine_.credits, now);
    while (!lane.empty() && node.nic.credits() >= p.packet) {
        const Index item = lane.pop(engine_.envelopes);
        if (!cut_packet(node, rank, item, now)) continue;
        if (p.round_robin) {
            lane.append(engine_.envelopes, item);
        } else {
            lane.prepend(engine_.envelopes, item);
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
    packet.upstream = engine_.place_of(rank);
    packet.tie = packet_tie(engine_.seed, rank, node.injected++);
    Envelope& e = engine_.envelopes[item];
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

void Nodes::deliver(Node& node, std::uint32_t rank, Index item, Ticks now) {
    using Kind = Envelope::Kind;
    const Envelope& e = engine_.envelopes[item];
    if (e.kind() == Kind::get || e.kind() == Kind::eager_get) {
        --node.unanswered;
        return answer(node, rank, item, e.kind() == Kind::get ? Kind::data : Kind::eager_data, now);
    }
    const bool waits = node.doing == Doing::waits || (node.doing == Doing::busy_alone && disturb(node, rank, now));
    node.arrived.append(engine_.envelopes, item);
    if (!waits) return;
    if (in_detour(rank, now)) {
        node.doing = Doing::busy;
        return resume_after(rank, now, 0);
    }
    run(node, rank, now);
}

void Nodes::verify(std::uint32_t rank, bool idle) const {
    const auto check = [&](const auto& buffer) {
        const std::int64_t promised = buffer.credits_at(engine_.credits, std::numeric_limits<Ticks>::max() - 1);
        verify_buffer(buffer.credits(), promised, engine_.parameters.buffer, idle);
    };
    check(nodes_[rank].nic);
    check(fabric_.injection(rank).channel);
}

// --- results ---------------------------------------------------------------------------------------------------------

double Nodes::imbalance() const {
    std::uint64_t most = 0, sum = 0;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        most = std::max(most, nodes_[rank].bytes);
        sum += nodes_[rank].bytes;
    }
    return sum == 0 ? 1.0 : static_cast<double>(most) * static_cast<double>(ranks_) / static_cast<double>(sum);
}

std::string Nodes::waiting(int limit) const {
    std::string text;
    for (std::uint32_t rank = 0; rank < ranks_ && limit > 0; ++rank) {
        const Node& node = nodes_[rank];
        if (node.doing == Doing::ended) continue;
        text += "; rank " + std::to_string(rank) + " in round " + std::to_string(node.round) + " waits for " +
                std::to_string(node.receives_left) + " receives and " + std::to_string(node.sends_left) + " sends";
        --limit;
    }
    return text;
}

}  // namespace tramontane
