/// \file
/// The rank of a node, where it follows a graph of operations. Its processor does one thing at a time:
///
///   - it starts what is ready, in the order in which that has become so; what becomes ready together, in the order of
///     its numbers, so that receives are posted before sends, and sends before work begins;
///   - where nothing is ready, it looks at what has arrived, one message after the other.
///
/// So messages are looked at when a rank that runs rounds would wait. The states are the same as there: `works`,
/// `prepares_send`, `receives` and `busy` until an event, and `waits`. The protocol is, too; a message says which
/// receive (`round`) and which send (`index`) are its ends. What is put goes from interface to interface, and what is
/// pulled from the interface of its source, whatever the ranks at the other end do.
///
/// A rank may have other processors beside processor 0 (`OtherCpu`). Each does one thing at a time, too, in the order
/// in which that became ready: it works beside processor 0, and hands messages over to that one, which does for them
/// what it does for its own.
#pragma once

#include "rules/node.hpp"

namespace tramontane {

/// The operations of a rank, and how far they are.
class OwnOperations {
public:
    TRAMONTANE_RULE OwnOperations(GraphRecords& graph, std::uint32_t rank)
        : operations(graph.of(rank)), follower(graph.followers[rank]), graph_(graph), rank_(rank) {}

    const GraphTable::Operations operations;
    Follower& follower;

    TRAMONTANE_RULE void append_ready(std::uint32_t operation) {
        if (const std::uint32_t cpu = operations.cpu_of(operation); cpu > 0) [[unlikely]]
            return append_ready(graph_.cpu(rank_, cpu), operation);
        append_ready(follower, operation);
    }
    /// The first operation that is ready, which starts now. \pre there is one
    TRAMONTANE_RULE std::uint32_t start_ready() { return start_ready(follower); }
    TRAMONTANE_RULE std::uint32_t start_ready(auto& processor) {
        const std::uint32_t operation = processor.first_ready - 1;
        OperationState& state = graph_(operations, operation);
        processor.first_ready = state.number;
        if (processor.first_ready == 0) processor.last_ready = 0;
        state.number = OperationState::started;
        return operation;
    }
    TRAMONTANE_RULE void append_ready(auto& processor, std::uint32_t operation) {
        graph_(operations, operation).number = 0;
        if (processor.last_ready == 0) {
            processor.first_ready = operation + 1;
        } else {
            graph_(operations, processor.last_ready - 1).number = operation + 1;
        }
        processor.last_ready = operation + 1;
    }
    /// Whether there is something for processor 0 to do beside what has arrived.
    [[nodiscard]] TRAMONTANE_RULE bool has_to_act() const {
        return follower.first_ready > 0 || follower.ended == operations.count();
    }
    [[nodiscard]] TRAMONTANE_RULE bool receive_is_ready() const {
        return follower.first_ready > 0 && operations.is_receive(follower.first_ready - 1);
    }

    /// The operation ends when the processor is free.
    TRAMONTANE_RULE void let_end(std::uint32_t operation) {
        graph_(operations, operation).number = follower.ending;
        follower.ending = operation + 1;
    }
    TRAMONTANE_RULE void end_all() {
        while (follower.ending != 0) {
            const std::uint32_t operation = follower.ending - 1;
            follower.ending = graph_(operations, operation).number;
            end(operation);
        }
    }
    TRAMONTANE_RULE void end(std::uint32_t operation) {
        OperationState& state = graph_(operations, operation);
        state.number = OperationState::ended;
        ++follower.ended;
        if (state.by_end != 0) {
            release_all(state, false);
        } else if (state.by_start == 0 && state.dependent != 0) {
            release(state.dependent - 1);
        }
    }
    /// An operation has started, and what waited for that waits for one less.
    TRAMONTANE_RULE void show_start(std::uint32_t operation) {
        if (const OperationState& state = graph_(operations, operation); state.by_start != 0) release_all(state, true);
    }

