/// \file
/// The transpositions of a spectral model (Zheng & Marguinaud 2018, section 3.1 and Fig. 3).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "alltoall.hpp"
#include "blocks.hpp"
#include "contents.hpp"
#include "decomposition.hpp"
#include "divisor.hpp"
#include "schedule.hpp"

namespace tramontane {

/// From layout a to d, in three phases, each of them a set of independent all-to-alls within slabs:
///
///     layout a: x cut by cx, y by cy, z whole      a-b: within a row of ranks (same iy), xz slabs
///     layout b: x whole, y by cy, z by cx          b-c: within a column of ranks (same ix), xy slabs
///     layout c: x cut by cy, y whole, z by cx      c-d: within a row of ranks, yz slabs
///     layout d: x cut by cy, y by cx, z whole
///
/// Rank iy * cx + ix holds part ix of what cx cuts and part iy of what cy cuts. No barrier stands between the phases.
/// A block keeps its size from layout to layout, so the two layouts of a phase are cut by the members of one group:
/// the block from member i to member j is part i of the dimension that becomes whole, part j of the one that is cut.
class Transposition final : public ContentSchedule {
public:
    /// Blocks are empty, and their messages have 0 bytes, unless transposition_bounds(grid) admit the decomposition.
    ///
    /// \param values `algorithm`, and its keys
    Transposition(const Grid& grid, Decomposition decomposition, const Values& values)
        : cx_{static_cast<std::uint32_t>(decomposition.cx)},
          ranks_{decomposition.cx * decomposition.cy},
          phases_{Phase{make_alltoall(values, decomposition.cx), true, 0, Blocks{grid[0], decomposition.cx},
                        Blocks{grid[2], decomposition.cx}, Blocks{grid[1], decomposition.cy}},
                  Phase{make_alltoall(values, decomposition.cy), false, 0, Blocks{grid[1], decomposition.cy},
                        Blocks{grid[0], decomposition.cy}, Blocks{grid[2], decomposition.cx}},
                  Phase{make_alltoall(values, decomposition.cx), true, 0, Blocks{grid[2], decomposition.cx},
                        Blocks{grid[1], decomposition.cx}, Blocks{grid[0], decomposition.cy}}} {
        phases_[1].first_round = phases_[0].alltoall.stages();
        phases_[2].first_round = phases_[1].first_round + phases_[1].alltoall.stages();
    }

    [[nodiscard]] Rank ranks() const override { return ranks_; }
    [[nodiscard]] std::int64_t rounds() const override { return phases_[2].first_round + phases_[2].alltoall.stages(); }
    [[nodiscard]] std::vector<std::string> phases() const override { return {"a-b", "b-c", "c-d"}; }

    [[nodiscard]] Round round(Rank, std::int64_t round) const override {
        const std::int32_t number = phase_of(round);
        const Phase& phase = phases_[static_cast<std::size_t>(number)];
        const std::int32_t messages = phase.alltoall.messages(static_cast<std::int32_t>(round - phase.first_round));
        return {number, messages, messages, phase.alltoall.window()};
    }

    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        const Place at = place<&Alltoall::distance_ahead>(rank, round, index);
        return {world(at, at.phase->alltoall.ahead(at.member, at.distance)), at.number,
                element_bytes * at.phase->alltoall.elements(sizes(at), at.member, at.stage, at.distance)};
    }

    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        const Place at = place<&Alltoall::distance_behind>(rank, round, index);
        const Rank from = at.phase->alltoall.behind(at.member, at.distance);
        return {world(at, from), at.number,
                element_bytes * at.phase->alltoall.elements(sizes(at), from, at.stage, at.distance)};
    }

    [[nodiscard]] std::vector<Piece> send_contents(Rank rank, std::int64_t round, std::int32_t index) const override {
        const Place at = place<&Alltoall::distance_ahead>(rank, round, index);
        return pieces(at, at.member);
    }

    [[nodiscard]] std::vector<Piece> receive_contents(Rank rank, std::int64_t round,
                                                      std::int32_t index) const override {
        const Place at = place<&Alltoall::distance_behind>(rank, round, index);
        return pieces(at, at.phase->alltoall.behind(at.member, at.distance));
    }

    /// Layouts a, b, c, d for phase 0, 1, 2, 3.
    [[nodiscard]] Box held(Rank rank, std::int32_t phase) const override {
        const auto [iy, ix] = split(rank);
        const Blocks& x_by_cx = phases_[0].by_origin;
        const Blocks& y_by_cy = phases_[0].shared;
        const Blocks& z_by_cx = phases_[1].shared;
        const Blocks& x_by_cy = phases_[2].shared;
        const Blocks& y_by_cx = phases_[2].by_destination;
        const Range all_x{0, x_by_cx.points()};
        const Range all_y{0, y_by_cy.points()};
        const Range all_z{0, z_by_cx.points()};
        switch (phase) {
            case 0:
                return {x_by_cx.range(ix), y_by_cy.range(iy), all_z};
            case 1:
                return {all_x, y_by_cy.range(iy), z_by_cx.range(ix)};
            case 2:
                return {x_by_cy.range(iy), all_y, z_by_cx.range(ix)};
            default:
                return {x_by_cy.range(iy), y_by_cx.range(ix), all_z};
        }
    }

    [[nodiscard]] std::optional<Grid> field() const override {
        return Grid{phases_[0].by_origin.points(), phases_[0].shared.points(), phases_[1].shared.points()};
    }
    [[nodiscard]] Rank owner(std::int64_t x, std::int64_t y) const override {
        return phases_[0].shared.owner(y) * static_cast<Rank>(cx_.value()) + phases_[0].by_origin.owner(x);
    }
    /// Layouts a to d are cut differently.
    [[nodiscard]] bool in_place() const override { return false; }

