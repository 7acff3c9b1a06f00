/// \file
/// Personalised all-to-all with blocks of any size (Zheng & Marguinaud 2018, section 3.1, Table 2 and Fig. 4a).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "contents.hpp"
#include "refusal.hpp"
#include "schedule.hpp"

namespace tramontane {

/// Which member of a group talks to which in which stage. Every stage is a set of shifts: a member sends to the member
/// `distance` ahead of it and receives from the one `distance` behind, modulo the size of the group.
///
/// * ring-k: stage s has the distances 1 + s k ... (s + 1) k; ceil((n - 1) / k) stages.
/// * burst: ring-k with k = n - 1; one stage.
/// * bruck: stage s has the distance 2^s, and the message holds every block whose way, destination minus origin modulo
///   n, has bit s set; ceil(log2 n) stages (Thakur et al. 2005). Blocks are forwarded, so more bytes travel in all.
///
/// A group of one has no stages.
class Alltoall {
public:
    [[nodiscard]] static Alltoall ring(Rank members, std::int64_t radix) {
        return {members, static_cast<Rank>(std::min<std::int64_t>(radix, members - 1)), false};
    }
    [[nodiscard]] static Alltoall burst(Rank members) { return ring(members, members - 1); }
    [[nodiscard]] static Alltoall bruck(Rank members) { return {members, 1, true}; }

    [[nodiscard]] Rank members() const { return members_; }
    [[nodiscard]] std::int32_t stages() const { return stages_; }

    /// Messages that every member sends, and receives, in a stage.
    [[nodiscard]] std::int32_t messages(std::int32_t stage) const {
        return stage + 1 < stages_ || bruck_ ? radix_ : members_ - 1 - radix_ * stage;
    }

    [[nodiscard]] Rank distance(std::int32_t stage, std::int32_t index) const {
        return bruck_ ? Rank{1} << stage : 1 + stage * radix_ + index;
    }

    /// The member `distance` ahead; 0 <= distance < members().
    [[nodiscard]] Rank ahead(Rank member, Rank distance) const {
        return member < members_ - distance ? member + distance : member - (members_ - distance);
    }
    [[nodiscard]] Rank behind(Rank member, Rank distance) const {
        return member >= distance ? member - distance : member + (members_ - distance);
    }

    /// Elements of the message that `from` sends `distance` ahead in `stage`.
    ///
    /// \param sizes callable (origin, destination) -> elements of that block. If it also has forwarded(from, stage),
    /// the
    ///              sum over the blocks of a bruck message, that is used instead of adding them one by one.
    template <class Sizes>
    [[nodiscard]] std::int64_t elements(const Sizes& sizes, Rank from, std::int32_t stage, Rank distance) const {
        if (!bruck_) {
            return sizes(from, ahead(from, distance));
        }
        if constexpr (requires {
                          { sizes.forwarded(from, stage) } -> std::same_as<std::int64_t>;
                      }) {
            return sizes.forwarded(from, stage);
        } else {
            std::int64_t sum = 0;
            blocks(from, stage, distance, [&](Rank origin, Rank destination) { sum += sizes(origin, destination); });
            return sum;
        }
    }

    /// Calls visit(origin, destination) for every block in the message that `from` sends `distance` ahead in `stage`,
    /// in the order in which they stand in it.
    template <class Visit>
    void blocks(Rank from, std::int32_t stage, Rank distance, Visit&& visit) const {
        if (!bruck_) {
            visit(from, ahead(from, distance));
            return;
        }
        // A block on its way here has made the steps of the lower bits of its way, so its origin is that far behind.
        const Rank bit = Rank{1} << stage;
        for (std::int64_t way = bit; way < members_; ++way) {
            if ((way & bit) != 0) {
                const Rank origin = behind(from, static_cast<Rank>(way & (bit - 1)));
                visit(origin, ahead(origin, static_cast<Rank>(way)));
            }
        }
    }

private:
    Alltoall(Rank members, Rank radix, bool bruck) : members_{members}, radix_{std::max(radix, 1)}, bruck_{bruck} {
        if (bruck_) {
            while ((std::int64_t{1} << stages_) < members_) {
                ++stages_;
            }
        } else {
            stages_ = static_cast<std::int32_t>((std::int64_t{members_} - 1 + radix_ - 1) / radix_);
        }
    }

    Rank members_;
    Rank radix_;
    std::int32_t stages_ = 0;
    bool bruck_;
};

/// \param algorithm "ring-k" (with radix >= 1), "burst" or "bruck"
/// \throws std::invalid_argument otherwise
[[nodiscard]] inline Alltoall make_alltoall(const std::string& algorithm, Rank members, std::int64_t radix) {
    if (algorithm == "ring-k") {
        if (radix < 1) {
            refuse("radix", std::to_string(radix), "an integer from 1");
        }
        return Alltoall::ring(members, radix);
    }
    if (algorithm == "burst") {
        return Alltoall::burst(members);
    }
    if (algorithm == "bruck") {
        return Alltoall::bruck(members);
    }
    refuse("algorithm", "'" + algorithm + "'", "ring-k, burst, bruck");
}

/// Sizes of the blocks of one slab transposition: factor * cut_by_origin.size(i) * cut_by_destination.size(j).
struct SlabSizes {
    const Blocks& by_origin;
    const Blocks& by_destination;
    std::int64_t factor;

