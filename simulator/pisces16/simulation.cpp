#include "simulation.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "fabric.hpp"
#include "network.hpp"
#include "ranks.hpp"

namespace tramontane::pisces16 {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void check(const Machine& m, const Network& network, std::uint32_t ranks, const Run& run) {
    for (const auto& [key, value] :
         {std::pair{"overhead", m.send_overhead | m.receive_overhead | m.post_overhead | m.send_overhead_per_byte |
                                    m.receive_overhead_per_byte | m.rendezvous_overhead | m.under_way_overhead |
                                    m.message_gap},
          std::pair{"matching", m.match_posted | m.match_unexpected}, std::pair{"unpack", m.unpack_per_byte},
          std::pair{"threads", m.threads > 1 ? m.lock : 0}, std::pair{"accelerator", m.staging_bandwidth},
          std::pair{"protocol.expected_eager", std::int64_t{m.direct_eager}}}) {
        if (value > 0) throw std::invalid_argument(std::string("machine.") + key + ": model pisces-16 has none");
    }
    if (!m.link_classes.empty()) throw std::invalid_argument("machine.link.classes: model pisces-16 has none");
    if (run.limit.set()) throw std::invalid_argument("limit: model pisces-16 ends no run before its end");
    if (run.steady_error > 0) throw std::invalid_argument("steady: model pisces-16 runs all repeats");
    if (run.noise.duration > 0) throw std::invalid_argument("noise: model pisces-16 has none");
    if (run.allocation.kind != "first-available") {
        throw std::invalid_argument("allocation: model pisces-16 has first-available only");
    }
    if (run.places.ranks_per_node != 1 || run.places.mapping != "block" || m.nics != 1) {
        throw std::invalid_argument("ranks_per_node: model pisces-16 has one rank a node");
    }
    if (ranks > network.nodes()) {
        throw std::invalid_argument("ranks: " + std::to_string(ranks) + " do not fit on " +
                                    std::to_string(network.nodes()) + " nodes");
    }
    if (m.crossbar_bandwidth == 0) {
        throw std::invalid_argument(
            "machine.crossbar.bandwidth: found unlimited, allowed with model pisces-16: a bandwidth");
    }
    for (const std::int64_t bandwidth :
         {m.link_bandwidth, m.injection_bandwidth, m.crossbar_bandwidth, m.memory_bandwidth}) {
        if (bandwidth < min_bandwidth) {
            throw std::invalid_argument("machine: found a bandwidth of " + std::to_string(bandwidth) +
                                        " B/s, allowed with model pisces-16: at least 10^7 B/s");
        }
    }
    if (m.packet < 1 || m.packet > 1'000'000'000) {
        throw std::invalid_argument("machine.packet: must lie in 1 B ... 1 GB");
    }
    if (m.buffer / network.channels() < m.packet) {  // would deadlock
        throw std::invalid_argument("machine.buffer: " + std::to_string(m.buffer) + " B over " +
                                    std::to_string(network.channels()) + " virtual channels hold no packet of " +
                                    std::to_string(m.packet) + " B");
    }
    if (m.round_robin_injection) {
        throw std::invalid_argument("machine.injection.service: model pisces-16 has fifo only");
    }
}

}  // namespace

Outcome simulate(const Machine& machine, const Schedule& schedule, const Run& run, const Poll& poll) {
    const auto entered = std::chrono::steady_clock::now();
    if (schedule.graph() != nullptr) throw std::invalid_argument("machine.model: pisces-16 runs no traces");
    const auto network = make_network(machine, run.seed);
    const auto count = static_cast<std::uint32_t>(schedule.ranks());
    check(machine, *network, count, run);
    Engine engine(machine);
    engine.delays = Delays(run.congestion_bins, count);
    Fabric fabric(engine, *network, count);
    Ranks ranks(engine, fabric, schedule, run.seed, from_picoseconds(run.start_jitter));
    ranks.launch();

    Outcome outcome;
    outcome.setup_s = seconds_since(entered);
    const auto begun = std::chrono::steady_clock::now();
    while (!ranks.all_ended()) {
        if (engine.idle()) {
            throw std::runtime_error("deadlock: " + std::to_string(count - ranks.ended()) + " of " +
                                     std::to_string(count) + " ranks never end" + ranks.waiting(3));
        }
        ranks.handle(engine.next());
        if (engine.statistics.events % 1'000'000 == 0 && poll) poll(engine.statistics.hops);
    }
    outcome.wall_s = seconds_since(begun);

    outcome.time_s = to_seconds(ranks.span().length());
    const auto names = schedule.phases();
    for (std::size_t i = 0; i < names.size(); ++i) {
        outcome.phases.emplace_back(names[i], to_seconds(ranks.phases()[i].length()));
    }
    const Statistics& s = engine.statistics;
    outcome.messages = s.messages;
    outcome.packets = s.packets;
    outcome.bytes = s.bytes;
    outcome.control_packets = s.control_packets;
    outcome.hops = s.hops;
    outcome.events = s.events;
    outcome.delays = std::move(engine.delays);
    outcome.imbalance = ranks.imbalance();
    outcome.network_bytes = fabric.memory();
    return outcome;
}

}  // namespace tramontane::pisces16
