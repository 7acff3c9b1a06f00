/// \file
/// The descriptor of a trace: operations of ranks that depend on one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "../graphs/builder.hpp"
#include "../graphs/table.hpp"
#include "kind.hpp"

namespace tramontane {

class TraceWorkload final : public Workload {
public:
    TraceWorkload(Values values, Rank ranks)
        : Workload{std::move(values), ranks},
          table_{std::make_shared<const GraphTable>(this->values().word("table"))},
          work_scale_{this->values().integer("work_scale")} {
        if (table_->ranks() != ranks) {
            refuse_key("ranks", std::to_string(ranks), std::to_string(table_->ranks()) + ", the ranks of the trace");
        }
        if (const std::int64_t longest = table_->header().longest;
            longest > 0 && work_scale_ / GraphSchedule::whole > GraphBuilder::most_work / longest) {
            refuse("work_scale", std::to_string(work_scale_ / (GraphSchedule::whole / 100)) + " %",
                   "up to " + std::to_string(100 * (GraphBuilder::most_work / longest)) +
                       " % with this trace: at most 1000 s of work at a time");
        }
    }

    [[nodiscard]] std::unique_ptr<Schedule> schedule(std::span<const std::byte> /*setup*/) const override {
        return std::make_unique<GraphSchedule>(table_, ranks(), work_scale_);
    }
    [[nodiscard]] bool has_steps() const override { return true; }

private:
    std::shared_ptr<const GraphTable> table_;
    std::int64_t work_scale_;
};

/// `table` is the path of a file; in a point it is the digest of what is in it.
[[nodiscard]] inline WorkloadKind trace_kind() {
    return {"trace",
            {Key::word("table", {}),
             {.name = "work_scale",
              .integers = 1,
              .least = 0,
              .most = 1000 * GraphSchedule::whole,
              .otherwise = GraphSchedule::whole}},
            "",
            [](Values values, Rank ranks, const Permissions&) -> std::unique_ptr<Workload> {
                return std::make_unique<TraceWorkload>(std::move(values), ranks);
            }};
}

}  // namespace tramontane
