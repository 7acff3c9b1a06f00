#include "simulation.hpp"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <memory>
#include <stdexcept>

#include "engine.hpp"
#include "fabric.hpp"
#include "node.hpp"
#include "pisces16/simulation.hpp"

namespace tramontane {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void check(const Machine& m, const Router& router) {
    if (m.buffer > std::numeric_limits<std::int32_t>::max()) {  // a channel counts its free bytes in 32 bits
        throw std::invalid_argument("machine.buffer: at most 2^31 - 1 B");
    }
    if (m.buffer / router.channels() < m.packet) {  // would deadlock
        throw std::invalid_argument("machine.buffer: " + std::to_string(m.buffer) + " B over " +
                                    std::to_string(router.channels()) + " virtual channels hold no packet of " +
                                    std::to_string(m.packet) + " B");
    }
    if (m.packet < 1 || m.packet > 1'000'000'000)
        throw std::invalid_argument("machine.packet: must lie in 1 B ... 1 GB");
}

/// All that there is before the first event.
struct Parts {
    Parts(const Machine& machine, const Schedule& schedule, const Run& run)
        : topology(make_topology(machine)),
          router(*topology, machine.routing),
          ranks(static_cast<std::uint32_t>(schedule.ranks())),
          allocation(run.allocation, ranks, *topology, run.seed),
          engine(machine, run.seed, topology->switches(), topology->switches() + ranks),
          fabric(engine, *topology, router, ranks),
          nodes(engine, fabric, *topology, allocation, schedule, Noise(run.noise, run.seed),
                Repeats(schedule.ranks(), schedule.rounds(), schedule.repeats(), run.steady_error)) {
        check(machine, router);
        engine.delays = Delays(run.congestion_bins, ranks);
    }

    const std::unique_ptr<Topology> topology;
    const Router router;
    const std::uint32_t ranks;
    const Allocation allocation;
    Engine engine;
    Fabric fabric;
    Nodes nodes;
};

/// Memory of this process that is in use [B]; 0 where the system does not tell.
std::uint64_t resident_bytes() {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;  // the second number
    return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// From the repeats that were simulated to all. They send the same; only how far they send it may differ.
void extrapolate(Outcome& o, const Repeats& repeats) {
    o.repeats_simulated = repeats.simulated();
    if (repeats.left_out() == 0) return;
    const double rest = repeats.forecast().repeat * static_cast<double>(repeats.left_out()) * seconds_per_tick;
    o.time_s += rest;
    for (auto& [name, time] : o.phases) time += rest;
    o.steady_error = repeats.forecast().half_width * seconds_per_tick / o.time_s;
    const auto simulated = static_cast<std::uint64_t>(repeats.simulated());
    const auto left_out = static_cast<std::uint64_t>(repeats.left_out());
    for (std::uint64_t* count : {&o.messages, &o.packets, &o.bytes, &o.control_packets}) {
        *count += *count / simulated * left_out;
    }
    o.hops += static_cast<std::uint64_t>(static_cast<double>(o.hops) / static_cast<double>(simulated) *
                                         static_cast<double>(left_out));
}

}  // namespace

bool checks_invariants() { return checks; }

std::uint64_t idle_bytes(const Machine& machine, const Schedule& schedule, const Run& run) {
    const std::uint64_t before = resident_bytes();
    const Parts parts(machine, schedule, run);
    return resident_bytes() - before;
}

Outcome simulate(const Machine& machine, const Schedule& schedule, const Run& run, const std::function<void()>& poll) {
    if (machine.model == "pisces-16") return pisces16::simulate(machine, schedule, run, poll);
    const auto entered = std::chrono::steady_clock::now();
    Parts parts(machine, schedule, run);
    Engine& engine = parts.engine;
    Fabric& fabric = parts.fabric;
    Nodes& nodes = parts.nodes;
    const std::uint32_t ranks = parts.ranks;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const Ticks delay = below(random_bits(~run.seed, rank, 0), from_picoseconds(run.start_jitter) + 1);
        engine.start_at(delay, engine.place_of(rank), event_code(EventKind::start));
    }

