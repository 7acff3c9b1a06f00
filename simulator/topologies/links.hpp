/// \file
/// How fast links are: the bandwidth and latency of each class of a topology's links, as a machine says it.
#pragma once

#include <cstdint>
#include <vector>

#include "machine.hpp"
#include "memory/table.hpp"
#include "ticks.hpp"
#include "topology.hpp"

namespace tramontane {

/// A link's bandwidth and latency in ticks.
struct LinkRate {
    Ticks slot;  ///< of a byte
    Ticks latency;
    auto operator<=>(const LinkRate&) const = default;
};
using LinkRateId = std::uint16_t;

/// The different rates of a machine's links, and which one each class has. Classes that are equally fast share a rate,
/// so that a machine whose links are all alike has one rate, whatever it says of classes.
struct LinkRates {
    /// \throws Refusal for a class that the topology does not have
    LinkRates(const Machine& machine, const Topology& topology);

    /// Whether no link differs from another.
    [[nodiscard]] TRAMONTANE_RULE bool alike() const { return rates.size() == 1; }
    [[nodiscard]] Ticks least_latency() const;

    Table<LinkRate> rates;       ///< the fastest first, so that a greater number is no faster
    Table<LinkRateId> of_class;  ///< number of its rate, by class
};

/// What a machine says of each class of a topology's links, with all that it leaves out.
/// \throws Refusal for a class that the topology does not have
[[nodiscard]] std::vector<LinkClass> link_classes_of(const Machine& machine, const Topology& topology);

}  // namespace tramontane
