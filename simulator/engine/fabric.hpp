/// \file
/// The switches of a simulation, or of one part of it: their records, and what is fetched ahead for each event.
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.hpp"
#include "rules/switch.hpp"
#include "topologies/topology.hpp"

namespace tramontane {

class Fabric : public SwitchRules<Fabric, Engine> {
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

    /// Credits that another part gives back.
    void credit(const RemoteEvent& c) {
        engine_.give(c.lp, out(c.lp, port_of(c.code), channel_of(c.code)).behind, c.code, c.time, c.item);
    }

    /// Bytes of switch state; switches that no packet met have none.
    [[nodiscard]] std::uint64_t memory() const { return memory_; }
    /// Checks the buffers of a switch; see ledger.hpp. \param idle nothing is under way
    void verify(SwitchId at, bool idle) const;
    void verify_all_idle() const {
        for (SwitchId at = 0; at < met_.size(); ++at) verify(at, true);
    }

    /// Writes or reads all that changes. \param first nodes' links, which all parts have in common, come with the first
    /// one
    void keep(StateFile& file, bool first);

private:
    friend SwitchRules;

    // What the rules ask for:
    void create(SwitchId at);
    void give_upstream(const Packet& packet, Ticks time) {
        const SwitchId at = packet.upstream;
        const std::uint32_t code = event_code(EventKind::output_credit, packet.upstream_port, packet.upstream_channel);
        if (switches_[at]) {
            engine_.give(at, out(at, packet.upstream_port, packet.upstream_channel).behind, code, time, packet.bytes);
        } else {
            engine_.send_credit(time, at, packet.upstream_port, packet.upstream_channel, packet.bytes);
        }
    }
    void give_to_nic(std::uint32_t nic, Ticks time, std::uint32_t bytes) { take_from_switch(nic, time, bytes); }
    [[nodiscard]] Ticks latency_behind(const Packet& packet) const;

    void prefetch_switch(SwitchId at) const { prefetch_line(switches_[at]); }
    void prefetch_output(SwitchId at, Port port, std::uint8_t channel) const;
    void prefetch_upstream(const Packet& packet) const;
    void prefetch_waiting(const SwitchChannel& channel) const;

    std::vector<CacheLine*> met_;          // null until a packet comes, and where another part has it
    std::vector<Pages<CacheLine>> pages_;  // where they are
    std::size_t switches_a_page_, room_ = 0;
    std::uint64_t memory_ = 0;
    std::vector<std::uint32_t> turns_;  // of ports that are taken in turn
    std::shared_ptr<Injection[]> injections_;
};

}  // namespace tramontane
