/// \file
/// The steps of a program, or of one of its roles: workloads of other kinds, on all ranks or on communicators, work,
/// and messages between roles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../collectives/barrier.hpp"
#include "../programs/communicator.hpp"
#include "../programs/notification.hpp"
#include "../programs/one_sided.hpp"
#include "../programs/program.hpp"
#include "../programs/roles.hpp"
#include "../programs/storage.hpp"
#include "../programs/work.hpp"
#include "../weights.hpp"
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
            Weights::key("groups"),
            word("one_sided.synchronisation", {"fence", "post-start", "passive", "lock"}),
            word("one_sided.scope", {"all", "neighbours"}),
            word("one_sided.opens", {"before", "after"})};
}

/// What the calls of one-sided steps cost; by default nothing, for those who do not ask for times.
[[nodiscard]] inline std::vector<Key> one_sided_keys() {
    std::vector<Key> keys;
    for (const char* name :
         {"put", "post", "start", "complete", "wait", "flush", "fence", "lock", "unlock", "notify"}) {
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
            .unlock = cost("unlock"),
            .notify = cost("notify")};
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

/// Bytes of each message, or of all together.
[[nodiscard]] inline std::vector<Key> share_keys() {
    constexpr std::int64_t most = std::int64_t{1} << 50;
    return {{.name = "bytes", .integers = 1, .least = 0, .most = most, .optional = true},
            {.name = "total", .integers = 1, .least = 1, .most = most, .optional = true}};
}

[[nodiscard]] inline Share share(const Values& values) {
    const bool each = values.find("bytes") != nullptr, total = values.find("total") != nullptr;
    if (each == total) refuse("bytes", each ? "total beside it" : "nothing", "one of bytes, total");
    return each ? Share{.each = values.integer("bytes")} : Share{.total = values.integer("total")};
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

/// What accesses of a storage cost; by default nothing, as with one-sided steps.
[[nodiscard]] inline std::vector<Key> storage_keys() {
    constexpr std::int64_t most = 1'000'000'000'000'000'000;
    const auto number = [&](const char* name, std::int64_t least) {
        return Key{.name = name, .integers = 1, .least = least, .most = most, .otherwise = least};
    };
    Key ranks = number("ranks_per_node", 1);
    ranks.most = std::numeric_limits<Rank>::max();
    Key contention = number("contention", 0);
    contention.most = Spread::one - 1;
    return {number("bandwidth", 0),
            number("node_bandwidth", 0),
            number("latency", 0),
            number("request", 0),
            contention,
            ranks};
}

[[nodiscard]] inline StorageCosts storage_costs(const Values& values) {
    if (values.find("bandwidth") == nullptr) return {};
    return {.bandwidth = values.integer("bandwidth"),
            .node_bandwidth = values.integer("node_bandwidth"),
            .latency = values.integer("latency"),
            .request = values.integer("request"),
            .contention = values.integer("contention"),
            .ranks_per_node = static_cast<Rank>(values.integer("ranks_per_node"))};
}

/// What steps cost where the machine says so.
struct StepCosts {
    OneSidedCosts one_sided;
    StorageCosts storage;
};

/// Keys of a kind of step that is no workload; empty: it is one.
[[nodiscard]] inline std::vector<Key> own_keys(const std::string& kind) {
    if (kind == "work") return work_keys();
    if (kind == "end") return {Key::word("of", {})};
    if (kind == "loop") return {Key::integer("times", 1)};
    const Key begin{.name = "begin", .optional = true};
    if (kind == "receive") return {Key::word("source", {}), begin};
    if (kind == "notify") {
        constexpr std::int64_t most = std::numeric_limits<Rank>::max();
        return {{.name = "communicator", .optional = true},
                begin,
                {.name = "offsets", .integers = Key::any_number, .least = -most, .most = most}};
    }
    std::vector<Key> keys;
    if (kind == "send") {
        keys = {Key::word("target", {}), begin,
                Key::word("partners", {"cyclic", "block", "all"}, std::string{"cyclic"})};
    } else if (kind == "write" || kind == "read") {
        keys = {{.name = "communicator", .optional = true}};
    } else {
        return {};
    }
    for (Key& key : share_keys()) keys.push_back(std::move(key));
    return keys;
}

/// \param key of the block that has the rule
[[nodiscard]] inline Communicator make_communicator(const std::string& key, const Values& values, Rank ranks) {
    using Rule = Communicator::Rule;
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

/// Steps that have been read and found to be possible, for all ranks or for those of a role.
class StepList {
public:
    /// \param values `steps` and `communicators`
    /// \param role empty: of all ranks
    StepList(const Values& values, Rank ranks, std::string role, detail::StepCosts costs,
             const Permissions& permissions)
        : ranks_{ranks},
          role_{std::move(role)},
          costs_{costs},
          permissions_{permissions},
          communicators_{named_by_steps(values)},
          steps_{read("", values)} {}

    struct Step {
        std::string key;
        std::string kind;
        std::string name;
        std::string label;  ///< of what is begun or ended; empty: the step is whole
        std::unique_ptr<Workload> largest{}, smallest{};
        std::optional<Communicator> communicator{};
        Weights groups{};
        std::optional<Work> work{};
        std::optional<Synchronisation> one_sided{};
        std::string partner{};  ///< the role that it sends to, or receives from
        Partners::Rule partners{};
        Share bytes{};
        std::vector<std::int64_t> offsets{};  ///< of notifications
        std::int64_t notify_cost = 0;
        Access access = Access::none;
        StorageCosts storage{};
        std::vector<Step> looped{};  ///< what a loop does ...
        std::int64_t times = 1;      ///< ... so often

        /// Whether it has messages between roles.
        [[nodiscard]] bool meets() const {
            return !partner.empty() ||
                   std::any_of(looped.begin(), looped.end(), [](const Step& each) { return each.meets(); });
        }
    };

    [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] const std::string& role() const { return role_; }
    [[nodiscard]] double imbalance() const {
        double most = 1;
        for (const Step& step : steps_) most = std::max(most, imbalance(step));
        return most;
    }

    /// Adds a step to a program. \pre it is none of messages between roles
    /// \param schedule_of gives a step's workload its schedule
    /// \param within the role's ranks; null: of all ranks
    template <class ScheduleOf>
    static void add(const Step& step, Program& program, ScheduleOf&& schedule_of, const RankSet* within) {
        if (step.kind == "loop") {
            return program.loop(step.times, [&] {
                for (const Step& each : step.looped) add(each, program, schedule_of, within);
            });
        }
        if (step.kind == "end") return program.end(step.label, step.name);
        if (step.work && within == nullptr) return program.work(name_of(step), *step.work);
        if (!step.offsets.empty()) {
            return add(step, program,
                       std::make_shared<NotificationRounds>(*step.communicator, step.offsets, step.notify_cost));
        }
        if (step.access != Access::none) {
            const Rank ranks = program.ranks();
            return program.exchange(name_of(step),
                                    accesses(step, within ? *within : RankSet::apart(0, 1, ranks), ranks));
        }
        std::shared_ptr<const StepRounds> rounds =
            step.work ? std::make_shared<WorkRounds>(*step.work) : rounds_of(step, schedule_of);
        if (within != nullptr) rounds = std::make_shared<WithinRole>(*within, std::move(rounds));
        add(step, program, std::move(rounds));
    }
    /// The same for messages between roles.
    static void add_messages(const Step& step, Program& program, std::shared_ptr<const StepRounds> messages) {
        if (!step.label.empty()) messages = std::make_shared<SplitRounds>(std::move(messages));
        add(step, program, std::move(messages));
    }
    [[nodiscard]] static const std::string& name_of(const Step& step) {
        return step.name.empty() ? step.kind : step.name;
    }

private:
    /// \param rounds what the step does, in split phase if it is begun
    static void add(const Step& step, Program& program, std::shared_ptr<const StepRounds> rounds) {
        if (step.label.empty()) return program.exchange(name_of(step), std::move(rounds));
        program.begin(name_of(step), step.label, std::move(rounds));
    }

    [[nodiscard]] static double imbalance(const Step& step) {
        double most = step.largest ? step.largest->imbalance() : 1;
        for (const Step& each : step.looped) most = std::max(most, imbalance(each));
        return most;
    }

    /// \param where the block that has the steps
    [[nodiscard]] std::vector<Step> read(const std::string& where, const Values& values) {
        std::vector<Step> found;
        around_ = std::exchange(open_, {});
        for (std::int64_t number = 0;; ++number) {
            const std::string key = "steps." + std::to_string(number);
            const Values step = values.within(key + ".");
            if (step.all().empty()) break;
            within_block(key, [&] { found.push_back(read_step(where + key, step)); });
        }
        if (!open_.empty())
            refuse("steps", "no end of '" + open_.front() + "'", "an end of each exchange that is begun");
        open_ = std::exchange(around_, {});
        return found;
    }

    [[nodiscard]] Step read_step(const std::string& key, const Values& values) {
        Step step{key, values.word("kind"), values.shown("name"), values.shown("begin")};
        if (step.kind == "loop") {
            step.times = values.integer("times");
            step.looped = read(key + ".", values);
        } else if (step.kind == "end") {
            step.label = values.word("of");
            const auto begun = std::find(open_.begin(), open_.end(), step.label);
            if (begun == open_.end())
                refuse("of", "'" + step.label + "'", "the label of an exchange that is begun before");
            open_.erase(begun);
        } else if (step.kind == "work") {
            step.work = make_work(values);
        } else if (step.kind == "write" || step.kind == "read") {
            step.access = step.kind == "write" ? Access::write : Access::read;
            step.communicator = communicator(values.shown("communicator"));
            step.bytes = detail::share(values);
            step.storage = costs_.storage;
            if (accesses(step, RankSet::apart(0, 1, ranks_), ranks_)->most() > detail::most_work) {
                refuse("bytes", "more than 1000 s of " + step.kind + " with machine.storage", "less");
            }
        } else if (step.kind == "notify") {
            open(step);
            if (!role_.empty()) refuse("kind", "'notify' in a role", "messages of two sides");
            step.communicator = communicator(values.shown("communicator"));
            step.offsets = values.integers("offsets");
            const bool none = step.offsets.empty();
            if (none || std::find(step.offsets.begin(), step.offsets.end(), 0) != step.offsets.end()) {
                refuse("offsets", none ? "none" : "0", "distances to other ranks");
            }
            step.notify_cost = costs_.one_sided.notify;
        } else if (step.kind == "send" || step.kind == "receive") {
            open(step);
            read_messages(step, values);
        } else {
            open(step);
            add_exchange(step, values);
        }
        return step;
    }

    [[nodiscard]] Work make_work(const Values& values) const {
        Work work{values.integer("time"), Spread{values.integer("imbalance")}, Spread{values.integer("noise")},
                  static_cast<std::uint64_t>(values.integer("seed"))};
        if (const std::int64_t each = values.integer("per_point"); each > 0) {
            if (values.find("grid") == nullptr) refuse("grid", "nothing, but per_point needs it", grid_key().allowed());
            const Grid grid = grid_of(values);
            require_countable(grid, 0);
            work.per_point(each, grid, decomposition_of(values, ranks_, halo_bounds(grid)));
        }
        if (work.most() / 4 > detail::most_work) {
            refuse("per_point", std::to_string(values.integer("per_point")), "at most 1000 s of work in all");
        }
        return work;
    }

    [[nodiscard]] static std::shared_ptr<const StorageRounds> accesses(const Step& step, RankSet role, Rank ranks) {
        return std::make_shared<StorageRounds>(step.access, step.bytes, *step.communicator, std::move(role), ranks,
                                               step.storage);
    }

    /// Remembers what is begun.
    void open(const Step& step) {
        if (step.label.empty()) return;
        const auto has = [&](const auto& labels) {
            return std::find(labels.begin(), labels.end(), step.label) != labels.end();
        };
        if (has(open_) || has(around_)) {
            refuse("begin", "'" + step.label + "', which has not ended", "another label");
        }
        open_.push_back(step.label);
    }

    void read_messages(Step& step, const Values& values) const {
        if (role_.empty()) refuse("kind", "'" + step.kind + "' in a program without roles", "a step of a role");
        const std::string key = step.kind == "send" ? "target" : "source";
        step.partner = values.word(key);
        if (step.partner == role_) refuse(key, "'" + role_ + "', the role itself", "another role");
        if (step.kind == "receive") return;
        const std::string& rule = values.word("partners");
        step.partners = rule == "block" ? Partners::Rule::block
                        : rule == "all" ? Partners::Rule::all
                                        : Partners::Rule::cyclic;
        step.bytes = detail::share(values);
    }

    void add_exchange(Step& step, const Values& values) {
        step.communicator = communicator(values.shown("communicator"));
        const WorkloadKind& kind = workload_kind(step.kind);
        Values own;
        for (const auto& [name, value] : values.all()) {
            const bool of_step = name == "name" || name == "communicator" || name == "begin" || name == "groups";
            if (!of_step && !name.starts_with("one_sided.")) own.set(name, value);
        }
        step.largest = kind.make(own, step.communicator->largest(), permissions_);
        if (step.communicator->smallest() != step.communicator->largest()) {
            step.smallest = kind.make(own, step.communicator->smallest(), permissions_);
        }
        if (values.find("groups") != nullptr && !values.is("operation", "alltoallv")) {
            refuse("groups", "weights", "only with operation alltoallv");
        }
        step.groups = {values, "groups", step.communicator->groups()};
        refuse_datatypes(*step.largest, "step");
        step.one_sided = detail::synchronisation(values, costs_.one_sided);
        if (step.one_sided && !role_.empty()) refuse("one_sided", "puts in a role", "messages of two sides");
        if (step.label.empty() && !step.one_sided) return;
        const auto schedule = step.largest->sampled();
        if (schedule->receives_in_turn() || (schedule->rounds() > 0 && schedule->round(0, 0).window > 0)) {
            refuse(step.one_sided ? "one_sided" : "begin", "an exchange that waits before all is posted",
                   "an algorithm, or calls, that post all messages at once");
        }
    }

    /// The communicators that a step is of; of others nobody asks whether these ranks can have them.
    [[nodiscard]] std::map<std::string, Communicator> named_by_steps(const Values& values) const {
        const Values rules = values.within("communicators.");
        std::map<std::string, Communicator> found;
        for (const auto& [key, value] : values.all()) {
            if (!key.starts_with("steps.") || !key.ends_with(".communicator")) continue;
            const std::string& name = std::get<std::string>(value);
            if (found.contains(name)) continue;
            const Values rule = rules.within(name + ".");
            if (rule.all().empty()) continue;
            found.emplace(name, detail::make_communicator("communicators." + name, rule, ranks_));
        }
        return found;
    }

    [[nodiscard]] Communicator communicator(const std::string& name) const {
        if (name.empty() || name == "all") return {Communicator::Rule::all, ranks_, ranks_};
        const auto found = communicators_.find(name);
        if (found == communicators_.end()) {
            refuse("communicator", "'" + name + "'", "all, or a name of workload.communicators");
        }
        return found->second;
    }

    template <class ScheduleOf>
    [[nodiscard]] static std::shared_ptr<const StepRounds> rounds_of(const Step& step, ScheduleOf&& schedule_of) {
        std::shared_ptr<const Schedule> largest = schedule_of(*step.largest), smallest;
        if (step.smallest) smallest = schedule_of(*step.smallest);
        auto group =
            std::make_shared<GroupSchedule>(*step.communicator, std::move(largest), std::move(smallest), step.groups);
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

    Rank ranks_;
    std::string role_;
    detail::StepCosts costs_;
    Permissions permissions_;
    std::map<std::string, Communicator> communicators_;
    std::vector<std::string> open_, around_;  ///< labels, and those around a loop
    std::vector<Step> steps_;
};

/// A list of steps.
/// \param may_loop or it is that of a loop
inline void read_list(KeyReader& reader, Values& values, bool may_loop) {
    const auto steps = reader.names_within("steps.").size();
    if (steps == 0) refuse("steps", "nothing", "a list of steps");
    for (std::size_t number = 0; number < steps; ++number) {
        read_block(reader, values, "steps." + std::to_string(number), [&](KeyReader& inner, Values& found) {
            const Argument* const kind = inner.find("kind");
            const bool is_word = kind != nullptr && kind->value && std::holds_alternative<std::string>(*kind->value);
            const std::string word = is_word ? std::get<std::string>(*kind->value) : "";
            if (word == "loop" && !may_loop) refuse("kind", "'loop' in a loop", "another step");
            if (const auto own = detail::own_keys(word); !own.empty()) {
                inner.read({Key::word("kind", {word}), {.name = "name", .optional = true}}, found, "workload.");
                inner.read(own, found, "workload.");
                if (word == "loop") read_list(inner, found, false);
                return;
            }
            if (word == "program" || word == "jobs" || word == "trace") {
                refuse("kind", "'" + word + "' in a program", "a step");
            }
            static_cast<void>(read_workload(inner, found));
            inner.read(detail::step_keys(), found, "workload.");
        });
    }
}

/// The keys of a program or role that both have.
inline void read_steps(KeyReader& reader, Values& values) {
    for (const std::string& name : reader.names_within("communicators.")) {
        read_block(reader, values, "communicators." + name, [](KeyReader& inner, Values& found) {
            inner.read(detail::communicator_keys(), found, "workload.");
        });
    }
    read_list(reader, values, true);
}

}  // namespace tramontane
