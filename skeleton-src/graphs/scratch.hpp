/// \file
/// Arrays that may be larger than memory: their content is in a file that has no name.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace tramontane {

/// Values one after the other, in a file below `TMPDIR` that is gone with them. The system writes them out when memory
/// is short, so that they take up none that others need.
template <class T>
class Scratch {
public:
    static_assert(std::is_trivially_copyable_v<T>);

    Scratch() = default;
    /// So many zeros.
    explicit Scratch(std::size_t size) { resize(size); }
    Scratch(Scratch&& other) noexcept { swap(other); }
    Scratch& operator=(Scratch&& other) noexcept {
        swap(other);
        return *this;
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() {
        if (values_ != nullptr) munmap(values_, room_ * sizeof(T));
        if (file_ >= 0) ::close(file_);
    }

    void push_back(const T& value) {
        if (size_ == room_) reserve(2 * room_ + 1);
        values_[size_++] = value;
    }
    /// More values are zero.
    void resize(std::size_t size) {
        reserve(size);
        size_ = size;
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] T* data() { return values_; }
    [[nodiscard]] const T* data() const { return values_; }
    [[nodiscard]] T& operator[](std::size_t place) { return values_[place]; }
    [[nodiscard]] const T& operator[](std::size_t place) const { return values_[place]; }
    [[nodiscard]] T* begin() { return values_; }
    [[nodiscard]] T* end() { return values_ + size_; }
    [[nodiscard]] std::span<const T> view() const { return {values_, size_}; }

private:
    static constexpr std::size_t least_bytes = std::size_t{64} << 10U;

    void swap(Scratch& other) noexcept {
        std::swap(values_, other.values_);
        std::swap(size_, other.size_);
        std::swap(room_, other.room_);
        std::swap(file_, other.file_);
    }

    /// \throws std::runtime_error if the disk has no room
    void reserve(std::size_t size) {
        if (size <= room_) return;
        const std::size_t room = std::max(size, least_bytes / sizeof(T) + 1);
        if (file_ < 0) file_ = opened();
        if (const int error = posix_fallocate(file_, 0, static_cast<off_t>(room * sizeof(T))); error != 0) fail(error);
        void* const memory =
            values_ == nullptr
                ? mmap(nullptr, room * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0)
                : mremap(static_cast<void*>(values_), room_ * sizeof(T), room * sizeof(T), MREMAP_MAYMOVE);
        if (memory == MAP_FAILED) fail(errno);
        values_ = static_cast<T*>(memory);
        room_ = room;
    }
    static std::string folder() {
        std::error_code ignored;
        return std::filesystem::temp_directory_path(ignored).string();
    }
    static int opened() {
        std::string name = folder() + "/tramontane-XXXXXX";
        const int file = ::mkostemp(name.data(), O_CLOEXEC);
        if (file < 0) fail(errno);
        ::unlink(name.c_str());
        return file;
    }
    [[noreturn]] static void fail(int error) {
        throw std::runtime_error("operations of a trace: " + folder() + ": " + std::generic_category().message(error));
    }

    T* values_ = nullptr;
    std::size_t size_ = 0, room_ = 0;
    int file_ = -1;
};

}  // namespace tramontane
