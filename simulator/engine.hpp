/// \file
/// What all parts of a simulation share: parameters in ticks, pending events, records and counters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "arbiter.hpp"
#include "channel.hpp"
#include "costs.hpp"
#include "delays.hpp"
#include "event_queue.hpp"
#include "ledger.hpp"
#include "link_use.hpp"
#include "links.hpp"
#include "machine.hpp"
#include "mailboxes.hpp"
#include "places.hpp"
#include "records.hpp"

namespace tramontane {

/// In the order in which they happen at the same LP and tick.
/// Fabric and Nodes say what each does.
enum class EventKind : std::uint32_t {
    crossbar_credit,
    output_credit,
    nic_wake,
    start,
    resume,
    head_arrival,
    crossbar_exit,
    message_arrival,
};

/// Kind, port and virtual channel of an event in 32 bits.
[[nodiscard]] constexpr std::uint32_t event_code(EventKind kind, std::uint32_t port = 0, std::uint32_t channel = 0) {
    return static_cast<std::uint32_t>(kind) | channel << 4 | port << 12;
}
/// Of a node: which of its ranks, or of its NICs, and what of it. The arrival of a message carries its source, too,
/// which ends the event's key.
[[nodiscard]] constexpr std::uint32_t node_code(EventKind kind, std::uint32_t what) {
    return static_cast<std::uint32_t>(kind) | what << 4;
}
inline constexpr std::uint32_t max_ranks = 1U << 28;  ///< whose numbers fit beside an event's kind
[[nodiscard]] constexpr EventKind kind_of(std::uint32_t code) { return static_cast<EventKind>(code & 15); }
[[nodiscard]] constexpr std::uint32_t what_of(std::uint32_t code) { return code >> 4; }
[[nodiscard]] constexpr std::uint8_t channel_of(std::uint32_t code) {
    return static_cast<std::uint8_t>(code >> 4 & 255);
}
[[nodiscard]] constexpr Port port_of(std::uint32_t code) { return static_cast<Port>(code >> 12); }

/// A machine's parameters in ticks.
struct Parameters {
    Parameters(const Machine& m, const Topology& topology)
        : links(m, topology),
          link(links.rates.front()),
          injection_slot(byte_time(m.injection_bandwidth)),
          crossbar_slot(m.crossbar_bandwidth == 0 ? 0 : byte_time(m.crossbar_bandwidth)),
          least_slot(slowest_slot(link)),
          logp_slot(byte_time(m.logp_bandwidth)),
          memory_slot(byte_time(m.memory_bandwidth)),
          instruction(byte_time(m.processor_frequency)),
          injection_latency(from_picoseconds(m.injection_latency)),
          logp_hop_latency(from_picoseconds(m.logp_hop_latency)),
          logp_out_in_latency(from_picoseconds(m.logp_out_in_latency)),
          costs(m),
          message_gap(from_picoseconds(m.message_gap)),
          node_latency(from_picoseconds(m.node_latency)),
          node_memory_slot(m.node_memory_bandwidth == 0 ? 0 : byte_time(m.node_memory_bandwidth)),
          node_slot(m.node_bandwidth == 0 ? 0 : std::max(byte_time(m.node_bandwidth), node_memory_slot)),
          packet(static_cast<std::uint32_t>(m.packet)),
          buffer(m.buffer),
          eager_limit(m.eager_limit),
          short_limit(m.short_limit),
          negligible_size(m.negligible_size),
          round_robin(m.round_robin_injection),
          hardware_progress(m.hardware_progress),
          direct_eager(m.direct_eager) {}

    [[nodiscard]] Ticks lookahead() const {
        return std::min({links.least_latency(), injection_latency, logp_out_in_latency});
    }

    /// A byte's time at the slowest server of a way of which this is the slowest link [ticks].
    [[nodiscard]] Ticks slowest_slot(const LinkRate& slowest_link) const {
        return std::max({slowest_link.slot, injection_slot, crossbar_slot});
    }

    /// Whether switches have a crossbar that packets wait for.
    [[nodiscard]] bool has_crossbar() const { return crossbar_slot > 0; }

