/// \file
/// The descriptor of a pattern: messages from a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "../patterns/table.hpp"
#include "kind.hpp"

namespace tramontane {

class PatternWorkload final : public Workload {
public:
    PatternWorkload(Values values, Rank ranks)
        : Workload{std::move(values), ranks},
          table_{std::make_shared<const PatternTable>(this->values().word("table"))},
          repeats_{this->values().integer("repeats")} {
        if (table_->ranks() > ranks) {
            refuse("file", table_->message_of_last_rank(), "ranks from 0 to " + std::to_string(ranks - 1));
        }
        constexpr std::int64_t most = std::numeric_limits<Rank>::max();
        if (repeats_ > most / table_->steps()) {
            refuse("repeats", std::to_string(repeats_),
                   "less than 2^31 rounds in all; the table has " + std::to_string(table_->steps()));
        }
    }

    [[nodiscard]] std::unique_ptr<Schedule> schedule(std::span<const std::byte> /*setup*/) const override {
        return std::make_unique<PatternExchange>(table_, ranks(), repeats_);
    }

private:
    std::shared_ptr<const PatternTable> table_;
    std::int64_t repeats_;
};

/// `table` is the path of a file; in a point it is the digest of what is in it.
[[nodiscard]] inline WorkloadKind pattern_kind() {
    return {"pattern",
            {Key::word("table", {}), Key::integer("repeats", 1, std::int64_t{1})},
            "",
            [](Values values, Rank ranks, const Permissions&) -> std::unique_ptr<Workload> {
                return std::make_unique<PatternWorkload>(std::move(values), ranks);
            }};
}

}  // namespace tramontane
