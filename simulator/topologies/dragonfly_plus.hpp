/// \file
/// Dragonflies whose groups are of leaves and spines.
#pragma once

#include <algorithm>

#include "divisor.hpp"
#include "dragonflies.hpp"
#include "geometry.hpp"

namespace tramontane {

/// Dragonfly+ (Shpiner et al., HiPINEB 2017): each group has leaves, which carry the nodes, and spines, which carry the
/// global links; every leaf is linked to every spine of its group. Group g has the switches g (L + S) ..., leaves
/// first. Ports of a leaf: by spine; of a spine: by leaf, then its global links. Nodes come behind both, so that a port
/// number is that of a node or of a wire at all switches; other ports are unused.
///
/// Of a group's S h global ports, number s h + j is port j of spine s. A pair of groups has K = floor(S h / (G - 1))
/// links: link i of a group to the other one that is number d in their order, itself left out, is its global port
/// i (G - 1) + d. So with h = G - 1 spine s is linked to spine s of each other group, and with S h = G - 1 there is one
/// link between two groups.
///
/// Minimal route: up to a spine, if need be by any link to the target's group, down. One channel is enough: up, global
/// and down links are passed in this order.
class DragonflyPlus final : public Topology {
public:
    explicit DragonflyPlus(const Machine& m) {
        leaves_ = checked(m.geometry[0], "leaves of a group");
        spines_ = checked(m.geometry[1], "spines of a group");
        per_leaf_ = checked(m.geometry[2], "nodes of a leaf");
        groups_ = checked(m.geometry[3], "groups");
        global_ = checked(m.geometry[4], "global links of a spine", 0);
        wired_ = std::max(checked_ports(spines_), checked_ports(std::int64_t{leaves_} + global_));
        ports_ = checked_ports(std::int64_t{wired_} + per_leaf_);
        in_group_ = checked_product({std::int64_t{leaves_} + spines_}, "switches");
        switches_ = checked_product({in_group_, groups_}, "switches");
        nodes_ = checked_product({leaves_, groups_, per_leaf_}, "nodes");
        others_ = groups_ - 1;
        const Size outward = checked_product({spines_, std::max<Size>(global_, 1)}, "global links of a group");
        if (others_ > 0) pairs_ = global_ == 0 ? 0 : outward / others_;
        if (others_ > 0 && pairs_ == 0) {
            throw Refusal("geometry",
                          "found " + std::to_string(spines_) + " spines of " + std::to_string(global_) +
                              " global links in each of " + std::to_string(groups_) + " groups",
                          "a global link of a group to each other one, " + std::to_string(others_) + " or more");
        }
        by_group_ = Divisor(in_group_);
        by_leaf_ = Divisor(leaves_);
        by_node_ = Divisor(per_leaf_);
        by_global_ = Divisor(std::max<Size>(global_, 1));
        by_other_ = Divisor(std::max<Size>(others_, 1));
    }
    SwitchId switches() const override { return switches_; }
    NodeId nodes() const override { return nodes_; }
    NodeId nodes_per_switch() const override { return per_leaf_; }
    std::uint32_t groups() const override { return groups_; }
    TRAMONTANE_RULE Port ports() const override { return ports_; }
    TRAMONTANE_RULE Port wired_ports() const override { return wired_; }
    std::int64_t radix() const override {
        return std::max(std::int64_t{spines_} + per_leaf_, std::int64_t{leaves_} + global_);
    }
    std::int64_t links() const override {
        return std::int64_t{groups_} * (std::int64_t{leaves_} * spines_) +
               std::int64_t{groups_} * (std::int64_t{others_} * pairs_) / 2;
    }
    std::vector<LinkClass> link_classes() const override { return dragonfly_link_classes(); }
    TRAMONTANE_RULE LinkClassId link_class(SwitchId at, Port port) const override {
        if (port >= wired_) return 0;
        return by_group_.remainder(at) >= leaves_ && port >= leaves_ ? 2 : 1;
    }
    TRAMONTANE_RULE SwitchId switch_of(NodeId node) const override {
        const Size leaf = by_node_.quotient(node), group = by_leaf_.quotient(leaf);
        return group * in_group_ + leaf - group * leaves_;
    }
    TRAMONTANE_RULE Port ejection_port(NodeId node) const override {
        return static_cast<Port>(wired_ + by_node_.remainder(node));
    }
    std::uint8_t channels() const override { return 1; }
    std::uint64_t switches_near(std::uint64_t own) const override {
        return own + (own + leaves_ - 1) / leaves_ * spines_;
    }

    TRAMONTANE_RULE SwitchId neighbour(SwitchId at, Port port) const override {
        const Position p = position(at);
        if (p.own < leaves_) return port < spines_ ? spine(p.group, port) : at;
        if (port < leaves_) return p.group * in_group_ + port;
        const Size outward = (p.own - leaves_) * global_ + port - leaves_;
        if (port >= leaves_ + global_ || outward >= pairs_ * others_) return at;
        const Size link = by_other_.quotient(outward), d = outward - link * others_;
        const Size other = d < p.group ? d : d + 1;
        return spine(other, spine_of(link, order(other, p.group)));
    }

