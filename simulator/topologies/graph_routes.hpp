/// \file
/// Shortest routes in any graph, and virtual channels with which they can't deadlock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "link_table.hpp"
#include "memory/pages.hpp"
#include "memory/table.hpp"
#include "rules/rule.hpp"

namespace tramontane {

/// What is said of routes beside their ports: which destinations there are, where those lie in a table of ports, and
/// how packets take virtual channels.
///
/// A destination is a switch. Where the graph's `spread` lets nodes of a switch have routes of their own, nodes are
/// destinations, too, and follow the switches.
class RoutePlan {
public:
    static constexpr std::uint32_t width = 512;  ///< destinations whose routes are made at a time
    static constexpr std::uint32_t lane = 64;    ///< of them side by side in memory

    /// How packets take virtual channels.
    enum class Rule : std::uint8_t { by_destination, by_hop, by_dateline };

    [[nodiscard]] TRAMONTANE_RULE std::uint32_t destination(const LinkTable& graph, SwitchId target,
                                                            NodeId node) const {
        return by_node_ && graph.switch_of(node) == target ? switches_ + node : target;
    }
    [[nodiscard]] TRAMONTANE_RULE Rule rule() const { return rule_; }
    [[nodiscard]] std::uint8_t channels() const { return channels_; }
    [[nodiscard]] TRAMONTANE_RULE std::uint8_t layer(std::uint32_t destination) const {
        return layers_.empty() ? 0 : layers_[destination];
    }

protected:
    /// Of a destination, in the table.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t place(std::uint32_t destination) const {
        return place_.empty() ? destination : place_[destination];
    }
    /// Of a port, in the block of so many destinations in which the place is.
    [[nodiscard]] TRAMONTANE_RULE std::size_t in_block(std::uint32_t place, SwitchId at) const {
        return (std::size_t{place % width / lane} * switches_ + at) * lane + place % lane;
    }

    SwitchId switches_ = 0;
    bool by_node_ = false;
    Rule rule_ = Rule::by_destination;
    std::uint8_t channels_ = 1;
    Table<std::uint8_t> layers_;  // by destination; empty: all in one
    Table<std::uint32_t> place_;  // in the table, by destination; empty: the same
};

/// The port that each switch sends by, towards each destination: a table, made for 512 destinations at a time when the
/// first of them is asked for. A hop in a large graph misses the cache once, for the port, and reads no wire.
class GraphRoutes : public RoutePlan {
public:
    /// \param any_switch whether routes may begin and end at switches without nodes
    /// \throws Refusal for a graph whose datelines leave a cycle, or that needs more channels than there can be
    GraphRoutes(const LinkTable& graph, bool any_switch);

    /// The same routes, of which those to some nodes lie together in the table.
    GraphRoutes(const GraphRoutes& found, const std::vector<NodeId>& nodes);

    [[nodiscard]] Port port(SwitchId at, std::uint32_t destination) const {
        const std::uint32_t place = this->place(destination);
        return block(place / width).port(in_block(place, at));
    }
    [[nodiscard]] const Wire& next(SwitchId at, std::uint32_t destination) const {
        return *graph_.behind(at, port(at, destination));
    }
    [[nodiscard]] std::uint32_t distance(SwitchId from, SwitchId to) const;

    [[nodiscard]] std::uint32_t longest() const { return longest_; }
    /// Whether all routes fit into memory.
    [[nodiscard]] bool all_fit() const { return most_blocks_ >= blocks_.size(); }

private:
    friend class WholeRoutes;

    /// Ports, by lane of destinations, switch and destination in the lane.
    struct Block {
        Pages<std::uint8_t> narrow;
        Pages<Port> wide;  ///< where a switch has more than 256 ports
        [[nodiscard]] Port port(std::size_t place) const { return wide ? wide[place] : narrow[place]; }
    };

