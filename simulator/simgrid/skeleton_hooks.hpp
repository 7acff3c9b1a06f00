/// \file
/// What SMPI does otherwise than an MPI library; included before everything else when the skeleton is compiled for it.
#pragma once

#include <mpi.h>
#include <smpi/smpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <simgrid/s4u.hpp>

#include "../../skeleton-src/random.hpp"
#include "ticks.hpp"

namespace tramontane::simgrid {

/// At least `bytes` of memory that all ranks share; never given back.
///
/// SMPI carries the bytes of each message from one rank's memory to another's, but for blocks that ranks share by its
/// own allocator: those it takes to hold nothing. So all ranks, which live in one process, get one such block.
inline void* shared_block(std::int64_t bytes) {
    static void* block = nullptr;
    static std::int64_t size = 0;
    if (bytes > size || block == nullptr) {
        size = bytes > 1 << 20 ? bytes : 1 << 20;
        block = SMPI_SHARED_MALLOC(static_cast<std::size_t>(size));
    }
    return block;
}

[[nodiscard]] inline std::uint64_t number_of(const char* variable) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

/// All ranks leave together, as in the embedded simulator, or by the same random times apart. Ranks would leave a
/// barrier made of messages by more than a latency apart, which short operations notice.
inline void start_together() {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    static const auto barrier = ::simgrid::s4u::Barrier::create(static_cast<unsigned>(ranks));
    barrier->wait();
    const Ticks jitter = from_picoseconds(static_cast<std::int64_t>(number_of("TRAMONTANE_START_JITTER")));
    if (jitter == 0) return;
    const std::uint64_t seed = number_of("TRAMONTANE_SEED");
    const Ticks delay = below(random_bits(~seed, static_cast<std::uint64_t>(rank), 0), jitter + 1);
    ::simgrid::s4u::this_actor::sleep_for(to_seconds(delay));
}

}  // namespace tramontane::simgrid

#define TRAMONTANE_NULL_BUFFER(bytes) ::tramontane::simgrid::shared_block(bytes)
#define TRAMONTANE_FREE_BUFFER(pointer) static_cast<void>(pointer)
#define TRAMONTANE_WORK(seconds) ::simgrid::s4u::this_actor::sleep_for(seconds)
#define TRAMONTANE_COST(seconds) ::simgrid::s4u::this_actor::sleep_for(seconds)
#define TRAMONTANE_START_TOGETHER() ::tramontane::simgrid::start_together()
#define TRAMONTANE_LOOK_AGAIN() ::simgrid::s4u::this_actor::sleep_for(1e-7)
