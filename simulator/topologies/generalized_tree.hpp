/// \file
/// Fat trees of any number of levels, whose switches have any number of links up and down.
#pragma once

#include <algorithm>
#include <array>

#include "trees.hpp"

namespace tramontane {

/// Extended generalized fat tree (Öhring et al. 1995) with parallel links (Zahavi 2012): levels 1 ... h of switches
/// above the nodes. A switch of level l has m_l children, each of them w_l parents, with p_l links between two; a node
/// has one parent and one link. So a level with fewer links up than down is tapered.
///
/// A switch of level l stands over M_l = m_1 ... m_l nodes, beside W_l = w_1 ... w_l - 1 others that stand over the
/// same. It is number a W_l + b of its level: subtree a, and b by the ways up, the first level's lowest. Parent i is b
/// + W_l i of subtree a / m_{l+1}, so that b mod W_{l-1} and child c lead back. Ports: down ones first, child c's
/// parallel links side by side from c p_l on; then up ones, of which number q leads to parent q mod w by their link q /
/// w.
///
/// D-mod-k (Zahavi et al. 2010): at level l up by port (destination / W_l) mod (w p), down by the same link, so that
/// each destination has a way down of its own as long as there are enough, and shares them evenly where there are not.
class GeneralizedTree final : public Topology {
public:
    explicit GeneralizedTree(const Machine& m) : levels_(static_cast<Size>(m.geometry.size() / 3)) {
        if (levels_ > max_tree_levels) {
            throw Refusal("geometry", "found " + std::to_string(levels_) + " levels",
                          "at most " + std::to_string(max_tree_levels) + " levels");
        }
        std::vector<std::int64_t> down(levels_), up(levels_);
        for (Size l = 0; l < levels_; ++l) {
            down[l] = checked(m.geometry[l], "the children of a switch");
            up[l] = checked(m.geometry[levels_ + l], "the parents of a switch");
            level_[l].links = checked(m.geometry[2 * levels_ + l], "the links between two switches");
            level_[l].children = static_cast<Size>(down[l]);
            level_[l].parents = static_cast<Size>(up[l]);
        }
        if (level_[0].parents != 1 || level_[0].links != 1) {
            throw Refusal("geometry",
                          "found nodes with " + std::to_string(level_[0].parents) + " parents and " +
                              std::to_string(level_[0].links) + " links to each",
                          "1 first in `up` and `links`: a node has one switch");
        }
        nodes_ = checked_product(down, "nodes");
        std::int64_t ports = 0, switches = 0;
        Size below = 1, ways = 1;
        for (Size l = 0; l < levels_; ++l) {
            Level& own = level_[l];
            below *= own.children;
            ways = checked_product({ways, up[l]}, "ways up");
            own.nodes = below;
            own.ways = ways;
            own.first = static_cast<SwitchId>(switches);
            switches += checked_product({nodes_ / below, ways}, "switches");
            static_cast<void>(checked_product({switches}, "switches"));
            const std::int64_t of_down = std::int64_t{own.children} * own.links;
            const std::int64_t of_up = l + 1 < levels_ ? up[l + 1] * level_[l + 1].links : 0;
            own.down_ports = checked_ports(of_down);
            own.up_ports = checked_ports(of_up);
            ports = std::max(ports, of_down + of_up);
            links_ += std::int64_t{nodes_ / below} * ways * of_up;
            if (own.links > 1) most_children_ = std::max(most_children_, own.children);
        }
        ports_ = checked_ports(ports);
        switches_ = static_cast<SwitchId>(switches);
        counters_ = checked_product({switches_, 1 + std::int64_t{most_children_}}, "counters of ports");
    }
    SwitchId switches() const override { return switches_; }
    NodeId nodes() const override { return nodes_; }
    NodeId nodes_per_switch() const override { return level_[0].children; }
    std::uint32_t groups() const override { return level_[levels_ - 1].children; }
    TRAMONTANE_RULE Port ports() const override { return ports_; }
    TRAMONTANE_RULE Port wired_ports() const override {
        return ports_;
    }  // a lowest switch has nodes where others have wires
    std::int64_t radix() const override { return ports_; }
    std::int64_t links() const override { return links_; }
    std::uint64_t switches_near(std::uint64_t own) const override {
        std::uint64_t all = own;
        const auto leaves = [&](Size l) { return level_[l].nodes / level_[0].children; };  // below a switch
        for (Size l = 1; l < levels_ && own > leaves(l - 1); ++l) {
            all += (own + leaves(l) - 1) / leaves(l) * level_[l].ways;
        }
        return all;
    }
    std::vector<LinkClass> link_classes() const override { return tree_link_classes(levels_); }
    TRAMONTANE_RULE LinkClassId link_class(SwitchId at, Port port) const override {
        const Size l = position(at).level;
        const Level& own = level_[l];
        // Port numbers beyond its own are those of switches of other levels.
        return static_cast<LinkClassId>(port < own.down_ports                  ? 2 * l
                                        : port < own.down_ports + own.up_ports ? 2 * l + 1
                                                                               : 0);
    }
    TRAMONTANE_RULE SwitchId switch_of(NodeId node) const override { return node / level_[0].children; }
    TRAMONTANE_RULE Port ejection_port(NodeId node) const override {
        return static_cast<Port>(node % level_[0].children);
    }
    std::uint8_t channels() const override { return 1; }

