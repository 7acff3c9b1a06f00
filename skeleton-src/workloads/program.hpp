/// \file
/// The descriptor of programs: steps that are workloads of other kinds, on all ranks or on communicators, and work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../collectives/barrier.hpp"
#include "../programs/communicator.hpp"
#include "../programs/one_sided.hpp"
#include "../programs/program.hpp"
#include "../programs/work.hpp"
#include "kind.hpp"
#include "nested.hpp"
#include "shared_grid.hpp"

namespace tramontane {

namespace detail {

inline constexpr std::int64_t most_work = 1'000'000'000'000'000;  ///< [ps] of a rank in a step: 1000 s

[[nodiscard]] inline std::vector<Key> work_keys() {
    const std::int64_t nothing = 0;
    Key grid = grid_key();
    grid.optional = true;
    const auto share = [&](const char* name) {
        return Key{.name = name, .integers = 1, .least = 0, .most = Spread::one, .otherwise = nothing};
    };
    const auto time = [&](const char* name) {
        return Key{.name = name, .integers = 1, .least = 0, .most = most_work, .otherwise = nothing};
    };
    return {time("time"),
            time("per_point"),
            grid,
            decomposition_key(),
            share("imbalance"),
            share("noise"),
            Key::integer("seed", 0, std::int64_t{1})};
}

/// Keys that every step has, beside those of its kind.
[[nodiscard]] inline std::vector<Key> step_keys() {
    const auto word = [](const char* name, std::vector<std::string> words) {
        return Key{.name = name, .words = std::move(words), .optional = true};
    };
    return {{.name = "name", .optional = true},
            {.name = "communicator", .optional = true},
            {.name = "begin", .optional = true},
            word("one_sided.synchronisation", {"fence", "post-start", "passive", "lock"}),
            word("one_sided.scope", {"all", "neighbours"}),
            word("one_sided.opens", {"before", "after"})};
}

/// What the calls of one-sided steps cost; by default nothing, for those who do not ask for times.
[[nodiscard]] inline std::vector<Key> one_sided_keys() {
    std::vector<Key> keys;
    for (const char* name : {"put", "post", "start", "complete", "wait", "flush", "fence", "lock", "unlock"}) {
        keys.push_back(
            {.name = name, .integers = 1, .least = 0, .most = 1'000'000'000'000, .otherwise = std::int64_t{0}});
    }
    return keys;
}

[[nodiscard]] inline OneSidedCosts one_sided_costs(const Values& values) {
    const auto cost = [&](const char* name) {
        return values.find(name) == nullptr ? std::int64_t{0} : values.integer(name);
    };
    return {.put = cost("put"),
            .post = cost("post"),
            .start = cost("start"),
            .complete = cost("complete"),
            .wait = cost("wait"),
            .flush = cost("flush"),
            .fence = cost("fence"),
            .lock = cost("lock"),
            .unlock = cost("unlock")};
}

/// The synchronisation of a step; nothing for messages of two sides.
[[nodiscard]] inline std::optional<Synchronisation> synchronisation(const Values& step, const OneSidedCosts& costs) {
    using Kind = Synchronisation::Kind;
    const Values keys = step.within("one_sided.");
    if (keys.all().empty()) return std::nullopt;
    const std::string name = keys.shown("synchronisation");
    if (name.empty()) refuse("one_sided.synchronisation", "nothing", "fence, post-start, passive, lock");
    const Kind kind = name == "fence"        ? Kind::fence
                      : name == "post-start" ? Kind::post_start
                      : name == "passive"    ? Kind::passive
                                             : Kind::lock;
    const std::string scope = keys.shown("scope");
    if (kind == Kind::post_start && !scope.empty()) {
        refuse("one_sided.scope", "'" + scope + "' with post-start, which is between neighbours", "none");
    }
    const bool opens = kind == Kind::fence || kind == Kind::post_start;
    if (!opens && keys.is("opens", "after")) {
        refuse("one_sided.opens", "'after' with " + name + ", whose targets open nothing", "before");
    }
    const bool among_all = scope.empty() ? kind == Kind::fence || kind == Kind::lock : scope == "all";
    return Synchronisation{kind, among_all && kind != Kind::post_start, keys.is("opens", "after"), costs};
}

[[nodiscard]] inline std::vector<Key> communicator_keys() {
    const auto size = [](const char* name) {
        return Key{.name = name, .integers = 1, .most = std::numeric_limits<Rank>::max(), .optional = true};
    };
    return {size("consecutive"),
            size("every"),
            size("leaders"),
            {.name = "range", .integers = 2, .least = 0, .most = std::numeric_limits<Rank>::max(), .optional = true}};
}

[[nodiscard]] inline Communicator make_communicator(const std::string& name, const Values& values, Rank ranks) {
    using Rule = Communicator::Rule;
    const std::string key = "communicators." + name;
    if (values.all().size() != 1) {
        refuse(key, std::to_string(values.all().size()) + " rules", "one of consecutive, every, leaders, range");
    }
    const auto& [rule, value] = values.all().front();
    if (rule == "range") {
        const std::int64_t first = values.integers(rule)[0], size = values.integers(rule)[1];
        if (size < 1 || first + size > ranks) {
            refuse(key + ".range", "[" + std::to_string(first) + ", " + std::to_string(size) + "]",
                   "[first, number] of ranks, at least one, below " + std::to_string(ranks));
        }
        return {Rule::range, ranks, static_cast<Rank>(size), static_cast<Rank>(first)};
    }
    const std::int64_t size = values.integer(rule);
    if (size > ranks)
        refuse(key + "." + rule, std::to_string(size), "at most " + std::to_string(ranks) + ", all ranks");
    const Rule found = rule == "consecutive" ? Rule::consecutive : rule == "every" ? Rule::every : Rule::leaders;
    return {found, ranks, static_cast<Rank>(size)};
}

}  // namespace detail

class ProgramWorkload final : public Workload {
public:
    ProgramWorkload(Values values, Rank ranks, const Permissions& permissions)
        : Workload{std::move(values), ranks},
          permissions_{permissions},
          costs_{detail::one_sided_costs(this->values().within("one_sided."))} {
        for (std::int64_t number = 0;; ++number) {
            const std::string key = "steps." + std::to_string(number);
            Values step = this->values().within(key + ".");
            if (step.all().empty()) break;
            within_block(key, [&] { add(key, std::move(step)); });
        }
        if (!open_.empty())
            refuse("steps", "no end of '" + open_.front() + "'", "an end of each exchange that is begun");
        static_cast<void>(make(sampled_of));  // refuses what only schedules know
    }

