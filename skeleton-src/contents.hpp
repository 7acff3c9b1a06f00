/// \file
/// What a message carries, beside how long it is: enough to move real data, or to prove that none goes astray.
///
/// The simulator needs sizes only and never asks for contents; a test or an MPI executor does. All workloads share one
/// vocabulary: a field of doubles over a global index space, of which every rank holds a box before and after a phase.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "blocks.hpp"
#include "decomposition.hpp"
#include "schedule.hpp"

namespace tramontane {

/// Size of one element of every field [B]: double precision, as in the paper (Table 3).
inline constexpr std::int64_t element_bytes = 8;

/// Box of indices. Packed in a message, x varies fastest, then y, then z.
struct Box {
    Range x;
    Range y;
    Range z;

    [[nodiscard]] constexpr std::int64_t size() const { return x.size() * y.size() * z.size(); }
    [[nodiscard]] constexpr bool operator==(const Box&) const = default;
};

/// One part of a message.
struct Piece {
    Rank origin;       ///< rank that contributed the data first (of a combined value: the sender)
    Rank destination;  ///< rank that the data are for; another one than the receiver if they are to be passed on
    Box box;       ///< where the data stand in the global index space, in the coordinates of the rank that was asked
    bool combine;  ///< true: add to what the receiver has; false: put in its place
};

/// What a rank copies within its own memory, because it holds the same point of a field twice.
struct OwnCopy {
    Box from;
    Box to;
};

/// A schedule that also says what its messages carry. The bytes of a message are element_bytes times the sizes of its
/// pieces, which follow one another in the message in the order given.
///
/// All that a rank sends in a round is taken from its memory as it was before the round; what it receives changes its
/// memory after the round. Ranks that combine in ascending order of peer (own value in its place) get equal bits.
class ContentSchedule : public Schedule {
public:
    [[nodiscard]] const ContentSchedule* contents() const final { return this; }
    [[nodiscard]] virtual std::vector<Piece> send_contents(Rank rank, std::int64_t round, std::int32_t index) const = 0;
    [[nodiscard]] virtual std::vector<Piece> receive_contents(Rank rank, std::int64_t round,
                                                              std::int32_t index) const = 0;
    /// The box that a rank holds when `phase` begins; phase = number of phases: when all is done.
    [[nodiscard]] virtual Box held(Rank rank, std::int32_t phase) const = 0;

    /// Points along x, y, z of the field whose boxes the ranks hold. Nothing: each rank has a vector of its own, and in
    /// each repeat the vectors of all ranks are added up; what a rank holds in the end is the part of the sum it has.
    [[nodiscard]] virtual std::optional<Grid> field() const { return std::nullopt; }
    /// The rank that has a point of the field when phase 0 begins; 0 <= x < nx, 0 <= y < ny.
    [[nodiscard]] virtual Rank owner(std::int64_t /*x*/, std::int64_t /*y*/) const {
        throw std::logic_error("no field, no owner of a point");
    }
    /// The same of a field that is cut along z, too; 0 <= z < nz.
    [[nodiscard]] virtual Rank owner_in_space(std::int64_t x, std::int64_t y, std::int64_t /*z*/) const {
        return owner(x, y);
    }
    /// How many points along x the field has at (y, z), where that differs; boxes have room for the most.
    [[nodiscard]] virtual std::int64_t length(std::int64_t /*y*/, std::int64_t /*z*/) const {
        return std::numeric_limits<std::int64_t>::max();
    }
    /// Whether the boxes of all phases are parts of the last one, so that what a rank has stays in its place. Otherwise
    /// every phase has a box of its own, and the rank copies what it keeps.
    [[nodiscard]] virtual bool in_place() const { return true; }
    /// What a rank copies by itself at the end of a phase, in this order.
    [[nodiscard]] virtual std::vector<OwnCopy> images(Rank /*rank*/, std::int32_t /*phase*/) const { return {}; }
};

}  // namespace tramontane
