/// \file
/// A sparse exchange that somebody else has written down, message by message: a file that is mapped, not read.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../refusal.hpp"
#include "../schedule.hpp"

namespace tramontane {

/// The content of a file, mapped for reading: all processes of a host have it once.
class MappedFile {
public:
    /// \throws std::invalid_argument if there is none
    explicit MappedFile(const std::string& path) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat status{};
        void* memory = MAP_FAILED;
        if (file >= 0 && fstat(file, &status) == 0 && status.st_size > 0) {
            memory = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_SHARED, file, 0);
        }
        if (file >= 0) ::close(file);
        if (memory == MAP_FAILED) refuse("table", "'" + path + "'", "a file that can be read");
        bytes_ = {static_cast<const std::byte*>(memory), static_cast<std::size_t>(status.st_size)};
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile() { munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

private:
    std::span<const std::byte> bytes_;
};

/// Messages by step and source, and by step and target.
///
/// In the file, in the order and byte order of memory: header, the first send of each (step, source) and their number,
/// the first receive of each (step, target) and their number, sends, receives.
/// `tramontane.study.patterns.pattern_tables` writes it; its digest, which is checked there, says that it is whole.
/// Here its size is checked.
class PatternTable {
public:
    struct Header {
        std::array<char, 8> format;
        std::int64_t ranks;     ///< one more than the highest
        std::int64_t steps;     ///< their numbers are 0, 1, ...
        std::int64_t messages;  ///< below 2^32
    };
    struct Send {
        Rank target;
        std::int32_t tag;
        std::int64_t bytes;
    };
    struct Receive {
        Rank source;
        std::uint32_t send;  ///< its place among the sends of all
    };
    static constexpr std::array<char, 8> format{'T', 'R', 'M', 'P', 'A', 'T', 'T', '1'};

    /// \throws std::invalid_argument if the file is no table
    explicit PatternTable(const std::string& path) : file_{path} {
        const std::span<const std::byte> bytes = file_.bytes();
        if (bytes.size() >= sizeof header_) std::memcpy(&header_, bytes.data(), sizeof header_);
        if (header_.format != format || !countable() || bytes.size() != size()) {
            refuse("table", "'" + path + "', whose " + std::to_string(bytes.size()) + " bytes are no table of messages",
                   "a table that is whole");
        }
        const std::size_t begins = places() * sizeof(std::uint32_t);
        const std::byte* at = bytes.data() + sizeof header_;
        sends_begin_ = reinterpret_cast<const std::uint32_t*>(at);
        receives_begin_ = reinterpret_cast<const std::uint32_t*>(at + begins);
        at += 2 * begins;  // a multiple of 8
        sends_ = reinterpret_cast<const Send*>(at);
        receives_ = reinterpret_cast<const Receive*>(at + static_cast<std::size_t>(header_.messages) * sizeof(Send));
    }

    [[nodiscard]] Rank ranks() const { return static_cast<Rank>(header_.ranks); }
    [[nodiscard]] std::int64_t steps() const { return header_.steps; }

    [[nodiscard]] std::span<const Send> sends(Rank rank, std::int64_t step) const {
        return part(sends_, sends_begin_, rank, step);
    }
    [[nodiscard]] std::span<const Receive> receives(Rank rank, std::int64_t step) const {
        return part(receives_, receives_begin_, rank, step);
    }
    /// A message of the largest rank in words, for those who have no such rank.
    [[nodiscard]] std::string message_of_last_rank() const {
        const Rank last = ranks() - 1;
        for (std::int64_t step = 0; step < steps(); ++step) {
            const auto words = [](Rank source, Rank target) {
                return "a message from rank " + std::to_string(source) + " to rank " + std::to_string(target);
            };
            if (const auto sent = sends(last, step); !sent.empty()) return words(last, sent.front().target);
            if (const auto got = receives(last, step); !got.empty()) return words(got.front().source, last);
        }
        return "rank " + std::to_string(last);
    }
    [[nodiscard]] const Send& met(const Receive& receive) const { return sends_[receive.send]; }

private:
    [[nodiscard]] bool countable() const {
        constexpr std::int64_t most = std::int64_t{1} << 32;
        return header_.ranks > 0 && header_.ranks < most / 2 && header_.steps > 0 && header_.steps < most / 2 &&
               header_.messages > 0 && header_.messages < most;
    }
    [[nodiscard]] std::size_t places() const {
        return static_cast<std::size_t>(header_.ranks) * static_cast<std::size_t>(header_.steps) + 1;
    }
    [[nodiscard]] std::size_t size() const {
        return sizeof header_ + 2 * sizeof(std::uint32_t) * places() +
               static_cast<std::size_t>(header_.messages) * (sizeof(Send) + sizeof(Receive));
    }

    /// Ranks beyond those of the table have nothing.
    template <class T>
    [[nodiscard]] std::span<const T> part(const T* all, const std::uint32_t* begins, Rank rank,
                                          std::int64_t step) const {
        if (rank >= header_.ranks) return {};
        const std::uint32_t* const begin = begins + step * header_.ranks + rank;
        return {all + begin[0], all + begin[1]};
    }

    MappedFile file_;
    Header header_{};
    const std::uint32_t* sends_begin_ = nullptr;
    const std::uint32_t* receives_begin_ = nullptr;
    const Send* sends_ = nullptr;
    const Receive* receives_ = nullptr;
};

/// The messages of a table: the steps one after the other, each a round, all of them as often as wanted.
///
/// A rank sends in the order of the table, and posts receives in ascending order of source.
class PatternExchange final : public Schedule {
public:
    PatternExchange(std::shared_ptr<const PatternTable> table, Rank ranks, std::int64_t repeats)
        : table_{std::move(table)}, ranks_{ranks}, repeats_{repeats} {}

    [[nodiscard]] Rank ranks() const override { return ranks_; }
    [[nodiscard]] std::int64_t rounds() const override { return repeats_ * table_->steps(); }
    [[nodiscard]] std::int64_t repeats() const override { return repeats_; }
    [[nodiscard]] std::vector<std::string> phases() const override { return {"exchange"}; }
    [[nodiscard]] Round round(Rank rank, std::int64_t round) const override {
        return {.phase = 0,
                .sends = static_cast<std::int32_t>(table_->sends(rank, step(round)).size()),
                .receives = static_cast<std::int32_t>(table_->receives(rank, step(round)).size())};
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t round, std::int32_t index) const override {
        const auto& send = table_->sends(rank, step(round))[static_cast<std::size_t>(index)];
        return {send.target, send.tag, send.bytes};
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t round, std::int32_t index) const override {
        const auto& receive = table_->receives(rank, step(round))[static_cast<std::size_t>(index)];
        const auto& send = table_->met(receive);
        return {receive.source, send.tag, send.bytes};
    }

private:
    [[nodiscard]] std::int64_t step(std::int64_t round) const { return round % table_->steps(); }

    std::shared_ptr<const PatternTable> table_;
    Rank ranks_;
    std::int64_t repeats_;
};

}  // namespace tramontane
