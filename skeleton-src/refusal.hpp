/// \file
/// One wording for everything that is refused: which key, what was found, what is allowed.
#pragma once

#include <stdexcept>
#include <string>

namespace tramontane {

/// \throws std::invalid_argument always, with "<key>: found <found>, allowed: <allowed>"
[[noreturn]] inline void refuse_key(const std::string& key, const std::string& found, const std::string& allowed) {
    throw std::invalid_argument(key + ": found " + found + ", allowed: " + allowed);
}

/// The same for a key of the `workload` block of a point.
[[noreturn]] inline void refuse(const std::string& key, const std::string& found, const std::string& allowed) {
    refuse_key("workload." + key, found, allowed);
}

}  // namespace tramontane
