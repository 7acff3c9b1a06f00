/// \file
/// Allreduce as in a Krylov solver's inner products (Zheng & Marguinaud 2018, section 3.3 and Fig. 4c), by the paper's
/// recursive-k and by the three algorithms that MPI libraries commonly choose from.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "contents.hpp"
#include "divisor.hpp"
#include "schedule.hpp"

namespace tramontane {

/// A message of an allreduce: a range of the vector's elements, added to the receiver's or put in their place.
struct Portion {
    Rank peer;
    Range elements;
    bool combine;
};

/// An allreduce of one vector as a sequence of stages. A message without elements is not sent.
template <class A>
concept AllreduceAlgorithm = requires(const A& a, Rank rank, std::int32_t stage, std::int32_t index) {
    { a.ranks() } -> std::same_as<Rank>;
    { a.count() } -> std::same_as<std::int64_t>;
    { a.stages() } -> std::same_as<std::int64_t>;
    { a.sends(rank, stage) } -> std::same_as<std::int32_t>;
    { a.receives(rank, stage) } -> std::same_as<std::int32_t>;
    { a.send(rank, stage, index) } -> std::same_as<Portion>;
    { a.receive(rank, stage, index) } -> std::same_as<Portion>;
};

/// The paper's recursive-k: with p = floor(log_k P), the first k^p ranks exchange in p stages, each with the k - 1
/// ranks that differ from it in one digit of base k; if P is no power of k, the others hand in their vector before and
/// get the result after, in two more stages.
///
/// The paper hands rank i's vector to rank i - (P - k^p). That is a rank below k^p, and another one for each i, only
/// while P <= 2 k^p: beyond, i = k^p itself would go to the negative rank 2 k^p - P, and there are more guests than
/// hosts. So here host(i) = i - (P - k^p) if P <= 2 k^p, else i mod k^p, which gives every host floor or ceil of
/// (P - k^p) / k^p guests. With k > P, p is 0 and rank 0 hosts all.
class RecursiveK {
public:
    /// How guests find their hosts.
    enum class Remainder : std::uint8_t {
        paper,   ///< as above
        modulo,  ///< host(i) = i mod k^p whatever P
    };

    /// \pre ranks >= 1, radix >= 2, count >= 1
    RecursiveK(Rank ranks, std::int64_t radix, std::int64_t count, Remainder remainder = Remainder::paper)
        : ranks_{ranks}, count_{count} {
        while (std::int64_t{core_} * radix <= ranks) {
            place_values_[static_cast<std::size_t>(digits_)] = Divisor{static_cast<std::uint32_t>(core_)};
            core_ = static_cast<Rank>(core_ * radix);
            ++digits_;
        }
        if (digits_ > 0) {
            radix_ = Divisor{static_cast<std::uint32_t>(radix)};
        }
        guests_ = ranks - core_;
        shifted_ = remainder == Remainder::paper && guests_ <= core_;
        by_core_ = Divisor{static_cast<std::uint32_t>(core_)};
    }

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] std::int64_t count() const { return count_; }
    [[nodiscard]] std::int64_t stages() const { return guests_ == 0 ? digits_ : digits_ + 2; }
    /// k^p, the number of ranks that exchange.
    [[nodiscard]] Rank core() const { return core_; }

