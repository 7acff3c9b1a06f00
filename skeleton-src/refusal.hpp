/// \file
/// One wording for everything a workload may be refused for: which key, what was found, what is allowed.
#pragma once

#include <stdexcept>
#include <string>

namespace tramontane {

/// \throws std::invalid_argument always, with "workload.<key>: found <found>, allowed: <allowed>"
[[noreturn]] inline void refuse(const std::string& key, const std::string& found, const std::string& allowed) {
    throw std::invalid_argument("workload." + key + ": found " + found + ", allowed: " + allowed);
}

}  // namespace tramontane
