/// \file
/// Personalised all-to-all with blocks of any size (Zheng & Marguinaud 2018, section 3.1, Table 2 and Fig. 4a).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "contents.hpp"
#include "keys.hpp"
#include "schedule.hpp"

namespace tramontane {

/// Which member of a group talks to which in which stage. In every stage each member sends to the members at certain
/// distances and receives from those it is at the same distances from. A distance is a shift, modulo the size of the
/// group, or (pairwise) a pattern of bits to flip.
///
/// * ring-k: stage s has the distances 1 + s k ... (s + 1) k; ceil((n - 1) / k) stages.
/// * burst: ring-k with k = n - 1; one stage.
/// * burst-ascending: burst, but each member goes through the others by their numbers, as a plain loop over ranks does.
///   So all send to member 0 first.
/// * sliding-window: burst, but no more than k sends are under way at a time; the next starts as soon as one is done.
/// * pairwise: stage s exchanges with the member whose number differs by the bits of s + 1, where n is a power of two;
///   elsewhere it is ring-1 (Thakur et al. 2005). n - 1 stages.
/// * bruck: with radix r, stage s has the distances d r^s, 0 < d < r, and the message holds every block whose way,
///   destination minus origin modulo n, has d as its digit s; ceil(log_r n) stages (Bruck et al. 1997; Thakur et al.
///   2005 for r = 2). Blocks are forwarded, so more bytes travel in all.
///
/// A group of one has no stages.
class Alltoall {
public:
    [[nodiscard]] static Alltoall ring(Rank members, std::int64_t radix) {
        return {Kind::shift, members, static_cast<Rank>(std::min<std::int64_t>(radix, members - 1))};
    }
    [[nodiscard]] static Alltoall burst(Rank members) { return ring(members, members - 1); }
    [[nodiscard]] static Alltoall burst_ascending(Rank members) { return {Kind::ascending, members, members - 1}; }
    [[nodiscard]] static Alltoall sliding_window(Rank members, std::int64_t radix) {
        Alltoall all = burst(members);
        all.window_ = static_cast<std::int32_t>(std::min<std::int64_t>(radix, std::max(members - 1, 1)));
        return all;
    }
    [[nodiscard]] static Alltoall pairwise(Rank members) {
        return std::has_single_bit(static_cast<std::uint32_t>(members)) ? Alltoall{Kind::flip, members, 1}
                                                                        : ring(members, 1);
    }
    [[nodiscard]] static Alltoall bruck(Rank members, std::int64_t radix = 2) {
        return {Kind::bruck, members, static_cast<Rank>(std::min<std::int64_t>(radix, std::max(members, 2)))};
    }

    [[nodiscard]] Rank members() const { return members_; }
    [[nodiscard]] std::int32_t stages() const { return stages_; }
    /// Sends of a member that may be under way at a time; 0: all of a stage.
    [[nodiscard]] std::int32_t window() const { return window_; }

    /// Messages that every member sends, and receives, in a stage.
    [[nodiscard]] std::int32_t messages(std::int32_t stage) const {
        if (kind_ == Kind::bruck) {
            return static_cast<std::int32_t>(std::min<std::int64_t>(radix_ - 1, (members_ - 1) / weight(stage)));
        }
        return stage + 1 < stages_ ? radix_ : members_ - 1 - radix_ * stage;
    }

    [[nodiscard]] Rank distance(std::int32_t stage, std::int32_t index) const {
        return kind_ == Kind::bruck ? static_cast<Rank>((index + 1) * weight(stage)) : 1 + stage * radix_ + index;
    }

    /// How far ahead the `index`-th message that `member` sends in a stage goes.
    [[nodiscard]] Rank distance_ahead(Rank member, std::int32_t stage, std::int32_t index) const {
        return kind_ == Kind::ascending ? between(member, other(member, index)) : distance(stage, index);
    }
    /// From how far behind the `index`-th message that it receives comes.
    [[nodiscard]] Rank distance_behind(Rank member, std::int32_t stage, std::int32_t index) const {
        return kind_ == Kind::ascending ? between(other(member, index), member) : distance(stage, index);
    }

