/// \file
/// Checks of a machine's sizes, common to all networks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "families.hpp"
#include "topology.hpp"

namespace tramontane {

using Size = std::uint32_t;

inline constexpr std::int64_t most_nodes = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t most_ports = std::numeric_limits<Port>::max();

[[nodiscard]] inline std::string joined(const std::vector<std::string>& texts, const char* between = ", ") {
    std::string all;
    for (const std::string& text : texts) all += (all.empty() ? "" : between) + text;
    return all;
}

[[nodiscard]] inline std::string listed(const std::vector<std::int64_t>& numbers) {
    std::vector<std::string> texts;
    for (const std::int64_t number : numbers) texts.push_back(std::to_string(number));
    return "[" + joined(texts) + "]";
}

/// A number of a geometry, or of another key.
[[nodiscard]] inline Size checked(std::int64_t value, const char* what, std::int64_t least = 1,
                                  const char* key = "geometry") {
    if (value < least || value > most_nodes) {
        throw Refusal(key, "found " + std::to_string(value) + " as " + what,
                      std::to_string(least) + " to " + std::to_string(most_nodes));
    }
    return static_cast<Size>(value);
}

[[nodiscard]] inline Port checked_ports(std::int64_t ports) {
    if (ports > most_ports) {
        throw Refusal("geometry", "found a switch of " + std::to_string(ports) + " ports",
                      "at most " + std::to_string(most_ports) + " ports");
    }
    return static_cast<Port>(ports);
}

/// A product of positive numbers.
[[nodiscard]] inline Size checked_product(const std::vector<std::int64_t>& factors, const char* what) {
    std::int64_t product = 1;
    bool many = false;
    for (const std::int64_t f : factors) many = __builtin_mul_overflow(product, f, &product) || many;
    if (many || product > most_nodes) {
        throw Refusal("geometry",
                      "found a network of " + (many ? "more than 9 x 10^18" : std::to_string(product)) + " " + what,
                      "at most " + std::to_string(most_nodes) + " " + what);
    }
    return static_cast<Size>(product);
}

/// Links to nodes, then those along each dimension.
[[nodiscard]] inline std::vector<LinkClass> link_classes_by_dimension(std::size_t dimensions) {
    std::vector<LinkClass> all{{"ejection"}};
    for (std::size_t d = 1; d <= dimensions; ++d) all.push_back({"dimension-" + std::to_string(d)});
    return all;
}

/// One of `range` numbers, but neither `first` nor `second` (which may be equal).
[[nodiscard]] TRAMONTANE_RULE inline Size skip(Size pick, Size first, Size second) {
    if (pick >= std::min(first, second)) ++pick;
    if (first != second && pick >= std::max(first, second)) ++pick;
    return pick;
}

}  // namespace tramontane
