#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace tramontane::executor {
namespace {

[[noreturn]] void refuse_option(const std::string& key, const std::string& found, const std::string& allowed) {
    throw std::invalid_argument(key + ": found " + found + ", allowed: " + allowed);
}

[[nodiscard]] std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        if (!text.empty()) {
            text += ", ";
        }
        text += name;
    }
    return text;
}

/// The arguments by key, each asked for once; what is left over is refused.
class Arguments {
public:
    explicit Arguments(const std::vector<std::string>& arguments) {
        for (const std::string& argument : arguments) {
            const auto equals = argument.find('=');
            if (equals == std::string::npos || equals == 0) {
                refuse_option("arguments", "'" + argument + "'", "key=value");
            }
            std::string key = argument.substr(0, equals);
            if (std::any_of(given_.begin(), given_.end(), [&](const auto& each) { return each.first == key; })) {
                refuse_option(key, "it twice", "each key once");
            }
            given_.emplace_back(std::move(key), argument.substr(equals + 1));
        }
    }

    [[nodiscard]] bool has(const std::string& key) const {
        return std::any_of(given_.begin(), given_.end(), [&](const auto& each) { return each.first == key; });
    }

    [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise) {
        known_.push_back(key);
        for (const auto& [name, value] : given_) {
            if (name == key) {
                return value;
            }
        }
        return otherwise;
    }

    /// One of a few words.
    [[nodiscard]] std::string word(const std::string& key, const std::string& otherwise,
                                   const std::vector<std::string>& allowed) {
        std::string value = text(key, otherwise);
        if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
            refuse_option(key, value.empty() ? "nothing" : "'" + value + "'", listed(allowed));
        }
        return value;
    }

    [[nodiscard]] std::int64_t number(const std::string& key, std::int64_t otherwise, std::int64_t least) {
        if (!has(key)) {
            known_.push_back(key);
            return otherwise;
        }
        return numbers(key, 1, least).front();
    }

    /// Numbers with x between them; empty if the key was not given.
    [[nodiscard]] std::vector<std::int64_t> numbers(const std::string& key, std::size_t count, std::int64_t least) {
        const std::string value = text(key, "");
        std::vector<std::int64_t> result;
        if (!has(key)) {
            return result;
        }
        const std::string allowed =
            count == 1 ? "an integer from " + std::to_string(least)
                       : std::to_string(count) + " integers from " + std::to_string(least) + " with x between them";
        const char* at = value.data();
        const char* const end = value.data() + value.size();
        while (result.size() < count) {
            std::int64_t number = 0;
            const auto [next, failure] = std::from_chars(at, end, number);
            const bool last = result.size() + 1 == count;
            if (failure != std::errc{} || number < least || (last ? next != end : next == end || *next != 'x')) {
                refuse_option(key, "'" + value + "'", allowed);
            }
            result.push_back(number);
            at = next + (last ? 0 : 1);
        }
        return result;
    }

    void refuse_others() const {
        for (const auto& [key, value] : given_) {
            if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
                refuse_option("arguments", "'" + key + "'", "the keys " + listed(known_));
            }
        }
    }

private:
    std::vector<std::pair<std::string, std::string>> given_;
    std::vector<std::string> known_;
};

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
    if (expected != ranks) {
        refuse_option("ranks", "that " + std::to_string(ranks) + (ranks == 1 ? " was" : " were") + " started",
                      std::to_string(expected) + " (is this the launcher of the MPI library it was built with?)");
    }
    return options;
}

}  // namespace tramontane::executor
