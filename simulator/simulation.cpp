#include "simulation.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "engine/engine.hpp"
#include "engine/fabric.hpp"
#include "engine/mailboxes.hpp"
#include "engine/node.hpp"
#include "engine/partition.hpp"
#include "engine/thread_team.hpp"
#include "pisces16/simulation.hpp"
#include "rules/deadlock.hpp"
#include "setting.hpp"
#include "statistics/first_bins.hpp"
#include "statistics/link_totals.hpp"
#include "statistics/sums.hpp"

namespace tramontane {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Whether an event looks at what other LPs are doing at that moment: at the queues of other switches.
bool looks_elsewhere(const Machine& machine) { return machine.routing == "ugal-g"; }

/// Threads that may simulate the point: one where an event looks at more than its LP.
std::uint32_t threads_of(const Machine& machine, const Run& run) {
    if (looks_elsewhere(machine)) return 1;
    if (run.steady_error > 0 || run.limit.set())
        return 1;  // ranks end repeats in an order that decides which one is the last
    return std::clamp(run.threads, 1U, max_threads);
}

/// Null where nobody asks why ranks wait, or what they did when.
std::shared_ptr<Waiting> waiting_of(const Schedule& schedule, const Run& run) {
    if (run.waiting_bins == 0 && run.timeline.empty()) return nullptr;
    const auto ranks = static_cast<std::uint32_t>(schedule.ranks());
    for (const std::uint32_t rank : run.timeline) {
        if (rank >= ranks) {
            throw std::invalid_argument("timeline: found rank " + std::to_string(rank) + ", allowed: 0 ... " +
                                        std::to_string(ranks - 1));
        }
    }
    return std::make_shared<Waiting>(ranks, run.timeline, run.waiting_bins > 0);
}

/// What one thread simulates; all of it where there is one.
struct alignas(64) Part {
    Part(const Machine& machine, const Schedule& schedule, const Run& run, const Setting& setting, Mailboxes* mailboxes)
        : engine(machine, *setting.topology, run.seed, setting.places, mailboxes, run.window),
          fabric(engine, *setting.topology, setting.router, run.links),
          nodes(engine, fabric, machine, *setting.topology, setting.places, setting.allocation, schedule,
                Noise(run.noise, run.seed),
                Repeats(schedule.ranks(), schedule.rounds(), schedule.repeats(), run.steady_error, run.limit),
                waiting_of(schedule, run),
                run.links.on ? std::optional(injection_meter(*setting.topology)) : std::nullopt),
          in_time_order(looks_elsewhere(machine)) {
        engine.delays = Delays(run.congestion_bins, static_cast<std::uint32_t>(schedule.ranks()));
        engine.link_use =
            use_over_time(*setting.topology, run.links, surely_counted(schedule, run, engine.parameters, setting));
    }
    Part(Part& first, std::uint32_t part)
        : engine(first.engine, part), fabric(first.fabric, engine), nodes(first.nodes, engine, fabric) {}

    [[nodiscard]] std::uint64_t next() const { return engine.next_window(); }
    /// Handles the events of a window; see thread_team.hpp.
    std::uint64_t step(std::uint64_t window);
    /// Switches that packets have visited.
    [[nodiscard]] std::uint64_t hops() const { return engine.statistics.hops; }
    /// Takes what other parts have told.
    void receive() {
        engine.receive([&](const RemoteEvent& remote) { fabric.credit(remote); });
    }
    /// Those of its own switches and nodes; see count_links.
    template <class F>
    void each_counted_link(F&& f) const {
        fabric.each_counted_link(f);
        nodes.each_counted_injection([&](LpId lp, NodeId node, LinkMeter& meter) {
            if (engine.owns(lp)) f(node, 0, meter);
        });
    }
    [[nodiscard]] UseOverTime& link_use() { return engine.link_use; }
    /// Writes or reads all that changes, between two windows; see checkpoint.hpp.
    void keep(StateFile& file, bool first) {
        engine.keep(file, first);
        fabric.keep(file, first);
        nodes.keep(file, first);
    }

    Engine engine;
    Fabric fabric;
    Nodes nodes;
    const bool in_time_order = false;  // the events of all LPs

private:
    void handle(const Event& event, Ticks now);

