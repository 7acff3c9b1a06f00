/// \file
/// The switches: routing, crossbar, output buffers and links.
///
/// A packet's head at a switch is routed, waits for space in the output buffer of its port and virtual channel, passes
/// the crossbar (one server a switch; an unlimited one takes no time and has no server), waits for space behind the
/// link, and passes the link. The space it held upstream is free again when its head leaves the crossbar, and the
/// upstream side knows one link latency later. These are PISCES' stages; what happens at one tick is done in one event.
///
/// Where links differ (links.hpp), a switch keeps the number of each port's rate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine.hpp"
#include "random.hpp"
#include "routing.hpp"
#include "topology.hpp"

namespace tramontane {

class Fabric {
public:
    Fabric(Engine& engine, const Topology& topology, const Router& router, const LinkCounting& counting = {});
    /// The same fabric as another part sees it: only nodes' links are common, each used by its owner.
    Fabric(const Fabric& first, Engine& engine);

    // Events of a switch, each with its stages; see Engine::handle_window.

    struct CrossbarCredit {  ///< space in an output buffer is free again, packets wait before the crossbar
        static void fetch(const Fabric& fabric, const Event& event);
        static void approach(const Fabric& fabric, const Event& event);
        static void reach(const Fabric& fabric, const Event& event);
        static void handle(Fabric& fabric, const Event& event, Ticks now);
    };
    struct OutputCredit {  ///< space behind a link is free again, packets wait in the output buffer
        static void fetch(const Fabric& fabric, const Event& event);
        static void approach(const Fabric& fabric, const Event& event);
        static void reach(const Fabric& fabric, const Event& event);
        static void handle(Fabric& fabric, const Event& event, Ticks now);
    };
    struct HeadArrival {  ///< a packet's head arrives
        static void fetch(const Fabric& fabric, const Event& event);
        static void approach(Fabric& fabric, const Event& event);
        static void reach(const Fabric& fabric, const Event& event);
        static void handle(Fabric& fabric, const Event& event, Ticks now);
    };
    struct CrossbarExit {  ///< a packet's head leaves the crossbar, later than it arrived
        static void fetch(const Fabric& fabric, const Event& event);
        static void approach(const Fabric& fabric, const Event& event);
        static void reach(const Fabric&, const Event&) {}
        static void handle(Fabric& fabric, const Event& event, Ticks now);
    };

    /// Calls `f(switch, port, meter)` for each link that packets of this part went by, where links are counted.
    template <class F>
    void each_counted_link(F&& f) const {
        for (SwitchId at = 0; at < switches_.size(); ++at) {
            if (switches_[at] == nullptr) continue;
            for (Port port = 0; port < topology_.ports(); ++port) {
                if (meter(at, port).packets > 0) f(at, port, meter(at, port));
            }
        }
    }

    /// Credits that another part gives back.
    void credit(const RemoteEvent& c) {
        engine_.give(c.lp, out(c.lp, port_of(c.code), channel_of(c.code)).behind, c.code, c.time, c.item);
    }

    static constexpr Ticks never = ~Ticks{0};

    /// Between the injection buffer of a NIC and its switch; not divided by virtual channels.
    struct alignas(64) Injection {
        NodeChannel channel;
        Ticks wake = never;  ///< when the NIC goes on; never: with the next message, or credit if packets wait
    };
    static_assert(sizeof(Injection) == 64);
    [[nodiscard]] Injection& injection(std::uint32_t nic) {
        touch(injection_[nic]);
        return injection_[nic];
    }
    /// Lets the NIC go on at `time`.
    void wake_injection(std::uint32_t nic, Ticks time) {
        injection_[nic].wake = time;
        engine_.schedule_at(nic, time, EventKind::nic_wake);
    }

    /// Bytes of switch state; switches that no packet met have none.
    [[nodiscard]] std::uint64_t memory() const { return memory_; }
    /// Checks the buffers of a switch; see ledger.hpp. \param idle nothing is under way
    void verify(SwitchId at, bool idle) const;
    void verify_all_idle() const {
        for (SwitchId at = 0; at < switches_.size(); ++at) verify(at, true);
    }

    /// Writes or reads all that changes. \param first nodes' links, which all parts have in common, come with the first
    /// one
    void keep(StateFile& file, bool first);

    /// What waits where in a switch, for a deadlock's report; at most `limit` queues, which are counted down.
    [[nodiscard]] std::string waiting(SwitchId at, int& limit) const;

private:
    /// The two buffers a packet passes on its way out of a switch.
    struct alignas(64) Output {
        SwitchChannel before;  ///< space in the output buffer, waited for before the crossbar
        SwitchChannel behind;  ///< space in the next switch or node, waited for before the link
    };
    static constexpr SwitchId unknown = ~SwitchId{0};

    /// The server of a port and the switch behind it, which is known once a packet has gone there.
    struct Link : Arbiter {
        SwitchId next = unknown;
    };
    static_assert(sizeof(Link) == 16);

    /// A switch is one block: its crossbar, then its links by port, their rates where they differ, then its outputs by
    /// port and virtual channel, then the meters of its links where they are counted.
    struct alignas(64) CacheLine {
        std::byte bytes[64];
    };