    /// \param receive its number
    [[nodiscard]] TRAMONTANE_RULE GraphTable::How how_comes(std::uint32_t receive) const {
        const GraphTable::Receive& own = operations.receives[receive];
        return graph_.of(static_cast<std::uint32_t>(own.source)).sends[own.send].how();
    }
    /// Whether other ranks, or interfaces, do an operation: a put to this rank, or what is pulled from it.
    [[nodiscard]] TRAMONTANE_RULE bool is_of_others(std::uint32_t operation) const {
        if (operations.is_send(operation))
            return operations.sends[operations.send_of(operation)].how() == GraphTable::How::pulled;
        if (!operations.is_receive(operation)) return false;
        const GraphTable::How how = how_comes(operation);
        return how == GraphTable::How::put || how == GraphTable::How::acknowledged_put;
    }
    /// Puts to this rank end when they come, which may have been before; what is pulled from it is not its own to wait
    /// for.
    TRAMONTANE_RULE void leave_to_others(std::uint32_t operation) {
        OperationState& state = graph_(operations, operation);
        if (operations.is_send(operation)) {
            end(operation);
        } else if (state.number != OperationState::ended) {
            state.number = OperationState::started;
        }
    }

private:
    TRAMONTANE_RULE void release_all(const OperationState& state, bool by_start) {
        const GraphTable::Dependent* each = operations.all_dependents + state.dependent;
        while (true) {
            if ((each->on_start != 0) == by_start) release(each->operation);
            if (each->last != 0) return;
            ++each;
        }
    }
    /// An operation waits for one less; it may be ready.
    TRAMONTANE_RULE void release(std::uint32_t operation) {
        if (--graph_(operations, operation).number == 0) append_ready(operation);
    }

    GraphRecords& graph_;
    std::uint32_t rank_;
};

/// Goes on until the rank is busy, waits for the network, or has ended.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::follow(Node& node, std::uint32_t rank, Ticks now) {
    follow_first_cpu(node, rank, now);
    if (graph_->other_cpus > 0) [[unlikely]]
        start_other_cpus(node, rank, now);
}

/// Processors beside processor 0 that are not busy start what is ready for them.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::start_other_cpus(Node& node, std::uint32_t rank, Ticks now) {
    OwnOperations own(*graph_, rank);
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (std::uint32_t number = 1; number <= graph_->other_cpus; ++number) {
            OtherCpu& cpu = graph_->cpu(rank, number);
            while (cpu.working == 0 && cpu.first_ready > 0) {
                goes_on = true;  // others may have waited for it
                const std::uint32_t operation = own.start_ready(cpu);
                if (own.operations.is_receive(operation) || own.operations.is_send(operation)) {
                    own.append_ready(own.follower, operation);
                    continue;
                }
                own.show_start(operation);
                const std::int64_t told = own.operations.works[own.operations.work_of(operation)];
                const Ticks work = from_picoseconds(graph_->scaled(told));
                if (work == 0) {
                    own.end(operation);
                    continue;
                }
                totals_[static_cast<std::size_t>(node.phase)].work += work;
                cpu.working = operation + 1;
                const Ticks end = noise_.end(rank, now, work);
                if (waiting_) [[unlikely]]
                    waiting_->work_beside(rank, number, now, end, stretches_);
                const Address at = places_.address(places_.of(rank));
                engine_.schedule(end, engine_.switches + at.node,
                                 node_code(EventKind::resume, number << places_.bits() | at.local));
            }
        }
    }
}

/// What another processor than 0 worked at is done.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::other_cpu_goes_on(std::uint32_t place, std::uint32_t number,
                                                                    Ticks now) {
    const std::uint32_t rank = places_.rank_at(place);
    Node& node = this->node(place);
    OwnOperations own(*graph_, rank);
    OtherCpu& cpu = graph_->cpu(rank, number);
    apply_returned_credits_of(place, now);
    own.end(std::exchange(cpu.working, 0) - 1);
    start_other_cpus(node, rank, now);
    if (node.state == RankState::waits && own.has_to_act()) {
        if (is_interrupted(rank, now)) {
            node.state = RankState::busy;
            resume_at(rank, noise_.end(rank, now, 0));
        } else {
            follow(node, rank, now);
        }
    }
    wake_of(place, now);
}

