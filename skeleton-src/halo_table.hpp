/// \file
/// What processes have to know of each other to exchange the halos of an irregular decomposition, as one piece of
/// memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bisection.hpp"
#include "blocks.hpp"
#include "decomposition.hpp"
#include "refusal.hpp"

namespace tramontane {

/// A process that holds points of another one's halo, across a periodic edge of the grid or not.
struct Neighbour {
    Rank rank;
    std::int16_t x_turns, y_turns;  ///< grid sizes to add to its indices to be in the other one's count: -1, 0, 1

    [[nodiscard]] constexpr auto operator<=>(const Neighbour&) const = default;
};

/// Who holds points of a process's halo: looks in the grid and in its images on all sides.
[[nodiscard]] inline std::vector<Neighbour> halo_neighbours(const Grid& grid, std::int64_t width,
                                                            const Bisection& shares, Rank rank, const Tile& tile) {
    constexpr std::array<std::int16_t, 3> images{-1, 0, 1};
    std::vector<Neighbour> found;
    const auto part = [width](Range own, std::int64_t turns, std::int64_t n) {  // of the halo, in the image's count
        return Range{std::max<std::int64_t>(own.first - width - turns * n, 0),
                     std::min(own.last + width - turns * n, n)};
    };
    for (const std::int16_t y_turns : images) {
        for (const std::int16_t x_turns : images) {
            shares.visit(part(tile.x(), x_turns, grid[0]), part(tile.y(), y_turns, grid[1]), [&](Rank other) {
                if (other != rank) found.push_back({other, x_turns, y_turns});
            });
        }
    }
    const auto order = [rank, ranks = shares.ranks()](const Neighbour& a, const Neighbour& b) {
        const auto steps = [&](Rank other) { return other > rank ? other - rank : other - rank + ranks; };
        return std::pair{steps(a.rank), a} < std::pair{steps(b.rank), b};
    };
    std::sort(found.begin(), found.end(), order);
    return found;
}

/// Tiles and neighbours of all processes. A view of bytes that anybody may hold: itself, or a memory segment that
/// simulated processes share (Zheng & Marguinaud 2018, section 2.3). Header, then offsets[ranks + 1], tiles[ranks] and
/// neighbours[...], as they are in memory; the offsets count neighbours.
class HaloTable {
public:
    struct Header {
        std::array<char, 8> format;
        std::int64_t nx, ny, width, ranks, neighbours;
    };
    static constexpr std::array<char, 8> format{'T', 'R', 'M', 'H', 'A', 'L', 'O', '1'};

    /// \throws std::invalid_argument if it is none, or not that of this grid, width and number of processes
    HaloTable(std::span<const std::byte> bytes, const Grid& grid, std::int64_t width, Rank ranks) {
        Header header{};
        if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
        if (header.format != format || header.ranks < 1 || bytes.size() != size(header.ranks, header.neighbours)) {
            refuse("setup", std::to_string(bytes.size()) + " bytes that are no table of halos", "a table of halos");
        }
        if (header.nx != grid[0] || header.ny != grid[1] || header.width != width || header.ranks != ranks) {
            refuse("setup", described(header), described({format, grid[0], grid[1], width, ranks, 0}));
        }
        const std::byte* at = bytes.data() + sizeof header;
        offsets_ = reinterpret_cast<const std::int64_t*>(at);
        at += sizeof(std::int64_t) * (static_cast<std::size_t>(ranks) + 1);
        tiles_ = reinterpret_cast<const Tile*>(at);
        neighbours_ = reinterpret_cast<const Neighbour*>(at + sizeof(Tile) * static_cast<std::size_t>(ranks));
    }

    /// The same of bytes that it keeps.
    HaloTable(std::vector<std::byte>&& own, const Grid& grid, std::int64_t width, Rank ranks)
        : HaloTable{std::span<const std::byte>{own}, grid, width, ranks} {
        own_ = std::move(own);  // which moves no byte
    }
    HaloTable(const HaloTable&) = delete;
    HaloTable& operator=(const HaloTable&) = delete;
    HaloTable(HaloTable&&) = default;
    HaloTable& operator=(HaloTable&&) = default;
    ~HaloTable() = default;

