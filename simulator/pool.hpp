/// \file
/// Records that come and go by the million: addressed by 32-bit index, kept in blocks that never move, reused last in
/// first out so that the youngest (cached) record is taken next. Index 0 means "none".
#pragma once

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "pages.hpp"

namespace tramontane {

using Index = std::uint32_t;
inline constexpr Index none = 0;

template <class T>
class Pool {
    // A block is one large page.
    static constexpr std::uint32_t block_bits = std::bit_width(large_page / sizeof(T)) - 1;
    static constexpr std::uint32_t block_size = 1U << block_bits;

public:
    [[nodiscard]] T& operator[](Index i) { return blocks_[i >> block_bits][i & (block_size - 1)]; }
    [[nodiscard]] const T& operator[](Index i) const { return blocks_[i >> block_bits][i & (block_size - 1)]; }

    /// A record with unspecified contents.
    [[nodiscard]] Index take() {
        ++used_;
        if (!free_.empty()) {
            const Index i = free_.back();
            free_.pop_back();
            return i;
        }
        if ((next_ >> block_bits) == blocks_.size()) {
            if (blocks_.size() == (1U << (32 - block_bits))) throw std::runtime_error("simulator: a pool is full");
            blocks_.push_back(allocate_pages<T>(block_size));
        }
        return next_++;
    }

    void give_back(Index i) {
        --used_;
        free_.push_back(i);
    }

    [[nodiscard]] std::uint64_t used() const { return used_; }
    void prefetch(Index i) const {
        if (i != none) prefetch_line(&(*this)[i]);
    }

private:
    std::vector<Pages<T>> blocks_;
    std::vector<Index> free_;
    Index next_ = 1;
    std::uint64_t used_ = 0;
};

}  // namespace tramontane
