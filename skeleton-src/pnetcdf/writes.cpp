#include "writes.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>

namespace tramontane {
namespace {

/// What tells a file from all others.
struct Identity {
    std::uint64_t inode = 0;
    std::uint32_t major = 0, minor = 0;
    bool operator==(const Identity&) const = default;
};

/// The file that is watched; set while nobody writes.
Identity watched;
/// Libraries may write by threads of their own.
std::atomic<bool> watching{false};
std::atomic<int> first_error{0};

/// Asks for no more than this, and without news from a server: NFS would write everything first.
[[nodiscard]] bool identify(int folder, const char* path, int flags, Identity& found) {
    struct statx said{};
    if (statx(folder, path, flags | AT_STATX_DONT_SYNC, STATX_INO, &said) != 0) return false;
    found = {said.stx_ino, said.stx_dev_major, said.stx_dev_minor};
    return true;
}

[[nodiscard]] bool is_watched(int file) {
    Identity found;
    return watching && identify(file, "", AT_EMPTY_PATH, found) && found == watched;
}

void remember(int error) {
    int none = 0;
    first_error.compare_exchange_strong(none, error);
}

using Write = ssize_t(int, const void*, size_t, off_t);
using WritePieces = ssize_t(int, const iovec*, int, off_t);

/// The function that ours stands in front of.
template <class Function>
[[nodiscard]] Function* behind(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Writes all of it, or remembers why not: a disk that fills up takes a part first, and says so only the next time.
void write_whole(Write* by, int file, const char* data, size_t bytes, off_t at) {
    while (bytes > 0 && first_error == 0) {
        const ssize_t done = by(file, data, bytes, at);
        if (done > 0) {
            data += done;
            at += done;
            bytes -= static_cast<size_t>(done);
        } else if (done == 0 || errno != EINTR) {
            remember(done == 0 ? ENOSPC : errno);
        }
    }
}

[[nodiscard]] ssize_t write_or_remember(Write* by, int file, const void* data, size_t bytes, off_t at) {
    if (!is_watched(file)) return by(file, data, bytes, at);
    write_whole(by, file, static_cast<const char*>(data), bytes, at);
    return static_cast<ssize_t>(bytes);
}

[[nodiscard]] ssize_t write_or_remember(WritePieces* by, Write* rest, int file, const iovec* pieces, int number,
                                        off_t at) {
    if (!is_watched(file)) return by(file, pieces, number, at);
    ssize_t done = first_error == 0 ? by(file, pieces, number, at) : 0;
    if (done < 0) {
        if (errno != EINTR) remember(errno);
        done = 0;
    }
    ssize_t before = 0;
    for (int piece = 0; piece < number; ++piece) {
        const auto bytes = static_cast<ssize_t>(pieces[piece].iov_len);
        const ssize_t has = std::min(std::max(done - before, ssize_t{0}), bytes);
        write_whole(rest, file, static_cast<const char*>(pieces[piece].iov_base) + has,
                    static_cast<size_t>(bytes - has), at + before + has);
        before += bytes;
    }
    return before;
}

}  // namespace

void watch_writes(const std::string& path) {
    first_error = 0;
    watching = false;
    watching = identify(AT_FDCWD, path.c_str(), 0, watched);
}

int write_error() { return first_error; }

}  // namespace tramontane

// A program's own functions are found before those of libraries.
extern "C" {

/// What ROMIO writes to NFS with, once it has gone to the place.
ssize_t write(int file, const void* data, size_t bytes) {
    using Function = ssize_t(int, const void*, size_t);
    static Function* const by = tramontane::behind<Function>("write");
    if (!tramontane::is_watched(file)) return by(file, data, bytes);
    const off_t at = lseek(file, 0, SEEK_CUR);
    const ssize_t done = pwrite(file, data, bytes, at);
    lseek(file, at + done, SEEK_SET);
    return done;
}

ssize_t pwrite(int file, const void* data, size_t bytes, off_t at) {
    static tramontane::Write* const by = tramontane::behind<tramontane::Write>("pwrite");
    return tramontane::write_or_remember(by, file, data, bytes, at);
}

ssize_t pwrite64(int file, const void* data, size_t bytes, off64_t at) {
    static tramontane::Write* const by = tramontane::behind<tramontane::Write>("pwrite64");
    return tramontane::write_or_remember(by, file, data, bytes, at);
}

ssize_t pwritev(int file, const iovec* pieces, int number, off_t at) {
    static tramontane::WritePieces* const by = tramontane::behind<tramontane::WritePieces>("pwritev");
    static tramontane::Write* const rest = tramontane::behind<tramontane::Write>("pwrite");
    return tramontane::write_or_remember(by, rest, file, pieces, number, at);
}

ssize_t pwritev64(int file, const iovec* pieces, int number, off64_t at) {
    static tramontane::WritePieces* const by = tramontane::behind<tramontane::WritePieces>("pwritev64");
    static tramontane::Write* const rest = tramontane::behind<tramontane::Write>("pwrite64");
    return tramontane::write_or_remember(by, rest, file, pieces, number, at);
}
}
