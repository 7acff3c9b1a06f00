#include "network.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "hashed_random.hpp"

namespace tramontane::pisces16 {
namespace {

using Stage = Route::Stage;

enum class Routing { minimal, valiant, ugal };

Routing routing_of(const Machine& m) {
    if (m.routing == "minimal") return Routing::minimal;
    if (m.routing == "valiant") return Routing::valiant;
    if (m.routing == "ugal") return Routing::ugal;
    throw std::invalid_argument("machine.routing: '" + m.routing +
                                "' is unknown to model pisces-16; allowed: minimal, valiant, ugal");
}

std::vector<std::uint32_t> sizes_of(const Machine& m, std::size_t count) {
    if (m.geometry.size() != count) {
        throw std::invalid_argument("machine.geometry: model pisces-16 needs " + std::to_string(count) +
                                    " sizes for a " + m.topology);
    }
    std::int64_t product = 1;
    std::vector<std::uint32_t> sizes;
    for (const std::int64_t size : m.geometry) {
        if (size < 1 || size > 1'000'000)
            throw std::invalid_argument("machine.geometry: a size must lie in 1 ... 10^6");
        product *= size;
        if (product > 50'000'000) throw std::invalid_argument("machine.geometry: too many switches");
        sizes.push_back(static_cast<std::uint32_t>(size));
    }
    return sizes;
}

std::uint32_t nodes_per_switch(const Machine& m) {
    if (m.nodes_per_switch < 1 || m.nodes_per_switch > 100'000) {
        throw std::invalid_argument("machine.nodes_per_switch: must lie in 1 ... 10^5");
    }
    return static_cast<std::uint32_t>(m.nodes_per_switch);
}

/// Choices taken in turn, one after the other.
template <class T>
class RoundRobin {
public:
    void add(T choice) { choices_.push_back(choice); }
    /// Switches begin with different choices: by their own number.
    void begin_at(SwitchId at) {
        if (!choices_.empty()) next_ = at % choices_.size();
    }
    [[nodiscard]] bool empty() const { return choices_.empty(); }
    [[nodiscard]] std::size_t size() const { return choices_.size(); }
    [[nodiscard]] const T& operator[](std::size_t i) const { return choices_[i]; }
    [[nodiscard]] const T& peek() const { return choices_[next_]; }
    void advance() {
        if (++next_ == choices_.size()) next_ = 0;
    }
    T take() {
        const T choice = peek();
        advance();
        return choice;
    }

private:
    std::vector<T> choices_;
    std::size_t next_ = 0;
};

/// Switch (x, y, z) is x + X (y + Y z); ports +x, -x, +y, -y, +z, -z, then the nodes.
class Torus final : public Network {
public:
    Torus(const Machine& m, std::uint64_t seed)
        : routing_(routing_of(m)), random_(seed), per_switch_(nodes_per_switch(m)) {
        const auto sizes = sizes_of(m, 3);
        std::copy(sizes.begin(), sizes.end(), size_.begin());
    }
    SwitchId switches() const override { return size_[0] * size_[1] * size_[2]; }
    NodeId nodes() const override { return switches() * per_switch_; }
    Port ports() const override { return 6 + per_switch_; }
    std::uint8_t channels() const override { return routing_ == Routing::minimal ? 2 : 4; }
    SwitchId switch_of(NodeId node) const override { return node / per_switch_; }
    Port ejection_port(NodeId node) const override { return 6 + node % per_switch_; }

    std::vector<Link> links(SwitchId from) const override {
        std::vector<Link> links;
        std::uint32_t stride = 1;
        for (std::uint32_t d = 0; d < 3; ++d) {
            const std::uint32_t x = from / stride % size_[d];
            const std::uint32_t last = size_[d] - 1;
            links.push_back({2 * d, x == last ? from - last * stride : from + stride});
            links.push_back({2 * d + 1, x == 0 ? from + last * stride : from - stride});
            stride *= size_[d];
        }
        return links;
    }

    std::uint32_t logp_hops(SwitchId from, SwitchId to) const override { return distance(from, to); }

