/// \file
/// The simulator's networks as a SimGrid platform, so that both send along the same wires.
///
/// SimGrid's own zones can't say what the paper studies: a torus has one node a switch there, a dragonfly a single
/// cable between two groups (and a wrong way inside of them), and a new host is looked for among all zones. This zone
/// is asked for the route of each message and answers with the links of Topology. A machine's resources become links:
///
///   node -> switch   injection bandwidth and latency
///   switch -> switch link bandwidth and latency, for each direction, by the link's class
///   switch -> node   link bandwidth and latency, by the link's class
///   crossbar         a link without latency that every visit of a switch shares; left out where it can't limit
///   inside a node    a link that every message has to itself, and one that those of the node share: its memory
///
/// Loaded by `smpirun -platform`, which passes no arguments: the environment variable TRAMONTANE_PLATFORM names a file
/// of lines "key value ...", see tramontane/substrates/simgrid.py. Host n<i> is the job's node i.
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "../../skeleton-src/random.hpp"
#include "../machine.hpp"
#include "placement/allocation.hpp"
#include "topologies/links.hpp"
#include "topologies/topology.hpp"

namespace tramontane {
namespace {

using simgrid::kernel::routing::NetPoint;
using simgrid::kernel::routing::NetZoneImpl;

struct Description {
    Machine machine;
    AllocationRule allocation;
    std::uint32_t nodes = 0;  ///< of the job
    std::uint64_t seed = 0;
};

/// \throws std::runtime_error if the file can't be read or holds an unknown key
Description read(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("TRAMONTANE_PLATFORM: can't read " + path);
    Description d;
    Machine& m = d.machine;
    const std::unordered_map<std::string, std::int64_t*> numbers{
        {"nodes_per_switch", &m.nodes_per_switch},
        {"global_links", &m.global_links},
        {"link_bandwidth", &m.link_bandwidth},
        {"link_latency", &m.link_latency},
        {"injection_bandwidth", &m.injection_bandwidth},
        {"injection_latency", &m.injection_latency},
        {"crossbar_bandwidth", &m.crossbar_bandwidth},
        {"node_bandwidth", &m.node_bandwidth},
        {"node_latency", &m.node_latency},
        {"node_memory_bandwidth", &m.node_memory_bandwidth},
    };
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string key;
        words >> key;
        if (const auto found = numbers.find(key); found != numbers.end()) {
            words >> *found->second;
        } else if (key == "topology") {
            words >> m.topology;
        } else if (key == "table") {
            std::getline(words >> std::ws, m.table);
        } else if (key == "link_class") {
            LinkClass own;
            words >> own.name >> own.bandwidth >> own.latency;
            m.link_classes.push_back(own);
        } else if (key == "geometry") {
            for (std::int64_t size = 0; words >> size;) m.geometry.push_back(size);
        } else if (key == "parallel_links") {
            ParallelLinkCount own;
            words >> own.link_class >> own.links;
            m.parallel_links.push_back(own);
        } else if (key == "nodes") {
            words >> d.nodes;
        } else if (key == "seed") {
            words >> d.seed;
        } else if (key == "allocation") {
            words >> d.allocation.kind;
            for (NodeId node = 0; words >> node;) d.allocation.nodes.push_back(node);
        } else if (key == "job") {
            AllocationRule::Job own;
            words >> own.nodes >> own.kind;
            for (NodeId node = 0; words >> node;) own.given.push_back(node);
            d.allocation.jobs.push_back(own);
        } else {
            throw std::runtime_error(path + ": unknown key '" + key + "'");
        }
    }
    return d;
}

/// The one zone of the platform. Links are made once, before any message; a route is worked out when it is asked for.
class MachineZone final : public NetZoneImpl {
public:
    explicit MachineZone(const Description& d)
        : NetZoneImpl("machine"),
          topology_(make_topology(d.machine)),
          allocation_(d.allocation, d.nodes, *topology_, d.seed),
          seed_(d.seed),
          wired_ports_(topology_->wired_ports()),
          classes_(link_classes_of(d.machine, *topology_)) {
        const Machine& m = d.machine;
        for (std::uint32_t number = 0; number < d.nodes; ++number) {
            const std::string name = std::to_string(number);
            create_host("n" + name, {1e9})->seal();
            if (m.node_bandwidth > 0) inside_.push_back(own_link("i" + name, m.node_bandwidth, m.node_latency));
            if (m.node_memory_bandwidth > 0) memories_.push_back(link("m" + name, m.node_memory_bandwidth, 0));
            up_.push_back(link("u" + name, m.injection_bandwidth, m.injection_latency));
            const NodeId node = allocation_.node(number);
            const LinkClass& own = behind(topology_->switch_of(node), topology_->ejection_port(node));
            down_.push_back(link("d" + name, own.bandwidth, own.latency));
        }
        make_switches(m);
    }

