/// \file
/// What handles the events of one site after the other: the engine that the rules see, in the device form.
///
/// Within a window a lane writes nothing that another lane's sites read in that window. What passes from one site to
/// another becomes an event of a later window, space that is given back, too: it lies in the bin of the window in which
/// it is due, and is put into its channel before that window's events are handled. So nobody needs to know who was
/// first.
///
/// A lane has no memory of its own but this object: all else lies in arrays that all lanes have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "device/agenda.hpp"
#include "device/atomic.hpp"
#include "device/common.hpp"
#include "device/lane_state.hpp"
#include "device/link_bins.hpp"
#include "device/records.hpp"
#include "device/tally.hpp"
#include "engine/ledger.hpp"
#include "rules/events.hpp"
#include "rules/node.hpp"
#include "rules/switch.hpp"
#include "rules/waiting.hpp"

namespace tramontane::device {

/// Of what a lane counts by phase.
template <class T>
class LanePhases {
public:
    LanePhases() = default;
    /// \param all by lane and phase
    LanePhases(T* all, std::uint32_t phases, OwnState own) : all_(all), phases_(phases), own_(own) {}
    [[nodiscard]] TRAMONTANE_RULE T& operator[](std::size_t phase) const {
        return all_[std::size_t{own_->number} * phases_ + phase];
    }

private:
    T* all_ = nullptr;
    std::uint32_t phases_ = 0;
    OwnState own_;
};

/// Delays as lanes count them; the congestion matrix all have in common.
class LaneDelays {
public:
    LaneDelays(Common& common, OwnState own) : common_(common), own_(own) {}

    TRAMONTANE_ONCE TRAMONTANE_RULE void add(Ticks delay, std::uint32_t source, std::uint32_t destination,
                                             std::uint64_t count = 1) {
        Tally& tally = common_.tallies[common_.lanes_of_tally.quotient(own_->number)];
        tally.add(delay, delay_bins::of(delay, common_.delay_bounds.get(), common_.delay_cells.get()), count);
        if (common_.congestion_bins == 0) return;
        DelaySum& cell =
            common_.congestion[std::size_t{bin_of(source)} * common_.congestion_bins + bin_of(destination)];
        device::add(&cell.packets, count);
        raise(&cell.max, delay);
        // A sum of 128 bits: what the lower half of it carries is added to the upper one.
        const DelaySum::Wide more = DelaySum::Wide{delay} * count;
        auto* const halves = reinterpret_cast<std::uint64_t*>(&cell.ticks);
        const auto low = static_cast<std::uint64_t>(more);
        const std::uint64_t carried = device::add(&halves[0], low) > ~low ? 1 : 0;
        const std::uint64_t high = static_cast<std::uint64_t>(more >> 64) + carried;
        if (high > 0) device::add(&halves[1], high);
    }

private:
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t bin_of(std::uint32_t rank) const {
        return static_cast<std::uint32_t>(std::uint64_t{rank} * common_.congestion_bins / common_.ranks);
    }

    Common& common_;
    OwnState own_;
};

/// As Unpacking, over arrays.
class LaneUnpacking {
public:
    LaneUnpacking(const Machine& machine, const RoundTable& rounds, UnpackingArrays& arrays)
        : byte_(from_picoseconds(machine.unpack_per_byte)),
          threads_(static_cast<Ticks>(machine.threads)),
          rounds_(rounds),
          arrays_(arrays) {}

