/// \file
/// What handles the events of one LP after the other: the engine that the rules see, in the device form.
///
/// Within a window a lane writes nothing that another lane's LPs read in that window. What passes from one LP to
/// another becomes an event of a later window, space that is given back, too: it lies in the bin of the window in which
/// it is due, and is put into its channel before that window's events are handled. So nobody needs to know who was
/// first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "delays.hpp"
#include "device/agenda.hpp"
#include "device/records.hpp"
#include "ledger.hpp"
#include "link_use.hpp"
#include "node_store.hpp"
#include "rules/arbiter.hpp"
#include "rules/channel.hpp"
#include "rules/events.hpp"
#include "rules/node.hpp"
#include "rules/parameters.hpp"
#include "rules/switch.hpp"

namespace tramontane::device {

/// What all lanes have in common.
struct Common {
    Common(const Machine& machine, const Topology& topology, std::uint64_t seed_, const Places& places_, Ticks window)
        : parameters(machine, topology),
          seed(seed_),
          switches(topology.switches()),
          places(places_),
          agenda(window == 0 ? parameters.lookahead() : std::min(window, parameters.lookahead()),
                 switches + places_.nodes()) {}

    void turn() {
        packets.turn();
        transactions.turn();
        messages.turn();
        credits.turn();
        gaps.turn();
        open_rounds.turn();
    }
    /// Whether a launch must end for `grow`.
    [[nodiscard]] TRAMONTANE_RULE bool crowded() const {
        return packets.crowded() || transactions.crowded() || messages.crowded() || credits.crowded() ||
               gaps.crowded() || open_rounds.crowded() || agenda.crowded();
    }
    void grow() {
        packets.grow();
        transactions.grow();
        messages.grow();
        credits.grow();
        gaps.grow();
        open_rounds.grow();
        agenda.grow();
    }

    const Parameters parameters;
    const std::uint64_t seed;
    const SwitchId switches;
    const Places& places;
    Records<Packet> packets{at_first};
    Records<Transaction> transactions{at_first};
    Records<Message> messages{at_first};
    Records<Credits> credits{at_first};
    Records<Gaps> gaps{at_first};
    Records<OpenRound> open_rounds{at_first};
    Agenda agenda;

private:
#ifdef TRAMONTANE_SMALL_STORAGE
    static constexpr std::uint32_t at_first = 1 << 11;
#else
    static constexpr std::uint32_t at_first = 1 << 18;  // untouched memory costs nothing
#endif
};

class Lane : public Events<Lane> {
public:
    explicit Lane(Common& common)
        : parameters(common.parameters),
          seed(common.seed),
          switches(common.switches),
          places(common.places),
          packets(common.packets),
          transactions(common.transactions),
          messages(common.messages),
          credits(common.credits),
          gaps(common.gaps),
          open_rounds(common.open_rounds),
          agenda_(common.agenda) {}

    const Parameters& parameters;
    const std::uint64_t seed;
    const SwitchId switches;
    const Places& places;
    Pool<Packet> packets;
    Pool<Transaction> transactions;
    Pool<Message> messages;
    Pool<Credits> credits;
    Pool<Gaps> gaps;
    Pool<OpenRound> open_rounds;
    Statistics statistics;
    Delays delays;
    UseOverTime link_use;  ///< nobody may ask for it
    Ledger ledger;

    /// Counts what begins to wait; an LP is always the same lane's, and orders are compared within one queue only.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t next_order() { return order_++; }
    /// What other lanes' records say must not be looked at.
    [[nodiscard]] TRAMONTANE_RULE bool owns(LpId) const { return false; }

    TRAMONTANE_RULE void schedule(Ticks time, LpId lp, std::uint32_t code, Index item = none) {
        if (lp == current_ && time < end_)
            return insert({static_cast<std::uint32_t>(time - begin_), code, item, tie(code, item)});
        send(time, lp, code, item);
    }
    TRAMONTANE_RULE void send(Ticks time, LpId lp, std::uint32_t code, Index item) {
        if constexpr (checks) {
            if (time < end_) fail<std::logic_error>("device: an event reaches another LP within a window");
        }
        agenda_.push(time, lp, code, item, tie(code, item));
    }
    /// Gives back space at the same LP.
    template <class AnyChannel>
    TRAMONTANE_RULE void give(LpId lp, AnyChannel& channel, std::uint32_t wake_code, Ticks time, std::uint32_t bytes) {
        if (channel.waiting.empty()) channel.apply(credits, begin_);
        channel.give(credits, time, bytes);
        wake_if_needed(lp, channel, wake_code);
    }

    // Space that is given back to another LP:
    static constexpr std::uint32_t to_switch = 8, to_nic = 9;  ///< in the place of an event's kind

    TRAMONTANE_RULE void send_credit(Ticks time, SwitchId at, Port port, std::uint8_t channel, std::uint32_t bytes) {
        agenda_.push(time, at, event_code(EventKind{to_switch}, port, channel), bytes, 0);
    }
    TRAMONTANE_RULE void send_nic_credit(Ticks time, std::uint32_t nic, std::uint32_t bytes) {
        const Address address = places.address(nic);
        agenda_.push(time, switches + address.node, node_code(EventKind{to_nic}, address.local), bytes, 0);
    }

