#include <algorithm>
#include <array>

#include "divisor.hpp"
#include "geometry.hpp"

namespace tramontane {
namespace {

/// 3D torus (paper, Fig. 2a). Switch (x, y, z) is x + X (y + Y z). Ports: +x, -x, +y, -y, +z, -z, then the nodes.
/// Dimension order x, y, z, the shorter way round, the positive one where both are equal. Two virtual channels: the
/// hop over the wrap link and all later ones of that dimension use the second (dateline, Dally and Seitz 1987).
class Torus final : public Topology {
public:
    explicit Torus(const Machine& m) {
        for (std::size_t d = 0; d < 3; ++d) size_[d] = checked(m.geometry[d], "a torus dimension");
        per_switch_ = checked(m.nodes_per_switch, "nodes of a switch", 1, "nodes_per_switch");
        switches_ = checked_product({size_[0], size_[1], size_[2]}, "switches");
        nodes_ = checked_product({switches_, per_switch_}, "nodes");
        ports_ = checked_ports(6 + std::int64_t{per_switch_});
        by_x_ = Divisor(size_[0]);
        by_y_ = Divisor(size_[1]);
        by_node_ = Divisor(per_switch_);
    }
    SwitchId switches() const override { return switches_; }
    NodeId nodes() const override { return nodes_; }
    NodeId nodes_per_switch() const override { return per_switch_; }
    std::uint32_t groups() const override { return size_[2]; }
    Port ports() const override { return ports_; }
    std::int64_t radix() const override { return ports_; }
    std::int64_t links() const override { return std::int64_t{3} * switches_; }
    SwitchId switch_of(NodeId node) const override { return by_node_.quotient(node); }
    Port ejection_port(NodeId node) const override { return static_cast<Port>(6 + by_node_.remainder(node)); }
    std::uint8_t channels() const override { return 2; }

    SwitchId neighbour(SwitchId at, Port port) const override {
        auto c = coordinates(at);
        const std::size_t d = port / 2;
        c[d] = port % 2 == 0 ? (c[d] + 1 == size_[d] ? 0 : c[d] + 1) : (c[d] == 0 ? size_[d] - 1 : c[d] - 1);
        return c[0] + size_[0] * (c[1] + size_[1] * c[2]);
    }

    Hop towards(SwitchId at, SwitchId target, NodeId, Trail& trail, const Draw&) const override {
        const auto a = coordinates(at);
        const auto b = coordinates(target);
        std::uint8_t d = 0;
        while (a[d] == b[d]) ++d;
        const Size up = b[d] > a[d] ? b[d] - a[d] : b[d] + size_[d] - a[d];
        const bool positive = 2 * up <= size_[d];
        if (d != trail.dimension) trail = {d, false};
        if (positive ? a[d] + 1 == size_[d] : a[d] == 0) trail.crossed = true;
        return {static_cast<Port>(2 * d + (positive ? 0 : 1)), static_cast<std::uint8_t>(trail.crossed ? 1 : 0)};
    }

    std::uint32_t distance(SwitchId from, SwitchId to) const override {
        const auto a = coordinates(from);
        const auto b = coordinates(to);
        Size sum = 0;
        for (std::size_t d = 0; d < 3; ++d) {
            const Size apart = a[d] > b[d] ? a[d] - b[d] : b[d] - a[d];
            sum += std::min(apart, size_[d] - apart);
        }
        return sum;
    }

    SwitchId intermediate(SwitchId from, SwitchId to, const Draw& draw, bool) const override {
        // Uniform over all switches but the two ends.
        const Size others = switches_ - (from == to ? 1 : 2);
        return others == 0 ? from : skip(static_cast<Size>(draw.below(others)), from, to);
    }

private:
    std::array<Size, 3> coordinates(SwitchId s) const {
        const Size row = by_x_.quotient(s), z = by_y_.quotient(row);
        return {s - row * size_[0], row - z * size_[1], z};
    }

    std::array<Size, 3> size_{};
    Size per_switch_, switches_, nodes_;
    Divisor by_x_, by_y_, by_node_;
    Port ports_;
};

}  // namespace

const Family& torus_family() {
    static const Family family{
        .name = "torus",
        .shapes = {{.name = "torus", .text = "[X, Y, Z]: switches along each dimension", .keys = {"X", "Y", "Z"}}},
        .routings = {"minimal", "valiant", "ugal"},
        .make = [](const Machine& m) -> std::unique_ptr<Topology> { return std::make_unique<Torus>(m); },
        .example = {4, 4, 4},
    };
    return family;
}

}  // namespace tramontane
