/// \file
/// Small points drawn at random, and all that their results tell: for tests of what must not matter.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "given.hpp"
#include "graphs.hpp"
#include "random.hpp"
#include "simulation.hpp"

namespace tramontane::testing {

/// All that a result tells, but for the costs.
[[nodiscard]] inline std::vector<double> numbers(const Outcome& o) {
    std::vector<double> all{o.time_s, o.imbalance, o.delays.total.sum(), static_cast<double>(o.delays.total.max)};
    for (const auto& [name, time] : o.phases) all.push_back(time);
    for (const Outcome::Step& step : o.steps) all.insert(all.end(), {step.time, step.work, step.busy});
    for (const std::uint64_t count : {o.messages, o.packets, o.bytes, o.control_packets, o.hops, o.events,
                                      o.delays.total.packets, o.network_bytes}) {
        all.push_back(static_cast<double>(count));
    }
    for (const std::uint64_t packets : o.delays.histogram) all.push_back(static_cast<double>(packets));
    for (std::uint32_t from = 0; from < o.delays.matrix.bins(); ++from) {
        for (std::uint32_t to = 0; to < o.delays.matrix.bins(); ++to) {
            const DelaySum& cell = o.delays.matrix.at(from, to);
            all.insert(all.end(), {static_cast<double>(cell.packets), static_cast<double>(cell.max), cell.sum()});
        }
    }
    for (const auto& means : o.waiting) all.insert(all.end(), means.begin(), means.end());
    const auto add = [&](const LinkUse& use) {
        for (const std::uint64_t count : {use.packets, use.bytes, use.peak_queue, use.links}) {
            all.push_back(static_cast<double>(count));
        }
        for (const UseOfBin& bin : use.bins) {
            all.insert(all.end(), {static_cast<double>(bin.bytes), static_cast<double>(bin.peak_queue)});
        }
    };
    if (o.bin_s > 0) all.push_back(o.bin_s);
    for (const auto& [name, use] : o.link_use) add(use);
    for (const UsedLink& link : o.used_links) {
        all.insert(all.end(), {static_cast<double>(link.from), static_cast<double>(link.port)});
        add(link.use);
    }
    return all;
}

/// Exchanges whole and in split phase, two of them under way at a time, puts, work, and collectives on communicators.
inline constexpr const char* small_program =
    "kind=program repeat=2 communicators.rows.consecutive=5 communicators.columns.every=3 "
    "communicators.some.range=1,1 "
    "steps.0.kind=halo steps.0.width=2 steps.0.grid=30x30x4 steps.0.begin=first "
    "steps.1.kind=work steps.1.per_point=3000 steps.1.grid=30x30x4 steps.1.imbalance=300000 steps.1.noise=100000 "
    "steps.2.kind=halo steps.2.width=5 steps.2.grid=30x30x4 steps.2.begin=second "
    "steps.3.kind=allreduce steps.3.algorithm=ring steps.3.count=40 steps.3.repeats=1 steps.3.communicator=columns "
    "steps.4.kind=end steps.4.of=first "
    "steps.5.kind=allreduce steps.5.algorithm=rabenseifner steps.5.count=300 steps.5.repeats=2 "
    "steps.5.communicator=rows "
    "steps.6.kind=end steps.6.of=second "
    "steps.7.kind=halo steps.7.width=1 steps.7.grid=9x9x9 steps.7.communicator=some "
    "steps.8.kind=halo steps.8.width=5 steps.8.grid=30x30x4 steps.8.begin=puts "
    "steps.8.one_sided.synchronisation=passive "
    "steps.9.kind=halo steps.9.width=2 steps.9.grid=30x30x4 steps.9.one_sided.synchronisation=post-start "
    "steps.9.one_sided.opens=after steps.10.kind=end steps.10.of=puts "
    "steps.11.kind=halo steps.11.width=3 steps.11.grid=30x30x4 steps.11.one_sided.synchronisation=fence "
    "one_sided.put=90000 one_sided.post=300000 one_sided.start=200000 one_sided.flush=500000 one_sided.fence=700000";

/// A small point that is drawn at random: workload, protocol, buffers, noise, allocation, ranks on a node.
struct Drawn {
    Drawn(Machine any, std::uint64_t number) : machine(std::move(any)) {
        std::uint64_t count = 0;
        const auto draw = [&](std::uint64_t range) { return below(random_bits(1, number, count++), range); };
        machine.packet = draw(2) == 0 ? 256 : 1000;
        machine.buffer = machine.packet * static_cast<std::int64_t>(6 + draw(20));
        machine.crossbar_bandwidth = draw(2) == 0 ? 20'000'000'000 : 1'000'000'000'000;
        machine.memory_bandwidth = 1'000'000'000'000;
        machine.processor_frequency = 2'000'000'000;
        machine.short_limit = draw(2) == 0 ? 0 : 128;
        machine.eager_limit = draw(2) == 0 ? 256 : 2048;
        machine.negligible_size = draw(3) == 0 ? 100 : 0;
        machine.round_robin_injection = draw(2) == 0;
        machine.hardware_progress = draw(2) == 0;
        if (draw(3) == 0) machine.send_overhead = machine.receive_overhead = 200'000;

        static const std::vector<const char*> kinds{"kind=transposition algorithm=ring-k radix=3",
                                                    "kind=transposition algorithm=burst",
                                                    "kind=transposition algorithm=bruck radix=3",
                                                    "kind=halo width=3",
                                                    "kind=allreduce algorithm=recursive-doubling",
                                                    "kind=allreduce algorithm=rabenseifner",
                                                    small_program};
        workload = kinds[draw(kinds.size())];
        ranks = static_cast<Rank>((workload == small_program ? 5 : 2) + draw(20));

        run.seed = number;
        run.start_jitter = draw(2) == 0 ? 0 : 1'000'000;
        run.congestion_bins = static_cast<std::uint32_t>(draw(5));
        run.allocation.kind = draw(2) == 0 ? "first-available" : "random";
        if (draw(3) == 0) run.noise = {.period = 10'000'000, .duration = 1'000'000, .random = draw(2) == 0};
        if (draw(2) == 0) share_nodes(draw);
    }

