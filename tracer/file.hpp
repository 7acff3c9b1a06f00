/// \file
/// A file that grows as it is written, and is whole up to the last record however the process ends.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

namespace tramontane::tracer {

/// Maps the end of a file, so that the kernel keeps what is written even if the process is killed. Space is reserved
/// before it is written: a full disk ends the trace, not the program. No descriptor stays open: programs close those
/// that they don't know, and the number is then that of another file.
class File {
public:
    /// What is there already may be another process's, so it is left alone.
    bool open(const char* path) {
        const Descriptor file{::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644)};
        struct stat own{};
        if (file.number < 0 || ::fstat(file.number, &own) != 0) return false;
        device_ = own.st_dev;
        inode_ = own.st_ino;
        char* const absolute = ::realpath(path, nullptr);  // the program may go to another folder
        path_ = absolute != nullptr ? absolute : path;
        std::free(absolute);
        const int error = reserve(0);
        if (error == 0) return true;
        remove();
        errno = error;
        return false;
    }
    /// Leaves nothing behind.
    void remove() {
        unmap();
        if (again().number >= 0) ::unlink(path_.c_str());
    }
    [[nodiscard]] bool is_open() const { return at_ != nullptr; }

    /// Appends all of a record. Its first byte, which is never 0, is written last: what follows the last whole record
    /// is 0.
    void append(std::span<const std::uint8_t> record) {
        if (at_ == nullptr) return;
        if (record.size() > static_cast<std::size_t>(end_ - at_)) {
            if (const int error = reserve(record.size()); error != 0) {
                std::fprintf(stderr, "tramontane-trace: %s ends here (%s)\n", path_.c_str(), std::strerror(error));
                return;
            }
        }
        checksum_ = checksum_with(record);
        std::memcpy(at_ + 1, record.data() + 1, record.size() - 1);
        std::atomic_signal_fence(std::memory_order_release);
        *at_ = record[0];
        at_ += record.size();
    }
    /// Of all that was appended, and of this (FNV-1a).
    [[nodiscard]] std::uint64_t checksum_with(std::span<const std::uint8_t> record) const {
        std::uint64_t sum = checksum_;
        for (const std::uint8_t byte : record) sum = (sum ^ byte) * 0x100000001b3ULL;
        return sum;
    }
    /// Cuts what is not used.
    void close() {
        if (at_ == nullptr) return;
        const std::size_t used = offset_ + static_cast<std::size_t>(at_ - begin_);
        unmap();
        const Descriptor file = again();
        if (::ftruncate(file.number, static_cast<off_t>(used)) != 0) std::perror("tramontane-trace");
    }

private:
    struct Descriptor {
        explicit Descriptor(int of) : number{of} {}
        Descriptor(const Descriptor&) = delete;
        Descriptor& operator=(const Descriptor&) = delete;
        ~Descriptor() {
            if (number >= 0) ::close(number);
        }
        int number;
    };
    /// The file, if it is still there.
    [[nodiscard]] Descriptor again() const {
        const int number = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
        struct stat found{};
        if (number < 0 || (::fstat(number, &found) == 0 && found.st_dev == device_ && found.st_ino == inode_)) {
            return Descriptor{number};
        }
        ::close(number);
        return Descriptor{-1};
    }

    static constexpr std::size_t chunk = std::size_t{1} << 20U;

    /// \return 0, or what is wrong, as `errno` has it
    int reserve(std::size_t least) {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const std::size_t used = offset_ + (at_ == nullptr ? 0 : static_cast<std::size_t>(at_ - begin_));
        unmap();
        offset_ = used / page * page;
        const std::size_t length = (used - offset_ + std::max(chunk, least) + page - 1) / page * page;
        const Descriptor file = again();
        if (file.number < 0) return ENOENT;
        const int error = ::posix_fallocate(file.number, static_cast<off_t>(offset_), static_cast<off_t>(length));
        if (error != 0) return error;
        void* const place =
            ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file.number, static_cast<off_t>(offset_));
        if (place == MAP_FAILED) return errno;
        begin_ = static_cast<std::uint8_t*>(place);
        at_ = begin_ + (used - offset_);
        end_ = begin_ + length;
        return 0;
    }
    void unmap() {
        if (begin_ != nullptr) ::munmap(begin_, static_cast<std::size_t>(end_ - begin_));
        begin_ = at_ = end_ = nullptr;
    }

    std::string path_;
    dev_t device_{};
    ino_t inode_{};
    std::uint64_t checksum_ = 0xcbf29ce484222325ULL;
    std::size_t offset_ = 0;  ///< of the mapping, in the file
    std::uint8_t* begin_ = nullptr;
    std::uint8_t* at_ = nullptr;
    std::uint8_t* end_ = nullptr;
};

}  // namespace tramontane::tracer