    TRAMONTANE_RULE void post(std::uint32_t rank, std::uint32_t round, std::int32_t receives) {
        if (!arrays_.in_order) return;
        arrays_.orders[rank] = {receives > 0 ? round : UnpackingOrder::no_round, 0,
                                static_cast<std::uint32_t>(receives)};
        for (std::uint32_t word = 0; word * 32 < static_cast<std::uint32_t>(receives); ++word) {
            arrays_.words_of(rank)[word] = 0;
        }
    }
    TRAMONTANE_ONCE TRAMONTANE_RULE void complete(std::uint32_t rank, std::uint32_t round, std::uint32_t source,
                                                  std::int64_t bytes) {
        if (!arrays_.in_order || arrays_.orders[rank].round != round) return add(rank, bytes);
        UnpackingOrder& order = arrays_.orders[rank];
        const auto me = static_cast<Rank>(rank);
        const std::int32_t found = rounds_.receive_from(me, round, static_cast<Rank>(source), [&](std::int32_t index) {
            return !arrays_.is_there(rank, static_cast<std::uint32_t>(index));
        });
        arrays_.come(rank, static_cast<std::uint32_t>(found));
        for (; order.next < order.receives && arrays_.is_there(rank, order.next); ++order.next) {
            add(rank, rounds_.receive(me, round, static_cast<std::int32_t>(order.next)).bytes);
        }
    }
    [[nodiscard]] TRAMONTANE_RULE Ticks take(std::uint32_t rank) {
        const Ticks due = arrays_.due[rank];
        arrays_.due[rank] = 0;
        return due;
    }

private:
    TRAMONTANE_RULE void add(std::uint32_t rank, std::int64_t bytes) {
        Ticks& due = arrays_.due[rank];
        due += checked_product(static_cast<std::uint64_t>(bytes), byte_) / threads_;
        check_step(due);
    }

    Ticks byte_, threads_;
    const RoundTable& rounds_;
    UnpackingArrays& arrays_;
};

/// Why all ranks wait; timelines are refused.
class LaneWaiting : public WaitingRules<LaneWaiting> {
public:
    explicit LaneWaiting(WaitingArrays& arrays) : arrays_(arrays) {}

    template <class... Of>
    [[nodiscard]] TRAMONTANE_RULE bool heeds(const Of&...) const {
        return true;
    }
    [[nodiscard]] TRAMONTANE_RULE bool tells(std::uint32_t) const { return false; }

private:
    friend WaitingRules;

    template <class... Of>
    TRAMONTANE_RULE void begins(const Of&...) const {}
    TRAMONTANE_RULE void tell(Told, const Stretch&) const {}
    [[nodiscard]] TRAMONTANE_RULE Diary& diary(Index item) { return arrays_.diaries[item]; }
    [[nodiscard]] TRAMONTANE_RULE DiaryRest& rest(Index item) { return arrays_.rests[item]; }
    [[nodiscard]] TRAMONTANE_RULE WaitingOfRank& of_rank(std::uint32_t rank) { return arrays_.ranks[rank]; }
    [[nodiscard]] TRAMONTANE_RULE Ticks& of_storage(std::uint32_t rank) { return arrays_.storage[rank]; }

    WaitingArrays& arrays_;
};

/// All of them are simulated: what cuts repeats short is refused before.
struct NoRepeats {
    [[nodiscard]] TRAMONTANE_RULE bool watched() const { return false; }
    [[nodiscard]] TRAMONTANE_RULE bool watches(std::uint32_t) const { return false; }
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t rounds() const { return 0; }
    TRAMONTANE_RULE void ended(std::uint32_t, Ticks, Ticks) {}
};

class Lane : public Events<Lane> {
public:
    using Network = device::Network;
    using Rounds = RoundTable;
    using Unpacking = LaneUnpacking;
    using Waiting = LaneWaiting;
    using Repeats = NoRepeats;
    template <class T>
    using ByPhase = LanePhases<T>;

    Lane(Common& common, OwnState own)
        : parameters(common.parameters),
          seed(common.seed),
          switches(common.switches),
          places(common.places),
          sites(common.sites),
          packets(common.packets, own),
          transactions(common.transactions, own),
          messages(common.messages, own),
          credits(common.credits, own),
          gaps(common.gaps, own),
          open_rounds(common.open_rounds, own),
          delays(common, own),
          link_use(common.link_bins),
          own_(own),
          agenda_(common.agenda),
          router_(common.router),
          outboxes_(common.outbox.get()),
          tallies_(common.tallies.get()),
          lanes_of_tally_(common.lanes_of_tally),
          ends_(common.ends.get()),
          pending_(common.agenda.events(), own) {}

