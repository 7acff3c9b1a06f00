#include "ranks.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "random.hpp"
#include "statistics/imbalance.hpp"

namespace tramontane::pisces16 {
namespace {

constexpr std::int64_t control_bytes = 64;  ///< headers, get requests, acknowledgements
constexpr std::int64_t launch_bytes = 256;
constexpr std::size_t nowhere = ~std::size_t{0};

}  // namespace

/// The rank goes on when the event comes.
struct Ranks::Computing {
    Ranks& ranks;
    NodeId rank;
    Ticks until;
    LinkNumber link;

    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> self) const {
        ranks.ranks_[rank].resume = self;
        ranks.engine_.send(until, link, Event::Kind::wake, rank);
    }
    void await_resume() const {}
};

struct Ranks::NextMessage {
    Ranks& ranks;
    NodeId rank;
    Wait wait;

    [[nodiscard]] Index take() const {
        RankState& state = ranks.ranks_[rank];
        if (wait == Wait::initial) {
            return state.initial.empty() ? none : state.initial.pop(ranks.engine_.messages);
        }
        if (!state.point_to_point.empty()) return state.point_to_point.pop(ranks.engine_.messages);
        return state.collective.empty() ? none : state.collective.pop(ranks.engine_.messages);
    }
    bool await_ready() const {
        const RankState& state = ranks.ranks_[rank];
        if (wait == Wait::initial) return !state.initial.empty();
        return !state.point_to_point.empty() || !state.collective.empty();
    }
    void await_suspend(std::coroutine_handle<> self) const {
        ranks.ranks_[rank].resume = self;
        ranks.ranks_[rank].wait = wait;
    }
    Index await_resume() const { return take(); }
};

Ranks::Ranks(Engine& engine, Fabric& fabric, const Schedule& schedule, std::uint64_t seed, Ticks start_jitter)
    : engine_(engine), fabric_(fabric), schedule_(schedule), seed_(seed), start_jitter_(start_jitter) {
    ranks_.reserve(static_cast<std::size_t>(schedule.ranks()));
    for (Rank r = 0; r < schedule.ranks(); ++r) ranks_.emplace_back(engine.parameters.memory_slot);
    phases_.resize(schedule.phases().size());
    fabric_.on_arrival = [this](Index message) { arrive(message); };
}

// --- suspensions -----------------------------------------------------------------------------------------------------

Ranks::Computing Ranks::compute(NodeId rank, Ticks until, Numbers::Part part) {
    return {*this, rank, until, engine_.numbers.inside(rank, part)};
}

/// No time passes, but events that are due come first.
Ranks::Computing Ranks::turn(NodeId rank) { return compute(rank, engine_.now(), Numbers::Part::system); }

/// Three instructions a word; from 72 B on they request the words from memory.
Ranks::Computing Ranks::copy(NodeId rank, std::int64_t bytes) {
    const auto words = static_cast<Ticks>(bytes / 8);
    const Ticks instructions = 3 * words * engine_.parameters.instruction;
    const auto moved = static_cast<std::uint32_t>(8 * words);
    if (moved <= 64) return compute(rank, engine_.now() + instructions, Numbers::Part::node);
    const Ticks spacing = instructions / moved + engine_.parameters.memory_slot;
    return compute(rank, ranks_[rank].memory.book(engine_.now(), moved, spacing).tail, Numbers::Part::memory);
}

Ranks::NextMessage Ranks::next_message(NodeId rank, Wait wait) { return {*this, rank, wait}; }

// --- the program of a rank -------------------------------------------------------------------------------------------