    [[nodiscard]] std::unique_ptr<Schedule> schedule(std::span<const std::byte> /*setup*/) const override {
        return make([](const Workload& each) -> std::unique_ptr<Schedule> { return each.schedule(); });
    }
    [[nodiscard]] std::unique_ptr<Schedule> sampled() const override { return make(sampled_of); }
    [[nodiscard]] double imbalance() const override {
        double most = 1;
        for (const Step& step : steps_) {
            if (step.largest) most = std::max(most, step.largest->imbalance());
        }
        return most;
    }
    [[nodiscard]] bool has_steps() const override { return true; }

private:
    struct Step {
        std::string key;
        std::string kind;
        std::string name;
        std::string label;  ///< of what is begun or ended; empty: the step is whole
        std::unique_ptr<Workload> largest{}, smallest{};
        std::optional<Communicator> communicator{};
        std::optional<Work> work{};
        std::optional<Synchronisation> one_sided{};
    };

    void add(const std::string& key, Values values) {
        Step step{key, values.word("kind"), values.shown("name"), values.shown("begin")};
        if (step.kind == "end") {
            step.label = values.word("of");
            const auto begun = std::find(open_.begin(), open_.end(), step.label);
            if (begun == open_.end())
                refuse("of", "'" + step.label + "'", "the label of an exchange that is begun before");
            open_.erase(begun);
        } else if (step.kind == "work") {
            step.work = make_work(values);
        } else {
            add_exchange(step, std::move(values));
        }
        steps_.push_back(std::move(step));
    }

    [[nodiscard]] Work make_work(const Values& values) const {
        Work work{values.integer("time"), Spread{values.integer("imbalance")}, Spread{values.integer("noise")},
                  static_cast<std::uint64_t>(values.integer("seed"))};
        if (const std::int64_t each = values.integer("per_point"); each > 0) {
            if (values.find("grid") == nullptr) refuse("grid", "nothing, but per_point needs it", grid_key().allowed());
            const Grid grid = grid_of(values);
            require_countable(grid, 0);
            work.per_point(each, grid, decomposition_of(values, ranks(), halo_bounds(grid)));
        }
        if (work.most() / 4 > detail::most_work) {
            refuse("per_point", std::to_string(values.integer("per_point")), "at most 1000 s of work in all");
        }
        return work;
    }

    void add_exchange(Step& step, Values values) {
        if (!step.label.empty()) {
            if (std::find(open_.begin(), open_.end(), step.label) != open_.end()) {
                refuse("begin", "'" + step.label + "', which has not ended", "another label");
            }
            open_.push_back(step.label);
        }
        step.communicator = communicator(values.shown("communicator"));
        const WorkloadKind& kind = workload_kind(step.kind);
        Values own;
        for (const auto& [name, value] : values.all()) {
            const bool of_step = name == "name" || name == "communicator" || name == "begin";
            if (!of_step && !name.starts_with("one_sided.")) own.set(name, value);
        }
        step.largest = kind.make(own, step.communicator->largest(), permissions_);
        if (step.communicator->smallest() != step.communicator->largest()) {
            step.smallest = kind.make(own, step.communicator->smallest(), permissions_);
        }
        step.one_sided = detail::synchronisation(values, costs_);
        if (step.label.empty() && !step.one_sided) return;
        const auto schedule = step.largest->sampled();
        if (schedule->rounds() > 0 && schedule->round(0, 0).window > 0) {
            refuse(step.one_sided ? "one_sided" : "begin", "an exchange that waits before all is posted",
                   "an algorithm that posts all sends at once");
        }
    }

