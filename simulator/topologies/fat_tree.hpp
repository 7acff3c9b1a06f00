/// \file
/// Fat trees: k-ary n-trees and three levels of subtrees.
#pragma once

#include <algorithm>
#include <array>

#include "generalized_tree.hpp"
#include "trees.hpp"

namespace tramontane {

/// `count`, rounded up to whole subtrees.
inline std::uint64_t whole_subtrees(std::uint64_t count, std::uint64_t subtree) {
    return (count + subtree - 1) / subtree * subtree;
}

/// Full k-ary n-tree (paper, Fig. 2b): n switch levels of k^(n-1) switches with k down and k up ports; k^n nodes.
/// A switch is (level, label of n-1 digits): going up from level l replaces digit l of the label by the up port, going
/// down to level l replaces it by the down port. Routing is D-mod-k (Zahavi et al. 2010): at level l the up port is
/// digit l of the destination, so that every destination has a down path of its own and permutations do not block.
class FatTree final : public Topology {
public:
    explicit FatTree(const Machine& m) {
        levels_ = checked(m.geometry[0], "switch levels");
        down_ = checked(m.geometry[1], "down ports");
        if (levels_ > max_tree_levels) {
            throw Refusal("geometry", "found " + std::to_string(levels_) + " levels",
                          "at most " + std::to_string(max_tree_levels) + " levels");
        }
        static_cast<void>(checked_product(std::vector<std::int64_t>(levels_, down_), "nodes"));
        std::int64_t power = 1;
        for (Size l = 0; l <= levels_; ++l) {
            power_[l] = static_cast<Size>(power);
            if (l < levels_) power *= down_;
        }
        switches_ = checked_product({levels_, power_[levels_ - 1]}, "switches");
        ports_ = checked_ports(2 * std::int64_t{down_});
    }
    SwitchId switches() const override { return switches_; }
    NodeId nodes() const override { return power_[levels_]; }
    NodeId nodes_per_switch() const override { return down_; }
    std::uint32_t groups() const override { return levels_ > 1 ? down_ : 1; }  // below a single switch are nodes
    TRAMONTANE_RULE Port ports() const override { return ports_; }
    TRAMONTANE_RULE Port wired_ports() const override {
        return ports_;
    }  // a lowest switch has nodes where others have wires
    std::int64_t radix() const override { return ports_; }
    std::uint64_t switches_near(std::uint64_t own) const override {
        std::uint64_t all = own;
        // D-mod-k leads up to every switch of a subtree, and out of it only where other subtrees have ranks.
        for (Size level = 1; level < levels_ && own > power_[level - 1]; ++level)
            all += whole_subtrees(own, power_[level]);
        return all;
    }
    std::int64_t links() const override { return std::int64_t{levels_ - 1} * power_[levels_]; }
    std::vector<LinkClass> link_classes() const override { return tree_link_classes(levels_); }
    TRAMONTANE_RULE LinkClassId link_class(SwitchId at, Port port) const override {
        const Size level = at / power_[levels_ - 1];
        if (port < down_) return static_cast<LinkClassId>(2 * level);
        return static_cast<LinkClassId>(level + 1 < levels_ ? 2 * level + 1 : 0);  // the top has no links up
    }
    TRAMONTANE_RULE SwitchId switch_of(NodeId node) const override { return node / down_; }
    TRAMONTANE_RULE Port ejection_port(NodeId node) const override { return static_cast<Port>(node % down_); }
    std::uint8_t channels() const override { return 1; }

    TRAMONTANE_RULE SwitchId neighbour(SwitchId at, Port port) const override {
        const Size width = power_[levels_ - 1];
        const Size level = at / width, label = at % width;
        if (port >= down_) return (level + 1) * width + with_digit(label, level, port - down_);
        return (level - 1) * width + with_digit(label, level - 1, port);
    }

    TRAMONTANE_RULE Hop towards(SwitchId at, SwitchId, NodeId node, Trail&, const Draw&) const override {
        const Size width = power_[levels_ - 1];
        const Size level = at / width, label = at % width;
        const Size digit = node / power_[level] % down_;
        const bool below_here = label / power_[level] == node / power_[level + 1];
        return {static_cast<Port>(below_here ? digit : down_ + digit), 0};
    }

