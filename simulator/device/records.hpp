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
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>

#include "device/atomic.hpp"
#include "pages.hpp"
#include "rules/rule.hpp"

namespace tramontane::device {

template <class T>
class Records {
public:
    /// \param most records that there is room for, until `grow`
    explicit Records(std::uint32_t most) : most_(std::bit_ceil(most)) { make(records_, free_); }

    [[nodiscard]] TRAMONTANE_RULE T& operator[](Index i) const { return records_.get()[i]; }

    /// A record with unspecified contents.
    [[nodiscard]] TRAMONTANE_RULE Index take() {
        const std::uint32_t turn = add(&taken_, 1);
        if (static_cast<std::int32_t>(turn - known_) < 0) return free_.get()[turn & (most_ - 1)];
        const Index i = add(&next_, 1);
        if (i >= most_) refuse();
        return i;
    }
    TRAMONTANE_RULE void give_back(Index i) { free_.get()[add(&given_, 1) & (most_ - 1)] = i; }

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
        Pages<T> records;
        Pages<Index> free;
        const std::uint32_t before = most_;
        most_ *= 4;
        make(records, free);
        std::copy_n(records_.get(), before, records.get());
        for (std::uint32_t i = taken_; i != given_; ++i) free[i & (most_ - 1)] = free_[i & (before - 1)];
        records_ = std::move(records);
        free_ = std::move(free);
    }

private:
    [[noreturn]] TRAMONTANE_RULE static void refuse() {
        fail<std::runtime_error>("device: no room for more records within so few windows");
    }
    /// Memory that nobody has touched yet.
    void make(Pages<T>& records, Pages<Index>& free) const {
        records =
            Pages<T>(static_cast<T*>(std::aligned_alloc(std::max<std::size_t>(alignof(T), 64), most_ * sizeof(T))));
        if (!records) throw std::bad_alloc();
        free = allocate_zeros<Index>(most_);
    }

    std::uint32_t most_;  // a power of two
    Pages<T> records_;
    Pages<Index> free_;
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
