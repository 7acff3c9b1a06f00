/// \file
/// What all parts of a simulation share: parameters in ticks, pending events, records and counters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "delays.hpp"
#include "engine/event_queue.hpp"
#include "engine/ledger.hpp"
#include "engine/mailboxes.hpp"
#include "engine/steady.hpp"
#include "engine/unpacking.hpp"
#include "machine.hpp"
#include "placement/places.hpp"
#include "rules/arbiter.hpp"
#include "rules/channel.hpp"
#include "rules/events.hpp"
#include "rules/node_records.hpp"
#include "rules/parameters.hpp"
#include "rules/records.hpp"
#include "schedule.hpp"
#include "statistics/link_use.hpp"
#include "statistics/waiting.hpp"
#include "topologies/topology.hpp"

namespace tramontane {

/// Events, records and counters of all LPs, or, where several threads simulate one point, of those of one part.
/// Transactions and messages are then the same records for all parts, because both ends write them (each fields of its
/// own, or one after the other).
class Engine : public Events<Engine> {
public:
    // What rules see:
    using Network = Topology;
    using Rounds = Schedule;
    using Unpacking = tramontane::Unpacking;
    using Waiting = tramontane::Waiting;
    using Repeats = tramontane::Repeats;
    template <class T>
    using ByPhase = T*;

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

    [[nodiscard]] Statistics& counts() { return statistics; }
    [[nodiscard]] NodeRecords::Ends& ends() { return ends_; }
    [[nodiscard]] const NodeRecords::Ends& ends() const { return ends_; }
    /// Counts what begins to wait; compared within one queue only.
    [[nodiscard]] std::uint32_t next_order() { return order_++; }

    /// The place that an event of a node happens at, or the NIC of that place.
    [[nodiscard]] std::uint32_t place_of(const Event& event) const { return Events::place_of(event.lp, event.code); }

    /// Brings what a packet belongs to into the cache.
    void prefetch_message(const Packet& packet) const {
        if (packet.whole) {
            transactions.prefetch(packet.message);
        } else {
            messages.prefetch(packet.message);
        }
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
        // Calls ahead are made for two events at a time: where a page's address must be looked up, fetching a line
        // ahead holds the processor up nearly as long as a load would, unless it has others to do at the same time.
        // More at a time, and further ahead, is slower (docs/performance-history.md).
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
    static constexpr std::size_t together = 2;
    static constexpr std::size_t far = 14 + together;
    static constexpr std::size_t near = 8 + together;
    static constexpr std::size_t next = 3 + together;
    static constexpr LpId no_lp = ~LpId{0};
    static constexpr std::uint32_t no_offset = ~std::uint32_t{0};  // behind all of a window

    /// Whether the first new event is due before the next stored one.
    [[nodiscard]] bool new_goes_first(const Event& stored) const { return after(stored, *first_nearby_); }

    /// Whether two events are of the same LP and tick.
    [[nodiscard]] static bool tied(const Event& a, const Event& b) { return a.offset == b.offset && a.lp == b.lp; }

    void order_ties(Event* first) {
        // There are few; looking up their keys takes longer than the rest.
        ties_.clear();
        for (const Event* event = first; tied(*event, *first); ++event) {
            const Tied added{Events::key(event->code, event->item), *event};
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
        return a.lp != b.lp ? a.lp > b.lp : goes_first(b, Events::key(b.code, b.item), a, Events::key(a.code, a.item));
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
    NodeRecords::Ends ends_;
    std::uint32_t order_ = 0;
    LpId current_ = no_lp;
    Ticks begin_ = 0;
    Ticks end_ = 0;
};

}  // namespace tramontane