    TRAMONTANE_RULE std::uint32_t distance(SwitchId from, SwitchId to) const override {  // of leaf switches
        Size up = 0;
        while (from / power_[up] != to / power_[up]) ++up;
        return 2 * up;
    }

    TRAMONTANE_RULE SwitchId intermediate(SwitchId from, SwitchId, const Draw&, bool) const override { return from; }

    TRAMONTANE_RULE Alternatives alternatives(SwitchId at, NodeId node) const override {
        const Size width = power_[levels_ - 1];
        const Size level = at / width, label = at % width;
        if (label / power_[level] != node / power_[level + 1])
            return {static_cast<Port>(down_), 1, static_cast<Port>(down_), at};
        return {static_cast<Port>(node / power_[level] % down_), 1, 1, at};
    }
    std::uint32_t counters() const override { return switches_; }

private:
    TRAMONTANE_RULE Size with_digit(Size label, Size position, Size digit) const {
        const Size old = label / power_[position] % down_;
        return label + (digit - old) * power_[position];
    }

    Size levels_, down_, switches_;
    std::array<Size, max_tree_levels + 1> power_{};
    Port ports_;
};

/// The three-level fat tree of SST/macro 16.0: subtrees of L leaf switches with p nodes and p up ports each and of L
/// aggregation switches, below a core of p L switches with one port for each of S subtrees. Switches are numbered
/// leaves, aggregation switches, core switches. Up port u of leaf i leads to aggregation switch (i + u L) / p of its
/// subtree, up port u of aggregation switch q to core switch u L + q. Ports: down ones first, then up ones.
/// D-mod-k as in the full tree: at a leaf by the destination's lowest digit, above by the next.
class SubtreeFatTree final : public Topology {
public:
    explicit SubtreeFatTree(const Machine& m) {
        per_leaf_ = checked(m.geometry[0], "nodes_per_leaf");
        leaves_ = checked(m.geometry[1], "leaves_per_subtree");
        subtrees_ = checked(m.geometry[2], "subtrees");
        if (per_leaf_ < leaves_) {
            throw Refusal("geometry",
                          "found " + std::to_string(leaves_) + " leaves_per_subtree with " + std::to_string(per_leaf_) +
                              " nodes_per_leaf, whose up ports don't reach as many",
                          "at most " + std::to_string(per_leaf_) + " leaves_per_subtree");
        }
        all_leaves_ = checked_product({leaves_, subtrees_}, "switches");
        switches_ = checked_product({2 * std::int64_t{all_leaves_} + std::int64_t{leaves_} * per_leaf_}, "switches");
        nodes_ = checked_product({all_leaves_, per_leaf_}, "nodes");
        ports_ = checked_ports(std::max(2 * std::int64_t{per_leaf_}, std::int64_t{subtrees_}));
    }
    SwitchId switches() const override { return switches_; }
    NodeId nodes() const override { return nodes_; }
    NodeId nodes_per_switch() const override { return per_leaf_; }
    std::uint32_t groups() const override { return subtrees_; }
    TRAMONTANE_RULE Port ports() const override { return ports_; }
    TRAMONTANE_RULE Port wired_ports() const override { return ports_; }
    std::int64_t radix() const override { return ports_; }
    std::uint64_t switches_near(std::uint64_t own) const override {
        std::uint64_t all = own;
        if (own > 1) all += whole_subtrees(own, leaves_);
        if (own > leaves_) all += std::uint64_t{leaves_} * per_leaf_;
        return all;
    }
    std::int64_t links() const override { return 2 * std::int64_t{nodes_}; }
    std::vector<LinkClass> link_classes() const override { return tree_link_classes(3); }
    TRAMONTANE_RULE LinkClassId link_class(SwitchId at, Port port) const override {
        // Port numbers beyond its own are those of switches of other levels.
        if (at >= 2 * all_leaves_) return static_cast<LinkClassId>(port < subtrees_ ? 4 : 0);
        const Size below = at < all_leaves_ ? 0 : 2;
        return static_cast<LinkClassId>(port < per_leaf_ ? below : port < 2 * per_leaf_ ? below + 1 : 0);
    }
    TRAMONTANE_RULE SwitchId switch_of(NodeId node) const override { return node / per_leaf_; }
    TRAMONTANE_RULE Port ejection_port(NodeId node) const override { return static_cast<Port>(node % per_leaf_); }
    std::uint8_t channels() const override { return 1; }