    /// The member to which `member` sends at this distance; 0 <= distance < members().
    [[nodiscard]] Rank ahead(Rank member, Rank distance) const {
        if (kind_ == Kind::flip) return member ^ distance;
        return member < members_ - distance ? member + distance : member - (members_ - distance);
    }
    /// The member from which it receives.
    [[nodiscard]] Rank behind(Rank member, Rank distance) const {
        if (kind_ == Kind::flip) return member ^ distance;
        return member >= distance ? member - distance : member + (members_ - distance);
    }

    /// Elements of the message that `from` sends `distance` ahead in `stage`.
    ///
    /// \param sizes callable (origin, destination) -> elements of that block. If it also has forwarded(from, distance,
    ///              weight, period), the sum over the blocks of a bruck message, that is used instead of adding them
    ///              one by one.
    template <class Sizes>
    [[nodiscard]] std::int64_t elements(const Sizes& sizes, Rank from, std::int32_t stage, Rank distance) const {
        if (kind_ != Kind::bruck) {
            return sizes(from, ahead(from, distance));
        }
        if constexpr (requires(std::int64_t weight) {
                          { sizes.forwarded(from, distance, weight, weight) } -> std::same_as<std::int64_t>;
                      }) {
            return sizes.forwarded(from, distance, weight(stage), weight(stage) * radix_);
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
        if (kind_ != Kind::bruck) {
            visit(from, ahead(from, distance));
            return;
        }
        // A block on its way here has made the steps of the lower digits of its way, so its origin is that far behind.
        const std::int64_t low_end = weight(stage);
        for (std::int64_t high = distance; high < members_; high += low_end * radix_) {
            for (std::int64_t low = 0; low < low_end && high + low < members_; ++low) {
                const Rank origin = behind(from, static_cast<Rank>(low));
                visit(origin, ahead(origin, static_cast<Rank>(high + low)));
            }
        }
    }

private:
    enum class Kind : std::uint8_t { shift, ascending, flip, bruck };

    /// The `index`-th of the other members by their numbers.
    [[nodiscard]] static Rank other(Rank member, std::int32_t index) { return index < member ? index : index + 1; }
    /// How far ahead of one member another one is.
    [[nodiscard]] Rank between(Rank member, Rank target) const {
        return target >= member ? target - member : members_ - (member - target);
    }

    Alltoall(Kind kind, Rank members, Rank radix) : members_{members}, radix_{std::max(radix, 1)}, kind_{kind} {
        if (kind_ == Kind::bruck) {
            while (weight(stages_) < members_) {
                ++stages_;
            }
        } else {
            stages_ = static_cast<std::int32_t>((std::int64_t{members_} - 1 + radix_ - 1) / radix_);
        }
    }

    /// Of a bruck stage's digit.
    [[nodiscard]] std::int64_t weight(std::int32_t stage) const {
        if (radix_ == 2) return std::int64_t{1} << stage;
        std::int64_t product = 1;
        for (; stage > 0; --stage) product *= radix_;
        return product;
    }

    Rank members_;
    Rank radix_;
    std::int32_t stages_ = 0;
    std::int32_t window_ = 0;
    Kind kind_;
};

/// An algorithm by its name.
struct AlltoallAlgorithm {
    const char* name;
    std::int64_t least_radix;  ///< 0: it has none
    std::int64_t radix;        ///< if none is given; 0: one must be
    Alltoall (*make)(Rank members, std::int64_t radix);

    [[nodiscard]] std::vector<Key> keys() const {
        if (least_radix == 0) return {};
        return {Key::integer("radix", least_radix, radix == 0 ? std::nullopt : std::optional<Value>(radix))};
    }
};

inline constexpr std::array<AlltoallAlgorithm, 6> alltoall_algorithms{
    {{"ring-k", 1, 0, [](Rank members, std::int64_t radix) { return Alltoall::ring(members, radix); }},
     {"burst", 0, 0, [](Rank members, std::int64_t) { return Alltoall::burst(members); }},
     {"bruck", 2, 2, [](Rank members, std::int64_t radix) { return Alltoall::bruck(members, radix); }},
     {"pairwise", 0, 0, [](Rank members, std::int64_t) { return Alltoall::pairwise(members); }},
     {"sliding-window", 1, 0,
      [](Rank members, std::int64_t radix) { return Alltoall::sliding_window(members, radix); }},
     {"burst-ascending", 0, 0, [](Rank members, std::int64_t) { return Alltoall::burst_ascending(members); }}}};

/// \param values `algorithm`, and its keys
[[nodiscard]] inline Alltoall make_alltoall(const Values& values, Rank members) {
    const auto algorithm = std::find_if(alltoall_algorithms.begin(), alltoall_algorithms.end(),
                                        [&](const auto& each) { return values.is("algorithm", each.name); });
    return algorithm->make(members, algorithm->least_radix == 0 ? 0 : values.integer("radix"));
}

/// Sizes of the blocks of one slab transposition: factor * cut_by_origin.size(i) * cut_by_destination.size(j).
struct SlabSizes {
    const Blocks& by_origin;
    const Blocks& by_destination;
    std::int64_t factor;

