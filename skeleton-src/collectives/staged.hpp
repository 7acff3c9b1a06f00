/// \file
/// What all collectives of the catalogue share: how an operation describes itself, algorithms that move blocks stage by
/// stage, and where the blocks lie. An operation is one file here and one line in workloads/collective.hpp.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../blocks.hpp"
#include "../contents.hpp"
#include "../keys.hpp"
#include "../refusal.hpp"
#include "../schedule.hpp"

namespace tramontane {

/// An algorithm of a collective by its name. Its keys go with the name: operations that have an algorithm of the same
/// name share them.
struct CollectiveAlgorithm {
    std::string name;
    std::vector<Key> keys;
    /// \throws std::invalid_argument for what is not possible, with one line: key, what was found, what is allowed
    std::unique_ptr<ContentSchedule> (*make)(Rank ranks, const Values& values);
};

/// The descriptor of a collective.
struct CollectiveOperation {
    std::string name;
    std::vector<Key> keys;  ///< that all of its algorithms have
    std::vector<CollectiveAlgorithm> algorithms;
};

/// Doubles of a vector, or of a block.
[[nodiscard]] inline Key count_key() {
    return {.name = "count", .integers = 1, .most = std::numeric_limits<Rank>::max()};
}
/// Consecutive ranks that go together, such as those of a node.
[[nodiscard]] inline Key group_key() { return Key::integer("group", 1); }
[[nodiscard]] inline Key root_key() { return Key::integer("root", 0, std::int64_t{0}); }

[[nodiscard]] inline Rank root_of(const Values& values, Rank ranks) {
    const std::int64_t root = values.integer("root");
    if (root >= ranks) refuse("root", std::to_string(root), "a rank, 0 to " + std::to_string(ranks - 1));
    return static_cast<Rank>(root);
}

/// Doubles of each of `blocks` blocks.
/// \throws std::invalid_argument if the bytes of all blocks could not be counted
[[nodiscard]] inline std::int64_t count_of(const Values& values, std::int64_t blocks = 1) {
    const std::int64_t count = values.integer("count");
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(count, blocks, &bytes) || __builtin_mul_overflow(bytes, element_bytes, &bytes)) {
        refuse("count", std::to_string(count), "blocks of less than 2^63 bytes in all");
    }
    return count;
}

/// Blocks first, first + 1, ..., modulo their number.
struct BlockRun {
    Rank first;
    Rank count;
};

/// A message of a collective, seen from one of its two ends.
struct Parcel {
    Rank peer;
    BlockRun blocks;
};

/// Who sends which blocks to whom, stage by stage.
template <class A>
concept BlockAlgorithm = requires(const A& a, Rank rank, std::int32_t stage, std::int32_t index) {
    { a.ranks() } -> std::same_as<Rank>;
    { a.stages() } -> std::same_as<std::int32_t>;
    { a.sends(rank, stage) } -> std::same_as<std::int32_t>;
    { a.receives(rank, stage) } -> std::same_as<std::int32_t>;
    { a.send(rank, stage, index) } -> std::same_as<Parcel>;
    { a.receive(rank, stage, index) } -> std::same_as<Parcel>;
};

/// One algorithm after the other, among the same ranks.
template <BlockAlgorithm First, BlockAlgorithm Second>
class Sequence {
public:
    Sequence(First first, Second second) : first_{std::move(first)}, second_{std::move(second)} {}

    [[nodiscard]] Rank ranks() const { return first_.ranks(); }
    [[nodiscard]] std::int32_t stages() const { return first_.stages() + second_.stages(); }
    [[nodiscard]] std::int32_t sends(Rank rank, std::int32_t stage) const {
        return stage < first_.stages() ? first_.sends(rank, stage) : second_.sends(rank, stage - first_.stages());
    }
    [[nodiscard]] std::int32_t receives(Rank rank, std::int32_t stage) const {
        return stage < first_.stages() ? first_.receives(rank, stage) : second_.receives(rank, stage - first_.stages());
    }
    [[nodiscard]] Parcel send(Rank rank, std::int32_t stage, std::int32_t index) const {
        return stage < first_.stages() ? first_.send(rank, stage, index)
                                       : second_.send(rank, stage - first_.stages(), index);
    }
    [[nodiscard]] Parcel receive(Rank rank, std::int32_t stage, std::int32_t index) const {
        return stage < first_.stages() ? first_.receive(rank, stage, index)
                                       : second_.receive(rank, stage - first_.stages(), index);
    }

private:
    First first_;
    Second second_;
};