    /// Puts several ranks on a node, by one of the mappings.
    template <class Draw>
    void share_nodes(Draw&& draw) {
        const auto each = static_cast<std::uint32_t>(2 + draw(5));
        const std::int64_t on_switch = nodes_on_switch();
        if (on_switch <= each && draw(2) == 0) machine.nics = on_switch;
        if (draw(2) == 0) machine.nic_choice = NicChoice::round_robin;
        machine.node_latency = draw(2) == 0 ? 10'000 : 500'000;
        machine.node_bandwidth = draw(2) == 0 ? 2'000'000'000 : 50'000'000'000;
        machine.node_memory_bandwidth = draw(2) == 0 ? 0 : 20'000'000'000;
        run.places.ranks_per_node = each;
        run.places.mapping = draw(3) == 0 ? "block" : draw(2) == 0 ? "cyclic" : "given";
        if (run.places.mapping != "given") return;
        const auto nodes = (static_cast<std::uint32_t>(ranks) + each - 1) / each;
        for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(ranks); ++rank) {
            run.places.nodes.push_back(rank * 5 % 24 < 12 ? rank % nodes : nodes - 1 - rank % nodes);
        }
        std::vector<std::uint32_t> held(nodes);
        for (std::uint32_t& node : run.places.nodes) {
            while (held[node] == each) node = (node + 1) % nodes;
            ++held[node];
        }
    }

    [[nodiscard]] std::int64_t nodes_on_switch() const {
        return machine.nodes_per_switch == 0 ? 3 : machine.nodes_per_switch;
    }