    [[nodiscard]] std::int64_t operator()(Rank origin, Rank destination) const {
        return factor * by_origin.size(origin) * by_destination.size(destination);
    }

    /// Elements of a bruck message, in O(1); see Alltoall::elements.
    ///
    /// Its ways are low + distance + m period with 0 <= low < weight. Their blocks started at from - low and end at
    /// from + distance + m period: the sum over m and the sum over low separate. Only for the last m may low be cut
    /// short, because ways end below n.
    [[nodiscard]] std::int64_t forwarded(Rank from, Rank distance, std::int64_t weight, std::int64_t period) const {
        const Rank n = by_origin.parts();
        const auto full = static_cast<Rank>((n - 1 - distance) / period);
        const auto last_way = static_cast<Rank>(distance + full * period);
        const auto wrap = [n](std::int64_t member) { return static_cast<Rank>(member < n ? member : member - n); };
        const std::int64_t regular =
            full == 0 ? 0
                      : by_origin.backward_sum(from, static_cast<Rank>(weight)) *
                            by_destination.strided_sum(wrap(std::int64_t{from} + distance), period, full);
        const std::int64_t last =
            by_origin.backward_sum(from, static_cast<Rank>(std::min<std::int64_t>(weight, n - last_way))) *
            by_destination.size(wrap(std::int64_t{from} + last_way));
        return factor * (regular + last);
    }
};

/// One all-to-all among all ranks. `Sizes` is as in Alltoall::elements, in elements.
///
/// Its global index space is ragged: element x of the block from y to z. A rank begins with all z of its own y and ends
/// with all y of its own z, but for the block it keeps.
template <class Sizes>
class AlltoallSchedule : public ContentSchedule {
public:
    AlltoallSchedule(Alltoall alltoall, Sizes sizes) : alltoall_{alltoall}, sizes_{std::move(sizes)} {}

    [[nodiscard]] Rank ranks() const override { return alltoall_.members(); }
    [[nodiscard]] std::int64_t rounds() const override { return alltoall_.stages(); }
    [[nodiscard]] std::vector<std::string> phases() const override { return {"alltoall"}; }

    [[nodiscard]] Round round(Rank, std::int64_t round) const override {
        const std::int32_t messages = alltoall_.messages(static_cast<std::int32_t>(round));
        return {0, messages, messages, alltoall_.window()};
    }

    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        const auto stage = static_cast<std::int32_t>(round);
        const Rank distance = alltoall_.distance_ahead(rank, stage, index);
        return {alltoall_.ahead(rank, distance), 0, element_bytes * alltoall_.elements(sizes_, rank, stage, distance)};
    }

    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        const auto stage = static_cast<std::int32_t>(round);
        const Rank distance = alltoall_.distance_behind(rank, stage, index);
        const Rank from = alltoall_.behind(rank, distance);
        return {from, 0, element_bytes * alltoall_.elements(sizes_, from, stage, distance)};
    }

    [[nodiscard]] std::vector<Piece> send_contents(Rank rank, std::int64_t round, std::int32_t index) const override {
        const auto stage = static_cast<std::int32_t>(round);
        return pieces(rank, stage, alltoall_.distance_ahead(rank, stage, index));
    }

    [[nodiscard]] std::vector<Piece> receive_contents(Rank rank, std::int64_t round,
                                                      std::int32_t index) const override {
        const auto stage = static_cast<std::int32_t>(round);
        const Rank distance = alltoall_.distance_behind(rank, stage, index);
        return pieces(alltoall_.behind(rank, distance), stage, distance);
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
    [[nodiscard]] std::vector<Piece> pieces(Rank from, std::int32_t stage, Rank distance) const {
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
