/// \file
/// Which ranks each role of a program has: every rank belongs to exactly one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../keys.hpp"
#include "../programs/communicator.hpp"
#include "../programs/roles.hpp"
#include "step_list.hpp"

namespace tramontane {

struct NamedRanks {
    std::string name;
    RankSet ranks;
};

namespace detail {

/// Keys of the ranks of a role, of which it has one rule.
[[nodiscard]] inline std::vector<Key> role_keys() {
    std::vector<Key> keys = communicator_keys();
    constexpr Rank most = std::numeric_limits<Rank>::max();
    keys.push_back({.name = "group", .integers = 1, .least = 0, .most = most, .optional = true});
    keys.push_back({.name = "ranks", .integers = Key::any_number, .least = 0, .most = most, .optional = true});
    keys.push_back({.name = "others", .integers = 1, .least = 1, .most = 1, .optional = true});
    return keys;
}

/// A group of a communicator, as a set of ranks at equal distances.
[[nodiscard]] inline RankSet group_of(const Communicator& communicator, Rank group) {
    const Rank first = communicator.rank(group, 0), size = communicator.place(first).size;
    return RankSet::apart(first, size > 1 ? communicator.rank(group, 1) - first : 1, size);
}

/// \param values keys of the role
/// \return nothing for those that others leave
[[nodiscard]] inline std::optional<RankSet> ranks_of_role(const std::string& key, const Values& values, Rank ranks) {
    Values rule;
    for (const Key& each : role_keys()) {
        const Value* const value = values.find(each.name);
        if (value != nullptr && each.name != "group") rule.set(each.name, *value);
    }
    if (rule.all().size() != 1) {
        refuse(key, std::to_string(rule.all().size()) + " rules",
               "one of consecutive, every, leaders, range, ranks, others");
    }
    const bool many = rule.find("consecutive") != nullptr || rule.find("every") != nullptr;
    if (many != (values.find("group") != nullptr)) {
        refuse(key + ".group", many ? "nothing" : "one",
               many ? "the number of one of the groups, from 0" : "none, but with consecutive or every");
    }
    if (rule.find("others") != nullptr) return std::nullopt;
    if (rule.find("ranks") != nullptr) {
        std::vector<Rank> listed;
        for (const std::int64_t each : rule.integers("ranks")) {
            if (each >= ranks) refuse(key + ".ranks", std::to_string(each), "ranks below " + std::to_string(ranks));
            listed.push_back(static_cast<Rank>(each));
        }
        if (listed.empty()) refuse(key + ".ranks", "none", "at least one rank");
        std::sort(listed.begin(), listed.end());
        const auto twice = std::adjacent_find(listed.begin(), listed.end());
        if (twice != listed.end()) refuse(key + ".ranks", std::to_string(*twice) + " twice", "each rank once");
        return RankSet::list(std::move(listed));
    }
    const Communicator communicator = make_communicator(key, rule, ranks);
    const std::int64_t group = many ? values.integer("group") : 0;
    if (group >= communicator.groups()) {
        refuse(key + ".group", std::to_string(group),
               "an integer from 0 to " + std::to_string(communicator.groups() - 1));
    }
    return group_of(communicator, static_cast<Rank>(group));
}

/// The first rank that two sets have in common, if there is one.
[[nodiscard]] inline std::optional<Rank> common_rank(const RankSet& first, const RankSet& second) {
    if (first.size() > second.size()) return common_rank(second, first);
    for (Rank number = 0; number < first.size(); ++number) {
        if (const Rank rank = first.rank(number); second.has(rank)) return rank;
    }
    return std::nullopt;
}

/// \param values of the roles, each below its name
/// \return by name, but what others leave last: a rank that is in none of those before is in the last one
[[nodiscard]] inline std::vector<NamedRanks> ranks_of_roles(const Values& values, Rank ranks) {
    std::vector<std::string> names;
    for (const auto& [key, value] : values.all()) names.push_back(key.substr(0, key.find('.')));
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());

    std::vector<NamedRanks> roles;
    std::string rest;
    std::int64_t held = 0;
    for (const std::string& name : names) {
        const std::string key = "roles." + name;
        auto set = ranks_of_role(key, values.within(name + "."), ranks);
        if (!set) {
            if (!rest.empty()) refuse(key + ".others", "it beside that of '" + rest + "'", "one role of the others");
            rest = name;
            continue;
        }
        for (const NamedRanks& before : roles) {
            const auto common = common_rank(before.ranks, *set);
            if (common)
                refuse(key, "rank " + std::to_string(*common) + ", which '" + before.name + "' has",
                       "ranks of no other");
        }
        held += set->size();
        roles.push_back({name, *std::move(set)});
    }
    if (names.empty()) return roles;
    if (rest.empty() != (held == ranks)) {
        const std::string left = std::to_string(ranks - held) + " of " + std::to_string(ranks) + " ranks";
        refuse(rest.empty() ? "roles" : "roles." + rest + ".others", left + " left",
               rest.empty() ? "a role of each rank, such as others" : "at least one");
    }
    if (rest.empty()) return roles;
    std::vector<RankSet> others;
    for (const NamedRanks& role : roles) others.push_back(role.ranks);
    roles.push_back({rest, RankSet::rest(ranks, std::move(others))});
    return roles;
}

}  // namespace detail
}  // namespace tramontane
