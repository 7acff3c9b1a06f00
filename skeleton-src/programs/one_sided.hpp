/// \file
/// One-sided exchanges: the messages of a step become puts into windows, its synchronisation becomes rounds of empty
/// messages and of processor time (docs/one-sided.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../schedule.hpp"
#include "program.hpp"

namespace tramontane {

/// Processor's time of a put or notification, of a call for each of its neighbours (post, start, complete, wait,
/// flush), or of a call (fence, lock, unlock) [ps].
struct OneSidedCosts {
    std::int64_t put = 0;
    std::int64_t post = 0, start = 0, complete = 0, wait = 0;
    std::int64_t flush = 0;
    std::int64_t fence = 0;
    std::int64_t lock = 0, unlock = 0;
    std::int64_t notify = 0;
};

/// How the ranks of a one-sided exchange agree that puts may begin, and that they are there.
struct Synchronisation {
    enum class Kind : std::uint8_t {
        fence,       ///< a synchronisation of the scope, puts, another one
        post_start,  ///< a message to each origin, puts, a message to each target
        passive,     ///< lock once; puts and their acknowledgements, a synchronisation of the scope
        lock         ///< the same, but locked and unlocked each time
    };
    Kind kind;
    bool among_all;    ///< the scope: a barrier of the communicator; else messages between neighbours
    bool opens_after;  ///< the window opens for the next time when it has been closed; else when puts begin
    OneSidedCosts costs{};
};

/// Ranks that a rank has messages from or for, each once, in the order of these.
class Neighbours {
public:
    /// \param round of the exchange
    Neighbours(const StepRounds& exchange, Rank rank, std::int64_t round, bool targets, bool origins) {
        const Round found = exchange.round(rank, round, {});
        for (std::int32_t index = 0; targets && index < found.sends; ++index) {
            add(exchange.send(rank, round, index).peer);
        }
        for (std::int32_t index = 0; origins && index < found.receives; ++index) {
            add(exchange.receive(rank, round, index).peer);
        }
    }
    [[nodiscard]] std::int32_t count() const { return static_cast<std::int32_t>(ranks_.size()); }
    [[nodiscard]] const std::vector<Rank>& ranks() const { return ranks_; }

private:
    void add(Rank rank) {
        if (std::find(ranks_.begin(), ranks_.end(), rank) == ranks_.end()) ranks_.push_back(rank);
    }

    std::vector<Rank> ranks_;
};

/// A window for each round of an exchange. Every rank has the same parts one after the other; costs and messages of
/// each are its own. The first part of a split phase ends with the puts of the first window.
class OneSidedRounds final : public StepRounds {
public:
    /// \param barrier of the same communicator; only where the scope is all
    OneSidedRounds(std::shared_ptr<const GroupSchedule> exchange, std::shared_ptr<const GroupSchedule> barrier,
                   Synchronisation rule)
        : exchange_{std::move(exchange)}, barrier_{std::move(barrier)}, rule_{rule} {
        add_parts();
        for (Part& part : parts_) {
            part.first = per_window_;
            per_window_ += part.rounds;
            if (part.does == Does::puts) puts_ = part.first;
        }
    }

    [[nodiscard]] std::int64_t rounds() const override { return per_window_ * exchange_->rounds(); }
    [[nodiscard]] std::int64_t begun() const override { return exchange_->rounds() > 0 ? puts_ + 1 : 0; }
    [[nodiscard]] std::int32_t windows() const override { return static_cast<std::int32_t>(exchange_->rounds()); }
    [[nodiscard]] std::vector<std::string> phases() const override { return exchange_->phases(); }

