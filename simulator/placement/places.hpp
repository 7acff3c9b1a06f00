/// \file
/// Places: which node of a job each rank is on, and through which of the node's network interfaces (NICs) it speaks.
///
/// A job has nodes 0, 1, ...; allocation.hpp says which of the machine's they are. Each has as many places as ranks fit
/// on it, or as it has NICs, if these are more. Places are numbered node by node, so that place, node and index on the
/// node follow from one another. Where ranks are mapped in blocks and fill their nodes, a rank's place is its own
/// number, and nothing is stored; nor is it where they are mapped cyclically.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "divisor.hpp"
#include "machine.hpp"
#include "memory/table.hpp"
#include "placement/shuffle.hpp"
#include "refusal.hpp"

namespace tramontane {

inline constexpr std::uint32_t max_ranks_per_node = 1024;

/// What a point says about it.
struct PlacesRule {
    std::uint32_t ranks_per_node = 1;
    std::string mapping = "block";        ///< block | cyclic | random | tile | given
    std::array<std::uint32_t, 2> tile{};  ///< of processes on a node, in x and y; only for tile
    std::array<std::uint32_t, 2> grid{};  ///< of all processes; only for tile
    std::vector<std::uint32_t> nodes;     ///< of the job, by rank; only where they are given
    std::uint64_t seed = 1;               ///< only for random
};

/// Where a rank is: its node and which of the node's places.
struct Address {
    std::uint32_t node;
    std::uint32_t local;
};

class Places {
public:
    /// \throws std::invalid_argument for a mapping that cannot be, or for a node that several ranks cannot share
    Places(const PlacesRule& rule, std::uint32_t ranks, const Machine& machine)
        : ranks_per_node_(checked("ranks_per_node", rule.ranks_per_node)),
          nics_(checked("machine.node.nics", machine.nics)),
          per_node_(std::max(ranks_per_node_.value(), nics_.value())),
          choice_(nics_.value() > 1 ? machine.nic_choice : NicChoice::rank),
          stripes_(machine.stripe_above > 0 && nics_.value() > 1),
          spread_(machine.spreads_messages()),
          bits_(static_cast<std::uint32_t>(std::bit_width(per_node_.value() - 1))) {
        if (shared() && (machine.node_latency < 1 || machine.node_bandwidth < 1)) {
            refuse_key("machine.node", "no latency and bandwidth", "both, where a node has several ranks");
        }
        if (ranks >> (most_bits - bits_) != 0) {
            refuse_key("ranks", std::to_string(ranks),
                       "less than " + std::to_string(1U << (most_bits - bits_)) + " with " +
                           std::to_string(per_node_.value()) + " on a node");
        }
        nodes_ = ranks / rule.ranks_per_node + (ranks % rule.ranks_per_node == 0 ? 0 : 1);
        const bool filled = per_node_.value() == ranks_per_node_.value();
        if (filled && (rule.mapping == "block" || (rule.mapping == "cyclic" && !shared()))) return;
        if (rule.mapping == "block") {
            place_all(ranks, [&](std::uint32_t rank) { return ranks_per_node_.quotient(rank); });
        } else if (rule.mapping == "cyclic") {
            order_ = Order::cyclic;
            in_turn_ = Divisor{std::max(nodes_, 1U)};
        } else if (rule.mapping == "random") {
            const std::vector<std::uint32_t> order = random_order(ranks, rule.seed);
            place_all(ranks, [&](std::uint32_t rank) { return ranks_per_node_.quotient(order[rank]); });
        } else if (rule.mapping == "tile") {
            check_tiles(rule, ranks);
            const std::uint32_t a = rule.tile[0], b = rule.tile[1], cx = rule.grid[0];
            place_all(ranks, [&](std::uint32_t rank) { return rank / cx / b * (cx / a) + rank % cx / a; });
        } else if (rule.mapping == "given") {
            if (rule.nodes.size() != ranks) {
                refuse_key("mapping.nodes", std::to_string(rule.nodes.size()) + " nodes",
                           std::to_string(ranks) + ", one for each rank");
            }
            for (const std::uint32_t node : rule.nodes) nodes_ = std::max(nodes_, node + 1);
            if (nodes_ >= (1U << most_bits) / per_node_.value()) {
                refuse_key("mapping.nodes", "node " + std::to_string(nodes_ - 1),
                           "nodes below " + std::to_string((1U << most_bits) / per_node_.value()));
            }
            place_all(ranks, [&](std::uint32_t rank) { return rule.nodes[rank]; });
        } else {
            refuse_key("mapping", "'" + rule.mapping + "'", "block, cyclic, random, tile or given nodes");
        }
    }

