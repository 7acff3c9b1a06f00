#include "engine/node.hpp"

#include <limits>
#include <utility>

#include "rules/deadlock.hpp"

namespace tramontane {

template class NodeRules<Engine, Fabric>;

Nodes::Nodes(Engine& engine, Fabric& fabric, const Machine& machine, const Topology& topology, const Places& places,
             const Allocation& allocation, const Schedule& schedule, const Noise& noise, const Repeats& repeats,
             std::shared_ptr<Waiting> waiting, const std::optional<InjectionMeter>& injection)
    : NodeRules(engine, fabric, machine, topology, places, allocation, schedule, noise),
      store_(std::make_shared<NodeStore>(machine, places, schedule, engine.parameters, injection)),
      graph_state_(schedule.graph() == nullptr ? nullptr : std::make_shared<GraphState>(*schedule.graph())),
      causes_(std::move(waiting)),
      watched_(repeats),
      spans_(schedule.phases().size()),
      sums_(spans_.size()) {
    show();
}

Nodes::Nodes(const Nodes& first, Engine& engine, Fabric& fabric)
    : NodeRules(first, engine, fabric),
      store_(first.store_),
      graph_state_(first.graph_state_),
      causes_(first.causes_),
      watched_(first.watched_),
      spans_(first.spans_.size()),
      sums_(spans_.size()) {
    show();
}

/// Shows the rules where everything is.
void Nodes::show() {
    lend(*store_);
    graph_ = graph_state_ ? &graph_state_->records : nullptr;
    waiting_ = causes_.get();
    injections_ = store_->injections.get();
    repeats_ = &watched_;
    phases_ = spans_.data();
    totals_ = sums_.data();
    stretches_ = &told_;
}

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
    if (nodes.injections_ != nullptr) [[unlikely]]
        prefetch_line(&nodes.injections_[nic]);
    engine.packets.prefetch(link.waiting.first_full());
    engine.packets.prefetch(link.waiting.last_full());
    engine.packets.prefetch(link.waiting.last_other());
    engine.transactions.prefetch(messages.waiting.first);
    engine.transactions.prefetch(node.arrived.first);
    engine.transactions.prefetch(node.early_of(node.round + 1).top());
    if (nodes.waiting_) [[unlikely]] {
        nodes.waiting_->prefetch(messages.waiting.first);
        nodes.waiting_->prefetch(node.arrived.first);
        nodes.waiting_->prefetch(node.early_of(node.round + 1).top());
    }
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

void Nodes::Resume::fetch(const Nodes& nodes, const Event& event) {
    if (nodes.graph_state_) [[unlikely]]
        nodes.graph_state_->fetch(nodes.places_.rank_at(nodes.engine_.place_of(event)));
    if (nodes.waiting_) [[unlikely]]
        nodes.waiting_->prefetch_rank(nodes.places_.rank_at(nodes.engine_.place_of(event)));
    AnyEvent::fetch(nodes, event);
}

void Nodes::Resume::approach(const Nodes& nodes, const Event& event) {
    if (nodes.graph_state_) [[unlikely]]
        nodes.graph_state_->approach(nodes.places_.rank_at(nodes.engine_.place_of(event)));
    AnyEvent::approach(nodes, event);
}

void Nodes::Resume::reach(const Nodes& nodes, const Event& event) {
    if (nodes.graph_state_) [[unlikely]]
        nodes.graph_state_->reach(nodes.places_.rank_at(nodes.engine_.place_of(event)));
    AnyEvent::reach(nodes, event);
}

void Nodes::MessageArrival::fetch(const Nodes& nodes, const Event& event) {
    nodes.engine_.transactions.prefetch(event.item);
    if (nodes.waiting_) [[unlikely]] {
        nodes.waiting_->prefetch(event.item);
        nodes.waiting_->prefetch_rank(nodes.places_.rank_at(nodes.engine_.place_of(event)));
    }
    if (nodes.graph_state_) [[unlikely]]
        nodes.graph_state_->fetch(nodes.places_.rank_at(nodes.engine_.place_of(event)));
    AnyEvent::fetch(nodes, event);
}

void Nodes::MessageArrival::approach(const Nodes& nodes, const Event& event) {
    if (nodes.graph_state_) [[unlikely]]
        nodes.graph_state_->approach(nodes.places_.rank_at(nodes.engine_.place_of(event)),
                                     nodes.engine_.transactions[event.item], nodes.is_taken_at_once(event.item));
    AnyEvent::approach(nodes, event);
}

void Nodes::MessageArrival::reach(const Nodes& nodes, const Event& event) {
    if (nodes.graph_state_) [[unlikely]]
        nodes.graph_state_->reach(nodes.places_.rank_at(nodes.engine_.place_of(event)),
                                  nodes.engine_.transactions[event.item], nodes.is_taken_at_once(event.item));
    AnyEvent::reach(nodes, event);
}

void Nodes::NicWake::handle(Nodes& nodes, const Event& event, Ticks now) {
    nodes.nic_goes_on(nodes.engine_.place_of(event), now);
}

void Nodes::Start::handle(Nodes& nodes, const Event& event, Ticks now) {
    nodes.rank_starts(nodes.engine_.place_of(event), now);
}

void Nodes::Resume::handle(Nodes& nodes, const Event& event, Ticks now) {
    nodes.processor_goes_on(nodes.engine_.place_of(event), event.code, now);
}

void Nodes::MessageArrival::handle(Nodes& nodes, const Event& event, Ticks now) {
    nodes.message_arrives(nodes.engine_.place_of(event), event.code, event.item, now);
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
        file.array(nodes_, places_.count());
        file.array(open_, store_->ranks);
        if (memory_until_ != nullptr) file.array(memory_until_, places_.nodes());
        if (next_message_ != nullptr) file.array(next_message_, places_.count());
        if (unexpected_ != nullptr) file.array(unexpected_, store_->ranks);
        if (unpacking_ != nullptr) unpacking_->keep(file);
        if (injections_ != nullptr) file.array(injections_, places_.count());
        if (graph_) graph_->keep(file, store_->ranks);
    }
    watched_.keep(file);
    file(engine_.ends().span);
    file(spans_);
    file(sums_);
    file(engine_.ends().ended);
}

}  // namespace tramontane
