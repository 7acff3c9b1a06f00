/// \file
/// Records that all lanes take and give back at the same time; each keeps some free ones at hand (lane_state.hpp).
///
/// Which lane gets which record depends on who was first, so that numbers of records decide nothing. What is given back
/// in a window is taken again by others from the next one on: so the ring of free records is read and written at
/// different ends, and neither needs to wait for the other.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "device/atomic.hpp"
#include "device/memory.hpp"
#include "memory/checkpoint.hpp"
#include "memory/lines.hpp"
#include "rules/rule.hpp"

namespace tramontane::device {

class Counts {
public:
    /// Between two windows. \return whether it is time to `grow`: less than half is left
    TRAMONTANE_RULE bool turn() {
        if (static_cast<std::int32_t>(taken_ - known_) > 0) taken_ = known_;  // the others were new
        known_ = given_;
        return crowded();
    }

protected:
    explicit Counts(std::uint32_t most) : most_(std::bit_ceil(most)) {}

    [[nodiscard]] TRAMONTANE_RULE bool crowded() const { return next_ >= most_ / 2; }

    std::uint32_t most_;  // a power of two
    // Counts, modulo 2^32: of free records that were taken, and given back; so many of those before this window.
    std::uint32_t taken_ = 0, given_ = 0, known_ = 0;
    Index next_ = none + 1;  // never taken so far
};

template <class T>
class Records : public Counts {
public:
    /// \param most records that there is room for, until `grow`
    Records(Memory& memory, std::uint32_t most)
        : Counts(most), memory_(memory), records_(memory, most_), free_(memory, most_) {}

    [[nodiscard]] TRAMONTANE_RULE T& operator[](Index i) const { return records_[i]; }
    /// All of them, until `grow` or `keep`.
    [[nodiscard]] T* all() const { return records_.get(); }

    /// Takes so many records, with unspecified contents.
    TRAMONTANE_ONCE TRAMONTANE_RULE void take(Index* into, std::uint32_t count) {
        const std::uint32_t turn = add(&taken_, count);
        const auto left = static_cast<std::int32_t>(known_ - turn);
        const std::uint32_t old = left <= 0 ? 0 : left < static_cast<std::int32_t>(count) ? left : count;
        for (std::uint32_t k = 0; k < old; ++k) into[k] = free_[(turn + k) & (most_ - 1)];
        if (old == count) return;
        const Index first = add(&next_, count - old);
        if (first + (count - old) > most_) refuse();
        for (std::uint32_t k = old; k < count; ++k) into[k] = first + (k - old);
    }
    TRAMONTANE_ONCE TRAMONTANE_RULE void give_back(const Index* from, std::uint32_t count) {
        const std::uint32_t turn = add(&given_, count);
        for (std::uint32_t k = 0; k < count; ++k) free_[(turn + k) & (most_ - 1)] = from[k];
    }

    /// Records that there is room for.
    [[nodiscard]] std::size_t room() const { return most_; }
    /// Makes room, where it is time; whether it was. While no lane runs.
    bool grow() {
        const bool is_crowded = crowded();
        if (is_crowded) make_room(std::uint64_t{2} * most_);
        return is_crowded;
    }

    /// Records in use. While no lane runs. \param at_hand free ones that lanes keep
    [[nodiscard]] std::uint64_t used(std::uint64_t at_hand) {
        (void)turn();
        return next_ - (none + 1) - (given_ - taken_) - at_hand;
    }

    /// Writes or reads all records, as the other engine keeps those of a pool (pool.hpp). While no lane runs.
    /// \param free records that lanes have at hand; none where they are read
    void keep(StateFile& file, std::vector<Index> free) {
        std::uint64_t used = this->used(free.size());  // which begins a turn: the host has taken some since
        for (std::uint32_t i = taken_; i != given_; ++i) free.push_back(free_[i & (most_ - 1)]);
        std::uint64_t room = next_, end = next_;
        file(room);
        if (file.reading() && 2 * room >= most_) make_room(std::bit_ceil(2 * room + 1));
        file.array(records_.get(), room);
        std::vector<Index> of_all;
        file(of_all);
        file(free);
        file(next_);
        file(end);
        file(used);
        if (!file.reading()) return;
        free.insert(free.end(), of_all.begin(), of_all.end());
        next_ = std::max(next_, none + 1);  // it is less where the other engine has had no record
        for (; next_ < room; ++next_) free.push_back(next_);
        std::copy(free.begin(), free.end(), free_.get());
        taken_ = 0;
        known_ = given_ = static_cast<std::uint32_t>(free.size());
    }

private:
    void make_room(std::uint64_t most) {
        if (most > (std::uint64_t{1} << 31)) refuse();
        (void)turn();  // as above
        const std::uint32_t before = most_;
        most_ = static_cast<std::uint32_t>(most);
        Array<T> records(memory_, most_);
        Array<Index> free(memory_, most_);
        memory_.copy(records.get(), records_.get(), before * sizeof(T));
        for (std::uint32_t i = taken_; i != given_; ++i) free[i & (most_ - 1)] = free_[i & (before - 1)];
        records_ = std::move(records);
        free_ = std::move(free);
    }

    [[noreturn]] TRAMONTANE_RULE static void refuse() {
        fail<std::invalid_argument>(
            "device: found more messages and events within few windows than there is room for, allowed: cpu");
    }

    Memory& memory_;
    Array<T> records_;
    Array<Index> free_;
};

}  // namespace tramontane::device