    /// Whether a node has several ranks.
    [[nodiscard]] TRAMONTANE_RULE bool shared() const { return ranks_per_node_.value() > 1; }
    /// Whether a node has several places.
    [[nodiscard]] TRAMONTANE_RULE bool several() const { return per_node_.value() > 1; }
    /// Nodes of the job.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t nodes() const { return nodes_; }
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t count() const { return nodes_ * per_node_.value(); }
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t nics() const { return nics_.value(); }
    /// Bits that an index on a node takes.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t bits() const { return bits_; }

    [[nodiscard]] TRAMONTANE_RULE std::uint32_t of(std::uint32_t rank) const {
        if (order_ == Order::block) return rank;
        if (order_ == Order::listed) return places_[rank];
        const std::uint32_t local = in_turn_.quotient(rank);
        return at({rank - local * nodes_, local});
    }
    /// The rank at a place. \pre there is one
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t rank_at(std::uint32_t place) const {
        if (order_ == Order::block) return place;
        if (order_ == Order::listed) return ranks_[place];
        const auto [node, local] = address(place);
        return local * nodes_ + node;
    }

    // Nearly all points have one rank a node, so that a place is a node: they don't calculate.

    [[nodiscard]] TRAMONTANE_RULE std::uint32_t at(Address a) const {
        return several() ? a.node * per_node_.value() + a.local : a.node;
    }
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t node_of(std::uint32_t place) const {
        return several() ? per_node_.quotient(place) : place;
    }
    [[nodiscard]] TRAMONTANE_RULE Address address(std::uint32_t place) const {
        if (!several()) return {place, 0};
        const std::uint32_t node = per_node_.quotient(place);
        return {node, place - node * per_node_.value()};
    }

    // A node's NIC i has its records where those of the rank at the node's place i are: a node has no more NICs than
    // places.

    /// The NIC that a place has to itself or shares with the same others all the time, if the rule is such.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t nic_of(std::uint32_t place) const {
        if (!several()) return place;
        const Address a = address(place);
        if (nics_.value() == 1) return place - a.local;
        return place - a.local +
               (choice_ == NicChoice::block ? ranks_per_node_.quotient(a.local * nics_.value())
                                            : nics_.remainder(a.local));
    }
    /// What a NIC is chosen by, beside the place.
    struct Sent {
        std::uint32_t to;  ///< rank
        std::uint32_t round, index;
    };
    /// The NIC through which a place sends a message, or gets it.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t nic_of(std::uint32_t place, const Sent& sent) const {
        if (nics_.value() == 1 || choice_ == NicChoice::rank || choice_ == NicChoice::block) return nic_of(place);
        const Address a = address(place);
        if (choice_ == NicChoice::destination) {
            const Address to = address(of(sent.to));
            return place - a.local + nics_.remainder(to.node + to.local);
        }
        return place - a.local + nics_.remainder(a.local + nics_.remainder(sent.round) + nics_.remainder(sent.index));
    }
    /// Whether a rank's messages go through several NICs.
    [[nodiscard]] TRAMONTANE_RULE bool spread() const { return spread_; }
    /// Whether payloads may take all NICs of a node at once.
    [[nodiscard]] TRAMONTANE_RULE bool stripes() const { return stripes_; }
    /// The NIC of the same node that is `steps` further.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t nic_after(std::uint32_t nic, std::uint32_t steps) const {
        const Address a = address(nic);
        return nic - a.local + nics_.remainder(a.local + steps);
    }
    /// Calls `visit` with each NIC that a place uses.
    template <class Visit>
    TRAMONTANE_RULE void each_nic(std::uint32_t place, Visit&& visit) const {
        if (!several()) return visit(place);
        if (!spread_) return visit(nic_of(place));
        const std::uint32_t first = place - address(place).local;
        for (std::uint32_t i = 0; i < nics_.value(); ++i) visit(first + i);
    }

    /// Where ranks that are mapped at random stand among all places that are filled in order.
    [[nodiscard]] static std::vector<std::uint32_t> random_order(std::uint32_t ranks, std::uint64_t seed) {
        constexpr std::uint64_t own_draws = 2;  // an allocation has others
        return shuffled(ranks, ranks, seed, own_draws);
    }

    template <class Visit>
    void each_table(Visit&& visit) {
        visit(places_);
        visit(ranks_);
    }

    // What waits in a NIC of several ranks says which of them it comes from, in bits that no rank's number needs.

    [[nodiscard]] TRAMONTANE_RULE std::uint32_t with_local(std::uint32_t rank, std::uint32_t local) const {
        return rank | local << shift();
    }
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t rank_in(std::uint32_t both) const {
        return both & ((1U << shift()) - 1);
    }
    /// The place, at the node of a NIC, that is said so.
    [[nodiscard]] TRAMONTANE_RULE std::uint32_t beside(std::uint32_t nic, std::uint32_t both) const {
        return at({node_of(nic), both >> shift()});
    }

