/// \file
/// Neighbourhood: every rank of a periodic process grid gets the blocks of all its neighbours, diagonal ones too.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../divisor.hpp"
#include "staged.hpp"

namespace tramontane {

/// Rank x + nx (y + ny z) of a process grid nx x ny x nz. Along a dimension of one rank there are no neighbours; along
/// one of two, both sides are the same rank, and get a message each.
class ProcessGrid {
public:
    using Cell = std::array<Rank, 3>;

    explicit ProcessGrid(const std::vector<std::int64_t>& dims) {
        for (std::size_t axis = 0; axis < dims.size(); ++axis) {
            size_[axis] = Divisor{static_cast<std::uint32_t>(dims[axis])};
            if (dims[axis] > 1) axes_[active_++] = axis;
        }
    }

    [[nodiscard]] Rank size(std::size_t axis) const { return static_cast<Rank>(size_[axis].value()); }
    /// Dimensions with neighbours, and which they are.
    [[nodiscard]] std::size_t active() const { return active_; }
    [[nodiscard]] std::size_t axis(std::size_t number) const { return axes_[number]; }

    [[nodiscard]] Cell cell(Rank rank) const {
        const std::uint32_t rest = size_[0].quotient(static_cast<std::uint32_t>(rank));
        return {static_cast<Rank>(size_[0].remainder(static_cast<std::uint32_t>(rank))),
                static_cast<Rank>(size_[1].remainder(rest)), static_cast<Rank>(size_[1].quotient(rest))};
    }
    /// The rank at a cell, each coordinate of which may be one beyond the grid.
    [[nodiscard]] Rank rank(Cell cell) const {
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (cell[axis] < 0) cell[axis] += size(axis);
            if (cell[axis] >= size(axis)) cell[axis] -= size(axis);
        }
        return cell[0] + size(0) * (cell[1] + size(1) * cell[2]);
    }

private:
    std::array<Divisor, 3> size_{Divisor{1}, Divisor{1}, Divisor{1}};
    std::array<std::size_t, 3> axes_{};
    std::size_t active_ = 0;
};

/// A message: the cells whose blocks it carries, as seen by the rank that was asked, which may lie beyond the grid.
struct CellMessage {
    Rank peer;
    std::int32_t tag;
    std::array<Range, 3> cells;
};

/// One round with a message to each of the 3^d - 1 neighbours in d dimensions, with a block (as MPI_Neighbor_allgather;
/// Hoefler and Traff 2009, "Sparse collective operations for MPI").
class DirectNeighbours {
public:
    explicit DirectNeighbours(ProcessGrid grid) : grid_{grid} {
        for (std::size_t i = 0; i < grid_.active(); ++i) offsets_ *= 3;
    }
    [[nodiscard]] const ProcessGrid& grid() const { return grid_; }
    [[nodiscard]] std::int32_t stages() const { return offsets_ > 1 ? 1 : 0; }
    [[nodiscard]] std::int32_t messages() const { return offsets_ - 1; }
    [[nodiscard]] CellMessage send(Rank rank, std::int32_t, std::int32_t index) const {
        const ProcessGrid::Cell own = grid_.cell(rank);
        return {grid_.rank(moved(own, index, 1)), index, one(own)};
    }
    [[nodiscard]] CellMessage receive(Rank rank, std::int32_t, std::int32_t index) const {
        const ProcessGrid::Cell from = moved(grid_.cell(rank), index, -1);
        return {grid_.rank(from), index, one(from)};
    }

private:
    /// The cell at the `index`-th offset: digits of base 3, less 1, without that of the cell itself.
    [[nodiscard]] ProcessGrid::Cell moved(ProcessGrid::Cell cell, std::int32_t index, Rank sign) const {
        std::int32_t code = index < offsets_ / 2 ? index : index + 1;
        for (std::size_t i = 0; i < grid_.active(); ++i, code /= 3) cell[grid_.axis(i)] += sign * (code % 3 - 1);
        return cell;
    }
    [[nodiscard]] static std::array<Range, 3> one(const ProcessGrid::Cell& cell) {
        return {Range{cell[0], cell[0] + 1}, Range{cell[1], cell[1] + 1}, Range{cell[2], cell[2] + 1}};
    }

    ProcessGrid grid_;
    std::int32_t offsets_ = 1;  ///< 3^d
};

