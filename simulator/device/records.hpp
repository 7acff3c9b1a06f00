/// \file
/// Records that all lanes take and give back at the same time.
///
/// Which lane gets which record depends on who was first, so that numbers of records decide nothing. What is given back
/// in a window is taken again from the next one on: so the ring of free records is read and written at different ends,
/// and neither needs to wait for the other.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "device/atomic.hpp"
#include "device/memory.hpp"
#include "rules/rule.hpp"

namespace tramontane::device {

template <class T>
class Records {
public:
    /// \param most records that there is room for, until `grow`
    Records(Memory& memory, std::uint32_t most)
        : memory_(memory), most_(std::bit_ceil(most)), records_(memory, most_), free_(memory, most_) {}

    [[nodiscard]] TRAMONTANE_RULE T& operator[](Index i) const { return records_[i]; }

    /// A record with unspecified contents.
    [[nodiscard]] TRAMONTANE_RULE Index take() {
        const std::uint32_t turn = add(&taken_, 1);
        if (static_cast<std::int32_t>(turn - known_) < 0) return free_[turn & (most_ - 1)];
        const Index i = add(&next_, 1);
        if (i >= most_) refuse();
        return i;
    }
    TRAMONTANE_RULE void give_back(Index i) { free_[add(&given_, 1) & (most_ - 1)] = i; }

    /// Between two windows.
    TRAMONTANE_RULE void turn() {
        if (static_cast<std::int32_t>(taken_ - known_) > 0) taken_ = known_;  // the others were new
        known_ = given_;
    }
    /// Whether it is time to `grow`: less than half is left.
    [[nodiscard]] TRAMONTANE_RULE bool crowded() const { return next_ >= most_ / 2; }
    /// Makes room, where it is time. While no lane runs.
    void grow() {
        if (!crowded()) return;
        if (most_ > (std::uint32_t{1} << 29)) refuse();
        const std::uint32_t before = most_;
        most_ *= 4;
        Array<T> records(memory_, most_);
        Array<Index> free(memory_, most_);
        memory_.copy(records.get(), records_.get(), before * sizeof(T));
        for (std::uint32_t i = taken_; i != given_; ++i) free[i & (most_ - 1)] = free_[i & (before - 1)];
        records_ = std::move(records);
        free_ = std::move(free);
    }

private:
    [[noreturn]] TRAMONTANE_RULE static void refuse() {
        fail<std::runtime_error>("device: no room for more records within so few windows");
    }

    Memory& memory_;
    std::uint32_t most_;  // a power of two
    Array<T> records_;
    Array<Index> free_;
    // Counts, modulo 2^32: of free records that were taken, and given back; so many of those before this window.
    std::uint32_t taken_ = 0, given_ = 0, known_ = 0;
    Index next_ = none + 1;  // never taken so far
};

/// A lane's view of them: it counts its own.
template <class T>
class Pool {
public:
    explicit Pool(Records<T>& records) : records_(records) {}

    [[nodiscard]] TRAMONTANE_RULE T& operator[](Index i) const { return records_[i]; }
    [[nodiscard]] TRAMONTANE_RULE Index take() {
        ++used_;
        return records_.take();
    }
    TRAMONTANE_RULE void give_back(Index i) {
        --used_;
        records_.give_back(i);
    }
    TRAMONTANE_RULE void prefetch(Index) const {}

    /// Taken less given back; only the sum over all lanes is meant, modulo 2^64.
    [[nodiscard]] std::uint64_t used() const { return used_; }

private:
    Records<T>& records_;
    std::uint64_t used_ = 0;
};

}  // namespace tramontane::device
