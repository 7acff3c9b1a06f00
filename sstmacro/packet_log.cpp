#include "packet_log.hpp"

#include <sprockit/errors.h>
#include <sumi-mpi/mpi_message.h>
#include <sumi-mpi/mpi_protocol/mpi_protocol.h>

#include <algorithm>
#include <fstream>

#include "executor/json.hpp"

namespace tramontane::sst {
namespace {

using Message = sstmac::hw::NetworkMessage;
namespace json = tramontane::executor::json;

enum class Part { other, control, payload };

/// What a message is to the workload; `other`: nothing.
Part part_of(const Message& message) {
    const auto* const mpi = dynamic_cast<const sumi::MpiMessage*>(&message);
    if (mpi == nullptr) return Part::other;
    const bool got = message.type() == Message::rdma_get_payload;
    const bool eager = message.type() == Message::smsg_send && mpi->protocol() == sumi::MpiProtocol::EAGER0;
    return got || eager ? Part::payload : Part::control;
}

// SST/macro truncates these as well.
double value(SST::Params& params, const char* key) { return params.find<SST::UnitAlgebra>(key).getValue().toDouble(); }
Ticks latency(SST::Params& params, const char* key) { return sstmac::TimeDelta(value(params, key)).ticks(); }
Ticks slot(SST::Params& params, const char* key) { return sstmac::TimeDelta(1.0 / value(params, key)).ticks(); }

std::weak_ptr<PacketLog> the_log;  // of nobody once the last network interface is gone

template <class Get>
std::string array(std::size_t size, Get get) {
    json::List list;
    for (std::size_t i = 0; i < size; ++i) list.add(get(i));
    return list.array();
}

std::string count(std::uint64_t value) { return std::to_string(value); }
// Divided, so that bounds are the doubles nearest to 1e-9, 1e-8, ...
std::string bound(Ticks ticks) { return json::number(to_seconds(ticks)); }

/// SST/macro counts time in 0.1 fs.
constexpr Ticks sst_ticks = 10'000 / ticks_per_picosecond;

std::string described(const Delays& delays) {
    constexpr std::size_t bins = delay_bins::count;
    const auto& lower = delay_bins::lower;
    json::List list;
    list.add("lower_s", array(bins, [&](std::size_t bin) { return bound(lower[bin]); }));
    list.add("upper_s",
             array(bins, [&](std::size_t bin) { return bound(bin + 1 < bins ? lower[bin + 1] : ~Ticks{0}); }));
    list.add("packets", array(bins, [&](std::size_t bin) { return count(delays.histogram[bin]); }));
    list.add("sum_s", json::number(delays.total.sum()));
    list.add("max_s", json::number(to_seconds(delays.total.max)));
    return list.object();
}

std::string described(const CongestionMatrix& matrix, std::uint32_t ranks) {
    const auto cells = [&](auto show) {
        return array(matrix.bins(), [&](std::size_t source) {
            return array(matrix.bins(), [&](std::size_t destination) {
                return show(matrix.at(static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(destination)));
            });
        });
    };
    json::List list;
    list.add("bins", count(matrix.bins()));
    list.add("ranks", count(ranks));
    list.add("packets", cells([](const DelaySum& cell) { return count(cell.packets); }));
    list.add("sum_s", cells([](const DelaySum& cell) { return json::number(cell.sum()); }));
    list.add("max_s", cells([](const DelaySum& cell) { return json::number(to_seconds(cell.max)); }));
    return list.object();
}

}  // namespace

std::shared_ptr<PacketLog> PacketLog::open(SST::Params& params) {
    std::shared_ptr<PacketLog> log = the_log.lock();
    if (!log) the_log = log = std::make_shared<PacketLog>(params);
    return log;
}

std::shared_ptr<PacketLog> PacketLog::opened() {
    std::shared_ptr<PacketLog> log = the_log.lock();
    if (!log) sprockit::abort("switch tramontane needs nodes with nic tramontane");
    return log;
}

PacketLog::PacketLog(SST::Params& params) {
    SST::Params own = params.get_scoped_params("log"), injection = params.get_scoped_params("injection");
    file_ = own.find<std::string>("file");
    ranks_ = static_cast<std::uint32_t>(own.find<int>("ranks"));
    packet_ = static_cast<std::uint32_t>(injection.find<SST::UnitAlgebra>("mtu").getRoundedValue());
    injection_latency_ = latency(injection, "latency");
    injection_slot_ = slot(injection, "bandwidth");
    link_latency_ = latency(own, "link_latency");
    slowest_slot_ = slot(own, "slowest");
    delays_ = Delays(static_cast<std::uint32_t>(own.find<int>("congestion", 0)), ranks_);
}

PacketLog::~PacketLog() { std::ofstream(file_) << json() << '\n'; }

Ticks PacketLog::turn(const sstmac::hw::PiscesPacket& packet, Ticks now) {
    const auto node = static_cast<std::size_t>(packet.fromaddr());
    if (node >= sources_.size()) sources_.resize(node + 1);
    Source& source = sources_[node];
    const Ticks head = now - injection_latency_;  // left the port
    // Of a whole message in one packet, and of an answer, it is known when the interface got it; else its first packet
    // is taken to have found space at once.
    const auto* const message = static_cast<const Message*>(packet.flow());
    const auto [posted, fresh] = source.posted.try_emplace(packet.flowId(), head);
    if (fresh && message != nullptr && message->type() == Message::smsg_send) {
        posted->second = message->timeStarted().time.ticks();
    }
    const Ticks result = std::min(head, std::max(posted->second, source.open));
    source.open = head + packet.byteLength() * injection_slot_;
    if (message != nullptr) source.posted.erase(posted);  // its last packet
    return result;
}

void PacketLog::at_switch(const sstmac::hw::PiscesPacket& packet, Ticks now) {
    auto [trip, fresh] = trips_.try_emplace(&packet, Trip{0, 0});
    if (fresh) trip->second.due = turn(packet, now) + injection_latency_ + packet.byteLength() * slowest_slot_;
    trip->second.due += link_latency_;
    ++trip->second.hops;
}

void PacketLog::at_node(const sstmac::hw::PiscesPacket& packet, Ticks now) {
    const Ticks tail = now + packet.byteLength() * packet.byteDelay().ticks();
    const auto trip = trips_.find(&packet);
    const auto node = static_cast<std::size_t>(packet.toaddr());
    if (node >= arrivals_.size()) arrivals_.resize(node + 1);
    Arrival& arrival = arrivals_[node][packet.flowId()];
    if (packet.flow() != nullptr) arrival.message = static_cast<const Message*>(packet.flow());
    arrival.bytes += packet.byteLength();
    arrival.hops += trip->second.hops;
    arrival.last = std::max(arrival.last, tail);
    arrival.delays.push_back(tail - std::min(tail, trip->second.due));
    trips_.erase(trip);
    if (arrival.message == nullptr || arrival.bytes < arrival.message->byteLength()) return;
    complete(arrival);
    arrivals_[node].erase(packet.flowId());
}

void PacketLog::complete(const Arrival& arrival) {
    const Message& message = *arrival.message;
    const Part part = part_of(message);
    if (part == Part::other) return;
    hops_ += arrival.hops;
    if (part == Part::control) {
        control_packets_ += arrival.delays.size();
        return answer(message, arrival.last);
    }
    packets_ += arrival.delays.size();
    const auto& mpi = static_cast<const sumi::MpiMessage&>(message);
    for (const Ticks delay : arrival.delays) {
        delays_.add(delay / sst_ticks, static_cast<std::uint32_t>(mpi.srcRank()),
                    static_cast<std::uint32_t>(mpi.dstRank()));
    }
}

void PacketLog::answer(const Message& message, Ticks now) {
    if (message.type() != Message::rdma_get_request) return;
    const auto node = static_cast<std::size_t>(message.toaddr());
    if (node >= sources_.size()) sources_.resize(node + 1);
    sources_[node].posted[message.flowId()] = now;
}

void PacketLog::bypassed(const Message& message, Ticks now) {
    const Part part = part_of(message);
    if (part == Part::control) return answer(message, now);
    const std::uint64_t packets = (message.byteLength() + packet_ - 1) / packet_;
    if (part == Part::other || packets == 0) return;
    packets_ += packets;
    const auto& mpi = static_cast<const sumi::MpiMessage&>(message);
    delays_.add(0, static_cast<std::uint32_t>(mpi.srcRank()), static_cast<std::uint32_t>(mpi.dstRank()), packets);
}

std::string PacketLog::json() const {
    json::List list;
    list.add("packets", count(packets_));
    list.add("control_packets", count(control_packets_));
    list.add("hops", count(hops_));
    list.add("delays", described(delays_));
    if (delays_.matrix.wanted()) list.add("congestion", described(delays_.matrix, ranks_));
    return list.object();
}

}  // namespace tramontane::sst
