/// \file
/// HyperX.
#pragma once

#include <array>

#include "divisor.hpp"
#include "geometry.hpp"

namespace tramontane {

/// HyperX (Ahn et al., SC 2009) of L dimensions: two switches that differ in one coordinate only are linked, by as many
/// parallel links as that dimension has. Switch (x1, ..., xL) is x1 + S1 (x2 + S2 (x3 + ...)). Ports: dimension by
/// dimension, in each by the other switch's coordinate (the own one left out), its parallel links side by side; then
/// the nodes. Every port has a link.
///
/// Minimal route: dimension by dimension in their order, one hop in each in which the ends differ, by any of the
/// parallel links at random. A packet never waits in a dimension for a link of an earlier one, so one virtual channel
/// will do.
class HyperX final : public Topology {
public:
    explicit HyperX(const Machine& m) : dimensions_(m.geometry.size() / 2) {
        if (dimensions_ > max_dimensions) {
            throw Refusal("geometry", "found " + std::to_string(dimensions_) + " dimensions",
                          "at most " + std::to_string(max_dimensions) + " dimensions");
        }
        std::int64_t ports = 0;
        for (std::size_t d = 0; d < dimensions_; ++d) {
            const Size size = checked(m.geometry[d], "the switches along a dimension", 2);
            const Size links = checked(m.geometry[dimensions_ + d], "the links between two switches of a dimension");
            dimension_[d] = {size, links, static_cast<Port>(ports), Divisor(size)};
            ports += (std::int64_t{size} - 1) * links;
            static_cast<void>(checked_ports(ports));
        }
        per_switch_ = checked(m.nodes_per_switch, "nodes of a switch", 1, "nodes_per_switch");
        wired_ = static_cast<Port>(ports);
        ports_ = checked_ports(ports + per_switch_);
        const auto first = m.geometry.begin();
        std::vector<std::int64_t> sizes(first, first + static_cast<std::ptrdiff_t>(dimensions_));
        switches_ = checked_product(sizes, "switches");
        nodes_ = checked_product({switches_, per_switch_}, "nodes");
        by_node_ = Divisor(per_switch_);
    }
    SwitchId switches() const override { return switches_; }
    NodeId nodes() const override { return nodes_; }
    NodeId nodes_per_switch() const override { return per_switch_; }
    std::uint32_t groups() const override { return dimension_[dimensions_ - 1].size; }
    TRAMONTANE_RULE Port ports() const override { return ports_; }
    std::int64_t radix() const override { return ports_; }
    std::int64_t links() const override { return std::int64_t{switches_} * wired_ / 2; }
    std::vector<LinkClass> link_classes() const override { return link_classes_by_dimension(dimensions_); }
    TRAMONTANE_RULE LinkClassId link_class(SwitchId, Port port) const override {
        if (port >= wired_) return 0;
        std::size_t d = dimensions_;
        while (port < dimension_[d - 1].first) --d;
        return static_cast<LinkClassId>(d);
    }
    TRAMONTANE_RULE SwitchId switch_of(NodeId node) const override { return by_node_.quotient(node); }
    TRAMONTANE_RULE Port ejection_port(NodeId node) const override {
        return static_cast<Port>(wired_ + by_node_.remainder(node));
    }
    std::uint8_t channels() const override { return 1; }

    TRAMONTANE_RULE SwitchId neighbour(SwitchId at, Port port) const override {
        Size stride = 1, rest = at;
        for (std::size_t d = 0;; ++d) {
            const Dimension& each = dimension_[d];
            const Size own = each.by.remainder(rest);
            if (const Size place = (port - each.first) / each.links; place + 1 < each.size) {
                return at + (place + (place >= own ? 1 : 0) - own) * stride;
            }
            stride *= each.size;
            rest = each.by.quotient(rest);
        }
    }

    TRAMONTANE_RULE Hop towards(SwitchId at, SwitchId target, NodeId, Trail&, const Draw& draw) const override {
        const SwitchId here = at;
        for (std::size_t d = 0;; ++d) {
            const Dimension& each = dimension_[d];
            const Size a = each.by.remainder(at), b = each.by.remainder(target);
            if (a != b) {
                const Size link = each.links == 1 ? 0 : static_cast<Size>(draw.below(each.links, link_choice | here));
                return {static_cast<Port>(each.first + (b - (b > a ? 1 : 0)) * each.links + link), 0};
            }
            at = each.by.quotient(at);
            target = each.by.quotient(target);
        }
    }

    TRAMONTANE_RULE std::uint32_t distance(SwitchId from, SwitchId to) const override {
        std::uint32_t differ = 0;
        for (std::size_t d = 0; d < dimensions_ && from != to; ++d) {
            const Divisor& by = dimension_[d].by;
            differ += by.remainder(from) != by.remainder(to) ? 1 : 0;
            from = by.quotient(from);
            to = by.quotient(to);
        }
        return differ;
    }

    TRAMONTANE_RULE SwitchId intermediate(SwitchId from, SwitchId to, const Draw& draw, bool) const override {
        const Size others = switches_ - (from == to ? 1 : 2);
        return others == 0 ? from : skip(static_cast<Size>(draw.below(others)), from, to);
    }

    TRAMONTANE_RULE std::uint32_t dimensions() const override { return static_cast<std::uint32_t>(dimensions_); }

    TRAMONTANE_RULE Row row(SwitchId at, SwitchId target, std::uint32_t dimension) const override {
        for (std::uint32_t d = 0; d < dimension; ++d) {
            at = dimension_[d].by.quotient(at);
            target = dimension_[d].by.quotient(target);
        }
        const Dimension& each = dimension_[dimension];
        return {each.first, each.size, each.links, each.by.remainder(at), each.by.remainder(target)};
    }

private:
    static constexpr std::size_t max_dimensions = 30;  // of two switches each: with more there are too many nodes
    static constexpr std::uint64_t link_choice = 1ULL << 40;

    struct Dimension {
        Size size = 0, links = 0;
        Port first = 0;  // of its ports
        Divisor by{};
    };

    std::size_t dimensions_;
    std::array<Dimension, max_dimensions> dimension_;
    Size per_switch_, switches_, nodes_;
    Divisor by_node_;
    Port wired_, ports_;
};

inline const Family& hyperx_family() {
    static const Family family{
        .name = "hyperx",
        .shapes = {{.name = "hyperx",
                    .text =
                        "[S1, S2, ...]: switches along each dimension, 2 or more; or "
                        "{switches: [S1, S2, ...], links: [K1, K2, ...]} with K parallel links between two switches",
                    .keys = {"switches", "links"},
                    .lists = true}},
        .routings = {"minimal", "valiant", "ugal", "dal"},
        .make = [](const Machine& m) -> std::unique_ptr<Topology> { return std::make_unique<HyperX>(m); },
        .example = {4, 4, 1, 1},
    };
    return family;
}

}  // namespace tramontane