    /// The rank below k^p that stands in for rank i >= k^p.
    [[nodiscard]] Rank host(Rank i) const {
        return shifted_ ? i - guests_ : static_cast<Rank>(by_core_.remainder(static_cast<std::uint32_t>(i)));
    }

    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const {
        return messages(rank, stage, guests_ != 0 && stage == 0);
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const {
        return messages(rank, stage, guests_ != 0 && stage == digits_ + 1);
    }

    [[nodiscard]] Portion send(Rank rank, std::int32_t stage, std::int32_t index) const {
        return message(rank, stage, index, true);
    }
    [[nodiscard]] Portion receive(Rank rank, std::int32_t stage, std::int32_t index) const {
        return message(rank, stage, index, false);
    }

private:
    [[nodiscard]] bool is_exchange(std::int32_t stage) const {
        return guests_ == 0 || (stage != 0 && stage != digits_ + 1);
    }

    /// \param guests_turn whether it is the guests, not the hosts, that have something to do in the first or last stage
    [[nodiscard]] std::int32_t messages(Rank rank, std::int32_t stage, bool guests_turn) const {
        if (is_exchange(stage)) {
            return rank < core_ ? static_cast<std::int32_t>(radix_.value()) - 1 : 0;
        }
        if (rank >= core_) {
            return guests_turn ? 1 : 0;
        }
        return guests_turn ? 0 : guests_of(rank);
    }

    [[nodiscard]] std::int32_t guests_of(Rank host) const {
        if (shifted_) {
            return host >= core_ - guests_ ? 1 : 0;
        }
        return static_cast<std::int32_t>(by_core_.quotient(static_cast<std::uint32_t>(ranks_ - 1 - host)));
    }

    [[nodiscard]] Portion message(Rank rank, std::int32_t stage, std::int32_t index, bool forward) const {
        const Range all{0, count_};
        if (!is_exchange(stage)) {
            const Rank peer = rank >= core_ ? host(rank) : rank + (shifted_ ? guests_ : (index + 1) * core_);
            return {peer, all, stage == 0};
        }
        const Divisor& value = place_values_[static_cast<std::size_t>(guests_ == 0 ? stage : stage - 1)];
        const auto k = static_cast<Rank>(radix_.value());
        const auto digit = static_cast<Rank>(radix_.remainder(value.quotient(static_cast<std::uint32_t>(rank))));
        Rank other = forward ? digit + index + 1 : digit - index - 1;
        other = other >= k ? other - k : other < 0 ? other + k : other;
        return {rank + (other - digit) * static_cast<Rank>(value.value()), all, true};
    }

    Rank ranks_;
    std::int64_t count_;
    Rank core_ = 1;            ///< k^p
    std::int32_t digits_ = 0;  ///< p
    Rank guests_ = 0;          ///< P - k^p
    bool shifted_ = false;     ///< each guest has a host of its own, P - k^p below it
    Divisor radix_{2};
    Divisor by_core_;
    std::array<Divisor, 31> place_values_;
};

/// Recursive-k with guests next to their hosts: the ranks are cut into k^p runs, as long as each other or longer by
/// one, whose first rank hosts the others. A guest then mostly shares a switch with its host, and hosts are spread
/// over the whole job. Otherwise as RecursiveK.
class AdjacentRecursiveK {
public:
    /// \pre ranks >= 1, radix >= 2, count >= 1
    AdjacentRecursiveK(Rank ranks, std::int64_t radix, std::int64_t count)
        : numbered_{ranks, radix, count, RecursiveK::Remainder::modulo},
          run_{static_cast<std::uint32_t>(ranks / numbered_.core())},
          longer_run_{run_.value() + 1},
          core_{static_cast<std::uint32_t>(numbered_.core())},
          longer_{ranks % numbered_.core()} {}

