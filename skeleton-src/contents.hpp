/// \file
/// What a message carries, beside how long it is: enough to move real data, or to prove that none goes astray.
///
/// The simulator needs sizes only and never asks for contents; a test or an MPI executor does. All workloads share one
/// vocabulary: a field of doubles over a global index space, of which every rank holds a box before and after a phase.
#pragma once

#include <cstdint>
#include <vector>

#include "blocks.hpp"
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

/// A schedule that also says what its messages carry. The bytes of a message are element_bytes times the sizes of its
/// pieces, which follow one another in the message in the order given.
///
/// All that a rank sends in a round is taken from its memory as it was before the round; what it receives changes its
/// memory after the round. Ranks that combine in ascending order of peer (own value in its place) get equal bits.
class ContentSchedule : public Schedule {
public:
    [[nodiscard]] virtual std::vector<Piece> send_contents(Rank rank, std::int64_t round, std::int32_t index) const = 0;
    [[nodiscard]] virtual std::vector<Piece> receive_contents(Rank rank, std::int64_t round,
                                                              std::int32_t index) const = 0;
    /// The box that a rank holds when `phase` begins; phase = number of phases: when all is done.
    [[nodiscard]] virtual Box held(Rank rank, std::int32_t phase) const = 0;
};

}  // namespace tramontane
