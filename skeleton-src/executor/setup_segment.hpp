/// \file
/// Set-up information of all ranks that somebody else has put into shared memory (Zheng & Marguinaud 2018,
/// section 2.3).
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tramontane::executor {

/// The content of a POSIX shared-memory segment. It is attached once per process of the host, at the first call: ranks
/// that a simulator runs in one process share it, and its pages are the same in all processes. It stays to the end.
/// \throws std::invalid_argument if there is no such segment, or for a second name
[[nodiscard]] std::span<const std::byte> attached(const std::string& name);

}  // namespace tramontane::executor
