/// \file
/// The rank of a node: see RankState in node_records.hpp.
#pragma once

#include "rules/node.hpp"

namespace tramontane {

template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::resume(std::uint32_t place, Ticks now) {
    apply_returned_credits_of(place, now);
    run(node(place), places_.rank_at(place), now);
    wake_of(place, now);
}

/// Goes on until the rank is busy, waits for the network, or has ended.
///
/// The steps that every message takes are inlined here, and what most workloads never do is kept out of line (noinline,
/// in node.hpp). Left to itself the compiler finds all of it too large, and calls each small part instead, which cost
/// allreduces a tenth of their speed (python -m benchmarks.alternate).
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::run(Node& node, std::uint32_t rank, Ticks now) {
    if (graph_) [[unlikely]]
        return follow(node, rank, now);
    // What a rank does, and how long that takes, is certain until it looks at what has arrived; so it goes ahead of its
    // events as far as nobody can see that something is done before its time.
    Step step = Step::until(now);
    while (step.goes_on) {
        switch (node.state) {
            case RankState::begins_round:
                step = begin_round(node, rank, now, step.time);
                break;
            case RankState::posts:
                step = take_early(node, rank, step.time);
                break;
            case RankState::posts_in_turn:
                step = take_next(node, rank, now, step.time);
                break;
            case RankState::works:
                step = end_round(node, step.time);
                break;
            case RankState::prepares_send:
            case RankState::sends:
                step = post_sends(node, rank, now, step.time);
                break;
            case RankState::busy:
                node.state = RankState::waits;
                break;
            case RankState::receives:
            case RankState::waits:
                step = progress(node, rank, now, step.time);
                break;
            case RankState::busy_nothing_arrived:
            case RankState::ended:
                return;
        }
    }
}

/// \param time when the round before is over
/// \return when messages that were here before are copied
template <class Engine, class Switches>
TRAMONTANE_STEP TRAMONTANE_RULE inline NodeRecords::Step NodeRules<Engine, Switches>::begin_round(Node& node,
                                                                                                  std::uint32_t rank,
                                                                                                  Ticks now,
                                                                                                  Ticks time) {
    const bool is_seen = is_seen_ || !node.early_of(node.round).empty();
    if (time > now && (is_seen || repeats_->watches(node.round))) {
        resume_at(rank, time);
        return Step::blocked();
    }
    if (node.phase >= 0) {
        const auto before = static_cast<std::size_t>(node.phase);
        phases_[before].end = std::max(phases_[before].end, time);
        totals_[before].ended += time;
    }
    if (repeats_->watched()) {
        repeats_->ended(node.round, engine_.ends().span.begin, time);
        rounds_ = repeats_->rounds();
    }
    if (node.round == rounds_) {
        node.state = RankState::ended;
        check_event(time);  // it may have gone ahead of its event
        engine_.ends().end(time);
        return Step::blocked();
    }
    const Round round = schedule_.round(static_cast<Rank>(rank), node.round);
    if (round.sends >> Transaction::index_bits != 0) {
        fail<std::invalid_argument>("workload: too many sends in a round");
    }
    node.phase = static_cast<std::int16_t>(round.phase);
    const auto phase = static_cast<std::size_t>(round.phase);
    phases_[phase].begin = std::min(phases_[phase].begin, time);
    totals_[phase].begun += time;
    node.window = round.call == WindowCall::acknowledged_puts ? acknowledged_puts
                  : is_put(round.call)                        ? puts
                  : round.in_turn                             ? in_turn
                  : round.waits                               ? round.window
                                                              : left_open;
    node.sends = round.sends;
    node.left = {round.receives, round.sends};
    node.next_send = 0;
    if (round.work > 0) {
        const Ticks work = from_picoseconds(round.work);
        // For a storage, or for the start of its job: neither heeds noise of the rank's processor.
        const bool waits = round.access != Access::none || round.idles;
        if (!waits) (round.call == WindowCall::none ? totals_[phase].work : totals_[phase].busy) += work;
        node.state = RankState::works;
        const Ticks end = waits ? served(time, round.work) : noise_.end(rank, time, work);
        if (waiting_ && !round.idles) [[unlikely]] {
            if (waits) {
                waiting_->access(rank, time, end, stretches_);
            } else if (round.call != WindowCall::none) {
                waiting_->busy(rank, time, end, stretches_);
            } else {
                waiting_->work(rank, time, end, stretches_);
            }
        }
        resume_at(rank, end);
        return Step::blocked();
    }
    if (round.ends > 0) return wait(node, rank, now, time);
    if (unpacking_) unpacking_->post(rank, node.round, node.window >= sends_freely ? round.receives : 0);
    if (engine_.parameters.costs.of_posting() && node.window > puts && node.window != in_turn) {
        if (const Ticks work = posting(node, rank); work > 0) {
            node.state = RankState::posts;
            resume_after(node, rank, time, work);
            return Step::blocked();
        }
    }
    if (node.window == in_turn) [[unlikely]] {
        node.state = RankState::sends;
        return Step::until(time);
    }
    return take_early(node, rank, time);
}

/// Counts a rank among those in the phase that its receives have brought it to, where phases change within a round.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::go_to_phase(Node& node, std::uint32_t rank, Ticks now) {
    const Round round = schedule_.round(static_cast<Rank>(rank), node.round);
    if (round.phase_receives == 0) return;
    const std::int32_t received = round.receives - node.left.receives;
    const std::int32_t last = round.phase + (round.receives - 1) / round.phase_receives;
    const std::int32_t reached = std::min(round.phase + received / round.phase_receives, last);
    while (node.phase < reached) {
        const auto before = static_cast<std::size_t>(node.phase++), after = before + 1;
        phases_[before].end = std::max(phases_[before].end, now);
        totals_[before].ended += now;
        phases_[after].begin = std::min(phases_[after].begin, now);
        totals_[after].begun += now;
    }
}