    [[nodiscard]] Round round(Rank rank, std::int64_t round, Repetition repetition) const override {
        const At at = part_of(round);
        const Part& part = *at.part;
        const Round whole = exchange_->round(rank, at.window, {});
        Round found{whole.phase, 0, 0};
        if (!happens(part.when, repetition)) return found;
        found.call = part.call;
        found.window_number = static_cast<std::int32_t>(at.window);
        switch (part.does) {
            case Does::costs:
                found.work = cost(part, rank, at.window);
                break;
            case Does::puts:
                found.sends = whole.sends;
                found.receives = whole.receives;
                found.waits = false;
                found.put_cost = rule_.costs.put;
                break;
            case Does::flush:
                found.sends_only = true;
                [[fallthrough]];
            case Does::read:
                found.ends = part.first - puts_;
                break;
            case Does::barrier: {
                const Round step = barrier_->round(rank, at.inner, {});
                found.sends = step.sends;
                found.receives = step.receives;
                break;
            }
            default:
                found.sends = told(part.does, rank, at.window).count();
                found.receives = told(opposite(part.does), rank, at.window).count();
        }
        return found;
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        const At at = part_of(round);
        if (at.part->does == Does::puts) return exchange_->send(rank, at.window, index);
        if (at.part->does == Does::barrier) return barrier_->send(rank, at.inner, index);
        return empty(told(at.part->does, rank, at.window), index);
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        const At at = part_of(round);
        if (at.part->does == Does::puts) return exchange_->receive(rank, at.window, index);
        if (at.part->does == Does::barrier) return barrier_->receive(rank, at.inner, index);
        return empty(told(opposite(at.part->does), rank, at.window), index);
    }

private:
    enum class Does : std::uint8_t {
        costs,
        puts,
        flush,           ///< waits until all puts of this rank are acknowledged
        read,            ///< waits until all puts to this rank are there
        barrier,         ///< of the communicator
        tell_origins,    ///< an empty message to each rank that puts to this one
        tell_targets,    ///< an empty message to each rank that this one puts to
        tell_neighbours  ///< both
    };
    enum class When : std::uint8_t { always, first, last, not_last };
    using Cost = std::int64_t OneSidedCosts::*;

    struct Part {
        Does does;
        WindowCall call = WindowCall::within;
        Cost cost = nullptr;
        Does each = Does::costs;  ///< whom the cost is paid for: those told, or once
        When when = When::always;
        std::int64_t rounds = 1;
        std::int64_t first = 0;  ///< round of a window
    };
    struct At {
        const Part* part;
        std::int64_t window;
        std::int64_t inner;  ///< round of the part
    };

