#include "topology.hpp"

#include <array>
#include <stdexcept>
#include <string>

#include "random.hpp"

namespace tramontane {
namespace {

using Size = std::uint32_t;

Size checked(std::int64_t value, const char* what) {
    if (value < 1 || value > 1'000'000'000) {
        throw std::invalid_argument(std::string("machine.geometry: ") + what + " = " + std::to_string(value) +
                                    " must lie in 1 ... 10^9");
    }
    return static_cast<Size>(value);
}

Port checked_ports(std::int64_t ports) {
    if (ports > 65535) {
        throw std::invalid_argument("machine.geometry: a switch with " + std::to_string(ports) +
                                    " ports; at most 65535");
    }
    return static_cast<Port>(ports);
}

Size checked_product(std::initializer_list<std::int64_t> factors, const char* what) {
    std::int64_t product = 1;
    for (const std::int64_t f : factors) {
        product *= f;
        if (product > 2'000'000'000) throw std::invalid_argument(std::string("machine.geometry: too many ") + what);
    }
    return static_cast<Size>(product);
}

/// 3D torus (paper, Fig. 2a). Switch (x, y, z) is x + X (y + Y z). Ports: +x, -x, +y, -y, +z, -z, then the nodes.
/// Dimension order x, y, z, the shorter way round, the positive one where both are equal. Two virtual channels: the
/// hop over the wrap link and all later ones of that dimension use the second (dateline, Dally and Seitz 1987).
class Torus final : public Topology {
public:
    explicit Torus(const Machine& m) {
        if (m.geometry.size() != 3) throw std::invalid_argument("machine.geometry: a torus has three sizes [X, Y, Z]");
        for (std::size_t d = 0; d < 3; ++d) size_[d] = checked(m.geometry[d], "a torus dimension");
        per_switch_ = checked(m.nodes_per_switch, "nodes_per_switch");
        switches_ = checked_product({size_[0], size_[1], size_[2]}, "switches");
        nodes_ = checked_product({switches_, per_switch_}, "nodes");
        ports_ = checked_ports(6 + std::int64_t{per_switch_});
    }
    SwitchId switches() const override { return switches_; }
    NodeId nodes() const override { return nodes_; }
    Port ports() const override { return ports_; }
    std::int64_t radix() const override { return ports_; }
    std::int64_t links() const override { return std::int64_t{3} * switches_; }
    SwitchId switch_of(NodeId node) const override { return node / per_switch_; }
    Port ejection_port(NodeId node) const override { return static_cast<Port>(6 + node % per_switch_); }
    std::uint8_t channels() const override { return 2; }

    SwitchId neighbour(SwitchId at, Port port) const override {
        auto c = coordinates(at);
        const std::size_t d = port / 2;
        c[d] = port % 2 == 0 ? (c[d] + 1 == size_[d] ? 0 : c[d] + 1) : (c[d] == 0 ? size_[d] - 1 : c[d] - 1);
        return c[0] + size_[0] * (c[1] + size_[1] * c[2]);
    }

    Hop towards(SwitchId at, SwitchId target, NodeId, Trail& trail) const override {
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

    SwitchId intermediate(SwitchId from, SwitchId to, std::uint64_t bits, bool) const override {
        // Uniform over all switches but the two ends.
        const Size others = switches_ - (from == to ? 1 : 2);
        if (others == 0) return from;
        auto pick = static_cast<SwitchId>(below(bits, others));
        const SwitchId first = std::min(from, to), second = std::max(from, to);
        if (pick >= first) ++pick;
        if (from != to && pick >= second) ++pick;
        return pick;
    }

private:
    std::array<Size, 3> coordinates(SwitchId s) const {
        const Size row = s / size_[0];
        return {s - row * size_[0], row % size_[1], row / size_[1]};
    }

    std::array<Size, 3> size_{};
    Size per_switch_, switches_, nodes_;
    Port ports_;
};

/// Full k-ary n-tree (paper, Fig. 2b): n switch levels of k^(n-1) switches with k down and k up ports; k^n nodes.
/// A switch is (level, label of n-1 digits): going up from level l replaces digit l of the label by the up port, going
/// down to level l replaces it by the down port. Routing is D-mod-k (Zahavi et al. 2010): at level l the up port is
/// digit l of the destination, so that every destination has a down path of its own and permutations do not block.
class FatTree final : public Topology {
public:
    explicit FatTree(const Machine& m) {
        if (m.geometry.size() != 2) {
            throw std::invalid_argument("machine.geometry: a fat tree has [switch levels, down ports]");
        }
        levels_ = checked(m.geometry[0], "switch levels");
        down_ = checked(m.geometry[1], "down ports");
        if (levels_ > max_levels) throw std::invalid_argument("machine.geometry: at most 16 switch levels");
        std::int64_t power = 1;
        for (Size l = 0; l <= levels_; ++l) {
            power_[l] = static_cast<Size>(power);
            if (l < levels_) power = checked_product({power, down_}, "nodes");
        }
        switches_ = checked_product({levels_, power_[levels_ - 1]}, "switches");
        ports_ = checked_ports(2 * std::int64_t{down_});
    }
    SwitchId switches() const override { return switches_; }
    NodeId nodes() const override { return power_[levels_]; }
    Port ports() const override { return ports_; }
    std::int64_t radix() const override { return ports_; }
    std::int64_t links() const override { return std::int64_t{levels_ - 1} * power_[levels_]; }
    SwitchId switch_of(NodeId node) const override { return node / down_; }
    Port ejection_port(NodeId node) const override { return static_cast<Port>(node % down_); }
    std::uint8_t channels() const override { return 1; }

    SwitchId neighbour(SwitchId at, Port port) const override {
        const Size width = power_[levels_ - 1];
        const Size level = at / width, label = at % width;
        if (port >= down_) return (level + 1) * width + with_digit(label, level, port - down_);
        return (level - 1) * width + with_digit(label, level - 1, port);
    }

    Hop towards(SwitchId at, SwitchId, NodeId node, Trail&) const override {
        const Size width = power_[levels_ - 1];
        const Size level = at / width, label = at % width;
        const Size digit = node / power_[level] % down_;
        const bool below_here = label / power_[level] == node / power_[level + 1];
        return {static_cast<Port>(below_here ? digit : down_ + digit), 0};
    }

    std::uint32_t distance(SwitchId from, SwitchId to) const override {  // of leaf switches
        Size up = 0;
        while (from / power_[up] != to / power_[up]) ++up;
        return 2 * up;
    }

    SwitchId intermediate(SwitchId from, SwitchId, std::uint64_t, bool) const override { return from; }

private:
    static constexpr Size max_levels = 16;
    Size with_digit(Size label, Size position, Size digit) const {
        const Size old = label / power_[position] % down_;
        return label + (digit - old) * power_[position];
    }

    Size levels_, down_, switches_;
    std::array<Size, max_levels + 1> power_{};
    Port ports_;
};

/// Dragonfly with groups of X x Y switches, linked all-to-all along each row and column, every switch linked to its
/// counterpart in every other group (paper, Fig. 2c and Table 1: radix (X-1) + (Y-1) + (G-1) + nodes).
/// Switch (x, y, g) is x + X (y + Y g). Ports: by column x, by row y, by group g, then the nodes; those that would lead
/// to the switch itself are unused. Minimal route: own global link, then x, then y. A second virtual channel after the
/// global link.
class Dragonfly final : public Topology {
public:
    explicit Dragonfly(const Machine& m) {
        if (m.geometry.size() != 3) {
            throw std::invalid_argument("machine.geometry: a dragonfly has [X, Y, groups]");
        }
        x_ = checked(m.geometry[0], "X");
        y_ = checked(m.geometry[1], "Y");
        groups_ = checked(m.geometry[2], "groups");
        per_switch_ = checked(m.nodes_per_switch, "nodes_per_switch");
        in_group_ = checked_product({x_, y_}, "switches");
        switches_ = checked_product({in_group_, groups_}, "switches");
        nodes_ = checked_product({switches_, per_switch_}, "nodes");
        ports_ = checked_ports(std::int64_t{x_} + y_ + groups_ + per_switch_);
    }
    SwitchId switches() const override { return switches_; }
    NodeId nodes() const override { return nodes_; }
    Port ports() const override { return ports_; }
    std::int64_t radix() const override { return std::int64_t{x_} + y_ + groups_ - 3 + per_switch_; }
    std::int64_t links() const override { return switches_ * (std::int64_t{x_} + y_ + groups_ - 3) / 2; }
    SwitchId switch_of(NodeId node) const override { return node / per_switch_; }
    Port ejection_port(NodeId node) const override { return static_cast<Port>(x_ + y_ + groups_ + node % per_switch_); }
    std::uint8_t channels() const override { return 2; }

    SwitchId neighbour(SwitchId at, Port port) const override {
        const Position p = position(at);
        if (port < x_) return port + x_ * (p.y + y_ * p.g);
        if (port < x_ + y_) return p.x + x_ * (port - x_ + y_ * p.g);
        return p.x + x_ * (p.y + y_ * (port - x_ - y_));
    }

    Hop towards(SwitchId at, SwitchId target, NodeId, Trail& trail) const override {
        const Position a = position(at), b = position(target);
        if (a.g != b.g) {
            trail.crossed = true;
            return {static_cast<Port>(x_ + y_ + b.g), 0};
        }
        const auto channel = static_cast<std::uint8_t>(trail.crossed ? 1 : 0);
        if (a.x != b.x) return {static_cast<Port>(b.x), channel};
        return {static_cast<Port>(x_ + b.y), channel};
    }

    void turn(Trail& trail) const override { trail.crossed = false; }

    std::uint32_t distance(SwitchId from, SwitchId to) const override {
        const Position a = position(from), b = position(to);
        return static_cast<std::uint32_t>(a.g != b.g) + static_cast<std::uint32_t>(a.x != b.x) +
               static_cast<std::uint32_t>(a.y != b.y);
    }

    SwitchId intermediate(SwitchId from, SwitchId to, std::uint64_t bits, bool elsewhere) const override {
        const Size a = from / in_group_, b = to / in_group_;
        if (a == b && !elsewhere) {  // as SST/macro 7.1: a random switch of the same group
            const Size others = in_group_ - (from == to ? 1 : 2);
            if (others == 0) return from;
            auto pick = static_cast<SwitchId>(below(bits, others));
            const SwitchId first = std::min(from, to) % in_group_, second = std::max(from, to) % in_group_;
            if (pick >= first) ++pick;
            if (from != to && pick >= second) ++pick;
            return a * in_group_ + pick;
        }
        const Size other_groups = groups_ - (a == b ? 1 : 2);
        if (other_groups == 0) return from;
        const auto pick = below(bits, std::uint64_t{other_groups} * in_group_);
        auto group = static_cast<Size>(pick / in_group_);
        if (group >= std::min(a, b)) ++group;
        if (a != b && group >= std::max(a, b)) ++group;
        return group * in_group_ + static_cast<SwitchId>(pick % in_group_);
    }

private:
    struct Position {
        Size x, y, g;
    };
    Position position(SwitchId s) const {
        const Size row = s / x_;
        return {s - row * x_, row % y_, row / y_};
    }

    Size x_, y_, groups_, per_switch_, in_group_, switches_, nodes_;
    Port ports_;
};

}  // namespace

std::unique_ptr<Topology> make_topology(const Machine& machine) {
    if (machine.topology == "torus") return std::make_unique<Torus>(machine);
    if (machine.topology == "fattree") return std::make_unique<FatTree>(machine);
    if (machine.topology == "dragonfly") return std::make_unique<Dragonfly>(machine);
    throw std::invalid_argument("machine.topology: '" + machine.topology +
                                "' is unknown; allowed: torus, fattree, dragonfly");
}

}  // namespace tramontane