    const Parameters& parameters;
    const std::uint64_t seed;
    const SwitchId switches;
    const Places& places;
    const Sites sites;
    Pool<Packet, &LaneState::packets> packets;
    Pool<Transaction, &LaneState::transactions> transactions;
    Pool<Message, &LaneState::messages> messages;
    Pool<Credits, &LaneState::credits> credits;
    Pool<Gaps, &LaneState::gaps> gaps;
    Pool<OpenRound, &LaneState::open_rounds> open_rounds;
    LaneDelays delays;
    LinkBins& link_use;
    Ledger ledger;

    /// Counts what begins to wait. Orders are compared within one queue only, and a site has always the same lane, or
    /// one that goes on from where the last one was.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t next_order() { return own_->order++; }
    [[nodiscard]] TRAMONTANE_RULE Counted& counts() const {
        return tallies_[lanes_of_tally_.quotient(own_->number)].counted;
    }
    [[nodiscard]] TRAMONTANE_RULE NodeRecords::Ends& ends() const { return ends_[own_->number]; }
    /// What other lanes' records say must not be looked at.
    [[nodiscard]] TRAMONTANE_RULE bool owns(LpId) const { return false; }

    TRAMONTANE_ONCE TRAMONTANE_RULE void schedule(Ticks time, LpId lp, std::uint32_t code, Index item = none) {
        if (time >= own_->end) return put({time, lp, code, item});
        if constexpr (checks) {
            if (sites.of(lp, port_of(code)) != own_->site) {
                fail<std::logic_error>("device: an event reaches another site within a window");
            }
        }
        add(own_->events, made({time, lp, code, item}, own_->site));
    }
    TRAMONTANE_RULE void send(Ticks time, LpId lp, std::uint32_t code, Index item) { put({time, lp, code, item}); }
    /// Gives back space at the same site.
    template <class AnyChannel>
    TRAMONTANE_ONCE TRAMONTANE_RULE void give(LpId lp, AnyChannel& channel, std::uint32_t wake_code, Ticks time,
                                              std::uint32_t bytes) {
        if (channel.waiting.empty()) channel.apply(credits, own_->begin);
        channel.give(credits, time, bytes);
        wake_if_needed(lp, channel, wake_code);
    }

    // Space that is given back to another site:
    static constexpr std::uint32_t to_switch = 8, to_nic = 9;  ///< in the place of an event's kind

    TRAMONTANE_RULE void send_credit(Ticks time, SwitchId at, Port port, std::uint8_t channel, std::uint32_t bytes) {
        put({time, at, event_code(EventKind{to_switch}, port, channel), bytes});
    }
    TRAMONTANE_RULE void send_nic_credit(Ticks time, std::uint32_t nic, std::uint32_t bytes) {
        const Address address = places.address(nic);
        put({time, switches + address.node, node_code(EventKind{to_nic}, address.local), bytes});
    }

    // What the host does, while no lane runs:

    /// When there is more room for records.
    void renew() {
        packets.renew();
        transactions.renew();
        messages.renew();
        credits.renew();
        gaps.renew();
        open_rounds.renew();
        pending_.renew();
    }

    /// An event of the window that comes next, or of a later one.
    void start(Ticks time, LpId lp, std::uint32_t code, Index item = none) {
        deliver({time, lp, code, item});
        tell();
    }
    /// Gives back to channels what is on its way to them, whenever it is due, so that none of it is pending: that is
    /// how the other engine has it. Calls `credit(lp, event, time)` for each.
    template <class Credit>
    void give_ahead(Credit&& credit) {
        std::vector<Index> credits;
        for (const Index i : agenda_.take_all()) {
            if (is_credit(pending_[i].code)) {
                credits.push_back(i);
            } else {
                agenda_.push(i, pending_[i].time, pending_[i].site, own_->soon);
            }
        }
        std::sort(credits.begin(), credits.end(),
                  [this](Index a, Index b) { return before(pending_[a], pending_[b]); });
        for (const Index i : credits) {
            const Pending event = pending_[i];
            pending_.give_back(i);
            credit(sites.lp(event.site), event, event.time);
        }
        deliver_all();
        tell();
    }
    /// How many have begun to wait, modulo 2^32.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t orders() const { return own_->order; }
    TRAMONTANE_RULE void set_orders(std::uint32_t orders) { own_->order = orders; }

