#include "topology.hpp"

#include <stdexcept>

namespace tramontane {

std::unique_ptr<Topology> make_topology(const Machine& machine) {
    if (machine.topology == "torus") return make_torus(machine);
    if (machine.topology == "fattree") {
        return machine.geometry.size() == 3 ? make_subtree_fat_tree(machine) : make_fat_tree(machine);
    }
    if (machine.topology == "dragonfly") return make_dragonfly(machine);
    if (machine.topology == "dragonfly1d") return make_circulant_dragonfly(machine);
    throw std::invalid_argument("machine.topology: '" + machine.topology +
                                "' is unknown; allowed: torus, fattree, dragonfly, dragonfly1d");
}

}  // namespace tramontane
