/// \file
/// Keys and their values, from a Python dictionary or a command line: what is allowed is said once, as a list of keys,
/// and one reader refuses everything else.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "refusal.hpp"

namespace tramontane {

using Value = std::variant<std::int64_t, std::string, std::vector<std::int64_t>>;

/// A key and what somebody gave it.
struct Argument {
    std::string key;
    std::optional<Value> value;  ///< nothing: something that no key takes, such as a fraction
    std::string shown;           ///< the value as it was written
};

[[nodiscard]] inline std::string listed(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

/// What a key may be.
struct Key {
    static constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

    std::string name;
    std::size_t integers = 0;  ///< how many; 0: none, then it is a word
    std::int64_t least = 1;    ///< of each integer
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::vector<std::string> words{};  ///< that it may be; with no integers and no words, any word
    std::optional<Value> otherwise{};  ///< its value if it is not given
    bool optional = false;             ///< whether it may be missing and stay so
    /// Another key, read before it, and the value that it must have for this one to exist; empty: it always does.
    std::string with{}, with_value{};

    [[nodiscard]] static Key word(std::string name, std::vector<std::string> words,
                                  std::optional<Value> otherwise = {}) {
        return {.name = std::move(name), .words = std::move(words), .otherwise = std::move(otherwise)};
    }
    [[nodiscard]] static Key integer(std::string name, std::int64_t least, std::optional<Value> otherwise = {}) {
        return {.name = std::move(name), .integers = 1, .least = least, .otherwise = std::move(otherwise)};
    }

    /// In words, for the line that refuses something else.
    [[nodiscard]] std::string allowed() const {
        if (integers == 0) return words.empty() ? "a word" : listed(words);
        static constexpr const char* numbers[] = {"no", "an", "two", "three"};
        const std::string range =
            " from " + std::to_string(least) +
            (most == std::numeric_limits<std::int64_t>::max() ? "" : " to " + std::to_string(most));
        const std::string many = integers == 1            ? "an integer"
                                 : integers == any_number ? "integers"
                                                          : std::string(numbers[integers]) + " integers";
        return many + range + (words.empty() ? "" : ", or " + listed(words));
    }

    /// The value, if it is allowed.
    [[nodiscard]] std::optional<Value> accepted(const Value& value) const {
        const auto in_range = [this](std::int64_t each) { return least <= each && each <= most; };
        if (const auto* number = std::get_if<std::int64_t>(&value)) {
            if ((integers != 1 && integers != any_number) || !in_range(*number)) return {};
            return integers == 1 ? value : Value(std::vector<std::int64_t>{*number});
        }
        if (const auto* several = std::get_if<std::vector<std::int64_t>>(&value)) {
            const bool right = integers == any_number || (integers > 1 && several->size() == integers);
            return right && std::all_of(several->begin(), several->end(), in_range) ? std::optional(value)
                                                                                    : std::nullopt;
        }
        const auto& text = std::get<std::string>(value);
        const bool free = words.empty() && integers == 0 && !text.empty();
        return free || std::find(words.begin(), words.end(), text) != words.end() ? std::optional(value) : std::nullopt;
    }
};

/// Keys that were read, in the order of their list.
class Values {
public:
    void set(const std::string& key, Value value) {
        for (auto& [name, old] : all_) {
            if (name == key) {
                old.swap(value);
                return;
            }
        }
        all_.emplace_back(key, std::move(value));
    }

    [[nodiscard]] const Value* find(std::string_view key) const {
        for (const auto& [name, value] : all_) {
            if (name == key) return &value;
        }
        return nullptr;
    }
    [[nodiscard]] bool is(std::string_view key, std::string_view word) const {
        return find(key) != nullptr && shown(key) == word;
    }
    /// A word; empty for anything else.
    [[nodiscard]] std::string shown(std::string_view key) const {
        const Value* const value = find(key);
        const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(value);
        return text == nullptr ? "" : *text;
    }
    [[nodiscard]] std::int64_t integer(std::string_view key) const { return get<std::int64_t>(key); }
    [[nodiscard]] const std::string& word(std::string_view key) const { return get<std::string>(key); }
    [[nodiscard]] const std::vector<std::int64_t>& integers(std::string_view key) const {
        return get<std::vector<std::int64_t>>(key);
    }

    [[nodiscard]] const std::vector<std::pair<std::string, Value>>& all() const { return all_; }

    /// Those whose keys begin with a prefix, without it.
    [[nodiscard]] Values within(const std::string& prefix) const {
        Values found;
        for (const auto& [key, value] : all_) {
            if (key.starts_with(prefix)) found.all_.emplace_back(key.substr(prefix.size()), value);
        }
        return found;
    }

private:
    template <class T>
    [[nodiscard]] const T& get(std::string_view key) const {
        const Value* const value = find(key);
        if (value == nullptr) throw std::logic_error("no key " + std::string(key));
        return std::get<T>(*value);
    }

    std::vector<std::pair<std::string, Value>> all_;
};

/// Reads what was given by lists of keys, in any order of what was given.
///
/// Of several mistakes it tells the one that most likely explains the others: a value that is not allowed; then a key
/// that nobody knows, which often is a missing one misspelt; then a missing key; then one that has no meaning here.
class KeyReader {
public:
    /// \throws std::invalid_argument if a key was given twice
    explicit KeyReader(std::vector<Argument> given) : given_{std::move(given)}, read_(given_.size()) {
        for (std::size_t i = 0; i < given_.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (given_[i].key == given_[j].key) refuse_key(given_[i].key, "it twice", "each key once");
            }
        }
    }

    /// \param prefix of the keys' names in refusals
    /// \throws std::invalid_argument for a value that is not allowed
    void read(const std::vector<Key>& keys, Values& values, const std::string& prefix = "") {
        for (const Key& key : keys) {
            if (key.with.empty() || values.is(key.with, key.with_value)) {
                take(key, values, prefix);
            } else {
                elsewhere_.push_back({&key, key.with + " " + values.shown(key.with)});
            }
        }
    }

    /// What was given by that name; null: nothing was.
    [[nodiscard]] const Argument* find(const std::string& name) const {
        const auto found =
            std::find_if(given_.begin(), given_.end(), [&](const Argument& each) { return each.key == name; });
        return found == given_.end() ? nullptr : &*found;
    }

    /// The names of blocks within a block, in the order given: of `steps.0.kind`, that in `steps.` is 0.
    [[nodiscard]] std::vector<std::string> names_within(const std::string& prefix) const {
        std::vector<std::string> names;
        for (const Argument& each : given_) {
            if (!each.key.starts_with(prefix)) continue;
            const std::string name = each.key.substr(prefix.size(), each.key.find('.', prefix.size()) - prefix.size());
            if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        }
        return names;
    }

    /// What was given with a prefix, without it; another reader reads that.
    [[nodiscard]] std::vector<Argument> take_within(const std::string& prefix) {
        std::vector<Argument> taken;
        for (std::size_t i = 0; i < given_.size(); ++i) {
            if (!given_[i].key.starts_with(prefix)) continue;
            read_[i] = true;
            taken.push_back({given_[i].key.substr(prefix.size()), given_[i].value, given_[i].shown});
        }
        return taken;
    }

    /// To be called when everything has been read.
    /// \throws std::invalid_argument for a key that was given and is none, or was not given and has to be
    void finish(const std::string& prefix = "") const {
        for (std::size_t i = 0; i < given_.size(); ++i) {
            if (!read_[i] && only_with(given_[i].key).empty()) {
                refuse_key(prefix + given_[i].key, "an unknown key", "the keys " + listed(known_));
            }
        }
        if (missing_) refuse_key(missing_->key, missing_->found, missing_->allowed);
        for (std::size_t i = 0; i < given_.size(); ++i) {
            if (read_[i]) continue;
            const auto here = std::find_if(elsewhere_.begin(), elsewhere_.end(),
                                           [&](const Elsewhere& each) { return each.key->name == given_[i].key; });
            refuse_key(prefix + given_[i].key, given_[i].shown + ", but " + here->here + " has none",
                       only_with(given_[i].key));
        }
    }

private:
    /// A key that does not exist here.
    struct Elsewhere {
        const Key* key;
        std::string here;  ///< why: the other key and its value
    };
    struct Missing {
        std::string key, found, allowed;
    };

    void take(const Key& key, Values& values, const std::string& prefix) {
        known_.push_back(key.name);
        for (std::size_t i = 0; i < given_.size(); ++i) {
            if (given_[i].key != key.name) continue;
            read_[i] = true;
            auto value = given_[i].value ? key.accepted(*given_[i].value) : std::nullopt;
            if (!value) refuse_key(prefix + key.name, given_[i].shown, key.allowed());
            values.set(key.name, *std::move(value));
            return;
        }
        if (key.otherwise) {
            values.set(key.name, *key.otherwise);
        } else if (!key.optional && !missing_) {
            missing_ = {prefix + key.name,
                        "nothing" + (key.with.empty() ? "" : ", but " + key.with + " " + key.with_value + " needs it"),
                        key.allowed()};
        }
    }

    /// In which cases a key exists that does not exist here; empty if it never does.
    [[nodiscard]] std::string only_with(const std::string& name) const {
        std::vector<std::string> cases;
        for (const Elsewhere& each : elsewhere_) {
            if (each.key->name == name) cases.push_back(each.key->with_value);
        }
        return cases.empty() ? "" : "only with " + listed(cases);
    }

    std::vector<Argument> given_;
    std::vector<char> read_;
    std::vector<std::string> known_;
    std::vector<Elsewhere> elsewhere_;
    std::optional<Missing> missing_;
};

/// A value of a command line, told by its looks: an integer, integers with x or commas between them, or a word.
[[nodiscard]] inline Value parsed(const std::string& text) {
    std::vector<std::int64_t> numbers;
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    while (at != end) {
        std::int64_t number = 0;
        const auto [next, failure] = std::from_chars(at, end, number);
        if (failure != std::errc{}) return text;
        numbers.push_back(number);
        if (next == end) return numbers.size() == 1 ? Value(number) : Value(numbers);
        if (*next != 'x' && *next != ',') return text;
        at = next + 1;
    }
    return text;
}

/// Splits arguments `key=value`.
/// \throws std::invalid_argument for one without a key
[[nodiscard]] inline std::vector<Argument> split_arguments(const std::vector<std::string>& arguments) {
    std::vector<Argument> given;
    for (const std::string& argument : arguments) {
        const auto equals = argument.find('=');
        if (equals == std::string::npos || equals == 0) refuse_key("arguments", "'" + argument + "'", "key=value");
        const std::string text = argument.substr(equals + 1);
        given.push_back({argument.substr(0, equals), parsed(text), "'" + text + "'"});
    }
    return given;
}

}  // namespace tramontane