    /// Calls `stage<Kind>(owner)` with the event's kind and what it happens to.
    template <class Stage>
    void visit(const Event& event, Stage&& stage) {
        switch (kind_of(event.code)) {
            case EventKind::crossbar_credit:
                return stage.template operator()<Fabric::CrossbarCredit>(fabric);
            case EventKind::output_credit:
                return stage.template operator()<Fabric::OutputCredit>(fabric);
            case EventKind::nic_wake:
                return stage.template operator()<Nodes::NicWake>(nodes);
            case EventKind::start:
                return stage.template operator()<Nodes::Start>(nodes);
            case EventKind::resume:
                return stage.template operator()<Nodes::Resume>(nodes);
            case EventKind::head_arrival:
                return stage.template operator()<Fabric::HeadArrival>(fabric);
            case EventKind::crossbar_exit:
                return stage.template operator()<Fabric::CrossbarExit>(fabric);
            case EventKind::message_arrival:
                return stage.template operator()<Nodes::MessageArrival>(nodes);
        }
    }
};

/// The parts of a simulation, one for each thread.
struct Parts : Setting {
    Parts(const Machine& machine, const Schedule& schedule, const Run& run) : Setting(machine, schedule, run) {
        if (const std::uint32_t threads = threads_of(machine, run); threads > 1) {
            partition.emplace(*topology, allocation, places.nodes(), threads);
            if (partition->parts() > 1) mailboxes.emplace(*partition);
        }
        parts.push_back(std::make_unique<Part>(machine, schedule, run, *this, mailboxes ? &*mailboxes : nullptr));
        while (mailboxes && parts.size() < mailboxes->parts()) {
            parts.push_back(std::make_unique<Part>(*parts[0], static_cast<std::uint32_t>(parts.size())));
        }
    }

    void start(const Run& run) {
        each_start(run, [&](Ticks time, LpId lp, std::uint32_t code) { owner(lp).engine.start_at(time, lp, code); });
    }
    void read(StateFile& file) {
        for (const auto& part : parts) part->keep(file, part == parts.front());
    }
    void write(StateFile& file) {
        for (const auto& part : parts) part->receive();
        auto threads = static_cast<std::uint32_t>(parts.size());
        file(threads);
        for (const auto& part : parts) part->keep(file, part == parts.front());
    }

    [[nodiscard]] Part& owner(LpId lp) { return *parts[mailboxes ? mailboxes->owner(lp) : 0]; }

