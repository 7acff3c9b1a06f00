/// \file
/// Records that come and go by the million: addressed by 32-bit index, never moved, reused last in first out so that
/// the youngest (cached) record is taken next. Index 0 means "none".
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "memory/checkpoint.hpp"
#include "memory/lines.hpp"
#include "memory/pages.hpp"
#include "rules/rule.hpp"

namespace tramontane {

[[noreturn]] inline void throw_full() {
    throw std::runtime_error("simulator: a pool is full; is there a limit on addresses (ulimit -v)?");
}

template <class T>
class Pool {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= large_page && sizeof(T) <= large_page);
    static constexpr std::size_t ahead = 8;  // records that are brought into the cache before they are taken

public:
    Pool() : store_(std::make_shared<Store>()) {}

    /// How another thread gets a pool of the same records: what is taken from one may be given back to the other. What
    /// one has too many of, others take, so that traffic that goes one way only does not make memory grow.
    struct SameAs {
        Pool& other;
    };
    explicit Pool(SameAs same) : store_(same.other.store_) { most_free_ = same.other.most_free_ = 2 * batch; }

    [[nodiscard]] T& operator[](Index i) {
        touch(records_[i]);
        return records_[i];
    }
    [[nodiscard]] const T& operator[](Index i) const {
        touch(records_[i]);
        return records_[i];
    }

    /// A record with unspecified contents.
    [[nodiscard]] Index take() {
        ++used_;
        if (free_.empty()) {
            if (next_ == end_) grow();
            if (free_.empty()) return next_++;
        }
        const Index i = free_.back();
        free_.pop_back();
        prefetch(coming());
        return i;
    }
    /// What is taken after some others, if nothing is given back until then; none if that is a new record.
    [[nodiscard]] Index coming() const { return free_.size() >= ahead ? free_[free_.size() - ahead] : none; }

    [[gnu::always_inline]] void give_back(Index i) {
        --used_;
        free_.push_back(i);
        if (free_.size() == most_free_) [[unlikely]] {
            leave_to_others();
        }
    }

    /// Taken less given back; only the sum over all pools of the same records is meant, modulo 2^64.
    [[nodiscard]] std::uint64_t used() const { return used_; }
    /// Writes or reads what pools of the same records have in common: once for all of them.
    void keep_records(StateFile& file) {
        std::uint64_t room = store_->room;
        file(room);
        while (store_->room < room) add_page();
        file.array(records_, room);
        file(store_->free);
        store_->kept = room;
    }
    /// Writes or reads what is this pool's own.
    void keep(StateFile& file) {
        file(free_);
        file(next_);
        file(end_);
        file(used_);
        if (file.reading() && end_ == store_->kept) end_ = store_->room;  // a page has more than a device engine wrote
    }

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
    static constexpr std::size_t batch = 4096;  // records that change pools at a time

    /// What pools of the same records have in common.
    struct Store {
        std::mutex mutex;
        Reservation memory{most * sizeof(T)};
        std::uint64_t room = 0;
        std::uint64_t kept = 0;  // of the state that was read or written last
        std::vector<Index> free;
    };

    /// Takes free records of others, or else those of a new page.
    [[gnu::noinline]] void grow() {
        const std::lock_guard lock(store_->mutex);
        auto& free = store_->free;
        if (const std::size_t n = std::min(batch, free.size()); n > 0) {
            free_.assign(free.end() - static_cast<std::ptrdiff_t>(n), free.end());
            free.resize(free.size() - n);
            return;
        }
        next_ = static_cast<Index>(std::max<std::uint64_t>(store_->room, none + 1));
        add_page();
        end_ = store_->room;
    }

    void add_page() {
        auto& [mutex, memory, room, kept, free] = *store_;
        if (room + records_a_page > most || !memory.grow()) throw_full();
        std::uninitialized_default_construct_n(records_ + room, records_a_page);
        room += records_a_page;
    }

    [[gnu::noinline]] void leave_to_others() {
        const std::lock_guard lock(store_->mutex);
        store_->free.insert(store_->free.end(), free_.begin(), free_.begin() + batch);
        free_.erase(free_.begin(), free_.begin() + batch);
    }

    std::shared_ptr<Store> store_;
    T* const records_ = reinterpret_cast<T*>(store_->memory.first());
    std::vector<Index> free_;
    Index next_ = 0;
    std::uint64_t end_ = 0;  // of the page whose records have not been taken yet from `next_` on
    std::uint64_t used_ = 0;
    std::size_t most_free_ = std::numeric_limits<std::size_t>::max();
};

/// What only some simulations know of each of a pool's records: at its index, for all pools of the same records.
template <class T>
class RecordsBeside {
    static_assert(std::is_trivial_v<T> && large_page % sizeof(T) == 0);

public:
    /// \param large as for allocate_pages
    explicit RecordsBeside(bool large) : memory_((std::size_t{1} << 32) * sizeof(T), large) {}

    /// To be called before the record is used; others may use theirs meanwhile.
    void make_room(Index i) {
        if (i >= room_.load(std::memory_order_acquire)) [[unlikely]]
            grow(i);
    }
    [[nodiscard]] T& operator[](Index i) { return records_[i]; }
    [[nodiscard]] const T& operator[](Index i) const { return records_[i]; }
    void prefetch(Index i) const { prefetch_line(&records_[i]); }

private:
    [[gnu::noinline]] void grow(Index i) {
        const std::lock_guard lock(mutex_);
        std::uint64_t room = room_.load(std::memory_order_relaxed);
        for (; i >= room; room += large_page / sizeof(T)) {
            if (!memory_.grow()) throw_full();
        }
        room_.store(room, std::memory_order_release);
    }

    Reservation memory_;
    T* const records_ = reinterpret_cast<T*>(memory_.first());
    std::mutex mutex_;
    std::atomic<std::uint64_t> room_ = 0;
};

}  // namespace tramontane