    // What a lane does in a window: it visits sites, delivers what that has led to, and tells of it. Between visits and
    // the rest lanes may share out what they have sent: one that has been at a busy site has much to deliver.

    /// Handles the events of a site in this window: at first `credit(event, time)` for what was given back to it, then
    /// `handle(event, time)` for each other one, in order.
    template <class Credit, class Handle>
    TRAMONTANE_RULE void visit(SiteId site, Credit&& credit, Handle&& handle) {
        LaneState& own = *own_.operator->();
        own.site = site;
        own.begin = agenda_.windows.begin(agenda_.window());
        own.end = own.begin + agenda_.windows.length();
        Index credits = none;
        for (Index i = agenda_.take(site); i != none;) {
            const Index next = pending_[i].next;
            fetch(pending_[i]);
            add(is_credit(pending_[i].code) ? credits : own.events, i);
            i = next;
        }
        while (credits != none) {
            const Pending event = take_first(credits);
            credit(event, event.time);
        }
        std::uint32_t handled = 0;
        for (; own.events != none; ++handled) {
            const Pending event = take_first(own.events);
            handle(event, event.time);
        }
        counts().events += handled;
        own.end = 0;
    }
    /// What a lane has sent and not delivered; so much it is of this one.
    [[nodiscard]] TRAMONTANE_RULE const Sent* sent(std::uint32_t number) const {
        return outboxes_ + std::size_t{number} * Sent::most;
    }
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t sent_count() const { return own_->sent; }
    /// Others have delivered it.
    TRAMONTANE_RULE void clear_sent() { own_->sent = 0; }

    /// Puts what this lane or another has sent into its bin. Where a port is a site, a packet is routed now.
    TRAMONTANE_ONCE TRAMONTANE_RULE void deliver(const Sent& sent) {
        Port port = port_of(sent.code);
        if (sites.by_port() && kind_of(sent.code) == EventKind::head_arrival) {
            Packet& packet = packets[sent.item];
            if (!packet.routed) route_packet(router_, seed, sent.lp, packet, NoQueues{});
            port = packet.port;
        }
        const SiteId site = sites.of(sent.lp, port);
        agenda_.push(made(sent, site), sent.time, site, own_->soon);
    }
    TRAMONTANE_ONCE TRAMONTANE_RULE void deliver_all() {
        const Sent* const own = sent(own_->number);
        for (std::uint32_t i = 0; i < own_->sent; ++i) deliver(own[i]);
        own_->sent = 0;
    }
    /// Lets others know of the windows that it has put something into.
    TRAMONTANE_RULE void tell() {
        agenda_.note(own_->soon);
        own_->soon = {};
    }

private:
    /// What a router is told that asks no queue.
    struct NoQueues {
        [[nodiscard]] TRAMONTANE_RULE std::uint64_t queue(SwitchId, Port) const { return 0; }
        [[nodiscard]] TRAMONTANE_RULE std::uint64_t queue_anywhere(SwitchId, Port) const { return 0; }
        [[nodiscard]] TRAMONTANE_RULE bool less(std::uint64_t a, std::uint64_t b) const { return a < b; }
        [[nodiscard]] TRAMONTANE_RULE std::uint32_t turn(std::uint32_t) const { return 0; }
    };