    /// Time a rank is busy copying n bytes: 3 instructions a word; above 64 B the memory's bandwidth comes on top
    /// (SST/macro 16.0's default cost of eager messages).
    [[nodiscard]] Ticks copy(std::int64_t n) const {
        const auto words = static_cast<Ticks>(n) / 8;
        constexpr std::int64_t many = 1 << 20;  // fewer can't take too long
        if (n > many) [[unlikely]]
            return checked_product(words, 3 * instruction + 8 * memory_slot);
        return 3 * words * instruction + (words > 8 ? static_cast<Ticks>(n) * memory_slot : 0);
    }

    LinkRates links;
    LinkRate link;  ///< the fastest; all links where they are alike
    Ticks injection_slot, crossbar_slot;
    Ticks least_slot;  ///< at the slowest server of the fastest way
    Ticks logp_slot, memory_slot, instruction;
    Ticks injection_latency, logp_hop_latency, logp_out_in_latency;
    Costs costs;
    Ticks message_gap;                                ///< from one message's begin at a NIC to the next one's
    Ticks node_latency, node_memory_slot, node_slot;  ///< between two ranks of a node; the slower of its servers
    std::uint32_t packet;
    std::int64_t buffer;
    std::int64_t eager_limit, short_limit, negligible_size;
    bool round_robin;
    bool hardware_progress;  ///< messages go on while their rank works
    bool direct_eager;       ///< an eager message whose receive is posted when it comes is where it belongs
};

struct Statistics {
    std::uint64_t messages = 0;         ///< of the workload
    std::uint64_t bytes = 0;            ///< of the workload
    std::uint64_t packets = 0;          ///< of the workload
    std::uint64_t control_packets = 0;  ///< of headers, get requests, acknowledgements
    std::uint64_t hops = 0;             ///< switch visits of all packets
    std::uint64_t events = 0;
    std::uint64_t delivered_bytes = 0;  ///< of the workload

    void add(const Statistics& other) {
        messages += other.messages;
        bytes += other.bytes;
        packets += other.packets;
        control_packets += other.control_packets;
        hops += other.hops;
        events += other.events;
        delivered_bytes += other.delivered_bytes;
    }
};

/// Events, records and counters of all LPs, or, where several threads simulate one point, of those of one part.
/// Transactions and messages are then the same records for all parts, because both ends write them (each fields of its
/// own, or one after the other).
class Engine {
public:
    /// \param mailboxes with other parts; null where there are none
    /// \param window [ticks] how long LPs are handled one after the other, at most the look-ahead; 0: as long.
    ///     Results do not depend on it.
    Engine(const Machine& machine, const Topology& topology, std::uint64_t seed_, const Places& places_,
           Mailboxes* mailboxes, Ticks window = 0)
        : parameters(machine, topology),
          seed(seed_),
          switches(topology.switches()),
          places(places_),
          lps(switches + places.nodes()),
          window_(window == 0 ? parameters.lookahead() : std::min(window, parameters.lookahead())),
          queue_(window_, lps),
          mailboxes_(mailboxes) {}

    /// The engine of another part. \pre nothing has been simulated
    Engine(Engine& first, std::uint32_t part)
        : parameters(first.parameters),
          seed(first.seed),
          switches(first.switches),
          places(first.places),
          lps(first.lps),
          transactions(Pool<Transaction>::SameAs{first.transactions}),
          messages(Pool<Message>::SameAs{first.messages}),
          delays(first.delays),
          link_use(first.link_use.another()),
          window_(first.window_),
          queue_(window_, lps),
          mailboxes_(first.mailboxes_),
          part_(part) {}

    const Parameters parameters;
    const std::uint64_t seed;
    const SwitchId switches;
    const Places& places;
    const LpId lps;
    Pool<Packet> packets;
    Pool<Transaction> transactions;
    Pool<Message> messages;
    Pool<Credits> credits;
    Pool<Gaps> gaps;
    Pool<OpenRound> open_rounds;
    Statistics statistics;
    Delays delays;
    UseOverTime link_use;  ///< by class, or by link; without bins where nobody asks
    Ledger ledger;         ///< where invariants are checked

    /// Counts what begins to wait; compared within one queue only.
    [[nodiscard]] std::uint32_t next_order() { return order_++; }

