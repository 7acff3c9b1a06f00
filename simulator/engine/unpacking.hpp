/// \file
/// Unpacking: what ranks do with payloads that are there, before a round is over.
///
/// A rank unpacks payloads as they come, or those of a round in the order of its receives: then each waits for those
/// before it, as for a rank that waits for one receive after the other. Which receive a payload belongs to follows from
/// its source; several of one source are taken as they come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "machine.hpp"
#include "memory/checkpoint.hpp"
#include "schedule.hpp"
#include "ticks.hpp"

namespace tramontane {

class Unpacking {
public:
    Unpacking(const Machine& m, const Schedule& schedule)
        : schedule_(schedule),
          byte_(from_picoseconds(m.unpack_per_byte)),
          threads_(static_cast<Ticks>(m.threads)),
          in_order_(m.unpacks_in_order),
          due_(static_cast<std::size_t>(schedule.ranks())),
          orders_(in_order_ ? due_.size() : 0) {}

    struct Receive {
        Rank source;
        std::int32_t index;
        auto operator<=>(const Receive&) const = default;
    };
    /// Sorts the receives of a round into a list.
    static void sort(const Schedule& schedule, Rank rank, std::uint32_t round, std::int32_t receives,
                     std::vector<Receive>& by_source) {
        by_source.clear();
        for (std::int32_t i = 0; i < receives; ++i) by_source.push_back({schedule.source(rank, round, i), i});
        std::sort(by_source.begin(), by_source.end());
    }

    /// A rank posts the receives of a round that it will wait for before it does anything else; or no such round.
    void post(std::uint32_t rank, std::uint32_t round, std::int32_t receives) {
        if (!in_order_) return;
        Order& order = orders_[rank];
        order.round = receives > 0 ? round : ~std::uint32_t{0};
        order.next = 0;
        sort(schedule_, static_cast<Rank>(rank), round, receives, order.by_source);
        order.is_there.assign(static_cast<std::size_t>(receives), 0);
    }

    /// A payload is there.
    void complete(std::uint32_t rank, std::uint32_t round, std::uint32_t source, std::int64_t bytes) {
        if (!in_order_ || orders_[rank].round != round) return add(rank, bytes);
        Order& order = orders_[rank];
        const Receive first{static_cast<Rank>(source), 0};
        auto found = std::lower_bound(order.by_source.begin(), order.by_source.end(), first);
        while (order.is_there[static_cast<std::size_t>(found->index)] != 0) ++found;
        order.is_there[static_cast<std::size_t>(found->index)] = 1;
        for (; order.next < order.is_there.size() && order.is_there[order.next] != 0; ++order.next) {
            add(rank, schedule_.receive(static_cast<Rank>(rank), round, static_cast<std::int32_t>(order.next)).bytes);
        }
    }

    /// How long the rank is busy with all that can be unpacked by now.
    [[nodiscard]] Ticks take(std::uint32_t rank) { return std::exchange(due_[rank], 0); }

    void keep(StateFile& file) {
        file(due_);
        for (Order& order : orders_) {
            file(order.round);
            file(order.next);
            file(order.by_source);
            file(order.is_there);
        }
    }

private:
    /// The receives of the round that a rank is in.
    struct Order {
        std::uint32_t round = ~std::uint32_t{0};
        std::uint64_t next = 0;  ///< index of the first that has not been unpacked
        std::vector<Receive> by_source;
        std::vector<std::uint8_t> is_there;  ///< by index
    };

    void add(std::uint32_t rank, std::int64_t bytes) {
        due_[rank] += checked_product(static_cast<std::uint64_t>(bytes), byte_) / threads_;
        check_step(due_[rank]);
    }

    const Schedule& schedule_;
    const Ticks byte_;
    const Ticks threads_;  // that share the work of a rank
    const bool in_order_;
    std::vector<Ticks> due_;  // of each rank: to unpack what is there
    std::vector<Order> orders_;
};

}  // namespace tramontane