/// What processor 0 does of it.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::follow_first_cpu(Node& node, std::uint32_t rank, Ticks now) {
    OwnOperations own(*graph_, rank);
    Follower& follower = own.follower;
    bool has_paid = false;  // the overhead of the message that is looked at next
    switch (node.state) {
        case RankState::begins_round:
            begin_graph(node, rank, now);
            break;
        case RankState::prepares_send:
            post_operation(node, rank, follower.preparing - 1, now);
            break;
        case RankState::receives:
            has_paid = true;
            break;
        case RankState::ended:
            return;
        default:
            break;
    }
    own.end_all();
    node.state = RankState::waits;
    while (true) {
        if (graph_->other_cpus > 0) [[unlikely]]
            start_other_cpus(node, rank, now);
        if (follower.first_ready > 0 && !has_paid) {
            if (start_operation(node, rank, now)) return;
        } else if (follower.ended == own.operations.count()) {
            node.state = RankState::ended;
            leave_phase(node, now);
            engine_.ends().end(now);
            return;
        } else if (node.arrived.empty()) {
            if (waiting_) [[unlikely]]
                waiting_->idle(rank, now);
            return;
        } else if (const Ticks work = has_paid ? 0 : looking_for_operation(node.arrived.first); work > 0) {
            node.state = RankState::receives;
            return resume_after(node, rank, now, work);
        } else {
            has_paid = false;
            const auto [copying, done] = take_for_operation(rank, node.arrived.pop(engine_.transactions), now);
            if (done != nothing_done) own.let_end(done);
            if (copying > 0) {
                node.state = RankState::busy;
                return resume_after(node, rank, now, copying);
            }
            own.end_all();
        }
    }
}

template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::begin_graph(Node& node, std::uint32_t rank, Ticks now) {
    OwnOperations own(*graph_, rank);
    enter_phase(node, 0, now);
    const bool one_sided = has_puts_;
    for (std::uint32_t operation = 0; operation < own.operations.count(); ++operation) {
        if (own.operations.needs[operation] > 0) continue;
        if (one_sided && own.is_of_others(operation)) {
            own.leave_to_others(operation);
        } else {
            own.append_ready(operation);
        }
    }
}

template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::enter_phase(Node& node, std::int16_t phase, Ticks now) {
    node.phase = phase;
    const auto own = static_cast<std::size_t>(phase);
    phases_[own].begin = std::min(phases_[own].begin, now);
    totals_[own].begun += now;
}

template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::leave_phase(const Node& node, Ticks now) {
    const auto own = static_cast<std::size_t>(node.phase);
    phases_[own].end = std::max(phases_[own].end, now);
    totals_[own].ended += now;
}

/// Starts what is ready first. Returns whether the processor is busy with it.
template <class Engine, class Switches>
TRAMONTANE_RULE bool NodeRules<Engine, Switches>::start_operation(Node& node, std::uint32_t rank, Ticks now) {
    OwnOperations own(*graph_, rank);
    if (own.receive_is_ready()) return post_receives(node, rank, now);
    const std::uint32_t operation = own.start_ready();
    if (own.operations.is_send(operation)) {
        own.follower.next_send = operation + 1;
        const GraphTable::Send& send = own.operations.sends[own.operations.send_of(operation)];
        const Ticks work = send.how() == GraphTable::How::sent ? preparing(node, rank, send.bytes(), now) : 0;
        if (work == 0) {
            post_operation(node, rank, operation, now);
            return false;
        }
        own.follower.preparing = operation + 1;
        node.state = RankState::prepares_send;
        resume_after(node, rank, now, work);
        return true;
    }
    own.follower.next_work = operation + 1;
    own.show_start(operation);
    const std::int64_t told = own.operations.works[own.operations.work_of(operation)];
    if (told < 0) {
        leave_phase(node, now);
        enter_phase(node, graph_->table.phase_of(told), now);
    }
    const Ticks work = told < 0 ? 0 : from_picoseconds(graph_->scaled(told));
    own.let_end(operation);
    if (work == 0) {
        own.end_all();
        return false;
    }
    totals_[static_cast<std::size_t>(node.phase)].work += work;
    node.state = RankState::works;
    const Ticks end = noise_.end(rank, now, work);
    if (waiting_) [[unlikely]]
        waiting_->work(rank, now, end, stretches_);
    resume_at(rank, end);
    return true;
}

