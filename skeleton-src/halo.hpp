/// \file
/// Wide halo exchange (Zheng & Marguinaud 2018, section 3.2 and Fig. 4b).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blocks.hpp"
#include "contents.hpp"
#include "decomposition.hpp"
#include "divisor.hpp"
#include "halo_calls.hpp"
#include "schedule.hpp"

namespace tramontane {

/// One periodic direction, in which every block fetches the `width` points before and after it.
///
/// The halo of a block may reach over several neighbours: it takes from each what it has, nearest first, until `width`
/// points are there. No neighbour is asked twice for the same side, so a side brings at most the points of all other
/// blocks; beyond them the block meets itself, and no message is needed (see HaloExchange).
class HaloSweep {
public:
    HaloSweep(std::int64_t points, Rank parts, std::int64_t width) : blocks_{points, parts}, width_{width} {}

    [[nodiscard]] const Blocks& blocks() const { return blocks_; }

    /// How many blocks after (before) this one hold points of its halo; equally, how many have it in theirs.
    [[nodiscard]] std::int32_t reach_up(Rank part) const {
        if (surrounded(part)) {
            return blocks_.parts() - 1;
        }
        const std::int64_t last = blocks_.first(part + 1) + width_ - 1;
        const std::int64_t n = blocks_.points();
        return (last < n ? blocks_.owner(last) : blocks_.owner(last - n) + blocks_.parts()) - part;
    }
    [[nodiscard]] std::int32_t reach_down(Rank part) const {
        if (surrounded(part)) {
            return blocks_.parts() - 1;
        }
        const std::int64_t first = blocks_.first(part) - width_;
        return part - (first >= 0 ? blocks_.owner(first) : blocks_.owner(first + blocks_.points()) - blocks_.parts());
    }

    struct Neighbour {
        Rank part;
        Range unwrapped;  ///< its points, counted on from ours: may be negative, or beyond the last point
    };

    /// The block `steps` after (before) this one; 0 < steps < number of blocks.
    [[nodiscard]] Neighbour up(Rank part, Rank steps) const {
        const bool wraps = part >= blocks_.parts() - steps;
        return shifted(wraps ? part - (blocks_.parts() - steps) : part + steps, wraps ? blocks_.points() : 0);
    }
    [[nodiscard]] Neighbour down(Rank part, Rank steps) const {
        const bool wraps = part < steps;
        return shifted(wraps ? part + (blocks_.parts() - steps) : part - steps, wraps ? -blocks_.points() : 0);
    }

    /// Points of our block that the neighbour above (below) needs, in our count.
    [[nodiscard]] Range given_up(Rank part, const Neighbour& to) const {
        const Range own = blocks_.range(part);
        return {std::max(own.first, to.unwrapped.first - width_), own.last};
    }
    [[nodiscard]] Range given_down(Rank part, const Neighbour& to) const {
        const Range own = blocks_.range(part);
        return {own.first, std::min(own.last, to.unwrapped.last + width_)};
    }

    /// Points of the neighbour below (above) that we need, in our count.
    [[nodiscard]] Range taken_from_below(Rank part, const Neighbour& from) const {
        return {std::max(from.unwrapped.first, blocks_.first(part) - width_), from.unwrapped.last};
    }
    [[nodiscard]] Range taken_from_above(Rank part, const Neighbour& from) const {
        return {from.unwrapped.first, std::min(from.unwrapped.last, blocks_.first(part + 1) + width_)};
    }

private:
    /// Does the halo reach all other blocks on either side?
    [[nodiscard]] bool surrounded(Rank part) const { return width_ >= blocks_.points() - blocks_.size(part); }

    [[nodiscard]] Neighbour shifted(Rank part, std::int64_t by) const {
        const Range own = blocks_.range(part);
        return {part, {own.first + by, own.last + by}};
    }

