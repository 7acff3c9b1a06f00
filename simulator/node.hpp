/// \file
/// The nodes of a simulation, or of one part of it: their records, what is fetched ahead for each event, and ranks that
/// follow a graph of operations.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "engine.hpp"
#include "fabric.hpp"
#include "graph_state.hpp"
#include "node_store.hpp"
#include "rules/node.hpp"

namespace tramontane {

class Nodes : public NodeRules<Nodes, Engine, Fabric> {
public:
    Nodes(Engine& engine, Fabric& fabric, const Machine& machine, const Topology& topology, const Places& places,
          const Allocation& allocation, const Schedule& schedule, const Noise& noise, const Repeats& repeats,
          std::shared_ptr<Waiting> waiting = nullptr, const std::optional<LinkMeter>& injection = {});
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
    [[nodiscard]] std::string waiting(int limit) const;

private:
    friend NodeRules;

    // A rank that follows a graph of operations; see graph_rank.cpp.
    static constexpr std::uint32_t nothing_done = OperationState::ended;
    struct Taken {
        Ticks copying;
        std::uint32_t done;  ///< operation, or nothing_done
    };
    /// Whose message a rank receives next, where it receives them in turn.
    [[nodiscard]] [[gnu::noinline]] std::uint32_t source_of_next(const Node& node, std::uint32_t rank) const {
        const auto me = static_cast<Rank>(rank);
        const std::int32_t done = schedule_.round(me, node.round).receives - node.left.receives;
        return static_cast<std::uint32_t>(schedule_.receive(me, node.round, done).peer);
    }
    /// A message that came before its receive was posted.
    struct Here {
        Index item;
        std::uint32_t receive;
    };
    [[gnu::noinline]] void follow(Node& node, std::uint32_t rank, Ticks now);
    void follow_first_cpu(Node& node, std::uint32_t rank, Ticks now);
    void start_other_cpus(Node& node, std::uint32_t rank, Ticks now);
    [[gnu::noinline]] void other_cpu_goes_on(std::uint32_t place, std::uint32_t number, Ticks now);
    void begin_graph(Node& node, std::uint32_t rank, Ticks now);
    void enter_phase(Node& node, std::int16_t phase, Ticks now);
    void leave_phase(const Node& node, Ticks now);
    bool start_operation(Node& node, std::uint32_t rank, Ticks now);
    bool post_receives(Node& node, std::uint32_t rank, Ticks now);
    void pull(Node& node, std::uint32_t rank, std::uint32_t receive, Ticks now);
    void post_operation(Node& node, std::uint32_t rank, std::uint32_t operation, Ticks now);
    [[nodiscard]] Ticks looking_for_operation(Index item) const;
    /// Whether a rank that waits has a message's payload as soon as it comes, and need not copy it.
    [[nodiscard]] bool is_taken_at_once(Index item) const {
        const Transaction& e = engine_.transactions[item];
        return e.carries_payload() && !(e.is_eager_payload() && engine_.parameters.copy(e.bytes) > 0);
    }
    Taken take_for_operation(std::uint32_t rank, Index item, Ticks now);
    void take_for_operation_by_hardware(std::uint32_t rank, Index item, Ticks now);
    bool take_put_for_operation(std::uint32_t rank, Index item, Ticks now);
    [[nodiscard]] std::string waiting_operations(std::uint32_t rank, int limit) const;

    void show();

    std::shared_ptr<NodeStore> store_;
    std::shared_ptr<GraphState> graph_;  // null where ranks run rounds
    std::vector<Here> here_;             // of post_receives, which is called too often to make one each time
    std::shared_ptr<Waiting> causes_;
    Repeats watched_;
    std::vector<Span> spans_;
    std::vector<Totals> sums_;
    std::vector<Stretch> told_;
};

extern template class NodeRules<Nodes, Engine, Fabric>;

}  // namespace tramontane