/// Posts all receives that are ready before anything else. Of messages that are here already, headers are answered, and
/// payloads copied, in the order in which they came. Returns whether there is something to copy.
template <class Engine, class Switches>
TRAMONTANE_RULE bool NodeRules<Engine, Switches>::post_receives(Node& node, std::uint32_t rank, Ticks now) {
    OwnOperations own(*graph_, rank);
    Index here = none;  // a chain: the place of each message in `early` says which is next
    while (own.receive_is_ready()) {
        const std::uint32_t receive = own.start_ready();
        own.follower.next_receive = receive + 1;
        if (has_puts_ && own.how_comes(receive) == GraphTable::How::pulled) {
            pull(node, rank, receive, now);
            own.show_start(receive);
            continue;
        }
        if ((*graph_)(own.operations, receive).comes_early != 0) {
            here = std::exchange(graph_->early_of(own.operations, receive), here);
        }
        own.show_start(receive);
    }
    Ticks copying = 0;
    for (Index item = in_order(own.operations, here); item != none;) {
        const Transaction& e = engine_.transactions[item];
        const Index next = after(own.operations, item);
        if (e.kind() == Transaction::Kind::header) {
            answer(rank, item, Transaction::Kind::get, now);
        } else {
            const std::uint32_t receive = e.round;
            copying += engine_.parameters.copy(e.bytes);
            check_step(copying);
            engine_.transactions.give_back(item);
            own.let_end(receive);
        }
        item = next;
    }
    if (copying > 0) {
        node.state = RankState::busy;
        resume_after(node, rank, now, copying);
        return true;
    }
    own.end_all();
    return false;
}

/// Sorts a chain of messages that came early by when they came: by merging, since there is no array to sort.
template <class Engine, class Switches>
TRAMONTANE_RULE Index NodeRules<Engine, Switches>::in_order(const GraphTable::Operations& own, Index first) {
    if (first == none || after(own, first) == none) return first;
    Index sorted[28] = {};  // of 2^i messages each; a rank has fewer than 2^28 operations
    while (first != none) {
        Index chain = std::exchange(first, after(own, first));
        after(own, chain) = none;
        std::uint32_t i = 0;
        for (; sorted[i] != none; ++i) chain = merged(own, std::exchange(sorted[i], Index{none}), chain);
        sorted[i] = chain;
    }
    for (const Index chain : sorted) first = merged(own, chain, first);
    return first;
}

/// Of two chains that are sorted, one.
template <class Engine, class Switches>
TRAMONTANE_RULE Index NodeRules<Engine, Switches>::merged(const GraphTable::Operations& own, Index a, Index b) {
    Index first = none;
    Index* last = &first;
    while (a != none && b != none) {
        Index& earlier = engine_.transactions[a].next < engine_.transactions[b].next ? a : b;
        *last = earlier;
        last = &after(own, earlier);
        earlier = *last;
    }
    *last = a != none ? a : b;
    return first;
}

/// Asks the interface of a source for data.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::pull(Node& node, std::uint32_t rank, std::uint32_t receive,
                                                       Ticks now) {
    const GraphTable::Operations own = graph_->of(rank);
    const GraphTable::Receive& data = own.receives[receive];
    const GraphTable::Send& there = graph_->of(static_cast<std::uint32_t>(data.source)).sends[data.send];
    node.round = receive;
    node.next_send = static_cast<std::int32_t>(data.send);
    post_first(node, rank, {data.source, 0, there.bytes()}, Transaction::Kind::get, control_bytes, now);
}

/// Posts a send that has been prepared.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::post_operation(Node& node, std::uint32_t rank,
                                                                 std::uint32_t operation, Ticks now) {
    OwnOperations own(*graph_, rank);
    const Parameters& p = engine_.parameters;
    const std::uint32_t number = own.operations.send_of(operation);
    const GraphTable::Send& t = own.operations.sends[number];
    const GraphTable::How how = t.how();
    const std::int64_t bytes = t.bytes();
    const Transaction::Kind kind = how != GraphTable::How::sent ? Transaction::Kind::data
                                   : bytes <= p.short_limit     ? Transaction::Kind::eager
                                   : bytes <= p.eager_limit     ? Transaction::Kind::eager_header
                                                                : Transaction::Kind::header;
    node.round = t.receive;
    node.next_send = static_cast<std::int32_t>(number);
    const bool carries_payload = kind == Transaction::Kind::eager || kind == Transaction::Kind::data;
    if (!carries_payload) ++node.unanswered;
    post_first(node, rank, {t.target, 0, bytes}, kind, carries_payload ? bytes : control_bytes, now);
    own.show_start(operation);
    if (kind != Transaction::Kind::header && how != GraphTable::How::acknowledged_put) own.end(operation);
}

