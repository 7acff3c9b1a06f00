/// \file
/// The one line that a run prints.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "json.hpp"
#include "measure.hpp"
#include "options.hpp"

namespace tramontane::executor {

/// Where a run took place.
struct Place {
    std::string library;                        ///< name and version of the MPI library
    std::string standard;                       ///< version of the MPI standard that it implements
    std::map<std::string, std::int64_t> hosts;  ///< ranks by host
};

/// How every report begins: program, library, ranks, hosts.
[[nodiscard]] json::List heading(const Place& place, Rank ranks);

namespace json {
[[nodiscard]] std::string object(const Summary& values);
}

/// One JSON object, without a line break.
[[nodiscard]] std::string report(const Options& options, const std::vector<std::string>& phases,
                                 const Measurement& measurement, const Place& place);

}  // namespace tramontane::executor
