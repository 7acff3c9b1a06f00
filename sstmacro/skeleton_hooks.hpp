/// \file
/// What SST/macro does otherwise than an MPI library; included before everything else when the skeleton is compiled
/// for it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdlib>

#include "../skeleton-src/random.hpp"

#define TRAMONTANE_SIMULATED_MPI "SST/macro"

/// Its messages carry sizes; a null pointer is all the data they need.
#define TRAMONTANE_NULL_BUFFER(bytes) (static_cast<void>(bytes), nullptr)
#define TRAMONTANE_FREE_BUFFER(pointer) static_cast<void>(pointer)

/// Messages without payload never meet a packet, and so a barrier meets none.
#define TRAMONTANE_END_TOGETHER() MPI_Barrier(MPI_COMM_WORLD)

/// A rank that works answers nobody, as with any MPI library that moves messages on in its calls only.
#define TRAMONTANE_WORK(seconds) sstmac_fsleep(seconds)

/// In release 16 sst++ passes on neither -D nor quotes.
#if !defined(TRAMONTANE_VERSION)
#define TRAMONTANE_QUOTED(text) #text
#define TRAMONTANE_TEXT(macro) TRAMONTANE_QUOTED(macro)
#define TRAMONTANE_VERSION TRAMONTANE_TEXT(TRAMONTANE_RELEASE)
#endif

// These two it has names for, but no code.
#undef MPI_Get_version
#undef MPI_Get_processor_name

inline int MPI_Get_version(int* version, int* subversion) {
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

/// Simulated nodes are nobody's hosts.
inline int MPI_Get_processor_name(char* name, int* length) {
    *name = '\0';
    *length = 0;
    return MPI_SUCCESS;
}

namespace tramontane::sst {

/// A number of the environment that the parameter file gives the program; 0 without.
[[nodiscard]] inline std::uint64_t number_of(const char* variable) {
    const char* const text = sstmac_getenv(variable);
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

/// A barrier, and random times after it if there are to be any.
inline void start_together() {
    MPI_Barrier(MPI_COMM_WORLD);
    const std::uint64_t picoseconds = number_of("TRAMONTANE_START_JITTER");
    if (picoseconds == 0) return;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::uint64_t bits = random_bits(~number_of("TRAMONTANE_SEED"), static_cast<std::uint64_t>(rank), 0);
    sstmac_fsleep(static_cast<double>(below(bits, picoseconds + 1)) * 1e-12);
}

}  // namespace tramontane::sst

#define TRAMONTANE_START_TOGETHER() ::tramontane::sst::start_together()
