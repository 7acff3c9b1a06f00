/// \file
/// What all lanes have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "delays.hpp"
#include "device/agenda.hpp"
#include "device/lane_state.hpp"
#include "device/link_bins.hpp"
#include "device/memory.hpp"
#include "device/network.hpp"
#include "device/records.hpp"
#include "device/room.hpp"
#include "device/rounds.hpp"
#include "device/sites.hpp"
#include "device/tally.hpp"
#include "engine/node_store.hpp"
#include "memory/checkpoint.hpp"
#include "noise.hpp"
#include "placement/allocation.hpp"
#include "placement/places.hpp"
#include "rules/arbiter.hpp"
#include "rules/channel.hpp"
#include "rules/graph_records.hpp"
#include "rules/link_meter.hpp"
#include "rules/node_records.hpp"
#include "rules/parameters.hpp"
#include "rules/routing.hpp"
#include "rules/switch.hpp"
#include "rules/waiting.hpp"
#include "setting.hpp"
#include "statistics/first_bins.hpp"

namespace tramontane::device {

/// What is known of why ranks wait, where that is asked for: a diary for each record of a transaction.
struct WaitingArrays {
    /// \param accesses whether ranks read or write
    WaitingArrays(Memory& memory, bool wanted, bool accesses, std::uint32_t ranks_, std::size_t transactions)
        : on(wanted) {
        if (!wanted) return;
        ranks = Array<WaitingOfRank>(memory, ranks_);
        if (accesses) storage = Array<Ticks>(memory, ranks_);
        diaries = Array<Diary>(memory, transactions);
        rests = Array<DiaryRest>(memory, transactions);
    }
    /// While no lane runs.
    void grow(Memory& memory, std::size_t transactions) {
        if (!on || transactions <= diaries.size()) return;
        grow(memory, diaries, transactions);
        grow(memory, rests, transactions);
    }

    [[nodiscard]] Ticks storage_of(std::uint32_t rank) const { return storage.size() > 0 ? storage[rank] : 0; }

    const bool on;
    Array<WaitingOfRank> ranks;
    Array<Ticks> storage;  ///< how long each rank waited for it; none where none does
    Array<Diary> diaries;
    Array<DiaryRest> rests;

private:
    template <class T>
    static void grow(Memory& memory, Array<T>& array, std::size_t count) {
        Array<T> larger(memory, count);
        memory.copy(larger.get(), array.get(), array.bytes());
        array = std::move(larger);
    }
};

/// Of a rank that unpacks in the order of its receives: the round that it is in.
struct UnpackingOrder {
    static constexpr std::uint32_t no_round = ~std::uint32_t{0};
    std::uint32_t round;
    std::uint32_t next;  ///< the first receive that has not been unpacked
    std::uint32_t receives;
};

/// What ranks have to unpack, where that takes time.
struct UnpackingArrays {
    UnpackingArrays(Memory& memory, const Machine& machine, const RoundTable& rounds, std::uint32_t ranks)
        : in_order(machine.unpack_per_byte > 0 && machine.unpacks_in_order),
          words((static_cast<std::uint32_t>(rounds.most_receives()) + 31) / 32) {
        if (machine.unpack_per_byte > 0) due = Array<Ticks>(memory, ranks);
        if (!in_order) return;
        orders = Array<UnpackingOrder>(memory, ranks);
        std::fill_n(orders.get(), ranks, UnpackingOrder{UnpackingOrder::no_round, 0, 0});
        there = Array<std::uint32_t>(memory, std::size_t{words} * ranks);
    }
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t* words_of(std::uint32_t rank) const {
        return there.get() + std::size_t{rank} * words;
    }
    /// Whether a receive's payload is there.
    [[nodiscard]] TRAMONTANE_RULE bool is_there(std::uint32_t rank, std::uint32_t receive) const {
        return (words_of(rank)[receive / 32] >> receive % 32 & 1) != 0;
    }
    TRAMONTANE_RULE void come(std::uint32_t rank, std::uint32_t receive) const {
        words_of(rank)[receive / 32] |= std::uint32_t{1} << receive % 32;
    }
    /// Writes or reads all of it, as Unpacking does.
    void keep(StateFile& file, const Schedule& schedule);