    [[nodiscard]] Rank ranks() const { return numbered_.ranks(); }
    [[nodiscard]] std::int64_t count() const { return numbered_.count(); }
    [[nodiscard]] std::int64_t stages() const { return numbered_.stages(); }

    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const {
        return numbered_.sends(number(rank), stage);
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const {
        return numbered_.receives(number(rank), stage);
    }
    [[nodiscard]] Portion send(Rank rank, std::int32_t stage, std::int32_t index) const {
        return placed(numbered_.send(number(rank), stage, index));
    }
    [[nodiscard]] Portion receive(Rank rank, std::int32_t stage, std::int32_t index) const {
        return placed(numbered_.receive(number(rank), stage, index));
    }

private:
    /// Number of a rank among those of RecursiveK: run + place in the run * k^p.
    [[nodiscard]] Rank number(Rank rank) const {
        const Rank border = longer_ * static_cast<Rank>(longer_run_.value());
        const bool in_longer = rank < border;
        const Divisor& length = in_longer ? longer_run_ : run_;
        const auto offset = static_cast<std::uint32_t>(in_longer ? rank : rank - border);
        const auto run = static_cast<Rank>(length.quotient(offset)) + (in_longer ? 0 : longer_);
        return run + static_cast<Rank>(length.remainder(offset) * core_.value());
    }

    [[nodiscard]] Portion placed(Portion portion) const {
        const auto number = static_cast<std::uint32_t>(portion.peer);
        const auto run = static_cast<Rank>(core_.remainder(number));
        const Rank first = run * static_cast<Rank>(run_.value()) + (run < longer_ ? run : longer_);
        portion.peer = first + static_cast<Rank>(core_.quotient(number));
        return portion;
    }

    RecursiveK numbered_;
    Divisor run_, longer_run_;  ///< lengths of the runs
    Divisor core_;
    Rank longer_;  ///< how many of them, from the first, are longer
};

/// How the power-of-two algorithms deal with the r = P - 2^m ranks too many, as MPICH does: of the first 2 r ranks
/// every even one hands its vector to its odd neighbour, sits out, and gets the result in the end.
class PairedFold {
public:
    explicit PairedFold(Rank ranks)
        : members_{static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(ranks)))}, pairs_{ranks - members_} {}

    [[nodiscard]] Rank members() const { return members_; }
    [[nodiscard]] int bits() const { return std::countr_zero(static_cast<std::uint32_t>(members_)); }
    [[nodiscard]] bool folds() const { return pairs_ != 0; }

    [[nodiscard]] bool gives(Rank rank) const { return rank < 2 * pairs_ && rank % 2 == 0; }
    [[nodiscard]] bool takes(Rank rank) const { return rank < 2 * pairs_ && rank % 2 != 0; }
    [[nodiscard]] static Rank partner(Rank rank) { return rank ^ 1; }

    /// Number of a rank among those that take part; only for ranks that do not give.
    [[nodiscard]] Rank member(Rank rank) const { return rank < 2 * pairs_ ? rank / 2 : rank - pairs_; }
    [[nodiscard]] Rank rank(Rank member) const { return member < pairs_ ? 2 * member + 1 : member + pairs_; }

private:
    Rank members_;
    Rank pairs_;
};

/// Recursive doubling: log2 stages in which the whole vector is exchanged with the rank that differs in one bit
/// (Thakur et al. 2005); with PairedFold, two more stages.
class RecursiveDoubling {
public:
    RecursiveDoubling(Rank ranks, std::int64_t count) : ranks_{ranks}, count_{count}, fold_{ranks} {}

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] std::int64_t count() const { return count_; }
    [[nodiscard]] std::int64_t stages() const { return fold_.bits() + (fold_.folds() ? 2 : 0); }

    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const {
        if (first(stage)) {
            return fold_.gives(rank) ? 1 : 0;
        }
        return last(stage) ? (fold_.takes(rank) ? 1 : 0) : (fold_.gives(rank) ? 0 : 1);
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const {
        if (first(stage)) {
            return fold_.takes(rank) ? 1 : 0;
        }
        return last(stage) ? (fold_.gives(rank) ? 1 : 0) : (fold_.gives(rank) ? 0 : 1);
    }

    [[nodiscard]] Portion send(Rank rank, std::int32_t stage, std::int32_t) const {
        const Range all{0, count_};
        if (first(stage) || last(stage)) {
            return {PairedFold::partner(rank), all, first(stage)};
        }
        const int bit = stage - (fold_.folds() ? 1 : 0);
        return {fold_.rank(fold_.member(rank) ^ (Rank{1} << bit)), all, true};
    }
    [[nodiscard]] Portion receive(Rank rank, std::int32_t stage, std::int32_t index) const {
        return send(rank, stage, index);  // every message is one half of an exchange, or goes to the one partner
    }

private:
    [[nodiscard]] bool first(std::int32_t stage) const { return fold_.folds() && stage == 0; }
    [[nodiscard]] bool last(std::int32_t stage) const { return fold_.folds() && stage == fold_.bits() + 1; }

    Rank ranks_;
    std::int64_t count_;
    PairedFold fold_;
};

