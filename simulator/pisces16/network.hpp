/// \file
/// Wiring and routing of the three topologies that SST/macro 16.0 can run, by its rules: its round-robin counters, its
/// "random" numbers, its order of links.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine.hpp"

namespace tramontane::pisces16 {

/// A directed link to another switch.
struct Link {
    Port port;
    SwitchId to;
};

/// What UGAL asks of the switch it decides at.
class Occupancy {
public:
    virtual ~Occupancy() = default;
    /// Packets' worth of space taken behind an output port, over all virtual channels.
    [[nodiscard]] virtual std::int64_t queued(SwitchId at, Port port) const = 0;
};

class Network {
public:
    virtual ~Network() = default;
    [[nodiscard]] virtual SwitchId switches() const = 0;
    [[nodiscard]] virtual NodeId nodes() const = 0;
    [[nodiscard]] virtual Port ports() const = 0;  ///< most of any switch
    [[nodiscard]] virtual std::uint8_t channels() const = 0;
    /// In the order that numbers the links.
    [[nodiscard]] virtual std::vector<Link> links(SwitchId from) const = 0;
    [[nodiscard]] virtual SwitchId switch_of(NodeId node) const = 0;
    [[nodiscard]] virtual Port ejection_port(NodeId node) const = 0;
    /// Hops of the contention-free path.
    [[nodiscard]] virtual std::uint32_t logp_hops(SwitchId from, SwitchId to) const = 0;
    /// Sets the packet's output port and its virtual channel from there on. Counters advance, so once per visit.
    virtual void route(SwitchId at, Packet& packet, Ticks now, const Occupancy& occupancy) = 0;
};

/// What SST/macro 16.0 can run: shapes of networks by the names that the default model gives them, and their routings.
[[nodiscard]] const std::map<std::string, std::vector<std::string>>& runnable();

/// \throws std::invalid_argument for a topology or routing that SST/macro 16.0 cannot run
[[nodiscard]] std::unique_ptr<Network> make_network(const Machine& machine, std::uint64_t seed);

}  // namespace tramontane::pisces16
