/// \file
/// The state of a run on disk, from which it goes on with the same bits.
///
/// Each class with state of its own has a function `keep(file)` that names its members; the same function writes them
/// and reads them back. Records name each other by index, never by address, so they are written as they lie in memory.
/// Such a file is for the build that wrote it: whoever reads it checks that first, and its checksum
/// (tramontane.substrates.checkpoints).
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

namespace tramontane {

/// How a long run is kept.
struct Keeping {
    std::string from;                     ///< file of a state that the run goes on from; empty: it begins
    std::function<std::string()> wanted;  ///< asked every now and then: file to write the state to; empty: none
    /// Called after that file has been written, or with the reason why it could not be.
    std::function<void(const std::string& error)> written;
};

/// A file that a state is written to, or read from.
class StateFile {
public:
    enum class Mode : std::uint8_t { write, read };

    /// \throws std::runtime_error here and below, where the system refuses or the file is too short
    StateFile(const std::string& path, Mode mode)
        : reading_(mode == Mode::read), file_(std::fopen(path.c_str(), reading_ ? "rb" : "wb")) {
        if (!file_) fail();
        (void)std::setvbuf(file_.get(), nullptr, _IOFBF, std::size_t{1} << 20);
    }

    [[nodiscard]] bool reading() const { return reading_; }

    template <class T>
    void operator()(T& value) {
        array(&value, 1);
    }

    template <class T>
    void operator()(std::vector<T>& values) {
        std::uint64_t size = values.size();
        (*this)(size);
        if (reading_) values.resize(size);
        array(values.data(), size);
    }

    template <class T>
    void array(T* values, std::size_t count) {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
        if (count == 0) return;
        const std::size_t done = reading_ ? std::fread(values, sizeof(T), count, file_.get())
                                          : std::fwrite(values, sizeof(T), count, file_.get());
        if (done != count) fail();
    }

    /// An array of a size that does not change, as a vector is kept.
    template <class T>
    void list(T* values, std::size_t count) {
        std::uint64_t size = count;
        (*this)(size);
        if (size != count) throw std::runtime_error("checkpoint: of another point");
        array(values, count);
    }

    /// Sees to it that what was written has reached the system.
    void flush() {
        if (std::fflush(file_.get()) != 0) fail();
    }

private:
    struct Close {
        void operator()(std::FILE* file) const { (void)std::fclose(file); }
    };

    [[noreturn]] void fail() const {
        if (file_ && std::feof(file_.get()) != 0) throw std::runtime_error("checkpoint: too short");
        throw std::runtime_error("checkpoint: " + std::generic_category().message(errno));
    }

    bool reading_;
    std::unique_ptr<std::FILE, Close> file_;
};

/// Writes a state by `write(file)`; a run is worth more than its checkpoint, and goes on without.
template <class Write>
void write_state(const std::string& path, const Keeping& keeping, Write&& write) {
    std::string error;
    try {
        StateFile file(path, StateFile::Mode::write);
        write(file);
        file.flush();
    } catch (const std::exception& found) {
        error = found.what();
    }
    keeping.written(error);
}

}  // namespace tramontane