Task Ranks::run(NodeId rank) {
    const auto ranks = static_cast<NodeId>(ranks_.size());
    co_await collect(rank, initial_allreduce(rank, ranks));
    co_await collect(rank, barrier(rank, ranks));
    if (start_jitter_ > 0) {
        const Ticks delay = below(random_bits(~seed_, rank, 0), start_jitter_ + 1);
        co_await compute(rank, engine_.now() + delay, Numbers::Part::system);
    }

    const Ticks begin = engine_.now();
    Ticks phase_begin = begin;
    std::size_t phase = 0;
    for (std::int64_t round = 0; round < schedule_.rounds(); ++round) {
        const Round size = schedule_.round(static_cast<Rank>(rank), round);
        for (; phase < static_cast<std::size_t>(size.phase); ++phase) {
            phases_[phase].add(phase_begin, engine_.now());
            phase_begin = engine_.now();
        }
        ranks_[rank].round = round;
        co_await run_round(rank, round, size);
    }
    for (; phase < phases_.size(); ++phase) {
        phases_[phase].add(phase_begin, engine_.now());
        phase_begin = engine_.now();
    }
    span_.add(begin, engine_.now());
    ranks_[rank].ended = true;
    ++ended_;

    // The skeleton of the reference reduces its times at once, while others are still at work: each report is three
    // reductions, the whole operation's first and then, if it has several phases, one for each.
    const std::size_t reports = phases_.size() > 1 ? 1 + phases_.size() : 1;
    for (std::size_t report = 0; report < reports; ++report) {
        for (const std::int64_t elements : {2, 1, 3}) co_await collect(rank, reduce(rank, ranks, elements));
    }
}

/// Posts all receives, then all sends, then waits for all.
Task Ranks::run_round(NodeId rank, std::int64_t round, Round size) {
    if (size.window > 0 || size.in_turn) {
        throw std::invalid_argument("workload: model pisces-16 posts all messages of a round at once");
    }
    RankState& state = ranks_[rank];
    const auto me = static_cast<Rank>(rank);
    state.outstanding = std::int64_t{size.receives} + size.sends;
    for (std::int32_t i = 0; i < size.receives; ++i) {
        const Transfer t = schedule_.receive(me, round, i);
        co_await post_receive(rank, {static_cast<NodeId>(t.peer), round, t.tag});
    }
    for (std::int32_t i = 0; i < size.sends; ++i) co_await post_send(rank, round, schedule_.send(me, round, i));
    while (state.outstanding > 0) {
        const Index message = co_await next_message(rank, Wait::any);
        co_await take(rank, message);
    }
}

Task Ranks::post_receive(NodeId rank, Receive receive) {
    RankState& state = ranks_[rank];
    const Index index = state.unexpected.take_first(engine_.messages, [&](const Message& m) {
        return m.source == receive.source && m.round == receive.round && m.tag == receive.tag;
    });
    if (index == none) {
        state.posted.push_back(receive);
        co_return;
    }
    Message& message = engine_.messages[index];
    if (message.kind == Message::Kind::header) {
        co_await turn(rank);
        answer(index, Message::Kind::get);
    } else {  // out of the buffer it was copied or got into
        co_await copy(rank, message.payload);
        --state.outstanding;
        engine_.messages.give_back(index);
    }
}

Task Ranks::post_send(NodeId rank, std::int64_t round, Transfer transfer) {
    const Parameters& p = engine_.parameters;
    RankState& state = ranks_[rank];
    const auto target = static_cast<NodeId>(transfer.peer);
    const std::uint32_t sequence = state.next_out[target]++;
    Message::Kind kind = Message::Kind::header;
    if (transfer.bytes <= p.short_limit) {
        kind = Message::Kind::eager;
        co_await copy(rank, transfer.bytes);
    } else if (transfer.bytes <= p.eager_limit) {
        kind = Message::Kind::eager_header;
    } else {
        co_await turn(rank);
    }
    ++engine_.statistics.messages;
    engine_.statistics.bytes += static_cast<std::uint64_t>(transfer.bytes);
    engine_.statistics.packets += (static_cast<std::uint64_t>(transfer.bytes) + p.packet - 1) / p.packet;
    add_count(state.bytes, static_cast<std::uint64_t>(transfer.bytes));
    const Index index = new_message(kind, rank, target, kind == Message::Kind::eager ? transfer.bytes : control_bytes);
    Message& message = engine_.messages[index];
    message.payload = transfer.bytes;
    message.round = round;
    message.tag = transfer.tag;
    message.sequence = sequence;
    send(index);
    if (kind != Message::Kind::header) --state.outstanding;  // complete as soon as it is sent
}

