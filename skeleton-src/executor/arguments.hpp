/// \file
/// Reads `key=value` and refuses what nobody asked for.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "schedule.hpp"

namespace tramontane::executor {

/// \throws std::invalid_argument always, with key, what was found, what is allowed
[[noreturn]] inline void refuse_option(const std::string& key, const std::string& found, const std::string& allowed) {
    throw std::invalid_argument(key + ": found " + found + ", allowed: " + allowed);
}

[[nodiscard]] inline std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        if (!text.empty()) {
            text += ", ";
        }
        text += name;
    }
    return text;
}

/// The arguments by key, each asked for once; what is left over is refused.
class Arguments {
public:
    explicit Arguments(const std::vector<std::string>& arguments) {
        for (const std::string& argument : arguments) {
            const auto equals = argument.find('=');
            if (equals == std::string::npos || equals == 0) {
                refuse_option("arguments", "'" + argument + "'", "key=value");
            }
            std::string key = argument.substr(0, equals);
            if (std::any_of(given_.begin(), given_.end(), [&](const auto& each) { return each.first == key; })) {
                refuse_option(key, "it twice", "each key once");
            }
            given_.emplace_back(std::move(key), argument.substr(equals + 1));
        }
    }

    [[nodiscard]] bool has(const std::string& key) const {
        return std::any_of(given_.begin(), given_.end(), [&](const auto& each) { return each.first == key; });
    }

    [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise) {
        known_.push_back(key);
        for (const auto& [name, value] : given_) {
            if (name == key) {
                return value;
            }
        }
        return otherwise;
    }

    /// One of a few words.
    [[nodiscard]] std::string word(const std::string& key, const std::string& otherwise,
                                   const std::vector<std::string>& allowed) {
        std::string value = text(key, otherwise);
        if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
            refuse_option(key, value.empty() ? "nothing" : "'" + value + "'", listed(allowed));
        }
        return value;
    }

    [[nodiscard]] std::int64_t number(const std::string& key, std::int64_t otherwise, std::int64_t least) {
        if (!has(key)) {
            known_.push_back(key);
            return otherwise;
        }
        return numbers(key, 1, least).front();
    }

    /// Numbers with x between them; empty if the key was not given.
    [[nodiscard]] std::vector<std::int64_t> numbers(const std::string& key, std::size_t count, std::int64_t least) {
        const std::string value = text(key, "");
        std::vector<std::int64_t> result;
        if (!has(key)) {
            return result;
        }
        const std::string allowed =
            count == 1 ? "an integer from " + std::to_string(least)
                       : std::to_string(count) + " integers from " + std::to_string(least) + " with x between them";
        const char* at = value.data();
        const char* const end = value.data() + value.size();
        while (result.size() < count) {
            std::int64_t number = 0;
            const auto [next, failure] = std::from_chars(at, end, number);
            const bool last = result.size() + 1 == count;
            if (failure != std::errc{} || number < least || (last ? next != end : next == end || *next != 'x')) {
                refuse_option(key, "'" + value + "'", allowed);
            }
            result.push_back(number);
            at = next + (last ? 0 : 1);
        }
        return result;
    }

    /// Numbers with commas between them; empty if the key was not given.
    [[nodiscard]] std::vector<std::int64_t> list(const std::string& key, std::int64_t least) {
        const std::string value = text(key, "");
        std::vector<std::int64_t> result;
        const char* at = value.data();
        const char* const end = value.data() + value.size();
        while (at < end) {
            std::int64_t number = 0;
            const auto [next, failure] = std::from_chars(at, end, number);
            if (failure != std::errc{} || number < least || (next != end && (*next != ',' || next + 1 == end))) {
                refuse_option(key, "'" + value + "'",
                              "integers from " + std::to_string(least) + " with commas between them");
            }
            result.push_back(number);
            at = next == end ? end : next + 1;
        }
        return result;
    }

    void refuse_others() const {
        for (const auto& [key, value] : given_) {
            if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
                refuse_option("arguments", "'" + key + "'", "the keys " + listed(known_));
            }
        }
    }

private:
    std::vector<std::pair<std::string, std::string>> given_;
    std::vector<std::string> known_;
};

/// \throws std::invalid_argument if not as many ranks were started as expected
inline void refuse_other_ranks(Rank started, std::int64_t expected) {
    if (expected != started) {
        refuse_option("ranks", "that " + std::to_string(started) + (started == 1 ? " was" : " were") + " started",
                      std::to_string(expected) + " (is this the launcher of the MPI library it was built with?)");
    }
}

}  // namespace tramontane::executor