    /// Brings what an event is about nearer, before it has its turn.
    TRAMONTANE_RULE void fetch(const Pending& event) const {
        const EventKind kind = kind_of(event.code);
        if (kind == EventKind::head_arrival || kind == EventKind::crossbar_exit) packets.prefetch(event.item);
        if (kind == EventKind::message_arrival) transactions.prefetch(event.item);
    }
    TRAMONTANE_RULE void put(const Sent& sent) {
        if constexpr (checks) {
            if (sent.time < own_->end) fail<std::logic_error>("device: an event reaches another site within a window");
        }
        if (own_->sent == Sent::most) deliver_all();
        outboxes_[std::size_t{own_->number} * Sent::most + own_->sent++] = sent;
    }
    [[nodiscard]] TRAMONTANE_ONCE TRAMONTANE_RULE std::uint32_t tie(std::uint32_t code, Index item) const {
        switch (kind_of(code)) {
            case EventKind::head_arrival:
            case EventKind::crossbar_exit:
                return packets[item].tie;
            case EventKind::message_arrival:
                return transactions[item].tie;
            default:
                return 0;
        }
    }
    [[nodiscard]] TRAMONTANE_RULE Index made(const Sent& sent, SiteId site) {
        const Index event = pending_.take();
        pending_[event] = {sent.time, sent.code, sent.item, tie(sent.code, sent.item), {site}, none};
        return event;
    }
    [[nodiscard]] TRAMONTANE_RULE static bool is_credit(std::uint32_t code) { return (code & 15) >= to_switch; }
    /// As Events::key.
    [[nodiscard]] TRAMONTANE_RULE static std::uint64_t key_of(const Pending& event) {
        return kind_of(event.code) >= EventKind::head_arrival ? std::uint64_t{1} << 63 | event.tie : event.code;
    }
    /// Credits of one channel all come from one server, which sends them in order.
    [[nodiscard]] TRAMONTANE_RULE bool before(const Pending& a, const Pending& b) const {
        if (a.time != b.time || is_credit(a.code)) return a.time < b.time;
        return goes_first(a, key_of(a), b, key_of(b));
    }

    // A pairing heap (Fredman et al., Algorithmica 1986).

    TRAMONTANE_RULE void add(Index& heap, Index event) {
        pending_[event].child = none;
        pending_[event].next = none;
        heap = heap == none ? event : meld(heap, event);
    }
    TRAMONTANE_ONCE TRAMONTANE_RULE Index meld(Index a, Index b) {
        if (before(pending_[b], pending_[a])) {
            const Index other = a;
            a = b;
            b = other;
        }
        pending_[b].next = pending_[a].child;
        pending_[a].child = b;
        return a;
    }
    /// Takes the first event, whose record is free then.
    TRAMONTANE_ONCE TRAMONTANE_RULE Pending take_first(Index& heap) {
        const Index first = heap;
        const Pending event = pending_[first];
        pending_.give_back(first);
        Index pairs = none;
        for (Index a = event.child; a != none;) {
            const Index b = pending_[a].next;
            const Index next = b == none ? none : pending_[b].next;
            const Index pair = b == none ? a : meld(a, b);
            pending_[pair].next = pairs;
            pairs = pair;
            a = next;
        }
        heap = none;
        while (pairs != none) {
            const Index next = pending_[pairs].next;
            heap = heap == none ? pairs : meld(heap, pairs);
            pairs = next;
        }
        return event;
    }

    OwnState own_;
    Agenda& agenda_;
    const RouterIn<Network>& router_;
    Sent* const outboxes_;  // of all lanes
    Tally* const tallies_;
    const Divisor lanes_of_tally_;
    NodeRecords::Ends* const ends_;  // by lane
    Pool<Pending, &LaneState::pending> pending_;
};

/// The switches as a lane sees them.
class Switches : public SwitchRules<Switches, Lane> {
public:
    /// \param arrays of all switches, which all lanes have in common
    Switches(Lane& lane, Memory& memory, Common& common, SwitchArrays& arrays)
        : SwitchRules(lane, common.network, common.router, common.links) {
        if (arrays.lines.size() == 0) arrays.lines = Array<CacheLine>(memory, common.switches * lines_);
        switches_ = arrays.records.get();
        visited_ = arrays.visited.get();
        counters_ = arrays.turns.get();
        injection_ = arrays.injections.get();
        all_lines_ = arrays.lines.get();
    }

