/// \file
/// The random choices of one packet, and a way to make every one of them in turn.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "random.hpp"
#include "rules/rule.hpp"

namespace tramontane {

/// Makes all choices one after the other instead of at random: run something that chooses until `advance` says that
/// nothing is left. Used to enumerate routes; a simulation never has one.
class Script {
public:
    [[nodiscard]] std::uint64_t next(std::uint64_t range) {
        if (position_ == choices_.size()) choices_.emplace_back(0, range);
        return choices_[position_++].first;
    }

    /// Goes to the next combination of choices; false when there is none.
    [[nodiscard]] bool advance() {
        position_ = 0;
        while (!choices_.empty() && choices_.back().first + 1 == choices_.back().second) choices_.pop_back();
        if (choices_.empty()) return false;
        ++choices_.back().first;
        return true;
    }

private:
    std::vector<std::pair<std::uint64_t, std::uint64_t>> choices_;  // what was taken, of how many
    std::size_t position_ = 0;
};

/// Choices are functions of the packet's bits and of salts that say what is chosen: asked again, the answer is the
/// same.
class Draw {
public:
    TRAMONTANE_RULE explicit Draw(std::uint64_t bits, Script* script = nullptr) : bits_(bits), script_(script) {}

    /// An integer in [0, range), range > 0.
    [[nodiscard]] TRAMONTANE_RULE std::uint64_t below(std::uint64_t range, std::uint64_t salt = 0) const {
#ifndef TRAMONTANE_ON_DEVICE
        if (script_ != nullptr) [[unlikely]] {
            return range == 1 ? 0 : script_->next(range);
        }
#endif
        salt ^= salt_;
        return tramontane::below(salt == 0 ? bits_ : mix(bits_ ^ salt), range);
    }

    /// Whether every choice is made in turn, so that what is chosen by load may as well be any of what there is.
    [[nodiscard]] TRAMONTANE_RULE bool enumerates() const { return script_ != nullptr; }

    /// The same packet's draw for something else.
    [[nodiscard]] TRAMONTANE_RULE Draw salted(std::uint64_t salt) const {
        Draw other = *this;
        other.salt_ ^= salt;
        return other;
    }

private:
    std::uint64_t bits_;
    std::uint64_t salt_ = 0;
    Script* script_;
};

}  // namespace tramontane
