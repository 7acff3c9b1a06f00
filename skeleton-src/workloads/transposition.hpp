/// \file
/// The descriptor of the transposition.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "../transposition.hpp"
#include "kind.hpp"
#include "shared_grid.hpp"

namespace tramontane {

class TranspositionWorkload final : public Workload {
public:
    TranspositionWorkload(Values values, Rank ranks, const Permissions& permissions)
        : Workload{std::move(values), ranks},
          grid_{grid_of(this->values())},
          decomposition_{
              decomposition_of(this->values(), ranks, transposition_bounds(grid_), permissions.empty_blocks)} {
        require_countable(grid_, 0);
        set("decomposition", value_of(decomposition_));
    }

    [[nodiscard]] std::unique_ptr<Schedule> schedule(std::span<const std::byte> /*setup*/) const override {
        return std::make_unique<Transposition>(grid_, decomposition_, values());
    }
    /// The four layouts cut (x, y), (z, y), (z, x) and (y, x) by (cx, cy) (Zheng & Marguinaud 2018, Fig. 3).
    [[nodiscard]] double imbalance() const override {
        const auto [nx, ny, nz] = grid_;
        return std::max({largest_share(nx, ny, decomposition_), largest_share(nz, ny, decomposition_),
                         largest_share(nz, nx, decomposition_), largest_share(ny, nx, decomposition_)});
    }
    [[nodiscard]] std::optional<DecompositionLimits> limits() const override {
        return transposition_bounds(grid_).limits();
    }
    [[nodiscard]] Collective collective() const override { return Collective::alltoall; }

private:
    Grid grid_;
    Decomposition decomposition_;
};

[[nodiscard]] inline WorkloadKind transposition_kind() {
    std::vector<Key> keys = algorithm_keys(alltoall_algorithms);
    keys.push_back(grid_key());
    keys.push_back(decomposition_key());
    return {"transposition", std::move(keys), "burst",
            [](Values values, Rank ranks, const Permissions& permissions) -> std::unique_ptr<Workload> {
                return std::make_unique<TranspositionWorkload>(std::move(values), ranks, permissions);
            }};
}

}  // namespace tramontane