template <class Engine, class Switches>
TRAMONTANE_RULE NodeRecords::Step NodeRules<Engine, Switches>::end_round(Node& node, Ticks time) {
    ++node.round;
    node.state = RankState::begins_round;
    return Step::until(time);
}

/// \param time from which on the rank looks at what arrives
template <class Engine, class Switches>
TRAMONTANE_STEP TRAMONTANE_RULE inline NodeRecords::Step NodeRules<Engine, Switches>::wait(Node& node,
                                                                                           std::uint32_t rank,
                                                                                           Ticks now, Ticks time) {
    time = unpacked(node, rank, time);
    if (time > now && awaits(node, rank)) {
        wait_from(node, rank, time);
        return Step::blocked();
    }
    node.state = RankState::waits;
    return Step::until(time);
}

// --- rounds that were left open --------------------------------------------------------------------------------------

template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::leave_open(Node& node, std::uint32_t rank) {
    if (!node.left.any()) return;
    const Index item = engine_.open_rounds.take();
    engine_.open_rounds[item] = {node.round, node.left, open_[rank]};
    open_[rank] = item + 1;
    ++node.open;
}

template <class Engine, class Switches>
TRAMONTANE_RULE Index NodeRules<Engine, Switches>::open_round(const Node& node, std::uint32_t rank,
                                                              std::uint32_t round) const {
    if (node.open == 0) return none;
    Index item = open_[rank];
    while (item != 0 && engine_.open_rounds[item - 1].round != round) item = engine_.open_rounds[item - 1].next;
    return item == 0 ? none : item - 1;
}

template <class Engine, class Switches>
TRAMONTANE_RULE Left* NodeRules<Engine, Switches>::left_of_open(Node& node, std::uint32_t rank, std::uint32_t round) {
    const Index item = open_round(node, rank, round);
    return item == none ? nullptr : &engine_.open_rounds[item].left;
}