/// One message out of the queue of arrivals.
Task Ranks::take(NodeId rank, Index index) {
    RankState& state = ranks_[rank];
    Message& message = engine_.messages[index];
    if (message.is_collective()) {
        co_await take_collective(rank, index);
        co_return;
    }
    if (!message.is_envelope()) {
        co_await take_in_order(rank, index);
        co_return;
    }
    // Envelopes are handled in the order in which they were sent.
    const NodeId source = message.source;
    if (message.sequence != state.next_in[source]) {
        state.held.push_back(index);
        co_return;
    }
    for (Index next = index; next != none;) {
        co_await take_in_order(rank, next);
        const std::uint32_t expected = ++state.next_in[source];
        next = none;
        for (auto it = state.held.begin(); it != state.held.end(); ++it) {
            const Message& held = engine_.messages[*it];
            if (held.source != source || held.sequence != expected) continue;
            next = *it;
            state.held.erase(it);
            break;
        }
    }
}

Task Ranks::take_in_order(NodeId rank, Index index) {
    RankState& state = ranks_[rank];
    Message& message = engine_.messages[index];
    switch (message.kind) {
        case Message::Kind::eager: {
            const bool matched = match(state, message);
            if (!matched) state.unexpected.append(engine_.messages, index);
            co_await copy(rank, message.payload);  // unmatched: into a buffer, and again by the receive
            if (!matched) break;
            --state.outstanding;
            engine_.messages.give_back(index);
            break;
        }
        case Message::Kind::eager_header:  // whether or not there is a receive
            answer(index, Message::Kind::eager_get);
            break;
        case Message::Kind::eager_data:
            if (!match(state, message)) {
                state.unexpected.append(engine_.messages, index);
                break;
            }
            co_await copy(rank, message.payload);
            --state.outstanding;
            engine_.messages.give_back(index);
            break;
        case Message::Kind::header:
            if (!match(state, message)) {
                state.unexpected.append(engine_.messages, index);
                break;
            }
            co_await turn(rank);
            answer(index, Message::Kind::get);
            break;
        case Message::Kind::data:
            --state.outstanding;
            answer(index, Message::Kind::acknowledgement);
            break;
        case Message::Kind::acknowledgement:
            --state.outstanding;
            engine_.messages.give_back(index);
            break;
        default:
            throw std::logic_error("pisces-16: a message that no rank takes");
    }
}

bool Ranks::match(RankState& state, const Message& message) {
    const auto found = std::find_if(state.posted.begin(), state.posted.end(), [&](const Receive& r) {
        return r.source == message.source && r.round == message.round && r.tag == message.tag;
    });
    if (found == state.posted.end()) return false;
    state.posted.erase(found);
    return true;
}

// --- collectives -----------------------------------------------------------------------------------------------------

Task Ranks::collect(NodeId rank, Collective collective) {
    RankState& state = ranks_[rank];
    const std::uint32_t number = state.collectives;
    const Wait wait = number == 0 ? Wait::initial : Wait::any;
    state.running = std::move(collective);
    state.actions_left = state.running.actions.size();
    if (state.running.initial_copy >= 0) co_await copy(rank, state.running.initial_copy);
    ++state.collectives;
    for (const std::size_t action : state.running.first) co_await start_action(rank, action);
    while (true) {  // messages that were here before the collective
        const Index index = state.ahead.take_first(engine_.messages, [&](const Message& m) {
            return m.sequence == number && find_action(state, m) != nowhere;
        });
        if (index == none) break;
        co_await take_collective(rank, index);
    }
    while (state.actions_left > 0) {
        const Index message = co_await next_message(rank, wait);
        co_await take(rank, message);
    }
}

/// The running action a message belongs to.
std::size_t Ranks::find_action(const RankState& state, const Message& message) const {
    if (message.sequence + 1 != state.collectives) return nowhere;
    const bool sends = message.kind == Message::Kind::collective_sent;
    const NodeId partner = sends ? message.target : message.source;
    const auto& actions = state.running.actions;
    for (std::size_t i = 0; i < actions.size(); ++i) {
        const Action& a = actions[i];
        if (a.active && a.sends == sends && a.round == message.round && a.partner == partner) return i;
    }
    return nowhere;
}