    Blocks blocks_;
    std::int64_t width_;
};

/// Two rounds: the sweep in x, then the sweep in y whose messages include the halo gained in x, so that the corners
/// arrive without messages of their own. A sweep posts what travels upward (to larger indices) first, nearest
/// neighbour first, then what travels downward; the tag is 2 * sweep + (0 up, 1 down), because with few blocks both
/// may go to the same rank. Where a rank calls sendrecv, each of the two directions is a round.
///
/// Boxes of contents are in the count of the rank that is asked, where its halo is [first - width, last + width):
/// indices there may lie outside the grid and mean the point of the same index modulo the grid's size. Any width is
/// allowed. Where first - width reaches below last - n (n: grid size), the block meets its own image: such points are
/// not sent but copied, outward from the block: value(i) = value(i + n) below, value(i - n) above. So every point of
/// the extended block is received or copied exactly once. A grid point of another rank is received once for each side
/// within whose width it lies: twice, as two images, only where 2 width + size > n.
class HaloExchange final : public ContentSchedule {
public:
    /// \pre width >= 1, halo_bounds(grid) admit the decomposition
    HaloExchange(const Grid& grid, Decomposition decomposition, std::int64_t width,
                 HaloCalls calls = HaloCalls::irecv_isend)
        : cx_{static_cast<std::uint32_t>(decomposition.cx)},
          ranks_{decomposition.cx * decomposition.cy},
          levels_{grid[2]},
          width_{width},
          calls_{calls},
          sweeps_{HaloSweep{grid[0], decomposition.cx, width}, HaloSweep{grid[1], decomposition.cy, width}} {}

    [[nodiscard]] Rank ranks() const override { return ranks_; }
    [[nodiscard]] std::int64_t rounds() const override { return 2 * rounds_of_sweep(); }
    [[nodiscard]] std::vector<std::string> phases() const override { return {"x-sweep", "y-sweep"}; }
    [[nodiscard]] bool receives_in_turn() const override { return calls_ == HaloCalls::isend_recv; }

    [[nodiscard]] Round round(Rank rank, std::int64_t round) const override {
        const Place at = place(rank, sweep_of(round));
        const std::int32_t up = at.sweep->reach_up(at.part);
        const std::int32_t down = at.sweep->reach_down(at.part);
        if (calls_ == HaloCalls::sendrecv) {
            return goes_up(round) ? Round{at.number, up, down} : Round{at.number, down, up};
        }
        return called({at.number, up + down, up + down}, calls_);
    }

    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        const Place at = place(rank, sweep_of(round));
        const Edge edge = sent(at, index, goes_up(round));
        return {world(at, edge.peer), edge.tag, element_bytes * edge.points.size() * line(at)};
    }

    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        const Place at = place(rank, sweep_of(round));
        const Edge edge = received(at, index, goes_up(round));
        return {world(at, edge.peer), edge.tag, element_bytes * edge.points.size() * line(at)};
    }

    [[nodiscard]] std::vector<Piece> send_contents(Rank rank, std::int64_t round, std::int32_t index) const override {
        const Place at = place(rank, sweep_of(round));
        const Edge edge = sent(at, index, goes_up(round));
        return {Piece{rank, world(at, edge.peer), box(at, edge.points), false}};
    }

    [[nodiscard]] std::vector<Piece> receive_contents(Rank rank, std::int64_t round,
                                                      std::int32_t index) const override {
        const Place at = place(rank, sweep_of(round));
        const Edge edge = received(at, index, goes_up(round));
        return {Piece{world(at, edge.peer), rank, box(at, edge.points), false}};
    }

    /// Phase 0: the rank's own points; 1: and their halo in x; 2: and in y, with corners.
    [[nodiscard]] Box held(Rank rank, std::int32_t phase) const override {
        const Place at = place(rank, 0);
        const Range x = sweeps_[0].blocks().range(at.ix);
        const Range y = sweeps_[1].blocks().range(at.iy);
        const std::int64_t wx = phase >= 1 ? width_ : 0;
        const std::int64_t wy = phase >= 2 ? width_ : 0;
        return {{x.first - wx, x.last + wx}, {y.first - wy, y.last + wy}, {0, levels_}};
    }

    [[nodiscard]] std::optional<Grid> field() const override {
        return Grid{sweeps_[0].blocks().points(), sweeps_[1].blocks().points(), levels_};
    }
    [[nodiscard]] Rank owner(std::int64_t x, std::int64_t y) const override {
        return sweeps_[1].blocks().owner(y) * static_cast<Rank>(cx_.value()) + sweeps_[0].blocks().owner(x);
    }

    /// Where the halo reaches beyond all other blocks it holds images of the rank's own points: plane by plane,
    /// outward, because a plane far out may be the image of one that is an image itself.
    [[nodiscard]] std::vector<OwnCopy> images(Rank rank, std::int32_t sweep) const override {
        const std::int64_t n = sweeps_[static_cast<std::size_t>(sweep)].blocks().points();
        const Box box = held(rank, sweep + 1);
        const Box before = held(rank, sweep);
        const Range own = sweep == 0 ? before.x : before.y;
        const auto plane = [&](std::int64_t at) {
            Box cut = box;
            (sweep == 0 ? cut.x : cut.y) = {at, at + 1};
            return cut;
        };
        std::vector<OwnCopy> copies;
        for (std::int64_t i = own.last - n - 1; i >= own.first - width_; --i)
            copies.push_back({plane(i + n), plane(i)});
        for (std::int64_t i = own.first + n; i < own.last + width_; ++i) copies.push_back({plane(i - n), plane(i)});
        return copies;
    }