    void route(SwitchId at, Packet& packet, Ticks now, const Occupancy& occupancy) override {
        Route& route = packet.route;
        const SwitchId target = switch_of(route.destination);
        if (at == target) {  // also on the way to an intermediate switch
            packet.port = ejection_port(route.destination);
            packet.next_channel = 0;
            return;
        }
        if (routing_ == Routing::minimal) return step(at, target, packet);
        if (route.stage == Stage::source) choose(at, target, route, now, occupancy);
        if (route.stage == Stage::minimal) return step(at, target, packet);
        if (at == route.intermediate) route.stage = Stage::to_destination;
        if (route.stage == Stage::to_intermediate) return step(at, route.intermediate, packet);
        step(at, target, packet);
        packet.next_channel += 2;
    }

private:
    struct Direction {
        std::uint32_t dimension;
        bool up;
        bool wraps;  ///< this hop
    };

    /// Dimension order, the shorter way, upwards where both are equal.
    Direction direction(SwitchId at, SwitchId to) const {
        std::uint32_t stride = 1;
        for (std::uint32_t d = 0;; ++d) {
            const std::uint32_t a = at / stride % size_[d], b = to / stride % size_[d];
            if (a != b) {
                const std::uint32_t up = (b + size_[d] - a) % size_[d];
                const bool upwards = 2 * up <= size_[d];
                return {d, upwards, upwards ? a + 1 == size_[d] : a == 0};
            }
            stride *= size_[d];
        }
    }

    void step(SwitchId at, SwitchId to, Packet& packet) const {
        const Direction way = direction(at, to);
        Route& route = packet.route;
        if (way.wraps) {
            route.crossed = true;
        } else if (way.dimension != route.dimension) {
            route.crossed = false;
        }
        route.dimension = static_cast<std::uint8_t>(way.dimension);
        packet.next_channel = route.crossed ? 1 : 0;
        packet.port = 2 * way.dimension + (way.up ? 0 : 1);
    }

    void choose(SwitchId at, SwitchId target, Route& route, Ticks now, const Occupancy& occupancy) const {
        route.intermediate = random_.draw(now, switches(), at, target);
        route.stage = Stage::to_intermediate;
        if (routing_ == Routing::valiant) return;
        const auto cost = [&](SwitchId first_target, std::uint32_t hops) {
            const Direction way = direction(at, first_target);
            return occupancy.queued(at, 2 * way.dimension + (way.up ? 0 : 1)) * hops;
        };
        const std::uint32_t non_minimal_hops = distance(at, route.intermediate) + distance(route.intermediate, target);
        if (cost(route.intermediate, non_minimal_hops) >= cost(target, distance(at, target)))
            route.stage = Stage::minimal;
    }

    std::uint32_t distance(SwitchId from, SwitchId to) const {
        std::uint32_t sum = 0, stride = 1;
        for (const std::uint32_t size : size_) {
            const std::uint32_t up = (to / stride % size + size - from / stride % size) % size;
            sum += std::min(up, size - up);
            stride *= size;
        }
        return sum;
    }

    Routing routing_;
    HashedRandom random_;
    std::uint32_t per_switch_;
    std::array<std::uint32_t, 3> size_{};
};

/// Three switch levels, numbered leaves, aggregation switches, core. Nodes a leaf = up ports a leaf = up and down ports
/// an aggregation switch; as many aggregation switches as leaves in a subtree. Up ports, and parallel down ports, are
/// taken in turn whatever the destination.
class FatTree final : public Network {
public:
    explicit FatTree(const Machine& m) {
        if (m.routing != "round-robin") {
            throw std::invalid_argument("machine.routing: '" + m.routing +
                                        "' is unknown to model pisces-16 on a fattree; allowed: round-robin");
        }
        const auto sizes = sizes_of(m, 3);
        width_ = sizes[0];
        leaves_ = sizes[1];
        subtrees_ = sizes[2];
        if (width_ % leaves_ != 0) {
            throw std::invalid_argument(
                "machine.geometry: model pisces-16 needs nodes_per_leaf to be a multiple of leaves_per_subtree");
        }
        const SwitchId edge = leaves_ * subtrees_;
        up_.resize(2 * std::size_t{edge});
        down_.resize(switches());
        for (SwitchId s = 0; s < switches(); ++s) {
            if (s >= edge) down_[s].resize(s < 2 * edge ? leaves_ : subtrees_);
            for (const Link& link : links(s)) {
                if (link.to > s) {
                    up_[s].add(link.port);
                } else {
                    down_[s][s < 2 * edge ? link.to % leaves_ : (link.to - edge) / leaves_].add(link.port);
                }
            }
            if (s < 2 * edge) up_[s].begin_at(s);
            for (auto& choices : down_[s]) choices.begin_at(s);
        }
    }
    SwitchId switches() const override { return 2 * leaves_ * subtrees_ + leaves_ * width_; }
    NodeId nodes() const override { return width_ * leaves_ * subtrees_; }
    Port ports() const override { return std::max(2 * width_, subtrees_); }
    std::uint8_t channels() const override { return 1; }
    SwitchId switch_of(NodeId node) const override { return node / width_; }
    Port ejection_port(NodeId node) const override { return width_ + node % width_; }