    const bool in_order;
    const std::uint32_t words;     ///< of a rank, with a bit for each receive of a round
    Array<Ticks> due;              ///< by rank: what is there takes so long; none where it takes no time
    Array<UnpackingOrder> orders;  ///< by rank; none where payloads are unpacked as they come
    Array<std::uint32_t> there;    ///< by rank and word; likewise
};

/// An event of another site or a later window, as a rule sends it; a lane keeps so many at most.
struct Sent {
    static constexpr std::uint32_t most = 16;

    Ticks time;
    LpId lp;
    std::uint32_t code;
    Index item;  ///< packet or transaction; bytes of credits
};

struct Common {
    /// \param memory which is to outlive this
    /// \param stride see Agenda
    /// \param in_step lanes that count together
    /// \throws std::invalid_argument for what is too large
    Common(Memory& memory, const Machine& machine, const Setting& setting, const Schedule& schedule, const Run& run,
           std::uint32_t lanes_, std::uint32_t stride, std::uint32_t in_step)
        : lanes(lanes_),
          phases(static_cast<std::uint32_t>(schedule.phases().size())),
          parameters(machine, *setting.topology),
          seed(run.seed),
          links(run.links),
          switches(setting.topology->switches()),
          places(setting.places),
          allocation(setting.allocation),
          network(*setting.topology),
          router(setting.router, network),
          rounds(memory, schedule, {.eager = machine.eager_limit, .buffer = machine.buffer * setting.places.nics()},
                 machine.unpack_per_byte > 0 && machine.unpacks_in_order),
          noise(run.noise, run.seed),
          sites(switches, ports_as_sites(), places.nodes()),
          memory_(memory),
          tables_(memory),
          packets(memory, room(packets_of_window())),
          transactions(memory, room(rounds.most_at_once())),
          messages(memory, room(std::min(rounds.most_at_once(), payloads_of_window() + places.count()))),
          credits(memory, room(payloads_of_window() / Credits::size + 2 * std::uint64_t{places.count()})),
          gaps(memory, room(4 * std::uint64_t{switches})),
          open_rounds(memory, room(setting.ranks)),
          waiting(memory, run.waiting_bins > 0, schedule.reads_or_writes(), setting.ranks, transactions.room()),
          unpacking(memory, machine, rounds, setting.ranks),
          agenda(memory, run.window == 0 ? parameters.lookahead() : std::min(run.window, parameters.lookahead()),
                 sites.count(), room(packets_of_window() + 2 * std::uint64_t{places.nodes()}), stride),
          states(memory, lanes),
          outbox(memory, std::size_t{lanes} * Sent::most),
          lanes_of_tally(in_step),
          tallies(memory, (lanes + in_step - 1) / in_step),
          delay_bounds(memory, delay_bins::count),
          delay_cells(memory, delay_bins::of_cell.size()),
          congestion_bins(std::min(run.congestion_bins, setting.ranks)),
          ranks(setting.ranks),
          congestion(memory, std::size_t{congestion_bins} * congestion_bins),
          ends(memory, lanes),
          spans(memory, std::size_t{lanes} * phases),
          totals(memory, std::size_t{lanes} * phases),
          link_bins(memory, links.bins, std::size_t{switches} * network.ports() + places.count(),
                    surely_counted(schedule, run, parameters, setting)) {
        std::copy(delay_bins::lower.begin(), delay_bins::lower.end(), delay_bounds.get());
        std::copy(delay_bins::of_cell.begin(), delay_bins::of_cell.end(), delay_cells.get());
        for (std::uint32_t number = 0; number < lanes; ++number) states[number].number = number;
        std::fill_n(ends.get(), ends.size(), NodeRecords::Ends{});
        std::fill_n(spans.get(), spans.size(), NodeRecords::Span{});
        tables_(parameters.links.rates);
        tables_(parameters.links.of_class);
        places.each_table(tables_);
        allocation.each_table(tables_);
        network.each_table(tables_);
    }

