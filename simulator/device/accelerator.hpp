/// \file
/// An accelerator (GPU): memory that it shares with its host, and kernels of some windows. What drives one is a library
/// of its own (simulator/device/gpu), which is looked for where this one lies, and only when an accelerator is asked
/// for: nobody else needs a driver, nor the compiler.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/memory.hpp"

namespace tramontane::device {

struct Common;
struct Worker;

/// A point in hand: what its lanes see, and the window that it has come to.
struct InHand {
    Common* common;
    Worker* workers;  ///< of each lane; of an accelerator's lanes one
    std::uint64_t window;
};

/// A point does not fit into what is left of an accelerator's memory.
struct NoRoom : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

class Accelerator : public Memory {
public:
    [[nodiscard]] virtual std::string name() const = 0;
    /// Lanes that work at a time, where so many are wanted.
    [[nodiscard]] virtual std::uint32_t lanes(std::uint32_t wanted) const = 0;
    /// Points that can have lanes of their own.
    [[nodiscard]] virtual std::uint32_t most_points() const = 0;
    /// Lanes that work in step (a warp): LPs that are neighbours are in different groups of them.
    [[nodiscard]] virtual std::uint32_t in_step() const = 0;
    /// Brings to the accelerator what the host has written, where that is quicker than to let it find out for itself.
    virtual void settle() = 0;
    /// Handles so many windows of each point; fewer, where none is left or room gets scarce. Each gets its next window,
    /// or Agenda::ended.
    /// \pre all of them have equally many lanes, together no more than there are
    /// \throws std::runtime_error and others, for what a lane would throw on a processor: no launch is possible then
    virtual void launch(std::vector<InHand>& points, std::uint64_t windows) = 0;
};

/// What tells a library that was made of other sources: the sizes of what both of them know.
struct Layout {
    std::uint64_t common, worker, state, node, line;
    bool operator==(const Layout&) const = default;
};
[[nodiscard]] Layout layout();

/// The accelerator of this machine.
/// \throws std::invalid_argument with one line that says why there is none
[[nodiscard]] Accelerator& accelerator();

/// What the library has: `why` says why the answer is null.
using OpenAccelerator = Accelerator*(const Layout& expected, const char** why);
inline constexpr const char* open_accelerator = "tramontane_open_accelerator";

}  // namespace tramontane::device