    [[nodiscard]] const Tile& tile(Rank rank) const { return tiles_[rank]; }
    /// The next higher rank first, cyclically, so that processes do not all begin with the same one.
    [[nodiscard]] std::span<const Neighbour> neighbours(Rank rank) const {
        return {neighbours_ + offsets_[rank], neighbours_ + offsets_[rank + 1]};
    }

    /// \throws std::invalid_argument if a process would have its own points in its halo
    [[nodiscard]] static std::vector<std::byte> make(const Grid& grid, std::int64_t width, const Bisection& shares) {
        const Rank ranks = shares.ranks();
        Header header{format, grid[0], grid[1], width, ranks, 0};
        std::vector<std::byte> bytes;
        bytes.reserve(size(ranks, std::int64_t{9} * ranks));  // eight for each, if the halo is narrower than a tile
        bytes.resize(size(ranks, 0));
        const auto put = [&bytes](std::size_t at, const auto& value) {
            std::memcpy(bytes.data() + at, &value, sizeof value);
        };
        std::size_t offset = sizeof header,
                    place = offset + sizeof(std::int64_t) * (static_cast<std::size_t>(ranks) + 1);
        for (Rank rank = 0; rank < ranks; ++rank) {
            const Tile tile = shares.tile(rank);
            const std::int64_t most = std::min(grid[0] - tile.x().size(), grid[1] - tile.y().size());
            if (width > most) {
                refuse("width", std::to_string(width),
                       "at most " + std::to_string(most) + ", so that no process has its own points in its halo");
            }
            const std::vector<Neighbour> found = halo_neighbours(grid, width, shares, rank, tile);
            const auto added = std::as_bytes(std::span{found});
            bytes.insert(bytes.end(), added.begin(), added.end());
            put(place, tile);
            put(offset, header.neighbours);
            place += sizeof tile;
            offset += sizeof header.neighbours;
            header.neighbours += static_cast<std::int64_t>(found.size());
        }
        put(offset, header.neighbours);
        put(0, header);
        return bytes;
    }

private:
    [[nodiscard]] static std::size_t size(std::int64_t ranks, std::int64_t neighbours) {
        return sizeof(Header) + static_cast<std::size_t>(ranks + 1) * sizeof(std::int64_t) +
               static_cast<std::size_t>(ranks) * sizeof(Tile) +
               static_cast<std::size_t>(neighbours) * sizeof(Neighbour);
    }

    [[nodiscard]] static std::string described(const Header& header) {
        return "a table of halos of " + std::to_string(header.width) + " points on " + std::to_string(header.nx) +
               " x " + std::to_string(header.ny) + " for " + std::to_string(header.ranks) + " ranks";
    }

    std::vector<std::byte> own_;
    const std::int64_t* offsets_ = nullptr;
    const Tile* tiles_ = nullptr;
    const Neighbour* neighbours_ = nullptr;
};

/// Tiles and neighbours of those processes that are asked about, found when they are.
class HaloSearch {
public:
    HaloSearch(const Grid& grid, std::int64_t width, Rank ranks) : grid_{grid}, width_{width}, shares_{grid, ranks} {}

    [[nodiscard]] Tile tile(Rank rank) const { return shares_.tile(rank); }
    [[nodiscard]] const std::vector<Neighbour>& neighbours(Rank rank) const {
        if (rank != last_) {
            found_ = halo_neighbours(grid_, width_, shares_, rank, shares_.tile(rank));
            last_ = rank;
        }
        return found_;
    }

private:
    Grid grid_;
    std::int64_t width_;
    Bisection shares_;
    mutable Rank last_ = -1;
    mutable std::vector<Neighbour> found_;  ///< of the last one
};

}  // namespace tramontane
