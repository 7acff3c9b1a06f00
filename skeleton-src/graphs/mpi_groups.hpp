/// \file
/// Communicators, and groups of windows, of a program that was traced.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../schedule.hpp"
#include "mpi_trace.hpp"

namespace tramontane {

using TracedRanks = std::vector<Rank>;

/// A communicator, or the group of a window, as one of its ranks sees it.
struct TracedGroup {
    std::uint32_t id = 0;  ///< the same at all ranks
    const TracedRanks* members = nullptr;
    const TracedRanks* peers = nullptr;  ///< those that messages go to
    std::uint32_t place = 0;             ///< of the rank among the members

    [[nodiscard]] bool is_one() const { return members == peers; }
};

/// Groups of a trace: those of the same ranks are told apart by how often they came before, copies of a group by how
/// often it was copied: ranks may begin to copy several groups in different orders.
class TracedGroups {
public:
    explicit TracedGroups(Rank ranks) : ranks_{ranks} {
        TracedRanks everybody(static_cast<std::size_t>(ranks));
        std::iota(everybody.begin(), everybody.end(), 0);
        const auto [own, is_new] = known_.emplace(Key{everybody, everybody}, 0);
        id(ids_, 0, 1, own->first.first);
    }

    [[nodiscard]] Rank ranks() const { return ranks_; }
    /// Of the first group; the ranks of the others that messages go to are the same.
    [[nodiscard]] const TracedRanks& members(std::uint32_t id) const { return *members_[id]; }

    /// \param seen how often the rank has made each before
    TracedGroup make(const CallAction& made, Rank rank, std::unordered_map<std::uint32_t, std::uint32_t>& seen) {
        TracedRanks members = checked(made.list), peers = checked(made.others);
        if (peers.empty()) peers = members;
        const bool is_first = members <= peers;
        const auto found = known_.try_emplace(is_first ? Key{members, peers} : Key{peers, members},
                                              static_cast<std::uint32_t>(known_.size()));
        const Key& key = found.first->first;
        const TracedRanks& own = is_first ? key.first : key.second;
        const auto place = static_cast<std::uint32_t>(std::find(own.begin(), own.end(), rank) - own.begin());
        if (place == own.size()) throw Mistake{"a communicator without the rank itself", "those that it is in"};
        const TracedRanks& other = is_first ? key.second : key.first;
        const std::uint32_t number = found.first->second;
        return {id(ids_, number, ++seen[number], key.first), &own, members == peers ? &own : &other, place};
    }

    /// \param count how often the rank has copied this group, with this time
    TracedGroup copy(const TracedGroup& group, std::uint32_t count) {
        TracedGroup made = group;
        made.id = id(copies_, group.id, count, *members_[group.id]);
        return made;
    }

private:
    using Key = std::pair<TracedRanks, TracedRanks>;
    using Ids = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;

    [[nodiscard]] TracedRanks checked(const std::vector<std::int64_t>& told) const {
        TracedRanks found;
        for (const std::int64_t rank : told) {
            if (rank < 0 || rank >= ranks_) {
                throw Mistake{"rank " + std::to_string(rank) + " of a communicator",
                              "0 to " + std::to_string(ranks_ - 1)};
            }
            found.push_back(static_cast<Rank>(rank));
        }
        return found;
    }
    std::uint32_t id(Ids& ids, std::uint32_t key, std::uint32_t count, const TracedRanks& members) {
        const auto found = ids.try_emplace({key, count}, static_cast<std::uint32_t>(members_.size()));
        if (found.second) members_.push_back(&members);
        return found.first->second;
    }

    Rank ranks_;
    std::map<Key, std::uint32_t> known_;
    Ids ids_, copies_;
    std::vector<const TracedRanks*> members_;
};

/// The groups that a rank knows by their numbers.
class KnownGroups {
public:
    KnownGroups(TracedGroups& all, Rank rank) : all_{all}, rank_{rank} {}

    void make(const CallAction& made) { known_[made.numbers[0]] = all_.make(made, rank_, seen_); }
    void copy(const CallAction& made) {
        const TracedGroup& group = (*this)[made.numbers[1]];
        known_[made.numbers[0]] = all_.copy(group, ++copied_[group.id]);
    }
    [[nodiscard]] const TracedGroup& operator[](std::int64_t number) const {
        const auto found = known_.find(number);
        if (found == known_.end()) {
            throw Mistake{"communicator " + std::to_string(number), "those that a call has made"};
        }
        return found->second;
    }

private:
    TracedGroups& all_;
    Rank rank_;
    std::unordered_map<std::int64_t, TracedGroup> known_;
    std::unordered_map<std::uint32_t, std::uint32_t> seen_, copied_;
};

}  // namespace tramontane
