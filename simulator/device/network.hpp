/// \file
/// Networks as lanes see them: by value, and without virtual functions, which an accelerator could not call on an
/// object that its host has made. Here, and nowhere else, it is decided which network's function that is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "rules/rule.hpp"
#include "topologies/all.hpp"
#include "topologies/parallel_links.hpp"
#include "topologies/topology.hpp"

namespace tramontane::device {

/// A network of a class as lanes see it; none of another class.
template <class Network>
[[nodiscard]] std::optional<Network> as_lanes_see(const Topology& topology) {
    const auto* const found = dynamic_cast<const Network*>(&topology);
    return found == nullptr ? std::nullopt : std::optional<Network>(*found);
}
template <>
[[nodiscard]] inline std::optional<GraphNetwork<WholeGraph>> as_lanes_see(const Topology& topology) {
    return whole_graph(topology);
}

/// Calls a function of the network that there is, of which it says the class: else the call would be a virtual one.
#define TRAMONTANE_ASK(call)                                                 \
    ask([&](const auto& network) {                                           \
        using Own [[maybe_unused]] = std::remove_cvref_t<decltype(network)>; \
        return network.Own::call;                                            \
    })

template <class List>
class NetworkOf;

template <class... Networks>
class NetworkOf<NetworkList<Networks...>> {
public:
    /// \throws std::logic_error for a network that is not listed
    explicit NetworkOf(const Topology& topology) {
        const std::optional<ParallelNetwork> parallel = parallel_network(topology);
        if (parallel) parallel_ = parallel->ports;
        find<0, Networks...>(parallel ? parallel->single : topology);
    }
    NetworkOf(const NetworkOf&) = delete;
    NetworkOf& operator=(const NetworkOf&) = delete;
    ~NetworkOf() {
        ask([](const auto& network) { destroy(network); });
    }

    /// Gives its tables another place.
    template <class Visit>
    void each_table(Visit&& visit) {
        parallel_.each_table(visit);
        ask([&](const auto& network) { move_tables(network, visit); });
    }

    // As Topology has them. Each is compiled once, as a function of its own: so many networks, inlined wherever a rule
    // asks one, would be too much of a kernel.

    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Port ports() const {
        return is_parallel() ? parallel_.ports() : TRAMONTANE_ASK(ports());
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE LinkClassId link_class(SwitchId at, Port port) const {
        if (is_parallel()) port = parallel_.single(port);
        return TRAMONTANE_ASK(link_class(at, port));
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE SwitchId switch_of(NodeId node) const {
        return TRAMONTANE_ASK(switch_of(node));
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Port ejection_port(NodeId node) const {
        const Port port = TRAMONTANE_ASK(ejection_port(node));
        return is_parallel() ? parallel_.ejection(port) : port;
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE SwitchId neighbour(SwitchId at, Port port) const {
        if (is_parallel()) port = parallel_.single(port);
        return TRAMONTANE_ASK(neighbour(at, port));
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Hop towards(SwitchId at, SwitchId target, NodeId node, Trail& trail,
                                                                const Draw& draw) const {
        const Hop hop = TRAMONTANE_ASK(towards(at, target, node, trail, draw));
        return is_parallel() ? parallel_.taken(hop, at, draw) : hop;
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE std::uint32_t distance(SwitchId from, SwitchId to) const {
        return TRAMONTANE_ASK(distance(from, to));
    }
    [[gnu::noinline]] TRAMONTANE_RULE void turn(Trail& trail) const { TRAMONTANE_ASK(turn(trail)); }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE SwitchId intermediate(SwitchId from, SwitchId to, const Draw& draw,
                                                                          bool elsewhere) const {
        return TRAMONTANE_ASK(intermediate(from, to, draw, elsewhere));
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Alternatives alternatives(SwitchId at, NodeId node) const {
        return TRAMONTANE_ASK(alternatives(at, node));
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE std::uint32_t dimensions() const {
        return TRAMONTANE_ASK(dimensions());
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Row row(SwitchId at, SwitchId target,
                                                            std::uint32_t dimension) const {
        return TRAMONTANE_ASK(row(at, target, dimension));
    }

private:
    [[nodiscard]] TRAMONTANE_RULE bool is_parallel() const { return parallel_.ports() > 0; }

    template <std::uint32_t number>
    [[noreturn]] static void find(const Topology&) {
        throw std::logic_error("device: a network that is not listed");
    }
    template <std::uint32_t number, class First, class... Others>
    void find(const Topology& topology) {
        if (const std::optional<First> found = as_lanes_see<First>(topology)) {
            ::new (static_cast<void*>(bytes_)) First(*found);
            kind_ = number;
        } else {
            find<number + 1, Others...>(topology);
        }
    }

    template <class Ask>
    TRAMONTANE_RULE decltype(auto) ask(Ask&& question) const {
        return ask_one<0, sizeof...(Networks)>(question);
    }
    /// By halves: to ask whether it is one after the other takes a lane many steps.
    template <std::uint32_t first, std::uint32_t end, class Ask>
    TRAMONTANE_RULE decltype(auto) ask_one(Ask& question) const {
        if constexpr (end - first == 1) {
            using Found = std::tuple_element_t<first, std::tuple<Networks...>>;
            return question(*reinterpret_cast<const Found*>(bytes_));
        } else {
            constexpr std::uint32_t middle = first + (end - first) / 2;
            return kind_ < middle ? ask_one<first, middle>(question) : ask_one<middle, end>(question);
        }
    }

    template <class Network>
    static void destroy(const Network& network) {
        network.~Network();
    }
    template <class Network, class Visit>
    static void move_tables(const Network& network, Visit& visit) {
        if constexpr (requires(Network& own) { own.each_table(visit); }) {
            const_cast<Network&>(network).each_table(visit);  // it is this object's own
        }
    }

    ParallelPorts parallel_;  // no ports where links are single
    std::uint32_t kind_ = 0;
    alignas(std::max({alignof(Networks)...})) std::byte bytes_[std::max({sizeof(Networks)...})];
};

#undef TRAMONTANE_ASK

using Network = NetworkOf<AllNetworks>;

}  // namespace tramontane::device
