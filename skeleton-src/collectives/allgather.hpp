/// \file
/// Allgather: every rank has a block, and in the end all blocks of all ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "staged.hpp"

namespace tramontane {

/// Every rank, numbered from a root on, passes on to the next one the block that it has just got, its own at first;
/// P - 1 stages (Thakur, Rabenseifner and Gropp 2005, "Optimization of collective communication operations in MPICH").
class RingPass {
public:
    RingPass(Rank ranks, Rank root) : ranks_{ranks}, root_{root} {}

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] std::int32_t stages() const { return ranks_ - 1; }
    [[nodiscard]] std::int32_t sends(Rank, std::int32_t) const { return 1; }
    [[nodiscard]] std::int32_t receives(Rank, std::int32_t) const { return 1; }
    [[nodiscard]] Parcel send(Rank rank, std::int32_t stage, std::int32_t) const {
        return {back(rank, ranks_ - 1), {back(back(rank, root_), stage), 1}};
    }
    [[nodiscard]] Parcel receive(Rank rank, std::int32_t stage, std::int32_t) const {
        const Rank before = back(rank, 1);
        return {before, {back(back(before, root_), stage), 1}};
    }

private:
    /// \pre 0 <= by <= P
    [[nodiscard]] Rank back(Rank number, Rank by) const { return number >= by ? number - by : number + (ranks_ - by); }

    Rank ranks_;
    Rank root_;
};

/// After stage s a rank has the blocks of the r^(s+1) ranks from itself on: it gets those from d r^s on, 0 < d < r, of
/// the rank that far ahead; ceil(log_r P) stages (Bruck et al. 1997, "Efficient algorithms for all-to-all
/// communications in multiport message-passing systems"; r - 1 is the number of ports).
class BruckAllgather {
public:
    BruckAllgather(Rank ranks, std::int64_t radix)
        : ranks_{ranks}, radix_{static_cast<Rank>(std::min<std::int64_t>(radix, std::max(ranks, 2)))} {
        while (weight(stages_) < ranks_) ++stages_;
    }

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] std::int32_t stages() const { return stages_; }
    [[nodiscard]] std::int32_t sends(Rank, std::int32_t stage) const {
        return static_cast<std::int32_t>(std::min<std::int64_t>(radix_ - 1, (ranks_ - 1) / weight(stage)));
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const { return sends(rank, stage); }
    [[nodiscard]] Parcel send(Rank rank, std::int32_t stage, std::int32_t index) const {
        const Rank by = distance(stage, index);
        return {rank >= by ? rank - by : rank + (ranks_ - by), {rank, length(stage, by)}};
    }
    [[nodiscard]] Parcel receive(Rank rank, std::int32_t stage, std::int32_t index) const {
        const Rank by = distance(stage, index);
        const Rank from = rank < ranks_ - by ? rank + by : rank - (ranks_ - by);
        return {from, {from, length(stage, by)}};
    }

private:
    [[nodiscard]] std::int64_t weight(std::int32_t stage) const {
        std::int64_t product = 1;
        for (; stage > 0; --stage) product *= radix_;
        return product;
    }
    [[nodiscard]] Rank distance(std::int32_t stage, std::int32_t index) const {
        return static_cast<Rank>((index + 1) * weight(stage));
    }
    [[nodiscard]] Rank length(std::int32_t stage, Rank distance) const {
        return static_cast<Rank>(std::min<std::int64_t>(weight(stage), ranks_ - distance));
    }

    Rank ranks_;
    Rank radix_;
    std::int32_t stages_ = 0;
};

/// Stage s exchanges all blocks of 2^s ranks with the rank that differs in bit s (Thakur et al. 2005). Where there is
/// no power of two of ranks, the last of those groups is cut short: n ranks where 2^s should be. Then only n ranks of
/// the group before it got its blocks. They hand them on to the others, as MPICH does: each time to as many as have
/// them.
class DoublingAllgather {
public:
    explicit DoublingAllgather(Rank ranks) : ranks_{ranks} {
        for (Rank half = 1; half < ranks; half *= 2) {
            stages_.push_back({half, 0, 0});
            const Rank middle = (ranks - 1) / (2 * half) * 2 * half + half, there = ranks - middle;
            if (there <= 0) continue;
            for (Rank by = half / 2; there < 2 * by; by /= 2) stages_.push_back({half, middle, by});
        }
    }

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] std::int32_t stages() const { return static_cast<std::int32_t>(stages_.size()); }
    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const {
        const Stage& s = stages_[static_cast<std::size_t>(stage)];
        return s.by == 0 ? (rank ^ s.half) < ranks_ : hands_on(rank, s);
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const {
        const Stage& s = stages_[static_cast<std::size_t>(stage)];
        return s.by == 0 ? (rank ^ s.half) < ranks_ : hands_on(rank - s.by, s);
    }
    [[nodiscard]] Parcel send(Rank rank, std::int32_t stage, std::int32_t) const {
        const Stage& s = stages_[static_cast<std::size_t>(stage)];
        return s.by == 0 ? Parcel{rank ^ s.half, group_of(rank, s.half)} : Parcel{rank + s.by, last(s)};
    }
    [[nodiscard]] Parcel receive(Rank rank, std::int32_t stage, std::int32_t) const {
        const Stage& s = stages_[static_cast<std::size_t>(stage)];
        return s.by == 0 ? Parcel{rank ^ s.half, group_of(rank ^ s.half, s.half)} : Parcel{rank - s.by, last(s)};
    }

private:
    struct Stage {
        Rank half;    ///< ranks of a group
        Rank middle;  ///< where the last group begins, whose blocks are handed on
        Rank by;      ///< how far; 0: groups exchange
    };

    [[nodiscard]] BlockRun group_of(Rank rank, Rank half) const {
        const Rank first = rank / half * half;
        return {first, std::min(half, ranks_ - first)};
    }
    [[nodiscard]] BlockRun last(const Stage& s) const { return {s.middle, ranks_ - s.middle}; }
    /// Of each run of 2 `by` ranks the first `there` have the blocks, and `by` ranks further somebody may have none.
    [[nodiscard]] bool hands_on(Rank rank, const Stage& s) const {
        const Rank there = ranks_ - s.middle, in_run = (rank - (s.middle - s.half)) % (2 * s.by);
        return rank >= s.middle - s.half && rank < s.middle && in_run < s.by && in_run < there &&
               in_run + s.by >= there;
    }

    Rank ranks_;
    std::vector<Stage> stages_;
};