/// What was put or pulled, or the acknowledgement of it: interfaces move both, whatever the ranks are doing.
template <class Engine, class Switches>
TRAMONTANE_RULE bool NodeRules<Engine, Switches>::take_put_for_operation(std::uint32_t rank, Index item, Ticks now) {
    OwnOperations own(*graph_, rank);
    const Transaction& e = engine_.transactions[item];
    const std::uint32_t receive = e.round, send = e.index();
    if (e.kind() == Transaction::Kind::acknowledgement) {
        if (own.operations.sends[send].how() == GraphTable::How::sent) return false;
        engine_.transactions.give_back(item);
        own.end(own.operations.operation_of_send(send));
        return true;
    }
    if (e.kind() != Transaction::Kind::data) return false;
    const GraphTable::How how = own.how_comes(receive);
    if (how == GraphTable::How::sent) return false;
    own.end(receive);
    if (how == GraphTable::How::acknowledged_put) {
        answer(rank, item, Transaction::Kind::acknowledgement, now);
    } else {
        engine_.transactions.give_back(item);
    }
    return true;
}

/// How long a rank is busy with a message that has arrived before it takes it.
template <class Engine, class Switches>
TRAMONTANE_RULE Ticks NodeRules<Engine, Switches>::looking_for_operation(Index item) const {
    const Transaction& e = engine_.transactions[item];
    if (!engine_.parameters.costs.of_looking() || !e.carries_payload()) return 0;
    return engine_.parameters.costs.receive(e.is_eager_payload() ? e.bytes : size(e.peer, e));
}

/// Looks at a message. Returns how long the rank is busy with it, and the operation that is done then.
template <class Engine, class Switches>
TRAMONTANE_RULE typename NodeRules<Engine, Switches>::Taken NodeRules<Engine, Switches>::take_for_operation(
    std::uint32_t rank, Index item, Ticks now) {
    OwnOperations own(*graph_, rank);
    Transaction& e = engine_.transactions[item];
    const std::uint32_t receive = e.round, send = e.index();
    if (e.kind() == Transaction::Kind::acknowledgement) {
        engine_.transactions.give_back(item);
        return {0, own.operations.operation_of_send(send)};
    }
    if (e.kind() == Transaction::Kind::eager_header) {
        answer(rank, item, Transaction::Kind::eager_get, now);
        return {0, nothing_done};
    }
    if (e.kind() == Transaction::Kind::data) {
        answer(rank, item, Transaction::Kind::acknowledgement, now);
        return {0, receive};
    }
    const bool is_posted = graph_->is_posted(own.operations, receive);
    if (!is_posted) {  // an eager message goes into a buffer now, and out of it when the receive is posted
        (*graph_)(own.operations, receive).comes_early = 1;
        graph_->early_of(own.operations, receive) = item;
        e.next = own.follower.early++;
        return {e.kind() == Transaction::Kind::eager ? engine_.parameters.copy(e.bytes) : 0, nothing_done};
    }
    if (e.kind() == Transaction::Kind::header) {
        answer(rank, item, Transaction::Kind::get, now);
        return {0, nothing_done};
    }
    const Ticks copying = engine_.parameters.copy(e.bytes);
    engine_.transactions.give_back(item);
    return {copying, receive};
}

/// The same by a NIC that matches messages by itself; see take_by_hardware.
template <class Engine, class Switches>
TRAMONTANE_RULE void NodeRules<Engine, Switches>::take_for_operation_by_hardware(std::uint32_t rank, Index item,
                                                                                 Ticks now) {
    const auto [copying, done] = take_for_operation(rank, item, now);
    if (done == nothing_done) return;
    OwnOperations(*graph_, rank).end(done);
    if (graph_->other_cpus > 0) [[unlikely]]
        start_other_cpus(node(places_.of(rank)), rank, now);
}

}  // namespace tramontane
