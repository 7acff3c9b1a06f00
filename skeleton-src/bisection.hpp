/// \file
/// An irregular decomposition: the grid is cut in two, in proportion to the processes of either part, until each has
/// one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
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
    Bisection(const Grid& grid, Rank ranks)
        : whole_{0, static_cast<std::int32_t>(grid[0]), 0, static_cast<std::int32_t>(grid[1])}, ranks_{ranks} {}

    [[nodiscard]] Rank ranks() const { return ranks_; }

    /// \throws std::invalid_argument always: there is no such bisection
    [[noreturn]] static void refuse_points(const Grid& grid, Rank ranks) {
        refuse_key("ranks",
                   std::to_string(ranks) + ", too many to bisect " + std::to_string(grid[0]) + " x " +
                       std::to_string(grid[1]) + " points",
                   "fewer");
    }

    /// Extremes over all tiles, not all of the same one [points].
    struct Largest {
        std::int64_t x, y, area;
    };
    /// Found without looking at each tile, because most parts are cut alike; nothing if there are less points than
    /// processes, or they can't be shared out by such cuts.
    [[nodiscard]] std::optional<Largest> largest() const {
        std::map<Part, std::optional<Largest>> known;
        return largest({whole_.x().size(), whole_.y().size(), ranks_}, known);
    }

    /// \throws std::invalid_argument if the points can't be shared out
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

    /// Where the cut is, from the first point of the side that is cut; nothing if there is none.
    struct Share {
        bool along_x;
        std::int64_t at;
    };
    [[nodiscard]] static std::optional<Share> share_of(std::int64_t x, std::int64_t y, Rank ranks) {
        const std::int64_t below = ranks / 2, above = ranks - below;
        for (const bool along_x : {x >= y, x < y}) {
            const std::int64_t side = along_x ? x : y, across = along_x ? y : x;
            const std::int64_t least = (below + across - 1) / across;
            const std::int64_t most = side - (above + across - 1) / across;
            if (least > most) continue;
            return Share{along_x, std::clamp((2 * side * below + ranks) / (2 * ranks), least, most)};
        }
        return std::nullopt;
    }

    [[nodiscard]] Cut cut_of(const Tile& tile, Rank first, Rank ranks) const {
        const auto share = share_of(tile.x().size(), tile.y().size(), ranks);
        if (!share) refuse_points({whole_.x().size(), whole_.y().size(), 1}, ranks_);
        return {share->along_x, (share->along_x ? tile.x() : tile.y()).first + share->at, first + ranks / 2};
    }

    using Part = std::tuple<std::int64_t, std::int64_t, Rank>;  ///< extents, processes

    [[nodiscard]] static std::optional<Largest> largest(const Part& part,
                                                        std::map<Part, std::optional<Largest>>& known) {
        const auto [x, y, ranks] = part;
        if (ranks == 1) return Largest{x, y, x * y};
        if (const auto found = known.find(part); found != known.end()) return found->second;
        std::optional<Largest> result;
        if (const auto share = share_of(x, y, ranks)) {
            const Rank below = ranks / 2;
            const auto a = largest(share->along_x ? Part{share->at, y, below} : Part{x, share->at, below}, known);
            const auto b = largest(
                share->along_x ? Part{x - share->at, y, ranks - below} : Part{x, y - share->at, ranks - below}, known);
            if (a && b) result = {std::max(a->x, b->x), std::max(a->y, b->y), std::max(a->area, b->area)};
        }
        known[part] = result;
        return result;
    }

    Tile whole_;
    Rank ranks_;
};

}  // namespace tramontane
