/// \file
/// A machine as a Python dictionary, for all bindings that take one.
#pragma once

#include <nanobind/nanobind.h>

#include "../machine.hpp"

namespace tramontane::bindings {

/// Reads the `machine` block of a canonical point (plain integers in base units).
/// \throws std::invalid_argument (ValueError in Python) for a missing or mistyped key
[[nodiscard]] Machine machine_from_dict(const nanobind::dict& machine);

/// Reads what of it says how the network is wired and routed; only topology and geometry must be there.
/// \throws Refusal for a geometry that has no shape of the topology
[[nodiscard]] Machine network_from_dict(const nanobind::dict& machine);

}  // namespace tramontane::bindings
