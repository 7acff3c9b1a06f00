/// \file
/// When identical repeats need not all be simulated: those that were show how long the others take, and how surely.
///
/// What repeats is a workload whose ranks wait for one another in each repeat (the allreduces of a Krylov solver). Two
/// things decide how well the time of those still to come is known:
/// - Scatter. The method is that of batch means (Law & Kelton): neighbouring repeats, which depend on one another, are
///   joined to batches that hardly do.
/// - Drift. Ranks may drift apart for long while every repeat takes the same time, until another rank is the last. But
///   they cannot do so for ever: in a steady state the first, the mean and the last rank have the same pace.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "ticks.hpp"

namespace tramontane {

/// How long repeats still to come will take.
struct Forecast {
    double repeat = 0;      ///< mean duration of one [ticks]
    double half_width = 0;  ///< of the interval in which the sum of all lies, with 99 % [ticks]
};

/// A time of which it is enough to know that it is exceeded: a search of the shortest one needs no more.
struct Limit {
    double time_s = std::numeric_limits<double>::infinity();
    std::vector<Ticks> more;  ///< how long n repeats take at least, from their first start to their last end, at n

    [[nodiscard]] bool set() const { return time_s < std::numeric_limits<double>::infinity(); }
};

/// Repeats that are looked at, at least: four batches of two.
inline constexpr std::size_t least_repeats = 8;

/// The 99.5 % quantile of Student's t, by its series in 1 / degrees; within 1 % from 3 degrees on.
[[nodiscard]] inline double student_t(double degrees) {
    constexpr double z = 2.5758293035489;
    constexpr double z2 = z * z;
    const double v = 1 / degrees;
    return z *
           (1 + v * ((z2 + 1) / 4 + v * (((5 * z2 + 16) * z2 + 3) / 96 +
                                         v * ((((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384 +
                                              v * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160))));
}

/// What the repeats that took `durations` [ticks] say about `more` of their kind. Batches hold an even number of
/// repeats, because long and short ones often take turns, and up to a quarter of all; the widest interval counts.
/// \pre durations.size() >= least_repeats and even
[[nodiscard]] inline Forecast forecast(std::span<const double> durations, std::int64_t more) {
    const auto rest = static_cast<double>(more);
    Forecast result;
    for (const double duration : durations) result.repeat += duration / static_cast<double>(durations.size());
    for (std::size_t length = 2; length <= durations.size() / 4; length += 2) {
        const std::size_t batches = durations.size() / length;
        const auto used = durations.last(batches * length);
        const auto n = static_cast<double>(used.size());
        double mean = 0;
        for (const double duration : used) mean += duration / n;
        double squares = 0;
        for (std::size_t batch = 0; batch < batches; ++batch) {
            double deviation = 0;
            for (const double duration : used.subspan(batch * length, length)) deviation += duration - mean;
            squares += deviation * deviation / static_cast<double>(length);
        }
        const auto degrees = static_cast<double>(batches - 1);
        const double variance = squares / degrees;  // of the sum of k repeats, over k
        // The mean is not known exactly, and the repeats to come scatter as well.
        const double error = std::sqrt(variance * rest * (1 + rest / n));
        result.half_width = std::max(result.half_width, student_t(degrees) * error);
    }
    return result;
}

/// When the ranks ended a repeat.
class Ends {
    __extension__ using Wide = unsigned __int128;

public:
    void add(Ticks time) {
        first_ = std::min(first_, time);
        last_ = std::max(last_, time);
        sum_ += time;
        ++ranks_;
    }
    [[nodiscard]] double first() const { return static_cast<double>(first_); }
    [[nodiscard]] double last() const { return static_cast<double>(last_); }
    [[nodiscard]] double mean() const { return static_cast<double>(sum_) / ranks_; }
    [[nodiscard]] std::uint32_t ranks() const { return ranks_; }

private:
    Ticks first_ = std::numeric_limits<Ticks>::max();
    Ticks last_ = 0;
    Wide sum_ = 0;
    std::uint32_t ranks_ = 0;
};

/// Watches the repeats of a schedule and ends it when those that were simulated tell the time of all well enough, or
/// that it exceeds a limit.
class Repeats {
public:
    /// \param rounds of the whole schedule
    /// \param error of the whole time that is allowed, relative; 0: all repeats are simulated
    Repeats(std::int64_t ranks, std::int64_t rounds, std::int64_t repeats, double error, Limit limit = {})
        : ranks_{static_cast<std::uint32_t>(ranks)},
          rounds_{static_cast<std::uint32_t>(rounds / repeats)},
          repeats_{repeats},
          simulated_{repeats},
          error_{error},
          limit_{std::move(limit)} {}

    [[nodiscard]] bool watched() const { return (error_ > 0 || limit_.set()) && rounds_ > 0; }
    /// Whether what is known may change when a rank begins this round.
    [[nodiscard]] bool watches(std::uint32_t round) const { return watched() && round % rounds_ == 0; }
    /// Rounds after which a rank ends, as far as is known.
    [[nodiscard]] std::uint32_t rounds() const { return static_cast<std::uint32_t>(simulated_ * rounds_); }
    [[nodiscard]] std::int64_t simulated() const { return simulated_; }
    [[nodiscard]] std::int64_t left_out() const { return repeats_ - simulated_; }
    [[nodiscard]] const Forecast& forecast() const { return forecast_; }
    /// More than the limit, where the schedule was ended because it takes at least so long [s]; else 0.
    [[nodiscard]] double at_least_s() const { return at_least_s_; }

    /// A rank has ended the rounds before `round`. What has begun is never cut off: the last rank to end a repeat finds
    /// the others in the next one, and that becomes the last. So the run is that of a schedule with fewer repeats.
    /// Beyond the limit, the first rank to end a repeat finds none in the next one, and its own becomes the last. It is
    /// called for the ranks of one window in any order; what is found depends on repeats only that all have ended.
    /// \param begin first start of a rank
    void ended(std::uint32_t round, Ticks begin, Ticks now) {
        if (round == 0 || round % rounds_ != 0) return;
        const std::size_t repeat = round / rounds_ - 1;
        if (repeat == ends_.size()) {
            ends_.emplace_back();
            if (limit_.set() && left_out() == 0 && repeat > 0) compare(repeat, static_cast<double>(begin));
        }
        ends_[repeat].add(now);
        if (error_ > 0 && ends_[repeat].ranks() == ranks_ && left_out() == 0) look(repeat, static_cast<double>(begin));
    }

    /// Writes or reads what was seen so far.
    template <class File>
    void keep(File& file) {
        file(simulated_);
        file(at_least_s_);
        file(forecast_);
        file(ends_);
    }

private:
    /// A rank has ended `repeat`, so that all have ended the one before. No rank ends it before the last one has begun
    /// it, and no rank begins another one before the first has ended it.
    void compare(std::size_t repeat, double begin) {
        const std::size_t more = static_cast<std::size_t>(repeats_) - repeat - 1;
        if (more == 0) return;
        const Ends& before = ends_[repeat - 1];
        const double least = std::max(before.last() + static_cast<double>(limit_.more[more]),
                                      before.first() + static_cast<double>(limit_.more[more + 1])) -
                             begin;
        if (least * seconds_per_tick > limit_.time_s) {
            end_after(static_cast<std::int64_t>(repeat) + 1, least * seconds_per_tick);
        }
    }

    void end_after(std::int64_t simulated, double at_least_s) {
        simulated_ = simulated;
        at_least_s_ = at_least_s;
    }

    /// \param last the last repeat that all ranks have ended, counted from 0
    void look(std::size_t last, double begin) {
        std::size_t first = std::max<std::size_t>(1, (last + 1) / 4 - 1);  // before, ranks may still feel their start
        first += (last - first) % 2;
        const std::size_t n = last - first;
        const auto simulated = static_cast<std::int64_t>(ends_.size()) + 1;
        if (last < first + least_repeats || simulated >= repeats_) return;
        std::vector<double> durations;
        for (std::size_t i = first; i < last; ++i) durations.push_back(ends_[i + 1].last() - ends_[i].last());
        const std::int64_t more = repeats_ - simulated;
        Forecast found = tramontane::forecast(durations, more);
        const auto pace = [&](auto end) { return (end(ends_[last]) - end(ends_[first])) / static_cast<double>(n); };
        const double mean = pace([](const Ends& e) { return e.mean(); });
        const double drift = std::max(std::abs(pace([](const Ends& e) { return e.first(); }) - mean),
                                      std::abs(pace([](const Ends& e) { return e.last(); }) - mean));
        found.half_width += drift * static_cast<double>(more);
        const auto later = static_cast<double>(repeats_ - static_cast<std::int64_t>(last) - 1);
        const double time = ends_[last].last() - begin + found.repeat * later;
        const double least = (time - found.half_width) * seconds_per_tick;
        if (found.half_width <= error_ * time) {
            forecast_ = found;
            simulated_ = simulated;
        } else if (least > limit_.time_s) {
            end_after(simulated, least);
        }
    }

    std::uint32_t ranks_;
    std::uint32_t rounds_;  // of one repeat
    std::int64_t repeats_;
    std::int64_t simulated_;
    double error_;
    Limit limit_;
    double at_least_s_ = 0;
    Forecast forecast_;
    std::vector<Ends> ends_;
};

}  // namespace tramontane