    std::optional<Partition> partition;
    std::optional<Mailboxes> mailboxes;  // where there are several parts
    std::vector<std::unique_ptr<Part>> parts;
};

/// Memory of this process that is in use [B]; 0 where the system does not tell.
std::uint64_t resident_bytes() {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;  // the second number
    return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// From the repeats that were simulated to all. They send the same; only how far they send it may differ.
/// \throws std::runtime_error where all send more than is counted
void extrapolate(Outcome& o, const Repeats& repeats) {
    o.repeats_simulated = repeats.simulated();
    o.at_least_s = repeats.at_least_s();
    if (repeats.left_out() == 0 || o.at_least_s > 0) return;
    const double rest = repeats.forecast().repeat * static_cast<double>(repeats.left_out()) * seconds_per_tick;
    o.time_s += rest;
    for (auto& [name, time] : o.phases) time += rest;
    o.steady_error = repeats.forecast().half_width * seconds_per_tick / o.time_s;
    const auto simulated = static_cast<std::uint64_t>(repeats.simulated());
    const auto left_out = static_cast<std::uint64_t>(repeats.left_out());
    const auto extend = [&](std::uint64_t& count, const char* what) {
        count = checked_count(count + WideCount{count / simulated} * left_out, what);
    };
    extend(o.messages, "messages");
    extend(o.packets, "packets");
    extend(o.bytes, "bytes");
    extend(o.control_packets, "control packets");
    const double hops = static_cast<double>(o.hops) / static_cast<double>(simulated) * static_cast<double>(left_out);
    o.hops = checked_count(o.hops + static_cast<WideCount>(hops), "hops");
}

/// Why ranks waited, in bins of ranks, and what some did when.
void count_waiting(Outcome& o, const Parts& parts, std::uint32_t bins) {
    const Waiting& waiting = *parts.parts[0]->nodes.waiting_by_cause();
    o.waiting = mean_waiting(
        waiting.ranks(), bins, [&](std::uint32_t rank) { return waiting.sums(rank); },
        [&](std::uint32_t rank) { return waiting.storage(rank); });
    for (const auto& part : parts.parts) {
        const std::vector<Stretch>& own = part->nodes.stretches();
        check_stretches(o.timeline.size() + own.size());
        o.timeline.insert(o.timeline.end(), own.begin(), own.end());
    }
    std::sort(o.timeline.begin(), o.timeline.end(), [](const Stretch& a, const Stretch& b) {
        return std::tie(a.rank, a.cpu, a.begin) < std::tie(b.rank, b.cpu, b.begin);
    });
}

std::uint64_t Part::step(std::uint64_t window) {
    receive();
    const std::uint64_t before = engine.statistics.events;
    if (in_time_order) {
        engine.handle_in_time_order(window, [&](const Event& event, Ticks now) { handle(event, now); });
        return engine.statistics.events - before;
    }
    engine.handle_window(
        window, fabric.memory() + nodes.memory(),
        [&](const Event& event) { visit(event, [&]<class Kind>(auto& owner) { Kind::fetch(owner, event); }); },
        [&](const Event& event) { visit(event, [&]<class Kind>(auto& owner) { Kind::approach(owner, event); }); },
        [&](const Event& event) { visit(event, [&]<class Kind>(auto& owner) { Kind::reach(owner, event); }); },
        [&](const Event& event, Ticks now) { handle(event, now); });
    return engine.statistics.events - before;
}

void Part::handle(const Event& event, Ticks now) {
    if constexpr (checks) Lines::here().begin(static_cast<std::uint32_t>(kind_of(event.code)));
    visit(event, [&]<class Kind>(auto& owner) { Kind::handle(owner, event, now); });
    if constexpr (checks) {
        Lines::here().end();
        engine.ledger.verify(engine.packets.used());
        if (event.lp < engine.switches) {
            fabric.verify(event.lp, false);
        } else {
            nodes.verify(event.lp - engine.switches, false);
        }
    }
}

std::string waiting_packets(Parts& parts, int limit) {
    std::string text;
    for (SwitchId at = 0; at < parts.topology->switches() && limit > 0; ++at) {
        text += parts.owner(at).fabric.waiting_packets(at, limit);
    }
    return text;
}

}  // namespace

bool checks_invariants() { return checks; }

std::uint64_t idle_bytes(const Machine& machine, const Schedule& schedule, const Run& run) {
    const std::uint64_t before = resident_bytes();
    const Parts parts(machine, schedule, run);
    return resident_bytes() - before;
}

Outcome simulate(const Machine& machine, const Schedule& schedule, const Run& given, const Poll& poll,
                 const Keeping& keeping) {
    if (machine.model == "pisces-16") {
        if (keeping.wanted) throw std::invalid_argument("machine.model: pisces-16 keeps no checkpoint");
        return pisces16::simulate(machine, schedule, given, poll);
    }
    check_keeping(given, keeping);
    const auto entered = std::chrono::steady_clock::now();
    Run run = given;
    std::optional<StateFile> state;
    if (!keeping.from.empty()) {
        state.emplace(keeping.from, StateFile::Mode::read);
        (*state)(run.threads);
    }
    Parts parts(machine, schedule, run);
    const std::uint32_t ranks = parts.ranks;
    if (state) {
        parts.read(*state);
        state.reset();
    } else {
        parts.start(run);
    }

    Outcome outcome;
    outcome.delays = Delays(run.congestion_bins, ranks);
    outcome.threads = static_cast<std::uint32_t>(parts.parts.size());
    outcome.setup_s = seconds_since(entered);
    const auto begun = std::chrono::steady_clock::now();
    std::string file;
    const auto poll_all = [&](std::uint64_t hops) {
        if (poll) poll(hops);
        file = keeping.wanted ? keeping.wanted() : "";
        return !file.empty();
    };
    const auto write = [&] { write_state(file, keeping, [&](StateFile& state) { parts.write(state); }); };
    ThreadTeam team(parts.parts, run.grain, poll_all, run.poll_every, write);
    team.run();
    outcome.wall_s = seconds_since(begun);
    outcome.windows = team.load().windows;
    if (team.load().busiest > 0) {
        outcome.speedup_at_most = static_cast<double>(team.load().events) / static_cast<double>(team.load().busiest);
    }

    const Nodes& nodes = parts.parts[0]->nodes;
    Sums sums;
    for (const auto& part : parts.parts) {
        sums.counts.add(part->engine.statistics);
        sums.add(part->engine.ends(), part->nodes.phases(), part->nodes.totals());
        sums.packets += part->engine.packets.used();
        sums.transactions += part->engine.transactions.used();
        outcome.delays.add(part->engine.delays);
        outcome.network_bytes += part->fabric.memory();
    }
    sums.verify_ended(ranks, [&] { return nodes.waiting_ranks(ranks, 3) + waiting_packets(parts, 3); });
    sums.verify();
    if constexpr (checks) {
        for (const auto& part : parts.parts) {
            part->engine.ledger.verify_closed(part->engine.packets.used());
            part->fabric.verify_all_idle();
            part->nodes.verify_all_idle();
        }
    }
    if (run.links.on) {
        std::vector<Part*> counted;
        for (const auto& part : parts.parts) counted.push_back(part.get());
        count_links(outcome, counted, *parts.topology, parts.parts[0]->engine.parameters, run.links);
    }
    if (nodes.waiting_by_cause() != nullptr) count_waiting(outcome, parts, run.waiting_bins);
    sums.tell(outcome, schedule);
    outcome.imbalance = nodes.imbalance();
    extrapolate(outcome, nodes.repeats());
    outcome.setup_s += seconds_since(begun) - outcome.wall_s;
    return outcome;
}

}  // namespace tramontane
