/// \file
/// Tori and meshes of any dimension.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "divisor.hpp"
#include "geometry.hpp"

namespace tramontane {

/// Torus or mesh of D dimensions; in three, the torus of the paper's Fig. 2a. Switch (x, y, z, ...) is
/// x + X (y + Y (z + Z ...)). Ports: +x, -x, +y, -y, ..., then the nodes. Dimension order x, y, z, ..., the shorter way
/// round, the positive one where both are equal. Two virtual channels: the hop over the wrap link and all later ones of
/// that dimension use the second (dateline, Dally and Seitz 1987). A dimension that does not wrap is a mesh: ports at
/// its ends are unused, and the way is straight.
/// \tparam meshes whether some dimension does not wrap
template <std::size_t D, bool meshes>
class Torus final : public Topology {
public:
    explicit Torus(const Machine& m) {
        std::vector<std::int64_t> sizes;
        for (std::size_t d = 0; d < D; ++d) {
            size_[d] = checked(m.geometry[d], "a torus dimension");
            sizes.push_back(size_[d]);
            by_[d] = Divisor(size_[d]);
            if (meshes) wraps_[d] = m.geometry[D + d] != 0;
        }
        per_switch_ = checked(m.nodes_per_switch, "nodes of a switch", 1, "nodes_per_switch");
        switches_ = checked_product(sizes, "switches");
        nodes_ = checked_product({switches_, per_switch_}, "nodes");
        ports_ = checked_ports(std::int64_t{wired} + per_switch_);
        by_node_ = Divisor(per_switch_);
    }
    SwitchId switches() const override { return switches_; }
    NodeId nodes() const override { return nodes_; }
    NodeId nodes_per_switch() const override { return per_switch_; }
    std::uint32_t groups() const override { return size_[D - 1]; }
    TRAMONTANE_RULE Port ports() const override { return ports_; }
    std::int64_t radix() const override {
        std::int64_t most = per_switch_;
        for (std::size_t d = 0; d < D; ++d) most += wraps(d) ? 2 : std::min<Size>(size_[d] - 1, 2);
        return most;
    }
    std::int64_t links() const override {
        std::int64_t all = 0;
        for (std::size_t d = 0; d < D; ++d) {
            all += wraps(d) && size_[d] > 1 ? switches_ : switches_ - switches_ / size_[d];
        }
        return all;
    }
    std::vector<LinkClass> link_classes() const override { return link_classes_by_dimension(D); }
    TRAMONTANE_RULE LinkClassId link_class(SwitchId, Port port) const override {
        return static_cast<LinkClassId>(port < wired ? port / 2 + 1 : 0);
    }
    TRAMONTANE_RULE SwitchId switch_of(NodeId node) const override { return by_node_.quotient(node); }
    TRAMONTANE_RULE Port ejection_port(NodeId node) const override {
        return static_cast<Port>(wired + by_node_.remainder(node));
    }
    std::uint8_t channels() const override {
        for (std::size_t d = 0; d < D; ++d) {
            if (wraps(d)) return 2;
        }
        return 1;
    }

    TRAMONTANE_RULE SwitchId neighbour(SwitchId at, Port port) const override {
        auto c = coordinates(at);
        const std::size_t d = port / 2;
        if (!wraps(d) && c[d] == (port % 2 == 0 ? size_[d] - 1 : 0)) return at;
        c[d] = port % 2 == 0 ? (c[d] + 1 == size_[d] ? 0 : c[d] + 1) : (c[d] == 0 ? size_[d] - 1 : c[d] - 1);
        SwitchId number = c[D - 1];
        for (std::size_t i = D - 1; i-- > 0;) number = c[i] + size_[i] * number;
        return number;
    }

    TRAMONTANE_RULE Hop towards(SwitchId at, SwitchId target, NodeId, Trail& trail, const Draw&) const override {
        const auto a = coordinates(at);
        const auto b = coordinates(target);
        std::uint8_t d = 0;
        while (a[d] == b[d]) ++d;
        const Size up = b[d] > a[d] ? b[d] - a[d] : b[d] + size_[d] - a[d];
        const bool positive = wraps(d) ? 2 * up <= size_[d] : b[d] > a[d];
        if (d != trail.dimension) trail = {d, false};
        if (positive ? a[d] + 1 == size_[d] : a[d] == 0) trail.crossed = true;
        return {static_cast<Port>(2 * d + (positive ? 0 : 1)), static_cast<std::uint8_t>(trail.crossed ? 1 : 0)};
    }

