/// \file
/// What the simulator is told: the machine and the run, in base units (ps, B/s, B, Hz). The names are those of a
/// point's canonical form; defaults and checks of the text form are the Python package's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tramontane {

// Bounds of quantities: within them the simulator's arithmetic can't overflow (ticks.hpp).
inline constexpr std::int64_t max_latency = 1'000'000'000'000;   ///< [ps]
inline constexpr std::int64_t max_time = 1'000'000'000'000'000;  ///< [ps] of overheads, jitter, noise
inline constexpr std::int64_t max_cost = 1'000'000'000'000;      ///< [ps] of a call, of an entry, of a byte
inline constexpr std::int64_t max_threads_of_rank = 1024;
inline constexpr std::int64_t min_bandwidth = 1'000'000;            ///< [B/s]
inline constexpr std::int64_t max_bandwidth = 200'000'000'000'000;  ///< [B/s]; a byte a tick
inline constexpr std::int64_t min_frequency = 1'000'000;            ///< [Hz]
inline constexpr std::int64_t max_frequency = 1'000'000'000'000;    ///< [Hz]
inline constexpr std::int64_t max_eager_limit = 1'000'000'000;      ///< [B]

/// Links of one kind. What a topology has, and what a machine says of it.
struct LinkClass {
    std::string name;
    std::int64_t bandwidth = 0, latency = 0;  ///< 0: as usual
};

/// Which of its node's network interfaces (NICs) a message leaves by, and which of the other node's it enters by.
enum class NicChoice : std::uint8_t {
    rank,         ///< one for each rank: its index on the node modulo their number
    block,        ///< one for each rank: neighbours on the node have the same
    round_robin,  ///< each in turn, message by message
    destination,  ///< at both ends, by the node of the rank that receives plus its index there
};

/// Links between each two switches that are linked by one of a class.
struct ParallelLinkCount {
    std::string link_class;
    std::int64_t links = 1;
};

struct Machine {
    std::string topology;                ///< a name of topologies/families.hpp
    std::vector<std::int64_t> geometry;  ///< the numbers of one of the family's shapes
    std::string table{};                 ///< a graph's: the path of its binary form; in a point the digest of that
    std::int64_t nodes_per_switch = 0;   ///< 0: not said
    std::int64_t global_links = 0;       ///< of a switch, where the family has them
    std::string arrangement;             ///< of the global links; empty: not said
    std::vector<ParallelLinkCount> parallel_links{};
    std::string routing;
    std::string model = "default";  ///< or pisces-16: SST/macro 16's own order of ties, hash and launch

    std::int64_t link_bandwidth = 0, link_latency = 0;  ///< of links of no class that is said
    std::vector<LinkClass> link_classes{};
    std::int64_t injection_bandwidth = 0, injection_latency = 0;
    bool round_robin_injection = false;   ///< serve a node's messages packet by packet in turn instead of one by one
    std::int64_t crossbar_bandwidth = 0;  ///< 0: unlimited
    std::int64_t logp_bandwidth = 0, logp_hop_latency = 0, logp_out_in_latency = 0;
    std::int64_t memory_bandwidth = 0;
    std::int64_t processor_frequency = 0;
    std::int64_t send_overhead = 0;     ///< LogP's o of the sender: its processor's time a message
    std::int64_t receive_overhead = 0;  ///< and of the receiver
    std::int64_t send_overhead_per_byte = 0, receive_overhead_per_byte = 0;  ///< LogGOPS's O
    std::int64_t rendezvous_overhead = 0;  ///< at each end, on top, of a message above eager_limit
    std::int64_t under_way_overhead = 0;   ///< of a send, for each send of its rank that is under way
    std::int64_t post_overhead = 0;        ///< of posting a receive
    std::int64_t message_gap = 0;          ///< LogP's g: between two messages of a NIC
    std::int64_t match_posted = 0;         ///< of a message, for an entry of the posted receives that it walks past
    std::int64_t match_unexpected = 0;     ///< of a receive, for an entry of the messages that came before theirs
    std::int64_t unpack_per_byte = 0;      ///< of a payload that is there
    bool unpacks_in_order = false;         ///< of the round's receives; else as payloads come
    std::int64_t threads = 1;              ///< of a rank that communicate
    std::int64_t lock = 0;                 ///< of each call, where they are several
    std::int64_t staging_bandwidth = 0;    ///< between an accelerator's memory and the host's; 0: nothing is staged
    std::int64_t staging_latency = 0;
    std::int64_t nics = 1;  ///< of a node: consecutive nodes of the topology, on one switch
    NicChoice nic_choice = NicChoice::rank;
    std::int64_t stripe_above = 0;           ///< payloads of more bytes take all NICs; 0: none does
    std::int64_t node_latency = 0;           ///< of a message between two ranks of a node; 0: not said
    std::int64_t node_bandwidth = 0;         ///< of such a message; 0: not said
    std::int64_t node_memory_bandwidth = 0;  ///< of all such messages of a node together; 0: unlimited
    bool copies_share_memory = false;        ///< copies of eager messages are served by it, too
    std::int64_t packet = 0;
    std::int64_t buffer = 0;  ///< of each link, divided by the virtual channels

    std::int64_t eager_limit = 0;      ///< larger messages use rendezvous
    std::int64_t short_limit = 0;      ///< messages up to here travel with their transaction
    std::int64_t negligible_size = 0;  ///< messages up to here bypass the packet network
    bool hardware_progress = false;    ///< rendezvous go on while ranks work; else only within MPI calls
    bool direct_eager = false;         ///< eager messages whose receives are posted when they come need no copy there

    /// Whether a rank's messages go through several of its node's NICs.
    [[nodiscard]] bool spreads_messages() const {
        return nics > 1 &&
               (nic_choice == NicChoice::round_robin || nic_choice == NicChoice::destination || stripe_above > 0);
    }
};

}  // namespace tramontane
