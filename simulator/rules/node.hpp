/// \file
/// What a node does: its network interfaces (NICs), and the ranks behind them, each of which executes its part of the
/// schedule. What follows is in nic.hpp, rank.hpp and graph.hpp.
///
/// A rank posts the receives of a round, then its sends, then waits for all of them. What MPI does in between is the
/// protocol of SST/macro 16.0: eager up to `short_limit`, header + get + payload up to `eager_limit`, rendezvous
/// beyond; a rank looks at what has arrived only while it waits, one message after the other; get requests are
/// answered by the NIC alone. Receives are counted, not stored: rounds are numbered alike on both sides, so a message
/// is expected if its round is the rank's current one.
///
/// All ranks and NICs of a node are one logical process, because they share what changes without delay: its NICs, and
/// its memory, through which messages between two ranks of the node pass. Usually there is one of each. A rank and a
/// NIC have a record together, at their place (placement/places.hpp); a node with fewer NICs than ranks leaves the
/// others' parts idle.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "noise.hpp"
#include "placement/allocation.hpp"
#include "placement/places.hpp"
#include "random.hpp"
#include "rules/events.hpp"
#include "rules/graph_records.hpp"
#include "rules/node_records.hpp"
#include "rules/parameters.hpp"
#include "rules/rule.hpp"
#include "rules/waiting.hpp"
#include "schedule.hpp"
#include "topologies/topology.hpp"

namespace tramontane {

/// \tparam Engine see Events
/// \tparam Switches see SwitchRules
template <class Engine, class Switches>
class NodeRules : public NodeRecords {
public:
    using Network = typename Engine::Network;
    using Rounds = typename Engine::Rounds;
    using Unpacking = typename Engine::Unpacking;
    using Waiting = typename Engine::Waiting;
    using Repeats = typename Engine::Repeats;

    // What happens at a node:

    /// A NIC goes on; packets or messages wait there.
    TRAMONTANE_RULE void nic_goes_on(std::uint32_t nic, Ticks now) {
        Ticks& due = fabric_.injection(nic).wake;
        if (due != now) return;  // an earlier one has seen to everything
        due = never;
        Node& node = this->node(nic);
        apply_returned_credits(node, nic, now);
        wake(node, nic, now);
    }
    /// A rank starts.
    TRAMONTANE_RULE void rank_starts(std::uint32_t place, Ticks now) {
        const std::uint32_t rank = places_.rank_at(place);
        engine_.ends().begin(now);
        if (is_interrupted(rank, now)) return resume_at(rank, noise_.end(rank, now, 0));
        resume(place, now);
    }
    /// A rank goes on: its work is done, or the operating system has given it back.
    TRAMONTANE_RULE void resume(std::uint32_t place, Ticks now);
    /// The same, or another processor of a rank goes on. \param code of the event
    TRAMONTANE_RULE void processor_goes_on(std::uint32_t place, std::uint32_t code, Ticks now) {
        const std::uint32_t cpu = what_of(code) >> places_.bits();
        if (cpu > 0) [[unlikely]]
            return other_cpu_goes_on(place, cpu, now);
        resume(place, now);
    }
    /// A message's last byte arrives.
    TRAMONTANE_RULE void message_arrives(std::uint32_t place, std::uint32_t code, Index item, Ticks now) {
        apply_returned_credits_of(place, now);
        if (notes_arrivals_) note_arrival(place, code, item);
        const std::uint32_t rank = places_.rank_at(place);
        if (waiting_ && waiting_->heeds(rank, what_of(code) >> places_.bits())) [[unlikely]]
            waiting_->come(item, now);
        deliver(node(place), rank, item, now);
        wake_of(place, now);
    }

