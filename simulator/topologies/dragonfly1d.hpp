/// \file
/// Dragonflies with all-to-all groups.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "dragonflies.hpp"
#include "geometry.hpp"
#include "memory/table.hpp"

namespace tramontane {

/// Dragonfly of SST/macro 16.0 with one-dimensional groups: a switches, linked all-to-all, and h global links a switch,
/// arranged in a circle: switch A of group G is linked to switch A of the groups G + o and G - o for its h / 2 offsets
/// o = A h / 2 + 1 ... (A + 1) h / 2; a link to the own group is left out. Switch A of group G is A + a G. Ports: by
/// switch of the group (the own one is unused), then up and down of each offset in turn, then the nodes.
///
/// Minimal route: an own link to the target's group, at random if there are several; otherwise to one of the switches
/// of the group that have one, at random, and on from there. At most three hops, of which one is global; a shorter way
/// by a gateway that is linked to the target itself is not looked for.
class CirculantDragonfly final : public Topology {
public:
    explicit CirculantDragonfly(const Machine& m) {
        in_group_ = checked(m.geometry[0], "switches a group");
        groups_ = checked(m.geometry[1], "groups");
        per_switch_ = checked(m.nodes_per_switch, "nodes of a switch", 1, "nodes_per_switch");
        check_global_links(m.global_links);
        ports_ = checked_ports(std::int64_t{in_group_} + m.global_links + per_switch_);
        half_ = static_cast<Size>(m.global_links / 2);
        const Size offsets = checked_product({in_group_, half_}, "global links");
        switches_ = checked_product({in_group_, groups_}, "switches");
        nodes_ = checked_product({switches_, per_switch_}, "nodes");
        find_gateways(offsets);
    }
    SwitchId switches() const override { return switches_; }
    NodeId nodes() const override { return nodes_; }
    NodeId nodes_per_switch() const override { return per_switch_; }
    std::uint32_t groups() const override { return groups_; }
    TRAMONTANE_RULE Port ports() const override { return ports_; }
    std::int64_t radix() const override { return ports_; }  // SST/macro counts the unused port, too
    std::int64_t links() const override {
        return std::int64_t{groups_} * in_group_ * (in_group_ - 1) / 2 +
               std::int64_t{groups_} * static_cast<std::int64_t>(gateways_.size()) / 2;
    }
    std::vector<LinkClass> link_classes() const override { return dragonfly_link_classes(); }
    TRAMONTANE_RULE LinkClassId link_class(SwitchId, Port port) const override {
        return port < in_group_ ? 1 : port < in_group_ + 2 * half_ ? 2 : 0;
    }
    TRAMONTANE_RULE SwitchId switch_of(NodeId node) const override { return node / per_switch_; }
    TRAMONTANE_RULE Port ejection_port(NodeId node) const override {
        return static_cast<Port>(in_group_ + 2 * half_ + node % per_switch_);
    }
    std::uint8_t channels() const override { return 2; }
    std::uint8_t channels_by_hop() const override { return 6; }

    TRAMONTANE_RULE SwitchId neighbour(SwitchId at, Port port) const override {
        const Size own = at % in_group_, group = at / in_group_;
        if (port < in_group_) return group * in_group_ + port;
        const Size offset = (own * half_ + (port - in_group_) / 2 + 1) % groups_;
        const Size other = (port - in_group_) % 2 == 0 ? group + offset : group + groups_ - offset;
        return other % groups_ * in_group_ + own;
    }

    TRAMONTANE_RULE Hop towards(SwitchId at, SwitchId target, NodeId, Trail& trail, const Draw& draw) const override {
        const Size own = at % in_group_, group = at / in_group_;
        const Size aim = target % in_group_, other = target / in_group_;
        if (group == other) return {static_cast<Port>(aim), static_cast<std::uint8_t>(trail.crossed ? 1 : 0)};
        const auto channel = static_cast<std::uint8_t>(trail.crossed ? 1 : 0);
        const Gateways all = gateways(group, other);
        const Gateways mine = of_switch(all, own);
        if (mine.empty() || (trail.aims && aim != own)) {
            if (trail.aims) return {static_cast<Port>(aim), channel};
            return {static_cast<Port>(distinct(all, at, draw)), channel};
        }
        trail.crossed = true;
        return {mine[draw.below(mine.size(), link_choice | at)].port, channel};
    }

    TRAMONTANE_RULE void turn(Trail& trail) const override { trail.crossed = false; }

    TRAMONTANE_RULE std::uint32_t distance(SwitchId from, SwitchId to) const override {
        if (from == to) return 0;
        const Size a = from % in_group_, b = to % in_group_;
        if (from / in_group_ == to / in_group_) return 1;
        const Gateways all = gateways(from / in_group_, to / in_group_);
        if (!of_switch(all, a).empty()) return a == b ? 1 : 2;
        return of_switch(all, b).empty() ? 3 : 2;
    }

    template <class Visit>
    void each_table(Visit&& visit) {
        visit(begins_);
        visit(gateways_);
    }

