/// \file
/// Records that come and go by the million: addressed by 32-bit index, kept in blocks that never move, reused last in
/// first out so that the youngest (cached) record is taken next. Index 0 means "none".
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
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
    static constexpr std::size_t most_blocks = std::size_t{1} << (32 - block_bits);
    static constexpr std::size_t batch = 4096;  // records that change threads at a time

public:
    Pool() : store_(std::make_shared<Store>()) {}

    /// A pool for another thread: records taken from one may be given back to the other. Traffic that goes one way
    /// only does not make memory grow: what one thread has too many of, others take.
    /// \pre nothing has been taken from `other`
    struct Shared {
        Pool& other;
    };
    explicit Pool(Shared shared) : store_(shared.other.store_) {
        store_->blocks.reserve(most_blocks);  // it must not move under those who read
        blocks_ = shared.other.blocks_ = store_->blocks.data();
        most_free_ = shared.other.most_free_ = 2 * batch;
    }

    [[nodiscard]] T& operator[](Index i) { return blocks_[i >> block_bits][i & (block_size - 1)]; }
    [[nodiscard]] const T& operator[](Index i) const { return blocks_[i >> block_bits][i & (block_size - 1)]; }

    /// A record with unspecified contents.
    [[nodiscard]] Index take() {
        ++used_;
        if (free_.empty()) {
            if (next_ == end_) refill();
            if (free_.empty()) return next_++;
        }
        const Index i = free_.back();
        free_.pop_back();
        return i;
    }

    void give_back(Index i) {
        --used_;
        free_.push_back(i);
        if (free_.size() == most_free_) [[unlikely]] {
            spare();
        }
    }

    /// Taken and not given back; of pools that share records, the sum modulo 2^64 is meant.
    [[nodiscard]] std::uint64_t used() const { return used_; }
    void prefetch(Index i) const {
        if (i != none) prefetch_line(&(*this)[i]);
    }

private:
    /// What pools that share records have in common.
    struct Store {
        std::mutex mutex;
        std::vector<Pages<T>> blocks;
        std::vector<Index> free;
    };

    /// Takes free records of others, or else a new block.
    void refill() {
        const std::lock_guard lock(store_->mutex);
        if (const std::size_t n = std::min(batch, store_->free.size()); n > 0) {
            free_.assign(store_->free.end() - static_cast<std::ptrdiff_t>(n), store_->free.end());
            store_->free.resize(store_->free.size() - n);
            return;
        }
        auto& blocks = store_->blocks;
        if (blocks.size() == most_blocks) throw std::runtime_error("simulator: a pool is full");
        next_ = static_cast<Index>(blocks.size() << block_bits);
        if (next_ == none) ++next_;
        end_ = static_cast<Index>((blocks.size() + 1) << block_bits);
        blocks.push_back(allocate_pages<T>(block_size));
        blocks_ = blocks.data();
    }

    void spare() {
        const std::lock_guard lock(store_->mutex);
        store_->free.insert(store_->free.end(), free_.begin(), free_.begin() + batch);
        free_.erase(free_.begin(), free_.begin() + batch);
    }

    const Pages<T>* blocks_ = nullptr;
    std::vector<Index> free_;
    Index next_ = 0, end_ = 0;  // never taken so far, of one block
    std::uint64_t used_ = 0;
    std::size_t most_free_ = std::numeric_limits<std::size_t>::max();
    std::shared_ptr<Store> store_;
};

}  // namespace tramontane
