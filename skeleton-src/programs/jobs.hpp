/// \file
/// Several jobs side by side: each has ranks of its own, which know nothing of the others'.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../random.hpp"
#include "../schedule.hpp"

namespace tramontane {

struct Job {
    std::string name;
    Rank first;          ///< of its ranks
    std::int64_t start;  ///< [ps]
    std::shared_ptr<const Schedule> schedule;
};

/// The phase in which jobs wait for their starts; no job has this name.
inline constexpr const char* before_jobs = "before";

/// The jobs' schedules at the same time. A phase is a job: it lasts from its start to its end.
class JobSchedule final : public Schedule {
public:
    /// \param jobs in order of their ranks, which follow one another
    /// \param only the job that is run alone, while the nodes of the others stay idle; none: all are run
    JobSchedule(std::vector<Job> jobs, std::optional<std::size_t> only) : jobs_{std::move(jobs)}, only_{only} {
        for (const Job& job : jobs_) {
            rounds_ = std::max(rounds_, job.schedule->rounds());
            delayed_ = delayed_ || job.start > 0;
        }
    }

    [[nodiscard]] Rank ranks() const override { return jobs_.back().first + jobs_.back().schedule->ranks(); }
    [[nodiscard]] std::int64_t rounds() const override { return rounds_ + first_round(); }
    [[nodiscard]] std::vector<std::string> phases() const override {
        std::vector<std::string> names;
        for (const Job& job : jobs_) names.push_back(job.name);
        if (delayed_) names.emplace_back(before_jobs);
        return names;
    }
    [[nodiscard]] bool receives_in_turn() const override {
        return std::any_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.schedule->receives_in_turn(); });
    }

    [[nodiscard]] Round round(Rank rank, std::int64_t number) const override {
        const std::size_t place = job_of(rank);
        const Job& job = jobs_[place];
        Round idle{static_cast<std::int32_t>(place), 0, 0};
        const bool silent = only_ && *only_ != place;
        if (number < first_round()) {
            idle.phase = static_cast<std::int32_t>(jobs_.size());
            idle.work = silent ? 0 : job.start;
            idle.idles = true;
            return idle;
        }
        const std::int64_t inner = number - first_round();
        if (silent || inner >= job.schedule->rounds()) return idle;
        Round found = job.schedule->round(rank - job.first, inner);
        found.phase = idle.phase;
        return found;
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t number, std::int32_t index) const override {
        const Job& job = jobs_[job_of(rank)];
        return outside(job, job.schedule->send(rank - job.first, number - first_round(), index));
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t number, std::int32_t index) const override {
        const Job& job = jobs_[job_of(rank)];
        return outside(job, job.schedule->receive(rank - job.first, number - first_round(), index));
    }

private:
    /// Jobs that start later wait in a round of its own.
    [[nodiscard]] std::int64_t first_round() const { return delayed_ ? 1 : 0; }
    [[nodiscard]] std::size_t job_of(Rank rank) const {
        const auto next =
            std::upper_bound(jobs_.begin(), jobs_.end(), rank, [](Rank r, const Job& job) { return r < job.first; });
        return static_cast<std::size_t>(std::prev(next) - jobs_.begin());
    }
    [[nodiscard]] static Transfer outside(const Job& job, Transfer transfer) {
        transfer.peer += job.first;
        return transfer;
    }

    std::vector<Job> jobs_;
    std::optional<std::size_t> only_;
    std::int64_t rounds_ = 0;
    bool delayed_ = false;
};

/// Background traffic: in each round every rank sends one message to the rank so much further, by a random number that
/// is the same for all. So everybody has one message to send and one to receive, to and from anywhere.
class RandomShifts final : public Schedule {
public:
    RandomShifts(Rank ranks, std::int64_t rounds, std::int64_t bytes, std::uint64_t seed)
        : ranks_{ranks}, rounds_{rounds}, bytes_{bytes}, seed_{seed} {}

    [[nodiscard]] Rank ranks() const override { return ranks_; }
    [[nodiscard]] std::int64_t rounds() const override { return rounds_; }
    [[nodiscard]] std::vector<std::string> phases() const override { return {"random-shifts"}; }
    [[nodiscard]] Round round(Rank /*rank*/, std::int64_t /*number*/) const override {
        const std::int32_t messages = ranks_ > 1 ? 1 : 0;
        return {0, messages, messages};
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t number, std::int32_t /*index*/) const override {
        return {static_cast<Rank>((std::int64_t{rank} + shift(number)) % ranks_), 0, bytes_};
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t number, std::int32_t /*index*/) const override {
        return {static_cast<Rank>((std::int64_t{rank} + ranks_ - shift(number)) % ranks_), 0, bytes_};
    }

private:
    /// 1 ... ranks - 1.
    [[nodiscard]] std::int64_t shift(std::int64_t number) const {
        const auto others = static_cast<std::uint64_t>(ranks_ - 1);
        return 1 + static_cast<std::int64_t>(below(random_bits(seed_, static_cast<std::uint64_t>(number), 0), others));
    }

    Rank ranks_;
    std::int64_t rounds_;
    std::int64_t bytes_;
    std::uint64_t seed_;
};

}  // namespace tramontane
