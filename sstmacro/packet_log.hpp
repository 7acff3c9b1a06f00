/// \file
/// Counts packets and their queueing delays inside SST/macro, by the rules of the embedded simulator (delays.hpp).
///
/// PISCES fills none of SST/macro's statistics of delays. This is done from outside: switches and network interfaces of
/// ours (logged_pisces.cpp) tell the log what passes, and change nothing.
#pragma once

#include <sprockit/sim_parameters.h>
#include <sstmac/hardware/network/network_message.h>
#include <sstmac/hardware/pisces/pisces.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "delays.hpp"
#include "ticks.hpp"

namespace tramontane::sst {

/// Of all packets of a simulation. Only messages between two ranks are the workload's; those of the skeleton's own
/// collectives (MPI_Init, barriers, the result) are followed, since they share the network, but not counted.
///
/// A packet's time on an empty path counts from its turn at the injection port, i.e. when its message had been handed
/// to the network interface and the packet before it was through, to its last byte at the destination.
class PacketLog {
public:
    /// The log of this process; the first call says where it goes and what an empty path takes.
    ///
    /// Parameters (block `log` of the network interface): `file`, `ranks`, `congestion` (bins a side, 0 for none),
    /// `link_latency`, `slowest` (least bandwidth of link, injection and crossbar).
    static std::shared_ptr<PacketLog> open(SST::Params& params);
    static std::shared_ptr<PacketLog> opened();

    explicit PacketLog(SST::Params& params);
    PacketLog(const PacketLog&) = delete;
    PacketLog& operator=(const PacketLog&) = delete;
    /// Writes the file: one object of JSON with the keys of the embedded simulator's result.
    ~PacketLog();

    /// The head of a packet is at a switch.
    void at_switch(const sstmac::hw::PiscesPacket& packet, Ticks now);
    /// It is at its destination's network interface.
    void at_node(const sstmac::hw::PiscesPacket& packet, Ticks now);
    /// A message that is small enough to meet no packet has arrived.
    void bypassed(const sstmac::hw::NetworkMessage& message, Ticks now);

private:
    struct Trip {
        Ticks due;  ///< when its last byte would arrive had it met nobody, as far as its path is known
        std::uint32_t hops;
    };
    struct Source {
        Ticks open = 0;                                   ///< when the injection port is through with what it has had
        std::unordered_map<std::uint64_t, Ticks> posted;  ///< messages, and when the interface got them
    };
    /// What has come in of a message; nobody knows whose it is until its last packet is in.
    struct Arrival {
        const sstmac::hw::NetworkMessage* message = nullptr;
        std::uint64_t bytes = 0, hops = 0;
        Ticks last = 0;
        std::vector<Ticks> delays;
    };

    [[nodiscard]] Ticks turn(const sstmac::hw::PiscesPacket& packet, Ticks now);
    void complete(const Arrival& arrival);
    /// A get request makes the network interface send at once.
    void answer(const sstmac::hw::NetworkMessage& message, Ticks now);
    [[nodiscard]] std::string json() const;

    std::string file_;
    std::uint32_t ranks_, packet_;
    Ticks injection_latency_, injection_slot_, link_latency_, slowest_slot_;
    std::unordered_map<const sstmac::hw::PiscesPacket*, Trip> trips_;
    std::vector<Source> sources_;                                       ///< by node
    std::vector<std::unordered_map<std::uint64_t, Arrival>> arrivals_;  ///< by node and message
    std::uint64_t packets_ = 0, control_packets_ = 0, hops_ = 0;
    Delays delays_;
};

}  // namespace tramontane::sst