    /// States costs of steps, each or not, and how a node's interfaces are chosen.
    void state_costs(std::uint64_t number) {
        std::uint64_t count = 0;
        const auto states = [&] { return below(random_bits(2, number, count++), 2) == 0; };
        if (states()) machine.send_overhead_per_byte = 100;
        if (states()) machine.receive_overhead_per_byte = 70;
        if (states()) machine.post_overhead = 50'000;
        if (states()) machine.rendezvous_overhead = 90'000;
        if (states()) machine.message_gap = 400'000;
        if (states()) machine.match_posted = 20'000;
        if (states()) machine.match_unexpected = 30'000;
        if (states()) machine.unpack_per_byte = 200;
        machine.unpacks_in_order = states();
        if (states()) machine.threads = 3;
        machine.lock = 10'000;
        if (states()) machine.staging_bandwidth = 30'000'000'000;
        machine.staging_latency = 400'000;
        machine.copies_share_memory = states();
        machine.direct_eager = states();
        const bool is_small = run.places.ranks_per_node > 2;  // enough for all to fit on fewer nodes
        if (is_small && states()) machine.nics = nodes_on_switch();
        if (states()) machine.nic_choice = states() ? NicChoice::block : NicChoice::destination;
        if (states()) machine.stripe_above = 5'000;
        if (states()) machine.under_way_overhead = 40'000;
    }

    /// Has each rank send through several interfaces of its node.
    void spread_messages(std::uint64_t number) {
        std::uint64_t count = 0;
        const auto draw = [&](std::uint64_t range) { return below(random_bits(3, number, count++), range); };
        if (run.places.ranks_per_node == 1) share_nodes(draw);
        machine.nics = nodes_on_switch();
        run.places.ranks_per_node = static_cast<std::uint32_t>(4 * machine.nics);  // so that all fit
        run.places.mapping = draw(2) == 0 ? "block" : "cyclic";
        run.places.nodes.clear();
        const NicChoice choices[] = {NicChoice::round_robin, NicChoice::destination, NicChoice::rank, NicChoice::block};
        machine.nic_choice = choices[draw(4)];
        machine.stripe_above = draw(2) == 0 || machine.nic_choice == NicChoice::rank ? 300 + draw(2) * 2'000 : 0;
        if (machine.nic_choice == NicChoice::block) machine.stripe_above = 1;
        if (draw(2) == 0) machine.message_gap = 400'000;
    }

    /// Counts what links carry: by class or one by one, in all or over time.
    void count_links(std::uint64_t number) {
        std::uint64_t count = 0;
        const auto draw = [&](std::uint64_t range) { return below(random_bits(4, number, count++), range); };
        const std::uint32_t bins[] = {0, 1, 7, 64, 500};
        run.links = {.on = true, .hottest = draw(2) == 0 ? 0 : hottest_links, .bins = bins[draw(std::size(bins))]};
    }

    /// Has ranks receive in turn, which interfaces that make progress by themselves can't.
    void receive_in_turn() {
        workload = "kind=halo width=3 calls=isend-recv";
        machine.hardware_progress = false;
    }
    /// Has ranks do an operation of the catalogue.
    void do_together(std::uint64_t number) {
        static const std::vector<const char*> operations{
            "barrier algorithm=dissemination",
            "barrier algorithm=recursive-doubling",
            "broadcast algorithm=scatter-doubling count=900",
            "broadcast algorithm=k-nomial count=2000 root=1",
            "broadcast algorithm=chain count=2000 segments=3",
            "reduce algorithm=linear count=500 root=1",
            "reduce algorithm=binary count=2000",
            "gather algorithm=binomial count=300",
            "scatter algorithm=linear count=300 root=1",
            "allgather algorithm=neighbour-exchange count=300",
            "allgather algorithm=recursive-doubling count=300",
            "allreduce algorithm=rabenseifner-pairs count=900",
            "allreduce algorithm=hierarchical group=3 count=900",
            "alltoall algorithm=leaders group=3 count=300",
            "alltoallv algorithm=sliding-window radix=2 count=300 spread=500000",
        };
        workload = std::string("kind=collective operation=") + operations[number % operations.size()];
    }
    /// Has ranks follow a graph of operations.
    void follow_graph() { workload = "graph"; }

    [[nodiscard]] std::unique_ptr<Schedule> schedule() const {
        if (workload == "graph") return drawn_graph(ranks, run.seed);
        return small_workload(workload, ranks);
    }
    [[nodiscard]] Outcome simulate(std::uint32_t threads, std::uint32_t grain) const {
        Run with = run;
        with.threads = threads;
        with.grain = grain;
        return tramontane::simulate(machine, *schedule(), with);
    }

    Machine machine;
    std::string workload;
    Rank ranks;
    Run run;
};

}  // namespace tramontane::testing
