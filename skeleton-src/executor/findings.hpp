/// \file
/// What checks of data have found.
#pragma once

#include <cstdint>
#include <string>

namespace tramontane::executor {

/// Outcome of checks.
struct Findings {
    std::int64_t checked = 0;  ///< elements
    std::int64_t wrong = 0;
    std::string first;  ///< the first wrong element, in one line
};

/// Data that can tell whether they arrived.
class CheckedData {
public:
    virtual ~CheckedData() = default;
    /// Whether to check, too, while a run goes on, as soon as anything is there.
    virtual void check_as_it_runs(bool wanted) = 0;
    /// Checks what the rank holds when all is done.
    virtual void check_result() = 0;
    [[nodiscard]] virtual const Findings& findings() const = 0;
};

}  // namespace tramontane::executor