/// Rabenseifner's algorithm (2004): the vector is cut into 2^m blocks; a reduce-scatter by vector halving and distance
/// doubling leaves every member the sum of one block, an allgather by vector doubling and distance halving spreads the
/// blocks. With PairedFold, two more stages with the whole vector, as in MPICH.
class Rabenseifner {
public:
    Rabenseifner(Rank ranks, std::int64_t count) : ranks_{ranks}, fold_{ranks}, blocks_{count, fold_.members()} {}

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] std::int64_t count() const { return blocks_.points(); }
    [[nodiscard]] std::int64_t stages() const { return 2 * fold_.bits() + (fold_.folds() ? 2 : 0); }

    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const {
        return messages(rank, stage, first(stage), last(stage), true);
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const {
        return messages(rank, stage, last(stage), first(stage), false);
    }
    [[nodiscard]] Portion send(Rank rank, std::int32_t stage, std::int32_t) const { return message(rank, stage, true); }
    [[nodiscard]] Portion receive(Rank rank, std::int32_t stage, std::int32_t) const {
        return message(rank, stage, false);
    }

    [[nodiscard]] const PairedFold& fold() const { return fold_; }
    /// What a member is in charge of after `halvings`: its lowest bit chooses the half, the next one the quarter, ...
    [[nodiscard]] Range share(Rank member, int halvings) const {
        Rank begin = 0;
        for (int bit = 0; bit < halvings; ++bit) {
            begin += ((member >> bit) & 1) << (fold_.bits() - 1 - bit);
        }
        return {blocks_.first(begin), blocks_.first(begin + (fold_.members() >> halvings))};
    }

private:
    [[nodiscard]] bool first(std::int32_t stage) const { return fold_.folds() && stage == 0; }
    [[nodiscard]] bool last(std::int32_t stage) const { return fold_.folds() && stage == 2 * fold_.bits() + 1; }

    [[nodiscard]] std::int32_t messages(Rank rank, std::int32_t stage, bool by_givers, bool by_takers,
                                        bool sending) const {
        if (by_givers || by_takers) {
            return (by_givers ? fold_.gives(rank) : fold_.takes(rank)) ? 1 : 0;
        }
        return !fold_.gives(rank) && message(rank, stage, sending).elements.size() > 0 ? 1 : 0;
    }

    [[nodiscard]] Portion message(Rank rank, std::int32_t stage, bool sending) const {
        if (first(stage) || last(stage)) {
            return {PairedFold::partner(rank), {0, blocks_.points()}, first(stage)};
        }
        const int step = stage - (fold_.folds() ? 1 : 0);
        const bool halving = step < fold_.bits();
        const int bit = halving ? step : 2 * fold_.bits() - 1 - step;
        const Rank own = fold_.member(rank);
        const Rank other = own ^ (Rank{1} << bit);
        // Halving: I get my half and give the other's. Doubling: the same the other way round.
        return {fold_.rank(other), share(halving == sending ? other : own, bit + 1), halving};
    }

    Rank ranks_;
    PairedFold fold_;
    Blocks blocks_;
};

/// Rabenseifner's with ranks too many as Thakur et al. (2005) have it for a reduce, and Open MPI for an allreduce, too:
/// of the first 2 r ranks, neighbours exchange halves of their vectors, and the even one gets the sum of the other
/// half, too. So each adds half a vector, where with PairedFold one adds all of it. Three more stages than there are
/// without ranks too many.
class PairingRabenseifner {
public:
    PairingRabenseifner(Rank ranks, std::int64_t count)
        : ranks_{ranks}, pairs_{ranks - PairedFold{ranks}.members()}, core_{ranks - pairs_, count} {}

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] std::int64_t count() const { return core_.count(); }
    [[nodiscard]] std::int64_t stages() const { return core_.stages() + (pairs_ > 0 ? 3 : 0); }

    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const { return messages(rank, stage, true); }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const { return messages(rank, stage, false); }
    [[nodiscard]] Portion send(Rank rank, std::int32_t stage, std::int32_t) const { return message(rank, stage, true); }
    [[nodiscard]] Portion receive(Rank rank, std::int32_t stage, std::int32_t) const {
        return message(rank, stage, false);
    }