    bool non_minimal_may_be_shorter() const override { return true; }  // by two global links

    /// In another group, a switch that is linked to another switch of the own group, so that the first leg is as short
    /// as it can be: the links of other switches are equally likely.
    TRAMONTANE_RULE SwitchId intermediate(SwitchId from, SwitchId to, const Draw& draw, bool elsewhere) const override {
        const Size a = from / in_group_, b = to / in_group_;
        if (a == b && !elsewhere) return inside(from, to, in_group_, draw);
        const Size other_groups = groups_ - (a == b ? 1 : 2);
        if (other_groups == 0) return from;
        const Size group = skip(static_cast<Size>(draw.below(other_groups)), a, b);
        const Gateways all = gateways(a, group);
        const Gateways mine = of_switch(all, from % in_group_);
        const auto others = all.size() - mine.size();
        if (others == 0) return group * in_group_ + from % in_group_;
        auto pick = draw.below(others, entry_choice);
        if (all.data() + pick >= mine.data()) pick += mine.size();
        return group * in_group_ + all[pick].at;
    }

private:
    struct Gateway {
        Size at;  ///< switch of the group
        Port port;
    };
    using Gateways = std::span<const Gateway>;
    static constexpr std::uint64_t link_choice = 1ULL << 40, gateway_choice = 2ULL << 40, entry_choice = 3ULL << 40;

    void check_global_links(std::int64_t links) const {
        const std::int64_t offsets = groups_ / 2,
                           least = std::max<std::int64_t>(2, 2 * ((offsets + in_group_ - 1) / in_group_));
        if (links % 2 == 0 && links >= least) return;
        throw Refusal("global_links",
                      links == 0 ? "missing, but topology dragonfly1d needs it" : "found " + std::to_string(links),
                      "an even number, " + std::to_string(least) + " or more, with which " + std::to_string(in_group_) +
                          " switches reach " + std::to_string(groups_) + " groups");
    }

    /// Lists the links that lead `apart` groups further, for each `apart`, by switch.
    void find_gateways(Size offsets) {
        const auto each = [&](auto&& found) {
            for (Size o = 1; o <= offsets; ++o) {
                const Size apart = o % groups_, at = (o - 1) / half_;
                if (apart == 0) continue;
                const Size port = in_group_ + 2 * ((o - 1) % half_);
                found(apart, Gateway{at, static_cast<Port>(port)});
                found(groups_ - apart, Gateway{at, static_cast<Port>(port + 1)});
            }
        };
        std::vector<Size> begins(std::size_t{groups_} + 1, 0);
        each([&](Size apart, Gateway) { ++begins[apart + 1]; });
        for (Size apart = 0; apart < groups_; ++apart) begins[apart + 1] += begins[apart];
        std::vector<Gateway> gateways(begins[groups_]);
        auto next = begins;
        each([&](Size apart, Gateway gateway) { gateways[next[apart]++] = gateway; });
        begins_ = std::move(begins);
        gateways_ = std::move(gateways);
    }

    [[nodiscard]] TRAMONTANE_RULE Gateways gateways(Size from, Size to) const {
        const Size apart = to >= from ? to - from : to + groups_ - from;
        return {gateways_.data() + begins_[apart], gateways_.data() + begins_[apart + 1]};
    }

    [[nodiscard]] TRAMONTANE_RULE static Gateways of_switch(Gateways all, Size at) {
        std::size_t first = 0;
        while (first < all.size() && all[first].at < at) ++first;
        std::size_t last = first;
        while (last < all.size() && all[last].at == at) ++last;
        return all.subspan(first, last - first);
    }

    /// One of the switches that have a link, however many they have.
    [[nodiscard]] TRAMONTANE_RULE static Size distinct(Gateways all, SwitchId here, const Draw& draw) {
        Size count = 0;
        for (std::size_t i = 0; i < all.size(); ++i) count += i == 0 || all[i].at != all[i - 1].at;
        auto pick = draw.below(count, gateway_choice | here);
        for (std::size_t i = 0;; ++i) {
            if (i > 0 && all[i].at == all[i - 1].at) continue;
            if (pick-- == 0) return all[i].at;
        }
    }

    Size in_group_, groups_, per_switch_, half_, switches_, nodes_;
    Port ports_;
    Table<Size> begins_;  // by groups apart
    Table<Gateway> gateways_;
};

inline const Family& circulant_dragonfly_family() {
    static const Family family{
        .name = "dragonfly1d",
        .shapes = {{.name = "dragonfly1d", .text = "[a, G]: G groups of a switches", .keys = {"a", "G"}}},
        .routings = dragonfly_routings(),
        .arrangements = {"circulant"},
        .parallel_links = true,
        .make = [](const Machine& m) -> std::unique_ptr<Topology> { return std::make_unique<CirculantDragonfly>(m); },
        .example = {4, 9},
        .example_links = 2,
    };
    return family;
}

}  // namespace tramontane
