/// \file
/// The chain, down which a broadcast goes, and up which a reduce does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "binomial.hpp"
#include "staged.hpp"

namespace tramontane {

[[nodiscard]] inline Key segments_key() { return Key::integer("segments", 1); }

/// Into how many segments a vector is cut.
/// \throws std::invalid_argument if a chain would take too many rounds
[[nodiscard]] inline Rank segments_of(const Values& values, Rank ranks) {
    const std::int64_t segments = std::min(values.integer("segments"), count_of(values));
    if (segments > std::numeric_limits<Rank>::max() - ranks) {
        refuse("segments", std::to_string(segments), "less than 2^31 rounds in all");
    }
    return static_cast<Rank>(segments);
}

/// The vector travels in segments down a chain of ranks that begins at the root; a rank passes one on while it gets the
/// next. S segments take S + P - 2 stages (Watts and van de Geijn 1995, "A pipelined broadcast for multidimensional
/// meshes").
class ChainPass {
public:
    ChainPass(Rank ranks, Rank root, Rank segments) : order_{ranks, root}, segments_{segments} {}

    [[nodiscard]] Rank ranks() const { return order_.ranks(); }
    [[nodiscard]] std::int32_t stages() const { return ranks() == 1 ? 0 : ranks() - 2 + segments_; }
    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const {
        const Rank number = order_.number(rank);
        return number + 1 < ranks() && passes(number, stage) ? 1 : 0;
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const {
        const Rank number = order_.number(rank);
        return number > 0 && passes(number - 1, stage) ? 1 : 0;
    }
    [[nodiscard]] Parcel send(Rank rank, std::int32_t stage, std::int32_t) const {
        const Rank number = order_.number(rank);
        return {order_.rank(number + 1), {stage - number, 1}};
    }
    [[nodiscard]] Parcel receive(Rank rank, std::int32_t stage, std::int32_t) const {
        const Rank number = order_.number(rank);
        return {order_.rank(number - 1), {stage - (number - 1), 1}};
    }

private:
    [[nodiscard]] bool passes(Rank number, std::int32_t stage) const {
        return stage >= number && stage - number < segments_;
    }

    Numbering order_;
    Rank segments_;
};

}  // namespace tramontane
