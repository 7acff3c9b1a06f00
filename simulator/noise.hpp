/// \file
/// Noise of the operating system: interruptions that take a rank's processor away for a while.
///
/// Every `period` each rank's processor is busy with something else for `duration`, either at a fixed distance from one
/// interruption to the next (as the noise that Ferreira, Bridges and Brightwell, SC 2008, injected), or at a random
/// moment of each period. Periods of a rank have a random phase, so that at each moment, the first one included, as
/// many ranks are interrupted. Network interfaces go on meanwhile. No interruption is stored: each is a function of
/// seed, rank and its number.
#pragma once

#include <cstdint>

#include "accelerated.hpp"
#include "random.hpp"
#include "ticks.hpp"

namespace tramontane {

/// What a run is told of noise [ps]; no noise where the duration is 0.
struct NoiseRule {
    std::int64_t period = 0;
    std::int64_t duration = 0;  ///< less than the period
    bool random = false;        ///< at a random moment of each period
};

class Noise {
public:
    Noise(const NoiseRule& rule, std::uint64_t seed)
        : period_(from_picoseconds(rule.period)),
          duration_(from_picoseconds(rule.duration)),
          random_(rule.random),
          seed_(mix(seed ^ salt)) {}

    [[nodiscard]] TRAMONTANE_RULE bool on() const { return duration_ > 0; }

    /// When a processor has done `work` that it begins `now`; interruptions take their time first. Work that takes no
    /// time is done at once, or at the end of the interruption it falls into.
    [[nodiscard]] TRAMONTANE_RULE Ticks end(std::uint32_t rank, Ticks now, Ticks work) const {
        check_step(work);
        check_event(now);
        return on() ? interrupted(rank, now, work) : now + work;
    }

private:
    /// See end(). Out of line, as most runs have no noise.
    [[nodiscard]] [[gnu::noinline]] TRAMONTANE_RULE Ticks interrupted(std::uint32_t rank, Ticks now, Ticks work) const {
        // Time is shifted by the rank's phase, so that periods begin at multiples of their length; those of fixed
        // distance begin with their interruption.
        const Ticks shift = below(random_bits(seed_, rank, 0), period_);
        Ticks time = now + shift;
        for (Ticks number = time / period_;; ++number) {
            const Ticks interruption =
                number * period_ + (random_ ? below(random_bits(seed_, rank, number + 1), most()) : 0);
            if (time < interruption) {
                if (work <= interruption - time) break;
                work -= interruption - time;
                time = interruption;
            }
            if (time < interruption + duration_) time = interruption + duration_;
            const Ticks next = (number + 1) * period_;
            if (work <= next - time) break;
            work -= next - time;
            // Wherever its interruption lies, each period that is worked through leaves as much time for work.
            const Ticks whole = (work - 1) / (period_ - duration_);
            check_event(next);
            if (whole > (end_of_time - next) / period_) check_event(~Ticks{0});  // before it wraps
            work -= whole * (period_ - duration_);
            number += whole;
            time = next + whole * period_;
            check_event(time);
        }
        return time + work - shift;
    }

    static constexpr std::uint64_t salt = 0x6e6f697365;  // tells its random numbers from the others of a seed
    [[nodiscard]] TRAMONTANE_RULE Ticks most() const { return period_ - duration_ + 1; }

    Ticks period_, duration_;
    bool random_;
    std::uint64_t seed_;
};

}  // namespace tramontane
