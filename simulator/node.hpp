/// \file
/// The nodes: network interfaces (NICs) and the ranks behind them, each of which executes its part of the schedule.
///
/// A rank posts the receives of a round, then its sends, then waits for all of them. What MPI does in between is the
/// protocol of SST/macro 16.0: eager up to `short_limit`, header + get + payload up to `eager_limit`, rendezvous
/// beyond; a rank looks at what has arrived only while it waits, one message after the other; get requests are
/// answered by the NIC alone. Receives are counted, not stored: rounds are numbered alike on both sides, so a message
/// is expected if its round is the rank's current one.
///
/// All ranks and NICs of a node are one logical process, because they share what changes without delay: its NICs, and
/// its memory, through which messages between two ranks of the node pass. Usually there is one of each. A rank and a
/// NIC have a record together, at their place (places.hpp); a node with fewer NICs than ranks leaves the others' parts
/// idle.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "engine.hpp"
#include "fabric.hpp"
#include "graph_state.hpp"
#include "noise.hpp"
#include "places.hpp"
#include "random.hpp"
#include "schedule.hpp"
#include "steady.hpp"
#include "unpacking.hpp"
#include "waiting.hpp"

namespace tramontane {

class Nodes {
public:
    Nodes(Engine& engine, Fabric& fabric, const Machine& machine, const Topology& topology, const Places& places,
          const Allocation& allocation, const Schedule& schedule, const Noise& noise, const Repeats& repeats,
          std::shared_ptr<Waiting> waiting = nullptr);
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
        static void handle(Nodes& nodes, const Event& event, Ticks now);
    };
    struct MessageArrival : AnyEvent {  ///< a message's last byte arrives
        static void handle(Nodes& nodes, const Event& event, Ticks now);
    };

    struct Span {
        Ticks begin = std::numeric_limits<Ticks>::max();
        Ticks end = 0;
        [[nodiscard]] Ticks length() const { return end > begin ? end - begin : 0; }
        void add(const Span& other) {
            begin = std::min(begin, other.begin);
            end = std::max(end, other.end);
        }
    };
    /// Sums over all ranks, and over all rounds of a phase [ticks].
    struct Totals {
        __extension__ using Wide = unsigned __int128;
        Wide begun = 0, ended = 0;  ///< moments; their difference is what the ranks spent in the phase, ...
        Wide work = 0;              ///< ... and these are parts of it: work, ...
        Wide busy = 0;              ///< ... and the processor's time for messages
        void add(const Totals& other) {
            begun += other.begun;
            ended += other.ended;
            work += other.work;
            busy += other.busy;
        }
    };
    [[nodiscard]] const std::vector<Totals>& totals() const { return totals_; }
    /// Why all ranks waited; null where nobody asks. And what some of this part did when.
    [[nodiscard]] const Waiting* waiting_by_cause() const { return waiting_.get(); }
    [[nodiscard]] const std::vector<Stretch>& stretches() const { return stretches_; }
    /// First start and last end over all ranks of this part; `phases` likewise, and how many have `ended`.
    [[nodiscard]] const Span& span() const { return span_; }
    [[nodiscard]] const std::vector<Span>& phases() const { return phases_; }
    [[nodiscard]] std::uint32_t ended() const { return ended_; }
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
    [[nodiscard]] const Repeats& repeats() const { return repeats_; }
    /// Bytes the busiest rank sends over the mean.
    [[nodiscard]] double imbalance() const;
    [[nodiscard]] std::string waiting(int limit) const;

private:
    /// What a rank is doing. Arrows without a word follow at once; `resume` is an event, `arrival` that of a message.
    ///
    ///     begins_round -> posts -> sends --- all are posted ----> waits ---- nothing has arrived: until an arrival
    ///       ^    |                ^   |                           ^ | |
    ///       |    '-> ended    resume  | overhead, copy     resume | | '-- overhead of a payload --> receives
    ///       |                     |   v                           | |                              (resume)
    ///       |                  prepares_send                 busy <-+-- copies
    ///       |                                                       |
    ///       '------------- everything has been sent and received ---'
    ///
    /// A round of work goes from begins_round to works, and on when that is done. A round that does not wait goes on
    /// when all is posted, and a later one begins where it waits.
    enum class RankState : std::uint8_t {
        begins_round,
        works,
        posts,  ///< its receives
        sends,
        prepares_send,  ///< overhead and copy
        waits,
        receives,              ///< overhead
        busy,                  ///< until its event, then it waits
        busy_nothing_arrived,  ///< the same; no event is scheduled, because the arrival queue is empty
        ended
    };