private:
    [[nodiscard]] bool exchanges(std::int32_t stage) const { return pairs_ > 0 && stage == 0; }
    [[nodiscard]] bool hands_over(std::int32_t stage) const { return pairs_ > 0 && stage == 1; }
    [[nodiscard]] bool last(std::int32_t stage) const { return pairs_ > 0 && stage == stages() - 1; }
    [[nodiscard]] bool paired(Rank rank) const { return rank < 2 * pairs_; }
    [[nodiscard]] static bool odd(Rank rank) { return rank % 2 != 0; }

    [[nodiscard]] std::int32_t messages(Rank rank, std::int32_t stage, bool sending) const {
        if (exchanges(stage) || hands_over(stage) || last(stage)) {
            // Odd ranks hand over, and are sent the result.
            const bool takes_part = exchanges(stage) || (sending == odd(rank)) == hands_over(stage);
            return paired(rank) && takes_part && message(rank, stage, sending).elements.size() > 0 ? 1 : 0;
        }
        if (paired(rank) && odd(rank)) return 0;
        const Rank own = member(rank);
        return sending ? core_.sends(own, inside(stage)) : core_.receives(own, inside(stage));
    }
    [[nodiscard]] Portion message(Rank rank, std::int32_t stage, bool sending) const {
        const Range all{0, count()}, lower{0, count() / 2}, upper{count() / 2, count()};
        if (exchanges(stage)) return {PairedFold::partner(rank), sending == odd(rank) ? lower : upper, true};
        if (hands_over(stage)) return {PairedFold::partner(rank), upper, false};
        if (last(stage)) return {PairedFold::partner(rank), all, false};
        const Rank own = member(rank);
        Portion portion = sending ? core_.send(own, inside(stage), 0) : core_.receive(own, inside(stage), 0);
        portion.peer = portion.peer < pairs_ ? 2 * portion.peer : portion.peer + pairs_;
        return portion;
    }
    [[nodiscard]] std::int32_t inside(std::int32_t stage) const { return stage - (pairs_ > 0 ? 2 : 0); }
    [[nodiscard]] Rank member(Rank rank) const { return paired(rank) ? rank / 2 : rank - pairs_; }

    Rank ranks_;
    Rank pairs_;  ///< r = P - 2^m
    Rabenseifner core_;
};

/// Ring: the vector is cut into P blocks; each block goes round once to be summed, in P - 1 stages, and once more to be
/// spread, in another P - 1. Bandwidth-optimal, for long vectors on few ranks. With fewer elements than ranks most
/// blocks are empty and most ranks idle in most stages.
class RingAllreduce {
public:
    RingAllreduce(Rank ranks, std::int64_t count) : blocks_{count, ranks} {}

