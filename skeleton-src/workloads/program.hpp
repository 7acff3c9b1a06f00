/// \file
/// The descriptor of programs: the steps of all ranks, or those of each role.
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

#include "../programs/program.hpp"
#include "../programs/roles.hpp"
#include "kind.hpp"
#include "nested.hpp"
#include "role_ranks.hpp"
#include "step_list.hpp"

namespace tramontane {

class ProgramWorkload final : public Workload {
public:
    ProgramWorkload(Values given, Rank ranks, const Permissions& permissions) : Workload{std::move(given), ranks} {
        const detail::StepCosts costs{detail::one_sided_costs(values().within("one_sided.")),
                                      detail::storage_costs(values().within("storage."))};
        for (NamedRanks& role : detail::ranks_of_roles(values().within("roles."), ranks)) {
            const Values own = values().within("roles." + role.name + ".");
            within_block("roles." + role.name, [&] {
                StepList list{own, role.ranks.size(), role.name, costs, permissions};
                parts_.push_back({std::move(role), std::move(list), {}});
                parts_.back().list_steps();
            });
        }
        if (parts_.empty()) {
            whole_.emplace(values(), ranks, "", costs, permissions);
        } else if (!values().within("steps.").all().empty()) {
            refuse("steps", "some beside roles", "steps of each role");
        }
        static_cast<void>(make(sampled_of));  // refuses what only schedules know
    }

    [[nodiscard]] std::unique_ptr<Schedule> schedule(std::span<const std::byte> /*setup*/) const override {
        return make([](const Workload& each) -> std::unique_ptr<Schedule> { return each.schedule(); });
    }
    [[nodiscard]] std::unique_ptr<Schedule> sampled() const override { return make(sampled_of); }
    [[nodiscard]] double imbalance() const override {
        double most = whole_ ? whole_->imbalance() : 1;
        for (const Part& part : parts_) most = std::max(most, part.list.imbalance());
        return most;
    }
    [[nodiscard]] bool has_steps() const override { return true; }

private:
    using Step = StepList::Step;

    /// A step of a role, and in which pass of a loop.
    struct Turn {
        const Step* step;
        std::int64_t pass = 0, passes = 1;
    };
    struct Part {
        NamedRanks role;
        StepList list;
        std::vector<Turn> turns;

        /// One after the other; a loop that has messages between roles is taken apart, because its partner need not
        /// have one.
        void list_steps() {
            for (const Step& step : list.steps()) {
                const bool apart = step.kind == "loop" && step.meets();
                if (!apart) turns.push_back({&step});
                for (std::int64_t pass = 0; apart && pass < step.times; ++pass) {
                    for (const Step& each : step.looped) turns.push_back({&each, pass, step.times});
                    if (turns.size() > most_turns) {
                        within_block(step.key, [&] {
                            refuse("times", std::to_string(step.times) + ", with messages between roles",
                                   "at most " + std::to_string(most_turns) + " steps in all");
                        });
                    }
                }
            }
        }
        static constexpr std::size_t most_turns = 10'000;
    };
    /// How far the program of a role has been made.
    struct Progress {
        std::shared_ptr<Program> program;
        std::size_t at = 0;  ///< its next step
    };

    [[nodiscard]] static std::unique_ptr<Schedule> sampled_of(const Workload& each) { return each.sampled(); }

    /// \param schedule_of gives a step's workload its schedule
    template <class ScheduleOf>
    [[nodiscard]] std::unique_ptr<Schedule> make(ScheduleOf&& schedule_of) const {
        if (!whole_) return make_roles(schedule_of);
        auto program = std::make_unique<Program>(ranks(), values().integer("repeat"));
        for (const Step& step : whole_->steps()) StepList::add(step, *program, schedule_of, nullptr);
        require_countable(*program);
        return program;
    }

    void require_countable(const Program& program) const {
        const std::int64_t repeat = values().integer("repeat");
        if (program.per_repetition() > std::numeric_limits<Rank>::max() / repeat) {
            refuse("repeat", std::to_string(repeat), "less than 2^31 rounds in all");
        }
    }

