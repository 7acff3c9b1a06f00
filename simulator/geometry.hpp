/// \file
/// Checks of a machine's sizes, common to all networks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "topology.hpp"

namespace tramontane {

using Size = std::uint32_t;

[[nodiscard]] inline Size checked(std::int64_t value, const char* what) {
    if (value < 1 || value > 1'000'000'000) {
        throw std::invalid_argument(std::string("machine.geometry: ") + what + " = " + std::to_string(value) +
                                    " must lie in 1 ... 10^9");
    }
    return static_cast<Size>(value);
}

[[nodiscard]] inline Port checked_ports(std::int64_t ports) {
    if (ports > 65535) {
        throw std::invalid_argument("machine.geometry: a switch with " + std::to_string(ports) +
                                    " ports; at most 65535");
    }
    return static_cast<Port>(ports);
}

[[nodiscard]] inline Size checked_product(std::initializer_list<std::int64_t> factors, const char* what) {
    std::int64_t product = 1;
    for (const std::int64_t f : factors) {
        product *= f;
        if (product > 2'000'000'000) throw std::invalid_argument(std::string("machine.geometry: too many ") + what);
    }
    return static_cast<Size>(product);
}

/// One of `range` numbers, but neither `first` nor `second` (which may be equal).
[[nodiscard]] inline Size skip(Size pick, Size first, Size second) {
    if (pick >= std::min(first, second)) ++pick;
    if (first != second && pick >= std::max(first, second)) ++pick;
    return pick;
}

}  // namespace tramontane
