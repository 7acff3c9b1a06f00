/// \file
/// Job allocation: which node of the machine each node of the job is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "memory/table.hpp"
#include "placement/folding.hpp"
#include "placement/shuffle.hpp"
#include "random.hpp"
#include "refusal.hpp"
#include "topologies/topology.hpp"

namespace tramontane {

/// What a point says about it.
struct AllocationRule {
    struct Job {
        std::uint32_t nodes;
        std::string kind;
        std::vector<NodeId> given;
    };
    /// first-available | random | round-robin-groups | given | folded | jobs
    std::string kind = "first-available";
    std::vector<NodeId> nodes;        ///< by node of the job; only where they are given
    std::vector<Job> jobs;            ///< one after the other, each on nodes that those before have left; only for jobs
    std::vector<std::int64_t> shape;  ///< of the job's switches; only where it is folded

    /// Whether nodes follow from the groups of the network.
    [[nodiscard]] bool goes_by_groups() const {
        const auto by_groups = [](const std::string& one) { return one == "round-robin-groups"; };
        return by_groups(kind) || std::ranges::any_of(jobs, by_groups, &Job::kind);
    }
};

class Allocation {
public:
    /// \param nodes that the job needs; each rank is one where a node has one rank
    /// \param nics of a node: so many consecutive nodes of the topology, which are on one switch
    /// \throws std::invalid_argument for nodes that are missing, do not exist or are given twice, and for a shape that
    /// does not fit
    Allocation(const AllocationRule& rule, std::uint32_t nodes, const Topology& topology, std::uint64_t seed,
               std::uint32_t nics = 1)
        : nics_(nics) {
        if (topology.nodes_per_switch() % nics != 0) {
            refuse_key("machine.node.nics", std::to_string(nics),
                       "what divides the nodes of a switch, " + std::to_string(topology.nodes_per_switch()));
        }
        const NodeId all = topology.nodes() / nics;
        if (nodes > all) {
            throw std::invalid_argument("ranks: " + std::to_string(nodes) + " do not fit on " + std::to_string(all) +
                                        " nodes");
        }
        if (rule.kind == "first-available") return;  // the same: nothing to look up
        nodes_ = choose(rule, nodes, all, topology, seed, nics);
    }

    /// What the topology calls a NIC of a node of the job.
    [[nodiscard]] TRAMONTANE_RULE NodeId node(std::uint32_t node, std::uint32_t nic = 0) const {
        return (nodes_.empty() ? node : nodes_[node]) * nics_ + nic;
    }

    template <class Visit>
    void each_table(Visit&& visit) {
        visit(nodes_);
    }

private:
    [[nodiscard]] static std::vector<NodeId> choose(const AllocationRule& rule, std::uint32_t nodes, NodeId all,
                                                    const Topology& topology, std::uint64_t seed, std::uint32_t nics) {
        if (rule.kind == "random") return shuffled(nodes, all, seed, 1);
        if (rule.kind == "folded") {
            return folded_nodes(topology, rule.shape, nodes, topology.nodes_per_switch() / nics);
        }
        std::vector<NodeId> chosen;
        if (rule.kind == "round-robin-groups") {
            const std::uint32_t groups = topology.groups(), size = all / groups;
            for (std::uint32_t node = 0; node < nodes; ++node) chosen.push_back(node % groups * size + node / groups);
            return chosen;
        }
        if (rule.kind == "given") {
            chosen = rule.nodes;
        } else if (rule.kind == "jobs") {
            std::vector<bool> taken(all);
            for (std::size_t job = 0; job < rule.jobs.size(); ++job) {
                add(chosen, rule.jobs[job], "jobs." + std::to_string(job), taken, topology.groups(), mix(seed) + job);
            }
        } else {
            throw std::invalid_argument("allocation: '" + rule.kind + "' is unknown");
        }
        check(chosen, nodes, all);
        return chosen;
    }

    /// Gives a job the first of the nodes that are free, in the order of its rule.
    static void add(std::vector<NodeId>& chosen, const AllocationRule::Job& job, const std::string& key,
                    std::vector<bool>& taken, std::uint32_t groups, std::uint64_t seed) {
        const auto all = static_cast<NodeId>(taken.size());
        std::vector<NodeId> order;
        if (job.kind == "given") {
            if (job.given.size() != job.nodes) {
                refuse(key + ".allocation.nodes", std::to_string(job.given.size()) + " nodes",
                       std::to_string(job.nodes) + ", one for each node of the job");
            }
            for (const NodeId node : job.given) {
                if (node < all && !taken[node]) continue;
                refuse(key + ".allocation.nodes", std::to_string(node),
                       "nodes 0 ... " + std::to_string(all - 1) + " that no job before has");
            }
            order = job.given;
        } else {
            for (NodeId i = 0; i < all; ++i) {
                const NodeId node = job.kind == "round-robin-groups" ? i % groups * (all / groups) + i / groups : i;
                if (!taken[node]) order.push_back(node);
            }
            if (job.kind == "random") {
                for (std::uint32_t i = 0; i < job.nodes; ++i) {
                    std::swap(order[i], order[i + below(random_bits(seed, i, 1), order.size() - i)]);
                }
            }
        }
        for (std::uint32_t i = 0; i < job.nodes; ++i) {
            chosen.push_back(order[i]);
            taken[order[i]] = true;
        }
    }

    static void check(const std::vector<NodeId>& chosen, std::uint32_t nodes, NodeId all) {
        if (chosen.size() != nodes) {
            throw std::invalid_argument("allocation.nodes: " + std::to_string(chosen.size()) + " nodes for a job of " +
                                        std::to_string(nodes));
        }
        std::vector<bool> taken(all);
        for (const NodeId node : chosen) {
            if (node >= all) throw std::invalid_argument("allocation.nodes: no node " + std::to_string(node));
            if (taken[node]) throw std::invalid_argument("allocation.nodes: node " + std::to_string(node) + " twice");
            taken[node] = true;
        }
    }

    std::uint32_t nics_;
    Table<NodeId> nodes_;
};

}  // namespace tramontane
