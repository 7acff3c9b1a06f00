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
#include "staged.hpp"

namespace tramontane {

/// Blocks of about `count` doubles: each within 1 - spread and 1 + spread of it, by its two ends; see SlabSizes.
struct DrawnSizes {
    std::int64_t count;
    Spread spread;
    std::uint64_t seed;

    [[nodiscard]] std::int64_t operator()(Rank origin, Rank destination) const {
        return spread.of(count, random_bits(mix(seed ^ salt), static_cast<std::uint64_t>(origin),
                                            static_cast<std::uint64_t>(destination)));
    }
    [[nodiscard]] std::int64_t most() const { return spread.most(count); }

    static constexpr std::uint64_t salt = 0x626c6f63;  // tells its random numbers from others of the same seed
};

/// All ranks know all sizes, as those of a model do that does the same in each time step: where blocks are forwarded
/// (bruck), no messages tell of them. Element x of the block from y to z is a point of a field.
class DrawnAlltoall final : public AlltoallSchedule<DrawnSizes> {
public:
    DrawnAlltoall(Alltoall alltoall, DrawnSizes sizes) : AlltoallSchedule{alltoall, sizes}, sizes_{sizes} {}

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

[[nodiscard]] inline CollectiveOperation alltoallv_operation() {
    const Key spread{.name = "spread", .integers = 1, .least = 0, .most = Spread::one};
    CollectiveOperation operation{"alltoallv", {count_key(), spread, Key::integer("seed", 0, std::int64_t{1})}, {}};
    for (const AlltoallAlgorithm& algorithm : alltoall_algorithms) {
        operation.algorithms.push_back({algorithm.name, algorithm.keys(),
                                        [](Rank ranks, const Values& values) -> std::unique_ptr<ContentSchedule> {
                                            static_cast<void>(count_of(values, 2 * std::int64_t{ranks} * ranks));
                                            const DrawnSizes sizes{values.integer("count"),
                                                                   Spread{values.integer("spread")},
                                                                   static_cast<std::uint64_t>(values.integer("seed"))};
                                            return std::make_unique<DrawnAlltoall>(make_alltoall(values, ranks), sizes);
                                        }});
    }
    return operation;
}

}  // namespace tramontane
