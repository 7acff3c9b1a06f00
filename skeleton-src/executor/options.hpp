/// \file
/// The command line of the skeleton program: `key=value`, nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pattern.hpp"
#include "workload.hpp"

namespace tramontane::executor {

/// Who moves the data.
enum class Implementation {
    schedule,     ///< our schedules, by MPI_Isend and MPI_Irecv
    library,      ///< the MPI library's own collective operations
    nonblocking,  ///< their nonblocking forms, waited for at once
    persistent    ///< their persistent forms (MPI-4)
};

struct Options {
    std::shared_ptr<const Workload> workload;
    Implementation implementation = Implementation::schedule;
    std::string implementation_name = "schedule";
    bool real_data = true;      ///< false: nothing is packed or checked, all messages share one buffer
    bool verify = true;         ///< check every element; needs real data
    bool global_clock = false;  ///< MPI_Wtime() is the same clock on all ranks
    std::int64_t warmup = 1;
    std::int64_t repetitions = 5;
    Fault fault = Fault::none;
    std::string directory;  ///< of what is written and read; empty: the usual one
    std::string setup;      ///< name of the segment of shared memory with the set-up information of all ranks, if any

    [[nodiscard]] bool by_library() const { return implementation != Implementation::schedule; }
    /// Whether one call of the library does it all, with messages that nobody but the library knows.
    [[nodiscard]] bool in_one_call() const { return by_library() && workload->collective() == Collective::allreduce; }
};

/// \param arguments what follows the program's name
/// \param ranks processes that were started
/// \throws std::invalid_argument with one line: key, what was found, what is allowed
[[nodiscard]] Options read_options(const std::vector<std::string>& arguments, Rank ranks);

}  // namespace tramontane::executor