    std::vector<Link> links(SwitchId from) const override {
        const SwitchId edge = leaves_ * subtrees_;
        std::vector<Link> links;
        if (from < edge) {
            const SwitchId tree = from / leaves_, i = from % leaves_;
            for (Port u = 0; u < width_; ++u) links.push_back({u, edge + tree * leaves_ + (i + u * leaves_) / width_});
        } else if (from < 2 * edge) {
            const SwitchId tree = (from - edge) / leaves_, q = (from - edge) % leaves_;
            for (Port u = 0; u < width_; ++u) links.push_back({width_ + u, 2 * edge + u * leaves_ + q});
            for (Port d = 0; d < width_; ++d) links.push_back({d, tree * leaves_ + d % leaves_});
        } else {
            const SwitchId q = (from - 2 * edge) % leaves_;
            for (Port d = 0; d < subtrees_; ++d) links.push_back({d, edge + d * leaves_ + q});
        }
        return links;
    }

    std::uint32_t logp_hops(SwitchId from, SwitchId to) const override {
        if (from == to) return 0;
        // SST/macro subtracts the leaves from a leaf's number, in 32 bits: subtrees are shifted unless their size
        // divides 2^32.
        const SwitchId edge = leaves_ * subtrees_;
        return (from - edge) / leaves_ == (to - edge) / leaves_ ? 2 : 4;
    }

    void route(SwitchId at, Packet& packet, Ticks, const Occupancy&) override {
        const SwitchId edge = leaves_ * subtrees_;
        const SwitchId target = switch_of(packet.route.destination);
        packet.next_channel = 0;
        if (at == target) {
            packet.port = ejection_port(packet.route.destination);
        } else if (at >= 2 * edge) {
            packet.port = down_[at][target / leaves_].take();
        } else if (at >= edge && (at - edge) / leaves_ == target / leaves_) {
            packet.port = down_[at][target % leaves_].take();
        } else {
            packet.port = up_[at].take();
        }
    }

private:
    std::uint32_t width_, leaves_, subtrees_;
    std::vector<RoundRobin<Port>> up_;
    std::vector<std::vector<RoundRobin<Port>>> down_;  ///< by leaf or subtree
};

/// Groups of switches linked all-to-all, circulant global links. Switch a of group g is a + A g; ports: switches of the
/// group, global links, nodes.
class Dragonfly final : public Network {
public:
    Dragonfly(const Machine& m, std::uint64_t seed)
        : routing_(routing_of(m)), random_(seed), per_switch_(nodes_per_switch(m)) {
        const auto sizes = sizes_of(m, 2);
        group_ = sizes[0];
        groups_ = sizes[1];
        if (m.global_links < 2 || m.global_links % 2 != 0 || m.global_links > 100'000) {
            throw std::invalid_argument("machine.global_links: model pisces-16 needs an even number from 2");
        }
        links_ = static_cast<std::uint32_t>(m.global_links);
        exits_.resize(switches());
        for (SwitchId s = 0; s < switches(); ++s) exits_[s] = exits(s);
        if (routing_ == Routing::minimal) return;
        gateways_.resize(switches());
        for (SwitchId s = 0; s < switches(); ++s) gateways_[s] = gateways(s);
    }
    SwitchId switches() const override { return group_ * groups_; }
    NodeId nodes() const override { return switches() * per_switch_; }
    Port ports() const override { return group_ + links_ + per_switch_; }
    std::uint8_t channels() const override { return routing_ == Routing::minimal ? 2 : 6; }
    SwitchId switch_of(NodeId node) const override { return node / per_switch_; }
    Port ejection_port(NodeId node) const override { return group_ + links_ + node % per_switch_; }