template <class Engine, class Switches>
TRAMONTANE_RULE std::uint64_t NodeRules<Engine, Switches>::open_receives(const Node& node, std::uint32_t rank) const {
    auto receives = static_cast<std::uint64_t>(node.left.receives);
    if (node.window == in_turn) receives = std::min<std::uint64_t>(receives, 1);
    if (node.open == 0) [[likely]]
        return receives;
    for (Index i = open_[rank]; i != 0; i = engine_.open_rounds[i - 1].next) {
        receives += static_cast<std::uint64_t>(engine_.open_rounds[i - 1].left.receives);
    }
    return receives;
}

template <class Engine, class Switches>
TRAMONTANE_RULE bool NodeRules<Engine, Switches>::awaits_open(const Node& node, std::uint32_t rank) const {
    const Round round = schedule_.round(static_cast<Rank>(rank), node.round);
    const Index item =
        round.ends > 0 ? open_round(node, rank, node.round - static_cast<std::uint32_t>(round.ends)) : none;
    if (item == none) return node.left.any();
    const Left& left = engine_.open_rounds[item].left;
    return round.sends_only ? left.sends > 0 : left.any();
}

/// Forgets the round that this one has ended, if its transfers took that long.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::close(Node& node, std::uint32_t rank) {
    const std::int64_t ends = schedule_.round(static_cast<Rank>(rank), node.round).ends;
    const Index closed = ends > 0 ? open_round(node, rank, node.round - static_cast<std::uint32_t>(ends)) : none;
    if (closed == none || engine_.open_rounds[closed].left.any()) return;
    Index* link = &open_[rank];
    while (*link != closed + 1) link = &engine_.open_rounds[*link - 1].next;
    *link = engine_.open_rounds[closed].next;
    engine_.open_rounds.give_back(closed);
    --node.open;
}

// --- messages --------------------------------------------------------------------------------------------------------

/// How long it takes to post the receives of a round.
template <class Engine, class Switches>
TRAMONTANE_RULE Ticks NodeRules<Engine, Switches>::posting(Node& node, std::uint32_t rank) const {
    std::uint64_t found = 0;
    if (unexpected_) {
        const auto& pool = engine_.transactions;
        for (Index i = node.early_of(node.round).top(); i != none; i = pool[i].next) {
            if (pool[i].round == node.round && is_unexpected(pool[i])) ++found;
        }
    }
    return engine_.parameters.costs.post(static_cast<std::uint64_t>(node.left.receives),
                                         unexpected_ ? unexpected_[rank] : 0, found);
}

/// Takes the messages of the round that were here before.
/// \return when those that have to be copied are
template <class Engine, class Switches>
TRAMONTANE_STEP TRAMONTANE_RULE inline NodeRecords::Step NodeRules<Engine, Switches>::take_early(Node& node,
                                                                                                 std::uint32_t rank,
                                                                                                 Ticks now) {
    node.state = RankState::sends;
    Ticks own = 0;
    std::int64_t bytes = 0;
    const auto of_this_round = [&](const Transaction& e) { return e.round == node.round; };
    IntrusiveQueue taken = node.early_of(node.round).take(engine_.transactions, of_this_round);
    while (!taken.empty()) {
        const Index item = taken.pop(engine_.transactions);
        const Transaction& e = engine_.transactions[item];
        if (unexpected_ && is_unexpected(e)) --unexpected_[rank];
        if (e.kind() == Transaction::Kind::header) {
            answer(rank, item, Transaction::Kind::get, now);
        } else {
            if (e.is_eager_payload()) {  // a put is where it belongs
                own += engine_.parameters.copy(e.bytes);
                bytes += e.bytes;
                complete(rank, e, e.bytes);
            }
            check_step(own);
            --node.left.receives;
            engine_.transactions.give_back(item);
        }
    }
    return Step::until(own > 0 ? busy_until(node, rank, now, copying(rank, bytes, own, now)) : now);
}