    TRAMONTANE_RULE SwitchId neighbour(SwitchId at, Port port) const override {
        const Position p = position(at);
        const Level& own = level_[p.level];
        if (port >= own.down_ports) {
            const Level& above = level_[p.level + 1];
            const Size parent = (port - own.down_ports) % above.parents;
            return above.first + p.subtree / above.children * above.ways + p.way + own.ways * parent;
        }
        const Level& below = level_[p.level - 1];
        const Size child = port / own.links;
        return below.first + (p.subtree * own.children + child) * below.ways + p.way % below.ways;
    }

    TRAMONTANE_RULE Hop towards(SwitchId at, SwitchId, NodeId node, Trail&, const Draw&) const override {
        const Position p = position(at);
        const Level& own = level_[p.level];
        if (node / own.nodes != p.subtree) return {static_cast<Port>(own.down_ports + way_of(node, p.level)), 0};
        const Size link = own.links == 1 ? 0 : way_of(node, p.level - 1) / own.parents;
        return {static_cast<Port>(child_of(node, p.level) * own.links + link), 0};
    }

    TRAMONTANE_RULE std::uint32_t distance(SwitchId from, SwitchId to) const override {  // of leaf switches
        std::uint32_t up = 0;
        for (; from != to; ++up) {
            from /= level_[up + 1].children;
            to /= level_[up + 1].children;
        }
        return 2 * up;
    }

    TRAMONTANE_RULE SwitchId intermediate(SwitchId from, SwitchId, const Draw&, bool) const override { return from; }

    TRAMONTANE_RULE Alternatives alternatives(SwitchId at, NodeId node) const override {
        const Position p = position(at);
        const Level& own = level_[p.level];
        if (node / own.nodes != p.subtree) return {own.down_ports, 1, own.up_ports, at};
        const Size child = child_of(node, p.level);
        const Size counter = own.links == 1 ? at : switches_ + at * most_children_ + child;
        return {static_cast<Port>(child * own.links), 1, static_cast<Port>(own.links), counter};
    }
    std::uint32_t counters() const override { return counters_; }

private:
    /// One of switches, numbered from 0.
    struct Level {
        Size children = 0, parents = 0, links = 0;  // m, and w and p of the level below
        Size nodes = 0, ways = 0;                   // below a switch, M; W
        SwitchId first = 0;
        Port down_ports = 0, up_ports = 0;
    };
    struct Position {
        Size level, subtree, way;
    };
    TRAMONTANE_RULE Position position(SwitchId at) const {
        Size l = levels_ - 1;
        while (at < level_[l].first) --l;
        const Size number = at - level_[l].first;
        return {l, number / level_[l].ways, number % level_[l].ways};
    }
    TRAMONTANE_RULE Size child_of(NodeId node, Size level) const {
        return node / (level_[level].nodes / level_[level].children) % level_[level].children;
    }
    /// D-mod-k's up port towards a node from a level.
    TRAMONTANE_RULE Size way_of(NodeId node, Size level) const {
        return node / level_[level].ways % level_[level].up_ports;
    }

    Size levels_, nodes_, most_children_ = 0, counters_;
    SwitchId switches_;
    std::int64_t links_ = 0;
    std::array<Level, max_tree_levels> level_{};
    Port ports_;
};

}  // namespace tramontane
