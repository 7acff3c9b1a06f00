/// \file
/// Wide halo exchange of an irregular decomposition.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bisection.hpp"
#include "contents.hpp"
#include "halo_calls.hpp"
#include "halo_table.hpp"

namespace tramontane {

/// One round: everybody gets from every process what it holds of the halo, corners included. Tiles do not line up, so
/// there are no sweeps as in HaloExchange, and lists of neighbours instead of a formula.
///
/// Boxes of contents are in the count of the rank that is asked; indices outside the grid mean the point of the same
/// index modulo the grid's size. The tag says across which edges a message goes, because the same two processes may be
/// neighbours twice.
///
/// \tparam Table who has which tile and which neighbours: a HaloTable, or a HaloSearch
template <class Table>
class TiledHaloOf final : public ContentSchedule {
public:
    /// \pre width >= 1, calls are not sendrecv: tiles have no directions
    TiledHaloOf(const Grid& grid, Rank ranks, std::int64_t width, Table table, HaloCalls calls = HaloCalls::irecv_isend)
        : grid_{grid}, width_{width}, shares_{grid, ranks}, table_{std::move(table)}, calls_{calls} {}

    [[nodiscard]] Rank ranks() const override { return shares_.ranks(); }
    [[nodiscard]] std::int64_t rounds() const override { return 1; }
    [[nodiscard]] std::vector<std::string> phases() const override { return {"halo"}; }
    [[nodiscard]] bool receives_in_turn() const override { return calls_ == HaloCalls::isend_recv; }

    [[nodiscard]] Round round(Rank rank, std::int64_t /*round*/) const override {
        const auto neighbours = static_cast<std::int32_t>(table_.neighbours(rank).size());
        return called({0, neighbours, neighbours}, calls_);
    }

    [[nodiscard]] Transfer send(Rank rank, std::int64_t /*round*/, std::int32_t index) const override {
        const Neighbour to = neighbour(rank, index);
        return {to.rank, tag(-to.x_turns, -to.y_turns), element_bytes * given(rank, to).size()};
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t /*round*/, std::int32_t index) const override {
        const Neighbour from = neighbour(rank, index);
        return {from.rank, tag(from.x_turns, from.y_turns), element_bytes * taken(rank, from).size()};
    }

    [[nodiscard]] std::vector<Piece> send_contents(Rank rank, std::int64_t /*round*/,
                                                   std::int32_t index) const override {
        const Neighbour to = neighbour(rank, index);
        return {Piece{rank, to.rank, given(rank, to), false}};
    }
    [[nodiscard]] std::vector<Piece> receive_contents(Rank rank, std::int64_t /*round*/,
                                                      std::int32_t index) const override {
        const Neighbour from = neighbour(rank, index);
        return {Piece{from.rank, rank, taken(rank, from), false}};
    }

    /// Phase 0: the rank's own points; 1: and their halo.
    [[nodiscard]] Box held(Rank rank, std::int32_t phase) const override {
        const Tile tile = table_.tile(rank);
        return phase == 0 ? box(tile.x(), tile.y()) : box(grown(tile.x()), grown(tile.y()));
    }

    [[nodiscard]] std::optional<Grid> field() const override { return grid_; }
    [[nodiscard]] Rank owner(std::int64_t x, std::int64_t y) const override { return shares_.owner(x, y); }

private:
    [[nodiscard]] Neighbour neighbour(Rank rank, std::int32_t index) const {
        return table_.neighbours(rank)[static_cast<std::size_t>(index)];
    }
    /// As the receiver sees the sender.
    [[nodiscard]] static std::int32_t tag(int x_turns, int y_turns) { return 3 * (1 + y_turns) + 1 + x_turns; }

    [[nodiscard]] Range grown(Range range) const { return {range.first - width_, range.last + width_}; }
    [[nodiscard]] static Range common(Range a, Range b) {
        return {std::max(a.first, b.first), std::min(a.last, b.last)};
    }
    [[nodiscard]] Box box(Range x, Range y) const { return {x, y, {0, grid_[2]}}; }
    /// A neighbour's range in our count.
    [[nodiscard]] static Range moved(Range range, std::int64_t by) { return {range.first + by, range.last + by}; }

    /// Our points in the neighbour's halo.
    [[nodiscard]] Box given(Rank rank, const Neighbour& to) const {
        const Tile own = table_.tile(rank), other = table_.tile(to.rank);
        return box(common(own.x(), grown(moved(other.x(), to.x_turns * grid_[0]))),
                   common(own.y(), grown(moved(other.y(), to.y_turns * grid_[1]))));
    }
    /// The neighbour's points in our halo.
    [[nodiscard]] Box taken(Rank rank, const Neighbour& from) const {
        const Tile own = table_.tile(rank), other = table_.tile(from.rank);
        return box(common(grown(own.x()), moved(other.x(), from.x_turns * grid_[0])),
                   common(grown(own.y()), moved(other.y(), from.y_turns * grid_[1])));
    }

    Grid grid_;
    std::int64_t width_;
    Bisection shares_;
    Table table_;
    HaloCalls calls_;
};

using TiledHalo = TiledHaloOf<HaloTable>;

}  // namespace tramontane
