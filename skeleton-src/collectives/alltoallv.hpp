/// \file
/// All-to-all of blocks of different sizes, such as MPI_Alltoallv does: by the algorithms of the transposition.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../alltoall.hpp"
#include "../blocks.hpp"
#include "../random.hpp"
#include "../spread.hpp"
#include "../weights.hpp"
#include "staged.hpp"

namespace tramontane {

/// Blocks of `count` doubles on average: by how much its two ends have, and then each within 1 - spread and 1 + spread
/// of that; see SlabSizes.
struct DrawnSizes {
    std::int64_t count;
    Spread spread;
    std::uint64_t seed;
    Weights senders, receivers;

    [[nodiscard]] std::int64_t operator()(Rank origin, Rank destination) const {
        const std::int64_t mean = product(senders.of(origin), receivers.of(destination));
        if (spread.ppm == 0) return mean;
        return spread.of(mean, random_bits(mix(seed ^ salt), static_cast<std::uint64_t>(origin),
                                           static_cast<std::uint64_t>(destination)));
    }
    [[nodiscard]] std::int64_t most() const { return spread.most(product(senders.most(), receivers.most())); }

    [[nodiscard]] std::int64_t product(std::int64_t sender, std::int64_t receiver) const {
        __extension__ using Wide = __int128;
        constexpr Wide one = static_cast<Wide>(Weights::one) * Weights::one;
        return static_cast<std::int64_t>((static_cast<Wide>(count) * sender * receiver + one / 2) / one);
    }

    static constexpr std::uint64_t salt = 0x626c6f63;  // tells its random numbers from others of the same seed
};

/// All ranks know all sizes, as those of a model do that does the same in each time step: where blocks are forwarded
/// (bruck), no messages tell of them. Element x of the block from y to z is a point of a field.
class DrawnAlltoall final : public AlltoallSchedule<DrawnSizes> {
public:
    DrawnAlltoall(Alltoall alltoall, const DrawnSizes& sizes) : AlltoallSchedule{alltoall, sizes}, sizes_{sizes} {}

    [[nodiscard]] std::vector<std::string> phases() const override { return {"alltoallv"}; }
    [[nodiscard]] Box held(Rank rank, std::int32_t phase) const override {
        const Range own{rank, rank + 1}, all{0, ranks()};
        return {{0, sizes_.most()}, phase == 0 ? own : all, phase == 0 ? all : own};
    }
    [[nodiscard]] std::optional<Grid> field() const override { return Grid{sizes_.most(), ranks(), ranks()}; }
    [[nodiscard]] Rank owner(std::int64_t, std::int64_t y) const override { return static_cast<Rank>(y); }
    [[nodiscard]] std::int64_t length(std::int64_t y, std::int64_t z) const override {
        return sizes_(static_cast<Rank>(y), static_cast<Rank>(z));
    }
    [[nodiscard]] bool in_place() const override { return false; }

private:
    DrawnSizes sizes_;
};

/// \throws std::invalid_argument if the bytes of all blocks could not be counted, or weights are not for these ranks
[[nodiscard]] inline DrawnSizes drawn_sizes(const Values& values, Rank ranks) {
    static_cast<void>(count_of(values, 2 * std::int64_t{ranks} * ranks));
    DrawnSizes sizes{values.integer("count"),
                     Spread{values.integer("spread")},
                     static_cast<std::uint64_t>(values.integer("seed")),
                     {values, "senders", ranks},
                     {values, "receivers", ranks}};
    std::int64_t bytes = 0;  // of a field whose blocks are all as large as the largest
    if (__builtin_mul_overflow(sizes.most(), element_bytes * ranks, &bytes) ||
        __builtin_mul_overflow(bytes, std::int64_t{ranks}, &bytes)) {
        refuse("count", std::to_string(values.integer("count")), "blocks of less than 2^63 bytes in all");
    }
    return sizes;
}

[[nodiscard]] inline CollectiveOperation alltoallv_operation() {
    const Key spread{.name = "spread", .integers = 1, .least = 0, .most = Spread::one};
    CollectiveOperation operation{"alltoallv",
                                  {count_key(), spread, Key::integer("seed", 0, std::int64_t{1}),
                                   Weights::key("senders"), Weights::key("receivers")},
                                  {}};
    for (const AlltoallAlgorithm& algorithm : alltoall_algorithms) {
        operation.algorithms.push_back({algorithm.name, algorithm.keys(),
                                        [](Rank ranks, const Values& values) -> std::unique_ptr<ContentSchedule> {
                                            return std::make_unique<DrawnAlltoall>(make_alltoall(values, ranks),
                                                                                   drawn_sizes(values, ranks));
                                        }});
    }
    return operation;
}

}  // namespace tramontane
