/// \file
/// Repetitions of an operation: how times are taken, and what they are over all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operation.hpp"
#include "options.hpp"

namespace tramontane::executor {

struct Summary {
    double min = 0;
    double median = 0;
    double max = 0;
};

[[nodiscard]] Summary summary(std::vector<double> values);

struct Repetition {
    double time = 0;             ///< of the operation [s]: from the barrier to the last rank's end
    Summary ranks;               ///< of the ranks' own times
    Summary copying;             ///< of it, the ranks' packing and unpacking
    std::vector<double> phases;  ///< first rank's begin to last rank's end
};

struct Measurement {
    std::vector<Repetition> repetitions;  ///< on rank 0 only
    std::int64_t messages = 0;            ///< of all ranks, from here on everywhere
    std::int64_t bytes = 0;
    std::int64_t checked = 0;
    std::int64_t wrong = 0;
};

/// Checks one execution step by step, warms up, and measures; checks the result of every repetition.
///
/// Repetitions start at a barrier. With a local clock a rank's times count from when it left the barrier, and the time
/// of the repetition is that of the slowest rank; with a global clock it is the last end minus the first begin.
/// \param complaints what each rank's first wrong element is, for the ranks that have one
[[nodiscard]] Measurement measure(const Options& options, const Schedule& schedule, Operation& operation, Rank rank,
                                  std::string& complaint);

}  // namespace tramontane::executor