    /// Some ranks that have not ended, and what each waits for; see rules/deadlock.hpp.
    [[nodiscard]] std::string waiting_ranks(std::uint32_t ranks, int limit) const;
    /// Calls `f(LP, node of the topology, meter)` for each NIC that has injected packets, where links are counted.
    template <class F>
    void each_counted_injection(F&& f) const {
        for (std::uint32_t nic = 0; injections_ != nullptr && nic < places_.count(); ++nic) {
            if (injections_[nic].packets == 0) continue;
            const Address at = places_.address(nic);
            f(engine_.switches + at.node, allocation_.node(at.node, at.local), injections_[nic]);
        }
    }

protected:
    NodeRules(Engine& engine, Switches& fabric, const Machine& machine, const Network& topology, const Places& places,
              const Allocation& allocation, const Rounds& schedule, const Noise& noise)
        : engine_(engine),
          fabric_(fabric),
          topology_(topology),
          places_(places),
          allocation_(allocation),
          schedule_(schedule),
          noise_(noise),
          has_puts_(schedule.one_sided()),
          cuts_rounds_(schedule.cuts_rounds()),
          copies_share_(machine.copies_share_memory && places.several() && machine.node_memory_bandwidth > 0),
          prepares_in_time_(copies_share_ || machine.under_way_overhead > 0),
          stripe_above_(places.stripes() ? std::max(machine.stripe_above, machine.packet)
                                         : std::numeric_limits<std::int64_t>::max()),
          is_seen_(has_puts_ || machine.hardware_progress || machine.direct_eager || copies_share_),
          notes_sources_((machine.unpack_per_byte > 0 && machine.unpacks_in_order) || schedule.receives_in_turn()),
          notes_arrivals_(machine.direct_eager || notes_sources_) {}
    /// The same with the counts of another part.
    NodeRules(const NodeRules& first, Engine& engine, Switches& fabric)
        : engine_(engine),
          fabric_(fabric),
          topology_(first.topology_),
          places_(first.places_),
          allocation_(first.allocation_),
          schedule_(first.schedule_),
          noise_(first.noise_),
          has_puts_(first.has_puts_),
          cuts_rounds_(first.cuts_rounds_),
          copies_share_(first.copies_share_),
          prepares_in_time_(first.prepares_in_time_),
          stripe_above_(first.stripe_above_),
          is_seen_(first.is_seen_),
          notes_sources_(first.notes_sources_),
          notes_arrivals_(first.notes_arrivals_) {}