    [[nodiscard]] Link* links(SwitchId at) const { return reinterpret_cast<Link*>(switches_[at]->bytes); }
    [[nodiscard]] Arbiter& crossbar(SwitchId at) const { return links(at)[0]; }
    [[nodiscard]] Link& link(SwitchId at, Port port) const { return links(at)[1 + port]; }
    [[nodiscard]] Output* outputs(SwitchId at) const {
        return reinterpret_cast<Output*>(reinterpret_cast<std::byte*>(switches_[at]) + outputs_offset_);
    }
    [[nodiscard]] Output& out(SwitchId at, Port port, std::uint8_t channel) const {
        return outputs(at)[std::size_t{port} * channels_ + channel];
    }
    [[nodiscard]] LinkMeter& meter(SwitchId at, Port port) const {
        return reinterpret_cast<LinkMeter*>(reinterpret_cast<std::byte*>(switches_[at]) + meters_offset_)[port];
    }
    void note_arrival(SwitchId at, const Packet& packet, Ticks now);
    void create(SwitchId at);

    [[nodiscard]] LinkRateId* rates(SwitchId at) const {
        return reinterpret_cast<LinkRateId*>(links(at) + 1 + topology_.ports());
    }
    /// Of a link, where links differ.
    [[nodiscard]] const LinkRate& rate(SwitchId at, Port port) const {
        return engine_.parameters.links.rates[rates(at)[port]];
    }
    /// The latency of the link that a packet came by, from a switch that may be another part's.
    [[nodiscard]] Ticks latency_behind(const Packet& packet) const;
    void meet(Packet& packet, LinkRateId rate) const;

    void prefetch_switch(SwitchId at) const { prefetch_line(switches_[at]); }
    void prefetch_bin(SwitchId at, Port port) const {
        if (links_ == Links::counted && engine_.link_use.wanted()) [[unlikely]]
            engine_.link_use.prefetch(meter(at, port).series, engine_.window_begin());
    }
    void prefetch_output(SwitchId at, Port port, std::uint8_t channel) const;
    void prefetch_upstream(const Packet& packet) const;
    void prefetch_waiting(const SwitchChannel& channel) const;

    /// Routes a packet before its head arrives, where the moment does not matter to its route.
    void route_ahead(SwitchId at, Packet& packet) {
        if (!packet.routed && router_.ignores_state(packet.route)) route(at, packet, 0);
    }
    void route(SwitchId at, Packet& packet, Ticks now);
    // The stages; as a rule they follow one another in one event, and are one function there.
    void enter_crossbar(SwitchId at, Index item, Output& output, Ticks now);
    void leave_crossbar(SwitchId at, Index item, Ticks now);
    void enter_link(SwitchId at, Index item, Output& output, Ticks now);
    void enter_one_of_different_links(SwitchId at, Index item, Output& output, Ticks now);
    void enter_counted_link(SwitchId at, Index item, Output& output, Ticks now);
    template <bool differ>
    Passage pass_link(SwitchId at, Index item, Output& output, Ticks now);
    void eject(Index item, Ticks tail);
    std::uint64_t queued_packets(SwitchId at, Port port, Ticks now);
    /// The same without touching the switch, whose own time may differ by less than a window.
    [[nodiscard]] std::uint64_t queued_packets_anywhere(SwitchId at, Port port, Ticks now) const;
    /// What a queue counts for in a comparison: a byte's time on that link; 1 where links are alike.
    [[nodiscard]] std::uint64_t weight(SwitchId at, Port port) const { return links_differ_ ? rate(at, port).slot : 1; }

    /// What the router may know at one time.
    struct View {
        Fabric& fabric;
        Ticks now;
        [[nodiscard]] std::uint64_t queue(SwitchId at, Port port) {
            return fabric.queued_packets(at, port, now) * fabric.weight(at, port);
        }
        [[nodiscard]] std::uint64_t queue_anywhere(SwitchId at, Port port) const {
            const std::uint64_t packets = fabric.queued_packets_anywhere(at, port, now);
            return packets == 0 ? 0 : packets * fabric.weight(at, port);
        }
        [[nodiscard]] bool less(std::uint64_t a, std::uint64_t b) const { return a < b; }
        [[nodiscard]] std::uint32_t turn(std::uint32_t counter) { return fabric.counters_[counter]++; }
    };

    Engine& engine_;
    const Topology& topology_;
    const Router& router_;
    const bool has_crossbar_;
    const bool links_differ_;
    /// What is to be heeded at a link.
    enum class Links : std::uint8_t { plain, different, counted } links_;
    std::uint8_t channels_;
    std::int64_t space_;  // bytes of a buffer for one virtual channel
    std::size_t outputs_offset_, meters_offset_, lines_;
    bool meters_have_series_;              // of their own; else those of a class have one together
    std::vector<CacheLine*> switches_;     // null until a packet comes, and where another part has it
    std::vector<Pages<CacheLine>> pages_;  // where they are
    std::size_t switches_a_page_, room_ = 0;
    std::uint64_t memory_ = 0;
    std::vector<std::uint32_t> counters_;  // of ports that are taken in turn
    std::shared_ptr<Injection[]> injection_;
};

}  // namespace tramontane