private:
    struct Place {
        const HaloSweep* sweep;
        std::int32_t number;  ///< of the sweep: 0 in x, 1 in y
        Rank ix;
        Rank iy;
        Rank part;  ///< ix or iy, whichever the sweep runs along
    };

    struct Edge {
        Rank peer;  ///< ix or iy of the other end
        std::int32_t tag;
        Range points;
    };

    [[nodiscard]] std::int64_t rounds_of_sweep() const { return calls_ == HaloCalls::sendrecv ? 2 : 1; }
    [[nodiscard]] std::int32_t sweep_of(std::int64_t round) const {
        return static_cast<std::int32_t>(calls_ == HaloCalls::sendrecv ? round / 2 : round);
    }
    /// Whether the first message of a round travels upward.
    [[nodiscard]] bool goes_up(std::int64_t round) const { return calls_ != HaloCalls::sendrecv || round % 2 == 0; }

    [[nodiscard]] Place place(Rank rank, std::int32_t number) const {
        const std::uint32_t iy = cx_.quotient(static_cast<std::uint32_t>(rank));
        const std::uint32_t ix = static_cast<std::uint32_t>(rank) - iy * cx_.value();
        return {&sweeps_[static_cast<std::size_t>(number)], number, static_cast<Rank>(ix), static_cast<Rank>(iy),
                static_cast<Rank>(number == 0 ? ix : iy)};
    }

    [[nodiscard]] static Edge sent(const Place& at, std::int32_t index, bool goes_up) {
        const std::int32_t up = goes_up ? at.sweep->reach_up(at.part) : 0;
        if (index < up) {
            const auto to = at.sweep->up(at.part, index + 1);
            return {to.part, 2 * at.number, at.sweep->given_up(at.part, to)};
        }
        const auto to = at.sweep->down(at.part, index - up + 1);
        return {to.part, 2 * at.number + 1, at.sweep->given_down(at.part, to)};
    }

    [[nodiscard]] static Edge received(const Place& at, std::int32_t index, bool goes_up) {
        const std::int32_t down = goes_up ? at.sweep->reach_down(at.part) : 0;
        if (index < down) {  // it travels upward, so it comes from below
            const auto from = at.sweep->down(at.part, index + 1);
            return {from.part, 2 * at.number, at.sweep->taken_from_below(at.part, from)};
        }
        const auto from = at.sweep->up(at.part, index - down + 1);
        return {from.part, 2 * at.number + 1, at.sweep->taken_from_above(at.part, from)};
    }

    [[nodiscard]] Rank world(const Place& at, Rank part) const {
        const auto cx = static_cast<Rank>(cx_.value());
        return at.number == 0 ? at.iy * cx + part : part * cx + at.ix;
    }

    /// Elements of a message per point along the sweep.
    [[nodiscard]] std::int64_t line(const Place& at) const {
        return levels_ *
               (at.number == 0 ? sweeps_[1].blocks().size(at.iy) : sweeps_[0].blocks().size(at.ix) + 2 * width_);
    }

    [[nodiscard]] Box box(const Place& at, Range points) const {
        if (at.number == 0) {
            return {points, sweeps_[1].blocks().range(at.iy), {0, levels_}};
        }
        const Range x = sweeps_[0].blocks().range(at.ix);
        return {{x.first - width_, x.last + width_}, points, {0, levels_}};
    }

    Divisor cx_;
    Rank ranks_;
    std::int64_t levels_;
    std::int64_t width_;
    HaloCalls calls_;
    std::array<HaloSweep, 2> sweeps_;
};

}  // namespace tramontane