    [[nodiscard]] std::int64_t operator()(Rank origin, Rank destination) const {
        return factor * by_origin.size(origin) * by_destination.size(destination);
    }

    /// Elements of the bruck message that `from` sends in `stage`, in O(1).
    ///
    /// With b = 2^stage, the ways with that bit are low + b + 2 b m with 0 <= low < b. Their blocks started at
    /// from - low and end at from + b + 2 b m: the sum over m and the sum over low separate. Only for the last m may
    /// low be cut short, because ways end below n.
    [[nodiscard]] std::int64_t forwarded(Rank from, std::int32_t stage) const {
        const Rank n = by_origin.parts();
        const Rank bit = Rank{1} << stage;
        const Rank full = (n - bit - 1) >> (stage + 1);
        const auto last_way = static_cast<Rank>(bit + (std::int64_t{full} << (stage + 1)));
        const auto wrap = [n](std::int64_t member) { return static_cast<Rank>(member < n ? member : member - n); };
        const std::int64_t regular =
            full == 0 ? 0
                      : by_origin.backward_sum(from, bit) *
                            by_destination.strided_sum(wrap(std::int64_t{from} + bit), stage + 1, full);
        const std::int64_t last = by_origin.backward_sum(from, std::min(bit, n - last_way)) *
                                  by_destination.size(wrap(std::int64_t{from} + last_way));
        return factor * (regular + last);
    }
};

/// One all-to-all among all ranks. `Sizes` is as in Alltoall::elements, in elements.
///
/// Its global index space is ragged: element x of the block from y to z. A rank begins with all z of its own y and ends
/// with all y of its own z, but for the block it keeps.
template <class Sizes>
class AlltoallSchedule final : public ContentSchedule {
public:
    AlltoallSchedule(Alltoall alltoall, Sizes sizes) : alltoall_{alltoall}, sizes_{std::move(sizes)} {}

    [[nodiscard]] Rank ranks() const override { return alltoall_.members(); }
    [[nodiscard]] std::int64_t rounds() const override { return alltoall_.stages(); }
    [[nodiscard]] std::vector<std::string> phases() const override { return {"alltoall"}; }

    [[nodiscard]] Round round(Rank, std::int64_t round) const override {
        const std::int32_t messages = alltoall_.messages(static_cast<std::int32_t>(round));
        return {0, messages, messages};
    }

    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        const auto stage = static_cast<std::int32_t>(round);
        const Rank distance = alltoall_.distance(stage, index);
        return {alltoall_.ahead(rank, distance), 0, element_bytes * alltoall_.elements(sizes_, rank, stage, distance)};
    }

    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        const auto stage = static_cast<std::int32_t>(round);
        const Rank distance = alltoall_.distance(stage, index);
        const Rank from = alltoall_.behind(rank, distance);
        return {from, 0, element_bytes * alltoall_.elements(sizes_, from, stage, distance)};
    }

    [[nodiscard]] std::vector<Piece> send_contents(Rank rank, std::int64_t round, std::int32_t index) const override {
        const auto stage = static_cast<std::int32_t>(round);
        return contents(rank, stage, alltoall_.distance(stage, index));
    }

    [[nodiscard]] std::vector<Piece> receive_contents(Rank rank, std::int64_t round,
                                                      std::int32_t index) const override {
        const auto stage = static_cast<std::int32_t>(round);
        const Rank distance = alltoall_.distance(stage, index);
        return contents(alltoall_.behind(rank, distance), stage, distance);
    }

    [[nodiscard]] Box held(Rank rank, std::int32_t phase) const override {
        const Range own{rank, rank + 1};
        const Range all{0, ranks()};
        std::int64_t longest = 0;
        for (Rank other = 0; other < ranks(); ++other) {
            longest = std::max(longest, phase == 0 ? sizes_(rank, other) : sizes_(other, rank));
        }
        return {{0, longest}, phase == 0 ? own : all, phase == 0 ? all : own};
    }

private:
    [[nodiscard]] std::vector<Piece> contents(Rank from, std::int32_t stage, Rank distance) const {
        std::vector<Piece> pieces;
        alltoall_.blocks(from, stage, distance, [&](Rank origin, Rank destination) {
            const Box box{{0, sizes_(origin, destination)}, {origin, origin + 1}, {destination, destination + 1}};
            pieces.push_back({origin, destination, box, false});
        });
        return pieces;
    }

    Alltoall alltoall_;
    Sizes sizes_;
};

}  // namespace tramontane
