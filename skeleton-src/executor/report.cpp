#include "report.hpp"

#include "json.hpp"

namespace tramontane::executor {
namespace {

/// Over repetitions, of one number of each.
template <class Value>
[[nodiscard]] Summary over(const std::vector<Repetition>& repetitions, Value&& value) {
    std::vector<double> values;
    for (const Repetition& each : repetitions) {
        values.push_back(value(each));
    }
    return summary(values);
}

/// Extremes over ranks and repetitions; the median over repetitions of the median over ranks.
template <class Member>
[[nodiscard]] Summary over_ranks(const std::vector<Repetition>& repetitions, Member member) {
    return {over(repetitions, [&](const Repetition& each) { return (each.*member).min; }).min,
            over(repetitions, [&](const Repetition& each) { return (each.*member).median; }).median,
            over(repetitions, [&](const Repetition& each) { return (each.*member).max; }).max};
}

template <std::size_t N>
[[nodiscard]] std::string array(const std::array<std::int64_t, N>& values) {
    json::List list;
    for (const std::int64_t value : values) {
        list.add(json::number(value));
    }
    return list.array();
}

[[nodiscard]] std::string workload(const Options& options) {
    const WorkloadSpec& spec = options.workload;
    json::List list;
    list.add("kind", json::quoted(spec.kind));
    if (options.implementation == Implementation::schedule && !spec.algorithm.empty()) {
        list.add("algorithm", json::quoted(spec.algorithm));
        if (spec.radix > 0) {
            list.add("radix", json::number(spec.radix));
        }
        if (spec.remainder == "adjacent") {
            list.add("remainder", json::quoted(spec.remainder));
        }
    }
    if (spec.kind == "allreduce") {
        list.add("count", json::number(spec.count)).add("repeats", json::number(spec.repeats));
        return list.object();
    }
    if (spec.kind == "halo") {
        list.add("width", json::number(spec.width));
    }
    list.add("grid", array(spec.grid));
    list.add("decomposition", spec.bisection ? json::quoted("bisection") : array(spec.decomposition));
    return list.object();
}

[[nodiscard]] std::string repetition(const Repetition& each, const std::vector<std::string>& names) {
    json::List phases;
    for (std::size_t i = 0; i < names.size(); ++i) {
        phases.add(names[i], json::number(each.phases[i]));
    }
    return json::List{}
        .add("time_s", json::number(each.time))
        .add("rank_time_s", json::object(each.ranks))
        .add("copy_s", json::object(each.copying))
        .add("phases", phases.object())
        .object();
}

}  // namespace

std::string json::object(const Summary& values) {
    return json::List{}
        .add("min", json::number(values.min))
        .add("median", json::number(values.median))
        .add("max", json::number(values.max))
        .object();
}

json::List heading(const Place& place, Rank ranks) {
    json::List hosts;
    for (const auto& [name, count] : place.hosts) {
        hosts.add(name, json::number(count));
    }
    json::List list;
    list.add("program", json::quoted("tramontane-mpi"))
        .add("version", json::quoted(TRAMONTANE_VERSION))
        .add("mpi_library", json::quoted(place.library))
        .add("mpi_standard", json::quoted(place.standard))
        .add("ranks", json::number(std::int64_t{ranks}))
        .add("hosts", hosts.object());
    return list;
}

std::string report(const Options& options, const std::vector<std::string>& names, const Measurement& measurement,
                   const Place& place) {
    const std::vector<Repetition>& all = measurement.repetitions;
    json::List phases;
    for (std::size_t i = 0; i < names.size(); ++i) {
        phases.add(names[i], json::object(over(all, [&](const Repetition& each) { return each.phases[i]; })));
    }
    json::List repetitions;
    for (const Repetition& each : all) {
        repetitions.add(repetition(each, names));
    }
    const bool counted = options.workload.kind != "allreduce" || options.implementation == Implementation::schedule;
    const std::string method = options.global_clock
                                   ? "last end minus first begin, one clock for all ranks"
                                   : "the slowest rank's time since it left the barrier, each rank by its own clock";
    return heading(place, options.workload.ranks)
        .add("workload", workload(options))
        .add("implementation", json::quoted(options.implementation_name))
        .add("data", json::quoted(options.real_data ? "real" : "null"))
        .add("method", json::quoted(method))
        .add("warmup", json::number(options.warmup))
        .add("time_s", json::object(over(all, [](const Repetition& each) { return each.time; })))
        .add("rank_time_s", json::object(over_ranks(all, &Repetition::ranks)))
        .add("copy_s", json::object(over_ranks(all, &Repetition::copying)))
        .add("phases", phases.object())
        .add("repetitions", repetitions.array())
        .add("messages", counted ? json::number(measurement.messages) : "null")
        .add("bytes", counted ? json::number(measurement.bytes) : "null")
        .add("verified", !options.verify          ? "null"
                         : measurement.wrong == 0 ? "true"
                                                  : "false")
        .add("elements_checked", json::number(measurement.checked))
        .add("elements_wrong", json::number(measurement.wrong))
        .object();
}

}  // namespace tramontane::executor