    TRAMONTANE_RULE SwitchId neighbour(SwitchId at, Port port) const override {
        if (at >= 2 * all_leaves_) return all_leaves_ + port * leaves_ + (at - 2 * all_leaves_) % leaves_;
        const Size subtree = at % all_leaves_ / leaves_, own = at % leaves_;
        if (at < all_leaves_) return all_leaves_ + subtree * leaves_ + (own + (port - per_leaf_) * leaves_) / per_leaf_;
        if (port >= per_leaf_) return 2 * all_leaves_ + (port - per_leaf_) * leaves_ + own;
        return subtree * leaves_ + (own * per_leaf_ + port) % leaves_;
    }

    TRAMONTANE_RULE Hop towards(SwitchId at, SwitchId, NodeId node, Trail&, const Draw&) const override {
        const Alternatives some = SubtreeFatTree::alternatives(at, node);  // without a virtual call
        const Size digit = at >= all_leaves_ && some.first == per_leaf_ ? node / per_leaf_ : node;
        return {static_cast<Port>(some.first + some.stride * (digit % some.count)), 0};
    }

    TRAMONTANE_RULE std::uint32_t distance(SwitchId from, SwitchId to) const override {  // of leaf switches
        return from == to ? 0 : from / leaves_ == to / leaves_ ? 2 : 4;
    }

    TRAMONTANE_RULE SwitchId intermediate(SwitchId from, SwitchId, const Draw&, bool) const override { return from; }

    TRAMONTANE_RULE Alternatives alternatives(SwitchId at, NodeId node) const override {
        const Size leaf = node / per_leaf_;
        if (at >= 2 * all_leaves_) return {static_cast<Port>(leaf / leaves_), 1, 1, at};
        if (at < all_leaves_ || at % all_leaves_ / leaves_ != leaf / leaves_) {
            return {static_cast<Port>(per_leaf_), 1, static_cast<Port>(per_leaf_), at};
        }
        // Down to a leaf: with more nodes a leaf than leaves a subtree, there are parallel links.
        const Size first = (leaf % leaves_ + leaves_ - at % leaves_ * per_leaf_ % leaves_) % leaves_;
        return {static_cast<Port>(first), static_cast<Port>(leaves_),
                static_cast<Port>((per_leaf_ - first - 1) / leaves_ + 1),
                switches_ + (at - all_leaves_) * leaves_ + leaf % leaves_};
    }
    std::uint32_t counters() const override {
        return checked_product({std::int64_t{switches_} + std::int64_t{all_leaves_} * leaves_}, "switches");
    }

private:
    Size per_leaf_, leaves_, subtrees_, all_leaves_, switches_, nodes_;
    Port ports_;
};

inline const Family& fat_tree_family() {
    static const Family family{
        .name = "fattree",
        .shapes = {{.name = "fattree", .text = "[n, d]: n switch levels, d down ports a switch", .keys = {"n", "d"}},
                   {.name = "fattree3",
                    .text = "{nodes_per_leaf, leaves_per_subtree, subtrees}",
                    .keys = {"nodes_per_leaf", "leaves_per_subtree", "subtrees"},
                    .mapping = true},
                   {.name = "generalized-fattree",
                    .text = "{down: [m1, m2, ...], up: [1, w2, ...], links: [1, p2, ...]}: a switch of level i has mi "
                            "children, each of them wi parents, with pi links between two; two levels or more",
                    .keys = {"down", "up", "links"},
                    .mapping = true,
                    .lists = true,
                    .least = 2}},
        .routings = {"d-mod-k", "round-robin", "adaptive"},
        .nodes_by_geometry = true,
        .make = [](const Machine& m) -> std::unique_ptr<Topology> {
            if (m.geometry.size() == 2) return std::make_unique<FatTree>(m);
            if (m.geometry.size() == 3) return std::make_unique<SubtreeFatTree>(m);
            return std::make_unique<GeneralizedTree>(m);
        },
        .example = {3, 4},
    };
    return family;
}

}  // namespace tramontane