    std::vector<Link> links(SwitchId from) const override {
        const SwitchId first = from / group_ * group_;
        std::vector<Link> links;
        for (Port a = 0; a < group_; ++a) {
            if (first + a != from) links.push_back({a, first + a});
        }
        const auto far = far_ends(from);
        for (Port h = 0; h < far.size(); ++h) links.push_back({group_ + h, far[h]});
        return links;
    }

    std::uint32_t logp_hops(SwitchId from, SwitchId to) const override {
        if (from / group_ == to / group_) return 1;  // also on the same switch
        std::uint32_t hops = 3;
        for (const SwitchId far : far_ends(from)) {
            if (far == to) return 1;
            if (far / group_ == to / group_ && far != 0) hops = 2;  // SST/macro takes a link to switch 0 for none
        }
        return hops;
    }

    void route(SwitchId at, Packet& packet, Ticks now, const Occupancy& occupancy) override {
        Route& route = packet.route;
        const SwitchId target = switch_of(route.destination);
        if (at == target) {  // also on the way to an intermediate switch
            packet.port = ejection_port(route.destination);
            packet.next_channel = 0;
            return;
        }
        if (routing_ == Routing::minimal) {
            packet.next_channel = route.global_hops;
            step(at, target, packet);
            return;
        }
        if (route.stage == Stage::source) {
            choose(at, target, packet, now, occupancy);
        } else {
            if (route.stage == Stage::to_intermediate && at == route.intermediate) route.stage = Stage::to_destination;
            step(at, route.stage == Stage::to_intermediate ? route.intermediate : target, packet);
        }
        if (route.hops >= channels())
            throw std::logic_error("pisces-16: a packet makes more hops than it has channels");
        packet.next_channel = route.hops++;
    }

private:
    struct Gateway {
        Port port;
        SwitchId intermediate;
    };

    /// Far ends of a switch's global links, in order of their ports.
    std::vector<SwitchId> far_ends(SwitchId s) const {
        const std::uint32_t a = s % group_, g = s / group_;
        std::vector<SwitchId> far;
        for (std::uint32_t j = 1; j <= links_ / 2; ++j) {
            const std::uint32_t offset = (a * (links_ / 2) + j) % groups_;
            if (offset == 0) continue;  // would lead back to the own group
            far.push_back((g + offset) % groups_ * group_ + a);
            far.push_back((g + groups_ - offset) % groups_ * group_ + a);
        }
        return far;
    }

    /// Ports towards each group: own global links, or else the switches of the group that have one.
    std::vector<RoundRobin<Port>> exits(SwitchId s) const {
        std::vector<RoundRobin<Port>> exits(groups_);
        const std::uint32_t g = s / group_;
        const auto far = far_ends(s);
        for (Port h = 0; h < far.size(); ++h) exits[far[h] / group_].add(group_ + h);
        std::vector<bool> direct(groups_);
        for (std::uint32_t to = 0; to < groups_; ++to) direct[to] = !exits[to].empty();
        for (Port a = 0; a < group_; ++a) {
            std::vector<bool> listed(groups_);
            for (const SwitchId end : far_ends(g * group_ + a)) {
                const std::uint32_t to = end / group_;
                if (!direct[to] && !listed[to]) exits[to].add(a);
                listed[to] = true;
            }
        }
        for (std::uint32_t to = 0; to < groups_; ++to) {
            if (to != g && exits[to].empty()) {
                throw std::invalid_argument("machine.global_links: too few, no link from a group to another");
            }
            exits[to].begin_at(s);
        }
        return exits;
    }

