/// \file
/// Messages without content under SMPI; included before everything else when the skeleton is compiled for it.
///
/// SMPI carries the bytes of each message from one rank's memory to another's, but for blocks that ranks share by its
/// own allocator: those it takes to hold nothing. So all ranks, which live in one process, get one such block.
#pragma once

#include <smpi/smpi.h>

#include <cstddef>
#include <cstdint>

namespace tramontane::simgrid {

/// At least `bytes` of memory that all ranks share; never given back.
inline void* shared_block(std::int64_t bytes) {
    static void* block = nullptr;
    static std::int64_t size = 0;
    if (bytes > size || block == nullptr) {
        size = bytes > 1 << 20 ? bytes : 1 << 20;
        block = SMPI_SHARED_MALLOC(static_cast<std::size_t>(size));
    }
    return block;
}

}  // namespace tramontane::simgrid

#define TRAMONTANE_NULL_BUFFER(bytes) ::tramontane::simgrid::shared_block(bytes)
#define TRAMONTANE_FREE_BUFFER(pointer) static_cast<void>(pointer)
