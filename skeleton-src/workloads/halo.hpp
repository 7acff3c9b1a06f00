/// \file
/// The descriptors of the halo exchange, on blocks that line up and on the tiles of a bisection.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../halo.hpp"
#include "../tiled_halo.hpp"
#include "kind.hpp"
#include "shared_grid.hpp"

namespace tramontane {

[[nodiscard]] inline HaloCalls calls_of(const Values& values) {
    const std::vector<std::string> names = halo_calls();
    return static_cast<HaloCalls>(std::find(names.begin(), names.end(), values.word("calls")) - names.begin());
}

class HaloWorkload final : public Workload {
public:
    HaloWorkload(Values values, Rank ranks)
        : Workload{std::move(values), ranks},
          grid_{grid_of(this->values())},
          width_{this->values().integer("width")},
          decomposition_{decomposition_of(this->values(), ranks, halo_bounds(grid_))},
          calls_{calls_of(this->values())} {
        require_countable(grid_, width_);
        set("decomposition", value_of(decomposition_));
    }

    [[nodiscard]] std::unique_ptr<Schedule> schedule(std::span<const std::byte> /*setup*/) const override {
        return std::make_unique<HaloExchange>(grid_, decomposition_, width_, calls_);
    }
    [[nodiscard]] double imbalance() const override { return largest_share(grid_[0], grid_[1], decomposition_); }
    [[nodiscard]] std::optional<DecompositionLimits> limits() const override { return halo_bounds(grid_).limits(); }
    [[nodiscard]] bool by_datatypes() const override { return values().is("buffers", "datatypes"); }
    [[nodiscard]] Collective collective() const override { return Collective::neighbours; }

private:
    Grid grid_;
    std::int64_t width_;
    Decomposition decomposition_;
    HaloCalls calls_;
};

class TiledHaloWorkload final : public Workload {
public:
    TiledHaloWorkload(Values values, Rank ranks)
        : Workload{std::move(values), ranks},
          grid_{grid_of(this->values())},
          width_{this->values().integer("width")},
          calls_{calls_of(this->values())} {
        require_countable(grid_, width_);
        if (calls_ == HaloCalls::sendrecv) {
            refuse("calls", "sendrecv with decomposition bisection, whose tiles have no directions",
                   "another, or decomposition [cx, cy]");
        }
        const auto largest = Bisection{grid_, ranks}.largest();
        if (!largest) Bisection::refuse_points(grid_, ranks);
        area_ = largest->area;
        const std::int64_t most = std::min(grid_[0] - largest->x, grid_[1] - largest->y);
        if (width_ > most) {
            refuse("width", std::to_string(width_),
                   "at most " + std::to_string(most) + ", so that no process has its own points in its halo");
        }
    }

    [[nodiscard]] std::unique_ptr<Schedule> schedule(std::span<const std::byte> shared) const override {
        return std::make_unique<TiledHalo>(
            grid_, ranks(), width_,
            shared.empty() ? HaloTable{setup(), grid_, width_, ranks()} : HaloTable{shared, grid_, width_, ranks()},
            calls_);
    }
    [[nodiscard]] std::unique_ptr<Schedule> sampled() const override {
        return std::make_unique<TiledHaloOf<HaloSearch>>(grid_, ranks(), width_, HaloSearch{grid_, width_, ranks()},
                                                         calls_);
    }
    [[nodiscard]] std::vector<std::byte> setup() const override {
        return HaloTable::make(grid_, width_, Bisection{grid_, ranks()});
    }
    [[nodiscard]] bool by_datatypes() const override { return values().is("buffers", "datatypes"); }
    [[nodiscard]] double imbalance() const override {
        return static_cast<double>(area_ * ranks()) / static_cast<double>(grid_[0] * grid_[1]);
    }

private:
    Grid grid_;
    std::int64_t width_;
    HaloCalls calls_;
    std::int64_t area_ = 0;  ///< of the largest tile
};

[[nodiscard]] inline WorkloadKind halo_kind() {
    return {"halo",
            {Key::integer("width", 1), grid_key(), decomposition_key({"bisection"}),
             Key::word("calls", halo_calls(), halo_calls().front()),
             Key::word("buffers", {"explicit", "datatypes"}, "explicit")},
            "",
            [](Values values, Rank ranks, const Permissions&) -> std::unique_ptr<Workload> {
                if (values.is("decomposition", "bisection")) {
                    return std::make_unique<TiledHaloWorkload>(std::move(values), ranks);
                }
                return std::make_unique<HaloWorkload>(std::move(values), ranks);
            }};
}

}  // namespace tramontane