    Outcome outcome;
    outcome.setup_s = seconds_since(entered);
    const auto begun = std::chrono::steady_clock::now();
    const SwitchId switches = engine.switches;
    engine.run([&] { return fabric.memory() + nodes.memory(); },
               [&](const Event& event) {
                   switch (kind_of(event.code)) {
                       case EventKind::head:
                       case EventKind::output:
                           engine.packets.prefetch(event.item);
                           break;
                       case EventKind::message:
                           engine.envelopes.prefetch(event.item);
                           break;
                       default:
                           break;
                   }
                   if (event.place < switches) {
                       fabric.prefetch(event.place);
                       if (kind_of(event.code) <= EventKind::output_credit) {
                           fabric.prefetch(event.place, port_of(event.code), channel_of(event.code));
                       }
                   } else {
                       nodes.prefetch(event.place - switches);
                       fabric.prefetch_injection(event.place - switches);
                   }
               },
               [&](const Event& event) {
                   switch (kind_of(event.code)) {
                       case EventKind::head:
                           fabric.approach_head(event.place, event.item);
                           break;
                       case EventKind::output:
                           fabric.approach_output(event.place, event.item);
                           break;
                       case EventKind::crossbar_credit:
                       case EventKind::output_credit:
                           fabric.approach_credit(event.place, event.code);
                           break;
                       case EventKind::injection:
                       case EventKind::resume:
                       case EventKind::message:
                           nodes.approach(event.place - switches);
                           break;
                       default:
                           break;
                   }
               },
               [&](const Event& event) {
                   if (kind_of(event.code) <= EventKind::output_credit) {
                       fabric.reach_credit(event.place, event.code);
                   } else if (kind_of(event.code) == EventKind::head) {
                       fabric.reach_head(event.place, event.item);
                   }
               },
               [&](const Event& event, Ticks now) {
                   const auto rank = [&] { return event.place - switches; };  // of a node's event
                   switch (kind_of(event.code)) {
                       case EventKind::head:
                           fabric.head(event.place, event.item, now);
                           break;
                       case EventKind::output:
                           fabric.output(event.place, event.item, now);
                           break;
                       case EventKind::crossbar_credit:
                           fabric.crossbar_credit(event.place, port_of(event.code), channel_of(event.code), now);
                           break;
                       case EventKind::output_credit:
                           fabric.output_credit(event.place, port_of(event.code), channel_of(event.code), now);
                           break;
                       case EventKind::injection:
                           nodes.injection(rank(), now);
                           break;
                       case EventKind::start:
                           nodes.start(rank(), now);
                           break;
                       case EventKind::resume:
                           nodes.resume(rank(), now);
                           break;
                       case EventKind::message:
                           nodes.message(rank(), event.item, now);
                           break;
                   }
                   if constexpr (checks) {
                       engine.ledger.verify(engine.packets.used());
                       if (event.place < switches) {
                           fabric.verify(event.place, false);
                       } else {
                           nodes.verify(rank(), false);
                       }
                   }
               },
               poll);
    outcome.wall_s = seconds_since(begun);

    if (nodes.ended() < ranks) {
        throw std::runtime_error("deadlock: " + std::to_string(ranks - nodes.ended()) + " of " + std::to_string(ranks) +
                                 " ranks never end" + nodes.waiting(3) + fabric.waiting(3));
    }
    const Statistics& s = engine.statistics;
    if (s.delivered_bytes != s.bytes || engine.packets.used() != 0 || engine.envelopes.used() != 0) {
        throw std::logic_error("simulator: " + std::to_string(s.bytes) + " B were sent, " +
                               std::to_string(s.delivered_bytes) + " B arrived");
    }
    if constexpr (checks) {
        engine.ledger.verify_closed(engine.packets.used());
        fabric.verify_all_idle();
        nodes.verify_all_idle();
    }
    outcome.time_s = to_seconds(nodes.span().length());
    const auto names = schedule.phases();
    for (std::size_t i = 0; i < names.size(); ++i) {
        outcome.phases.emplace_back(names[i], to_seconds(nodes.phases()[i].length()));
    }
    outcome.messages = s.messages;
    outcome.packets = s.packets;
    outcome.bytes = s.bytes;
    outcome.control_packets = s.control_packets;
    outcome.hops = s.hops;
    outcome.events = s.events;
    outcome.delays = std::move(engine.delays);
    outcome.imbalance = nodes.imbalance();
    extrapolate(outcome, nodes.repeats());
    outcome.network_bytes = fabric.memory();
    outcome.setup_s += seconds_since(begun) - outcome.wall_s;
    return outcome;
}

}  // namespace tramontane