    /// The LP of a place's node.
    [[nodiscard]] LpId lp_of(std::uint32_t place) const { return switches + places.node_of(place); }
    /// The place that an event of a node happens at, or the NIC of that place.
    [[nodiscard]] std::uint32_t place_of(const Event& event) const {
        if (!places.several()) return event.lp - switches;
        const std::uint32_t local = what_of(event.code) & ((1U << places.bits()) - 1);
        return places.at({event.lp - switches, local});
    }
    /// Schedules what a rank or NIC does, at its own node.
    void schedule_at(std::uint32_t place, Ticks time, EventKind kind) {
        const Address address = places.address(place);
        schedule(time, switches + address.node, node_code(kind, address.local));
    }

    /// Brings what a packet belongs to into the cache.
    void prefetch_message(const Packet& packet) const {
        if (packet.whole) {
            transactions.prefetch(packet.message);
        } else {
            messages.prefetch(packet.message);
        }
    }

    /// A message of `bytes` bytes reaches its target's node, from another node.
    /// \param tie orders it among others of that tick
    void arrive(Index item, std::uint32_t source, std::uint32_t target, std::int64_t bytes, Ticks time,
                std::uint32_t tie) {
        const Address address = places.address(places.of(target));
        send(time, switches + address.node, arrival(address.local, item, source, bytes, tie), item);
    }

    /// The same where the target is of the same node.
    void arrive_inside(Index item, std::uint32_t source, std::uint32_t target, std::int64_t bytes, Ticks time,
                       std::uint32_t tie) {
        const Address address = places.address(places.of(target));
        schedule(time, switches + address.node, arrival(address.local, item, source, bytes, tie), item);
    }

    void schedule(Ticks time, LpId lp, std::uint32_t code, Index item = none) {
        if (lp == current_ && time < end_) {
            add_nearby({static_cast<std::uint32_t>(time - begin_), lp, item, code});
        } else {
            schedule_elsewhere(time, lp, code, item);
        }
    }

    /// An event of a later window; that is all that one LP can do to another of its part.
    void schedule_elsewhere(Ticks time, LpId lp, std::uint32_t code, Index item) {
#ifdef TRAMONTANE_CHECKS
        if (time < end_) throw std::logic_error("simulator: an event reaches another lp within a window");
#endif
        queue_.push(time, lp, code, item);
    }

    /// When the window begins whose events are handled.
    [[nodiscard]] Ticks window_begin() const { return begin_; }

    /// Whether the LP is of this part.
    [[nodiscard]] bool owns(LpId lp) const { return mailboxes_ == nullptr || mailboxes_->owner(lp) == part_; }

    /// An event of a later window at an LP that may be another part's. A packet whose head arrives there goes along.
    void send(Ticks time, LpId lp, std::uint32_t code, Index item) {
        if (owns(lp)) return schedule_elsewhere(time, lp, code, item);
        Mailbox& box = mail(time, lp, code, item);
        if (kind_of(code) != EventKind::head_arrival) return;
        box.packets.push_back(packets[item]);
        if constexpr (checks) ledger.leave(packets[item].bytes);
        packets.give_back(item);
    }

    /// Gives credits back to an output of another part's switch.
    void send_credit(Ticks time, SwitchId at, Port port, std::uint8_t channel, std::uint32_t bytes) {
        mail(time, at, event_code(EventKind::output_credit, port, channel), bytes);
    }

    /// Gives credits back to `channel` of `lp` at `time`, and sees to it that what waits there is woken.
    template <class AnyChannel>
    void give(LpId lp, AnyChannel& channel, std::uint32_t wake_code, Ticks time, std::uint32_t bytes) {
        // What is due now needs no longer be listed: the lists of a burst of small packets would be long, and cold when
        // the next packet looks. No later look is before this window.
        if (channel.waiting.empty()) channel.apply(credits, begin_);
        channel.give(credits, time, bytes);
        wake_if_needed(lp, channel, wake_code);
    }

    template <class AnyChannel>
    [[gnu::always_inline]] void wake_if_needed(LpId lp, AnyChannel& channel, std::uint32_t wake_code) {
        if (channel.wake() || channel.waiting.empty() || !channel.expects()) return;
        channel.set_wake(true);
        schedule(channel.next_time(), lp, wake_code);
    }