private:
    static constexpr std::uint32_t most_bits = 28;  ///< of a rank and its index on a node, beside an event's kind

    [[nodiscard]] TRAMONTANE_RULE std::uint32_t shift() const { return 32 - bits_; }

    static std::uint32_t checked(const std::string& key, std::int64_t on_node) {
        if (on_node < 1 || on_node > max_ranks_per_node) {
            refuse_key(key, std::to_string(on_node), "1 to " + std::to_string(max_ranks_per_node));
        }
        return static_cast<std::uint32_t>(on_node);
    }

    static void check_tiles(const PlacesRule& rule, std::uint32_t ranks) {
        const auto [a, b] = rule.tile;
        const auto [cx, cy] = rule.grid;
        const auto text = [](std::uint32_t x, std::uint32_t y) {
            return std::string("[") + std::to_string(x) + ", " + std::to_string(y) + "]";
        };
        if (a < 1 || b < 1 || std::uint64_t{a} * b != rule.ranks_per_node || std::uint64_t{cx} * cy != ranks ||
            cx % a != 0 || cy % b != 0) {
            refuse_key("mapping.tile", text(a, b),
                       "[a, b] with a b = ranks_per_node that divides the processes, " + text(cx, cy));
        }
    }

    /// Ranks of a node are at its places in order.
    template <class NodeOf>
    void place_all(std::uint32_t ranks, NodeOf&& node_of_rank) {
        order_ = Order::listed;
        std::vector<std::uint32_t> taken(nodes_), places(ranks), ranks_there(count());
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            const std::uint32_t node = node_of_rank(rank);
            if (taken[node] == ranks_per_node_.value()) {
                refuse_key("mapping.nodes",
                           "more than " + std::to_string(taken[node]) + " ranks on node " + std::to_string(node),
                           "as many as a node has places (ranks_per_node)");
            }
            places[rank] = at({node, taken[node]++});
            ranks_there[places[rank]] = rank;
        }
        places_ = std::move(places);
        ranks_ = std::move(ranks_there);
    }

    /// How ranks are mapped: a rank's place is its own number, follows from it, or is looked up.
    enum class Order : std::uint8_t { block, cyclic, listed };

    Divisor ranks_per_node_, nics_;
    Divisor per_node_;  // places
    NicChoice choice_;
    bool stripes_, spread_;
    Order order_ = Order::block;
    Divisor in_turn_;  // cyclic: by the nodes
    std::uint32_t bits_;
    std::uint32_t nodes_ = 0;
    Table<std::uint32_t> places_;  // by rank
    Table<std::uint32_t> ranks_;   // by place; none where there is no rank
};

}  // namespace tramontane
