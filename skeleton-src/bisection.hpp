/// \file
/// An irregular decomposition: the grid is cut in two, in proportion to the processes of either part, until each has
/// one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "blocks.hpp"
#include "decomposition.hpp"
#include "refusal.hpp"

namespace tramontane {

/// What a process holds of the horizontal grid.
struct Tile {
    std::int32_t x_first, x_last, y_first, y_last;  ///< half-open

    [[nodiscard]] constexpr Range x() const { return {x_first, x_last}; }
    [[nodiscard]] constexpr Range y() const { return {y_first, y_last}; }
    [[nodiscard]] constexpr bool operator==(const Tile&) const = default;
};

/// Recursive coordinate bisection (Berger & Bokhari 1987) of a grid whose points all cost the same. For any number of
/// processes tiles are compact and nearly alike; cuts do not line up, so a tile has any number of neighbours.
///
/// Half of the processes (the smaller half first) get a part of the longer side, of x where sides are equal; the cut is
/// the nearest point to their share. It is moved, or made across the other side, where a part would have less points
/// than processes.
class Bisection {
public:
    /// \throws std::invalid_argument if there are less points than processes, or they can't be shared out by such cuts
    Bisection(const Grid& grid, Rank ranks)
        : whole_{0, static_cast<std::int32_t>(grid[0]), 0, static_cast<std::int32_t>(grid[1])}, ranks_{ranks} {
        for (Rank rank = 0; rank < ranks; ++rank) static_cast<void>(tile(rank));
    }

    [[nodiscard]] Rank ranks() const { return ranks_; }

    [[nodiscard]] Tile tile(Rank rank) const {
        return descend([rank](const Cut& cut) { return rank < cut.first_above; }).tile;
    }

    /// The process that holds a point; 0 <= x < nx, 0 <= y < ny.
    [[nodiscard]] Rank owner(std::int64_t x, std::int64_t y) const {
        return descend([x, y](const Cut& cut) { return (cut.along_x ? x : y) < cut.at; }).rank;
    }

    /// Calls `found(rank)` for each process that holds points of a box; both ranges within the grid, or empty.
    template <class Found>
    void visit(Range x, Range y, const Found& found) const {
        visit(whole_, 0, ranks_, x, y, found);
    }

private:
    struct Cut {
        bool along_x;
        std::int64_t at;   ///< first point above
        Rank first_above;  ///< first process above
    };
    struct Leaf {
        Tile tile;
        Rank rank;
    };

    /// Goes down to a single process, below each cut or above it.
    template <class Below>
    [[nodiscard]] Leaf descend(Below below) const {
        Tile tile = whole_;
        Rank first = 0, ranks = ranks_;
        while (ranks > 1) {
            const Cut cut = cut_of(tile, first, ranks);
            const Rank part = cut.first_above - first;
            if (below(cut)) {
                tile = parts(tile, cut).first;
                ranks = part;
            } else {
                tile = parts(tile, cut).second;
                ranks -= part;
                first = cut.first_above;
            }
        }
        return {tile, first};
    }

    template <class Found>
    void visit(const Tile& tile, Rank first, Rank ranks, Range x, Range y, const Found& found) const {
        if (std::max(x.first, tile.x().first) >= std::min(x.last, tile.x().last) ||
            std::max(y.first, tile.y().first) >= std::min(y.last, tile.y().last)) {
            return;
        }
        if (ranks == 1) return found(first);
        const Cut cut = cut_of(tile, first, ranks);
        const auto [below, above] = parts(tile, cut);
        visit(below, first, cut.first_above - first, x, y, found);
        visit(above, cut.first_above, first + ranks - cut.first_above, x, y, found);
    }

    [[nodiscard]] static std::pair<Tile, Tile> parts(const Tile& tile, const Cut& cut) {
        std::pair<Tile, Tile> parts{tile, tile};
        (cut.along_x ? parts.first.x_last : parts.first.y_last) = static_cast<std::int32_t>(cut.at);
        (cut.along_x ? parts.second.x_first : parts.second.y_first) = static_cast<std::int32_t>(cut.at);
        return parts;
    }

    [[nodiscard]] Cut cut_of(const Tile& tile, Rank first, Rank ranks) const {
        const std::int64_t below = ranks / 2, above = ranks - below;
        const bool x_longer = tile.x().size() >= tile.y().size();
        for (const bool along_x : {x_longer, !x_longer}) {
            const Range side = along_x ? tile.x() : tile.y();
            const std::int64_t across = (along_x ? tile.y() : tile.x()).size();
            const std::int64_t least = (below + across - 1) / across;
            const std::int64_t most = side.size() - (above + across - 1) / across;
            if (least > most) continue;
            const std::int64_t share = (2 * side.size() * below + ranks) / (2 * ranks);
            return {along_x, side.first + std::clamp(share, least, most), static_cast<Rank>(first + below)};
        }
        refuse("decomposition", "bisection for " + std::to_string(ranks_) + " ranks", "fewer ranks, or a larger grid");
    }

    Tile whole_;
    Rank ranks_;
};

}  // namespace tramontane
