/// \file
/// A network that somebody has written down, link by link: a table that is mapped, and the wires of each switch.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/table.hpp"
#include "patterns/table.hpp"
#include "rules/rule.hpp"
#include "topology.hpp"

namespace tramontane {

/// One direction of a link, as the switch sees it that sends.
struct Wire {
    SwitchId next;
    std::uint32_t spread;  ///< of equally near wires consecutive nodes, so many, take one; 0: all nodes the first
    Port port;
    LinkClassId link_class;
    std::uint8_t ring, dateline;  ///< see `LinkTable::Link`
};

/// No number of a wire within its switch, which has at most 2^16 - 1 ports.
inline constexpr std::uint16_t no_wire = 0xffff;

/// The switches of a graph with their wires and nodes. Nodes are numbered switch by switch.
///
/// In the file, in the order and byte order of memory: header, links, the nodes of each switch (none where
/// `nodes_per_switch` says it), ports of nodes, bandwidth and latency of classes, their names, each with a 0 behind it.
/// `tramontane.study.networks.graphs` writes it and has checked what it says, so that here only its size is checked.
class LinkTable {
public:
    struct Header {
        std::array<char, 8> format;
        std::int64_t switches, links, nodes, classes, text;
        std::uint64_t columns;  ///< that the file has, of `Column`
    };
    /// Both directions. Where `dateline` is 1 packets are on the second channel from this link on, where it is 2 from
    /// the next one on, until they enter another ring.
    struct Link {
        std::uint32_t ends[2];
        std::uint32_t spread;
        Port ports[2];
        std::uint16_t link_class;
        std::uint16_t preference;  ///< of equally near links the least goes first
        std::uint8_t ring, dateline;
        std::uint16_t unused;
    };
    static_assert(sizeof(Link) == 24);
    struct Rate {
        std::int64_t bandwidth, latency;  ///< 0: the machine's
    };
    enum Column : std::uint64_t { has_nodes = 1, has_spread = 2, has_dateline = 4 };
    static constexpr std::array<char, 8> format{'T', 'R', 'M', 'G', 'R', 'A', 'P', '1'};

    /// \param nodes_per_switch where the table has no nodes
    /// \throws Refusal if the file is no table
    LinkTable(const std::string& path, std::int64_t nodes_per_switch);

    /// Whether the table in a file has nodes.
    [[nodiscard]] static bool says_nodes(const std::string& path);

    [[nodiscard]] TRAMONTANE_RULE SwitchId switches() const { return static_cast<SwitchId>(first_wire_.size() - 1); }
    [[nodiscard]] TRAMONTANE_RULE NodeId nodes() const { return static_cast<NodeId>(switch_of_.size()); }
    [[nodiscard]] std::int64_t links() const { return static_cast<std::int64_t>(wires_.size() / 2); }
    [[nodiscard]] TRAMONTANE_RULE Port ports() const { return ports_; }
    [[nodiscard]] std::int64_t radix() const { return radix_; }
    [[nodiscard]] NodeId nodes_per_switch() const { return nodes_per_switch_; }
    [[nodiscard]] bool says_spread() const { return (columns_ & has_spread) != 0; }
    /// Whether some nodes of a switch may have routes of their own.
    [[nodiscard]] bool spreads() const { return spreads_; }
    [[nodiscard]] bool says_dateline() const { return (columns_ & has_dateline) != 0; }
    [[nodiscard]] const std::vector<LinkClass>& link_classes() const { return link_classes_; }
    [[nodiscard]] TRAMONTANE_RULE SwitchId switch_of(NodeId node) const { return switch_of_[node]; }
    [[nodiscard]] TRAMONTANE_RULE Port port_of(NodeId node) const { return node_port_[node]; }

    /// In the order in which they are preferred, and by port where nothing is said.
    [[nodiscard]] std::span<const Wire> wires(SwitchId at) const {
        return {wires_.data() + first_wire_[at], wires_.data() + first_wire_[at + 1]};
    }
    /// The switches behind them: close together, for those who look at all.
    [[nodiscard]] std::span<const SwitchId> neighbours(SwitchId at) const {
        return {neighbours_.data() + first_wire_[at], neighbours_.data() + first_wire_[at + 1]};
    }
    /// Number of a switch's first wire among those of all.
    [[nodiscard]] std::uint32_t first_wire(SwitchId at) const { return first_wire_[at]; }
    /// The wire behind a port, or null.
    [[nodiscard]] TRAMONTANE_RULE const Wire* behind(SwitchId at, Port port) const {
        const std::uint16_t number = behind_[std::size_t{at} * ports_ + port];
        return number == no_wire ? nullptr : &wires_[first_wire_[at] + number];
    }
    [[nodiscard]] bool carries_nodes(SwitchId at) const { return carries_nodes_[at]; }

    /// Gives the tables that lanes read another place.
    template <class Visit>
    void each_table(Visit&& visit) {
        visit(first_wire_);
        visit(wires_);
        visit(behind_);
        visit(switch_of_);
        visit(node_port_);
    }

private:
    std::uint64_t columns_ = 0;
    Table<std::uint32_t> first_wire_;  // by switch, and the end
    Table<Wire> wires_;
    Table<SwitchId> neighbours_;
    Table<std::uint16_t> behind_;  // number of the wire within its switch, by switch and port
    Table<SwitchId> switch_of_;    // by node
    Table<Port> node_port_;
    std::vector<bool> carries_nodes_;
    std::vector<LinkClass> link_classes_;
    bool spreads_ = false;
    Port ports_ = 0;
    NodeId nodes_per_switch_ = 0;
    std::int64_t radix_ = 0;
};

/// The virtual channel of a hop by the rings and datelines that a graph says (Dally and Seitz 1987).
[[nodiscard]] TRAMONTANE_RULE inline std::uint8_t by_dateline(const Wire& wire, Trail& trail) {
    if (wire.ring != trail.dimension) trail = {wire.ring, false};
    if (wire.dateline == 1) trail.crossed = true;
    const auto channel = static_cast<std::uint8_t>(trail.crossed ? 1 : 0);
    if (wire.dateline == 2) trail.crossed = true;
    return channel;
}

}  // namespace tramontane
