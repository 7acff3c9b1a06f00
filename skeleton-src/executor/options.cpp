#include "options.hpp"

#include <algorithm>

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

/// The keys of the workload; which ones there are depends on its kind.
void read_workload(Arguments& arguments, bool library, WorkloadSpec& spec) {
    spec.kind = arguments.word("kind", "", {"transposition", "halo", "allreduce"});
    if (spec.kind != "halo" && !library) {
        spec.algorithm = arguments.text("algorithm", "");
        if (spec.algorithm == "ring-k" || spec.algorithm == "sliding-window" || spec.algorithm == "recursive-k") {
            spec.radix = arguments.number("radix", 0, 1);
            if (spec.algorithm == "recursive-k") {
                spec.remainder = arguments.word("remainder", "paper", {"paper", "adjacent"});
            }
        } else if (spec.algorithm == "bruck") {
            spec.radix = arguments.number("radix", 2, 2);
        }
    }
    if (spec.kind == "allreduce") {
        spec.count = arguments.number("count", 3, 1);
        spec.repeats = arguments.number("repeats", 1, 1);
        if (library) {
            spec.algorithm = "recursive-doubling";  // for the limits that any allreduce has; its messages are not sent
        }
        return;
    }
    if (spec.kind == "halo") {
        spec.width = arguments.number("width", 0, 1);
    } else if (library) {
        spec.algorithm = "burst";  // one round a phase, whose messages are the library's counts and displacements
    }
    const auto grid = arguments.numbers("grid", 3, 1);
    if (grid.empty()) {
        refuse_option("grid", "nothing", "3 integers from 1 with x between them");
    }
    std::copy(grid.begin(), grid.end(), spec.grid.begin());
    spec.bisection = spec.kind == "halo" && !library && arguments.text("decomposition", "") == "bisection";
    if (spec.bisection) return;
    const auto decomposition = arguments.numbers("decomposition", 2, 1);
    if (decomposition.empty()) {
        const Decomposition found = default_decomposition(spec.kind, spec.ranks, spec.grid);
        spec.decomposition = {found.cx, found.cy};
    } else {
        std::copy(decomposition.begin(), decomposition.end(), spec.decomposition.begin());
    }
}

}  // namespace

Options read_options(const std::vector<std::string>& given, Rank ranks) {
    Arguments arguments{given};
    Options options;
    options.workload.ranks = ranks;
    options.implementation_name =
        arguments.word("implementation", "schedule", {"schedule", "library", "nonblocking", "persistent"});
    options.implementation = implementation_of(options.implementation_name);
    read_workload(arguments, options.implementation != Implementation::schedule, options.workload);
    options.setup = options.workload.bisection ? arguments.text("setup", "") : "";
    options.real_data = arguments.word("data", "real", {"real", "null"}) == "real";
    options.verify = arguments.word("verify", options.real_data ? "1" : "0", {"0", "1"}) == "1";
    if (options.verify && !options.real_data) {
        refuse_option("verify", "1 with data=null", "verify=1 with data=real only");
    }
    options.global_clock = arguments.word("clock", "local", {"local", "global"}) == "global";
    options.warmup = arguments.number("warmup", 1, 0);
    options.repetitions = arguments.number("repetitions", 5, 1);
    options.fault = fault_of(arguments.word("fault", "none", {"none", "value", "place", "missing"}));
    if (options.fault != Fault::none && !options.verify) {
        refuse_option("fault", "one with verify=0", "none, or verify=1");
    }
    const std::int64_t expected = arguments.number("ranks", ranks, 1);
    arguments.refuse_others();
    refuse_other_ranks(ranks, expected);
    return options;
}

}  // namespace tramontane::executor
