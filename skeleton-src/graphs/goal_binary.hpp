/// \file
/// GOAL in binary, as LogGOPSim's txt2bin writes it, least significant byte first:
///
///     u64 magic number, u32 ranks, u8 processors, u8 network interfaces of a rank
///     of each rank: u64 begin and u64 end of its part, counted from behind the magic number
///     part of a rank: u32 operations, u32 number of those that wait for nothing, these as u32;
///         operations of 39 bytes: u32 others that it waits for, u8 kind, u32 peer, u64 bytes or nanoseconds, u32 tag,
///         u8 processor, u8 network interface, and of those that wait for its end, then of those that wait for its
///         start: u32 number, u32 first place in a list; that list of u32
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../refusal.hpp"
#include "builder.hpp"
#include "goal.hpp"

namespace tramontane {

class BinaryGoalReader {
public:
    static constexpr std::uint64_t magic = 4223;

    [[nodiscard]] static bool is_binary(std::span<const std::byte> file) { return number_of(file) == magic; }

    /// The magic number of a file in binary; 0 of a text, which has no byte 0.
    [[nodiscard]] static std::uint64_t number_of(std::span<const std::byte> file) {
        std::uint64_t number = 0;
        if (file.size() < sizeof number) return 0;
        const auto begin = file.first(sizeof number);
        if (std::find(begin.begin(), begin.end(), std::byte{0}) == begin.end()) return 0;
        std::memcpy(&number, file.data(), sizeof number);
        return number;
    }

    explicit BinaryGoalReader(std::span<const std::byte> file) : bytes_{file.subspan(sizeof magic)} {}

    /// \throws std::invalid_argument with rank, operation, what was found and what is allowed
    [[nodiscard]] Scratch<std::byte> packed() {
        const auto ranks = read<std::uint32_t>(0, "header");
        told_ = head + ranks * std::uint64_t{16};
        require(told_, "header");
        builder_.set_ranks(ranks, bytes_.size(), 0);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            builder_.begin_rank(rank, 0);
            read_rank("rank " + std::to_string(rank), head + rank * std::uint64_t{16});
        }
        return builder_.pack();
    }

private:
    static constexpr std::uint64_t head = 6, operation_bytes = 39;
    static constexpr std::uint64_t any = 0xffffffff;

    void read_rank(const std::string& where, std::uint64_t entry) {
        const auto begin = read<std::uint64_t>(entry, where), end = read<std::uint64_t>(entry + 8, where);
        if (begin > end || end > bytes_.size()) {
            refuse_key(where, "a part up to byte " + std::to_string(end), "a file that is whole");
        }
        if (begin < told_) {
            refuse_key(where, "a part from byte " + std::to_string(begin),
                       std::to_string(told_) + " or more, where what is before it ends");
        }
        told_ = end;
        const auto count = read<std::uint32_t>(begin, where), roots = read<std::uint32_t>(begin + 4, where);
        const std::uint64_t first = begin + 8 + std::uint64_t{4} * roots;
        const std::uint64_t list = first + operation_bytes * count;
        if (list > end || roots > count) {
            refuse_key(where, std::to_string(count) + " operations in " + std::to_string(end - begin) + " bytes",
                       "a part that is whole, of txt2bin's first format");
        }
        for (std::uint32_t i = 0; i < count; ++i) add(where, i, first + operation_bytes * i);
        std::vector<std::uint32_t> waits(count, 0);  // for so many others
        std::uint64_t left = (end - list) / 4;       // in the list, which tells of each once
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint64_t at = first + operation_bytes * i;
            for (const bool on_start : {false, true}) {
                const std::uint64_t pair = at + (on_start ? 31 : 23);
                const auto number = read<std::uint32_t>(pair, where);
                const auto from = read<std::uint32_t>(pair + 4, where);
                if (number > left || (number > 0 && list + std::uint64_t{4} * (std::uint64_t{from} + number) > end)) {
                    refuse_key(builder_.where(i), std::to_string(number) + " operations that wait for it",
                               "a list that is whole");
                }
                left -= number;
                for (std::uint32_t k = 0; k < number; ++k) {
                    const auto later = read<std::uint32_t>(list + std::uint64_t{4} * (std::uint64_t{from} + k), where);
                    if (later >= count) {
                        refuse_key(builder_.where(i), "operation " + std::to_string(later) + " waits for it",
                                   "operations below " + std::to_string(count));
                    }
                    builder_.depend(later, i, on_start);
                    ++waits[later];
                }
            }
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            if (const auto said = read<std::uint32_t>(first + operation_bytes * i, where); said != waits[i]) {
                refuse_key(builder_.where(i), std::to_string(said) + " operations that it waits for",
                           std::to_string(waits[i]) + ", as these tell");
            }
        }
    }

    void add(const std::string& where, std::uint32_t number, std::uint64_t at) {
        const auto kind = read<std::uint8_t>(at + 4, where), cpu = read<std::uint8_t>(at + 21, where);
        const std::int64_t peer = signed_of(read<std::uint32_t>(at + 5, where));
        const auto size = read<std::uint64_t>(at + 9, where);
        const std::int64_t tag = signed_of(read<std::uint32_t>(at + 17, where));
        if (kind < 1 || kind > 3) {
            refuse_key(builder_.where(number), "kind " + std::to_string(kind), "1 (send), 2 (recv), 3 (calc)");
        }
        constexpr std::int64_t picoseconds = 1000, most_work = GraphBuilder::most_work / picoseconds;
        const std::int64_t most = kind == 3 ? most_work : GraphBuilder::most_bytes;
        if (std::cmp_greater(size, most)) {
            const std::string unit = kind == 3 ? " ns" : " B";
            refuse_key(builder_.where(number), std::to_string(size) + unit, "0 to " + std::to_string(most) + unit);
        }
        const auto amount = static_cast<std::int64_t>(size);
        if (kind == 1) {
            builder_.send(peer, tag, amount, number);
        } else if (kind == 2) {
            builder_.receive(peer, tag, amount, number);
        } else {
            builder_.work(amount * picoseconds, number);
        }
        builder_.on_cpu(cpu, number);
    }

    [[nodiscard]] static std::int64_t signed_of(std::uint64_t number) {
        return number == any ? -1 : static_cast<std::int64_t>(number);
    }
    void require(std::uint64_t size, const std::string& where) const {
        if (size > bytes_.size()) {
            refuse_key(where, std::to_string(bytes_.size() + sizeof magic) + " bytes", "a file that is whole");
        }
    }
    template <class T>
    [[nodiscard]] T read(std::uint64_t at, const std::string& where) const {
        T value{};
        if (at > bytes_.size()) require(at, where);
        require(at + sizeof value, where);
        std::memcpy(&value, bytes_.data() + at, sizeof value);
        return value;
    }

    std::span<const std::byte> bytes_;
    std::uint64_t told_ = 0;  ///< so far, in bytes; parts don't overlap
    GraphBuilder builder_{"operation"};
};

/// The table of operations of a GOAL file, text or binary.
///
/// \throws std::invalid_argument with rank, place in the file, what was found and what is allowed
[[nodiscard]] inline Scratch<std::byte> packed_goal(const std::string& path) {
    const MappedFile file{path};
    if (BinaryGoalReader::is_binary(file.bytes())) return BinaryGoalReader{file.bytes()}.packed();
    if (const std::uint64_t number = BinaryGoalReader::number_of(file.bytes()); number != 0) {
        refuse_key("header", "magic number " + std::to_string(number),
                   std::to_string(BinaryGoalReader::magic) + ", or GOAL in text");
    }
    return GoalReader{{reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}}.packed();
}

}  // namespace tramontane
