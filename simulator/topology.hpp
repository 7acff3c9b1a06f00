/// \file
/// Networks: which switch port leads where, and the minimal route. Everything is computed from the geometry; nothing
/// is stored per switch.
#pragma once

#include <cstdint>
#include <memory>

#include "machine.hpp"

namespace tramontane {

using SwitchId = std::uint32_t;
using NodeId = std::uint32_t;
using Port = std::uint16_t;

/// What a packet's route remembers from switch to switch (4 B). The meaning belongs to the topology.
struct Trail {
    std::uint8_t dimension = 0;  ///< torus: the dimension travelled last
    bool crossed = false;        ///< torus: has used this dimension's wrap link; dragonfly: has used a global link
};

struct Hop {
    Port port;
    std::uint8_t channel;  ///< virtual channel within the leg
};

class Topology {
public:
    virtual ~Topology() = default;

    [[nodiscard]] virtual SwitchId switches() const = 0;
    [[nodiscard]] virtual NodeId nodes() const = 0;
    /// Port numbers of a switch run from 0 to ports() - 1; some may be unused.
    [[nodiscard]] virtual Port ports() const = 0;
    /// Ports that a switch really has (Table 1's radix).
    [[nodiscard]] virtual std::int64_t radix() const = 0;
    /// Links between switches, each counted once.
    [[nodiscard]] virtual std::int64_t links() const = 0;
    [[nodiscard]] virtual SwitchId switch_of(NodeId node) const = 0;
    [[nodiscard]] virtual Port ejection_port(NodeId node) const = 0;
    /// The switch behind a port that is not an ejection port.
    [[nodiscard]] virtual SwitchId neighbour(SwitchId at, Port port) const = 0;
    /// The next hop of the minimal route from `at` to the switch of `node` (or to switch `via`, if it is not `at`).
    [[nodiscard]] virtual Hop towards(SwitchId at, SwitchId target, NodeId node, Trail& trail) const = 0;
    /// Hops between two switches on the minimal route.
    [[nodiscard]] virtual std::uint32_t distance(SwitchId from, SwitchId to) const = 0;
    /// Virtual channels that the minimal route needs to be free of deadlock.
    [[nodiscard]] virtual std::uint8_t channels() const = 0;
    /// What the trail forgets at the intermediate switch of a Valiant route.
    virtual void turn(Trail&) const {}
    /// A random intermediate switch for Valiant's scheme, drawn from `bits`; `from` itself where there is none.
    /// \param elsewhere dragonfly: take one of another group even inside a group
    [[nodiscard]] virtual SwitchId intermediate(SwitchId from, SwitchId to, std::uint64_t bits,
                                                bool elsewhere) const = 0;
};

/// \throws std::invalid_argument
[[nodiscard]] std::unique_ptr<Topology> make_topology(const Machine& machine);

}  // namespace tramontane
