/// \file
/// Networks as lanes see them: by value, and without virtual functions, which an accelerator could not call on an
/// object that its host has made. Here, and nowhere else, it is decided which network's function that is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "rules/rule.hpp"
#include "topologies/all.hpp"
#include "topology.hpp"

namespace tramontane::device {

/// Calls a function of the network that there is, of which it says the class: else the call would be a virtual one.
#define TRAMONTANE_ASK(call)                                        \
    ask([&](const auto& network) {                                  \
        using Own = std::remove_cvref_t<decltype(network)>;         \
        if constexpr (std::is_same_v<Own, Topology>) {              \
            return network.call; /* a network that is not listed */ \
        } else {                                                    \
            return network.Own::call;                               \
        }                                                           \
    })

template <class List>
class NetworkOf;

template <class... Networks>
class NetworkOf<NetworkList<Networks...>> {
public:
    /// \param topology which is to outlive this
    explicit NetworkOf(const Topology& topology) : given_(&topology) { find<0, Networks...>(topology); }
    NetworkOf(const NetworkOf&) = delete;
    NetworkOf& operator=(const NetworkOf&) = delete;
    ~NetworkOf() {
        ask([](const auto& network) { destroy(network); });
    }

    /// Whether an accelerator can compute it.
    [[nodiscard]] bool is_computed() const { return kind_ < sizeof...(Networks); }
    /// Gives its tables another place.
    template <class Visit>
    void each_table(Visit&& visit) {
        ask([&](const auto& network) { move_tables(network, visit); });
    }

    // As Topology has them. Each is compiled once, as a function of its own: so many networks, inlined wherever a rule
    // asks one, would be too much of a kernel.

    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Port ports() const { return TRAMONTANE_ASK(ports()); }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE LinkClassId link_class(SwitchId at, Port port) const {
        return TRAMONTANE_ASK(link_class(at, port));
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE SwitchId switch_of(NodeId node) const {
        return TRAMONTANE_ASK(switch_of(node));
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Port ejection_port(NodeId node) const {
        return TRAMONTANE_ASK(ejection_port(node));
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE SwitchId neighbour(SwitchId at, Port port) const {
        return TRAMONTANE_ASK(neighbour(at, port));
    }
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Hop towards(SwitchId at, SwitchId target, NodeId node, Trail& trail,
                                                                const Draw& draw) const {
        return TRAMONTANE_ASK(towards(at, target, node, trail, draw));
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
    /// Copies the network, if it is one of the list.
    template <std::uint32_t number>
    void find(const Topology&) {
        kind_ = number;
    }
    template <std::uint32_t number, class First, class... Others>
    void find(const Topology& topology) {
        if (const auto* const found = dynamic_cast<const First*>(&topology)) {
            ::new (static_cast<void*>(bytes_)) First(*found);
            kind_ = number;
        } else {
            find<number + 1, Others...>(topology);
        }
    }

    template <class Ask>
    TRAMONTANE_RULE decltype(auto) ask(Ask&& question) const {
        return ask_from<0, Ask, Networks...>(question);
    }
    template <std::uint32_t number, class Ask>
    TRAMONTANE_RULE decltype(auto) ask_from(Ask& question) const {
#ifdef TRAMONTANE_ON_DEVICE
        fail<std::logic_error>("device: a network that no accelerator computes");
        using First = std::tuple_element_t<0, std::tuple<Networks...>>;
        return question(*reinterpret_cast<const First*>(bytes_));
#else
        return question(*given_);
#endif
    }
    template <std::uint32_t number, class Ask, class First, class... Others>
    TRAMONTANE_RULE decltype(auto) ask_from(Ask& question) const {
        if (kind_ == number) return question(*reinterpret_cast<const First*>(bytes_));
        return ask_from<number + 1, Ask, Others...>(question);
    }

    template <class Network>
    static void destroy(const Network& network) {
        if constexpr (!std::is_same_v<Network, Topology>) network.~Network();
    }
    template <class Network, class Visit>
    static void move_tables(const Network& network, Visit& visit) {
        if constexpr (requires(Network& own) { own.each_table(visit); }) {
            const_cast<Network&>(network).each_table(visit);  // it is this object's own
        }
    }

    const Topology* given_;
    std::uint32_t kind_ = 0;
    alignas(std::max({alignof(Networks)...})) std::byte bytes_[std::max({sizeof(Networks)...})];
};

#undef TRAMONTANE_ASK

using Network = NetworkOf<ComputedNetworks>;

}  // namespace tramontane::device