    /// Whether the next send may start: complete are `sends - left.sends`.
    [[nodiscard]] TRAMONTANE_RULE static bool may_send(const Node& node) {
        return node.next_send < node.sends &&
               (node.window <= 0 || node.next_send - (node.sends - node.left.sends) < node.window);
    }
    [[nodiscard]] TRAMONTANE_RULE Node& node(std::uint32_t place) {
        touch(nodes_[place]);
        return nodes_[place];
    }
    TRAMONTANE_ONCE TRAMONTANE_RULE void run(Node& node, std::uint32_t rank, Ticks now);
    TRAMONTANE_ONCE TRAMONTANE_RULE Step begin_round(Node& node, std::uint32_t rank, Ticks now, Ticks time);
    [[gnu::noinline]] TRAMONTANE_RULE void go_to_phase(Node& node, std::uint32_t rank, Ticks now);
    TRAMONTANE_RULE Step end_round(Node& node, Ticks time);
    TRAMONTANE_ONCE TRAMONTANE_RULE Step wait(Node& node, std::uint32_t rank, Ticks now, Ticks time);
    [[gnu::noinline]] TRAMONTANE_RULE void leave_open(Node& node, std::uint32_t rank);
    [[gnu::noinline]] TRAMONTANE_RULE void close(Node& node, std::uint32_t rank);
    /// The record of a round that was left open and still has transfers under way; none if there is no such.
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Index open_round(const Node& node, std::uint32_t rank,
                                                                     std::uint32_t round) const;
    /// Transfers under way of a round, where its receives are posted; else null.
    [[nodiscard]] TRAMONTANE_RULE Left* left_of(Node& node, std::uint32_t rank, std::uint32_t round) {
        return round == node.round ? &node.left : left_of_open(node, rank, round);
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Left* left_of_open(Node& node, std::uint32_t rank,
                                                                       std::uint32_t round);
    /// Whether the receives of a round are posted.
    [[nodiscard]] TRAMONTANE_RULE bool is_posted(const Node& node, std::uint32_t rank, std::uint32_t round) const {
        if (round != node.round) return open_round(node, rank, round) != none;
        return node.state != RankState::begins_round && node.state != RankState::posts;
    }
    /// Receives that are posted and not complete.
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t open_receives(const Node& node, std::uint32_t rank) const;
    /// Whether there are transfers that the rank waits for.
    [[nodiscard]] TRAMONTANE_RULE bool awaits(const Node& node, std::uint32_t rank) const {
        return node.open == 0 ? node.left.any() : awaits_open(node, rank);
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE bool awaits_open(const Node& node, std::uint32_t rank) const;
    /// The rank's processor is busy for its messages.
    [[nodiscard]] TRAMONTANE_STEP TRAMONTANE_RULE Ticks busy_until(const Node& node, std::uint32_t rank, Ticks now,
                                                                   Ticks work) {
        const Ticks end = noise_.end(rank, now, work);
        if (waiting_ && waiting_->tells(rank)) [[unlikely]]
            waiting_->busy(rank, now, end, stretches_);
        totals_[static_cast<std::size_t>(node.phase)].busy += end - now;
        return end;
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Ticks posting(Node& node, std::uint32_t rank) const;
    TRAMONTANE_ONCE TRAMONTANE_RULE Step take_early(Node& node, std::uint32_t rank, Ticks now);
    /// Whose message a rank receives next, where it receives them in turn.
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE std::uint32_t source_of_next(const Node& node,
                                                                                 std::uint32_t rank) const {
        const auto me = static_cast<Rank>(rank);
        const std::int32_t done = schedule_.round(me, node.round).receives - node.left.receives;
        return static_cast<std::uint32_t>(schedule_.source(me, node.round, done));
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE bool is_next(const Node& node, std::uint32_t rank,
                                                                 const Transaction& e);
    [[gnu::noinline]] TRAMONTANE_RULE Step post_next(Node& node, std::uint32_t rank, Ticks time);
    [[gnu::noinline]] TRAMONTANE_RULE Step take_next(Node& node, std::uint32_t rank, Ticks now, Ticks time);
    /// Whether a message that came before its receive waits in the library; else a network interface keeps it.
    [[nodiscard]] TRAMONTANE_RULE bool is_unexpected(const Transaction& e) const {
        return e.is_eager_payload() || (e.kind() == Transaction::Kind::header && !engine_.parameters.hardware_progress);
    }
    TRAMONTANE_ONCE TRAMONTANE_RULE void set_aside(Node& node, std::uint32_t rank, Index item);
    /// How long a rank is busy before it hands over a message.
    [[nodiscard]] TRAMONTANE_RULE Ticks preparing(const Node& node, std::uint32_t rank, std::int64_t bytes, Ticks now) {
        const Parameters& p = engine_.parameters;
        const Ticks beside = p.costs.of_sends_under_way() ? p.costs.send_beside(sends_under_way(node, rank)) : 0;
        return p.costs.send(bytes) + beside + (bytes <= p.short_limit ? copying(rank, bytes, p.copy(bytes), now) : 0);
    }
    /// A rank's sends that are handed over and not complete.
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE std::uint64_t sends_under_way(const Node& node,
                                                                                  std::uint32_t rank) const;
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Ticks looking(Node& node, std::uint32_t rank, const Transaction& e);
    /// How long a copy keeps a rank busy that takes `own` by itself.
    [[nodiscard]] TRAMONTANE_RULE Ticks copying(std::uint32_t rank, std::int64_t bytes, Ticks own, Ticks now) {
        return copies_share_ && bytes > 0 ? sharing(rank, bytes, own, now) : own;
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE static Ticks served(Ticks time, std::int64_t picoseconds);
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Ticks sharing(std::uint32_t rank, std::int64_t bytes, Ticks own,
                                                                  Ticks now);
    /// A payload is where it belongs.
    TRAMONTANE_RULE void complete(std::uint32_t rank, const Transaction& e, std::int64_t bytes) {
        if (unpacking_) [[unlikely]]
            unpacking_->complete(rank, e.round, e.source(), bytes);
    }
    /// When the rank has unpacked what is there.
    [[nodiscard]] TRAMONTANE_RULE Ticks unpacked(const Node& node, std::uint32_t rank, Ticks now) {
        const Ticks work = unpacking_ ? unpacking_->take(rank) : 0;
        return work > 0 ? busy_until(node, rank, now, work) : now;
    }
    TRAMONTANE_ONCE TRAMONTANE_RULE Step post_sends(Node& node, std::uint32_t rank, Ticks now, Ticks time);
    [[gnu::noinline]] TRAMONTANE_RULE Step post_puts(Node& node, std::uint32_t rank, Ticks now, Ticks time);
    TRAMONTANE_ONCE TRAMONTANE_RULE void post_first(Node& node, std::uint32_t rank, const Transfer& t,
                                                    Transaction::Kind kind, std::int64_t bytes, Ticks time);
    TRAMONTANE_ONCE TRAMONTANE_RULE Step progress(Node& node, std::uint32_t rank, Ticks now, Ticks time);
    TRAMONTANE_ONCE TRAMONTANE_RULE Ticks take(Node& node, std::uint32_t rank, Index item, Ticks now);

    TRAMONTANE_ONCE TRAMONTANE_RULE void resume_at(std::uint32_t rank, Ticks time) {
        engine_.schedule_at(places_.of(rank), time, EventKind::resume);
    }
    /// The rank goes on when its processor has done `work`.
    TRAMONTANE_RULE void resume_after(const Node& node, std::uint32_t rank, Ticks now, Ticks work) {
        resume_at(rank, busy_until(node, rank, now, work));
    }
    [[nodiscard]] TRAMONTANE_RULE bool is_interrupted(std::uint32_t rank, Ticks now) const {
        return noise_.end(rank, now, 0) > now;
    }
    /// Has the rank look at what has arrived at `time`; where nothing has, there is no event unless a message comes
    /// before.
    TRAMONTANE_ONCE TRAMONTANE_RULE void wait_from(Node& node, std::uint32_t rank, Ticks time);
    /// A message comes to a rank that is busy without an event. Returns whether the rank is free by now; schedules its
    /// event if not.
    TRAMONTANE_ONCE TRAMONTANE_RULE bool is_free_for_message(Node& node, std::uint32_t rank, Ticks now);
    TRAMONTANE_ONCE TRAMONTANE_RULE bool goes_ahead(Node& node, std::uint32_t rank, std::int64_t bytes, Ticks time);

    /// The switch of a place's node.
    [[nodiscard]] TRAMONTANE_RULE SwitchId switch_of(std::uint32_t place) const {
        return topology_.switch_of(allocation_.node(places_.node_of(place)));
    }
    /// The NIC through which a rank gets a message, as the topology calls it.
    [[nodiscard]] TRAMONTANE_RULE NodeId destination(std::uint32_t rank, const Transaction& e) const {
        const std::uint32_t place = places_.of(rank);
        if (!places_.several()) return allocation_.node(place);
        const Address nic = places_.address(places_.nic_of(place, {rank, e.round, e.index()}));
        return allocation_.node(nic.node, nic.local);
    }
    /// The same of a part of a striped message, which enters by the NIC of the number that it leaves by.
    [[nodiscard]] TRAMONTANE_RULE NodeId destination_of_stripe(std::uint32_t rank, std::uint32_t nic) const {
        return allocation_.node(places_.node_of(places_.of(rank)), places_.address(nic).local);
    }
    /// Bytes of the message that `rank` sends [B].
    [[nodiscard]] TRAMONTANE_RULE std::int64_t size(std::uint32_t rank, const Transaction& e) const {
        if (!e.carries_payload()) return control_bytes;
        if (graph_) [[unlikely]]
            return graph_->of(rank).sends[e.index()].bytes();
        return schedule_.send_bytes(static_cast<Rank>(rank), e.round, static_cast<std::int32_t>(e.index()));
    }
    TRAMONTANE_ONCE TRAMONTANE_RULE void post(std::uint32_t rank, Index transaction, std::int64_t bytes, Ticks now);
    TRAMONTANE_ONCE TRAMONTANE_RULE void queue(std::uint32_t nic, Index transaction, Ticks now);
    [[gnu::noinline]] TRAMONTANE_RULE void stripe(std::uint32_t rank, std::uint32_t first, Index transaction,
                                                  std::int64_t bytes, Ticks now);
    [[gnu::noinline]] TRAMONTANE_RULE void hand_over(std::uint32_t rank, Index transaction, Ticks now);
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t tie(std::uint32_t source, const Transaction& e) const;
    TRAMONTANE_ONCE TRAMONTANE_RULE void answer(std::uint32_t rank, Index transaction, Transaction::Kind kind,
                                                Ticks now);
    // The parts of a NIC: `node` is the record at its place.
    /// Moves messages and packets up as credits returned until now, in the order of their times.
    TRAMONTANE_ONCE TRAMONTANE_RULE void apply_returned_credits(Node& node, std::uint32_t nic, Ticks now);
    TRAMONTANE_ONCE TRAMONTANE_RULE void take_buffer_credits(Node& node, std::uint32_t nic, Ticks now);
    TRAMONTANE_ONCE TRAMONTANE_RULE void take_switch_credits(Node& node, std::uint32_t nic, Ticks now);
    /// Sees to it that the NIC goes on in time.
    TRAMONTANE_ONCE TRAMONTANE_RULE void wake(Node& node, std::uint32_t nic, Ticks now);
    /// The same for all NICs that a place uses.
    TRAMONTANE_RULE void apply_returned_credits_of(std::uint32_t place, Ticks now) {
        places_.each_nic(place, [&](std::uint32_t nic) { apply_returned_credits(node(nic), nic, now); });
    }
    TRAMONTANE_RULE void wake_of(std::uint32_t place, Ticks now) {
        places_.each_nic(place, [&](std::uint32_t nic) { wake(node(nic), nic, now); });
    }
    TRAMONTANE_ONCE TRAMONTANE_RULE std::uint32_t sender_of(std::uint32_t nic, Transaction& e) const;
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t next_number(Node& node, std::uint32_t nic, std::uint32_t rank);
    TRAMONTANE_ONCE TRAMONTANE_RULE bool cut_packet(Node& node, std::uint32_t nic, Index transaction, Ticks now);
    TRAMONTANE_ONCE TRAMONTANE_RULE void inject(Node& node, std::uint32_t nic, Index packet, Ticks now);
    [[gnu::noinline]] TRAMONTANE_RULE bool take_by_hardware(Node& node, std::uint32_t rank, Index item, Ticks now);
    [[gnu::noinline]] TRAMONTANE_RULE bool take_put(Node& node, std::uint32_t rank, Index item, Ticks now);
    [[gnu::noinline]] TRAMONTANE_RULE void note_arrival(std::uint32_t place, std::uint32_t code, Index item);
    [[gnu::noinline]] TRAMONTANE_RULE void charge_waiting(const Node& node, std::uint32_t rank, Index item, Ticks now);
    TRAMONTANE_ONCE TRAMONTANE_RULE void deliver(Node& node, std::uint32_t rank, Index transaction, Ticks now);

    // A rank that follows a graph of operations:
    static constexpr std::uint32_t nothing_done = OperationState::ended;
    struct Taken {
        Ticks copying;
        std::uint32_t done;  ///< operation, or nothing_done
    };
    [[gnu::noinline]] TRAMONTANE_RULE void follow(Node& node, std::uint32_t rank, Ticks now);
    TRAMONTANE_RULE void follow_first_cpu(Node& node, std::uint32_t rank, Ticks now);
    [[gnu::noinline]] TRAMONTANE_RULE void start_other_cpus(Node& node, std::uint32_t rank, Ticks now);
    [[gnu::noinline]] TRAMONTANE_RULE void other_cpu_goes_on(std::uint32_t place, std::uint32_t number, Ticks now);
    [[nodiscard]] std::string waiting_operations(std::uint32_t rank, int limit) const;
    TRAMONTANE_RULE void begin_graph(Node& node, std::uint32_t rank, Ticks now);
    TRAMONTANE_RULE void enter_phase(Node& node, std::int16_t phase, Ticks now);
    TRAMONTANE_RULE void leave_phase(const Node& node, Ticks now);
    TRAMONTANE_ONCE TRAMONTANE_RULE bool start_operation(Node& node, std::uint32_t rank, Ticks now);
    TRAMONTANE_ONCE TRAMONTANE_RULE bool post_receives(Node& node, std::uint32_t rank, Ticks now);
    TRAMONTANE_ONCE TRAMONTANE_RULE Index in_order(const GraphTable::Operations& own, Index first);
    TRAMONTANE_ONCE TRAMONTANE_RULE Index merged(const GraphTable::Operations& own, Index a, Index b);
    /// The message after one in a chain.
    [[nodiscard]] TRAMONTANE_RULE Index& after(const GraphTable::Operations& own, Index item) {
        return graph_->early_of(own, engine_.transactions[item].round);
    }
    TRAMONTANE_ONCE TRAMONTANE_RULE void pull(Node& node, std::uint32_t rank, std::uint32_t receive, Ticks now);
    TRAMONTANE_ONCE TRAMONTANE_RULE void post_operation(Node& node, std::uint32_t rank, std::uint32_t operation,
                                                        Ticks now);
    [[nodiscard]] TRAMONTANE_RULE Ticks looking_for_operation(Index item) const;
    TRAMONTANE_ONCE TRAMONTANE_RULE Taken take_for_operation(std::uint32_t rank, Index item, Ticks now);
    [[gnu::noinline]] TRAMONTANE_RULE void take_for_operation_by_hardware(std::uint32_t rank, Index item, Ticks now);
    [[gnu::noinline]] TRAMONTANE_RULE bool take_put_for_operation(std::uint32_t rank, Index item, Ticks now);

    /// \param store has the records of all nodes
    template <class Store>
    void lend(Store& store) {
        rounds_ = store.rounds;
        nodes_ = store.nodes.get();
        open_ = store.open.get();
        memory_until_ = store.memory_until.get();
        next_message_ = store.next_message.get();
        unexpected_ = store.unexpected.get();
        unpacking_ = store.unpacking.get();
    }

    Engine& engine_;
    Switches& fabric_;
    const Network& topology_;
    const Places& places_;
    const Allocation& allocation_;
    const Rounds& schedule_;
    const Noise noise_;
    const bool has_puts_;              // in some round
    const bool cuts_rounds_;           // into phases
    const bool copies_share_;          // the memory of their node
    const bool prepares_in_time_;      // what a send costs depends on what is under way when it begins
    const std::int64_t stripe_above_;  // payloads of more bytes are striped
    const bool is_seen_;               // others see at once what a rank posts
    const bool notes_sources_;         // of eager payloads: in which order ranks take them is certain
    const bool notes_arrivals_;        // see note_arrival
    std::uint32_t rounds_ = 0;

    // The owner's:
    Node* nodes_ = nullptr;                // by place
    Ticks* memory_until_ = nullptr;        // by node of the job: when its memory is free; null: it is unlimited
    Ticks* next_message_ = nullptr;        // by NIC: when it may begin another; null where there is no gap
    std::uint32_t* unexpected_ = nullptr;  // by rank: messages that came early; null where they cost nothing
    Index* open_ = nullptr;                // by rank: the first record of its open rounds, plus 1
    Unpacking* unpacking_ = nullptr;       // null where it takes no time
    Repeats* repeats_ = nullptr;
    GraphRecords* graph_ = nullptr;  // null where ranks run rounds
    typename Engine::template ByPhase<Span> phases_{};
    typename Engine::template ByPhase<Totals> totals_{};
    Waiting* waiting_ = nullptr;                 // null where nobody asks why ranks wait
    InjectionMeter* injections_ = nullptr;       // by NIC: what its link carries; null where links are not counted
    std::vector<Stretch>* stretches_ = nullptr;  // what some did when
};

}  // namespace tramontane

// The parts that belong to the class:
#include "rules/graph.hpp"
#include "rules/nic.hpp"
#include "rules/rank.hpp"