    /// How far a rank has got in one go.
    struct Step {
        Ticks time;    ///< the rank's own, which may be ahead of the event's
        bool goes_on;  ///< else the rank is busy, waits for the network, or has ended

        [[nodiscard]] static Step until(Ticks time) { return {time, true}; }
        [[nodiscard]] static Step blocked() { return {0, false}; }
    };

    // The NIC serves messages (`nic.waiting`) into the injection buffer as packets, and packets that wait there
    // (`Injection::channel.waiting`) through its port into the first switch:
    //
    //     message --- room for a packet in the buffer? ---> packet --- room in the first switch? ---> port, link
    //                 (credit: a packet left the port)                (credit: it left the crossbar)
    //
    // Both credits are known in advance. When exactly packets move up nobody can see while the port is busy; so the NIC
    // has an event (NicWake) only when the port is free, and applies the credits that have returned in the meantime
    // before anything else happens at its node to a rank that uses it.

    static constexpr std::int32_t sends_freely = 0, left_open = -1, puts = -2, acknowledged_puts = -3;

    struct alignas(64) Node {
        // NIC
        /// Messages that wait for space in the injection buffer.
        [[no_unique_address]] NicChannel nic;  // what follows may use its last bytes
        std::uint32_t unanswered = 0;          ///< headers sent whose get requests have not come
        Ticks busy_until = 0;                  ///< the injection port, with packets that have space in the first switch
        std::uint32_t injected = 0;            ///< packets so far; counts random numbers
        // rank
        std::uint32_t round = 0;
        Left left;
        std::int32_t next_send = 0;
        std::int32_t sends = 0;
        std::int32_t window = 0;  ///< sends_freely: all at once; else so, and the round is left open
        std::int16_t phase = -1;
        RankState state = RankState::begins_round;
        std::uint8_t open = 0;   ///< rounds that were left open
        Ticks free_at = 0;       ///< busy_nothing_arrived: until then
        IntrusiveQueue arrived;  ///< messages the rank has not looked at
        /// Messages of later rounds it has looked at, by the last bits of the round: they have left the cache, so that
        /// looking through all of them in each round takes long.
        std::array<IntrusiveStack, 4> early;
        std::uint64_t bytes = 0;

        [[nodiscard]] IntrusiveStack& early_of(std::uint32_t of_round) { return early[of_round % early.size()]; }
    };
    static_assert(sizeof(Node) == 128);

