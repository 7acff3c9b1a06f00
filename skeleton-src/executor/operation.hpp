/// \file
/// One execution of a workload on this rank, with the times at which its phases begin and end.
#pragma once

#include <memory>
#include <vector>

#include "memory.hpp"
#include "options.hpp"

namespace tramontane::executor {

/// Times of one execution on one rank by MPI_Wtime() [s].
struct Times {
    double begin = 0;
    double end = 0;
    std::vector<double> phase_begin;
    std::vector<double> phase_end;
    double copying = 0;  ///< of it, moving data between memory and messages, and on the rank
};

class Operation {
public:
    virtual ~Operation() = default;
    /// Writes the input of a repetition; not part of the time.
    virtual void fill(std::int64_t repetition) = 0;
    virtual void run(Times& times) = 0;
    /// The data, or nullptr with data=null.
    [[nodiscard]] virtual CheckedData* data() = 0;
};

/// \param schedule must outlive the operation; of the library's implementations it gives sizes and contents
[[nodiscard]] std::unique_ptr<Operation> make_operation(const Options& options, const Schedule& schedule, Rank rank);

}  // namespace tramontane::executor
