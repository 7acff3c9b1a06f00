/// \file
/// Records that come and go by the million: addressed by 32-bit index, never moved, reused last in first out so that
/// the youngest (cached) record is taken next. Index 0 means "none".
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "pages.hpp"

namespace tramontane {

using Index = std::uint32_t;
inline constexpr Index none = 0;

template <class T>
class Pool {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= large_page && sizeof(T) <= large_page);
    static constexpr std::size_t ahead = 8;  // records that are brought into the cache before they are taken

public:
    [[nodiscard]] T& operator[](Index i) { return records_[i]; }
    [[nodiscard]] const T& operator[](Index i) const { return records_[i]; }

    /// A record with unspecified contents.
    [[nodiscard]] Index take() {
        ++used_;
        if (!free_.empty()) {
            const Index i = free_.back();
            free_.pop_back();
            if (free_.size() >= ahead) prefetch(free_[free_.size() - ahead]);
            return i;
        }
        if (next_ >= room_) grow();
        return next_++;
    }

    void give_back(Index i) {
        --used_;
        free_.push_back(i);
    }

    [[nodiscard]] std::uint64_t used() const { return used_; }
    /// Brings the first line of a record into the cache, or all of its lines.
    void prefetch(Index i) const {
        if (i != none) prefetch_line(&records_[i]);
    }
    void prefetch_whole(Index i) const {
        if (i == none) return;
        const auto* record = reinterpret_cast<const std::byte*>(&(*this)[i]);
        for (std::size_t line = 0; line < sizeof(T); line += 64) prefetch_line(record + line);
    }

private:
    static constexpr std::size_t most = std::size_t{1} << 32;
    static constexpr std::size_t records_a_page = large_page / sizeof(T);

    void grow() {
        if (room_ + records_a_page > most || !memory_.grow())
            throw std::runtime_error("simulator: a pool is full; is there a limit on addresses (ulimit -v)?");
        std::uninitialized_default_construct_n(records_ + room_, records_a_page);
        room_ += records_a_page;
    }

    Reservation memory_{most * sizeof(T)};
    T* const records_ = reinterpret_cast<T*>(memory_.first());
    std::vector<Index> free_;
    std::uint64_t room_ = 0;
    Index next_ = 1;
    std::uint64_t used_ = 0;
};

}  // namespace tramontane