    /// Whether the next send may start: complete are `sends - left.sends`.
    [[nodiscard]] static bool may_send(const Node& node) {
        return node.next_send < node.sends &&
               (node.window <= 0 || node.next_send - (node.sends - node.left.sends) < node.window);
    }
    [[nodiscard]] Node& node(std::uint32_t place) {
        touch(nodes_[place]);
        return nodes_[place];
    }
    void resume(std::uint32_t place, Ticks now);
    void run(Node& node, std::uint32_t rank, Ticks now);
    Step begin_round(Node& node, std::uint32_t rank, Ticks now, Ticks time);
    Step end_round(Node& node, Ticks time);
    Step wait(Node& node, std::uint32_t rank, Ticks now, Ticks time);
    [[gnu::noinline]] void leave_open(Node& node, std::uint32_t rank);
    [[gnu::noinline]] void close(Node& node, std::uint32_t rank);
    /// The record of a round that was left open and still has transfers under way; none if there is no such.
    [[nodiscard]] [[gnu::noinline]] Index open_round(const Node& node, std::uint32_t rank, std::uint32_t round) const;
    /// Transfers under way of a round, where its receives are posted; else null.
    [[nodiscard]] Left* left_of(Node& node, std::uint32_t rank, std::uint32_t round) {
        return round == node.round ? &node.left : left_of_open(node, rank, round);
    }
    [[nodiscard]] [[gnu::noinline]] Left* left_of_open(Node& node, std::uint32_t rank, std::uint32_t round);
    /// Whether the receives of a round are posted.
    [[nodiscard]] bool is_posted(const Node& node, std::uint32_t rank, std::uint32_t round) const {
        if (round != node.round) return open_round(node, rank, round) != none;
        return node.state != RankState::begins_round && node.state != RankState::posts;
    }
    /// Receives that are posted and not complete.
    [[nodiscard]] std::uint64_t open_receives(const Node& node, std::uint32_t rank) const;
    /// Whether there are transfers that the rank waits for.
    [[nodiscard]] bool awaits(const Node& node, std::uint32_t rank) const {
        return node.open == 0 ? node.left.any() : awaits_open(node, rank);
    }
    [[nodiscard]] [[gnu::noinline]] bool awaits_open(const Node& node, std::uint32_t rank) const;
    /// The rank's processor is busy for its messages.
    [[nodiscard]] [[gnu::always_inline]] Ticks busy_until(const Node& node, std::uint32_t rank, Ticks now, Ticks work) {
        const Ticks end = noise_.end(rank, now, work);
        if (waiting_) [[unlikely]]
            waiting_->busy(rank, now, end, stretches_);
        totals_[static_cast<std::size_t>(node.phase)].busy += end - now;
        return end;
    }
    [[nodiscard]] [[gnu::noinline]] Ticks posting(Node& node, std::uint32_t rank) const;
    Step take_early(Node& node, std::uint32_t rank, Ticks now);
    /// Whether a message that came before its receive waits in the library; else a network interface keeps it.
    [[nodiscard]] bool is_unexpected(const Transaction& e) const {
        return e.is_eager_payload() || (e.kind() == Transaction::Kind::header && !engine_.parameters.hardware_progress);
    }
    void set_aside(Node& node, std::uint32_t rank, Index item);
    /// How long a rank is busy before it hands over a message.
    [[nodiscard]] Ticks preparing(std::uint32_t rank, std::int64_t bytes, Ticks now) {
        const Parameters& p = engine_.parameters;
        return p.costs.send(bytes) + (bytes <= p.short_limit ? copying(rank, bytes, p.copy(bytes), now) : 0);
    }
    [[nodiscard]] [[gnu::noinline]] Ticks looking(Node& node, std::uint32_t rank, const Transaction& e);
    /// How long a copy keeps a rank busy that takes `own` by itself.
    [[nodiscard]] Ticks copying(std::uint32_t rank, std::int64_t bytes, Ticks own, Ticks now) {
        return copies_share_ && bytes > 0 ? sharing(rank, bytes, own, now) : own;
    }
    [[nodiscard]] [[gnu::noinline]] Ticks sharing(std::uint32_t rank, std::int64_t bytes, Ticks own, Ticks now);
    /// A payload is where it belongs.
    void complete(std::uint32_t rank, const Transaction& e, std::int64_t bytes) {
        if (unpacking_) [[unlikely]]
            unpacking_->complete(rank, e.round, e.source(), bytes);
    }
    /// When the rank has unpacked what is there.
    [[nodiscard]] Ticks unpacked(const Node& node, std::uint32_t rank, Ticks now) {
        const Ticks work = unpacking_ ? unpacking_->take(rank) : 0;
        return work > 0 ? busy_until(node, rank, now, work) : now;
    }
    Step post_sends(Node& node, std::uint32_t rank, Ticks now, Ticks time);
    [[gnu::noinline]] Step post_puts(Node& node, std::uint32_t rank, Ticks now, Ticks time);
    void post_first(Node& node, std::uint32_t rank, const Transfer& t, Transaction::Kind kind, std::int64_t bytes,
                    Ticks time);
    Step progress(Node& node, std::uint32_t rank, Ticks now, Ticks time);
    Ticks take(Node& node, std::uint32_t rank, Index item, Ticks now);

