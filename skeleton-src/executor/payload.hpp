/// \file
/// Where the bytes of messages come from and go to.
#pragma once

#include <array>
#include <cstdint>

#include "schedule.hpp"

namespace tramontane::executor {

/// Where a message stands that is not packed: rows of elements at equal distances, in planes at equal distances.
struct Layout {
    double* first;
    std::array<std::int64_t, 3> extent;  ///< elements of a row, rows of a plane, planes
    std::int64_t stride_y;               ///< from a row to the next one [elements]
    std::int64_t stride_z;               ///< from a plane to the next one [elements]
};

/// Data of one rank, as the exchange of a round needs them. Calls come in the order of a run: for every phase, its
/// begin, its rounds, its end; for every round, pack, any of outgoing and incoming, unpack. Of a
/// round that is left open others come before unpack.
class Payload {
public:
    virtual ~Payload() = default;

    virtual void begin_phase(std::int32_t /*phase*/) {}
    virtual void end_phase(std::int32_t /*phase*/) {}
    virtual void pack(std::int64_t /*round*/) {}
    virtual void unpack(std::int64_t /*round*/) {}
    /// Whether messages are any number of bytes; else they are elements.
    [[nodiscard]] virtual bool counts_bytes() const { return false; }

    /// Where the `index`-th message to be sent (received) in a round stands, packed.
    [[nodiscard]] virtual const double* outgoing(std::int64_t round, std::int32_t index) const = 0;
    [[nodiscard]] virtual double* incoming(std::int64_t round, std::int32_t index) = 0;

    /// Whether messages are packed. Else nobody may ask where they stand packed, but how they lie, which never changes.
    [[nodiscard]] virtual bool packs() const { return true; }
    [[nodiscard]] virtual Layout outgoing_layout(std::int64_t /*round*/, std::int32_t /*index*/) { return {}; }
    [[nodiscard]] virtual Layout incoming_layout(std::int64_t /*round*/, std::int32_t /*index*/) { return {}; }
};

/// All messages leave from one piece of memory and arrive in another: for simulators, and for times without copies.
class NullPayload final : public Payload {
public:
    /// \param outgoing,incoming as long as the longest message, or nullptr where MPI never looks at data
    NullPayload(const double* outgoing, double* incoming) : outgoing_{outgoing}, incoming_{incoming} {}

    [[nodiscard]] const double* outgoing(std::int64_t, std::int32_t) const override { return outgoing_; }
    [[nodiscard]] double* incoming(std::int64_t, std::int32_t) override { return incoming_; }

private:
    const double* outgoing_;
    double* incoming_;
};

}  // namespace tramontane::executor