    [[nodiscard]] Rank ranks() const { return blocks_.parts(); }
    [[nodiscard]] std::int64_t count() const { return blocks_.points(); }
    [[nodiscard]] std::int64_t stages() const { return 2 * (std::int64_t{ranks()} - 1); }

    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const {
        return blocks_.size(block(rank, stage)) > 0 ? 1 : 0;
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const { return sends(before(rank), stage); }

    [[nodiscard]] Portion send(Rank rank, std::int32_t stage, std::int32_t) const {
        const Rank after = rank + 1 < ranks() ? rank + 1 : 0;
        return {after, blocks_.range(block(rank, stage)), stage < ranks() - 1};
    }
    [[nodiscard]] Portion receive(Rank rank, std::int32_t stage, std::int32_t) const {
        return {before(rank), blocks_.range(block(before(rank), stage)), stage < ranks() - 1};
    }

private:
    [[nodiscard]] Rank before(Rank rank) const { return rank > 0 ? rank - 1 : ranks() - 1; }

    /// The block that a rank sends on: its own at first, then the one it has just got. After P - 1 stages that is the
    /// one after its own, complete, and so the second tour begins without a break in the numbering.
    [[nodiscard]] Rank block(Rank rank, std::int32_t stage) const {
        const Rank back = stage < ranks() ? stage : stage - ranks();
        return rank >= back ? rank - back : rank - back + ranks();
    }

    Blocks blocks_;
};

/// `repeats` allreduces of `count` doubles, one after the other: GCR with N iterations needs 2 N (section 3.3).
///
/// An algorithm may have phases(), and phase(stage), of its own, and result(rank): the elements of which a rank has the
/// sum in the end, where that are not all.
template <AllreduceAlgorithm Algorithm>
class Allreduce final : public ContentSchedule {
public:
    /// \pre stages * repeats < 2^31
    Allreduce(Algorithm algorithm, std::int64_t repeats)
        : algorithm_{std::move(algorithm)},
          repeats_{repeats},
          rounds_{algorithm_.stages() * repeats},
          stages_{static_cast<std::uint32_t>(algorithm_.stages() > 0 ? algorithm_.stages() : 1)} {}

    [[nodiscard]] Rank ranks() const override { return algorithm_.ranks(); }
    [[nodiscard]] std::int64_t rounds() const override { return rounds_; }
    [[nodiscard]] std::int64_t repeats() const override { return repeats_; }
    [[nodiscard]] std::vector<std::string> phases() const override {
        if constexpr (requires { algorithm_.phases(); }) return algorithm_.phases();
        return {"allreduce"};
    }

    [[nodiscard]] Round round(Rank rank, std::int64_t round) const override {
        const std::int32_t stage = stage_of(round);
        std::int32_t phase = 0;
        if constexpr (requires { algorithm_.phase(stage); }) phase = algorithm_.phase(stage);
        return {phase, algorithm_.sends(rank, stage), algorithm_.receives(rank, stage)};
    }

    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        return transfer(algorithm_.send(rank, stage_of(round), index));
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        return transfer(algorithm_.receive(rank, stage_of(round), index));
    }

    [[nodiscard]] std::vector<Piece> send_contents(Rank rank, std::int64_t round, std::int32_t index) const override {
        const Portion portion = algorithm_.send(rank, stage_of(round), index);
        return {Piece{rank, portion.peer, vector(portion.elements), portion.combine}};
    }
    [[nodiscard]] std::vector<Piece> receive_contents(Rank rank, std::int64_t round,
                                                      std::int32_t index) const override {
        const Portion portion = algorithm_.receive(rank, stage_of(round), index);
        return {Piece{portion.peer, rank, vector(portion.elements), portion.combine}};
    }

    /// The vector: count x 1 x 1.
    [[nodiscard]] Box held(Rank rank, std::int32_t phase) const override {
        if constexpr (requires { algorithm_.result(rank); }) {
            if (phase == static_cast<std::int32_t>(phases().size())) return vector(algorithm_.result(rank));
        }
        return vector({0, algorithm_.count()});
    }

private:
    [[nodiscard]] std::int32_t stage_of(std::int64_t round) const {
        return static_cast<std::int32_t>(stages_.remainder(static_cast<std::uint32_t>(round)));
    }

    [[nodiscard]] static Transfer transfer(const Portion& portion) {
        return {portion.peer, 0, element_bytes * portion.elements.size()};
    }

    [[nodiscard]] static Box vector(Range elements) { return {elements, {0, 1}, {0, 1}}; }

    Algorithm algorithm_;
    std::int64_t repeats_;
    std::int64_t rounds_;
    Divisor stages_;
};

}  // namespace tramontane
