/// \file
/// Networks: which switch port leads where, and the minimal route. Everything is computed from the geometry; nothing
/// is stored per switch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "machine.hpp"
#include "rules/draw.hpp"
#include "rules/rule.hpp"

namespace tramontane {

using SwitchId = std::uint32_t;
using NodeId = std::uint32_t;
using Port = std::uint16_t;
using LinkClassId = std::uint16_t;

/// What a packet's route remembers from switch to switch. The meaning belongs to the topology.
struct Trail {
    std::uint8_t dimension = 0;  ///< torus: the dimension travelled last
    bool crossed = false;        ///< torus: has used this dimension's wrap link; dragonfly: has used a global link
    bool aims = false;           ///< one-dimensional dragonfly: enters the target's group at the target itself
};

struct Hop {
    Port port;
    std::uint8_t channel;  ///< virtual channel within the leg
    bool ejects = false;   ///< the port leads to the destination
};

/// Ports that lead a packet equally far: first, first + stride, ...; `counter` numbers the choice for those who take
/// them in turn.
struct Alternatives {
    Port first;
    Port stride;
    Port count;
    std::uint32_t counter;
};

struct Family;

/// A dimension of a torus, in which a switch is linked to the next one.
struct Extent {
    std::uint32_t size;
    bool ring;  ///< whether the last one is linked to the first; otherwise it is a mesh's
};

/// One dimension in which a switch is linked to every other that differs from it in this coordinate only.
struct Row {
    Port first;              ///< its first port: by the others' coordinates, parallel links side by side
    std::uint32_t size;      ///< switches
    std::uint32_t links;     ///< parallel ones between two of them
    std::uint32_t own, aim;  ///< coordinates of the switch and of the target
};

class Topology {
public:
    virtual ~Topology() = default;

    /// What it is one of.
    [[nodiscard]] const Family& family() const { return *family_; }
    [[nodiscard]] virtual SwitchId switches() const = 0;
    [[nodiscard]] virtual NodeId nodes() const = 0;
    /// Nodes of a switch that carries any.
    [[nodiscard]] virtual NodeId nodes_per_switch() const = 0;
    /// Parts of equally many nodes, numbered one part after the other: groups of a dragonfly, subtrees below the top of
    /// a tree, planes of a torus. In a dragonfly the switches are, too.
    [[nodiscard]] virtual std::uint32_t groups() const = 0;
    /// Port numbers of a switch run from 0 to ports() - 1; some may be unused.
    [[nodiscard]] TRAMONTANE_RULE virtual Port ports() const = 0;
    /// Ports from here on lead to nodes only.
    [[nodiscard]] TRAMONTANE_RULE virtual Port wired_ports() const { return ejection_port(0); }
    /// Ports that a switch really has (Table 1's radix).
    [[nodiscard]] virtual std::int64_t radix() const = 0;
    /// Links between switches, each counted once.
    [[nodiscard]] virtual std::int64_t links() const = 0;
    /// Kinds of links, at most 2^16. The first is that of links to nodes.
    [[nodiscard]] virtual std::vector<LinkClass> link_classes() const { return {{"ejection"}, {"network"}}; }
    /// The kind of the link behind a port that has one, a number of `link_classes`.
    [[nodiscard]] TRAMONTANE_RULE virtual LinkClassId link_class(SwitchId, Port port) const {
        return port < wired_ports() ? 1 : 0;
    }
    [[nodiscard]] TRAMONTANE_RULE virtual SwitchId switch_of(NodeId node) const = 0;
    [[nodiscard]] TRAMONTANE_RULE virtual Port ejection_port(NodeId node) const = 0;
    /// The switch behind a port that is not an ejection port.
    [[nodiscard]] TRAMONTANE_RULE virtual SwitchId neighbour(SwitchId at, Port port) const = 0;
    /// The next hop of the minimal route from `at` to the switch of `node` (or to switch `target`, if it is another).
    [[nodiscard]] TRAMONTANE_RULE virtual Hop towards(SwitchId at, SwitchId target, NodeId node, Trail& trail,
                                                      const Draw& draw) const = 0;
    /// Hops of the shortest minimal route between two switches that carry nodes.
    [[nodiscard]] TRAMONTANE_RULE virtual std::uint32_t distance(SwitchId from, SwitchId to) const = 0;
    /// Whether another route may be shorter than that.
    [[nodiscard]] virtual bool non_minimal_may_be_shorter() const { return false; }
    /// About how many switches are met by the minimal routes among the nodes of the first `own` ones, at most.
    [[nodiscard]] virtual std::uint64_t switches_near(std::uint64_t own) const { return 2 * own; }
    /// Virtual channels that the minimal route uses.
    [[nodiscard]] virtual std::uint8_t channels() const = 0;
    /// Channels for routes that may be non-minimal, where each hop takes the next one; 0 where each leg has its own.
    [[nodiscard]] virtual std::uint8_t channels_by_hop() const { return 0; }
    /// Where packets will go, before any does.
    virtual void expect(const std::vector<NodeId>& /*nodes*/) {}
    /// What the trail forgets where a leg of the route ends.
    TRAMONTANE_RULE virtual void turn(Trail&) const {}
    /// A random intermediate switch for Valiant's scheme; `from` itself where there is none.
    /// \param elsewhere dragonfly: take one of another group even inside a group
    [[nodiscard]] TRAMONTANE_RULE virtual SwitchId intermediate(SwitchId from, SwitchId to, const Draw& draw,
                                                                bool elsewhere) const = 0;

    /// Trees: the equally good ports towards a node that is not on this switch.
    [[nodiscard]] TRAMONTANE_RULE virtual Alternatives alternatives(SwitchId, NodeId) const { return {}; }
    /// Trees: number of counters that the alternatives name.
    [[nodiscard]] virtual std::uint32_t counters() const { return 0; }

    /// Tori: what shapes are folded into, dimension by dimension.
    [[nodiscard]] virtual std::vector<Extent> extents() const { return {}; }

    /// HyperX: number of dimensions, and one of them as a switch on the way to `target` sees it.
    [[nodiscard]] TRAMONTANE_RULE virtual std::uint32_t dimensions() const { return 0; }
    [[nodiscard]] TRAMONTANE_RULE virtual Row row(SwitchId, SwitchId, std::uint32_t) const { return {}; }

private:
    friend std::unique_ptr<Topology> make_topology(const Machine& machine);
    const Family* family_ = nullptr;
};

/// Some port numbers are unused: those to a switch itself, those to nodes of trees, and those above the top.
[[nodiscard]] inline bool has_link(const Topology& topology, SwitchId at, Port port) {
    if (topology.link_class(at, port) == 0) return false;
    const SwitchId next = topology.neighbour(at, port);
    return next != at && next < topology.switches();
}

inline constexpr std::int64_t default_nodes = 2;  ///< of a switch, where neither machine nor geometry says it

/// \throws Refusal for a machine that can't be; its routing is the Router's to check
[[nodiscard]] std::unique_ptr<Topology> make_topology(const Machine& machine);

}  // namespace tramontane
