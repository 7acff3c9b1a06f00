/// \file
/// A schedule of given messages and a machine of round numbers, for simulations that can be worked out by hand.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "schedule.hpp"
#include "simulation.hpp"
#include "workload.hpp"

namespace tramontane::testing {

/// Messages of one round, posted in the order given. Each rank has a phase of its own, so that the simulated times of
/// the phases tell when each rank ended.
class Given final : public Schedule {
public:
    struct Message {
        Rank source;
        Rank target;
        std::int64_t bytes;
    };

    /// \param window sends of a rank that may be under way at a time, 0: all
    Given(Rank ranks, const std::vector<Message>& messages, std::int32_t window = 0) : ranks_(ranks), window_(window) {
        for (const Message& m : messages) {
            sends_[m.source].push_back({m.target, 0, m.bytes});
            receives_[m.target].push_back({m.source, 0, m.bytes});
        }
    }

    Rank ranks() const override { return ranks_; }
    std::int64_t rounds() const override { return 1; }
    std::vector<std::string> phases() const override {
        std::vector<std::string> names;
        for (Rank rank = 0; rank < ranks_; ++rank) names.push_back(std::to_string(rank));
        return names;
    }
    Round round(Rank rank, std::int64_t) const override {
        return {.phase = rank, .sends = count(sends_, rank), .receives = count(receives_, rank), .window = window_};
    }
    Transfer send(Rank rank, std::int64_t, std::int32_t index) const override {
        return sends_.at(rank).at(static_cast<std::size_t>(index));
    }
    Transfer receive(Rank rank, std::int64_t, std::int32_t index) const override {
        return receives_.at(rank).at(static_cast<std::size_t>(index));
    }

private:
    using Transfers = std::map<Rank, std::vector<Transfer>>;
    static std::int32_t count(const Transfers& transfers, Rank rank) {
        const auto found = transfers.find(rank);
        return found == transfers.end() ? 0 : static_cast<std::int32_t>(found->second.size());
    }

    Rank ranks_;
    std::int32_t window_;
    Transfers sends_, receives_;
};

/// Each rank sends to the one so much further.
[[nodiscard]] inline Given shifted(Rank ranks, Rank shift, std::int64_t bytes) {
    std::vector<Given::Message> messages;
    for (Rank rank = 0; rank < ranks; ++rank) messages.push_back({rank, (rank + shift) % ranks, bytes});
    return {ranks, messages};
}

/// The schedule of a workload, small as the tests like it.
/// \param words `kind` and what distinguishes it, with blanks between them
inline std::unique_ptr<Schedule> small_workload(const std::string& words, Rank ranks) {
    const bool counted = words.find("kind=allreduce") == 0, repeats = words.find("repeats=") != std::string::npos;
    const bool complete =
        words.find("kind=program") == 0 || words.find("kind=collective") == 0 || words.find("kind=jobs") == 0;
    std::istringstream stream(words +
                              (complete  ? ""
                               : counted ? " count=200"
                                         : " grid=24x24x12") +
                              (counted && !repeats ? " repeats=2" : ""));
    std::vector<std::string> arguments{std::istream_iterator<std::string>(stream), {}};
    return make_workload(split_arguments(arguments), ranks, {.empty_blocks = true})->schedule();
}

/// 10 GB/s (100 ps a byte) and 100 ns throughout, a crossbar that never limits, packets of 4096 B, 64 KB buffers.
/// All messages are pushed, and copies take no time.
inline Machine pushing(std::string topology, std::vector<std::int64_t> geometry, std::int64_t nodes_per_switch = 1,
                       std::string routing = "minimal") {
    Machine m;
    m.topology = std::move(topology);
    m.geometry = std::move(geometry);
    m.nodes_per_switch = nodes_per_switch;
    m.routing = std::move(routing);
    m.link_bandwidth = m.injection_bandwidth = m.logp_bandwidth = 10'000'000'000;
    m.crossbar_bandwidth = 1'000'000'000'000;
    m.memory_bandwidth = 10'000'000'000'000'000;
    m.processor_frequency = 1'000'000'000'000'000;
    m.link_latency = m.injection_latency = m.logp_hop_latency = m.logp_out_in_latency = 100'000;
    m.packet = 4096;
    m.buffer = 64'000;
    m.eager_limit = m.short_limit = 1'000'000'000'000;
    return m;
}

/// What comes of a schedule on a machine.
inline Outcome run(const Machine& machine, const Schedule& schedule, const Run& with = {}) {
    return simulate(machine, schedule, with);
}

/// Networks of at least 24 nodes, with every routing.
inline std::vector<Machine> every_network() {
    std::vector<Machine> all;
    for (const char* routing : {"minimal", "valiant", "ugal"}) all.push_back(pushing("torus", {4, 3, 2}, 2, routing));
    for (const char* routing : {"d-mod-k", "round-robin", "adaptive"}) {
        all.push_back(pushing("fattree", {3, 3}, 0, routing));
        all.push_back(pushing("fattree", {3, 3, 4}, 0, routing));
    }
    for (const char* routing : {"minimal", "valiant", "valiant-global", "ugal", "ugal-g", "par", "ugal-sstmacro71"}) {
        all.push_back(pushing("dragonfly", {3, 3, 4}, 2, routing));
        all.push_back(pushing("dragonfly1d", {4, 5}, 2, routing));
        all.back().global_links = 2;
    }
    for (const char* routing : {"minimal", "valiant", "ugal", "ugal-g"}) {
        all.push_back(pushing("dragonfly-plus", {2, 3, 3, 4, 2}, 0, routing));
    }
    for (const char* routing : {"minimal", "valiant", "ugal"}) {
        all.push_back(pushing("torus", {3, 2, 3, 2, 1, 0, 0, 1}, 2, routing));
    }
    for (const char* routing : {"minimal", "valiant", "ugal", "dal"}) {
        all.push_back(pushing("hyperx", {3, 2, 3, 1, 2, 1}, 2, routing));
    }
    return all;
}

/// Those of them that the device engine has; under ThreadSanitizer every third, for races do not depend on the network.
inline std::vector<Machine> networks_of_devices() {
    std::vector<Machine> all = every_network();
    std::erase_if(all, [](const Machine& machine) { return machine.routing == "ugal-g"; });
#ifdef TRAMONTANE_FEW_NETWORKS
    std::size_t number = 0;
    std::erase_if(all, [&](const Machine&) { return number++ % 3 != 0; });
#endif
    return all;
}

}  // namespace tramontane::testing
