/// \file
/// Records of a trace (docs/your-application.md has the format): each distinct call is written once, and then its
/// number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "file.hpp"

namespace tramontane::tracer {

/// Bytes of a record; numbers take as many as they need, seven bits in each.
class Bytes {
public:
    void clear() { used_ = 0; }
    void put(std::uint64_t number) {
        if (used_ + 10 > bytes_.size()) bytes_.resize(2 * bytes_.size());
        std::uint8_t* const at = bytes_.data();
        while (number >= 128) {
            at[used_++] = static_cast<std::uint8_t>(number | 128U);
            number >>= 7U;
        }
        at[used_++] = static_cast<std::uint8_t>(number);
    }
    template <class... Numbers>
    void all(Numbers... numbers) {
        (put(static_cast<std::uint64_t>(numbers)), ...);
    }
    void text(std::string_view word) {
        put(word.size());
        raw({reinterpret_cast<const std::uint8_t*>(word.data()), word.size()});
    }
    void raw(std::span<const std::uint8_t> more) {
        while (used_ + more.size() > bytes_.size()) bytes_.resize(2 * bytes_.size());
        if (!more.empty()) std::memcpy(bytes_.data() + used_, more.data(), more.size());
        used_ += more.size();
    }
    [[nodiscard]] std::span<const std::uint8_t> view() const { return {bytes_.data(), used_}; }
    [[nodiscard]] std::size_t size() const { return used_; }
    void cut(std::size_t size) { used_ = size; }

private:
    std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(1024);
    std::size_t used_ = 0;
};

/// Writes calls: what they did, and how long the rank was outside MPI before, and inside.
///
/// Time steps do the same again, so that what a call did is kept under a number. Where there are too many of them all
/// are forgotten, by whoever reads, too: memory is bounded.
class Calls {
public:
    enum Kind : std::uint8_t { define = 1, forget = 2, end = 3, first_call = 4 };

    explicit Calls(File& file) : file_{file}, slots_(slots), kept_() {}

    void call(std::span<const std::uint8_t> did, std::int64_t before, std::int64_t inside) {
        const std::uint64_t hash = hashed(did);
        std::size_t at = hash % slots;
        while (slots_[at].number != 0 && !is(slots_[at], hash, did)) at = (at + 1) % slots;
        if (slots_[at].number == 0) at = learn(at, hash, did);
        record_.clear();
        record_.all(first_call + slots_[at].number - 1, before, inside);
        file_.append(record_.view());
    }
    /// Says that the program has ended its use of MPI, and what the file has to be.
    void finish(std::int64_t before, std::int64_t offset) {
        record_.clear();
        record_.all(end, before, offset < 0 ? -2 * offset - 1 : 2 * offset);
        record_.put(file_.checksum_with(record_.view()) >> 1U);  // numbers have 63 bits
        file_.append(record_.view());
    }

private:
    static constexpr std::size_t slots = std::size_t{1} << 15U;
    static constexpr std::size_t most_bytes = std::size_t{4} << 20U;

    struct Slot {
        std::uint64_t hash = 0;
        std::uint32_t number = 0;  ///< from 1; 0: free
        std::uint32_t begin = 0, size = 0;
    };

    static std::uint64_t hashed(std::span<const std::uint8_t> bytes) {
        std::uint64_t hash = bytes.size() * 0x9e3779b97f4a7c15ULL;
        std::size_t i = 0;
        for (; i + 8 <= bytes.size(); i += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes.data() + i, 8);
            hash = mixed(hash ^ word);
        }
        std::uint64_t word = 0;
        if (i < bytes.size()) std::memcpy(&word, bytes.data() + i, bytes.size() - i);
        return mixed(hash ^ word);
    }
    static std::uint64_t mixed(std::uint64_t h) {
        h *= 0xff51afd7ed558ccdULL;
        return h ^ (h >> 32U);
    }
    [[nodiscard]] bool is(const Slot& slot, std::uint64_t hash, std::span<const std::uint8_t> did) const {
        return slot.hash == hash && slot.size == did.size() &&
               std::memcmp(kept_.data() + slot.begin, did.data(), did.size()) == 0;
    }
    std::size_t learn(std::size_t at, std::uint64_t hash, std::span<const std::uint8_t> did) {
        record_.clear();
        if (known_ > 0 && (2 * known_ > slots || kept_.size() + did.size() > most_bytes)) {
            record_.put(forget);
            file_.append(record_.view());
            record_.clear();
            slots_.assign(slots, {});
            kept_.clear();
            known_ = 0;
            at = hash % slots;
        }
        record_.all(define, did.size());
        record_.raw(did);
        file_.append(record_.view());
        slots_[at] = {hash, ++known_, static_cast<std::uint32_t>(kept_.size()), static_cast<std::uint32_t>(did.size())};
        kept_.insert(kept_.end(), did.begin(), did.end());
        return at;
    }

    File& file_;
    std::vector<Slot> slots_;
    std::vector<std::uint8_t> kept_;
    std::uint32_t known_ = 0;
    Bytes record_;
};

}  // namespace tramontane::tracer
