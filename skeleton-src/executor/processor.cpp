#include "processor.hpp"

#include <mpi.h>

#include <algorithm>

namespace tramontane::executor {

#if defined(TRAMONTANE_WORK)

Processor::Processor() = default;

void Processor::work(std::int64_t picoseconds) { TRAMONTANE_WORK(static_cast<double>(picoseconds) * 1e-12); }

#else

namespace {

constexpr std::size_t elements = 1 << 17;      // 1 MiB: in a cache of the second level, or beyond
constexpr std::int64_t in_a_sample = 1 << 18;  // about a millisecond: each rank of a short run pays for it
constexpr int samples = 9;

}  // namespace

Processor::Processor() : data_(elements, 1.0) {
    run(in_a_sample);
    for (int i = 0; i < samples; ++i) {  // the fastest: whatever disturbs makes others slower
        const double begin = MPI_Wtime();
        run(in_a_sample);
        elements_per_second_ = std::max(elements_per_second_, static_cast<double>(in_a_sample) / (MPI_Wtime() - begin));
    }
}

void Processor::work(std::int64_t picoseconds) {
    run(static_cast<std::int64_t>(static_cast<double>(picoseconds) * 1e-12 * elements_per_second_));
}

/// A few operations an element, as in a stencil; values stay near 1.
void Processor::run(std::int64_t count) {
    for (; count > 0; --count) {
        double& value = data_[at_];
        value = 0.5 * value + 0.25 * (data_[at_ == 0 ? elements - 1 : at_ - 1] + 1.0);
        at_ = at_ + 1 == elements ? 0 : at_ + 1;
    }
}

#endif

}  // namespace tramontane::executor
