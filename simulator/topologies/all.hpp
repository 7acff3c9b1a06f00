/// \file
/// Every network there is. What a new one needs beside its own file stands here.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "dragonfly.hpp"
#include "dragonfly1d.hpp"
#include "dragonfly_plus.hpp"
#include "fat_tree.hpp"
#include "generalized_tree.hpp"
#include "graph.hpp"
#include "hyperx.hpp"
#include "torus.hpp"

namespace tramontane {

const Family& graph_family();

/// Their descriptions. Each stands at the end of the file that makes such networks.
[[nodiscard]] inline std::vector<const Family*> all_families() {
    return {&torus_family(),          &fat_tree_family(), &dragonfly_family(), &circulant_dragonfly_family(),
            &dragonfly_plus_family(), &hyperx_family(),   &graph_family()};
}

template <class... Networks>
struct NetworkList {};

template <std::size_t... D>
NetworkList<Torus<D + 1, false>..., Torus<D + 1, true>...> list_tori(std::index_sequence<D...>);
template <class... Some, class... Others>
NetworkList<Some..., Others...> joined_lists(NetworkList<Some...>, NetworkList<Others...>);

/// Their classes, as lanes of an accelerator see them (device/network.hpp).
using AllNetworks =
    decltype(joined_lists(list_tori(std::make_index_sequence<most_dimensions>{}),
                          NetworkList<FatTree, SubtreeFatTree, GeneralizedTree, Dragonfly, CirculantDragonfly,
                                      DragonflyPlus, HyperX, GraphNetwork<WholeGraph>>{}));

}  // namespace tramontane