    // A rank that follows a graph of operations; see graph_rank.cpp.
    static constexpr std::uint32_t nothing_done = GraphState::ended;
    struct Taken {
        Ticks copying;
        std::uint32_t done;  ///< operation, or nothing_done
    };
    [[gnu::noinline]] void follow(Node& node, std::uint32_t rank, Ticks now);
    void begin_graph(Node& node, std::uint32_t rank, Ticks now);
    bool start_operation(Node& node, std::uint32_t rank, Ticks now);
    bool post_receives(Node& node, std::uint32_t rank, Ticks now);
    void post_operation(Node& node, std::uint32_t rank, std::uint32_t operation, Ticks now);
    [[nodiscard]] Ticks looking_for_operation(Index item) const;
    Taken take_for_operation(std::uint32_t rank, Index item, Ticks now);
    void take_for_operation_by_hardware(std::uint32_t rank, Index item, Ticks now);
    [[nodiscard]] std::string waiting_operations(std::uint32_t rank, int limit) const;

    void resume_at(std::uint32_t rank, Ticks time) { engine_.schedule_at(places_.of(rank), time, EventKind::resume); }
    /// The rank goes on when its processor has done `work`.
    void resume_after(const Node& node, std::uint32_t rank, Ticks now, Ticks work) {
        resume_at(rank, busy_until(node, rank, now, work));
    }
    [[nodiscard]] bool is_interrupted(std::uint32_t rank, Ticks now) const { return noise_.end(rank, now, 0) > now; }
    /// Has the rank look at what has arrived at `time`; where nothing has, there is no event unless a message comes
    /// before.
    void wait_from(Node& node, std::uint32_t rank, Ticks time);
    /// A message comes to a rank that is busy without an event. Returns whether the rank is free by now; schedules its
    /// event if not.
    bool is_free_for_message(Node& node, std::uint32_t rank, Ticks now);
    bool goes_ahead(Node& node, std::uint32_t rank, std::int64_t bytes, Ticks time);