    /// The next window in which this part has events, or others those that it has told them.
    [[nodiscard]] std::uint64_t next_window() const { return std::min(queue_.next(), mail_due_); }

    /// Takes what other parts have told since the last time: events, and credits, with which `credit(remote)` is
    /// called. To be done before each window by each part.
    template <class Credit>
    void receive(Credit&& credit) {
        if (mailboxes_ == nullptr) return;
        mail_due_ = EventQueue::ended;
        for (std::uint32_t other = 0; other < mailboxes_->parts(); ++other) {
            Mailbox& box = mailboxes_->box(turn_, other, part_);
            const Packet* packet = box.packets.data();
            for (const RemoteEvent& remote : box.events) {
                if (kind_of(remote.code) == EventKind::output_credit) {
                    credit(remote);
                    continue;
                }
                Index item = remote.item;
                if (kind_of(remote.code) == EventKind::head_arrival) {
                    item = packets.take();
                    if constexpr (checks) ledger.enter(packet->bytes);
                    packets[item] = *packet++;
                }
                queue_.push(remote.time, remote.lp, remote.code, item);
            }
            box.clear();
        }
        turn_ = !turn_;
    }

    /// Handles the events of a window. Memory is slow, so each kind of event has four stages: `fetch(event)` is called
    /// well ahead for what the event names, `approach(event)` somewhat ahead for what that leads to, `reach(event)`
    /// shortly before for what that leads to in turn, and `handle(event, time)` when it is due. Whoever changes what
    /// `handle` touches changes the others with it: a build with checks counts the lines that nobody asked for
    /// (lines.hpp). Nothing is called ahead while `memory` [B] is so little that it stays in the cache: it would cost a
    /// fifth of the rate.
    template <class Fetch, class Approach, class Reach, class Handle>
    void handle_window(std::uint64_t window, std::uint64_t memory, Fetch&& fetch, Approach&& approach, Reach&& reach,
                       Handle&& handle) {
        const auto events = queue_.open(window);
        begin_ = queue_.begin();
        end_ = queue_.end();
        const std::size_t n = events.size();
        // Calls ahead are made for several events at a time: where a page's address must be looked up, fetching a line
        // ahead holds the processor up nearly as long as a load would, unless it has others to do at the same time.
        std::size_t turn = memory > cached ? 0 : n;  // the event that calls ahead come before
        std::size_t fetched = 0, approached = 0, reached = 0;
        const auto prepare = [&] {
            for (const std::size_t to = std::min(n, turn + far); fetched < to; ++fetched) fetch(events[fetched]);
            for (const std::size_t to = std::min(n, turn + near); approached < to; ++approached)
                approach(events[approached]);
            for (const std::size_t to = std::min(n, turn + next); reached < to; ++reached) reach(events[reached]);
            turn += together;
        };
        Event* following = events.data();
        Event* const last = following + n;  // of no LP
        while (following != last) {
            const LpId here = current_ = following->lp;
            [[maybe_unused]] std::uint32_t latest = 0;
            while (true) {  // this LP's events, old and new, in order of time and key
                Event event;
                if (following->lp == here) {
                    if (following - events.data() == static_cast<std::ptrdiff_t>(turn)) prepare();
                    if (tied(following[0], following[1])) order_ties(following);
                    event = new_goes_first(*following) ? take_nearby() : *following++;
                } else {
                    if (first_nearby_->offset == no_offset) break;
                    event = take_nearby();
                }
                if constexpr (checks) {
                    if (event.offset < latest) throw std::logic_error("simulator: time went backwards");
                    latest = event.offset;
                }
                ++statistics.events;
                handle(event, begin_ + event.offset);
            }
        }
        current_ = no_lp;
    }

