/// \file
/// What links of a class carried, counted where a point asks for it.
#pragma once

#include <cstdint>

namespace tramontane {

/// Packets and bytes, those of the protocols among them.
struct LinkUse {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;

    void add(const LinkUse& other) {
        packets += other.packets;
        bytes += other.bytes;
    }
};

}  // namespace tramontane