/// Whether the receive of a message is the one that its rank has posted, where it posts them in turn. From one source
/// they come in the order in which they are sent.
template <class Engine, class Switches>
TRAMONTANE_RULE bool NodeRules<Engine, Switches>::is_next(const Node& node, std::uint32_t rank, const Transaction& e) {
    if (node.window != in_turn || e.round != node.round) return true;
    const bool has_sent = node.state != RankState::sends && node.state != RankState::prepares_send;
    if (!has_sent || node.state == RankState::posts_in_turn) return false;
    return node.left.receives > 0 && e.source() == source_of_next(node, rank);
}

/// Posts the next receive in turn, if there is one. \return when it is posted
template <class Engine, class Switches>
TRAMONTANE_RULE NodeRecords::Step NodeRules<Engine, Switches>::post_next(Node& node, std::uint32_t rank, Ticks time) {
    node.state = RankState::posts_in_turn;
    const Costs& costs = engine_.parameters.costs;
    if (!costs.of_posting() || node.left.receives == 0) return Step::until(time);
    std::uint64_t found = 0;
    if (unexpected_) {
        const auto& pool = engine_.transactions;
        const std::uint32_t source = source_of_next(node, rank);
        for (Index i = node.early_of(node.round).top(); i != none && found == 0; i = pool[i].next) {
            if (pool[i].round == node.round && is_unexpected(pool[i]) && pool[i].source() == source) found = 1;
        }
    }
    const Ticks work = costs.post(1, unexpected_ ? unexpected_[rank] : 0, found);
    return Step::until(work > 0 ? busy_until(node, rank, time, work) : time);
}

/// Takes the message of the receive that has been posted in turn, if it was here before; else waits for it.
template <class Engine, class Switches>
TRAMONTANE_RULE NodeRecords::Step NodeRules<Engine, Switches>::take_next(Node& node, std::uint32_t rank, Ticks now,
                                                                         Ticks time) {
    if (time > now) {  // what has come by then nobody knows yet
        resume_at(rank, time);
        return Step::blocked();
    }
    node.state = RankState::waits;
    bool found = false;
    const auto is_posted_next = [&](const Transaction& e) {
        return !found && (found = e.round == node.round && is_next(node, rank, e));
    };
    IntrusiveQueue taken = node.early_of(node.round).take(engine_.transactions, is_posted_next);
    if (taken.empty()) return wait(node, rank, now, time);
    const Index item = taken.pop(engine_.transactions);
    const Transaction& e = engine_.transactions[item];
    if (unexpected_ && is_unexpected(e)) --unexpected_[rank];
    if (e.kind() == Transaction::Kind::header) {
        answer(rank, item, Transaction::Kind::get, time);
        return wait(node, rank, now, time);
    }
    const std::int64_t bytes = e.bytes;
    complete(rank, e, bytes);
    --node.left.receives;
    engine_.transactions.give_back(item);
    const Ticks own = engine_.parameters.copy(bytes);
    return post_next(node, rank, own > 0 ? busy_until(node, rank, time, copying(rank, bytes, own, time)) : time);
}

/// A message that has come before its receive is posted waits for it.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::set_aside(Node& node, std::uint32_t rank, Index item) {
    const Transaction& e = engine_.transactions[item];
    if (unexpected_ && is_unexpected(e)) ++unexpected_[rank];
    node.early_of(e.round).push(engine_.transactions, item);
}

/// When a storage has done an access that begins at `time`, or a job starts that waits from then on; that takes so many
/// picoseconds, which may be any number.
template <class Engine, class Switches>
TRAMONTANE_RULE Ticks NodeRules<Engine, Switches>::served(Ticks time, std::int64_t picoseconds) {
    check_event(time);
    const auto left = static_cast<std::uint64_t>((end_of_time - time) / ticks_per_picosecond);
    if (static_cast<std::uint64_t>(picoseconds) > left) refuse_time();
    return time + from_picoseconds(picoseconds);
}

