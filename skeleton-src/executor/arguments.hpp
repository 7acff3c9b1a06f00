/// \file
/// The program's own options, beside the keys of a workload.
#pragma once

#include <cstdint>
#include <string>

#include "keys.hpp"
#include "refusal.hpp"
#include "schedule.hpp"

namespace tramontane::executor {

/// \throws std::invalid_argument if not as many ranks were started as expected
inline void refuse_other_ranks(Rank started, std::int64_t expected) {
    if (expected != started) {
        refuse_key("ranks", "that " + std::to_string(started) + (started == 1 ? " was" : " were") + " started",
                   std::to_string(expected) + " (is this the launcher of the MPI library it was built with?)");
    }
}

}  // namespace tramontane::executor
