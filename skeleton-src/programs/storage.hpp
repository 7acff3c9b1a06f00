/// \file
/// Reading and writing: how much each rank of a step moves, and how long that takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "../schedule.hpp"
#include "communicator.hpp"
#include "program.hpp"
#include "roles.hpp"

namespace tramontane {

/// A storage that all nodes share. Every byte goes through the way of its node and through the way of all, so that n
/// nodes with as much each get 1 / (1 / (n node_bandwidth) + 1 / bandwidth): for few nodes n node_bandwidth, for many
/// bandwidth. Where nodes are in each other's way (locks of a file, tokens), each further one makes all wait for a
/// share of what the one before it added: another curve that saturates in n, at 1 / (1 - share).
struct StorageCosts {
    std::int64_t bandwidth = 0;       ///< of all nodes together [B/s]; 0: not said, then nothing takes time
    std::int64_t node_bandwidth = 0;  ///< [B/s]
    std::int64_t latency = 0;         ///< [ps]
    std::int64_t request = 0;         ///< of each rank of a node, one after the other [ps]
    std::int64_t contention = 0;      ///< share of each further node [ppm], below 10^6
    Rank ranks_per_node = 1;          ///< which have consecutive numbers

    __extension__ using Wide = __int128;

    /// What a node moves.
    struct Load {
        Wide bytes = 0;
        Rank clients = 0;
    };

    /// 1 + c + ... + c^(nodes - 1), c the contention, in units of `one`; whole numbers, so that all hosts agree.
    [[nodiscard]] Wide crowding(Rank nodes) const {
        Wide sum = one;
        for (Wide more = one * contention / million; more > 0 && --nodes > 0; more = more * contention / million) {
            sum += more;
        }
        return sum;
    }

    /// Time of an access [ps], or the largest number.
    /// \param crowding of the nodes that take part
    [[nodiscard]] std::int64_t time(Load of_node, Wide crowding, Wide bytes_of_all) const {
        constexpr std::int64_t second = 1'000'000'000'000, most = std::numeric_limits<std::int64_t>::max();
        if (bandwidth == 0 || node_bandwidth == 0) return 0;
        const Wide alone = latency + of_node.bytes * second / node_bandwidth + Wide{request} * of_node.clients;
        if (alone > most) return most;
        const Wide whole = alone * crowding / one + bytes_of_all * second / bandwidth;
        return whole > most ? most : static_cast<std::int64_t>(whole);
    }

private:
    static constexpr Wide million = 1'000'000, one = 1'000'000'000;
};

/// An access by the ranks of a communicator, and its time in closed form: it depends on who takes part in the step, and
/// on nothing else that happens then.
class StorageRounds final : public StepRounds {
public:
    /// \param role the ranks of which `among` has the numbers
    /// \param ranks in all
    StorageRounds(Access access, Share bytes, Communicator among, RankSet role, Rank ranks, StorageCosts costs)
        : access_{access},
          bytes_{bytes},
          among_{among},
          role_{std::move(role)},
          ranks_{ranks},
          clients_{among.groups() > 1 ? role_.size() : among.largest()},
          costs_{costs},
          crowding_{costs_.crowding(nodes())} {}

    [[nodiscard]] std::int64_t rounds() const override { return 1; }
    [[nodiscard]] bool reads_or_writes() const override { return true; }
    [[nodiscard]] std::vector<std::string> phases() const override { return {""}; }
    [[nodiscard]] Round round(Rank rank, std::int64_t /*round*/, Repetition /*at*/) const override {
        const std::int64_t bytes = bytes_of(rank);
        Round found{0, 0, 0};
        if (bytes == none) return found;
        found.access = access_;
        found.bytes = bytes;
        found.work = costs_.time(load_of_node(rank), crowding_, all());
        return found;
    }
    [[nodiscard]] Transfer send(Rank, std::int64_t, std::int32_t) const override { return {}; }
    [[nodiscard]] Transfer receive(Rank, std::int64_t, std::int32_t) const override { return {}; }

    /// Time that no rank exceeds [ps].
    [[nodiscard]] std::int64_t most() const {
        const StorageCosts::Wide node = StorageCosts::Wide{bytes_.of(0, clients_)} * costs_.ranks_per_node;
        return costs_.time({std::min(node, all()), std::min(costs_.ranks_per_node, clients_)}, crowding_, all());
    }

private:
    static constexpr std::int64_t none = -1;

    [[nodiscard]] StorageCosts::Wide all() const {
        return bytes_.total > 0 ? bytes_.total : StorageCosts::Wide{bytes_.each} * clients_;
    }
    /// Bytes of a rank; none: it takes no part.
    [[nodiscard]] std::int64_t bytes_of(Rank rank) const {
        if (!role_.has(rank)) return none;
        const Rank number = role_.below(rank);
        const auto place = among_.place(number);
        if (place.local < 0) return none;
        return bytes_.of(among_.groups() > 1 ? number : place.local, clients_);
    }
    [[nodiscard]] StorageCosts::Load load_of_node(Rank rank) const {
        const Rank each = costs_.ranks_per_node;
        const Rank first = rank / each * each;
        StorageCosts::Load load;
        for (Rank other = first; other < ranks_ && other - first < each; ++other) {
            const std::int64_t bytes = bytes_of(other);
            if (bytes == none) continue;
            load.bytes += bytes;
            ++load.clients;
        }
        return load;
    }
    /// Nodes of which a rank takes part; nobody asks where they don't contend.
    [[nodiscard]] Rank nodes() const {
        if (costs_.contention == 0) return 1;
        Rank found = 0, last = -1;
        for (Rank rank = 0; rank < ranks_; ++rank) {
            const Rank node = rank / costs_.ranks_per_node;
            if (node == last || bytes_of(rank) == none) continue;
            last = node;
            ++found;
        }
        return found;
    }

    Access access_;
    Share bytes_;
    Communicator among_;
    RankSet role_;
    Rank ranks_;
    Rank clients_;
    StorageCosts costs_;
    StorageCosts::Wide crowding_;
};

}  // namespace tramontane
