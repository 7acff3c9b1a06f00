/// \file
/// A workload as a Python dictionary, for all bindings that take one.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>

#include "workload.hpp"

namespace tramontane::bindings {

/// Reads the `workload` block of a canonical point (plain integers in base units).
/// \throws std::invalid_argument (ValueError in Python) for a missing, unknown or mistyped key
[[nodiscard]] std::unique_ptr<Workload> workload_from_dict(const nanobind::dict& workload, std::int64_t ranks,
                                                           const Permissions& permissions);

}  // namespace tramontane::bindings

void bind_schedule(nanobind::module_& module);