/// A round for each dimension, with a message upward and one downward that also carry what came along the dimensions
/// before, so that diagonal blocks need no messages of their own; 2 d messages and as many bytes as directly (Traff et
/// al. 2016, "Message-combining algorithms for isomorphic, sparse collective communication").
class DimensionSweeps {
public:
    explicit DimensionSweeps(ProcessGrid grid) : grid_{grid} {}
    [[nodiscard]] const ProcessGrid& grid() const { return grid_; }
    [[nodiscard]] std::int32_t stages() const { return static_cast<std::int32_t>(grid_.active()); }
    [[nodiscard]] std::int32_t messages() const { return 2; }
    [[nodiscard]] CellMessage send(Rank rank, std::int32_t stage, std::int32_t index) const {
        ProcessGrid::Cell cell = grid_.cell(rank);
        const auto cells = before(cell, stage);
        cell[axis(stage)] += index == 0 ? 1 : -1;
        return {grid_.rank(cell), index, cells};
    }
    [[nodiscard]] CellMessage receive(Rank rank, std::int32_t stage, std::int32_t index) const {
        ProcessGrid::Cell cell = grid_.cell(rank);
        cell[axis(stage)] += index == 0 ? -1 : 1;
        return {grid_.rank(cell), index, before(cell, stage)};
    }

private:
    [[nodiscard]] std::size_t axis(std::int32_t stage) const { return grid_.axis(static_cast<std::size_t>(stage)); }
    /// What the rank at a cell has before a stage.
    [[nodiscard]] std::array<Range, 3> before(const ProcessGrid::Cell& cell, std::int32_t stage) const {
        std::array<Range, 3> cells{Range{cell[0], cell[0] + 1}, Range{cell[1], cell[1] + 1},
                                   Range{cell[2], cell[2] + 1}};
        for (std::int32_t done = 0; done < stage; ++done) {
            cells[axis(done)] = {cell[axis(done)] - 1, cell[axis(done)] + 2};
        }
        return cells;
    }

    ProcessGrid grid_;
};

/// Blocks of `count` doubles, in a field count nx x ny x nz of which a rank holds its own block, then those around it.
template <class Algorithm>
class Neighbourhood final : public ContentSchedule {
public:
    Neighbourhood(Algorithm algorithm, std::int64_t count) : algorithm_{algorithm}, count_{count} {}

    [[nodiscard]] Rank ranks() const override { return grid().size(0) * grid().size(1) * grid().size(2); }
    [[nodiscard]] std::int64_t rounds() const override { return algorithm_.stages(); }
    [[nodiscard]] std::vector<std::string> phases() const override { return {"neighbourhood"}; }
    [[nodiscard]] Round round(Rank, std::int64_t) const override {
        return {0, algorithm_.messages(), algorithm_.messages()};
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        return transfer(algorithm_.send(rank, static_cast<std::int32_t>(round), index));
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        return transfer(algorithm_.receive(rank, static_cast<std::int32_t>(round), index));
    }
    [[nodiscard]] std::vector<Piece> send_contents(Rank rank, std::int64_t round, std::int32_t index) const override {
        const CellMessage message = algorithm_.send(rank, static_cast<std::int32_t>(round), index);
        return {{rank, message.peer, box(message.cells), false}};
    }
    [[nodiscard]] std::vector<Piece> receive_contents(Rank rank, std::int64_t round,
                                                      std::int32_t index) const override {
        const CellMessage message = algorithm_.receive(rank, static_cast<std::int32_t>(round), index);
        return {{message.peer, rank, box(message.cells), false}};
    }
    [[nodiscard]] Box held(Rank rank, std::int32_t phase) const override {
        const ProcessGrid::Cell cell = grid().cell(rank);
        std::array<Range, 3> cells;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const Rank reach = phase > 0 && grid().size(axis) > 1 ? 1 : 0;
            cells[axis] = {cell[axis] - reach, cell[axis] + 1 + reach};
        }
        return box(cells);
    }
    [[nodiscard]] std::optional<Grid> field() const override {
        return Grid{count_ * grid().size(0), grid().size(1), grid().size(2)};
    }
    [[nodiscard]] Rank owner_in_space(std::int64_t x, std::int64_t y, std::int64_t z) const override {
        return grid().rank({static_cast<Rank>(x / count_), static_cast<Rank>(y), static_cast<Rank>(z)});
    }

private:
    [[nodiscard]] const ProcessGrid& grid() const { return algorithm_.grid(); }
    [[nodiscard]] Box box(const std::array<Range, 3>& cells) const {
        return {{cells[0].first * count_, cells[0].last * count_}, cells[1], cells[2]};
    }
    [[nodiscard]] Transfer transfer(const CellMessage& message) const {
        return {message.peer, message.tag, element_bytes * box(message.cells).size()};
    }

    Algorithm algorithm_;
    std::int64_t count_;
};

template <class Algorithm>
[[nodiscard]] std::unique_ptr<ContentSchedule> make_neighbourhood(Rank ranks, const Values& values) {
    const std::vector<std::int64_t>& dims = values.integers("dims");
    std::string shown;
    std::int64_t cells = dims.size() > 3 ? 0 : 1;
    for (const std::int64_t each : dims) {
        shown += (shown.empty() ? "[" : ", ") + std::to_string(each);
        cells = each > ranks ? 0 : cells * each;
        if (cells > ranks) cells = 0;
    }
    if (cells != ranks) {
        refuse("dims", shown + "]",
               "one to three sizes whose product is the number of ranks, " + std::to_string(ranks));
    }
    return std::make_unique<Neighbourhood<Algorithm>>(Algorithm{ProcessGrid{dims}}, count_of(values, 27 * cells));
}

[[nodiscard]] inline CollectiveOperation neighbourhood_operation() {
    const Key dims{.name = "dims", .integers = Key::any_number, .most = std::numeric_limits<Rank>::max()};
    return {
        "neighbourhood",
        {count_key(), dims},
        {{"direct", {}, make_neighbourhood<DirectNeighbours>}, {"sweeps", {}, make_neighbourhood<DimensionSweeps>}}};
}

}  // namespace tramontane