private:
    struct Phase {
        Alltoall alltoall;
        bool along_row;  ///< members are the ranks of a row (same iy), else of a column (same ix)
        std::int64_t first_round;
        Blocks by_origin;       ///< dimension that the members hold in parts before, and whole after
        Blocks by_destination;  ///< dimension that they hold whole before, and in parts after
        Blocks shared;          ///< dimension of which all members hold the same part, before and after
    };

    /// Row and column of a rank.
    struct Cell {
        Rank iy;
        Rank ix;
    };

    struct Place {
        const Phase* phase;
        std::int32_t number;
        std::int32_t stage;
        Rank distance;
        Rank member;  ///< in the group
        Rank group;   ///< iy of a row, ix of a column
    };

    [[nodiscard]] Cell split(Rank rank) const {
        const std::uint32_t iy = cx_.quotient(static_cast<std::uint32_t>(rank));
        return {static_cast<Rank>(iy), static_cast<Rank>(static_cast<std::uint32_t>(rank) - iy * cx_.value())};
    }

    [[nodiscard]] std::int32_t phase_of(std::int64_t round) const {
        return (round >= phases_[1].first_round ? 1 : 0) + (round >= phases_[2].first_round ? 1 : 0);
    }

    /// \param Distance that of a message that is sent, or of one that is received
    template <auto Distance>
    [[nodiscard]] Place place(Rank rank, std::int64_t round, std::int32_t index) const {
        const std::int32_t number = phase_of(round);
        const Phase& phase = phases_[static_cast<std::size_t>(number)];
        const auto stage = static_cast<std::int32_t>(round - phase.first_round);
        const Cell cell = split(rank);
        const Rank member = phase.along_row ? cell.ix : cell.iy;
        return {&phase, number,
                stage,  (phase.alltoall.*Distance)(member, stage, index),
                member, phase.along_row ? cell.iy : cell.ix};
    }

    [[nodiscard]] Rank world(const Place& at, Rank member) const {
        const auto cx = static_cast<Rank>(cx_.value());
        return at.phase->along_row ? at.group * cx + member : member * cx + at.group;
    }

    [[nodiscard]] static SlabSizes sizes(const Place& at) {
        return {at.phase->by_origin, at.phase->by_destination, at.phase->shared.size(at.group)};
    }

    [[nodiscard]] std::vector<Piece> pieces(const Place& at, Rank from) const {
        std::vector<Piece> pieces;
        const Phase& phase = *at.phase;
        phase.alltoall.blocks(from, at.stage, at.distance, [&](Rank origin, Rank destination) {
            const Range cut = phase.by_origin.range(origin);
            const Range made = phase.by_destination.range(destination);
            const Range same = phase.shared.range(at.group);
            const Box box = at.number == 0   ? Box{cut, same, made}
                            : at.number == 1 ? Box{made, cut, same}
                                             : Box{same, made, cut};
            pieces.push_back({world(at, origin), world(at, destination), box, false});
        });
        return pieces;
    }

    Divisor cx_;
    Rank ranks_;
    std::array<Phase, 3> phases_;
};

}  // namespace tramontane
