#include "options.hpp"

#include <algorithm>
#include <utility>

#include "arguments.hpp"

namespace tramontane::executor {
namespace {

[[nodiscard]] Implementation implementation_of(const std::string& name) {
    return name == "library"       ? Implementation::library
           : name == "nonblocking" ? Implementation::nonblocking
           : name == "persistent"  ? Implementation::persistent
                                   : Implementation::schedule;
}

[[nodiscard]] Fault fault_of(const std::string& name) {
    return name == "value"     ? Fault::value
           : name == "place"   ? Fault::place
           : name == "missing" ? Fault::missing
                               : Fault::none;
}

[[nodiscard]] std::vector<Key> program_keys(Rank ranks) {
    return {Key::word("implementation", {"schedule", "library", "nonblocking", "persistent"}, "schedule"),
            {.name = "setup", .optional = true},
            {.name = "directory", .optional = true},
            Key::word("data", {"real", "null"}, "real"),
            {.name = "verify", .integers = 1, .least = 0, .most = 1, .optional = true},
            Key::word("clock", {"local", "global"}, "local"),
            Key::integer("warmup", 0, std::int64_t{1}),
            Key::integer("repetitions", 1, std::int64_t{5}),
            Key::word("fault", {"none", "value", "place", "missing"}, "none"),
            Key::integer("ranks", 1, std::int64_t{ranks})};
}

/// The keys that were given, with an algorithm whose schedule says what the library's operation moves.
[[nodiscard]] std::vector<Argument> with_library_algorithm(std::vector<Argument> given) {
    const auto is = [&](const char* key, const std::string& word) {
        return std::any_of(given.begin(), given.end(),
                           [&](const Argument& each) { return each.key == key && each.value == Value(word); });
    };
    for (const char* by : {"library", "nonblocking", "persistent"}) {
        if (!is("implementation", by)) continue;
        for (const WorkloadKind& kind : workload_kinds()) {
            if (kind.library_algorithm.empty() || !is("kind", kind.name)) continue;
            for (const Argument& each : given) {
                if (each.key == "algorithm") refuse_key(each.key, each.shown, "only with implementation=schedule");
            }
            given.push_back({"algorithm", kind.library_algorithm, kind.library_algorithm});
        }
    }
    return given;
}

/// Refuses arguments without a kind that the program knows: a workload's, or that of messages between two ranks.
void refuse_no_kind(const std::vector<std::string>& arguments) {
    Key kind = Key::word("kind", {});
    for (const WorkloadKind& each : workload_kinds()) kind.words.push_back(each.name);
    kind.words.emplace_back("pingpong");
    KeyReader reader{split_arguments(arguments)};
    Values values;
    reader.read({kind}, values, "workload.");
}

}  // namespace

Options read_options(const std::vector<std::string>& arguments, Rank ranks) {
    KeyReader reader{with_library_algorithm(split_arguments(arguments))};
    Values workload, program;
    refuse_no_kind(arguments);
    const WorkloadKind& kind = read_workload(reader, workload);
    const std::vector<Key> keys = program_keys(ranks);
    reader.read(keys, program);
    reader.finish();
    refuse_other_ranks(ranks, program.integer("ranks"));

    Options options;
    options.workload = kind.make(std::move(workload), ranks, {});
    options.implementation_name = program.word("implementation");
    options.implementation = implementation_of(options.implementation_name);
    if (options.by_library() && options.workload->collective() == Collective::none) {
        refuse_key("implementation", options.implementation_name + " of a workload that no library's operation does",
                   "schedule");
    }
    if (options.by_library() && options.workload->by_datatypes()) {
        refuse("buffers", "datatypes with implementation=" + options.implementation_name,
               "explicit, or implementation=schedule");
    }
    options.setup = program.find("setup") == nullptr ? "" : program.word("setup");
    options.directory = program.find("directory") == nullptr ? "" : program.word("directory");
    options.real_data = program.is("data", "real");
    options.verify = program.find("verify") == nullptr ? options.real_data : program.integer("verify") == 1;
    if (options.verify && !options.real_data) {
        refuse_key("verify", "1 with data=null", "verify=1 with data=real only");
    }
    options.global_clock = program.is("clock", "global");
    options.warmup = program.integer("warmup");
    options.repetitions = program.integer("repetitions");
    options.fault = fault_of(program.word("fault"));
    if (options.fault != Fault::none && !options.verify) {
        refuse_key("fault", "one with verify=0", "none, or verify=1");
    }
    return options;
}

}  // namespace tramontane::executor