    /// Begins the records of all switches, if that is not left to the first packet that comes.
    void begin_all() {
        for (SwitchId at = 0; engine_.sites.by_port() && at < engine_.switches; ++at) {
            begin(at, all_lines_ + at * lines_);
        }
    }
    /// Bytes of switch state, of the switches that a packet met.
    [[nodiscard]] std::uint64_t memory(const SwitchArrays& arrays) const {
        std::uint64_t met = 0;
        for (SwitchId at = 0; at < engine_.switches; ++at) met += arrays.was_met(at) ? 1 : 0;
        return met * lines_ * sizeof(CacheLine) + arrays.turns.bytes();
    }
    TRAMONTANE_RULE void fetch_injection(std::uint32_t nic) const { prefetch_line(&injection_[nic]); }
    /// Before a port that is a site is visited: brings what its events need nearer.
    TRAMONTANE_RULE void begin_visit(SwitchId at, Port port) const {
        mark(&visited_[at]);
        prefetch_line(&link(at, port));
        for (std::uint8_t channel = 0; channel < channels_; ++channel) {
            prefetch_line(&out(at, port, channel).before);
            prefetch_line(&out(at, port, channel).behind);
        }
    }
    /// Space behind a link was given back, and is there at `time`.
    TRAMONTANE_RULE void take_back(SwitchId at, std::uint32_t code, Ticks time, std::uint32_t bytes) {
        code = event_code(EventKind::output_credit, port_of(code), channel_of(code));
        engine_.give(at, out(at, port_of(code), channel_of(code)).behind, code, time, bytes);
    }

private:
    friend SwitchRules;

    TRAMONTANE_RULE void create(SwitchId at) { begin(at, all_lines_ + at * lines_); }
    TRAMONTANE_RULE void give_upstream(const Packet& packet, Ticks time) {
        engine_.send_credit(time, packet.upstream, packet.upstream_port, packet.upstream_channel, packet.bytes);
    }
    TRAMONTANE_RULE void give_to_nic(std::uint32_t nic, Ticks time, std::uint32_t bytes) {
        engine_.send_nic_credit(time, nic, bytes);
    }
    [[nodiscard]] TRAMONTANE_RULE Ticks latency_behind(const Packet& packet) const {
        const LinkRates& links = engine_.parameters.links;
        return links.rates[links.of_class[topology_.link_class(packet.upstream, packet.upstream_port)]].latency;
    }

    CacheLine* all_lines_;
    std::uint8_t* visited_;  // by switch, where ports are sites
};

/// The nodes as a lane sees them.
class Nodes : public NodeRules<Lane, Switches> {
public:
    /// \param arrays of all nodes, which all lanes have in common
    Nodes(Lane& lane, Switches& switches, const Machine& machine, Common& common, NodeArrays& arrays, OwnState own)
        : NodeRules(lane, switches, machine, common.network, common.places, common.allocation, common.rounds,
                    common.noise),
          unpacks_(machine, common.rounds, common.unpacking),
          causes_(common.waiting) {
        rounds_ = arrays.rounds;
        nodes_ = arrays.nodes.get();
        open_ = arrays.open.get();
        memory_until_ = arrays.memory_until.get();
        next_message_ = arrays.next_message.get();
        unexpected_ = arrays.unexpected.get();
        if (common.unpacking.due.size() > 0) unpacking_ = &unpacks_;
        injections_ = arrays.injections.get();
        graph_ = arrays.graph.records();
        if (common.waiting.on) waiting_ = &causes_;
        repeats_ = &all_repeats_;
        phases_ = {common.spans.get(), common.phases, own};
        totals_ = {common.totals.get(), common.phases, own};
    }

    /// Before a node with one place is visited: brings what its events need nearer.
    TRAMONTANE_RULE void begin_visit(std::uint32_t place) const {
        prefetch_line(&nodes_[place].nic);
        prefetch_line(&nodes_[place].arrived);
        fabric_.fetch_injection(place);
    }

private:
    LaneUnpacking unpacks_;
    LaneWaiting causes_;
    NoRepeats all_repeats_;
};

}  // namespace tramontane::device
