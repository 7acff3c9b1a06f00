/// \file
/// A schedule of which only some stages are kept: those of a few windows in each phase.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "schedule.hpp"

namespace tramontane {

/// Neighbouring stages of a phase.
struct StageWindow {
    std::int64_t first;
    std::int64_t count;
};

/// A phase that has several rounds has a stage in each (ring-k). One round that has so many sends under way
/// at a time has a stage for each such number of sends (sliding-window).
struct StagedPhase {
    std::int64_t first = 0;  ///< round
    std::int64_t rounds = 0;
    std::int32_t sends = 0;   ///< of its last round
    std::int32_t window = 0;  ///< sends that may be under way at a time, 0: all

    [[nodiscard]] std::int64_t stages() const {
        return window > 0 ? (std::int64_t{sends} + window - 1) / window : rounds;
    }
};

/// \pre every rank has the same rounds, and as many sends as receives in each
[[nodiscard]] inline std::vector<StagedPhase> staged_phases(const Schedule& schedule) {
    std::vector<StagedPhase> phases(schedule.phases().size());
    for (std::int64_t at = 0; at < schedule.rounds(); ++at) {
        const Round round = schedule.round(0, at);
        StagedPhase& phase = phases[static_cast<std::size_t>(round.phase)];
        if (phase.rounds == 0) phase.first = at;
        ++phase.rounds;
        phase.sends = round.sends;
        phase.window = round.window;
    }
    return phases;
}

/// Stages of another schedule, one after the other as if there were no more. Each window is a phase of its own, so that
/// it is known when the last rank has ended it.
class SampledStages final : public Schedule {
public:
    /// \param whole outlives this
    /// \param windows of each phase, in order
    /// \throws std::invalid_argument for other windows than those
    SampledStages(const Schedule& whole, const std::vector<std::vector<StageWindow>>& windows) : whole_(whole) {
        const std::vector<StagedPhase> phases = staged_phases(whole);
        if (windows.size() != phases.size()) {
            throw std::invalid_argument("windows: found those of " + std::to_string(windows.size()) +
                                        " phases, allowed: of " + std::to_string(phases.size()));
        }
        for (std::size_t i = 0; i < phases.size(); ++i) keep(phases[i], windows[i], whole.phases()[i]);
    }

    [[nodiscard]] Rank ranks() const override { return whole_.ranks(); }
    [[nodiscard]] std::int64_t rounds() const override { return static_cast<std::int64_t>(rounds_.size()); }
    [[nodiscard]] std::vector<std::string> phases() const override { return names_; }

    [[nodiscard]] bool cuts_rounds() const override {
        return std::any_of(rounds_.begin(), rounds_.end(), [](const Kept& kept) { return kept.phase_receives > 0; });
    }
    [[nodiscard]] Round round(Rank rank, std::int64_t round) const override {
        const Kept& kept = at(round);
        Round result = whole_.round(rank, kept.round);
        result.phase = kept.phase;
        if (!kept.messages.empty()) {
            result.sends = result.receives = static_cast<std::int32_t>(kept.messages.size());
            result.phase_receives = kept.phase_receives;
        }
        return result;
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        return whole_.send(rank, at(round).round, message(round, index));
    }
    [[nodiscard]] std::int64_t send_bytes(Rank rank, std::int64_t round, std::int32_t index) const override {
        return whole_.send_bytes(rank, at(round).round, message(round, index));
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        return whole_.receive(rank, at(round).round, message(round, index));
    }

private:
    struct Kept {
        std::int64_t round;                  ///< of the whole schedule
        std::int32_t phase;                  ///< its window
        std::int32_t phase_receives = 0;     ///< see Round
        std::vector<std::int32_t> messages;  ///< those of the round that are kept; none: all
    };

    [[nodiscard]] const Kept& at(std::int64_t round) const { return rounds_[static_cast<std::size_t>(round)]; }
    [[nodiscard]] std::int32_t message(std::int64_t round, std::int32_t index) const {
        const Kept& kept = at(round);
        return kept.messages.empty() ? index : kept.messages[static_cast<std::size_t>(index)];
    }

    void keep(const StagedPhase& phase, const std::vector<StageWindow>& windows, const std::string& name) {
        std::int64_t end = 0;
        Kept sliding{.round = phase.first, .phase = static_cast<std::int32_t>(names_.size()), .messages = {}};
        for (const StageWindow& window : windows) {
            if (window.first < end || window.count < 1 || window.first + window.count > phase.stages()) {
                throw std::invalid_argument("windows: found stages " + std::to_string(window.first) + " ... " +
                                            std::to_string(window.first + window.count - 1) + ", allowed: of " +
                                            std::to_string(phase.stages()) + " and after those before");
            }
            end = window.first + window.count;
            const auto number = static_cast<std::int32_t>(names_.size());
            names_.push_back(name + " " + std::to_string(number));
            for (std::int64_t stage = window.first; stage < end && phase.window == 0; ++stage) {
                rounds_.push_back({.round = phase.first + stage, .phase = number, .messages = {}});
            }
            const std::int64_t last = std::min<std::int64_t>(end * phase.window, phase.sends);
            for (std::int64_t send = window.first * phase.window; send < last; ++send) {
                sliding.messages.push_back(static_cast<std::int32_t>(send));
            }
            if (phase.window == 0) continue;
            if (&window == &windows.front()) {
                sliding.phase_receives = static_cast<std::int32_t>(window.count * phase.window);
            } else if (&window != &windows.back() &&
                       window.count * phase.window != std::int64_t{sliding.phase_receives}) {
                throw std::invalid_argument("windows: all but the last of a sliding window have the same length");
            }
        }
        if (phase.window > 0 && !windows.empty()) rounds_.push_back(std::move(sliding));
    }

    const Schedule& whole_;
    std::vector<Kept> rounds_;
    std::vector<std::string> names_;
};

}  // namespace tramontane
