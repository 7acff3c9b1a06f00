/// \file
/// Memory that lanes work on: a processor's own, or what an accelerator and its host both see.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rules/rule.hpp"

namespace tramontane::device {

class Memory {
public:
    virtual ~Memory() = default;
    /// So many zeros, that begin at a line of an accelerator's cache (128 B). What nobody touches takes no memory.
    /// \throws std::bad_alloc
    [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
    virtual void release(void* memory) noexcept = 0;
    virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
};

/// Of a processor.
class HostMemory final : public Memory {
public:
    [[nodiscard]] void* allocate(std::size_t bytes) override;
    void release(void* memory) noexcept override;
    void copy(void* to, const void* from, std::size_t bytes) override;
};

/// A part of a memory, which knows how much is held there.
class CountedMemory final : public Memory {
public:
    explicit CountedMemory(Memory& memory) : memory_(memory) {}
    [[nodiscard]] void* allocate(std::size_t bytes) override {
        void* const memory = memory_.allocate(bytes);
        sizes_[memory] = bytes;
        held_ += bytes;
        most_ = std::max(most_, held_);
        return memory;
    }
    void release(void* memory) noexcept override {
        if (const auto found = sizes_.find(memory); found != sizes_.end()) {
            held_ -= found->second;
            sizes_.erase(found);
        }
        memory_.release(memory);
    }
    void copy(void* to, const void* from, std::size_t bytes) override { memory_.copy(to, from, bytes); }
    /// The most that was held at a time [B].
    [[nodiscard]] std::uint64_t most() const { return most_; }

private:
    Memory& memory_;
    std::unordered_map<void*, std::size_t> sizes_;
    std::uint64_t held_ = 0, most_ = 0;
};

/// An array of zeros there.
template <class T>
class Array {
public:
    Array() = default;
    Array(Memory& memory, std::size_t count)
        // Elements may be pointers. NOLINTNEXTLINE(bugprone-sizeof-expression)
        : memory_(&memory), data_(static_cast<T*>(memory.allocate(count * sizeof(T)))), size_(count) {
        static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 128);
    }
    Array(Array&& other) noexcept { swap(other); }
    Array& operator=(Array&& other) noexcept {
        swap(other);
        return *this;
    }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    ~Array() {
        if (memory_ != nullptr) memory_->release(data_);
    }

    [[nodiscard]] TRAMONTANE_RULE T* get() const { return data_; }
    [[nodiscard]] TRAMONTANE_RULE T& operator[](std::size_t i) const { return data_[i]; }
    [[nodiscard]] TRAMONTANE_RULE std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }

private:
    void swap(Array& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    Memory* memory_ = nullptr;
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Gives an object's tables another place, where lanes see them.
class TablesIn {
public:
    explicit TablesIn(Memory& memory) : memory_(memory) {}
    template <class AnyTable>
    void operator()(AnyTable& table) {
        table.move([this](const auto* data, std::size_t count) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(data)>>;
            kept_.emplace_back(memory_, count * sizeof(T));
            memory_.copy(kept_.back().get(), data, count * sizeof(T));
            return reinterpret_cast<const T*>(kept_.back().get());
        });
    }

private:
    Memory& memory_;
    std::vector<Array<std::byte>> kept_;
};

}  // namespace tramontane::device