    static constexpr std::uint32_t pools = 7;
    /// Between two windows, for each of the pools. \return whether the launch must end for `grow`
    TRAMONTANE_RULE bool turn_records(std::uint32_t pool) { return counts_[pool]->turn(); }
    /// The same for all of them.
    bool turn_records() {
        bool crowded = false;
        for (std::uint32_t pool = 0; pool < pools; ++pool) crowded |= turn_records(pool);
        return crowded;
    }
    /// \return whether there is more room for any
    bool grow() {
        bool any = packets.grow();
        any |= transactions.grow();
        waiting.grow(memory_, transactions.room());
        any |= messages.grow();
        any |= credits.grow();
        any |= gaps.grow();
        any |= open_rounds.grow();
        any |= agenda.events().grow();
        return any;
    }

    const std::uint32_t lanes, phases;
    Parameters parameters;
    const std::uint64_t seed;
    const LinkCounting links;
    const SwitchId switches;
    Places places;
    Allocation allocation;
    Network network;
    const RouterIn<Network> router;
    const RoundTable rounds;
    const Noise noise;
    const Sites sites;

private:
    Memory& memory_;
    TablesIn tables_;

public:
    Records<Packet> packets;
    Records<Transaction> transactions;
    Records<Message> messages;
    Records<Credits> credits;
    Records<Gaps> gaps;
    Records<OpenRound> open_rounds;
    WaitingArrays waiting;
    UnpackingArrays unpacking;
    Agenda agenda;
    Array<LaneState> states;  ///< by lane
    Array<Sent> outbox;       ///< by lane
    const Divisor lanes_of_tally;
    Array<Tally> tallies;
    Array<Ticks> delay_bounds;  ///< delay_bins::lower
    Array<std::uint8_t> delay_cells;
    const std::uint32_t congestion_bins, ranks;
    Array<DelaySum> congestion;         ///< by source and destination, as CongestionMatrix
    Array<NodeRecords::Ends> ends;      ///< by lane
    Array<NodeRecords::Span> spans;     ///< by lane and phase
    Array<NodeRecords::Totals> totals;  ///< by lane and phase
    LinkBins link_bins;

private:
    [[nodiscard]] std::uint32_t ports_as_sites() const {
        const std::uint64_t all = std::uint64_t{switches} * network.ports() + places.nodes();
        const bool apart = !parameters.has_crossbar() && router.asks_no_queue() && all <= most_sites;
        return apart ? network.ports() : 1;
    }
    /// Packets with payload that a window may take, where all ranks begin at once: what NICs have space for.
    [[nodiscard]] std::uint64_t payloads_of_window() const {
        const std::uint64_t space = static_cast<std::uint64_t>(parameters.buffer) * places.nics() * places.nodes();
        return std::min(rounds.most_bytes_at_once(), space) / parameters.packet;
    }
    /// And all others: one for each message, its header or last packet, and some for what comes to a NIC.
    [[nodiscard]] std::uint64_t packets_of_window() const {
        return rounds.most_at_once() + payloads_of_window() + 4 * std::uint64_t{places.count()};
    }
    /// Records that there is room for at first. It grows between launches, when less than half is left: so that half is
    /// to last for a window.
    [[nodiscard]] std::uint32_t room(std::uint64_t of_window) const {
        const std::uint64_t lps = std::uint64_t{switches} + places.nodes();
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(records_at_first(lps, lanes) + 2 * of_window, std::uint64_t{1} << 30));
    }

    Counts* counts_[pools] = {&packets, &transactions, &messages, &credits, &gaps, &open_rounds, &agenda.events()};
};