/// Of a copy where ranks share their node's memory for it: at least until that has served all before it, and its bytes.
template <class Engine, class Switches>
TRAMONTANE_RULE Ticks NodeRules<Engine, Switches>::sharing(std::uint32_t rank, std::int64_t bytes, Ticks own,
                                                           Ticks now) {
    Ticks& until = memory_until_[places_.node_of(places_.of(rank))];
    until =
        std::max(now, until) + checked_product(static_cast<std::uint64_t>(bytes), engine_.parameters.node_memory_slot);
    check_event(until);
    return std::max(own, until - now);
}

template <class Engine, class Switches>
TRAMONTANE_RULE std::uint64_t NodeRules<Engine, Switches>::sends_under_way(const Node& node, std::uint32_t rank) const {
    std::int64_t sends = std::int64_t{node.next_send} - (node.sends - node.left.sends);
    for (Index i = node.open > 0 ? open_[rank] : 0; i != 0; i = engine_.open_rounds[i - 1].next) {
        sends += engine_.open_rounds[i - 1].left.sends;
    }
    return static_cast<std::uint64_t>(sends);
}

/// How long a rank is busy with a message that has arrived before it takes it.
template <class Engine, class Switches>
TRAMONTANE_RULE Ticks NodeRules<Engine, Switches>::looking(Node& node, std::uint32_t rank, const Transaction& e) {
    using Kind = Transaction::Kind;
    const Costs& costs = engine_.parameters.costs;
    Ticks work = 0;
    if (e.kind() == Kind::eager || e.kind() == Kind::eager_header || e.kind() == Kind::header) {
        work +=
            costs.match(open_receives(node, rank), left_of(node, rank, e.round) != nullptr && is_next(node, rank, e));
    }
    if (e.carries_payload()) work += costs.receive(e.is_eager_payload() ? e.bytes : size(e.peer, e));
    return work;
}

/// \param time when the first send is prepared
/// \return when the last is posted
template <class Engine, class Switches>
TRAMONTANE_STEP TRAMONTANE_RULE inline NodeRecords::Step NodeRules<Engine, Switches>::post_sends(Node& node,
                                                                                                 std::uint32_t rank,
                                                                                                 Ticks now,
                                                                                                 Ticks time) {
    if (node.window <= puts) return post_puts(node, rank, now, time);
    const Parameters& p = engine_.parameters;
    for (; may_send(node); ++node.next_send) {
        const Transfer t = schedule_.send(static_cast<Rank>(rank), node.round, node.next_send);
        Transaction::Kind kind = Transaction::Kind::header;
        if (node.state == RankState::sends) {
            if (prepares_in_time_ && time > now) {
                resume_at(rank, time);
                return Step::blocked();
            }
            if (const Ticks work = preparing(node, rank, t.bytes, time); work > 0) {
                time = busy_until(node, rank, time, work);
                node.state = RankState::prepares_send;
            }
        }
        if (time > now && (t.bytes > p.short_limit || !goes_ahead(node, rank, t.bytes, time))) {
            resume_at(rank, time);
            return Step::blocked();
        }
        node.state = RankState::sends;
        if (t.bytes <= p.short_limit) {
            kind = Transaction::Kind::eager;
        } else if (t.bytes <= p.eager_limit) {
            kind = Transaction::Kind::eager_header;
        }
        if (kind != Transaction::Kind::header) --node.left.sends;
        if (kind != Transaction::Kind::eager) ++node.unanswered;
        post_first(node, rank, t, kind, kind == Transaction::Kind::eager ? t.bytes : control_bytes, time);
    }
    if (node.window == left_open) {
        leave_open(node, rank);
        return end_round(node, time);
    }
    if (node.window == in_turn) [[unlikely]]
        return post_next(node, rank, time);
    return wait(node, rank, now, time);
}

