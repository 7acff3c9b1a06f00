/// \file
/// The descriptor of the allreduce.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../allreduce.hpp"
#include "kind.hpp"

namespace tramontane {

template <AllreduceAlgorithm Algorithm>
[[nodiscard]] std::unique_ptr<ContentSchedule> repeated(Algorithm algorithm, std::int64_t repeats) {
    std::int64_t rounds = 0;
    if (__builtin_mul_overflow(algorithm.stages(), repeats, &rounds) || rounds > std::numeric_limits<Rank>::max()) {
        refuse("repeats", std::to_string(repeats),
               "less than 2^31 rounds in all; one allreduce has " + std::to_string(algorithm.stages()));
    }
    return std::make_unique<Allreduce<Algorithm>>(std::move(algorithm), repeats);
}

/// An algorithm by its name.
struct AllreduceForm {
    const char* name;
    std::vector<Key> (*keys)();
    std::unique_ptr<ContentSchedule> (*make)(Rank ranks, std::int64_t count, const Values& values);
};

namespace detail {

[[nodiscard]] inline std::vector<Key> no_keys() { return {}; }

[[nodiscard]] inline std::vector<Key> recursive_k_keys() {
    return {Key::integer("radix", 2), Key::word("remainder", {"paper", "adjacent"}, "paper")};
}

[[nodiscard]] inline std::unique_ptr<ContentSchedule> make_recursive_k(Rank ranks, std::int64_t count,
                                                                       const Values& values) {
    const std::int64_t radix = values.integer("radix"), repeats = values.integer("repeats");
    if (values.is("remainder", "adjacent")) return repeated(AdjacentRecursiveK{ranks, radix, count}, repeats);
    return repeated(RecursiveK{ranks, radix, count}, repeats);
}

/// Of an algorithm without keys of its own.
template <class Algorithm>
[[nodiscard]] std::unique_ptr<ContentSchedule> make_allreduce(Rank ranks, std::int64_t count, const Values& values) {
    return repeated(Algorithm{ranks, count}, values.integer("repeats"));
}

}  // namespace detail

inline constexpr std::array<AllreduceForm, 5> allreduce_algorithms{
    {{"recursive-k", detail::recursive_k_keys, detail::make_recursive_k},
     {"recursive-doubling", detail::no_keys, detail::make_allreduce<RecursiveDoubling>},
     {"ring", detail::no_keys, detail::make_allreduce<RingAllreduce>},
     {"rabenseifner", detail::no_keys, detail::make_allreduce<Rabenseifner>},
     {"rabenseifner-pairs", detail::no_keys, detail::make_allreduce<PairingRabenseifner>}}};

class AllreduceWorkload final : public Workload {
public:
    AllreduceWorkload(Values values, Rank ranks) : Workload{std::move(values), ranks} {
        static_cast<void>(schedule({}));  // refuses too many rounds
    }

    [[nodiscard]] std::unique_ptr<Schedule> schedule(std::span<const std::byte> /*setup*/) const override {
        const auto* const algorithm =
            std::find_if(allreduce_algorithms.begin(), allreduce_algorithms.end(),
                         [&](const auto& each) { return values().is("algorithm", each.name); });
        return algorithm->make(ranks(), values().integer("count"), values());
    }
    [[nodiscard]] Collective collective() const override { return Collective::allreduce; }
};

[[nodiscard]] inline WorkloadKind allreduce_kind() {
    std::vector<Key> keys = algorithm_keys(allreduce_algorithms);
    keys.push_back(
        {.name = "count", .integers = 1, .most = std::numeric_limits<Rank>::max(), .otherwise = std::int64_t{3}});
    keys.push_back(Key::integer("repeats", 1, std::int64_t{50}));
    return {"allreduce", std::move(keys), "recursive-doubling",
            [](Values values, Rank ranks, const Permissions&) -> std::unique_ptr<Workload> {
                return std::make_unique<AllreduceWorkload>(std::move(values), ranks);
            }};
}

}  // namespace tramontane
