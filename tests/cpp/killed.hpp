/// \file
/// Runs that are ended somewhere, and leave a checkpoint.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>

#include "device/simulate.hpp"
#include "drawn.hpp"
#include "memory/checkpoint.hpp"
#include "simulation.hpp"
#include "testing.hpp"

namespace tramontane::testing {

struct Killed : std::exception {};

/// A file of its own that goes away.
struct ScratchFile {
    ScratchFile()
        : path(std::filesystem::temp_directory_path() / ("tramontane-" + std::to_string(getpid()) + ".state")) {}
    ~ScratchFile() { std::filesystem::remove(path); }
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    const std::filesystem::path path;
};

/// \param form by the device engine; null: by the other one
[[nodiscard]] inline Outcome simulated(const Drawn& drawn, const Run& run, const Poll& poll,
                                       const Keeping& keeping = {}, const device::Form* form = nullptr) {
    const auto schedule = drawn.schedule();
    if (form != nullptr) return device::simulate(drawn.machine, *schedule, run, *form, poll, keeping);
    return tramontane::simulate(drawn.machine, *schedule, run, poll, keeping);
}

/// Runs until the poll after the `number`-th, at which the state is written; whether it came so far.
inline bool killed_after(const Drawn& drawn, const Run& run, std::uint64_t number, const std::string& from,
                         const std::string& to, const device::Form* form = nullptr) {
    std::uint64_t polls = 0;
    const auto poll = [&](std::uint64_t) {
        if (++polls > number) throw Killed();
    };
    const auto written = [](const std::string& error) {
        INFO(error);
        CHECK(error.empty());
    };
    const Keeping keeping{
        .from = from, .wanted = [&] { return polls == number ? to : std::string(); }, .written = written};
    try {
        (void)simulated(drawn, run, poll, keeping, form);
    } catch (const Killed&) {
        return true;
    }
    return false;
}

}  // namespace tramontane::testing