/// The records of ranks that follow a graph of operations, and the graph itself, where there is one.
class GraphArrays {
public:
    GraphArrays(Memory& memory, const Schedule& schedule) : tables_(memory) {
        const GraphSchedule* const graph = schedule.graph();
        if (graph == nullptr) return;
        const GraphTable& table = graph->table();
        const auto ranks = static_cast<std::size_t>(schedule.ranks());
        const auto other_cpus = static_cast<std::uint32_t>(table.highest_cpu());
        followers_ = Array<Follower>(memory, ranks);
        operations_ = Array<OperationState>(memory, static_cast<std::size_t>(table.operations()));
        early_ = Array<Index>(memory, static_cast<std::size_t>(table.header().receives));
        if (other_cpus > 0) cpus_ = Array<OtherCpu>(memory, ranks * other_cpus);
        records_ = Array<GraphRecords>(memory, 1);
        GraphRecords& records = records_[0];
        records = {.table = table,
                   .work_scale = graph->work_scale(),
                   .followers = followers_.get(),
                   .operations = operations_.get(),
                   .early = early_.get(),
                   .cpus = cpus_.get(),
                   .other_cpus = other_cpus};
        records.begin();
        tables_(records.table);
    }
    /// Null where ranks run rounds.
    [[nodiscard]] GraphRecords* records() const { return records_.get(); }

private:
    TablesIn tables_;
    Array<Follower> followers_;
    Array<OperationState> operations_;
    Array<Index> early_;
    Array<OtherCpu> cpus_;
    Array<GraphRecords> records_;
};

/// The records of all nodes; see NodeRules.
struct NodeArrays {
    /// \param injection of each NIC's link at first, where links are counted
    /// \throws std::invalid_argument for a schedule of too many rounds
    NodeArrays(Memory& memory, const Common& common, const Schedule& schedule, const InjectionMeter& injection)
        : rounds(checked_rounds(schedule.rounds())),
          nodes(memory, common.places.count()),
          open(memory, common.ranks),
          graph(memory, schedule) {
        const Parameters& p = common.parameters;
        const std::uint32_t places = common.places.count();
        for (std::uint32_t place = 0; place < places; ++place) {
            NodeRecords::Node* const node = ::new (static_cast<void*>(&nodes[place])) NodeRecords::Node();
            node->nic = NicChannel(p.buffer);
        }
        if (common.places.several() && p.node_memory_slot > 0)
            memory_until = Array<Ticks>(memory, common.places.nodes());
        if (p.message_gap > 0) next_message = Array<Ticks>(memory, places);
        if (p.costs.of_unexpected()) unexpected = Array<std::uint32_t>(memory, common.ranks);
        if (!common.links.on) return;
        injections = Array<InjectionMeter>(memory, places);
        std::fill_n(injections.get(), places, injection);
    }

    const std::uint32_t rounds;
    Array<NodeRecords::Node> nodes;    ///< by place
    Array<Index> open;                 ///< by rank
    Array<Ticks> memory_until;         ///< by node of the job; none where memory is unlimited
    Array<Ticks> next_message;         ///< by NIC; none where there is no gap
    Array<std::uint32_t> unexpected;   ///< by rank; none where they cost nothing
    Array<InjectionMeter> injections;  ///< by NIC; none where links are not counted
    GraphArrays graph;
};

/// The records of all switches; see SwitchRules.
struct SwitchArrays {
    /// \param counters of ports that are taken in turn
    SwitchArrays(Memory& memory, const Common& common, std::uint32_t counters)
        : records(memory, common.switches),
          visited(memory, common.sites.by_port() ? common.switches : 0),
          turns(memory, counters),
          injections(memory, common.places.count()) {
        for (std::size_t nic = 0; nic < injections.size(); ++nic) {
            Injection* const injection = ::new (static_cast<void*>(&injections[nic])) Injection();
            injection->channel = NodeChannel(common.parameters.buffer);
        }
    }

    /// Whether a packet has met a switch.
    [[nodiscard]] bool was_met(SwitchId at) const {
        return visited.size() > 0 ? visited[at] != 0 : records[at] != nullptr;
    }

    Array<CacheLine*> records;    ///< null until a packet comes; where ports are sites, all are begun before
    Array<std::uint8_t> visited;  ///< which switches packets have met, where ports are sites; else none
    Array<CacheLine> lines;       ///< made by the first lane, which knows how many each switch has
    Array<std::uint32_t> turns;
    Array<Injection> injections;
};

}  // namespace tramontane::device
