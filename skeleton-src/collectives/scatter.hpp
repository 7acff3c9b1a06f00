/// \file
/// Scatter: the root has a block for every rank, and in the end each has its own.
#pragma once

#include "gather.hpp"

namespace tramontane {

[[nodiscard]] inline CollectiveOperation scatter_operation() { return rooted_operation<TreePass::Way::down>(); }

}  // namespace tramontane
