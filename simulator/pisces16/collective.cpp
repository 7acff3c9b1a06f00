#include "collective.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace tramontane::pisces16 {
namespace {

/// A send and a receive that take place together.
struct Exchange {
    std::size_t send, receive;
};

class Builder {
public:
    explicit Builder(Collective& collective) : collective_(collective) {}

    /// Both wait for both of `before`.
    Exchange add(std::optional<Exchange> before, std::int32_t round, std::uint32_t to, std::int64_t sent,
                 std::uint32_t from, std::int64_t received) {
        const Exchange now{collective_.actions.size(), collective_.actions.size() + 1};
        collective_.actions.push_back({true, round, to, sent});
        collective_.actions.push_back({false, round, from, received});
        if (before) {
            for (const std::size_t b : {before->send, before->receive}) {
                for (const std::size_t a : {now.send, now.receive}) {
                    collective_.actions[b].followers.push_back(a);
                    ++collective_.actions[a].waits_for;
                }
            }
        } else {
            collective_.first.push_back(now.send);
            collective_.first.push_back(now.receive);
        }
        return now;
    }

    /// Several chains start in the order of partner, round, and send before receive.
    void sort_first() {
        const auto& actions = collective_.actions;
        std::sort(collective_.first.begin(), collective_.first.end(), [&](std::size_t i, std::size_t j) {
            const Action &a = actions[i], &b = actions[j];
            if (a.partner != b.partner) return a.partner < b.partner;
            if (a.round != b.round) return a.round < b.round;
            return a.sends && !b.sends;
        });
    }

private:
    Collective& collective_;
};

/// Where the number of ranks is no power of two, the first ranks play two roles each in the next larger power.
class Roles {
public:
    explicit Roles(std::uint32_t ranks) : size_(std::bit_ceil(ranks)), doubled_(size_ - ranks) {}
    [[nodiscard]] std::uint32_t size() const { return size_; }
    [[nodiscard]] std::vector<std::uint32_t> of(std::uint32_t rank) const {
        if (rank >= doubled_) return {rank + doubled_};
        return {2 * rank, 2 * rank + 1};
    }
    [[nodiscard]] std::uint32_t player(std::uint32_t role) const {
        return role >= 2 * doubled_ ? role - doubled_ : role / 2;
    }

private:
    std::uint32_t size_, doubled_;
};

/// Recursive halving of a vector, then the same exchanges backwards: for all roles (allreduce), or for half as many in
/// each round (reduce to rank 0).
Collective halve_and_collect(std::uint32_t rank, std::uint32_t ranks, std::int64_t elements, std::int64_t element_bytes,
                             bool to_all) {
    Collective collective;
    Builder builder(collective);
    const Roles roles(ranks);
    const auto rounds = static_cast<std::int32_t>(std::bit_width(roles.size()) - 1);
    struct Halving {
        std::uint32_t partner;
        std::int64_t sent, received;  // elements
        bool real;                    // not between two roles of the same rank
    };
    for (const std::uint32_t role : roles.of(rank)) {
        // Odd roles number their rounds differently, so that the two roles of a rank don't take each other's messages.
        const auto number = [&](std::int32_t round, bool lowest) {
            return lowest || role % 2 == 0 ? round : round + 2 * rounds;
        };
        std::vector<Halving> halvings;
        std::optional<Exchange> before;
        std::int64_t held = elements;
        for (std::int32_t i = 0; i < rounds; ++i) {
            const std::uint32_t other = role ^ (1U << i);
            const std::int64_t sent = other > role ? held / 2 : held - held / 2;
            const std::uint32_t partner = roles.player(other);
            const Halving h{partner, sent, held - sent, partner != rank};
            if (h.real) {
                before = builder.add(before, number(i, i == 0), partner, h.sent * element_bytes, partner,
                                     h.received * element_bytes);
            }
            halvings.push_back(h);
            held = h.received;
        }
        for (std::int32_t i = 0; i < rounds; ++i) {
            if (!to_all && role >= roles.size() >> i) break;
            const std::int32_t mirror = rounds - 1 - i;
            const Halving& h = halvings[static_cast<std::size_t>(mirror)];
            if (!h.real) continue;
            before = builder.add(before, number(rounds + i, mirror == 0), h.partner, h.received * element_bytes,
                                 h.partner, h.sent * element_bytes);
        }
    }
    builder.sort_first();
    return collective;
}

}  // namespace

Collective barrier(std::uint32_t rank, std::uint32_t ranks) {
    Collective collective;
    collective.copies = false;
    if (rank != 0) collective.initial_copy = 0;
    Builder builder(collective);
    std::optional<Exchange> before;
    std::int32_t round = 0;
    for (std::uint32_t gap = 1; gap < ranks; gap *= 2, ++round) {
        before = builder.add(before, round, (rank + ranks - gap) % ranks, 0, (rank + gap) % ranks, 0);
    }
    builder.sort_first();
    return collective;
}

Collective initial_allreduce(std::uint32_t rank, std::uint32_t ranks) {
    return halve_and_collect(rank, ranks, 1, 12, true);
}

Collective reduce(std::uint32_t rank, std::uint32_t ranks, std::int64_t elements) {
    Collective collective = halve_and_collect(rank, ranks, elements, 8, false);
    collective.initial_copy = 8 * elements;
    return collective;
}

}  // namespace tramontane::pisces16
