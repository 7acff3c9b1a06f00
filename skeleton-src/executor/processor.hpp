/// \file
/// Work of a rank's processor: a kernel that reads and writes memory, as often as a time asks for.
#pragma once

#include <cstdint>
#include <vector>

namespace tramontane::executor {

/// Measures once how fast its kernel is, and then does a certain amount of it: work that is disturbed takes longer, as
/// that of a model would. A simulator lets the time pass instead (TRAMONTANE_WORK).
class Processor {
public:
    Processor();
    /// \param picoseconds of work on a processor that nothing disturbs
    void work(std::int64_t picoseconds);

private:
    void run(std::int64_t elements);

    std::vector<double> data_;
    std::size_t at_ = 0;
    double elements_per_second_ = 0;
};

}  // namespace tramontane::executor