Task Ranks::take_collective(NodeId rank, Index index) {
    RankState& state = ranks_[rank];
    const std::size_t action = find_action(state, engine_.messages[index]);
    if (action == nowhere) {
        state.ahead.append(engine_.messages, index);
        co_return;
    }
    if (!state.running.actions[action].sends && state.running.copies) {
        co_await copy(rank, state.running.actions[action].bytes);
    }
    engine_.messages.give_back(index);
    co_await end_action(rank, action);
}

Task Ranks::start_action(NodeId rank, std::size_t i) {
    RankState& state = ranks_[rank];
    Action& action = state.running.actions[i];
    action.active = true;
    if (action.sends) {
        const Index index = new_message(Message::Kind::collective, rank, action.partner, action.bytes);
        engine_.messages[index].round = action.round;
        engine_.messages[index].sequence = state.collectives - 1;
        send(index);
        co_return;
    }
    const Index index = state.ahead.take_first(engine_.messages, [&](const Message& m) {
        return m.sequence + 1 == state.collectives && m.kind == Message::Kind::collective && m.round == action.round &&
               m.source == action.partner;
    });
    if (index != none) co_await take_collective(rank, index);
}

Task Ranks::end_action(NodeId rank, std::size_t i) {
    RankState& state = ranks_[rank];
    state.running.actions[i].active = false;
    --state.actions_left;
    for (const std::size_t follower : state.running.actions[i].followers) {
        if (--state.running.actions[follower].waits_for == 0) co_await start_action(rank, follower);
    }
}

// --- messages --------------------------------------------------------------------------------------------------------

/// Rank 0's launch message is a copy in its own memory, so that it starts a little after 0.
void Ranks::launch() {
    const Ticks copied = ranks_[0].memory.book(0, launch_bytes, engine_.parameters.memory_slot).tail;
    const Index index = new_message(Message::Kind::launch, 0, 0, launch_bytes);
    engine_.send(copied, engine_.numbers.inside(0, Numbers::Part::memory), Event::Kind::message, 0, index);
}

/// Rank r starts the ranks that differ from it in one bit below its lowest one, the highest first.
void Ranks::forward_launch(NodeId rank) {
    const auto ranks = static_cast<NodeId>(ranks_.size());
    for (NodeId bit = rank == 0 ? std::bit_ceil(ranks) : rank & (~rank + 1); bit >>= 1, bit > 0;) {
        if (rank + bit >= ranks) continue;
        engine_.send(engine_.now(), Numbers::logp_out(rank), Event::Kind::logp_send, rank,
                     new_message(Message::Kind::launch, rank, rank + bit, launch_bytes));
    }
}

void Ranks::start(NodeId rank, Index message) {
    RankState& state = ranks_[rank];
    engine_.messages.give_back(message);
    forward_launch(rank);
    state.launched = true;
    while (!state.early.empty()) {
        engine_.send(engine_.now(), engine_.numbers.inside(rank, Numbers::Part::system), Event::Kind::message, rank,
                     state.early.pop(engine_.messages));
    }
    state.program = run(rank);
    state.program.start();
}

Index Ranks::new_message(Message::Kind kind, NodeId source, NodeId target, std::int64_t bytes) {
    const Index index = engine_.messages.take();
    Message& message = engine_.messages[index];
    message = {};
    message.kind = kind;
    message.source = source;
    message.target = target;
    message.bytes = bytes;
    return index;
}