    /// Handles the events of an LP in this window: at first `credit(event, time)` for what was given back to it, then
    /// `handle(event, time)` for each other one, in order.
    template <class Credit, class Handle>
    TRAMONTANE_RULE void visit(LpId lp, Credit&& credit, Handle&& handle) {
        current_ = lp;
        begin_ = agenda_.windows.begin(agenda_.window());
        end_ = begin_ + agenda_.windows.length();
        events_.clear();
        credits_.clear();
        head_ = 0;
        agenda_.take(lp, [&](const Pending& event) {
            if ((event.code & 15) >= to_switch) {
                credits_.push_back(event);
            } else {
                insert(event);
            }
        });
        // Those of one channel all come from one server, which sends them in order.
        std::sort(credits_.begin(), credits_.end(),
                  [](const Pending& a, const Pending& b) { return a.offset < b.offset; });
        for (const Pending& event : credits_) credit(event, begin_ + event.offset);
        while (head_ < events_.size()) {
            const Pending event = events_[head_++];
            ++statistics.events;
            handle(event, begin_ + event.offset);
        }
        current_ = no_lp;
    }

private:
    static constexpr LpId no_lp = ~LpId{0};

    [[nodiscard]] TRAMONTANE_RULE std::uint32_t tie(std::uint32_t code, Index item) const {
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
    /// As Events::key.
    [[nodiscard]] TRAMONTANE_RULE static std::uint64_t key_of(const Pending& event) {
        return kind_of(event.code) >= EventKind::head_arrival ? std::uint64_t{1} << 63 | event.tie : event.code;
    }
    [[nodiscard]] TRAMONTANE_RULE bool before(const Pending& a, const Pending& b) const {
        return a.offset != b.offset ? a.offset < b.offset : goes_first(a, key_of(a), b, key_of(b));
    }
    /// Among those that have not been handled. Most come in the order of their times.
    TRAMONTANE_RULE void insert(const Pending& event) {
        const auto first = events_.begin() + static_cast<std::ptrdiff_t>(head_);
        const auto at = std::upper_bound(first, events_.end(), event,
                                         [&](const Pending& a, const Pending& b) { return before(a, b); });
        events_.insert(at, event);
    }

    Agenda& agenda_;
    std::vector<Pending> events_, credits_;  // of this LP and window
    std::size_t head_ = 0;
    std::uint32_t order_ = 0;
    LpId current_ = no_lp;
    Ticks begin_ = 0, end_ = 0;
};

/// The switches as a lane sees them.
class Switches : public SwitchRules<Switches, Lane> {
public:
    /// Their records, which all lanes have in common.
    struct Store {
        std::vector<CacheLine*> met;
        Pages<CacheLine> lines;
        std::vector<std::uint32_t> turns;
        std::vector<Injection> injections;
    };

    Switches(Lane& lane, const Topology& topology, const Router& router, Store& store)
        : SwitchRules(lane, topology, router, {}), store_(store) {
        if (store.met.empty()) {
            store.met.resize(topology.switches());
            store.lines = allocate_pages<CacheLine>(topology.switches() * lines_);
            store.turns.resize(router.counters());
            store.injections.resize(lane.places.count());
            for (Injection& each : store.injections) each.channel = NodeChannel(lane.parameters.buffer);
        }
        switches_ = store.met.data();
        counters_ = store.turns.data();
        injection_ = store.injections.data();
    }

    /// Bytes of switch state, of the switches that a packet met.
    [[nodiscard]] std::uint64_t memory() const {
        const auto met =
            store_.met.size() - static_cast<std::size_t>(std::count(store_.met.begin(), store_.met.end(), nullptr));
        return met * lines_ * sizeof(CacheLine) + store_.turns.size() * sizeof(std::uint32_t);
    }
    /// Space behind a link was given back, and is there at `time`.
    TRAMONTANE_RULE void take_back(SwitchId at, std::uint32_t code, Ticks time, std::uint32_t bytes) {
        code = event_code(EventKind::output_credit, port_of(code), channel_of(code));
        engine_.give(at, out(at, port_of(code), channel_of(code)).behind, code, time, bytes);
    }

private:
    friend SwitchRules;

    TRAMONTANE_RULE void create(SwitchId at) { begin(at, &store_.lines[at * lines_]); }
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

    Store& store_;
};

/// The nodes as a lane sees them.
class Nodes : public NodeRules<Nodes, Lane, Switches> {
public:
    Nodes(Lane& lane, Switches& switches, const Machine& machine, const Topology& topology, const Places& places,
          const Allocation& allocation, const Schedule& schedule, const Noise& noise, NodeStore& store)
        : NodeRules(lane, switches, machine, topology, places, allocation, schedule, noise),
          watched_(schedule.ranks(), schedule.rounds(), schedule.repeats(), 0),
          spans_(schedule.phases().size()),
          sums_(spans_.size()) {
        lend(store);
        repeats_ = &watched_;
        phases_ = spans_.data();
        totals_ = sums_.data();
    }

    [[nodiscard]] const std::vector<Span>& phases() const { return spans_; }
    [[nodiscard]] const std::vector<Totals>& totals() const { return sums_; }

private:
    friend NodeRules;

    // Graphs are refused before.
    [[noreturn]] static void follow(Node&, std::uint32_t, Ticks) { fail<std::logic_error>("device: a graph"); }
    [[noreturn]] static void take_for_operation_by_hardware(std::uint32_t, Index, Ticks) {
        fail<std::logic_error>("device: a graph");
    }
    [[noreturn]] static bool take_put_for_operation(std::uint32_t, Index, Ticks) {
        fail<std::logic_error>("device: a graph");
    }

    Repeats watched_;  // nothing
    std::vector<Span> spans_;
    std::vector<Totals> sums_;
};

}  // namespace tramontane::device
