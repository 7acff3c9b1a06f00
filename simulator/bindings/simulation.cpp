/// \file
/// `simulate` and `network`: canonical points (plain integers in base units) in, plain numbers out. Values are checked
/// with the user's file at hand by tramontane.study; what is checked here is only what could crash.
#include "simulation.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../device/accelerator.hpp"
#include "../device/room.hpp"
#include "../device/simulate.hpp"
#include "../simulation.hpp"
#include "dict.hpp"
#include "engine/earliest_ends.hpp"
#include "machine_dict.hpp"
#include "sampled_stages.hpp"
#include "workload_dict.hpp"

namespace nb = nanobind;

namespace tramontane::bindings {
namespace {

/// A quantity within its bounds. \param path of the block, below `machine`
std::int64_t bounded_in(const nb::dict& block, const std::string& path, const char* key, std::int64_t least,
                        std::int64_t most, const char* allowed) {
    const auto value = get<std::int64_t>(block, key);
    if (value < least || value > most) {
        throw std::invalid_argument("machine." + path + "." + key + ": found " + std::to_string(value) +
                                    ", allowed: " + allowed);
    }
    return value;
}

std::int64_t bounded(const nb::dict& d, const char* block, const char* key, std::int64_t least, std::int64_t most,
                     const char* allowed) {
    return bounded_in(get<nb::dict>(d, block), block, key, least, most, allowed);
}

std::int64_t latency_in(const nb::dict& block, const std::string& path, const char* key) {
    return bounded_in(block, path, key, 1, max_latency, "1 ... 10^12 ps (1 s)");
}

std::int64_t bandwidth_in(const nb::dict& block, const std::string& path, const char* key) {
    return bounded_in(block, path, key, min_bandwidth, max_bandwidth, "10^6 ... 2 x 10^14 B/s");
}

std::int64_t latency(const nb::dict& d, const char* block, const char* key) {
    return latency_in(get<nb::dict>(d, block), block, key);
}

std::int64_t bandwidth(const nb::dict& d, const char* block, const char* key = "bandwidth") {
    return bandwidth_in(get<nb::dict>(d, block), block, key);
}

/// 0 where none limits.
std::int64_t bandwidth_or_unlimited(const nb::dict& d, const char* block, const char* key = "bandwidth") {
    if (!d.contains(block)) return 0;
    const auto within = get<nb::dict>(d, block);
    const nb::object value = within.contains(key) ? nb::object(within[key]) : nb::none();
    if (nb::isinstance<nb::str>(value) && nb::cast<std::string>(value) == "unlimited") return 0;
    return bandwidth(d, block, key);
}

/// Of each class that a machine says something of; what it leaves out is as for all links.
std::vector<LinkClass> link_classes(const nb::dict& link) {
    std::vector<LinkClass> all;
    if (!link.contains("classes")) return all;
    const auto classes = get<nb::dict>(link, "classes");
    for (const auto& [name, said] : classes) {
        LinkClass own{nb::cast<std::string>(name)};
        const auto given = nb::cast<nb::dict>(said);
        const std::string path = "link.classes." + own.name;
        if (given.contains("bandwidth")) own.bandwidth = bandwidth_in(given, path, "bandwidth");
        if (given.contains("latency")) own.latency = latency_in(given, path, "latency");
        all.push_back(std::move(own));
    }
    return all;
}

/// Time of a step of the processor's [ps]; 0 where it is not said.
std::int64_t cost(const nb::dict& d, const char* block, const char* key) {
    if (!d.contains(block) || !get<nb::dict>(d, block).contains(key)) return 0;
    return bounded(d, block, key, 0, max_cost, "0 ... 10^12 ps (1 s)");
}

/// One of a key's words; empty where it is not said.
std::string word(const nb::dict& d, const char* block, const char* key) {
    return d.contains(block) ? get_or<std::string>(get<nb::dict>(d, block), key, "") : "";
}

/// A name, {"nodes": [...]} or {"shape": [...]}.
AllocationRule one_allocation(const nb::dict& d) {
    AllocationRule rule;
    if (!d.contains("allocation")) return rule;
    if (!nb::isinstance<nb::dict>(d["allocation"])) {
        rule.kind = get<std::string>(d, "allocation");
    } else if (const auto said = get<nb::dict>(d, "allocation"); said.contains("shape")) {
        rule.kind = "folded";
        rule.shape = get<std::vector<std::int64_t>>(said, "shape");
    } else {
        rule.kind = "given";
        rule.nodes = get<std::vector<NodeId>>(get<nb::dict>(d, "allocation"), "nodes");
    }
    return rule;
}

/// The same; or {"jobs": [{"nodes": how many, "allocation": one of those}, ...]}.
AllocationRule allocation_of(const nb::dict& point) {
    const bool has_block = point.contains("allocation") && nb::isinstance<nb::dict>(point["allocation"]);
    if (!has_block || !get<nb::dict>(point, "allocation").contains("jobs")) return one_allocation(point);
    AllocationRule rule;
    rule.kind = "jobs";
    for (const nb::handle each : get<nb::list>(get<nb::dict>(point, "allocation"), "jobs")) {
        const auto job = nb::cast<nb::dict>(each);
        AllocationRule own = one_allocation(job);
        rule.jobs.push_back({get<std::uint32_t>(job, "nodes"), std::move(own.kind), std::move(own.nodes)});
    }
    return rule;
}

/// Two whole numbers, of x and y; zeros for anything else.
std::array<std::uint32_t, 2> pair_of(const nb::dict& d, const char* key) {
    std::vector<std::uint32_t> both;
    if (!d.contains(key) || !nb::try_cast(d[key], both, /*convert=*/false) || both.size() != 2) return {};
    return {both[0], both[1]};
}

std::uint64_t seed_of(const nb::dict& point) { return static_cast<std::uint64_t>(get<std::int64_t>(point, "seed")); }

/// A name, {"tile": [a, b]} or {"nodes": [...]}; and how many ranks a node has.
PlacesRule places_of(const nb::dict& point) {
    PlacesRule rule;
    rule.ranks_per_node = get_or<std::uint32_t>(point, "ranks_per_node", 1);
    rule.seed = seed_of(point);
    if (!point.contains("mapping")) return rule;
    if (!nb::isinstance<nb::dict>(point["mapping"])) {
        rule.mapping = get<std::string>(point, "mapping");
        return rule;
    }
    const auto given = get<nb::dict>(point, "mapping");
    if (given.contains("tile")) {
        rule.mapping = "tile";
        rule.tile = pair_of(given, "tile");
        rule.grid = pair_of(get<nb::dict>(point, "workload"), "decomposition");
    } else {
        rule.mapping = "given";
        rule.nodes = get<std::vector<std::uint32_t>>(given, "nodes");
    }
    return rule;
}

NicChoice nic_choice(const std::string& word) {
    constexpr std::pair<const char*, NicChoice> all[] = {{"rank", NicChoice::rank},
                                                         {"block", NicChoice::block},
                                                         {"round-robin", NicChoice::round_robin},
                                                         {"destination", NicChoice::destination}};
    for (const auto& [name, choice] : all) {
        if (word == name) return choice;
    }
    throw std::invalid_argument("machine.node.nic_choice: '" + word + "' is unknown");
}

}  // namespace

Machine machine_from_dict(const nb::dict& d) {
    Machine m = network_from_dict(d);
    if (d.contains("model")) m.model = get<std::string>(d, "model");
    m.link_bandwidth = bandwidth(d, "link");
    m.link_latency = latency(d, "link", "latency");
    m.link_classes = link_classes(get<nb::dict>(d, "link"));
    m.injection_bandwidth = bandwidth(d, "injection");
    m.injection_latency = latency(d, "injection", "latency");
    const auto injection = get<nb::dict>(d, "injection");
    if (injection.contains("service")) {
        m.round_robin_injection = get<std::string>(injection, "service") == "round-robin";
    }
    m.crossbar_bandwidth = bandwidth_or_unlimited(d, "crossbar");
    m.logp_bandwidth = bandwidth(d, "logp");
    m.logp_hop_latency = latency(d, "logp", "hop_latency");
    m.logp_out_in_latency = latency(d, "logp", "out_in_latency");
    m.memory_bandwidth = bandwidth(d, "memory");
    m.processor_frequency = bounded(d, "processor", "frequency", min_frequency, max_frequency, "10^6 ... 10^12 Hz");
    if (d.contains("overhead")) {
        const auto overhead = get<nb::dict>(d, "overhead");
        m.send_overhead = bounded(d, "overhead", "send", 0, max_time, "0 ... 10^15 ps (1000 s)");
        m.receive_overhead = bounded(d, "overhead", "receive", 0, max_time, "0 ... 10^15 ps (1000 s)");
        m.send_overhead_per_byte = cost(d, "overhead", "send_per_byte");
        m.receive_overhead_per_byte = cost(d, "overhead", "receive_per_byte");
        m.rendezvous_overhead = cost(d, "overhead", "rendezvous");
        m.under_way_overhead = cost(d, "overhead", "under_way");
        m.post_overhead = cost(d, "overhead", "post");
        m.message_gap = cost(d, "overhead", "gap");
    }
    m.match_posted = cost(d, "matching", "posted");
    m.match_unexpected = cost(d, "matching", "unexpected");
    m.unpack_per_byte = cost(d, "unpack", "per_byte");
    m.unpacks_in_order = word(d, "unpack", "order") == "fixed";
    if (d.contains("threads")) m.threads = bounded(d, "threads", "count", 1, max_threads_of_rank, "1 ... 1024");
    m.lock = cost(d, "threads", "lock_time");
    if (d.contains("accelerator") && get<nb::dict>(d, "accelerator").contains("copy_bandwidth")) {
        m.staging_bandwidth = bandwidth(d, "accelerator", "copy_bandwidth");
        m.staging_latency = cost(d, "accelerator", "copy_latency");
    }
    if (d.contains("node")) {
        const auto node = get<nb::dict>(d, "node");
        m.nics = get_or<std::int64_t>(node, "nics", 1);
        m.nic_choice = nic_choice(get_or<std::string>(node, "nic_choice", "rank"));
        m.stripe_above = get_or<std::int64_t>(node, "stripe_above", 0);
        if (node.contains("latency")) m.node_latency = latency(d, "node", "latency");
        if (node.contains("bandwidth")) m.node_bandwidth = bandwidth(d, "node");
        m.node_memory_bandwidth = bandwidth_or_unlimited(d, "node", "memory_bandwidth");
        m.copies_share_memory = word(d, "node", "copies") == "shared";
    }
    m.packet = get<std::int64_t>(d, "packet");
    m.buffer = get<std::int64_t>(d, "buffer");
    const auto protocol = get<nb::dict>(d, "protocol");
    m.eager_limit = bounded(d, "protocol", "eager_limit", 0, max_eager_limit, "0 ... 10^9 B");
    m.short_limit = get<std::int64_t>(protocol, "short_limit");
    m.negligible_size = get<std::int64_t>(protocol, "negligible_size");
    m.hardware_progress = word(d, "protocol", "progress") == "hardware";
    m.direct_eager = word(d, "protocol", "expected_eager") == "direct";
    return m;
}

namespace {

/// Number of bins a side of the congestion matrix; 0 where nobody asks for one.
std::uint32_t congestion_bins_of(const nb::dict& point) {
    if (!point.contains("statistics")) return 0;
    const auto bins = get<std::int64_t>(get<nb::dict>(point, "statistics"), "congestion");
    if (bins < 0 || bins > max_congestion_bins) {
        throw std::invalid_argument("statistics.congestion: at most " + std::to_string(max_congestion_bins) + " bins");
    }
    return static_cast<std::uint32_t>(bins);
}

/// What is counted of links, and how many of each class are told one by one.
LinkCounting link_counting_of(const nb::dict& point) {
    LinkCounting counting;
    if (!point.contains("statistics")) return counting;
    const auto asked = get<nb::dict>(point, "statistics");
    if (!asked.contains("links")) return counting;
    counting.on = true;
    const auto links = get<std::string>(asked, "links");
    if (links == "hottest") counting.hottest = hottest_links;
    if (links == "each") counting.hottest = std::numeric_limits<std::uint32_t>::max();
    const auto bins = get_or<std::int64_t>(asked, "bins", 0);
    if (bins < 0 || bins > max_time_bins) {
        throw std::invalid_argument("statistics.bins: at most " + std::to_string(max_time_bins));
    }
    counting.bins = static_cast<std::uint32_t>(bins);
    return counting;
}

/// Bins of ranks by which it is counted why they wait.
std::uint32_t waiting_bins_of(const nb::dict& point) {
    if (!point.contains("statistics")) return 0;
    const auto bins = get_or<std::int64_t>(get<nb::dict>(point, "statistics"), "waiting", 0);
    if (bins < 0 || bins > max_waiting_bins) {
        throw std::invalid_argument("statistics.waiting: at most " + std::to_string(max_waiting_bins) + " bins");
    }
    return static_cast<std::uint32_t>(bins);
}

/// Mean times by cause, each a list by bin; that of the storage where any rank waited for it.
nb::dict describe_waiting(const std::vector<std::array<double, causes>>& waiting) {
    constexpr auto storage = static_cast<std::size_t>(Cause::storage);
    const bool accesses = std::any_of(waiting.begin(), waiting.end(), [](const auto& bin) { return bin[storage] > 0; });
    nb::dict result;
    for (std::size_t cause = 0; cause < causes; ++cause) {
        if (cause == storage && !accesses) continue;
        nb::list times;
        for (const auto& bin : waiting) times.append(bin[cause]);
        result[(std::string(cause_names[cause]) + "_s").c_str()] = times;
    }
    return result;
}

/// A tuple for each stretch: rank, what it did or why it waited, whom for, begin and end [s]; which rank decided last
/// when that came, and when [s]; which of its processors did it.
nb::list describe_timeline(const std::vector<Stretch>& timeline) {
    nb::list result;
    for (const Stretch& each : timeline) {
        result.append(nb::make_tuple(each.rank, cause_names[static_cast<std::size_t>(each.cause)], each.peer,
                                     to_seconds(each.begin), to_seconds(each.end), each.origin, to_seconds(each.since),
                                     int{each.cpu}));
    }
    return result;
}

/// What a link, or several together, carried.
void describe_use(nb::dict& described, const LinkUse& use) {
    described["packets"] = use.packets;
    described["bytes"] = use.bytes;
    described["busy_s"] = use.busy() * seconds_per_tick;
    described["peak_queue"] = use.peak_queue;
    if (use.bins.empty()) return;
    nb::list bytes, queues;
    for (const UseOfBin& bin : use.bins) {
        bytes.append(bin.bytes);
        queues.append(bin.peak_queue);
    }
    described["bytes_in_bins"] = bytes;
    described["peak_queue_in_bins"] = queues;
}

NoiseRule noise_of(const nb::dict& point) {
    if (!point.contains("noise")) return {};
    const auto given = get<nb::dict>(point, "noise");
    const NoiseRule rule{.period = get<std::int64_t>(given, "period"),
                         .duration = get<std::int64_t>(given, "duration"),
                         .random = get<std::string>(given, "pattern") == "random"};
    if (rule.duration < 1 || rule.period <= rule.duration || rule.period > max_time) {
        throw std::invalid_argument("noise: a duration of at least 1 ps, less than the period of at most 1000 s");
    }
    return rule;
}

std::int64_t start_jitter_of(const nb::dict& point) {
    const auto jitter = get<std::int64_t>(point, "start_jitter");
    if (jitter < 0 || jitter > max_time) {
        throw std::invalid_argument("start_jitter: found " + std::to_string(jitter) +
                                    ", allowed: 0 ... 10^15 ps (1000 s)");
    }
    return jitter;
}

/// In the point in millionths; 0 where repeats are not to be cut short.
double steady_error_of(const nb::dict& point) {
    if (!point.contains("steady")) return 0;
    const auto error = get<std::int64_t>(get<nb::dict>(point, "steady"), "error");
    if (error < 0) throw std::invalid_argument("steady.error: must not be negative");
    return static_cast<double>(error) / 1e6;
}

nb::dict describe_delays(const Delays& delays) {
    nb::list lower, upper, packets;
    for (std::size_t bin = 0; bin < delay_bins::count; ++bin) {
        lower.append(to_seconds(delay_bins::lower[bin]));
        const bool last = bin + 1 == delay_bins::count;
        upper.append(to_seconds(last ? std::numeric_limits<Ticks>::max() : delay_bins::lower[bin + 1]));
        packets.append(delays.histogram[bin]);
    }
    nb::dict result;
    result["lower_s"] = lower;
    result["upper_s"] = upper;
    result["packets"] = packets;
    result["sum_s"] = delays.total.sum();
    result["max_s"] = to_seconds(delays.total.max);
    return result;
}

nb::dict describe_congestion(const CongestionMatrix& matrix, std::int64_t ranks) {
    nb::list packets, sum, max;
    for (std::uint32_t source = 0; source < matrix.bins(); ++source) {
        nb::list packets_row, sum_row, max_row;
        for (std::uint32_t destination = 0; destination < matrix.bins(); ++destination) {
            const DelaySum& cell = matrix.at(source, destination);
            packets_row.append(cell.packets);
            sum_row.append(cell.sum());
            max_row.append(to_seconds(cell.max));
        }
        packets.append(packets_row);
        sum.append(sum_row);
        max.append(max_row);
    }
    nb::dict result;
    result["bins"] = matrix.bins();
    result["ranks"] = ranks;
    result["packets"] = packets;
    result["sum_s"] = sum;
    result["max_s"] = max;
    return result;
}

/// Ranks without points in some layout are refused in what users write (tramontane.study); points measured with another
/// simulator may have them.
std::unique_ptr<Workload> workload_of(const nb::dict& point) {
    return workload_from_dict(get<nb::dict>(point, "workload"), get<std::int64_t>(point, "ranks"),
                              {.empty_blocks = true});
}
std::unique_ptr<Schedule> schedule_of(const nb::dict& point) { return workload_of(point)->schedule(); }

/// The schedule of the stages that are simulated: for each phase pairs of the first one and how many. Null: all are.
std::unique_ptr<SampledStages> sampled_of(const nb::dict& point, const Schedule& whole) {
    if (!point.contains("windows")) return nullptr;
    using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
    std::vector<std::vector<StageWindow>> windows;
    for (const Pairs& phase : get<std::vector<Pairs>>(point, "windows")) {
        windows.emplace_back();
        for (const auto& [first, count] : phase) windows.back().push_back({first, count});
    }
    return std::make_unique<SampledStages>(whole, windows);
}

/// A point as the simulator takes it.
struct Task {
    explicit Task(const nb::dict& point, std::uint32_t threads = 1, Limit limit = {}, Ticks window = 0,
                  std::vector<std::uint32_t> timeline = {})
        : machine(machine_from_dict(get<nb::dict>(point, "machine"))),
          workload(workload_of(point)),
          whole(workload->schedule()),
          sampled(sampled_of(point, *whole)),
          schedule(sampled ? static_cast<const Schedule*>(sampled.get()) : whole.get()),
          run{.seed = seed_of(point),
              .start_jitter = start_jitter_of(point),
              .places = places_of(point),
              .allocation = allocation_of(point),
              .noise = noise_of(point),
              .steady_error = steady_error_of(point),
              .limit = std::move(limit),
              .congestion_bins = congestion_bins_of(point),
              .links = link_counting_of(point),
              .waiting_bins = waiting_bins_of(point),
              .timeline = std::move(timeline),
              .threads = threads,
              .window = window} {}

