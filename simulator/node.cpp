#include "node.hpp"

#include <stdexcept>
#include <utility>

namespace tramontane {
namespace {

std::uint32_t checked_rounds(std::int64_t rounds) {
    if (rounds > std::numeric_limits<std::uint32_t>::max()) throw std::invalid_argument("workload: too many rounds");
    return static_cast<std::uint32_t>(rounds);
}

}  // namespace

Nodes::Nodes(Engine& engine, Fabric& fabric, const Machine& machine, const Topology& topology, const Places& places,
             const Allocation& allocation, const Schedule& schedule, const Noise& noise, const Repeats& repeats,
             std::shared_ptr<Waiting> waiting)
    : engine_(engine),
      fabric_(fabric),
      topology_(topology),
      places_(places),
      allocation_(allocation),
      schedule_(schedule),
      noise_(noise),
      has_puts_(schedule.one_sided()),
      copies_share_(machine.copies_share_memory && places.several() && machine.node_memory_bandwidth > 0),
      stripe_above_(places.stripes() ? std::max(machine.stripe_above, machine.packet)
                                     : std::numeric_limits<std::int64_t>::max()),
      is_seen_(has_puts_ || machine.hardware_progress || machine.direct_eager || copies_share_),
      notes_arrivals_(machine.direct_eager || (machine.unpack_per_byte > 0 && machine.unpacks_in_order)),
      repeats_(repeats),
      rounds_(checked_rounds(schedule.rounds())),
      ranks_(static_cast<std::uint32_t>(schedule.ranks())),
      nodes_(allocate_pages<Node>(places.count())),
      open_(allocate_zeros<Index>(ranks_)),
      graph_(schedule.graph() == nullptr ? nullptr : std::make_shared<GraphState>(*schedule.graph())),
      phases_(schedule.phases().size()),
      totals_(phases_.size()),
      waiting_(std::move(waiting)) {
    const std::uint32_t count = places.count();
    for (std::uint32_t nic = 0; nic < count; ++nic) nodes_[nic].nic = NicChannel(engine.parameters.buffer);
    if (places.several() && engine.parameters.node_memory_slot > 0) {
        memory_until_ = std::make_shared<Ticks[]>(places.nodes());
    }
    if (engine.parameters.message_gap > 0) next_message_ = std::make_shared<Ticks[]>(count);
    if (engine.parameters.costs.of_unexpected()) unexpected_ = std::make_shared<std::uint32_t[]>(ranks_);
    if (machine.unpack_per_byte > 0) unpacking_ = std::make_shared<Unpacking>(machine, schedule);
}

Nodes::Nodes(const Nodes& first, Engine& engine, Fabric& fabric)
    : engine_(engine),
      fabric_(fabric),
      topology_(first.topology_),
      places_(first.places_),
      allocation_(first.allocation_),
      schedule_(first.schedule_),
      noise_(first.noise_),
      has_puts_(first.has_puts_),
      copies_share_(first.copies_share_),
      stripe_above_(first.stripe_above_),
      is_seen_(first.is_seen_),
      notes_arrivals_(first.notes_arrivals_),
      repeats_(first.repeats_),
      rounds_(first.rounds_),
      ranks_(first.ranks_),
      nodes_(first.nodes_),
      memory_until_(first.memory_until_),
      next_message_(first.next_message_),
      unexpected_(first.unexpected_),
      unpacking_(first.unpacking_),
      open_(first.open_),
      graph_(first.graph_),
      phases_(first.phases_.size()),
      totals_(phases_.size()),
      waiting_(first.waiting_) {}

// --- events ----------------------------------------------------------------------------------------------------------

void Nodes::AnyEvent::fetch(const Nodes& nodes, const Event& event) {
    const std::uint32_t place = nodes.engine_.place_of(event), nic = nodes.places_.nic_of(place);
    const auto fetch_node = [&](std::uint32_t of) {
        const auto* node = reinterpret_cast<const std::byte*>(&nodes.nodes_[of]);
        for (std::size_t line = 0; line < sizeof(Node); line += 64) prefetch_line(node + line);
    };
    fetch_node(place);
    if (nic != place) fetch_node(nic);
    prefetch_line(&nodes.fabric_.injection(nic));
}

/// What the next packet of the rank will need.
void Nodes::AnyEvent::approach(const Nodes& nodes, const Event& event) {
    const Engine& engine = nodes.engine_;
    const std::uint32_t place = engine.place_of(event), nic = nodes.places_.nic_of(place);
    Node& node = nodes.nodes_[place];
    const NicChannel& messages = nodes.nodes_[nic].nic;
    const NodeChannel& link = nodes.fabric_.injection(nic).channel;
    messages.prefetch(engine.credits);
    link.prefetch(engine.credits);
    engine.packets.prefetch(link.waiting.first_full());
    engine.packets.prefetch(link.waiting.last_full());
    engine.packets.prefetch(link.waiting.last_other());
    engine.transactions.prefetch(messages.waiting.first);
    engine.transactions.prefetch(node.arrived.first);
    engine.transactions.prefetch(node.early_of(node.round + 1).top());
}

/// The record of the message that the next packet will be cut from, or that of its rank, and the first messages of the
/// next round.
void Nodes::AnyEvent::reach(const Nodes& nodes, const Event& event) {
    const Engine& engine = nodes.engine_;
    const std::uint32_t place = engine.place_of(event), nic = nodes.places_.nic_of(place);
    Node& node = nodes.nodes_[place];
    const Index first = nodes.nodes_[nic].nic.waiting.first;
    if (first != none) {
        const Transaction& e = engine.transactions[first];
        if (e.begun()) {
            engine.messages.prefetch(e.message);
        } else if (nodes.places_.several()) {
            prefetch_line(&nodes.nodes_[nodes.places_.beside(nic, e.peer)]);
        }
    }
    engine.packets.prefetch(nodes.fabric_.injection(nic).channel.waiting.first_other(engine.packets));
    const Index early = node.early_of(node.round + 1).top();
    if (early != none) engine.transactions.prefetch(engine.transactions[early].next);
}

void Nodes::NicWake::handle(Nodes& nodes, const Event& event, Ticks now) {
    const std::uint32_t nic = nodes.engine_.place_of(event);
    Ticks& due = nodes.fabric_.injection(nic).wake;
    if (due != now) return;  // an earlier one has seen to everything
    due = Fabric::never;
    Node& node = nodes.node(nic);
    nodes.apply_returned_credits(node, nic, now);
    nodes.wake(node, nic, now);
}

void Nodes::Start::handle(Nodes& nodes, const Event& event, Ticks now) {
    const std::uint32_t place = nodes.engine_.place_of(event), rank = nodes.places_.rank_at(place);
    nodes.span_.begin = std::min(nodes.span_.begin, now);
    if (nodes.is_interrupted(rank, now)) return nodes.resume_at(rank, nodes.noise_.end(rank, now, 0));
    nodes.resume(place, now);
}

void Nodes::Resume::handle(Nodes& nodes, const Event& event, Ticks now) {
    nodes.resume(nodes.engine_.place_of(event), now);
}

void Nodes::MessageArrival::handle(Nodes& nodes, const Event& event, Ticks now) {
    const std::uint32_t place = nodes.engine_.place_of(event);
    nodes.apply_returned_credits_of(place, now);
    if (nodes.notes_arrivals_) nodes.note_arrival(event);
    if (nodes.waiting_ &&
        nodes.waiting_->heeds(nodes.places_.rank_at(place), what_of(event.code) >> nodes.places_.bits())) [[unlikely]]
        nodes.waiting_->come(event.item, now);
    nodes.deliver(nodes.node(place), nodes.places_.rank_at(place), event.item, now);
    nodes.wake_of(place, now);
}

/// Has an eager payload say what its rank will ask.
void Nodes::note_arrival(const Event& event) {
    Transaction& e = engine_.transactions[event.item];
    if (!e.is_eager_payload()) return;
    const std::uint32_t place = engine_.place_of(event);
    if (unpacking_ && unpacking_->in_order()) e.note_source(what_of(event.code) >> places_.bits());
    e.set_came_early(!is_posted(nodes_[place], places_.rank_at(place), e.round));
}

// --- results ---------------------------------------------------------------------------------------------------------

void Nodes::verify(std::uint32_t node, bool idle) const {
    const auto check = [&](const auto& buffer) {
        const std::int64_t promised = buffer.credits_at(engine_.credits, std::numeric_limits<Ticks>::max() - 1);
        verify_buffer(buffer.credits(), promised, engine_.parameters.buffer, idle);
    };
    for (std::uint32_t i = 0; i < places_.nics(); ++i) {
        const std::uint32_t nic = places_.at({node, i});
        check(nodes_[nic].nic);
        check(fabric_.injection(nic).channel);
    }
}

void Nodes::keep(StateFile& file, bool first) {
    if (first) {
        file.array(nodes_.get(), places_.count());
        file.array(open_.get(), ranks_);
        if (memory_until_) file.array(memory_until_.get(), places_.nodes());
        if (next_message_) file.array(next_message_.get(), places_.count());
        if (unexpected_) file.array(unexpected_.get(), ranks_);
        if (unpacking_) unpacking_->keep(file);
        if (graph_) graph_->keep(file);
    }
    repeats_.keep(file);
    file(rounds_);
    file(span_);
    file(phases_);
    file(totals_);
    file(ended_);
}

double Nodes::imbalance() const {
    std::uint64_t most = 0, sum = 0;
    for (std::uint32_t place = 0; place < places_.count(); ++place) {
        most = std::max(most, nodes_[place].bytes);
        sum += nodes_[place].bytes;
    }
    return sum == 0 ? 1.0 : static_cast<double>(most) * static_cast<double>(ranks_) / static_cast<double>(sum);
}

std::string Nodes::waiting(int limit) const {
    std::string text;
    for (std::uint32_t rank = 0; rank < ranks_ && limit > 0; ++rank) {
        const Node& node = nodes_[places_.of(rank)];
        if (node.state == RankState::ended) continue;
        if (graph_) return waiting_operations(rank, limit);
        text += "; rank " + std::to_string(rank) + " in round " + std::to_string(node.round) + " waits for " +
                std::to_string(node.left.receives) + " receives and " + std::to_string(node.left.sends) + " sends";
        --limit;
    }
    return text;
}

}  // namespace tramontane
