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
      open_(allocate_pages<Index>(ranks_)),
      phases_(schedule.phases().size()),
      totals_(phases_.size()) {
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
      open_(first.open_),
      phases_(first.phases_.size()),
      totals_(phases_.size()) {}

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
    engine.transactions.prefetch(node.nic.waiting.first);
    engine.transactions.prefetch(node.arrived.first);
    engine.transactions.prefetch(node.early_of(node.round + 1).top());
}

/// The record of the message that the next packet will be cut from, and the first messages of the next round.
void Nodes::AnyEvent::reach(const Nodes& nodes, const Event& event) {
    const std::uint32_t rank = nodes.rank_of(event);
    const Engine& engine = nodes.engine_;
    Node& node = nodes.nodes_[rank];
    const Index first = node.nic.waiting.first;
    if (first != none && engine.transactions[first].begun())
        engine.messages.prefetch(engine.transactions[first].message);
    engine.packets.prefetch(nodes.fabric_.injection(rank).channel.waiting.first_other(engine.packets));
    const Index early = node.early_of(node.round + 1).top();
    if (early != none) engine.transactions.prefetch(engine.transactions[early].next);
}

void Nodes::NicWake::handle(Nodes& nodes, const Event& event, Ticks now) {
    const std::uint32_t rank = nodes.rank_of(event);
    Ticks& due = nodes.fabric_.injection(rank).wake;
    if (due != now) return;  // an earlier one has seen to everything
    due = Fabric::never;
    Node& node = nodes.node(rank);
    nodes.apply_returned_credits(node, rank, now);
    nodes.wake(node, rank, now);
}

void Nodes::Start::handle(Nodes& nodes, const Event& event, Ticks now) {
    const std::uint32_t rank = nodes.rank_of(event);
    nodes.span_.begin = std::min(nodes.span_.begin, now);
    if (nodes.is_interrupted(rank, now)) return nodes.resume_at(rank, nodes.noise_.end(rank, now, 0));
    nodes.resume(rank, now);
}

void Nodes::Resume::handle(Nodes& nodes, const Event& event, Ticks now) { nodes.resume(nodes.rank_of(event), now); }

void Nodes::MessageArrival::handle(Nodes& nodes, const Event& event, Ticks now) {
    const std::uint32_t rank = nodes.rank_of(event);
    Node& node = nodes.node(rank);
    nodes.apply_returned_credits(node, rank, now);
    nodes.deliver(node, rank, event.item, now);
    nodes.wake(node, rank, now);
}

// --- results ---------------------------------------------------------------------------------------------------------

void Nodes::verify(std::uint32_t rank, bool idle) const {
    const auto check = [&](const auto& buffer) {
        const std::int64_t promised = buffer.credits_at(engine_.credits, std::numeric_limits<Ticks>::max() - 1);
        verify_buffer(buffer.credits(), promised, engine_.parameters.buffer, idle);
    };
    check(nodes_[rank].nic);
    check(fabric_.injection(rank).channel);
}

void Nodes::keep(StateFile& file, bool first) {
    if (first) {
        file.array(nodes_.get(), ranks_);
        file.array(open_.get(), ranks_);
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
        if (node.state == RankState::ended) continue;
        text += "; rank " + std::to_string(rank) + " in round " + std::to_string(node.round) + " waits for " +
                std::to_string(node.left.receives) + " receives and " + std::to_string(node.left.sends) + " sends";
        --limit;
    }
    return text;
}

}  // namespace tramontane
