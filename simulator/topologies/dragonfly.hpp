/// \file
/// Dragonflies with groups of rows and columns.
#pragma once

#include "divisor.hpp"
#include "dragonflies.hpp"
#include "geometry.hpp"

namespace tramontane {

/// Dragonfly with groups of X x Y switches, linked all-to-all along each row and column, every switch linked to its
/// counterpart in every other group (paper, Fig. 2c and Table 1: radix (X-1) + (Y-1) + (G-1) + nodes).
/// Switch (x, y, g) is x + X (y + Y g). Ports: by column x, by row y, by group g, then the nodes; those that would lead
/// to the switch itself are unused. Minimal route: own global link, then x, then y. A second virtual channel after the
/// global link.
class Dragonfly final : public Topology {
public:
    explicit Dragonfly(const Machine& m) {
        x_ = checked(m.geometry[0], "X");
        y_ = checked(m.geometry[1], "Y");
        groups_ = checked(m.geometry[2], "groups");
        per_switch_ = checked(m.nodes_per_switch, "nodes of a switch", 1, "nodes_per_switch");
        in_group_ = checked_product({x_, y_}, "switches");
        switches_ = checked_product({in_group_, groups_}, "switches");
        nodes_ = checked_product({switches_, per_switch_}, "nodes");
        ports_ = checked_ports(std::int64_t{x_} + y_ + groups_ + per_switch_);
        by_x_ = Divisor(x_);
        by_y_ = Divisor(y_);
        by_node_ = Divisor(per_switch_);
    }
    SwitchId switches() const override { return switches_; }
    NodeId nodes() const override { return nodes_; }
    NodeId nodes_per_switch() const override { return per_switch_; }
    std::uint32_t groups() const override { return groups_; }
    TRAMONTANE_RULE Port ports() const override { return ports_; }
    std::int64_t radix() const override { return std::int64_t{x_} + y_ + groups_ - 3 + per_switch_; }
    std::int64_t links() const override { return switches_ * (std::int64_t{x_} + y_ + groups_ - 3) / 2; }
    std::vector<LinkClass> link_classes() const override { return dragonfly_link_classes(); }
    TRAMONTANE_RULE LinkClassId link_class(SwitchId, Port port) const override {
        return port < x_ + y_ ? 1 : port < x_ + y_ + groups_ ? 2 : 0;
    }
    TRAMONTANE_RULE SwitchId switch_of(NodeId node) const override { return by_node_.quotient(node); }
    TRAMONTANE_RULE Port ejection_port(NodeId node) const override {
        return static_cast<Port>(x_ + y_ + groups_ + by_node_.remainder(node));
    }
    std::uint8_t channels() const override { return 2; }
    std::uint64_t switches_near(std::uint64_t own) const override {
        // Where a group or row meets others, packets go between all of its places and theirs.
        const std::uint64_t whole = own > in_group_ ? in_group_ : own > x_ ? x_ : 1;
        return (own + whole - 1) / whole * whole;
    }

    TRAMONTANE_RULE SwitchId neighbour(SwitchId at, Port port) const override {
        const Position p = position(at);
        if (port < x_) return port + x_ * (p.y + y_ * p.g);
        if (port < x_ + y_) return p.x + x_ * (port - x_ + y_ * p.g);
        return p.x + x_ * (p.y + y_ * (port - x_ - y_));
    }

    TRAMONTANE_RULE Hop towards(SwitchId at, SwitchId target, NodeId, Trail& trail, const Draw&) const override {
        const Position a = position(at), b = position(target);
        if (a.g != b.g) {
            trail.crossed = true;
            return {static_cast<Port>(x_ + y_ + b.g), 0};
        }
        const auto channel = static_cast<std::uint8_t>(trail.crossed ? 1 : 0);
        if (a.x != b.x) return {static_cast<Port>(b.x), channel};
        return {static_cast<Port>(x_ + b.y), channel};
    }

    TRAMONTANE_RULE void turn(Trail& trail) const override { trail.crossed = false; }

    TRAMONTANE_RULE std::uint32_t distance(SwitchId from, SwitchId to) const override {
        const Position a = position(from), b = position(to);
        return static_cast<std::uint32_t>(a.g != b.g) + static_cast<std::uint32_t>(a.x != b.x) +
               static_cast<std::uint32_t>(a.y != b.y);
    }

    TRAMONTANE_RULE SwitchId intermediate(SwitchId from, SwitchId to, const Draw& draw, bool elsewhere) const override {
        const Size a = from / in_group_, b = to / in_group_;
        if (a == b && !elsewhere) return inside(from, to, in_group_, draw);
        const Size other_groups = groups_ - (a == b ? 1 : 2);
        if (other_groups == 0) return from;
        const auto pick = draw.below(std::uint64_t{other_groups} * in_group_);
        return skip(static_cast<Size>(pick / in_group_), a, b) * in_group_ + static_cast<Size>(pick % in_group_);
    }

private:
    struct Position {
        Size x, y, g;
    };
    TRAMONTANE_RULE Position position(SwitchId s) const {
        const Size row = by_x_.quotient(s), group = by_y_.quotient(row);
        return {s - row * x_, row - group * y_, group};
    }

    Size x_, y_, groups_, per_switch_, in_group_, switches_, nodes_;
    Divisor by_x_, by_y_, by_node_;
    Port ports_;
};

inline const Family& dragonfly_family() {
    static const Family family{
        .name = "dragonfly",
        .shapes = {{.name = "dragonfly", .text = "[X, Y, G]: G groups of X x Y switches", .keys = {"X", "Y", "G"}}},
        .routings = dragonfly_routings(),
        .parallel_links = true,
        .make = [](const Machine& m) -> std::unique_ptr<Topology> { return std::make_unique<Dragonfly>(m); },
        .example = {4, 4, 4},
    };
    return family;
}

}  // namespace tramontane
