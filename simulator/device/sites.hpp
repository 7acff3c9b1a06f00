/// \file
/// What lanes share out among themselves.
#pragma once

#include <cstdint>

#include "divisor.hpp"
#include "rules/events.hpp"
#include "rules/rule.hpp"
#include "topologies/topology.hpp"

namespace tramontane::device {

/// What one lane handles in a window, event after event: a node, a switch, or a port of a switch.
using SiteId = std::uint32_t;

/// How a network is divided into sites. A busy switch would hold up all lanes: what a window takes is how long the
/// busiest of them is at it. So where packets at one port of a switch have nothing to do with those at another, each
/// port is a site of its own: there is no crossbar, and no route depends on queues.
///
/// Then a packet's port at a switch must be known before the packet comes there: it is routed ahead.
class Sites {
public:
    /// \param ports of each switch that are sites; 1: a switch is one site
    Sites(SwitchId switches, std::uint32_t ports, std::uint32_t nodes)
        : switches_(switches), ports_(ports), of_switches_(switches * ports), count_(of_switches_ + nodes) {}

    /// Whether a port is a site of its own.
    [[nodiscard]] TRAMONTANE_RULE bool by_port() const { return ports_.value() > 1; }
    [[nodiscard]] TRAMONTANE_RULE SiteId count() const { return count_; }
    /// Before it are the sites of switches, from it on nodes.
    [[nodiscard]] TRAMONTANE_RULE SiteId first_node() const { return of_switches_; }
    /// \param port of the switch, if it is one
    [[nodiscard]] TRAMONTANE_RULE SiteId of(LpId lp, Port port) const {
        if (lp >= switches_) return lp - switches_ + of_switches_;
        return by_port() ? lp * ports_.value() + port : lp;
    }
    /// \pre by_port(), and it is one
    [[nodiscard]] TRAMONTANE_RULE Port port(SiteId site) const { return static_cast<Port>(ports_.remainder(site)); }
    [[nodiscard]] TRAMONTANE_RULE LpId lp(SiteId site) const {
        if (site >= of_switches_) return site - of_switches_ + switches_;
        return by_port() ? ports_.quotient(site) : site;
    }

private:
    SwitchId switches_;
    Divisor ports_;
    SiteId of_switches_, count_;
};

}  // namespace tramontane::device
