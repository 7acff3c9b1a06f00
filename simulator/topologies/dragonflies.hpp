/// \file
/// What all dragonflies have in common.
#pragma once

#include <string>
#include <vector>

#include "geometry.hpp"

namespace tramontane {

inline std::vector<std::string> dragonfly_routings() {
    return {"minimal", "valiant", "valiant-global", "ugal", "ugal-g", "par", "ugal-sstmacro71"};
}

/// Links to nodes, inside a group and between groups.
inline std::vector<LinkClass> dragonfly_link_classes() { return {{"ejection"}, {"local"}, {"global"}}; }

/// As SST/macro 7.1: a random switch of the same group, but neither of the two.
[[nodiscard]] TRAMONTANE_RULE inline SwitchId inside(SwitchId from, SwitchId to, Size in_group, const Draw& draw) {
    const Size others = in_group - (from == to ? 1 : 2);
    if (others == 0) return from;
    const auto pick = static_cast<Size>(draw.below(others));
    return from / in_group * in_group + skip(pick, from % in_group, to % in_group);
}

}  // namespace tramontane
