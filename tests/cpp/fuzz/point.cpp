#include <algorithm>
#include <limits>
#include <utility>

#include "fuzz.hpp"
#include "simulation.hpp"
#include "topologies/topology.hpp"

namespace tramontane::fuzz {
namespace {

Key bounded(const char* name, std::int64_t least, std::int64_t most, std::int64_t otherwise) {
    return {.name = name, .integers = 1, .least = least, .most = most, .otherwise = otherwise};
}

/// Keys of machine and run, within the bounds that the binding and the Python package enforce.
std::vector<Key> keys() {
    const auto latency = [](const char* name) { return bounded(name, 1, max_latency, 100'000); };
    const auto bandwidth = [](const char* name) { return bounded(name, min_bandwidth, max_bandwidth, 10'000'000'000); };
    std::vector<Key> all{Key::integer("ranks", 1)};
    all.push_back(Key::word("topology", {}));
    all.push_back({.name = "geometry", .integers = Key::any_number, .least = std::numeric_limits<std::int64_t>::min()});
    all.push_back(bounded("nodes_per_switch", 0, std::numeric_limits<std::int64_t>::max(), 1));
    all.push_back(bounded("global_links", 0, std::numeric_limits<std::int64_t>::max(), 0));
    all.push_back(Key::word("arrangement", {}, std::string("none")));
    all.push_back(Key::word("routing", {}));
    all.push_back(Key::word("model", {"default", "pisces-16"}, std::string("default")));
    all.push_back(Key::word("service", {"fifo", "round-robin"}, std::string("fifo")));
    for (const char* name : {"link_latency", "injection_latency", "hop_latency", "out_in_latency"}) {
        all.push_back(latency(name));
    }
    for (const char* name : {"link", "injection", "logp", "memory"}) all.push_back(bandwidth(name));
    all.push_back(bounded("crossbar", 0, max_bandwidth, 0));
    all.push_back(bounded("frequency", 1'000'000, 1'000'000'000'000, 2'000'000'000));
    for (const char* name : {"send", "receive", "jitter", "duration"}) all.push_back(bounded(name, 0, max_time, 0));
    all.push_back(bounded("period", 0, max_time, 0));
    for (const char* name : {"post", "rendezvous", "under_way", "gap", "send_byte", "receive_byte", "match_posted",
                             "match_unexpected", "unpack", "lock", "staging_latency"}) {
        all.push_back(bounded(name, 0, max_cost, 0));
    }
    all.push_back(bounded("staging", 0, max_bandwidth, 0));
    all.push_back(bounded("rank_threads", 1, max_threads_of_rank, 1));
    all.push_back(Key::word("unpacking", {"arrival", "fixed"}, std::string("arrival")));
    all.push_back(Key::word("copies", {"own", "shared"}, std::string("own")));
    all.push_back(Key::word("expected", {"copied", "direct"}, std::string("copied")));
    all.push_back(Key::word("pattern", {"random", "periodic"}, std::string("random")));
    all.push_back(Key::word("progress", {"calls", "hardware"}, std::string("calls")));
    all.push_back(bounded("per_node", 1, max_ranks_per_node, 1));
    all.push_back(Key::word("mapping", {"block", "cyclic", "random"}, std::string("block")));
    all.push_back(bounded("nics", 1, max_ranks_per_node, 1));
    all.push_back(Key::word("nic_choice", {"rank", "block", "round-robin", "destination"}, std::string("rank")));
    all.push_back(bounded("stripe_above", 0, std::numeric_limits<std::int64_t>::max(), 0));
    all.push_back(latency("node_latency"));
    all.push_back(bandwidth("node_bandwidth"));
    all.push_back(bounded("node_memory", 0, max_bandwidth, 0));
    for (const char* name : {"packet", "buffer", "short", "eager", "negligible", "seed"}) {
        all.push_back(bounded(name, 0, std::numeric_limits<std::int64_t>::max(), 4096));
    }
    all.push_back(bounded("steady", 0, 1'000'000, 0));
    all.push_back(bounded("congestion", 0, max_congestion_bins, 0));
    all.push_back(bounded("threads", 1, max_threads, 1));
    all.push_back(bounded("window", 0, std::numeric_limits<std::int64_t>::max(), 0));
    return all;
}

Machine machine_of(const Values& v) {
    Machine m;
    m.topology = v.word("topology");
    m.geometry = v.integers("geometry");
    m.nodes_per_switch = v.integer("nodes_per_switch");
    m.global_links = v.integer("global_links");
    if (!v.is("arrangement", "none")) m.arrangement = v.word("arrangement");
    m.routing = v.word("routing");
    m.model = v.word("model");
    m.link_bandwidth = v.integer("link");
    m.link_latency = v.integer("link_latency");
    m.injection_bandwidth = v.integer("injection");
    m.injection_latency = v.integer("injection_latency");
    m.round_robin_injection = v.is("service", "round-robin");
    m.crossbar_bandwidth = v.integer("crossbar") == 0 ? 0 : std::max(v.integer("crossbar"), min_bandwidth);
    m.logp_bandwidth = v.integer("logp");
    m.logp_hop_latency = v.integer("hop_latency");
    m.logp_out_in_latency = v.integer("out_in_latency");
    m.memory_bandwidth = v.integer("memory");
    m.processor_frequency = v.integer("frequency");
    m.send_overhead = v.integer("send");
    m.receive_overhead = v.integer("receive");
    m.rendezvous_overhead = v.integer("rendezvous");
    m.under_way_overhead = v.integer("under_way");
    m.post_overhead = v.integer("post");
    m.message_gap = v.integer("gap");
    m.send_overhead_per_byte = v.integer("send_byte");
    m.receive_overhead_per_byte = v.integer("receive_byte");
    m.match_posted = v.integer("match_posted");
    m.match_unexpected = v.integer("match_unexpected");
    m.unpack_per_byte = v.integer("unpack");
    m.unpacks_in_order = v.is("unpacking", "fixed");
    m.threads = v.integer("rank_threads");
    m.lock = v.integer("lock");
    m.staging_bandwidth = v.integer("staging") == 0 ? 0 : std::max(v.integer("staging"), min_bandwidth);
    m.staging_latency = v.integer("staging_latency");
    m.copies_share_memory = v.is("copies", "shared");
    m.direct_eager = v.is("expected", "direct");
    m.hardware_progress = v.is("progress", "hardware");
    m.nics = v.integer("nics");
    for (const auto& [word, choice] : {std::pair{"block", NicChoice::block},
                                       {"round-robin", NicChoice::round_robin},
                                       {"destination", NicChoice::destination}}) {
        if (v.is("nic_choice", word)) m.nic_choice = choice;
    }
    m.stripe_above = v.integer("stripe_above");
    m.node_latency = v.integer("node_latency");
    m.node_bandwidth = v.integer("node_bandwidth");
    const std::int64_t node_memory = v.integer("node_memory");
    m.node_memory_bandwidth = node_memory == 0 ? 0 : std::max(node_memory, min_bandwidth);
    m.packet = v.integer("packet");
    m.buffer = v.integer("buffer");
    m.short_limit = v.integer("short");
    m.eager_limit = std::min(v.integer("eager"), max_eager_limit);
    m.negligible_size = v.integer("negligible");
    return m;
}

Run run_of(const Values& v) {
    Run run;
    run.seed = static_cast<std::uint64_t>(v.integer("seed"));
    run.start_jitter = v.integer("jitter");
    if (v.integer("duration") > 0 && v.integer("period") > v.integer("duration")) {
        run.noise = {v.integer("period"), v.integer("duration"), v.is("pattern", "random")};
    }
    run.steady_error = static_cast<double>(v.integer("steady")) / 1e6;
    run.congestion_bins = static_cast<std::uint32_t>(v.integer("congestion"));
    run.threads = static_cast<std::uint32_t>(std::min<std::int64_t>(v.integer("threads"), 4));
    run.window = static_cast<Ticks>(v.integer("window"));
    run.grain = 0;
    run.places.ranks_per_node = static_cast<std::uint32_t>(v.integer("per_node"));
    run.places.mapping = v.word("mapping");
    return run;
}

/// Whether a simulation takes a few milliseconds only.
bool is_cheap(const Schedule& schedule, const Machine& machine) {
    constexpr std::int64_t most = 3000;
    if (machine.packet < 1 || schedule.rounds() * schedule.ranks() > most) return false;
    std::int64_t packets = 0;
    for (std::int64_t number = 0; number < schedule.rounds(); ++number) {
        for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
            const std::int32_t sends = schedule.round(rank, number).sends;
            if (sends > most) return false;
            for (std::int32_t i = 0; i < sends; ++i) {
                packets += 1 + schedule.send(rank, number, i).bytes / machine.packet;
                if (packets > most) return false;
            }
        }
    }
    return true;
}

/// Whether the network takes little memory; its sizes may be refused.
bool is_small(const Machine& machine) {
    std::int64_t nodes = 1;
    for (const std::int64_t size : machine.geometry) {
        if (size > 1 && __builtin_mul_overflow(nodes, size, &nodes)) return false;
    }
    return machine.geometry.size() <= 8 && nodes <= 4096 && machine.nodes_per_switch <= 64 &&
           machine.global_links <= 64;
}

}  // namespace

void try_point(std::string_view text) {
    try_input([&] {
        static const std::vector<Key> known = keys();
        KeyReader reader(arguments_of(text));
        Values values;
        reader.read(known, values);
        for (const char* needed : {"ranks", "topology", "geometry", "routing"}) {
            if (values.find(needed) == nullptr) reader.finish();
        }
        const auto workload = small_workload(reader, values.integer("ranks"));
        const Machine machine = machine_of(values);
        if (!workload || !is_small(machine)) return;
        // The Python package refuses programs on that model.
        if (machine.model == "pisces-16" && (workload->has_steps() || workload->values().is("kind", "jobs"))) return;
        const auto schedule = workload->schedule();
        if (!is_cheap(*schedule, machine)) return;
        const Outcome o = simulate(machine, *schedule, run_of(values));
        const double end = o.steady_error > 0 ? std::numeric_limits<double>::infinity() : to_seconds(end_of_time);
        expect(o.time_s >= 0 && o.time_s <= end, "a time beyond the range");
        expect(to_seconds(o.delays.total.max) <= to_seconds(end_of_time), "a delay beyond the range");
    });
}

}  // namespace tramontane::fuzz