    const Machine machine;
    const std::unique_ptr<Workload> workload;
    const std::unique_ptr<Schedule> whole;
    const std::unique_ptr<SampledStages> sampled;
    const Schedule* const schedule;  // what is simulated
    const Run run;
};

/// The node of each rank, as the topology calls it; the first of its NICs where a node has several.
std::vector<NodeId> nodes_of_ranks(const nb::dict& point) {
    const Task task(point);
    const auto topology = make_topology(task.machine);
    const auto ranks = static_cast<std::uint32_t>(task.schedule->ranks());
    const Places places(task.run.places, ranks, task.machine);
    const Allocation allocation(task.run.allocation, places.nodes(), *topology, task.run.seed, places.nics());
    std::vector<NodeId> nodes(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) nodes[rank] = allocation.node(places.node_of(places.of(rank)));
    return nodes;
}

/// \param lanes of the device engine; 0: the memory is that of the other one
std::uint64_t idle_bytes_of_point(const nb::dict& point, std::uint32_t lanes) {
    const Task task(point);
    if (lanes > 0) return device::bytes_at_first(task.machine, *task.schedule, task.run, lanes);
    return idle_bytes(task.machine, *task.schedule, task.run);
}

std::uint32_t checked_threads(std::int64_t threads) {
    if (threads >= 1 && threads <= max_threads) return static_cast<std::uint32_t>(threads);
    throw std::invalid_argument("threads: found " + std::to_string(threads) + ", allowed: 1 ... " +
                                std::to_string(max_threads));
}

/// Whether to stop; between two parts of a run.
void check_signals() {
    const nb::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

nb::dict load_of_threads(const nb::dict& point, std::int64_t threads) {
    const Task task(point, checked_threads(threads));
    const Outcome o = simulate(task.machine, *task.schedule, task.run, [](std::uint64_t /*hops*/) { check_signals(); });
    nb::dict load;
    load["threads"] = o.threads;
    load["windows"] = o.windows;
    load["events"] = o.events;
    load["speedup_at_most"] = o.speedup_at_most;
    return load;
}

/// \param longest [s]
/// \param more_s how long n repeats take at least [s], at n
Limit limit_of(double longest, const std::vector<double>& more_s, std::int64_t repeats) {
    Limit limit;
    limit.time_s = longest;
    if (limit.set() && more_s.size() != static_cast<std::size_t>(repeats)) {
        throw std::invalid_argument("more_s: " + std::to_string(more_s.size()) + " bounds, allowed: " +
                                    std::to_string(repeats) + ", one for each number of repeats below all");
    }
    for (const double least : more_s) {
        if (!(least >= 0 && least <= to_seconds(end_of_time))) {
            throw std::invalid_argument("more_s: found " + std::to_string(least) + ", allowed: 0 s to a day");
        }
        limit.more.push_back(static_cast<Ticks>(std::round(least / seconds_per_tick)));
    }
    return limit;
}

/// Gives memory back to the system. Else a search of the best radix would keep that of one run beside the next one's.
void return_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/// What a Python object says of where a long run is kept; None: nowhere.
Keeping keeping_of(const nb::object& checkpoint) {
    if (checkpoint.is_none()) return {};
    return {.from = nb::cast<std::string>(checkpoint.attr("state")),
            .wanted =
                [&checkpoint] {
                    const nb::gil_scoped_acquire acquired;
                    return nb::cast<std::string>(checkpoint.attr("wanted")());
                },
            .written =
                [&checkpoint](const std::string& error) {
                    const nb::gil_scoped_acquire acquired;
                    checkpoint.attr("written")(error);
                }};
}

/// What a result says.
nb::dict describe(const Task& task, const Outcome& o) {
    nb::dict result;
    const auto with_costs = [&] {
        result["threads"] = o.threads;
        result["wall_s"] = o.wall_s;
        result["setup_s"] = o.setup_s;
        return result;
    };
    if (o.at_least_s > 0) {
        result["at_least_s"] = o.at_least_s;
        return with_costs();
    }
    nb::dict phases;
    for (const auto& [name, time] : o.phases) phases[name.c_str()] = time;
    result["time_s"] = o.time_s;
    result["phases"] = phases;
    if (task.sampled) {
        nb::list ends;
        for (const double end : o.ends) ends.append(end);
        result["window_ends_s"] = ends;
    }
    if (task.workload->has_steps()) {
        nb::list steps;  // in the program's order
        for (const Outcome::Step& step : o.steps) {
            nb::dict times;
            times["name"] = step.name;
            times["time_s"] = step.time;
            times["work_s"] = step.work;
            times["busy_s"] = step.busy;
            steps.append(times);
        }
        result["steps"] = steps;
    }
    result["messages"] = o.messages;
    result["packets"] = o.packets;
    result["control_packets"] = o.control_packets;
    result["bytes"] = o.bytes;
    result["hops"] = o.hops;
    result["events"] = o.events;
    result["imbalance"] = o.imbalance;
    result["network_bytes"] = o.network_bytes;
    if (o.device_bytes > 0) result["device_bytes"] = o.device_bytes;
    result["delays"] = describe_delays(o.delays);
    if (!o.link_use.empty()) {
        nb::list links;
        for (const auto& [name, use] : o.link_use) {
            nb::dict described;
            described["name"] = name;
            described["used"] = use.links;
            describe_use(described, use);
            links.append(described);
        }
        result["links"] = links;
        if (task.run.links.one_by_one()) {
            nb::list one_by_one;
            for (const UsedLink& link : o.used_links) {
                nb::dict described;
                described["class"] = o.link_use[link.link_class].first;
                if (described["class"].equal(nb::str(injection_class))) {
                    described["node"] = link.from;
                } else {
                    described["switch"] = link.from;
                    described["port"] = link.port;
                }
                describe_use(described, link.use);
                one_by_one.append(described);
            }
            result["single_links"] = one_by_one;
        }
        if (o.bin_s > 0) result["bin_s"] = o.bin_s;
    }
    if (!o.waiting.empty()) result["waiting"] = describe_waiting(o.waiting);
    if (!task.run.timeline.empty()) {
        result["timeline"] = describe_timeline(o.timeline);
        result["span_s"] = nb::make_tuple(o.begin_s, o.end_s);
    }
    if (o.delays.matrix.wanted()) result["congestion"] = describe_congestion(o.delays.matrix, task.schedule->ranks());
    if (task.run.steady_error > 0) {
        result["repeats_simulated"] = o.repeats_simulated;
        result["repeats_left_out"] = task.schedule->repeats() - o.repeats_simulated;
        result["steady_error"] = o.steady_error;
    }
    return with_costs();
}

/// \param device host or gpu
device::Form form_of(const std::string& device, std::int64_t threads, std::uint64_t shuffle) {
    const bool accelerator = device == "gpu";
    if (!accelerator && device != "host") {
        throw std::invalid_argument("device: found '" + device + "', allowed: host (lanes as threads), gpu");
    }
    return {.lanes = accelerator ? 0U : static_cast<std::uint32_t>(threads),
            .shuffle = shuffle,
            .windows = accelerator ? device::windows_of_kernel : std::uint64_t{256},
            .accelerator = accelerator};
}

nb::dict simulate_point(const nb::dict& point, std::int64_t threads, double longest, const std::vector<double>& more_s,
                        std::int64_t window, const nb::object& checkpoint, const std::vector<std::uint32_t>& timeline,
                        const std::string& device, const nb::object& tell) {
    if (window < 0) throw std::invalid_argument("window: must not be negative");
    const Task task(point, checked_threads(threads), limit_of(longest, more_s, schedule_of(point)->repeats()),
                    static_cast<Ticks>(window), timeline);
    const Keeping keeping = keeping_of(checkpoint);
    const auto poll = [&](std::uint64_t hops) {
        check_signals();
        const nb::gil_scoped_acquire acquired;
        if (!tell.is_none()) tell(hops);
    };
    Outcome o;
    {
        const nb::gil_scoped_release released;
        o = device.empty() ? simulate(task.machine, *task.schedule, task.run, poll, keeping)
                           : device::simulate(task.machine, *task.schedule, task.run,
                                              form_of(device, threads, task.run.seed), poll, keeping);
        return_memory();
    }
    return describe(task, o);
}

void simulate_together(const std::vector<nb::dict>& points, const nb::callable& tell, const std::string& device,
                       std::int64_t threads, std::int64_t at_once) {
    device::Form form = form_of(device, checked_threads(threads), 1);
    form.points = static_cast<std::uint32_t>(std::clamp<std::int64_t>(at_once, 1, max_threads));
    std::vector<std::unique_ptr<Task>> tasks;
    std::vector<device::Asked> asked;
    for (const nb::dict& point : points) {
        tasks.push_back(std::make_unique<Task>(point));
        asked.push_back({tasks.back()->machine, *tasks.back()->schedule, tasks.back()->run});
    }
    const nb::gil_scoped_release released;
    device::simulate_together(asked, form, check_signals, [&](std::size_t number, const Outcome* o) {
        const nb::gil_scoped_acquire acquired;
        tell(number, o == nullptr ? nb::object(nb::none()) : nb::object(describe(*tasks[number], *o)));
    });
}

nb::tuple earliest_ends_of_point(const nb::dict& point) {
    const Machine machine = machine_from_dict(get<nb::dict>(point, "machine"));
    const auto schedule = schedule_of(point);
    const EarliestEnds ends = earliest_ends(machine, *schedule, seed_of(point), allocation_of(point), places_of(point));
    return_memory();
    return nb::make_tuple(ends.first_s, ends.last_s);
}

}  // namespace
}  // namespace tramontane::bindings

void bind_simulation(nb::module_& module) {
    using namespace nb::literals;
    module.attr("MODEL_REVISION") = tramontane::model_revision;
    module.def(
        "model_revision",
        [](const nb::dict& point) {
            return tramontane::model_revision_of(
                tramontane::bindings::machine_from_dict(tramontane::bindings::get<nb::dict>(point, "machine")),
                tramontane::bindings::noise_of(point), tramontane::bindings::allocation_of(point));
        },
        "point"_a, "The revision of the model that last changed the results of such points as a canonical one.");
    module.attr("MAX_TIME_BINS") = tramontane::max_time_bins;
    module.attr("MAX_WAITING_BINS") = tramontane::max_waiting_bins;
    module.attr("MAX_CONGESTION_BINS") = tramontane::max_congestion_bins;
    module.attr("MAX_THREADS_OF_RANK") = tramontane::max_threads_of_rank;
    module.attr("MAX_RANKS_PER_NODE") = tramontane::max_ranks_per_node;
    module.attr("HOTTEST_LINKS") = tramontane::hottest_links;
    module.attr("MAX_SITES") = tramontane::device::most_sites;
    module.def("records_at_first", &tramontane::device::records_at_first, "places"_a, "lanes"_a,
               "Records of a kind that the device engine has room for at first, beside what a window may take, for so\n"
               "many switches and interfaces.");
    nb::dict bounds;
    bounds["latency"] = nb::make_tuple(1, tramontane::max_latency);
    bounds["time"] = nb::make_tuple(0, tramontane::max_time);
    bounds["cost"] = nb::make_tuple(0, tramontane::max_cost);
    bounds["bandwidth"] = nb::make_tuple(tramontane::min_bandwidth, tramontane::max_bandwidth);
    bounds["frequency"] = nb::make_tuple(tramontane::min_frequency, tramontane::max_frequency);
    bounds["eager_limit"] = nb::make_tuple(0, tramontane::max_eager_limit);
    module.attr("BOUNDS") = bounds;
    module.def(
        "simulate", &tramontane::bindings::simulate_point, "point"_a, "threads"_a = 1,
        "longest"_a = std::numeric_limits<double>::infinity(), "more_s"_a = std::vector<double>(), "window"_a = 0,
        "checkpoint"_a = nb::none(), "timeline"_a = std::vector<std::uint32_t>(), "device"_a = "",
        "tell"_a = nb::none(),
        "Simulate a canonical point, with several threads where it can be; results do not depend on them.\n\n"
        "Of a point that takes more than `longest` [s], which the bounds `more_s` [s] of 0, 1, ... repeats to come "
        "show\n"
        "before its end, the result says `at_least_s` [s] and what the run cost.\n\n"
        "`window` [ticks] is how long each switch and node is simulated before the next one, at most (and with 0) as "
        "long\n"
        "as the smallest latency; results do not depend on it.\n\n"
        "`checkpoint` is where the run is kept: its `state` is a file that the run goes on from, or empty;\n"
        "`wanted()`, called about each second, returns a file that the state is to be written to, or \"\"; and\n"
        "`written(error)` is called when it has been, or with why not.\n\n"
        "`timeline` lists ranks of which the result tells what they did when, as `timeline`: tuples of rank, what,\n"
        "for whom it waited, begin and end [s]. `span_s` is then the first start and the last end of a rank [s].\n\n"
        "`device` is \"\", or \"gpu\" for an accelerator, or \"host\" for the same with threads as its lanes: the "
        "same\n"
        "results.\n\n"
        "The point's `windows`, if it has any, are the stages that are simulated: for each phase pairs of first stage "
        "and\n"
        "how many. Then phases are those windows, and `window_ends_s` says when the last rank ended each [s].\n\n"
        "`tell(hops)` is called about each second, with how many switches packets have visited.\n\n"
        "Raises ValueError for what cannot be simulated and RuntimeError on deadlock, with what waits for what.");
    module.def(
        "simulate_together", &tramontane::bindings::simulate_together, "points"_a, "tell"_a, "device"_a,
        "threads"_a = 1, "at_once"_a = 16,
        "Simulate many canonical points, several at a time: as many as an accelerator has room for, or `at_once`\n"
        "of device \"host\". `tell(number, result)` is called as each ends, with None where a point can't be\n"
        "simulated, or fails: alone or beside others. Such points, and those that are left when this raises, are\n"
        "to be simulated by themselves. A point's `wall_s` is its share of the time.");
    module.def(
        "accelerator", [] { return tramontane::device::accelerator().name(); },
        "The name of this machine's accelerator.\n\nRaises ValueError, which says why there is none.");
    module.def("random_order", &tramontane::Places::random_order, "ranks"_a, "seed"_a,
               "Where ranks that are mapped at random stand among all places that are filled in order.");
    module.def("nodes_of_ranks", &tramontane::bindings::nodes_of_ranks, "point"_a,
               "The node that each rank of a canonical point is on.");
    module.def(
        "idle_bytes", &tramontane::bindings::idle_bytes_of_point, "point"_a, "lanes"_a = 0,
        "Memory that a canonical point takes before anything is sent [B]; 0 where the system does not tell. With\n"
        "`lanes`, what so many lanes of the device engine need.");
    module.def("load_of_threads", &tramontane::bindings::load_of_threads, "point"_a, "threads"_a,
               "Simulate a canonical point by several threads, and tell how evenly they share it: their number,\n"
               "windows, events, and how many times as fast as one thread they could be at most.");
    module.def("earliest_ends", &tramontane::bindings::earliest_ends_of_point, "point"_a,
               "Lower bounds of 1, 2, ... repeats of a canonical point: how long after the first start the first rank "
               "ends [s], and the last one [s].");
}