    std::vector<Extent> extents() const override {
        std::vector<Extent> all;
        for (std::size_t d = 0; d < D; ++d) all.push_back({size_[d], wraps(d)});
        return all;
    }

    TRAMONTANE_RULE std::uint32_t distance(SwitchId from, SwitchId to) const override {
        const auto a = coordinates(from);
        const auto b = coordinates(to);
        Size sum = 0;
        for (std::size_t d = 0; d < D; ++d) {
            const Size apart = a[d] > b[d] ? a[d] - b[d] : b[d] - a[d];
            sum += wraps(d) ? std::min(apart, size_[d] - apart) : apart;
        }
        return sum;
    }

    TRAMONTANE_RULE SwitchId intermediate(SwitchId from, SwitchId to, const Draw& draw, bool) const override {
        // Uniform over all switches but the two ends.
        const Size others = switches_ - (from == to ? 1 : 2);
        return others == 0 ? from : skip(static_cast<Size>(draw.below(others)), from, to);
    }

private:
    static constexpr Port wired = 2 * D;

    TRAMONTANE_RULE bool wraps(std::size_t d) const { return !meshes || wraps_[d]; }

    TRAMONTANE_RULE std::array<Size, D> coordinates(SwitchId s) const {
        std::array<Size, D> c;
        for (std::size_t d = 0; d + 1 < D; ++d) {
            const Size rest = by_[d].quotient(s);
            c[d] = s - rest * size_[d];
            s = rest;
        }
        c[D - 1] = s;
        return c;
    }

    std::array<Size, D> size_{};
    std::array<bool, D> wraps_{};
    Size per_switch_, switches_, nodes_;
    std::array<Divisor, D> by_;
    Divisor by_node_;
    Port ports_;
};

inline constexpr std::size_t most_dimensions = 8;

template <std::size_t D = 1>
std::unique_ptr<Topology> make_torus_of(const Machine& m, std::size_t dimensions, bool meshes) {
    if constexpr (D <= most_dimensions) {
        if (dimensions != D) return make_torus_of<D + 1>(m, dimensions, meshes);
        if (meshes) return std::make_unique<Torus<D, true>>(m);
        return std::make_unique<Torus<D, false>>(m);
    } else {
        throw Refusal("geometry", "found " + std::to_string(dimensions) + " dimensions",
                      "at most " + std::to_string(most_dimensions) + " dimensions");
    }
}

/// Sizes, then wraps; [X, Y, Z] wraps in each.
inline std::unique_ptr<Topology> make_any_torus(const Machine& m) {
    if (m.geometry.size() == 3) return make_torus_of(m, 3, false);
    const std::size_t dimensions = m.geometry.size() / 2;
    bool meshes = false;
    for (std::size_t d = 0; d < dimensions; ++d) {
        const std::int64_t wraps = m.geometry[dimensions + d];
        if (wraps != 0 && wraps != 1) {
            throw Refusal("geometry", "found " + std::to_string(wraps) + " among wraps", "0 (a mesh) or 1 (a ring)");
        }
        meshes = meshes || wraps == 0;
    }
    return make_torus_of(m, dimensions, meshes);
}

inline const Family& torus_family() {
    static const Family family{
        .name = "torus",
        .shapes = {{.name = "torus", .text = "[X, Y, Z]: switches along each dimension", .keys = {"X", "Y", "Z"}},
                   {.name = "torus-of-any-dimension",
                    .text = "[S1, S2, ...] or {sizes: [S1, S2, ...], wraps: [1, 0, ...]} of up to 8 dimensions, each "
                            "a ring (1, the default) or a mesh (0)",
                    .keys = {"sizes", "wraps"},
                    .lists = true}},
        .routings = {"minimal", "valiant", "ugal"},
        .parallel_links = true,
        .make = make_any_torus,
        .example = {4, 4, 4},
    };
    return family;
}

}  // namespace tramontane