    void add_parts() {
        using Kind = Synchronisation::Kind;
        const bool remote = rule_.kind == Kind::passive || rule_.kind == Kind::lock;  // nobody opens the window
        const bool opens_after = rule_.opens_after && !remote;
        open(opens_after ? When::first : When::always);
        parts_.push_back({Does::puts, remote ? WindowCall::acknowledged_puts : WindowCall::puts});
        close();
        if (opens_after) open(When::not_last);
    }
    void open(When when) {
        switch (rule_.kind) {
            case Synchronisation::Kind::fence:
                parts_.push_back(calls(fence(), &OneSidedCosts::fence, when));
                parts_.push_back(tells(told_by_fence(), when));
                break;
            case Synchronisation::Kind::post_start:
                parts_.push_back(costs(&OneSidedCosts::post, Does::tell_origins, when));
                parts_.push_back({.does = Does::tell_origins, .call = WindowCall::post_start, .when = when});
                parts_.push_back(costs(&OneSidedCosts::start, Does::tell_targets, when));
                break;
            case Synchronisation::Kind::passive:
                parts_.push_back(calls(WindowCall::lock, &OneSidedCosts::lock, When::first));
                break;
            case Synchronisation::Kind::lock:
                parts_.push_back(calls(WindowCall::lock, &OneSidedCosts::lock, when));
                break;
        }
    }
    void close() {
        const Part read{Does::read, WindowCall::read};
        switch (rule_.kind) {
            case Synchronisation::Kind::fence:
                parts_.push_back(calls(fence(), &OneSidedCosts::fence, When::always));
                parts_.push_back(read);
                parts_.push_back(tells(told_by_fence(), When::always));
                break;
            case Synchronisation::Kind::post_start:
                parts_.push_back(costs(&OneSidedCosts::complete, Does::tell_targets, When::always));
                parts_.push_back({Does::tell_targets, WindowCall::complete_wait});
                parts_.push_back(read);
                parts_.push_back(costs(&OneSidedCosts::wait, Does::tell_origins, When::always));
                break;
            case Synchronisation::Kind::passive:
                parts_.push_back(costs(&OneSidedCosts::flush, Does::tell_targets, When::always));
                parts_.push_back({Does::flush, WindowCall::flush});
                parts_.push_back(tells(WindowCall::none, When::always));
                parts_.push_back(read);
                parts_.push_back(calls(WindowCall::unlock, &OneSidedCosts::unlock, When::last));
                break;
            case Synchronisation::Kind::lock:
                parts_.push_back(calls(WindowCall::unlock, &OneSidedCosts::unlock, When::always));
                parts_.push_back({Does::flush});
                parts_.push_back(tells(WindowCall::none, When::always));
                parts_.push_back(read);
                break;
        }
    }
    [[nodiscard]] static Part calls(WindowCall call, Cost cost, When when) {
        return {.does = Does::costs, .call = call, .cost = cost, .when = when};
    }
    [[nodiscard]] static Part costs(Cost cost, Does each, When when) {
        return {.does = Does::costs, .cost = cost, .each = each, .when = when};
    }
    /// A window is of all ranks. Where a fence is not, it is one of neighbours; if more ranks than these have to wait
    /// for each other, messages see to that.
    [[nodiscard]] WindowCall fence() const {
        return rule_.among_all && exchange_->of_all() ? WindowCall::fence : WindowCall::fence_of_neighbours;
    }
    [[nodiscard]] WindowCall told_by_fence() const {
        return rule_.among_all && !exchange_->of_all() ? WindowCall::none : WindowCall::within;
    }
    /// The synchronisation of the scope.
    [[nodiscard]] Part tells(WindowCall call, When when) const {
        Part part{.does = rule_.among_all ? Does::barrier : Does::tell_neighbours, .call = call, .when = when};
        if (rule_.among_all) part.rounds = barrier_->rounds();
        return part;
    }

    [[nodiscard]] static bool happens(When when, Repetition at) {
        return when == When::always || (when == When::first && at.number == 0) || (when == When::last && at.is_last) ||
               (when == When::not_last && !at.is_last);
    }
    /// Who gets the empty messages that a rank sends.
    [[nodiscard]] Neighbours told(Does does, Rank rank, std::int64_t window) const {
        return {*exchange_, rank, window, does != Does::tell_origins, does != Does::tell_targets};
    }
    /// Who sends those that it receives.
    [[nodiscard]] static Does opposite(Does does) {
        return does == Does::tell_origins ? Does::tell_targets : does == Does::tell_targets ? Does::tell_origins : does;
    }
    [[nodiscard]] static Transfer empty(const Neighbours& to, std::int32_t index) {
        return {to.ranks()[static_cast<std::size_t>(index)], 0, 0};
    }
    [[nodiscard]] std::int64_t cost(const Part& part, Rank rank, std::int64_t window) const {
        const std::int64_t each = rule_.costs.*part.cost;
        if (each == 0 || !exchange_->has(rank)) return 0;
        return part.each == Does::costs ? each : each * told(part.each, rank, window).count();
    }
    [[nodiscard]] At part_of(std::int64_t round) const {
        const std::int64_t window = round / per_window_, number = round - window * per_window_;
        const auto part = std::find_if(parts_.begin(), parts_.end(),
                                       [&](const Part& each) { return number < each.first + each.rounds; });
        return {&*part, window, number - part->first};
    }

    std::shared_ptr<const GroupSchedule> exchange_, barrier_;
    Synchronisation rule_;
    std::vector<Part> parts_;
    std::int64_t per_window_ = 0;
    std::int64_t puts_ = 0;  ///< their round of a window
};

}  // namespace tramontane