    void get_local_route(const NetPoint* source, const NetPoint* target, simgrid::kernel::routing::Route* into,
                         double* latency) override {
        const auto add = [&](const simgrid::s4u::Link* link) {
            into->link_list_.push_back(link->get_impl());
            if (latency != nullptr) *latency += link->get_latency();
        };
        if (source->id() == target->id() && !inside_.empty()) {
            add(inside_[source->id()]);
            if (!memories_.empty()) add(memories_[source->id()]);
            return;
        }
        const NodeId from = allocation_.node(static_cast<std::uint32_t>(source->id()));
        const NodeId to = allocation_.node(static_cast<std::uint32_t>(target->id()));
        const SwitchId last = topology_->switch_of(to);
        // Where a topology leaves a choice, it is made once for a pair of nodes: a fluid has no packets to spread.
        const Draw draw(random_bits(mix(seed_), from, to));
        Trail trail{};
        SwitchId at = topology_->switch_of(from);
        add(up_[source->id()]);
        while (true) {
            if (!crossbars_.empty()) add(crossbars_[at]);
            if (at == last) break;
            const Hop hop = topology_->towards(at, last, to, trail, draw.salted(at + 1));
            add(wires_.at(wire(at, hop.port)));
            at = topology_->neighbour(at, hop.port);
        }
        add(down_[target->id()]);
    }

private:
    [[nodiscard]] const LinkClass& behind(SwitchId at, Port port) const {
        return classes_[topology_->link_class(at, port)];
    }
    [[nodiscard]] std::uint64_t wire(SwitchId at, Port port) const { return at * wired_ports_ + port; }

    const simgrid::s4u::Link* link(const std::string& name, std::int64_t bandwidth, std::int64_t picoseconds) {
        auto* made = create_link(name, {static_cast<double>(bandwidth)});
        return made->set_latency(static_cast<double>(picoseconds) * 1e-12)->seal();
    }

    /// A link that does not limit all messages together but each by itself.
    const simgrid::s4u::Link* own_link(const std::string& name, std::int64_t bandwidth, std::int64_t picoseconds) {
        auto* made = create_link(name, {static_cast<double>(bandwidth)});
        made->set_sharing_policy(simgrid::s4u::Link::SharingPolicy::FATPIPE);
        return made->set_latency(static_cast<double>(picoseconds) * 1e-12)->seal();
    }

    /// Routes between switches and through them.
    void make_switches(const Machine& m) {
        // All packets of a switch together can't be faster than its ports.
        std::int64_t fastest = m.injection_bandwidth;
        for (const LinkClass& each : classes_) fastest = std::max(fastest, each.bandwidth);
        const bool limits = m.crossbar_bandwidth < topology_->ports() * fastest;
        for (SwitchId at = 0; at < topology_->switches(); ++at) {
            const std::string name = std::to_string(at);
            if (limits) crossbars_.push_back(link("x" + name, m.crossbar_bandwidth, 0));
            for (std::uint64_t port = 0; port < wired_ports_; ++port) {
                const LinkClass& own = behind(at, static_cast<Port>(port));
                wires_.push_back(link("l" + name + "-" + std::to_string(port), own.bandwidth, own.latency));
            }
        }
    }

    std::unique_ptr<Topology> topology_;
    Allocation allocation_;
    std::uint64_t seed_, wired_ports_;
    std::vector<LinkClass> classes_;
    std::vector<const simgrid::s4u::Link*> up_, down_;          // by node
    std::vector<const simgrid::s4u::Link*> inside_, memories_;  // by node
    std::vector<const simgrid::s4u::Link*> wires_, crossbars_;  // by switch and port, by switch
};

}  // namespace
}  // namespace tramontane

/// What SimGrid calls.
extern "C" void load_platform(const simgrid::s4u::Engine&);
void load_platform(const simgrid::s4u::Engine&) {
    const char* path = std::getenv("TRAMONTANE_PLATFORM");
    if (path == nullptr) throw std::runtime_error("TRAMONTANE_PLATFORM: not set");
    const auto begin = std::chrono::steady_clock::now();
    // SimGrid owns its zones.
    (new tramontane::MachineZone(tramontane::read(path)))->seal();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    std::cerr << "TRAMONTANE setup_s " << spent.count() << '\n';
}