    /// The switch of a place's node.
    [[nodiscard]] SwitchId switch_of(std::uint32_t place) const {
        return topology_.switch_of(allocation_.node(places_.node_of(place)));
    }
    /// The NIC through which a rank gets a message, as the topology calls it.
    [[nodiscard]] NodeId destination(std::uint32_t rank, const Transaction& e) const {
        const std::uint32_t place = places_.of(rank);
        if (!places_.several()) return allocation_.node(place);
        const Address nic = places_.address(places_.nic_of(place, {rank, e.round, e.index()}));
        return allocation_.node(nic.node, nic.local);
    }
    /// The same of a part of a striped message, which enters by the NIC of the number that it leaves by.
    [[nodiscard]] NodeId destination_of_stripe(std::uint32_t rank, std::uint32_t nic) const {
        return allocation_.node(places_.node_of(places_.of(rank)), places_.address(nic).local);
    }
    /// Bytes of the message that `rank` sends [B].
    [[nodiscard]] std::int64_t size(std::uint32_t rank, const Transaction& e) const {
        if (!e.carries_payload()) return control_bytes;
        return schedule_.send(static_cast<Rank>(rank), e.round, static_cast<std::int32_t>(e.index())).bytes;
    }
    void post(std::uint32_t rank, Index transaction, std::int64_t bytes, Ticks now);
    void queue(std::uint32_t nic, Index transaction, Ticks now);
    [[gnu::noinline]] void stripe(std::uint32_t rank, std::uint32_t first, Index transaction, std::int64_t bytes,
                                  Ticks now);
    [[gnu::noinline]] void hand_over(std::uint32_t rank, Index transaction, Ticks now);
    [[nodiscard]] std::uint32_t tie(std::uint32_t source, const Transaction& e) const;
    void answer(std::uint32_t rank, Index transaction, Transaction::Kind kind, Ticks now);
    // The parts of a NIC: `node` is the record at its place.
    /// Moves messages and packets up as credits returned until now, in the order of their times.
    void apply_returned_credits(Node& node, std::uint32_t nic, Ticks now);
    void take_buffer_credits(Node& node, std::uint32_t nic, Ticks now);
    void take_switch_credits(Node& node, std::uint32_t nic, Ticks now);
    /// Sees to it that the NIC goes on in time.
    void wake(Node& node, std::uint32_t nic, Ticks now);
    /// The same for all NICs that a place uses.
    void apply_returned_credits_of(std::uint32_t place, Ticks now) {
        places_.each_nic(place, [&](std::uint32_t nic) { apply_returned_credits(node(nic), nic, now); });
    }
    void wake_of(std::uint32_t place, Ticks now) {
        places_.each_nic(place, [&](std::uint32_t nic) { wake(node(nic), nic, now); });
    }
    std::uint32_t sender_of(std::uint32_t nic, Transaction& e) const;
    bool cut_packet(Node& node, std::uint32_t nic, Index transaction, Ticks now);
    void inject(Node& node, std::uint32_t nic, Index packet, Ticks now);
    [[gnu::noinline]] bool take_by_hardware(Node& node, std::uint32_t rank, Index item, Ticks now);
    [[gnu::noinline]] bool take_put(Node& node, std::uint32_t rank, Index item, Ticks now);
    [[gnu::noinline]] void note_arrival(const Event& event);
    [[gnu::noinline]] void charge_waiting(const Node& node, std::uint32_t rank, Index item, Ticks now);
    void deliver(Node& node, std::uint32_t rank, Index transaction, Ticks now);

    Engine& engine_;
    Fabric& fabric_;
    const Topology& topology_;
    const Places& places_;
    const Allocation& allocation_;
    const Schedule& schedule_;
    const Noise noise_;
    const bool has_puts_;              // in some round
    const bool copies_share_;          // the memory of their node
    const std::int64_t stripe_above_;  // payloads of more bytes are striped
    const bool is_seen_;               // others see at once what a rank posts
    const bool notes_arrivals_;        // see note_arrival
    Repeats repeats_;
    std::uint32_t rounds_;
    const std::uint32_t ranks_;
    std::shared_ptr<Node[]> nodes_;          // by place
    std::shared_ptr<Ticks[]> memory_until_;  // by node of the job: when its memory is free; null where it is unlimited
    std::shared_ptr<Ticks[]> next_message_;  // by NIC: when it may begin another; null where there is no gap
    std::shared_ptr<std::uint32_t[]> unexpected_;  // by rank: messages that came early; null where they cost nothing
    std::shared_ptr<Unpacking> unpacking_;         // null where it takes no time
    Span span_;
    /// The first record of each rank's open rounds, plus 1. Pages that nobody touches take no memory.
    std::shared_ptr<Index[]> open_;
    std::shared_ptr<GraphState> graph_;  // null where ranks run rounds
    std::vector<Span> phases_;
    std::vector<Totals> totals_;
    std::uint32_t ended_ = 0;
    std::shared_ptr<Waiting> waiting_;  // null where nobody asks why ranks wait
    std::vector<Stretch> stretches_;
};

}  // namespace tramontane