    /// A target that is a spine of another group has a link to the group of `at`.
    TRAMONTANE_RULE Hop towards(SwitchId at, SwitchId target, NodeId, Trail&, const Draw& draw) const override {
        const Position a = position(at), b = position(target);
        if (a.group == b.group) {
            if (a.own >= leaves_) return {static_cast<Port>(b.own), 0};
            if (b.own >= leaves_) return {static_cast<Port>(b.own - leaves_), 0};
            return {static_cast<Port>(draw.below(spines_, spine_choice)), 0};
        }
        const Size d = order(a.group, b.group);
        Links links{0, pairs_};
        if (b.own >= leaves_) links = links_of(b.own - leaves_, order(b.group, a.group));
        if (a.own < leaves_) return {static_cast<Port>(spine_of(any(links, draw, at), d)), 0};
        const Links own = links_of(a.own - leaves_, d);
        links = {std::max(links.first, own.first), std::min(links.end, own.end)};
        return {static_cast<Port>(leaves_ + by_global_.remainder(any(links, draw, at) * others_ + d)), 0};
    }

    /// As for `towards`.
    TRAMONTANE_RULE std::uint32_t distance(SwitchId from, SwitchId to) const override {
        if (from == to) return 0;
        const Position a = position(from), b = position(to);
        const bool up = a.own < leaves_, down = b.own < leaves_;
        if (a.group == b.group) return up == down ? 2 : 1;
        return (up ? 1 : 0) + 1 + (down ? 1 : 0);
    }

    /// In a third group. A spine that has a link to the destination's group, where the link that was drawn leads to
    /// one; else a leaf, so that the way on begins upwards. Inside a group the spine is random anyway.
    TRAMONTANE_RULE SwitchId intermediate(SwitchId from, SwitchId to, const Draw& draw, bool) const override {
        const Size a = by_group_.quotient(from), b = by_group_.quotient(to);
        if (a == b || groups_ < 3) return from;
        const Size group = skip(static_cast<Size>(draw.below(groups_ - 2)), a, b);
        const auto link = static_cast<Size>(draw.below(pairs_, entry_choice));
        const Size entry = spine_of(link, order(group, a));
        const Links on = links_of(entry, order(group, b));
        if (on.first < on.end) return spine(group, entry);
        return group * in_group_ + static_cast<Size>(draw.below(leaves_, leaf_choice));
    }

private:
    static constexpr std::uint64_t spine_choice = 1ULL << 40, link_choice = 2ULL << 40, entry_choice = 3ULL << 40,
                                   leaf_choice = 4ULL << 40;
    struct Position {
        Size group, own;
    };
    /// Of those between two groups, from the first to before the end.
    struct Links {
        Size first, end;
    };
    TRAMONTANE_RULE Position position(SwitchId s) const {
        const Size group = by_group_.quotient(s);
        return {group, s - group * in_group_};
    }
    TRAMONTANE_RULE SwitchId spine(Size group, Size number) const { return group * in_group_ + leaves_ + number; }
    /// The number of a group among all but the own one.
    TRAMONTANE_RULE static Size order(Size own, Size other) { return other < own ? other : other - 1; }
    /// The spine that has a link to the other group number d.
    TRAMONTANE_RULE Size spine_of(Size link, Size d) const { return by_global_.quotient(link * others_ + d); }
    /// The links of a spine to the other group number d.
    TRAMONTANE_RULE Links links_of(Size spine, Size d) const {
        const auto from = [&](Size port) {
            return port <= d ? 0 : std::min(pairs_, by_other_.quotient(port - d + others_ - 1));
        };
        return {from(spine * global_), from((spine + 1) * global_)};
    }
    TRAMONTANE_RULE static Size any(Links links, const Draw& draw, SwitchId at) {
        return links.first + static_cast<Size>(draw.below(links.end - links.first, link_choice | at));
    }

    Size leaves_, spines_, per_leaf_, groups_, global_, in_group_, switches_, nodes_;
    Size others_, pairs_ = 0;  // other groups, links to each
    Divisor by_group_, by_leaf_, by_node_, by_global_, by_other_;
    Port wired_, ports_;
};

inline const Family& dragonfly_plus_family() {
    static const Family family{
        .name = "dragonfly-plus",
        .shapes = {{.name = "dragonfly-plus",
                    .text = "{leaves, spines, nodes_per_leaf, groups, global_links}: switches of a group, nodes of a "
                            "leaf, groups, global links of a spine",
                    .keys = {"leaves", "spines", "nodes_per_leaf", "groups", "global_links"},
                    .mapping = true}},
        .routings = {"minimal", "valiant", "ugal", "ugal-g"},
        .nodes_by_geometry = true,
        .make = [](const Machine& m) -> std::unique_ptr<Topology> { return std::make_unique<DragonflyPlus>(m); },
        .example = {4, 4, 2, 5, 1},
    };
    return family;
}

}  // namespace tramontane