    [[nodiscard]] std::uint32_t destination_at(std::uint32_t place) const {
        return at_place_.empty() ? place : at_place_[place];
    }
    [[nodiscard]] SwitchId switch_of(std::uint32_t destination) const {
        return destination < graph_.switches() ? destination : graph_.switch_of(destination - graph_.switches());
    }
    /// Of all wires.
    [[nodiscard]] std::uint32_t number_of(SwitchId at, const Wire& wire) const {
        return static_cast<std::uint32_t>(graph_.first_wire(at) + (&wire - graph_.wires(at).data()));
    }
    [[nodiscard]] const Block& block(std::uint32_t number) const {
        const Block* const known = blocks_[number].load(std::memory_order_acquire);
        return known != nullptr ? *known : made(number);
    }
    [[gnu::cold]] const Block& made(std::uint32_t number) const;
    [[nodiscard]] std::unique_ptr<Block> make(std::uint32_t number) const;
    /// Which destinations of a lane are 0, 1 and 2 links away, modulo 3. As neighbours' distances differ by one at
    /// most, that tells which is nearer.
    using Distances = std::array<std::uint64_t, 3>;
    template <class Number>
    void choose(std::uint32_t first, const Distances* far, Number* chosen) const;
    template <class Nearer>
    [[nodiscard]] std::uint32_t spread_of_first(SwitchId at, std::uint32_t place, Nearer&& nearer) const;
    [[nodiscard]] bool wide() const { return graph_.ports() > 256; }
    /// Which of `count` equally near wires leads to a destination; the first of them has a spread.
    [[nodiscard]] std::uint32_t choice(SwitchId at, std::uint32_t destination, std::uint32_t count,
                                       std::uint32_t spread) const;
    void find_channels(bool any_switch);
    [[nodiscard]] std::uint32_t longest_route(bool any_switch) const;
    [[nodiscard]] std::vector<std::uint8_t> found_layers(bool any_switch, std::uint32_t most) const;
    [[nodiscard]] bool one_channel_holds(bool any_switch) const;
    [[nodiscard]] bool is_end(std::uint32_t destination, bool any_switch) const;
    /// Which wire each switch takes after which, on routes to a destination: numbers over all wires.
    template <class Visit>
    void each_dependency(std::uint32_t destination, bool any_switch, std::vector<SwitchId>& met, Visit&& visit) const;
    [[nodiscard]] bool datelines_hold(bool any_switch) const;

    static constexpr std::size_t most_bytes = std::size_t{3} << 29;  ///< of the table, 1.5 GiB

    const LinkTable& graph_;
    std::uint32_t destinations_;
    std::uint32_t expected_;  // of these, the first ones in the table: those that packets go to
    std::size_t most_blocks_;
    std::uint32_t longest_ = 0;
    std::vector<std::uint32_t> at_place_;  // destinations; empty: in their order

    mutable std::vector<std::atomic<const Block*>> blocks_;
    mutable std::vector<std::unique_ptr<Block>> kept_;
    mutable std::mutex making_;
};

/// The ports of all destinations that packets go to: for lanes of an accelerator, which can make no more of the table
/// when they ask for it.
class WholeRoutes : public RoutePlan {
public:
    explicit WholeRoutes(const GraphRoutes& routes);

    [[nodiscard]] TRAMONTANE_RULE Port port(SwitchId at, std::uint32_t destination) const {
        const std::uint32_t place = this->place(destination);
        const std::size_t i = std::size_t{place / width} * width * switches_ + in_block(place, at);
        return wide_.empty() ? narrow_[i] : wide_[i];
    }
    template <class Visit>
    void each_table(Visit&& visit) {
        visit(layers_);
        visit(place_);
        visit(narrow_);
        visit(wide_);
    }

private:
    Table<std::uint8_t> narrow_;
    Table<Port> wide_;  // where a switch has more than 256 ports
};

/// Links of the route between two switches.
template <class Routes>
[[nodiscard]] TRAMONTANE_RULE std::uint32_t route_length(const LinkTable& graph, const Routes& routes, SwitchId from,
                                                         SwitchId to) {
    std::uint32_t links = 0;
    for (; from != to; ++links) from = graph.behind(from, routes.port(from, to))->next;
    return links;
}

}  // namespace tramontane
