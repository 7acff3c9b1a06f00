/// \file
/// What a schedule sends, counted over all ranks or over a sample of them. For those who plan: nothing is simulated.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "schedule.hpp"

namespace tramontane {

/// Messages that the network and its protocols treat alike.
struct KindOfMessage {
    /// Planning gets it as a number, so it is no class.
    enum Put : std::uint8_t {
        no_put,
        plain_put,        ///< there is no receive that it could wait for
        acknowledged_put  ///< the same, and the receiver's network interface answers
    };
    std::int64_t bytes;
    Put put;
    [[nodiscard]] static constexpr Put put_of(WindowCall call) {
        if (!is_put(call)) return no_put;
        return call == WindowCall::acknowledged_puts ? acknowledged_put : plain_put;
    }
    friend auto operator<=>(const KindOfMessage&, const KindOfMessage&) = default;
};

/// Messages between pairs of ranks, each standing for `weight` of them.
struct SampledPairs {
    std::vector<Rank> source, destination;
    std::vector<KindOfMessage> kind;
    std::vector<double> weight;
};

/// The messages of all rounds of a phase, those of repeats included.
struct PhaseTraffic {
    std::map<KindOfMessage, double> messages;
    double posted = 0;      ///< sends that all ranks together have under way at a time
    bool windowed = false;  ///< whether ranks hold sends back until others are done
    SampledPairs pairs;
};

struct TrafficLimits {
    std::int64_t calls = 100'000;  ///< of the schedule: ranks are looked at as long as they take less in all, ...
    std::int64_t ranks = 48;       ///< ... but so many, at least
    std::int64_t pairs = 48;       ///< messages of a rank and phase that are kept as pairs, at most
};

/// All ranks where that takes few calls, and the numbers are exact. Else ranks at the multiples of the golden ratio
/// modulo 1: they are spread evenly, however many they are, and do not fall in step with rows of ranks.
class TrafficSample {
public:
    TrafficSample(const Schedule& schedule, const TrafficLimits& limits) : phases_(schedule.phases().size()) {
        const Rank ranks = schedule.ranks();
        const auto [looked_at, calls] = affordable(schedule, limits);
        if (looked_at < ranks) {
            const double each = static_cast<double>(ranks) / static_cast<double>(looked_at);
            for (std::int64_t i = 0; i < looked_at; ++i) {
                add(schedule, spread(i, ranks), each, i < limits.ranks ? limits.pairs : 0);
            }
            return;
        }
        std::set<Rank> in_pairs;
        // All pairs are kept where they are no more than a sample's.
        const bool all = ranks <= limits.ranks || calls <= limits.ranks * limits.pairs;
        for (std::int64_t i = 0; i < 2 * limits.ranks && !all; ++i) {
            if (std::ssize(in_pairs) < limits.ranks) in_pairs.insert(spread(i, ranks));
        }
        for (Rank rank = 0; rank < ranks; ++rank) {
            add(schedule, rank, 1, all || in_pairs.contains(rank) ? limits.pairs : 0);
        }
    }

    [[nodiscard]] const std::vector<PhaseTraffic>& phases() const& { return phases_; }
    void phases() && = delete;  // they end with it

private:
    [[nodiscard]] static Rank spread(std::int64_t number, Rank ranks) {
        const double place = static_cast<double>(number) * (std::sqrt(5.0) - 1) / 2;
        return static_cast<Rank>((place - std::floor(place)) * ranks);
    }

    /// How many ranks can be looked at, and the calls that takes. Ranks may differ, such as the leaders of nodes from
    /// the others; so calls are counted rank by rank.
    struct Affordable {
        std::int64_t ranks, calls;
    };
    [[nodiscard]] static Affordable affordable(const Schedule& schedule, const TrafficLimits& limits) {
        Affordable found{0, 0};
        while (found.ranks < schedule.ranks() && (found.ranks < limits.ranks || found.calls < limits.calls)) {
            found.calls += calls_of(schedule, spread(found.ranks++, schedule.ranks()));
        }
        return found;
    }

    [[nodiscard]] static std::int64_t period(const Schedule& schedule) {
        return schedule.rounds() / schedule.repeats();
    }

    [[nodiscard]] static std::int64_t calls_of(const Schedule& schedule, Rank rank) {
        std::int64_t calls = period(schedule);
        for (std::int64_t number = 0; number < period(schedule); ++number) calls += schedule.round(rank, number).sends;
        return calls;
    }

    /// \param ranks that this one stands for
    /// \param pairs to keep of each phase and repeat that is looked at, at most
    void add(const Schedule& schedule, Rank rank, double ranks, std::int64_t pairs) {
        const std::int64_t repeats = schedule.repeats();
        if (!schedule.one_sided() || repeats == 1) {
            add_repeat(schedule, rank, 0, repeats, ranks, pairs);
            return;
        }
        // A window may be opened in the first repeat for all others, or in each but the last one for the next.
        add_repeat(schedule, rank, 0, 1, ranks, pairs);
        add_repeat(schedule, rank, repeats - 1, 1, ranks, pairs);
        if (repeats > 2) add_repeat(schedule, rank, 1, repeats - 2, ranks, pairs);
    }

    /// \param alike repeats that this one stands for
    void add_repeat(const Schedule& schedule, Rank rank, std::int64_t repeat, std::int64_t alike, double ranks,
                    std::int64_t pairs) {
        const double times = ranks * static_cast<double>(alike);
        const std::int64_t end = (repeat + 1) * period(schedule);
        for (std::int64_t number = repeat * period(schedule); number < end;) {
            const std::int64_t first = number;
            const std::int32_t phase = schedule.round(rank, first).phase;
            PhaseTraffic& traffic = phases_[static_cast<std::size_t>(phase)];
            std::int64_t sends = 0;
            std::int32_t posted = 0;
            for (; number < end; ++number) {
                const Round round = schedule.round(rank, number);
                if (round.phase != phase) break;
                sends += round.sends;
                traffic.windowed = traffic.windowed || round.window > 0;
                posted = std::max(posted, round.window > 0 ? std::min(round.window, round.sends) : round.sends);
            }
            if (repeat == 0) traffic.posted += ranks * posted;
            // Pairs evenly spread over the messages of the phase, the middle one of each share.
            const std::int64_t wanted = std::min(pairs, sends);
            std::int64_t passed = 0, taken = 0;
            KindOfMessage last{-1, KindOfMessage::no_put};
            double* count = nullptr;  // messages of the last kind; most are like the one before
            for (std::int64_t at = first; at < number; ++at) {
                const Round round = schedule.round(rank, at);
                for (std::int32_t index = 0; index < round.sends; ++index, ++passed) {
                    const Transfer transfer = schedule.send(rank, at, index);
                    const KindOfMessage kind{transfer.bytes, KindOfMessage::put_of(round.call)};
                    if (kind != last) count = &traffic.messages[last = kind];
                    *count += times;
                    if (taken == wanted || passed != (2 * taken + 1) * sends / (2 * wanted)) continue;
                    ++taken;
                    SampledPairs& kept = traffic.pairs;
                    kept.source.push_back(rank);
                    kept.destination.push_back(transfer.peer);
                    kept.kind.push_back(kind);
                    kept.weight.push_back(times * static_cast<double>(sends) / static_cast<double>(wanted));
                }
            }
        }
    }

    std::vector<PhaseTraffic> phases_;
};

}  // namespace tramontane