    /// Handles the events of a window in order of time over all LPs, and of LPs at the same time: where an LP
    /// looks at what others are doing at that moment. Much slower.
    template <class Handle>
    void handle_in_time_order(std::uint64_t window, Handle&& handle) {
        const auto events = queue_.open(window);
        begin_ = queue_.begin();
        end_ = queue_.end();
        std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
            return a.offset != b.offset ? a.offset < b.offset : a.lp < b.lp;
        });
        Event* following = events.data();
        Event* const last = following + events.size();
        while (following != last || first_nearby_->offset != no_offset) {
            if (following != last && tied(following[0], following[1])) order_ties(following);
            const Event event = following == last || new_goes_first(*following) ? take_nearby() : *following++;
            current_ = event.lp;
            ++statistics.events;
            handle(event, begin_ + event.offset);
        }
        current_ = no_lp;
    }

    void start_at(Ticks time, LpId lp, std::uint32_t code) { queue_.push(time, lp, code, none); }

    /// Writes or reads all that changes, between two windows. \pre nothing is in the mailboxes
    /// \param first the records that all parts have in common come with the first one
    void keep(StateFile& file, bool first) {
        const auto pool = [&](auto& of, bool with_records) {
            if (with_records) of.keep_records(file);
            of.keep(file);
        };
        pool(packets, true);
        pool(credits, true);
        pool(gaps, true);
        pool(open_rounds, true);
        pool(transactions, first);
        pool(messages, first);
        file(statistics);
        delays.keep(file);
        link_use.keep(file);
        file(ledger);
        queue_.keep(file);
        file(order_);
    }

