/// \file
/// Memory that messages without content pretend to come from.
#pragma once

#include <cstdint>
#include <vector>

namespace tramontane::executor {

/// A real MPI library reads what it sends, so there must be as many bytes as in the longest message; a simulator's may
/// need none. With TRAMONTANE_NULL_BUFFER(bytes) and TRAMONTANE_FREE_BUFFER(pointer) defined, those provide it.
class NullBuffer {
public:
#if defined(TRAMONTANE_NULL_BUFFER)
    explicit NullBuffer(std::int64_t bytes) : data_{static_cast<double*>(TRAMONTANE_NULL_BUFFER(bytes))} {}
    NullBuffer(const NullBuffer&) = delete;
    NullBuffer& operator=(const NullBuffer&) = delete;
    ~NullBuffer() { TRAMONTANE_FREE_BUFFER(data_); }
    [[nodiscard]] double* data() { return data_; }

private:
    double* data_;
#else
    explicit NullBuffer(std::int64_t bytes)
        : data_(static_cast<std::size_t>(bytes) / sizeof(double) + 1) {}  // at least one element: never nullptr
    [[nodiscard]] double* data() { return data_.data(); }

private:
    std::vector<double> data_;
#endif
};

}  // namespace tramontane::executor