/// Pairs of ranks exchange their blocks, and then ranks pass on to either neighbour in turn the two blocks that they
/// have got last from the other one: P / 2 stages for an even number of ranks (Chen et al. 2005, "Performance
/// evaluation of allgather algorithms on terascale Linux cluster with fast Ethernet").
class NeighbourExchange {
public:
    /// \pre ranks is even
    explicit NeighbourExchange(Rank ranks) : ranks_{ranks} {}

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] std::int32_t stages() const { return ranks_ / 2; }
    [[nodiscard]] std::int32_t sends(Rank, std::int32_t) const { return 1; }
    [[nodiscard]] std::int32_t receives(Rank, std::int32_t) const { return 1; }
    [[nodiscard]] Parcel send(Rank rank, std::int32_t stage, std::int32_t) const {
        const Rank peer = partner(rank, stage);
        return {peer, got(peer, stage)};
    }
    [[nodiscard]] Parcel receive(Rank rank, std::int32_t stage, std::int32_t) const {
        return {partner(rank, stage), got(rank, stage)};
    }

private:
    /// \pre -P <= number < 2 P
    [[nodiscard]] Rank wrapped(Rank number) const {
        return number < 0 ? number + ranks_ : number < ranks_ ? number : number - ranks_;
    }
    /// Whether a stage brings blocks from numbers above.
    [[nodiscard]] static bool from_above(Rank rank, std::int32_t stage) { return rank % 2 == stage % 2; }
    [[nodiscard]] Rank partner(Rank rank, std::int32_t stage) const {
        return wrapped(from_above(rank, stage) ? rank + 1 : rank - 1);
    }
    /// What a rank gets: its partner's block at first, then the pair that is so many ranks away from its own.
    [[nodiscard]] BlockRun got(Rank rank, std::int32_t stage) const {
        if (stage == 0) return {partner(rank, 0), 1};
        const Rank pair = rank / 2 * 2, away = (stage + 1) / 2 * 2;
        return {wrapped(from_above(rank, stage) ? pair + away : pair - away), 2};
    }

    Rank ranks_;
};

/// Block y has `count` doubles and is that of rank y.
class AllgatherLayout {
public:
    AllgatherLayout(Rank ranks, std::int64_t count) : ranks_{ranks}, count_{count} {}

    [[nodiscard]] Rank blocks() const { return ranks_; }
    [[nodiscard]] std::int64_t elements(BlockRun run) const { return count_ * run.count; }
    [[nodiscard]] Piece piece(Rank block, Rank, Rank receiver) const {
        return {block, receiver, {{0, count_}, {block, block + 1}, {0, 1}}, false};
    }
    [[nodiscard]] Box held(Rank rank, bool done) const {
        return {{0, count_}, done ? Range{0, ranks_} : Range{rank, rank + 1}, {0, 1}};
    }
    [[nodiscard]] Grid field() const { return {count_, ranks_, 1}; }
    [[nodiscard]] Rank owner(std::int64_t, std::int64_t y) const { return static_cast<Rank>(y); }
    [[nodiscard]] bool in_place() const { return true; }

private:
    Rank ranks_;
    std::int64_t count_;
};

[[nodiscard]] inline CollectiveOperation allgather_operation() {
    static constexpr const char* name = "allgather";
    static constexpr auto layout = [](Rank ranks, const Values& values) {
        return AllgatherLayout{ranks, count_of(values, ranks)};
    };
    return {name,
            {count_key()},
            {{"ring",
              {},
              [](Rank ranks, const Values& values) {
                  return block_collective(name, RingPass{ranks, 0}, layout(ranks, values));
              }},
             {"bruck",
              {Key::integer("radix", 2, std::int64_t{2})},
              [](Rank ranks, const Values& values) {
                  return block_collective(name, BruckAllgather{ranks, values.integer("radix")}, layout(ranks, values));
              }},
             {"recursive-doubling",
              {},
              [](Rank ranks, const Values& values) {
                  return block_collective(name, DoublingAllgather{ranks}, layout(ranks, values));
              }},
             // An odd number of ranks takes the ring.
             {"neighbour-exchange", {}, [](Rank ranks, const Values& values) {
                  return ranks % 2 != 0 ? block_collective(name, RingPass{ranks, 0}, layout(ranks, values))
                                        : block_collective(name, NeighbourExchange{ranks}, layout(ranks, values));
              }}}};
}

}  // namespace tramontane
