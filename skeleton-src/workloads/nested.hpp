/// \file
/// Workloads within a workload: reading the keys of blocks, and refusals that name the block.
#pragma once

#include <stdexcept>
#include <string>

#include "../workload.hpp"

namespace tramontane {

/// Calls something that refuses keys of a block as if it were a workload of its own, and names the block in the
/// refusal.
template <class Call>
auto within_block(const std::string& block, Call&& call) {
    try {
        return call();
    } catch (const std::invalid_argument& refused) {
        const std::string line = refused.what(), own = "workload.";
        const bool names_key = line.compare(0, own.size(), own) == 0;
        throw std::invalid_argument(own + block + "." + line.substr(names_key ? own.size() : 0));
    }
}

/// Reads the keys of a block.
///
/// \param read gets a reader of these keys, and the values of the block
template <class Read>
void read_block(KeyReader& reader, Values& values, const std::string& block, Read&& read) {
    KeyReader inner{reader.take_within(block + ".")};
    Values found;
    within_block(block, [&] {
        read(inner, found);
        inner.finish("workload.");
    });
    for (const auto& [key, value] : found.all()) values.set(std::string(block).append(".").append(key), value);
}

}  // namespace tramontane
