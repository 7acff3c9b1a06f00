/// \file
/// Notifications: empty puts that their targets wait for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../schedule.hpp"
#include "communicator.hpp"
#include "program.hpp"

namespace tramontane {

/// Each rank of a group notifies those that are so much further in it, around its end, and then waits for those that
/// notify it. One whose way leads to the rank itself is left out.
class NotificationRounds final : public StepRounds {
public:
    /// \param cost of the processor for each notification [ps]
    NotificationRounds(Communicator among, std::vector<std::int64_t> offsets, std::int64_t cost)
        : among_{among}, offsets_{std::move(offsets)}, cost_{cost} {}

    [[nodiscard]] std::int64_t rounds() const override { return 2; }
    [[nodiscard]] std::int64_t begun() const override { return 1; }
    [[nodiscard]] std::int32_t windows() const override { return 1; }
    [[nodiscard]] std::vector<std::string> phases() const override { return {""}; }

    [[nodiscard]] Round round(Rank rank, std::int64_t round, Repetition /*at*/) const override {
        Round found{0, 0, 0};
        found.call = WindowCall::notify;
        if (round == 1) {
            found.call = WindowCall::notified;
            found.ends = 1;
            return found;
        }
        const auto place = among_.place(rank);
        if (place.local >= 0) {
            found.sends = found.receives = static_cast<std::int32_t>(std::count_if(
                offsets_.begin(), offsets_.end(), [&](std::int64_t offset) { return offset % place.size != 0; }));
        }
        found.waits = false;
        found.put_cost = cost_;
        return found;
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t /*round*/, std::int32_t index) const override {
        return to(rank, index, 1);
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t /*round*/, std::int32_t index) const override {
        return to(rank, index, -1);
    }

private:
    [[nodiscard]] Transfer to(Rank rank, std::int32_t index, std::int64_t direction) const {
        const auto place = among_.place(rank);
        std::size_t at = 0;
        for (std::int32_t passed = -1; passed < index; ++at) passed += offsets_[at] % place.size != 0 ? 1 : 0;
        --at;
        const std::int64_t way = direction * offsets_[at] % place.size;
        const std::int64_t peer = (place.local + way + place.size) % place.size;
        return {among_.rank(place.group, static_cast<Rank>(peer)), static_cast<std::int32_t>(at), 0};
    }

    Communicator among_;
    std::vector<std::int64_t> offsets_;
    std::int64_t cost_;
};

}  // namespace tramontane