    [[nodiscard]] Communicator communicator(const std::string& name) const {
        if (name.empty() || name == "all") return {Communicator::Rule::all, ranks(), ranks()};
        const std::string key = "communicators." + name;
        const Values rule = values().within(key + ".");
        if (rule.all().empty()) refuse("communicator", "'" + name + "'", "all, or a name of workload.communicators");
        return detail::make_communicator(name, rule, ranks());
    }

    [[nodiscard]] static std::unique_ptr<Schedule> sampled_of(const Workload& each) { return each.sampled(); }

    /// \param schedule_of gives a step's workload its schedule
    template <class ScheduleOf>
    [[nodiscard]] std::unique_ptr<Schedule> make(ScheduleOf&& schedule_of) const {
        auto program = std::make_unique<Program>(ranks(), values().integer("repeat"));
        for (const Step& step : steps_) {
            if (step.kind == "end") {
                program->end(step.label, step.name);
                continue;
            }
            const std::string name = step.name.empty() ? step.kind : step.name;
            if (step.work) {
                program->work(name, *step.work);
                continue;
            }
            auto rounds = rounds_of(step, schedule_of);
            if (step.label.empty()) {
                program->exchange(name, std::move(rounds));
            } else {
                program->begin(name, step.label, std::move(rounds));
            }
        }
        if (program->rounds() > std::numeric_limits<Rank>::max()) {
            refuse("repeat", std::to_string(values().integer("repeat")), "less than 2^31 rounds in all");
        }
        return program;
    }

    template <class ScheduleOf>
    [[nodiscard]] static std::shared_ptr<const StepRounds> rounds_of(const Step& step, ScheduleOf&& schedule_of) {
        std::shared_ptr<const Schedule> largest = schedule_of(*step.largest), smallest;
        if (step.smallest) smallest = schedule_of(*step.smallest);
        auto group = std::make_shared<GroupSchedule>(*step.communicator, std::move(largest), std::move(smallest));
        if (step.one_sided) {
            return std::make_shared<OneSidedRounds>(std::move(group), barrier(*step.communicator), *step.one_sided);
        }
        if (step.label.empty()) return group;
        return std::make_shared<SplitRounds>(std::move(group));
    }
    [[nodiscard]] static std::shared_ptr<const GroupSchedule> barrier(const Communicator& communicator) {
        const auto of = [](Rank ranks) {
            return std::make_shared<BarrierSchedule<Dissemination>>(Dissemination{ranks});
        };
        return std::make_shared<GroupSchedule>(communicator, of(communicator.largest()), of(communicator.smallest()));
    }

    Permissions permissions_;
    OneSidedCosts costs_;
    std::vector<Step> steps_;
    std::vector<std::string> open_;
};

/// Reads the steps and the communicators.
inline void read_program(KeyReader& reader, Values& values) {
    for (const std::string& name : reader.names_within("communicators.")) {
        read_block(reader, values, "communicators." + name, [](KeyReader& inner, Values& found) {
            inner.read(detail::communicator_keys(), found, "workload.");
        });
    }
    read_block(reader, values, "one_sided",
               [](KeyReader& inner, Values& found) { inner.read(detail::one_sided_keys(), found, "workload."); });
    const auto steps = reader.names_within("steps.").size();
    if (steps == 0) refuse("steps", "nothing", "a list of steps");
    for (std::size_t number = 0; number < steps; ++number) {
        read_block(reader, values, "steps." + std::to_string(number), [](KeyReader& inner, Values& found) {
            const Argument* const kind = inner.find("kind");
            const bool is_word = kind != nullptr && kind->value && std::holds_alternative<std::string>(*kind->value);
            const std::string word = is_word ? std::get<std::string>(*kind->value) : "";
            if (word == "work" || word == "end") {
                inner.read({Key::word("kind", {word})}, found, "workload.");
                std::vector<Key> keys{{.name = "name", .optional = true}};
                if (word == "end") keys.push_back(Key::word("of", {}));
                for (Key& key : word == "work" ? detail::work_keys() : std::vector<Key>{})
                    keys.push_back(std::move(key));
                inner.read(keys, found, "workload.");
                return;
            }
            if (word == "program" || word == "jobs") refuse("kind", "'" + word + "' in a program", "a step");
            static_cast<void>(read_workload(inner, found));
            inner.read(detail::step_keys(), found, "workload.");
        });
    }
}

[[nodiscard]] inline WorkloadKind program_kind() {
    return {"program",
            {Key::integer("repeat", 1, std::int64_t{1})},
            "",
            [](Values values, Rank ranks, const Permissions& permissions) -> std::unique_ptr<Workload> {
                return std::make_unique<ProgramWorkload>(std::move(values), ranks, permissions);
            },
            read_program};
}

}  // namespace tramontane