/// The same for puts, each of which the rank hands to its NIC as it is, and forgets.
template <class Engine, class Switches>
TRAMONTANE_RULE NodeRecords::Step NodeRules<Engine, Switches>::post_puts(Node& node, std::uint32_t rank, Ticks now,
                                                                         Ticks time) {
    const Ticks cost = from_picoseconds(schedule_.round(static_cast<Rank>(rank), node.round).put_cost);
    for (; may_send(node); ++node.next_send) {
        if (cost > 0 && node.state == RankState::sends) {
            time = busy_until(node, rank, time, cost);
            node.state = RankState::prepares_send;
        }
        if (time > now) {
            resume_at(rank, time);
            return Step::blocked();
        }
        node.state = RankState::sends;
        if (node.window == puts) --node.left.sends;
        const Transfer t = schedule_.send(static_cast<Rank>(rank), node.round, node.next_send);
        post_first(node, rank, t, Transaction::Kind::data, t.bytes, time);
    }
    leave_open(node, rank);
    return end_round(node, time);
}

/// Posts the first message of a transfer of the workload, and counts it.
/// \param bytes of that message
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::post_first(Node& node, std::uint32_t rank, const Transfer& t,
                                                             Transaction::Kind kind, std::int64_t bytes, Ticks time) {
    ++engine_.counts().messages;
    engine_.counts().bytes += static_cast<std::uint64_t>(t.bytes);
    engine_.counts().packets += engine_.parameters.packets_of(static_cast<std::uint64_t>(t.bytes));
    add_count(node.bytes, static_cast<std::uint64_t>(t.bytes));
    const Index item = engine_.transactions.take();
    Transaction& e = engine_.transactions[item];
    e.address(static_cast<std::uint32_t>(t.peer), node.round, static_cast<std::uint32_t>(node.next_send), kind);
    if (waiting_ && waiting_->heeds(rank, e.peer)) [[unlikely]]
        waiting_->post(rank, item, time, engine_.transactions);
    post(rank, item, bytes, time);
}

/// Whether an eager message that is posted at `time`, later than now, waits for no credits of the switch, which may
/// come earlier than anybody knows yet (those of the injection buffer are certain), and nothing else is posted before
/// it: only get requests and puts are answered without the rank, where interfaces match no messages, and no other rank
/// shares its node.
template <class Engine, class Switches>
TRAMONTANE_RULE bool NodeRules<Engine, Switches>::goes_ahead(Node& node, std::uint32_t rank, std::int64_t bytes,
                                                             Ticks time) {
    if (places_.several() || has_puts_ || engine_.parameters.hardware_progress) return false;
    NodeChannel& link = fabric_.injection(places_.of(rank)).channel;
    if (node.unanswered > 0 || !node.nic.waiting.empty() || !link.waiting.empty()) return false;
    link.apply(engine_.credits, time);
    return link.credits() >= bytes;
}

/// Looks at what has arrived until the round is over.
/// \return when it is, later than `now` where it ends with a copy; or that the rank has more to send
template <class Engine, class Switches>
TRAMONTANE_STEP TRAMONTANE_RULE inline NodeRecords::Step NodeRules<Engine, Switches>::progress(Node& node,
                                                                                               std::uint32_t rank,
                                                                                               Ticks now, Ticks time) {
    // A message whose overhead is paid is taken, even if the NIC has completed everything else in the meantime.
    while (node.state == RankState::receives || awaits(node, rank)) {
        if (node.state == RankState::waits) {
            if (engine_.parameters.hardware_progress && may_send(node)) {  // the NIC has taken an acknowledgement
                node.state = RankState::sends;
                return Step::until(time);
            }
            if (const Ticks end = unpacked(node, rank, now); end > now) {  // what the NIC has taken
                wait_from(node, rank, end);
                return Step::blocked();
            }
        }
        if (node.arrived.empty()) {
            if (waiting_) [[unlikely]]
                waiting_->idle(rank, now);
            return Step::blocked();
        }
        if (engine_.parameters.costs.of_looking() && node.state == RankState::waits) {
            const Ticks work = looking(node, rank, engine_.transactions[node.arrived.first]);
            if (work > 0) {
                node.state = RankState::receives;
                resume_after(node, rank, now, work);
                return Step::blocked();
            }
        }
        node.state = RankState::waits;
        const std::int32_t receives = node.left.receives;
        Ticks copying = take(node, rank, node.arrived.pop(engine_.transactions), now);
        if (unpacking_) copying += unpacking_->take(rank);
        if (node.window == in_turn && node.left.receives < receives) [[unlikely]] {
            return post_next(node, rank, copying > 0 ? busy_until(node, rank, now, copying) : now);
        }
        if (cuts_rounds_ && node.left.receives < receives) [[unlikely]]
            go_to_phase(node, rank, now);
        if (copying > 0) {
            time = busy_until(node, rank, now, copying);
            if (!awaits(node, rank)) break;
            wait_from(node, rank, time);
            return Step::blocked();
        }
        if (may_send(node)) {
            node.state = RankState::sends;
            return Step::until(time);
        }
    }
    time = unpacked(node, rank, time);
    if (node.open > 0) close(node, rank);
    return end_round(node, time);
}

