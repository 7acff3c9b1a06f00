/// \file
/// All kinds of workloads, and the way from the keys of one, as a point states them, to its schedule.
///
/// What is declared here is compiled once (workload.cpp): it contains every schedule there is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "keys.hpp"
#include "workloads/kind.hpp"

namespace tramontane {

[[nodiscard]] const std::vector<WorkloadKind>& workload_kinds();

/// \pre there is such a kind
[[nodiscard]] const WorkloadKind& workload_kind(const std::string& name);

/// Reads `kind`, and then the keys that it has.
///
/// \param reader has the keys of a workload, and maybe others
/// \param values get the workload's
/// \throws std::invalid_argument with one line that names key, what was found and what is allowed
[[nodiscard]] const WorkloadKind& read_workload(KeyReader& reader, Values& values);

/// \throws std::invalid_argument with one line that names key, what was found and what is allowed
[[nodiscard]] std::unique_ptr<Workload> make_workload(std::vector<Argument> given, std::int64_t ranks,
                                                      const Permissions& permissions = {});

}  // namespace tramontane
