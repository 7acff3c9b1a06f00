/// \file
/// How many ports a switch may have.
#pragma once

#include <sprockit/errors.h>

#include <string>

namespace tramontane::sst {

/// PISCES keeps a packet's port in eight bits; packets to the others would go astray without a word.
/// \throws sprockit::InputError with one line that names the topology
inline void require_numbered_ports(const std::string& topology, int ports) {
    constexpr int most = 256;
    if (ports > most) {
        throw sprockit::InputError(topology + ": " + std::to_string(ports) +
                                   " ports a switch, of which PISCES numbers " + std::to_string(most));
    }
}

}  // namespace tramontane::sst
