/// \file
/// The nodes of a simulation, or of one part of it: their records, and what is fetched ahead for each event.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/engine.hpp"
#include "engine/fabric.hpp"
#include "engine/graph_state.hpp"
#include "engine/node_store.hpp"
#include "placement/allocation.hpp"
#include "rules/node.hpp"

namespace tramontane {

class Nodes : public NodeRules<Engine, Fabric> {
public:
    Nodes(Engine& engine, Fabric& fabric, const Machine& machine, const Topology& topology, const Places& places,
          const Allocation& allocation, const Schedule& schedule, const Noise& noise, const Repeats& repeats,
          std::shared_ptr<Waiting> waiting = nullptr, const std::optional<InjectionMeter>& injection = {});
    /// The same nodes as another part sees them; each node is used by its owner only.
    Nodes(const Nodes& first, Engine& engine, Fabric& fabric);

    // Events of a node, each with its stages; see Engine::handle_window.

    struct AnyEvent {
        static void fetch(const Nodes& nodes, const Event& event);
        static void approach(const Nodes& nodes, const Event& event);
        static void reach(const Nodes& nodes, const Event& event);
    };
    struct NicWake : AnyEvent {  ///< a NIC goes on; packets or messages wait there
        static void handle(Nodes& nodes, const Event& event, Ticks now);
    };
    struct Start : AnyEvent {  ///< a rank starts
        static void handle(Nodes& nodes, const Event& event, Ticks now);
    };
    struct Resume : AnyEvent {  ///< a rank goes on: its work is done, or the operating system has given it back
        static void fetch(const Nodes& nodes, const Event& event);
        static void approach(const Nodes& nodes, const Event& event);
        static void reach(const Nodes& nodes, const Event& event);
        static void handle(Nodes& nodes, const Event& event, Ticks now);
    };
    struct MessageArrival : AnyEvent {  ///< a message's last byte arrives
        static void fetch(const Nodes& nodes, const Event& event);
        static void approach(const Nodes& nodes, const Event& event);
        static void reach(const Nodes& nodes, const Event& event);
        static void handle(Nodes& nodes, const Event& event, Ticks now);
    };

    /// By phase, over all ranks of this part.
    [[nodiscard]] const std::vector<Totals>& totals() const { return sums_; }
    [[nodiscard]] const std::vector<Span>& phases() const { return spans_; }
    /// Why all ranks waited; null where nobody asks. And what some of this part did when.
    [[nodiscard]] const Waiting* waiting_by_cause() const { return waiting_; }
    [[nodiscard]] const std::vector<Stretch>& stretches() const { return told_; }
    /// Checks the buffers of a node's NICs; see ledger.hpp. \param idle nothing is under way
    void verify(std::uint32_t node, bool idle) const;
    void verify_all_idle() const {
        for (std::uint32_t node = 0; node < places_.nodes(); ++node) {
            if (engine_.owns(engine_.switches + node)) verify(node, true);
        }
    }

    /// Writes or reads all that changes. \param first the nodes, which all parts have in common, come with the first
    /// one
    void keep(StateFile& file, bool first);

    /// Bytes of the ranks' state, without messages.
    [[nodiscard]] std::uint64_t memory() const { return places_.count() * (sizeof(Node) + sizeof(NodeChannel)); }
    [[nodiscard]] const Repeats& repeats() const { return watched_; }
    /// Bytes the busiest rank sends over the mean.
    [[nodiscard]] double imbalance() const { return store_->imbalance(places_.count()); }

private:
    /// Whether a rank that waits has a message's payload as soon as it comes, and need not copy it.
    [[nodiscard]] bool is_taken_at_once(Index item) const {
        const Transaction& e = engine_.transactions[item];
        return e.carries_payload() && !(e.is_eager_payload() && engine_.parameters.copy(e.bytes) > 0);
    }

    void show();

    std::shared_ptr<NodeStore> store_;
    std::shared_ptr<GraphState> graph_state_;  // null where ranks run rounds
    std::shared_ptr<Waiting> causes_;
    Repeats watched_;
    std::vector<Span> spans_;
    std::vector<Totals> sums_;
    std::vector<Stretch> told_;
};

extern template class NodeRules<Engine, Fabric>;

}  // namespace tramontane