/// Small messages take a path of their own without contention; messages of no bytes always do.
void Ranks::send(Index index) {
    Message& message = engine_.messages[index];
    message.sent = message.arrived = 0;
    if (message.bytes > 0 && message.bytes > engine_.parameters.negligible_size) return fabric_.post(index);
    if (message.carries_payload()) {
        const std::int64_t packet = engine_.parameters.packet;
        const auto packets = static_cast<std::uint64_t>((message.bytes + packet - 1) / packet);
        engine_.delays.add(0, message.source, message.target, packets);
    }
    engine_.send(engine_.now(), Numbers::logp_out(message.source), Event::Kind::logp_send, message.source, index);
    if (message.kind != Message::Kind::collective) return;
    const Index note = engine_.messages.take();
    engine_.messages[note] = message;
    engine_.messages[note].kind = Message::Kind::collective_sent;
    engine_.send(engine_.now(), engine_.numbers.inside(message.source, Numbers::Part::node), Event::Kind::message,
                 message.source, note);
}

/// Sends the record back where it came from, as the protocol's next message.
void Ranks::answer(Index index, Message::Kind kind) {
    Message& message = engine_.messages[index];
    std::swap(message.source, message.target);
    message.kind = kind;
    message.bytes = message.carries_payload() ? message.payload : control_bytes;
    send(index);
}

void Ranks::handle(const Event& event) {
    switch (event.kind) {
        case Event::Kind::wake: {
            RankState& state = ranks_[event.target];
            state.resume.resume();
            state.program.check();
            return;
        }
        case Event::Kind::logp_send: {
            const Parameters& p = engine_.parameters;
            const Message& message = engine_.messages[event.item];
            Network& network = fabric_.network();
            const Ticks hops = network.logp_hops(network.switch_of(message.source), network.switch_of(message.target));
            const auto bytes = static_cast<Ticks>(message.bytes);
            check_event(bytes > end_of_time / p.logp_slot ? ~Ticks{0} : bytes * p.logp_slot);
            const Ticks delay = p.logp_out_in_latency + hops * p.logp_hop_latency + bytes * p.logp_slot;
            return engine_.send(engine_.now() + delay, Numbers::logp_in(message.target), Event::Kind::message,
                                message.target, event.item);
        }
        case Event::Kind::message: {
            if (engine_.messages[event.item].kind == Message::Kind::collective_sent) {
                return deliver(event.target, event.item);
            }
            return arrive(event.item);
        }
        default:
            return fabric_.handle(event);
    }
}

/// Get requests are answered by the NIC; all else is for the rank.
void Ranks::arrive(Index index) {
    const Message& message = engine_.messages[index];
    switch (message.kind) {
        case Message::Kind::get:
            return answer(index, Message::Kind::data);
        case Message::Kind::eager_get:
            return answer(index, Message::Kind::eager_data);
        case Message::Kind::launch:
            return start(message.target, index);
        default:
            return deliver(message.target, index);
    }
}

IntrusiveQueue& Ranks::queue_of(RankState& state, const Message& message) {
    if (!message.is_collective()) return state.point_to_point;
    return message.sequence == 0 ? state.initial : state.collective;
}

void Ranks::deliver(NodeId rank, Index index) {
    RankState& state = ranks_[rank];
    const Message& message = engine_.messages[index];
    if (!state.launched) return state.early.append(engine_.messages, index);
    queue_of(state, message).append(engine_.messages, index);
    const bool is_initial = message.is_collective() && message.sequence == 0;
    if (state.wait != (is_initial ? Wait::initial : Wait::any)) return;
    state.wait = Wait::nothing;
    state.resume.resume();
    state.program.check();
}

// --- results ---------------------------------------------------------------------------------------------------------

double Ranks::imbalance() const { return tramontane::imbalance(ranks_.data(), ranks_.size(), ranks_.size()); }

std::string Ranks::waiting(int limit) const {
    std::string text;
    for (std::size_t rank = 0; rank < ranks_.size() && limit > 0; ++rank) {
        const RankState& state = ranks_[rank];
        if (state.ended) continue;
        text += "; rank " + std::to_string(rank);
        text += state.round < 0 ? std::string(" waits in MPI_Init or MPI_Barrier")
                                : " in round " + std::to_string(state.round) + " waits for " +
                                      std::to_string(state.outstanding) + " requests";
        --limit;
    }
    return text;
}

}  // namespace tramontane::pisces16
