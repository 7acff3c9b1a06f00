/// \file
/// Amounts that differ by who has them, such as what the ranks of a model send that have more points than others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "keys.hpp"
#include "refusal.hpp"
#include "schedule.hpp"

namespace tramontane {

/// How much more or less than their mean each of several has; one number each, and none for a pair of them.
class Weights {
public:
    /// All have the mean.
    Weights() = default;
    /// \param key of the weights, in refusals; its value, if there is one, tells by its ratios only
    /// \throws std::invalid_argument if there are not `many`, or one is too far from their mean
    Weights(const Values& values, const std::string& key, Rank many) {
        if (values.find(key) == nullptr) return;
        const std::vector<std::int64_t>& given = values.integers(key);
        if (std::ssize(given) != many) {
            refuse(key, std::to_string(given.size()) + " weights", std::to_string(many) + ", one each");
        }
        std::int64_t sum = 0;
        for (const std::int64_t each : given) sum += each;
        if (sum == 0) refuse(key, "only zeros", "weights, some of them more than 0");
        __extension__ using Wide = __int128;
        for (const std::int64_t each : given) {
            const Wide share = (static_cast<Wide>(each) * many * one + sum / 2) / sum;
            if (share > most_share * one) {
                refuse(key, std::to_string(each), "at most " + std::to_string(most_share) + " times the mean of all");
            }
            shares_.push_back(static_cast<std::int64_t>(share));
        }
        most_ = *std::max_element(shares_.begin(), shares_.end());
    }

    [[nodiscard]] static Key key(const std::string& name) {
        return {.name = name, .integers = Key::any_number, .least = 0, .most = 2'147'483'647, .optional = true};
    }

    /// Whether all have the mean.
    [[nodiscard]] bool even() const { return shares_.empty(); }
    /// As a multiple of the mean, in units of 1 / one.
    [[nodiscard]] std::int64_t of(Rank which) const {
        return shares_.empty() ? one : shares_[static_cast<std::size_t>(which)];
    }
    [[nodiscard]] std::int64_t most() const { return most_; }
    /// So many times an amount, rounded.
    [[nodiscard]] static std::int64_t times(std::int64_t share, std::int64_t amount) {
        __extension__ using Wide = __int128;
        return static_cast<std::int64_t>((static_cast<Wide>(amount) * share + one / 2) / one);
    }

    static constexpr std::int64_t one = std::int64_t{1} << 20;

private:
    static constexpr std::int64_t most_share = 100;

    std::vector<std::int64_t> shares_;
    std::int64_t most_ = one;
};

}  // namespace tramontane
