/// \file
/// The descriptors of several jobs side by side, and of random traffic for the background.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../programs/jobs.hpp"
#include "kind.hpp"
#include "nested.hpp"

namespace tramontane {

class JobsWorkload final : public Workload {
public:
    JobsWorkload(Values values, Rank ranks, const Permissions& permissions) : Workload{std::move(values), ranks} {
        std::int64_t first = 0;
        for (std::int64_t number = 0;; ++number) {
            const std::string key = "jobs." + std::to_string(number);
            const Values job = this->values().within(key + ".");
            if (job.all().empty()) break;
            const std::int64_t own = job.integer("ranks");
            within_block(key, [&] {
                for (const Named& other : jobs_) {
                    if (other.name == job.word("name")) refuse("name", "'" + other.name + "' twice", "another name");
                }
                if (first + own > ranks) {
                    refuse("ranks", std::to_string(own), "at most what is left of the " + std::to_string(ranks));
                }
                within_block("workload", [&] {
                    const Values inner = job.within("workload.");
                    jobs_.push_back(
                        {job.word("name"), static_cast<Rank>(first), job.integer("start"),
                         workload_kind(inner.word("kind")).make(inner, static_cast<Rank>(own), permissions)});
                    refuse_datatypes(*jobs_.back().workload, "job");
                });
            });
            first += own;
        }
        if (first != ranks) {
            refuse_key("ranks", std::to_string(ranks), std::to_string(first) + ", the ranks of all jobs");
        }
        only_ = this->values().integer("only");
        if (only_ >= static_cast<std::int64_t>(jobs_.size())) {
            refuse("only", std::to_string(only_), "the number of a job, or -1");
        }
    }

    [[nodiscard]] std::unique_ptr<Schedule> schedule(std::span<const std::byte> /*setup*/) const override {
        return make([](const Workload& each) { return each.schedule(); });
    }
    [[nodiscard]] std::unique_ptr<Schedule> sampled() const override {
        return make([](const Workload& each) { return each.sampled(); });
    }
    [[nodiscard]] double imbalance() const override {
        double most = 1;
        for (const Named& job : jobs_) most = std::max(most, job.workload->imbalance());
        return most;
    }

private:
    struct Named {
        std::string name;
        Rank first;
        std::int64_t start;
        std::unique_ptr<Workload> workload;
    };

    template <class ScheduleOf>
    [[nodiscard]] std::unique_ptr<Schedule> make(ScheduleOf&& schedule_of) const {
        std::vector<Job> jobs;
        for (const Named& job : jobs_) jobs.push_back({job.name, job.first, job.start, schedule_of(*job.workload)});
        const auto only = only_ < 0 ? std::nullopt : std::optional{static_cast<std::size_t>(only_)};
        return std::make_unique<JobSchedule>(std::move(jobs), only);
    }

    std::vector<Named> jobs_;
    std::int64_t only_ = -1;
};

[[nodiscard]] inline WorkloadKind jobs_kind() {
    constexpr std::int64_t longest_wait = 1'000'000'000'000'000;  // [ps]: 1000 s
    const auto read_jobs = [](KeyReader& reader, Values& values) {
        const auto jobs = reader.names_within("jobs.").size();
        if (jobs == 0) refuse("jobs", "nothing", "a list of jobs");
        for (std::size_t number = 0; number < jobs; ++number) {
            read_block(reader, values, "jobs." + std::to_string(number), [](KeyReader& inner, Values& found) {
                inner.read(
                    {{.name = "name"},
                     {.name = "ranks", .integers = 1, .most = std::numeric_limits<Rank>::max()},
                     {.name = "start", .integers = 1, .least = 0, .most = longest_wait, .otherwise = std::int64_t{0}}},
                    found, "workload.");
                if (found.word("name") == before_jobs) {
                    refuse("name", "'" + found.word("name") + "', the phase before jobs start", "another name");
                }
                read_block(inner, found, "workload", [](KeyReader& own, Values& of_job) {
                    const std::string& kind = read_workload(own, of_job).name;
                    if (kind == "jobs" || kind == "trace") refuse("kind", "'" + kind + "' in a job", "another");
                });
            });
        }
    };
    return {"jobs",
            {{.name = "only", .integers = 1, .least = -1, .otherwise = std::int64_t{-1}}},
            "",
            [](Values values, Rank ranks, const Permissions& permissions) -> std::unique_ptr<Workload> {
                return std::make_unique<JobsWorkload>(std::move(values), ranks, permissions);
            },
            read_jobs};
}

class RandomShiftsWorkload final : public Workload {
public:
    using Workload::Workload;

    [[nodiscard]] std::unique_ptr<Schedule> schedule(std::span<const std::byte> /*setup*/) const override {
        return std::make_unique<RandomShifts>(ranks(), values().integer("rounds"), values().integer("bytes"),
                                              static_cast<std::uint64_t>(values().integer("seed")));
    }
};

[[nodiscard]] inline WorkloadKind random_shifts_kind() {
    constexpr std::int64_t most_bytes = std::int64_t{1} << 40;
    return {"random-shifts",
            {{.name = "bytes", .integers = 1, .least = 0, .most = most_bytes},
             {.name = "rounds", .integers = 1, .most = std::numeric_limits<Rank>::max()},
             Key::integer("seed", 0, std::int64_t{1})},
            "",
            [](Values values, Rank ranks, const Permissions&) -> std::unique_ptr<Workload> {
                return std::make_unique<RandomShiftsWorkload>(std::move(values), ranks);
            }};
}

}  // namespace tramontane
