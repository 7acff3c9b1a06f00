/// \file
/// Barrier: no rank is done before all have begun. Its messages are empty.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../allreduce.hpp"
#include "binomial.hpp"
#include "staged.hpp"
#include "trees.hpp"

namespace tramontane {

/// Stage s tells the rank 2^s further; ceil(log2 P) stages (Hensgen, Finkel and Manber 1988, "Two algorithms for
/// barrier synchronization").
class Dissemination {
public:
    explicit Dissemination(Rank ranks) : ranks_{ranks} {}

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] std::int32_t stages() const {
        return static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(ranks_ - 1)));
    }
    [[nodiscard]] std::int32_t sends(Rank, std::int32_t) const { return 1; }
    [[nodiscard]] std::int32_t receives(Rank, std::int32_t) const { return 1; }
    [[nodiscard]] Parcel send(Rank rank, std::int32_t stage, std::int32_t) const {
        const Rank distance = Rank{1} << stage;
        return {rank < ranks_ - distance ? rank + distance : rank - (ranks_ - distance), {0, 0}};
    }
    [[nodiscard]] Parcel receive(Rank rank, std::int32_t stage, std::int32_t) const {
        const Rank distance = Rank{1} << stage;
        return {rank >= distance ? rank - distance : rank + (ranks_ - distance), {0, 0}};
    }

private:
    Rank ranks_;
};

/// \tparam Algorithm of blocks or of an allreduce; its messages are empty here
template <class Algorithm>
class BarrierSchedule final : public ContentSchedule {
public:
    explicit BarrierSchedule(Algorithm algorithm) : algorithm_{std::move(algorithm)} {}

    [[nodiscard]] Rank ranks() const override { return algorithm_.ranks(); }
    [[nodiscard]] std::int64_t rounds() const override { return algorithm_.stages(); }
    [[nodiscard]] std::vector<std::string> phases() const override { return {"barrier"}; }
    [[nodiscard]] Round round(Rank rank, std::int64_t round) const override {
        const auto stage = static_cast<std::int32_t>(round);
        return {0, algorithm_.sends(rank, stage), algorithm_.receives(rank, stage)};
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        return {algorithm_.send(rank, static_cast<std::int32_t>(round), index).peer, 0, 0};
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        return {algorithm_.receive(rank, static_cast<std::int32_t>(round), index).peer, 0, 0};
    }
    [[nodiscard]] std::vector<Piece> send_contents(Rank, std::int64_t, std::int32_t) const override { return {}; }
    [[nodiscard]] std::vector<Piece> receive_contents(Rank, std::int64_t, std::int32_t) const override { return {}; }
    [[nodiscard]] Box held(Rank, std::int32_t) const override { return {}; }
    /// A field without points, so that nothing is summed.
    [[nodiscard]] std::optional<Grid> field() const override { return Grid{0, 0, 0}; }

private:
    Algorithm algorithm_;
};

template <class Algorithm>
[[nodiscard]] std::unique_ptr<ContentSchedule> make_barrier(Algorithm algorithm) {
    return std::make_unique<BarrierSchedule<Algorithm>>(std::move(algorithm));
}

/// Up to rank 0, which has then heard of all, and down again.
template <class Pass>
[[nodiscard]] std::unique_ptr<ContentSchedule> make_rooted_barrier(Rank ranks) {
    const auto pass = [&](TreePass::Way way) { return Pass{ranks, 0, way, TreePass::Load::one}; };
    return make_barrier(Sequence{pass(TreePass::Way::up), pass(TreePass::Way::down)});
}

[[nodiscard]] inline CollectiveOperation barrier_operation() {
    return {"barrier",
            {},
            {{"dissemination", {}, [](Rank ranks, const Values&) { return make_barrier(Dissemination{ranks}); }},
             // Over a binomial tree (Mellor-Crummey and Scott 1991, "Algorithms for scalable synchronization on
             // shared-memory multiprocessors", on combining trees).
             {"tree", {}, [](Rank ranks, const Values&) { return make_rooted_barrier<TreePass>(ranks); }},
             {"linear", {}, [](Rank ranks, const Values&) { return make_rooted_barrier<LinearPass>(ranks); }},
             // The messages of an allreduce by recursive-k, k = 2; ranks too many have hosts 2^m below them.
             {"recursive-doubling", {}, [](Rank ranks, const Values&) {
                  return make_barrier(RecursiveK{ranks, 2, 1, RecursiveK::Remainder::modulo});
              }}}};
}

}  // namespace tramontane
