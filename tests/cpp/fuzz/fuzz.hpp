/// \file
/// What the fuzz tests share: each tries one input, which must be refused in one line or hold what is promised.
/// libFuzzer calls them (`make fuzz`), and a test of CTest with the inputs that were kept (corpus/).
#pragma once

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "contents.hpp"
#include "workload.hpp"

namespace tramontane::fuzz {

/// Keys and values of a point, `key=value` with blanks between them.
void try_point(std::string_view text);
/// The same of `ranks` and a workload, of which the schedule is looked at.
void try_schedule(std::string_view text);
/// A file of GOAL, text or binary.
void try_graph(std::string_view text);

[[noreturn]] inline void fail(const std::string& what) {
    std::fprintf(stderr, "fuzz: %s\n", what.c_str());
    std::abort();
}
inline void expect(bool holds, const char* what) {
    if (!holds) fail(what);
}

/// Does `what`, which may refuse its input in one line.
template <class What>
void try_input(What&& what) {
    const auto one_line = [](const std::exception& error) {
        expect(std::string_view(error.what()).find('\n') == std::string_view::npos, "a refusal of several lines");
    };
    try {
        what();
    } catch (const std::invalid_argument& error) {
        one_line(error);
    } catch (const std::runtime_error& error) {
        one_line(error);
    }  // whatever else is thrown is a mistake of ours
}

[[nodiscard]] inline std::vector<Argument> arguments_of(std::string_view text) {
    std::istringstream stream{std::string(text)};
    return split_arguments({std::istream_iterator<std::string>(stream), {}});
}

/// A workload that is small enough to be looked at; nothing where it is not.
[[nodiscard]] inline std::unique_ptr<Workload> small_workload(KeyReader& reader, std::int64_t ranks) {
    Values values;
    const WorkloadKind& kind = read_workload(reader, values);
    reader.finish();
    if (ranks > 256) return nullptr;
    return kind.make(std::move(values), static_cast<Rank>(ranks), {.empty_blocks = true});
}

}  // namespace tramontane::fuzz
