/// \file
/// The device engine: a simulation as an accelerator makes it, with all that an LP does in a window done by one lane,
/// and thousands of lanes at a time. The rules are those of the other engine (simulator/rules); what is pending,
/// records and the way space is given back are its own. Results are the same to the last bit.
///
/// Lanes are threads of a processor, the form that is tested everywhere, or those of an accelerator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "machine.hpp"
#include "schedule.hpp"
#include "simulation.hpp"

namespace tramontane::device {

/// Windows of a launch on an accelerator: a second or less.
inline constexpr std::uint64_t windows_of_kernel = 8192;

/// How lanes work. Results do not depend on it.
struct Form {
    std::uint32_t lanes = 1;      ///< 0: as many as there are, on an accelerator
    std::uint32_t stride = 1;     ///< of the sites whose bits are one word, see Agenda
    std::uint64_t shuffle = 0;    ///< seed of the order in which each lane takes its sites in a window; 0: by number
    std::uint64_t windows = 256;  ///< of a launch, after which the host looks at what there is
    bool accelerator = false;
    std::uint32_t points = 1;   ///< at once, on threads; an accelerator knows how many
    std::uint32_t in_step = 1;  ///< lanes that count together, likewise
};

/// What is to be simulated.
struct Asked {
    const Machine& machine;
    const Schedule& schedule;
    const Run& run;
};

/// \param poll called between two launches
/// \param keeping as of the other engine, which goes on from what this one has written, with one thread
/// \throws std::invalid_argument for what the device form can't do, or can't be, std::runtime_error on deadlock
[[nodiscard]] Outcome simulate(const Machine& machine, const Schedule& schedule, const Run& run, const Form& form,
                               const Poll& poll = {}, const Keeping& keeping = {});

/// Memory that so many lanes need before anything is sent [B].
/// \throws as `simulate`
[[nodiscard]] std::uint64_t bytes_at_first(const Machine& machine, const Schedule& schedule, const Run& run,
                                           std::uint32_t lanes);

/// Simulates many points, several at a time, each by a part of the lanes: one that is small keeps no accelerator busy.
/// As one ends the next one begins. What they take, `wall_s`, is shared out among those that run at a time.
/// \param tell called with a point's number when it has ended; with null where it can't be simulated or fails, alone or
///     beside others: to be simulated by itself, which says why
/// \param poll called between two launches; may throw to stop
/// \throws std::exception where lanes fail; the points of which nothing was told are to be simulated by themselves, too
void simulate_together(const std::vector<Asked>& points, const Form& form, const std::function<void()>& poll,
                       const std::function<void(std::size_t number, const Outcome*)>& tell);

}  // namespace tramontane::device
