/// \file
/// Job allocation: which node each rank gets.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "random.hpp"
#include "topology.hpp"

namespace tramontane {

/// What a point says about it.
struct AllocationRule {
    /// first-available | random | round-robin-groups | given
    std::string kind = "first-available";
    std::vector<NodeId> nodes;  ///< by rank; only where they are given
};

class Allocation {
public:
    /// \throws std::invalid_argument for nodes that are missing, do not exist or are given twice
    Allocation(const AllocationRule& rule, std::uint32_t ranks, const Topology& topology, std::uint64_t seed) {
        const NodeId all = topology.nodes();
        if (ranks > all) {
            throw std::invalid_argument("ranks: " + std::to_string(ranks) + " do not fit on " + std::to_string(all) +
                                        " nodes");
        }
        if (rule.kind == "first-available") return;  // rank = node: nothing to look up
        if (rule.kind == "random") {
            shuffle(ranks, all, seed);
        } else if (rule.kind == "round-robin-groups") {
            const std::uint32_t groups = topology.groups(), size = all / groups;
            nodes_.resize(ranks);
            for (std::uint32_t rank = 0; rank < ranks; ++rank) nodes_[rank] = rank % groups * size + rank / groups;
        } else if (rule.kind == "given") {
            nodes_ = rule.nodes;
            check(ranks, all);
        } else {
            throw std::invalid_argument("allocation: '" + rule.kind + "' is unknown");
        }
    }

    [[nodiscard]] NodeId node(std::uint32_t rank) const { return nodes_.empty() ? rank : nodes_[rank]; }

private:
    /// The beginning of a permutation of all nodes (Fisher and Yates; Durstenfeld, CACM 1964).
    void shuffle(std::uint32_t ranks, NodeId all, std::uint64_t seed) {
        nodes_.resize(all);
        for (NodeId node = 0; node < all; ++node) nodes_[node] = node;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            const std::uint64_t other = rank + below(random_bits(mix(seed), rank, 1), all - rank);
            std::swap(nodes_[rank], nodes_[other]);
        }
        nodes_.resize(ranks);
        nodes_.shrink_to_fit();
    }

    void check(std::uint32_t ranks, NodeId all) const {
        if (nodes_.size() != ranks) {
            throw std::invalid_argument("allocation.nodes: " + std::to_string(nodes_.size()) + " nodes for " +
                                        std::to_string(ranks) + " ranks");
        }
        std::vector<bool> taken(all);
        for (const NodeId node : nodes_) {
            if (node >= all) throw std::invalid_argument("allocation.nodes: no node " + std::to_string(node));
            if (taken[node]) throw std::invalid_argument("allocation.nodes: node " + std::to_string(node) + " twice");
            taken[node] = true;
        }
    }

    std::vector<NodeId> nodes_;
};

}  // namespace tramontane