/// Where the blocks of a collective lie before and after.
template <class L>
concept BlockLayout = requires(const L& layout, Rank rank, BlockRun run, bool done) {
    { layout.blocks() } -> std::same_as<Rank>;
    { layout.elements(run) } -> std::same_as<std::int64_t>;
    /// A block as part of a message from one rank to another.
    { layout.piece(rank, rank, rank) } -> std::same_as<Piece>;
    { layout.held(rank, done) } -> std::same_as<Box>;
    { layout.field() } -> std::same_as<Grid>;
    { layout.owner(std::int64_t{}, std::int64_t{}) } -> std::same_as<Rank>;
    { layout.in_place() } -> std::same_as<bool>;
};

/// A collective that moves blocks, in one phase of its own name. A message without elements is not sent.
template <BlockAlgorithm Algorithm, BlockLayout Layout>
class BlockCollective final : public ContentSchedule {
public:
    BlockCollective(std::string name, Algorithm algorithm, Layout layout)
        : name_{std::move(name)}, algorithm_{std::move(algorithm)}, layout_{std::move(layout)} {}

    [[nodiscard]] Rank ranks() const override { return algorithm_.ranks(); }
    [[nodiscard]] std::int64_t rounds() const override { return algorithm_.stages(); }
    [[nodiscard]] std::vector<std::string> phases() const override { return {name_}; }

    [[nodiscard]] Round round(Rank rank, std::int64_t round) const override {
        const auto stage = static_cast<std::int32_t>(round);
        const std::int32_t sends = algorithm_.sends(rank, stage), receives = algorithm_.receives(rank, stage);
        // Where blocks may be empty, a stage has one message at most.
        return {0, sends == 1 && empty(algorithm_.send(rank, stage, 0)) ? 0 : sends,
                receives == 1 && empty(algorithm_.receive(rank, stage, 0)) ? 0 : receives};
    }

    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        return transfer(algorithm_.send(rank, static_cast<std::int32_t>(round), index));
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        return transfer(algorithm_.receive(rank, static_cast<std::int32_t>(round), index));
    }
    [[nodiscard]] std::vector<Piece> send_contents(Rank rank, std::int64_t round, std::int32_t index) const override {
        const Parcel parcel = algorithm_.send(rank, static_cast<std::int32_t>(round), index);
        return pieces(parcel.blocks, rank, parcel.peer);
    }
    [[nodiscard]] std::vector<Piece> receive_contents(Rank rank, std::int64_t round,
                                                      std::int32_t index) const override {
        const Parcel parcel = algorithm_.receive(rank, static_cast<std::int32_t>(round), index);
        return pieces(parcel.blocks, parcel.peer, rank);
    }

    [[nodiscard]] Box held(Rank rank, std::int32_t phase) const override { return layout_.held(rank, phase > 0); }
    [[nodiscard]] std::optional<Grid> field() const override { return layout_.field(); }
    [[nodiscard]] Rank owner(std::int64_t x, std::int64_t y) const override { return layout_.owner(x, y); }
    [[nodiscard]] bool in_place() const override { return layout_.in_place(); }

private:
    [[nodiscard]] bool empty(const Parcel& parcel) const { return layout_.elements(parcel.blocks) == 0; }

    [[nodiscard]] Transfer transfer(const Parcel& parcel) const {
        return {parcel.peer, 0, element_bytes * layout_.elements(parcel.blocks)};
    }

    [[nodiscard]] std::vector<Piece> pieces(BlockRun run, Rank sender, Rank receiver) const {
        std::vector<Piece> all;
        for (Rank i = 0; i < run.count; ++i) {
            const Rank to_end = layout_.blocks() - run.first;
            all.push_back(layout_.piece(i < to_end ? run.first + i : i - to_end, sender, receiver));
        }
        return all;
    }

    std::string name_;
    Algorithm algorithm_;
    Layout layout_;
};

template <BlockAlgorithm Algorithm, BlockLayout Layout>
[[nodiscard]] std::unique_ptr<ContentSchedule> block_collective(std::string name, Algorithm algorithm, Layout layout) {
    return std::make_unique<BlockCollective<Algorithm, Layout>>(std::move(name), std::move(algorithm),
                                                                std::move(layout));
}

}  // namespace tramontane
