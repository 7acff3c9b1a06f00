#include "report.hpp"

#include <variant>

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

[[nodiscard]] std::string spelled(const Value& value) {
    if (const auto* const number = std::get_if<std::int64_t>(&value)) return json::number(*number);
    if (const auto* const word = std::get_if<std::string>(&value)) return json::quoted(*word);
    json::List list;
    for (const std::int64_t each : std::get<std::vector<std::int64_t>>(value)) list.add(json::number(each));
    return list.array();
}

/// All keys of the workload, but for an algorithm that only stands for the library's own.
[[nodiscard]] std::string workload(const Options& options) {
    json::List list;
    for (const auto& [key, value] : options.workload->values().all()) {
        if (key != "algorithm" || !options.by_library()) list.add(key, spelled(value));
    }
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
    const bool counted = !options.in_one_call();
    const std::string method = options.global_clock
                                   ? "last end minus first begin, one clock for all ranks"
                                   : "the slowest rank's time since it left the barrier, each rank by its own clock";
    return heading(place, options.workload->ranks())
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
