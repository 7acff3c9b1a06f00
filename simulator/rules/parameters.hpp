/// \file
/// What rules know of a machine, in ticks; and what they count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "machine.hpp"
#include "rules/costs.hpp"
#include "rules/rule.hpp"
#include "ticks.hpp"
#include "topologies/links.hpp"
#include "topologies/topology.hpp"

namespace tramontane {

/// A machine's parameters in ticks.
struct Parameters {
    Parameters(const Machine& m, const Topology& topology)
        : links(m, topology),
          link(links.rates.front()),
          injection_slot(byte_time(m.injection_bandwidth)),
          crossbar_slot(m.crossbar_bandwidth == 0 ? 0 : byte_time(m.crossbar_bandwidth)),
          least_slot(slowest_slot(link)),
          logp_slot(byte_time(m.logp_bandwidth)),
          memory_slot(byte_time(m.memory_bandwidth)),
          instruction(byte_time(m.processor_frequency)),
          injection_latency(from_picoseconds(m.injection_latency)),
          logp_hop_latency(from_picoseconds(m.logp_hop_latency)),
          logp_out_in_latency(from_picoseconds(m.logp_out_in_latency)),
          costs(m),
          message_gap(from_picoseconds(m.message_gap)),
          node_latency(from_picoseconds(m.node_latency)),
          node_memory_slot(m.node_memory_bandwidth == 0 ? 0 : byte_time(m.node_memory_bandwidth)),
          node_slot(m.node_bandwidth == 0 ? 0 : std::max(byte_time(m.node_bandwidth), node_memory_slot)),
          packet(static_cast<std::uint32_t>(m.packet)),
          buffer(m.buffer),
          eager_limit(m.eager_limit),
          short_limit(m.short_limit),
          negligible_size(m.negligible_size),
          round_robin(m.round_robin_injection),
          hardware_progress(m.hardware_progress),
          direct_eager(m.direct_eager) {}

    [[nodiscard]] Ticks lookahead() const {
        return std::min({links.least_latency(), injection_latency, logp_out_in_latency});
    }

    /// A byte's time at the slowest server of a way of which this is the slowest link [ticks].
    [[nodiscard]] TRAMONTANE_RULE Ticks slowest_slot(const LinkRate& slowest_link) const {
        return std::max({slowest_link.slot, injection_slot, crossbar_slot});
    }

    /// Whether switches have a crossbar that packets wait for.
    [[nodiscard]] TRAMONTANE_RULE bool has_crossbar() const { return crossbar_slot > 0; }
    /// Packets of a message. Nearly all are short, and for these a short division will do.
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t packets_of(std::uint64_t bytes) const {
        const std::uint64_t filled = bytes + packet - 1;
        if (filled >> 32 != 0) [[unlikely]]
            return filled / packet;
        return static_cast<std::uint32_t>(filled) / packet;
    }

    /// Time a rank is busy copying n bytes: 3 instructions a word; above 64 B the memory's bandwidth comes on top
    /// (SST/macro 16.0's default cost of eager messages).
    [[nodiscard]] TRAMONTANE_RULE Ticks copy(std::int64_t n) const {
        const auto words = static_cast<Ticks>(n) / 8;
        constexpr std::int64_t many = 1 << 20;  // fewer can't take too long
        if (n > many) [[unlikely]]
            return checked_product(words, 3 * instruction + 8 * memory_slot);
        return 3 * words * instruction + (words > 8 ? static_cast<Ticks>(n) * memory_slot : 0);
    }

    LinkRates links;
    LinkRate link;  ///< the fastest; all links where they are alike
    Ticks injection_slot, crossbar_slot;
    Ticks least_slot;  ///< at the slowest server of the fastest way
    Ticks logp_slot, memory_slot, instruction;
    Ticks injection_latency, logp_hop_latency, logp_out_in_latency;
    Costs costs;
    Ticks message_gap;                                ///< from one message's begin at a NIC to the next one's
    Ticks node_latency, node_memory_slot, node_slot;  ///< between two ranks of a node; the slower of its servers
    std::uint32_t packet;
    std::int64_t buffer;
    std::int64_t eager_limit, short_limit, negligible_size;
    bool round_robin;
    bool hardware_progress;  ///< messages go on while their rank works
    bool direct_eager;       ///< an eager message whose receive is posted when it comes is where it belongs
};

struct Statistics {
    std::uint64_t messages = 0;         ///< of the workload
    std::uint64_t bytes = 0;            ///< of the workload
    std::uint64_t packets = 0;          ///< of the workload
    std::uint64_t control_packets = 0;  ///< of headers, get requests, acknowledgements
    std::uint64_t hops = 0;             ///< switch visits of all packets
    std::uint64_t events = 0;
    std::uint64_t delivered_bytes = 0;  ///< of the workload

    TRAMONTANE_RULE void add(const Statistics& other) {
        messages += other.messages;
        bytes += other.bytes;
        packets += other.packets;
        control_packets += other.control_packets;
        hops += other.hops;
        events += other.events;
        delivered_bytes += other.delivered_bytes;
    }
};

/// Adds to a count, which stays the largest number where it would wrap: checked_count refuses it then.
TRAMONTANE_RULE inline void add_count(std::uint64_t& count, std::uint64_t more) {
    count = more > ~count ? ~std::uint64_t{0} : count + more;
}

__extension__ using WideCount = unsigned __int128;

/// A count of the whole run; records and datasets have 64 bits, with a sign.
/// \throws std::runtime_error where that is not enough
[[nodiscard]] inline std::uint64_t checked_count(WideCount count, const char* what) {
    if (count >> 63U != 0) {
        throw std::runtime_error("workload: found 2^63 or more " + std::string(what) + " in all, allowed: less");
    }
    return static_cast<std::uint64_t>(count);
}

}  // namespace tramontane