private:
    /// Makes a message say what its arrival needs to know. Returns the event's code.
    std::uint32_t arrival(std::uint32_t local, Index item, std::uint32_t source, std::int64_t bytes,
                          std::uint32_t tie) {
        Transaction& transaction = transactions[item];
        if (transaction.carries_payload()) statistics.delivered_bytes += static_cast<std::uint64_t>(bytes);
        if (transaction.is_eager_payload()) {
            if (bytes > std::numeric_limits<std::uint32_t>::max()) {
                throw std::runtime_error("simulator: an eager message of 4 GiB or more");
            }
            transaction.bytes = static_cast<std::uint32_t>(bytes);
        } else {
            transaction.peer = source;
        }
        transaction.tie = tie;
        return node_code(EventKind::message_arrival, source << places.bits() | local);
    }

    Mailbox& mail(Ticks time, LpId lp, std::uint32_t code, Index item) {
        if constexpr (checks) {
            if (time < end_) throw std::logic_error("simulator: an event reaches another part within a window");
        }
        Mailbox& box = mailboxes_->box(turn_, part_, mailboxes_->owner(lp));
        box.events.push_back({time, lp, code, item});
        mail_due_ = std::min(mail_due_, queue_.number_of(time));
        return box;
    }

    static constexpr std::uint64_t cached = std::uint64_t{1} << 19;  // half of a usual second-level cache
    // For how many events calls ahead are made at a time, and how far ahead each of them is for the last of these.
    static constexpr std::size_t together = 8;
    static constexpr std::size_t far = 24 + together;
    static constexpr std::size_t near = 12 + together;
    static constexpr std::size_t next = 4 + together;
    static constexpr LpId no_lp = ~LpId{0};
    static constexpr std::uint32_t no_offset = ~std::uint32_t{0};  // behind all of a window

    // What happens at one LP and tick is ordered by keys. They are functions of what happens, not of how events were
    // stored: the smallest key of those that are pending goes first, whether its event is old or new. So results depend
    // neither on the length of a window nor on the number of threads.
    //
    // First come returning credits and ranks, by kind, channel and port. Then packets and messages follow in a random
    // order that is their own, so that no port is favoured; where two have drawn the same number, their origins decide.

    /// Orders nearly all events of one LP and tick.
    [[nodiscard]] std::uint64_t key(const Event& event) const {
        constexpr std::uint64_t random = std::uint64_t{1} << 63;
        switch (kind_of(event.code)) {
            case EventKind::head_arrival:
            case EventKind::crossbar_exit:
                return random | packets[event.item].tie;
            case EventKind::message_arrival:
                return random | transactions[event.item].tie;
            default:
                return event.code;
        }
    }

    /// Orders those of equal keys. No two of them are alike: a rank draws other numbers for its other packets, and
    /// sends a message of each kind, round and index once.
    struct Origin {
        std::uint32_t rank, round, what;
        auto operator<=>(const Origin&) const = default;
    };
    [[nodiscard]] Origin origin(const Event& event) const {
        switch (kind_of(event.code)) {
            case EventKind::head_arrival:
            case EventKind::crossbar_exit: {
                const Packet& packet = packets[event.item];
                return {packet.whole ? transactions[packet.message].peer : messages[packet.message].source, 0, 0};
            }
            case EventKind::message_arrival: {
                const Transaction& transaction = transactions[event.item];
                return {what_of(event.code) >> places.bits(), transaction.round, transaction.what()};
            }
            default:
                return {};
        }
    }

    /// \pre the events are of the same LP and tick
    [[nodiscard]] bool goes_first(const Event& a, std::uint64_t key_a, const Event& b, std::uint64_t key_b) const {
        if (key_a != key_b) [[likely]]
            return key_a < key_b;
        const Origin origin_a = origin(a), origin_b = origin(b);
        if constexpr (checks) {
            // A node's injection may be called up twice for the same tick; the second time it finds nothing to do.
            if (origin_a == origin_b && kind_of(a.code) != EventKind::nic_wake) {
                throw std::logic_error("simulator: two events of one place and tick have the same key");
            }
        }
        return origin_a < origin_b;
    }

    /// Whether the first new event is due before the next stored one.
    [[nodiscard]] bool new_goes_first(const Event& stored) const { return after(stored, *first_nearby_); }

    /// Whether two events are of the same LP and tick.
    [[nodiscard]] static bool tied(const Event& a, const Event& b) { return a.offset == b.offset && a.lp == b.lp; }

    void order_ties(Event* first) {
        // There are few; looking up their keys takes longer than the rest.
        ties_.clear();
        for (const Event* event = first; tied(*event, *first); ++event) {
            const Tied added{key(*event), *event};
            std::size_t to = ties_.size();
            ties_.push_back(added);
            for (; to > 0 && goes_first(added.event, added.key, ties_[to - 1].event, ties_[to - 1].key); --to) {
                ties_[to] = ties_[to - 1];
            }
            ties_[to] = added;
        }
        for (const Tied& tied : ties_) *first++ = tied.event;
    }

    struct Tied {
        std::uint64_t key;
        Event event;
    };
    std::vector<Tied> ties_;

    /// Most come in the order of their times.
    void add_nearby(const Event& event) {
        if (end_nearby_ == &nearby_.back()) [[unlikely]]
            make_room_nearby();
        Event* to = end_nearby_++;
        for (; to > first_nearby_ && after(to[-1], event); --to) to[0] = to[-1];
        *to = event;
        end_nearby_->offset = no_offset;
    }

    [[gnu::noinline]] void make_room_nearby() {
        const auto first = first_nearby_ - nearby_.data(), end = end_nearby_ - nearby_.data();
        nearby_.resize(2 * nearby_.size());
        first_nearby_ = nearby_.data() + first;
        end_nearby_ = nearby_.data() + end;
    }

    Event take_nearby() {
        const Event event = *first_nearby_++;
        if (first_nearby_ == end_nearby_) {
            first_nearby_ = end_nearby_ = nearby_.data();
            first_nearby_->offset = no_offset;
        }
        return event;
    }

    [[nodiscard]] bool after(const Event& a, const Event& b) const {
        if (a.offset != b.offset) [[likely]]
            return a.offset > b.offset;
        return a.lp != b.lp ? a.lp > b.lp : goes_first(b, key(b), a, key(a));
    }

    const Ticks window_;
    EventQueue queue_;
    Mailboxes* const mailboxes_;  // null: there is one part
    const std::uint32_t part_ = 0;
    bool turn_ = false;                           // which of the mailboxes's boxes are filled
    std::uint64_t mail_due_ = EventQueue::ended;  // the first window for which other parts have been told something
    // New events of the current LP and window, by time, and behind them one of no time.
    std::vector<Event> nearby_{16, Event{no_offset, 0, none, 0}};
    Event* first_nearby_ = nearby_.data();
    Event* end_nearby_ = nearby_.data();
    std::uint32_t order_ = 0;
    LpId current_ = no_lp;
    Ticks begin_ = 0;
    Ticks end_ = 0;
};

}  // namespace tramontane
