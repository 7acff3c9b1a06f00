/// \file
/// Several links between two switches, for any network that does not say them in its geometry.
#pragma once

#include <memory>

#include "../topology.hpp"

namespace tramontane {

/// The network with as many parallel links as the machine says of each class.
/// \throws Refusal for a class that it does not have, and for too many ports
[[nodiscard]] std::unique_ptr<Topology> with_parallel_links(std::unique_ptr<Topology> single, const Machine& machine);

}  // namespace tramontane