    /// Each role's steps one after the other. Messages between two roles are in the same round of both: the role that
    /// comes to them in an earlier one is idle until then.
    template <class ScheduleOf>
    [[nodiscard]] std::unique_ptr<Schedule> make_roles(ScheduleOf&& schedule_of) const {
        std::vector<Progress> made(parts_.size());
        for (Progress& each : made) each.program = std::make_shared<Program>(ranks(), values().integer("repeat"));
        do {
            for (std::size_t role = 0; role < parts_.size(); ++role) {
                const Part& part = parts_[role];
                for (; made[role].at < part.turns.size() && next(made, role)->partner.empty(); ++made[role].at) {
                    const Turn& turn = part.turns[made[role].at];
                    made[role].program->pass(turn.pass, turn.passes);
                    StepList::add(*turn.step, *made[role].program, schedule_of, &part.role.ranks);
                }
            }
        } while (join(made));

        std::int64_t rounds = 0;
        for (std::size_t role = 0; role < parts_.size(); ++role) {
            if (next(made, role) != nullptr) refuse_unmatched(made, role);
            rounds = std::max(rounds, made[role].program->per_repetition());
        }
        std::vector<Role> roles;
        for (std::size_t role = 0; role < parts_.size(); ++role) {
            made[role].program->idle_until(rounds);
            require_countable(*made[role].program);
            roles.push_back({parts_[role].role.name, parts_[role].role.ranks, made[role].program});
        }
        return std::make_unique<RoleSchedule>(ranks(), std::move(roles));
    }

    /// The next step of a role; null: there are no more.
    [[nodiscard]] const Step* next(const std::vector<Progress>& made, std::size_t role) const {
        const auto& turns = parts_[role].turns;
        return made[role].at < turns.size() ? turns[made[role].at].step : nullptr;
    }
    /// \return the number of roles if there is none of that name
    [[nodiscard]] std::size_t role_called(const std::string& name) const {
        const auto found =
            std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) { return part.role.name == name; });
        return static_cast<std::size_t>(found - parts_.begin());
    }

    /// Adds the next messages for which both roles are ready. \return whether there are any
    [[nodiscard]] bool join(std::vector<Progress>& made) const {
        for (std::size_t source = 0; source < parts_.size(); ++source) {
            const Step* const send = next(made, source);
            if (send == nullptr || send->kind != "send") continue;
            const std::size_t target = role_called(send->partner);
            const Step* const receive = target < parts_.size() ? next(made, target) : nullptr;
            if (receive == nullptr || receive->kind != "receive" || receive->partner != parts_[source].role.name) {
                continue;
            }
            const auto messages = std::make_shared<RoleMessages>(parts_[source].role.ranks, parts_[target].role.ranks,
                                                                 send->partners, send->bytes);
            const std::int64_t round =
                std::max(made[source].program->per_repetition(), made[target].program->per_repetition());
            for (const std::size_t role : {source, target}) {
                const Step& step = *next(made, role);
                made[role].program->idle_until(round, StepList::name_of(step));
                StepList::add_messages(step, *made[role].program, messages);
                ++made[role].at;
            }
            return true;
        }
        return false;
    }

    [[noreturn]] void refuse_unmatched(const std::vector<Progress>& made, std::size_t role) const {
        const Step& step = *next(made, role);
        const bool sends = step.kind == "send";
        const std::string key = "roles." + parts_[role].role.name + "." + step.key + (sends ? ".target" : ".source");
        const std::size_t partner = role_called(step.partner);
        if (partner == parts_.size()) {
            std::vector<std::string> names;
            for (const Part& part : parts_) names.push_back(part.role.name);
            refuse(key, "'" + step.partner + "'", "another role of " + listed(names));
        }
        const Step* const other = next(made, partner);
        refuse(key,
               "'" + step.partner + "', which " +
                   (other == nullptr ? "has no more steps" : "is at roles." + step.partner + "." + other->key),
               std::string("a step of it that ") + (sends ? "receives this" : "sends this") + ", in the same order");
    }

    std::optional<StepList> whole_;  ///< without roles
    std::vector<Part> parts_;
};

/// Reads communicators, roles and steps.
inline void read_program(KeyReader& reader, Values& values) {
    read_block(reader, values, "one_sided",
               [](KeyReader& inner, Values& found) { inner.read(detail::one_sided_keys(), found, "workload."); });
    if (!reader.names_within("storage.").empty()) {
        read_block(reader, values, "storage",
                   [](KeyReader& inner, Values& found) { inner.read(detail::storage_keys(), found, "workload."); });
    }
    const auto roles = reader.names_within("roles.");
    for (const std::string& name : roles) {
        read_block(reader, values, "roles." + name, [](KeyReader& inner, Values& found) {
            inner.read(detail::role_keys(), found, "workload.");
            read_steps(inner, found);
        });
    }
    if (roles.empty() || !reader.names_within("steps.").empty()) read_steps(reader, values);
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
