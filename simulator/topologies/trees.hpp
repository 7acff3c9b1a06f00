/// \file
/// What all fat trees have in common.
#pragma once

#include <string>
#include <vector>

#include "geometry.hpp"

namespace tramontane {

/// Links to nodes, then for each two levels those up and those down: number 2 l - 1 and 2 l above level l, from 1.
[[nodiscard]] inline std::vector<LinkClass> tree_link_classes(Size levels) {
    std::vector<LinkClass> all{{"ejection"}};
    for (Size l = 1; l < levels; ++l) {
        all.push_back({"up-" + std::to_string(l)});
        all.push_back({"down-" + std::to_string(l)});
    }
    return all;
}

inline constexpr Size max_tree_levels = 31;  // with which even a binary tree has more nodes than can be

}  // namespace tramontane