template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::wait_from(Node& node, std::uint32_t rank, Ticks time) {
    if (node.arrived.empty()) {
        node.state = RankState::busy_nothing_arrived;
        node.free_at = time;
    } else {
        node.state = RankState::busy;
        resume_at(rank, time);
    }
}

template <class Engine, class Switches>
TRAMONTANE_RULE bool NodeRules<Engine, Switches>::is_free_for_message(Node& node, std::uint32_t rank, Ticks now) {
    if (node.free_at > now) {
        node.state = RankState::busy;
        resume_at(rank, node.free_at);
        return false;
    }
    node.state = RankState::waits;
    return true;
}

/// One message out of the queue of arrivals. Returns how long the rank is busy with it.
template <class Engine, class Switches>
TRAMONTANE_RULE Ticks NodeRules<Engine, Switches>::take(Node& node, std::uint32_t rank, Index item, Ticks now) {
    const Transaction& e = engine_.transactions[item];
    Left* const left = left_of(node, rank, e.round);
    const bool expected = left != nullptr && (node.window != in_turn || is_next(node, rank, e));
    switch (e.kind()) {
        case Transaction::Kind::eager: {
            const bool direct = engine_.parameters.direct_eager && !(expected && e.came_early());
            const std::int64_t bytes = e.bytes;
            if (!expected) {  // into a buffer now, out of it when the receive is posted
                set_aside(node, rank, item);
            } else {
                complete(rank, e, bytes);
                engine_.transactions.give_back(item);
                --left->receives;
            }
            return direct ? 0 : copying(rank, bytes, engine_.parameters.copy(bytes), now);
        }
        case Transaction::Kind::eager_header:
            answer(rank, item, Transaction::Kind::eager_get, now);
            return 0;
        case Transaction::Kind::header:
            if (expected) {
                answer(rank, item, Transaction::Kind::get, now);
            } else {
                set_aside(node, rank, item);
            }
            return 0;
        case Transaction::Kind::eager_data: {
            if (!expected) {
                set_aside(node, rank, item);
                return 0;
            }
            const bool direct = engine_.parameters.direct_eager && !e.came_early();
            const std::int64_t bytes = e.bytes;
            complete(rank, e, bytes);
            engine_.transactions.give_back(item);
            --left->receives;
            return direct ? 0 : copying(rank, bytes, engine_.parameters.copy(bytes), now);
        }
        case Transaction::Kind::data:
            if (unpacking_) complete(rank, e, size(e.peer, e));
            --left->receives;
            answer(rank, item, Transaction::Kind::acknowledgement, now);
            return 0;
        case Transaction::Kind::acknowledgement:
            --left->sends;
            engine_.transactions.give_back(item);
            return 0;
        case Transaction::Kind::eager_get:
        case Transaction::Kind::get:
            break;  // the NIC's
    }
    fail<std::logic_error>("simulator: a get request reached a rank");
}

}  // namespace tramontane
