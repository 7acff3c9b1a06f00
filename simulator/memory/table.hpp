/// \file
/// Tables that do not change once they are made, and that lanes of an accelerator read where it sees them.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "accelerated.hpp"

namespace tramontane {

template <class T>
class Table {
public:
    Table() = default;
    Table(std::vector<T> made)  // NOLINT(google-explicit-constructor): a table is a vector that stays as it is
        : made_(std::make_shared<const std::vector<T>>(std::move(made))), data_(made_->data()), size_(made_->size()) {}

    [[nodiscard]] TRAMONTANE_RULE const T& operator[](std::size_t i) const { return data_[i]; }
    [[nodiscard]] TRAMONTANE_RULE std::size_t size() const { return size_; }
    [[nodiscard]] TRAMONTANE_RULE bool empty() const { return size_ == 0; }
    [[nodiscard]] TRAMONTANE_RULE const T* data() const { return data_; }
    [[nodiscard]] const T* begin() const { return data_; }
    [[nodiscard]] const T* end() const { return data_ + size_; }
    [[nodiscard]] const T& front() const { return data_[0]; }

    /// Has it read elsewhere: `copy(data, size)` returns where.
    template <class Copy>
    void move(Copy&& copy) {
        if (size_ > 0) data_ = copy(data_, size_);
    }

private:
    std::shared_ptr<const std::vector<T>> made_;
    const T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace tramontane