    /// First legs to each group: every global link from other switches of the own group. Where there is none, SST/macro
    /// lists one switch of each third group, and a port that leads to that group; its search mixes up two indices and
    /// so often finds a switch without a link to the group.
    std::vector<RoundRobin<Gateway>> gateways(SwitchId s) const {
        std::vector<RoundRobin<Gateway>> gateways(groups_);
        const std::uint32_t own = s % group_, g = s / group_;
        for (Port a = 0; a < group_; ++a) {
            if (a == own) continue;
            for (const SwitchId end : far_ends(g * group_ + a)) gateways[end / group_].add({a, end});
        }
        for (std::uint32_t to = 0; to < groups_; ++to) {
            if (to == g) continue;
            if (gateways[to].empty()) {
                for (std::uint32_t third = 0; third < groups_; ++third) {
                    if (third == g || third == to) continue;
                    const RoundRobin<Port>& exits = exits_[s][third];
                    gateways[to].add({exits[own % exits.size()], mixed_up(own, third, to)});
                }
            }
            gateways[to].begin_at(s);
        }
        return gateways;
    }

    SwitchId mixed_up(std::uint32_t own, std::uint32_t third, std::uint32_t to) const {
        SwitchId found = third * group_;
        for (std::uint32_t a = 0; a < group_; ++a) {
            for (const SwitchId end : far_ends(third * group_ + (a + own) % group_)) {
                if (end / group_ == to) found = third * group_ + a;
            }
        }
        return found;
    }

    void step(SwitchId at, SwitchId to, Packet& packet) {
        if (at / group_ == to / group_) {
            packet.port = to % group_;
            return;
        }
        packet.port = exits_[at][to / group_].take();
        if (packet.port >= group_) ++packet.route.global_hops;
    }

    void choose(SwitchId at, SwitchId target, Packet& packet, Ticks now, const Occupancy& occupancy) {
        Route& route = packet.route;
        const bool ugal = routing_ == Routing::ugal;
        route.stage = Stage::to_intermediate;
        if (at / group_ == target / group_) {
            const std::uint32_t a = random_.draw(now, group_, at % group_, target % group_);
            if (ugal && occupancy.queued(at, a) * 2 >= occupancy.queued(at, target % group_) * 1) {
                route.stage = Stage::minimal;
                packet.port = target % group_;
            } else {
                packet.port = a;
                route.intermediate = at / group_ * group_ + a;
            }
            return;
        }
        const std::uint32_t to = target / group_;
        const std::uint32_t via = random_.draw(now, groups_, at / group_, to);
        const Gateway gateway = gateways_[at][via].peek();
        const Port direct = exits_[at][to].peek();
        if (ugal && occupancy.queued(at, gateway.port) * 5 >= occupancy.queued(at, direct) * 3) {
            route.stage = Stage::minimal;
            packet.port = direct;
            exits_[at][to].advance();
            gateways_[at][to].advance();
        } else {
            packet.port = gateway.port;
            route.intermediate = gateway.intermediate;
            gateways_[at][via].advance();
        }
    }

    Routing routing_;
    HashedRandom random_;
    std::uint32_t per_switch_, group_, groups_, links_;
    std::vector<std::vector<RoundRobin<Port>>> exits_;
    std::vector<std::vector<RoundRobin<Gateway>>> gateways_;
};

}  // namespace

const std::map<std::string, std::vector<std::string>>& runnable() {
    static const std::map<std::string, std::vector<std::string>> all{
        {"torus", {"minimal", "valiant", "ugal"}},
        {"fattree3", {"round-robin"}},
        {"dragonfly1d", {"minimal", "valiant", "ugal"}},
    };
    return all;
}

std::unique_ptr<Network> make_network(const Machine& machine, std::uint64_t seed) {
    if (!machine.parallel_links.empty())
        throw std::invalid_argument("machine.parallel_links: model pisces-16 has none");
    if (machine.topology == "torus") return std::make_unique<Torus>(machine, seed);
    if (machine.topology == "fattree") return std::make_unique<FatTree>(machine);
    if (machine.topology == "dragonfly1d") return std::make_unique<Dragonfly>(machine, seed);
    throw std::invalid_argument("machine.topology: '" + machine.topology +
                                "' is unknown to model pisces-16; allowed: torus, fattree (three levels), dragonfly1d");
}

}  // namespace tramontane::pisces16
