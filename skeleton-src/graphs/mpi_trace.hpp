/// \file
/// A rank's file of a trace that `tramontane trace` has written (`tracer/`): calls of MPI, one after the other.
///
/// A file is a header and records. A record is numbers of 7 bits a byte, the lowest first: 1 and what a call did, which
/// is known by its number from then on; 2: forget all of these; 3, the time since the last call, how far the clock is
/// from that of rank 0, and, since version 3, the checksum of all that stands before (the upper 63 bits of FNV-1a): the
/// program has ended its use of MPI; 4 or more: a call that did what has that number, the time before it and the time
/// inside it [ns]. 0 is the end of a program that was killed. What a call did is its name and actions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../patterns/table.hpp"
#include "../refusal.hpp"
#include "../schedule.hpp"

namespace tramontane {

/// What can't be in a trace; who knows where it was makes a refusal of it.
struct Mistake {
    std::string found, allowed;
};

/// Numbers of a file, or of a part of it, one after the other.
class TraceNumbers {
public:
    /// Those of a rank's file.
    /// \param at where the first one is
    TraceNumbers(std::span<const std::byte> file, Rank rank, std::size_t at)
        : data_{file}, at_{std::min(at, file.size())}, rank_{rank} {}
    /// Those of what a call did.
    explicit TraceNumbers(std::span<const std::byte> told) : data_{told} {}

    [[nodiscard]] bool is_at_end() const { return at_ >= data_.size(); }
    [[nodiscard]] std::size_t at() const { return at_; }
    std::int64_t next() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            if (is_at_end()) refuse_end();
            const auto byte = static_cast<std::uint64_t>(data_[at_++]);
            if (shift < 63) value |= (byte & 127U) << shift;
            if (byte < 128) return static_cast<std::int64_t>(value & ~(std::uint64_t{1} << 63U));
        }
    }
    std::span<const std::byte> take(std::int64_t count) {
        if (std::cmp_greater(count, data_.size() - at_)) refuse_end();
        at_ += static_cast<std::size_t>(count);
        return data_.subspan(at_ - static_cast<std::size_t>(count), static_cast<std::size_t>(count));
    }
    std::string word() {
        const std::span<const std::byte> bytes = take(next());
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

private:
    [[noreturn]] void refuse_end() const {
        if (!rank_) throw Mistake{"a part of what the call did", "all that it did"};
        refuse_key("rank " + std::to_string(*rank_) + ", byte " + std::to_string(data_.size()), "the end of the file",
                   "a record that is whole");
    }

    std::span<const std::byte> data_;
    std::size_t at_ = 0;
    std::optional<Rank> rank_;
};

/// What a call did, in the order of `tracer/tracer.hpp`.
struct CallAction {
    enum class Did : std::uint8_t {
        send = 1,       ///< communicator, peer, tag, bytes
        receive,        ///< the same
        begin_send,     ///< request, and the same
        begin_receive,  ///< request, communicator
        end,            ///< request
        end_receive,    ///< request, peer, tag, bytes
        drop,           ///< request
        collective,     ///< request, communicator, root, name, sizes
        neighbours,     ///< request, communicator, targets, sources: each with edge and bytes
        communicator,   ///< number, members, and those of the other group
        phase,          ///< level
        threads,
        one_sided,  ///< what, window, ...
        untold,
        vain,
        joined,
        probed,             ///< request, communicator
        begin_probed,       ///< request
        begin_synchronous,  ///< as begin_send
        failed,
        copied  ///< communicator, and the one that it is like; since version 4
    };
    static constexpr Did last = Did::copied;
    enum class OneSided : std::uint8_t {
        put = 1,   ///< request, target, bytes
        get,       ///< the same
        fence,     ///< nothing more
        post,      ///< origins
        start,     ///< targets
        complete,  ///< nothing more
        wait,      ///< nothing more
        lock,      ///< nothing more
        unlock,    ///< target + 1; 0: all
        flush      ///< the same
    };

    Did did = Did::threads;
    OneSided what{};
    std::array<std::int64_t, 5> numbers{};
    std::string name;
    std::vector<std::int64_t> list, others;
    std::uint32_t known = 0;   ///< whoever reads may keep something here
    bool synchronous = false;  ///< a send that has ended when its receive has
};

/// What a call did.
struct TracedCall {
    bool in_vain = false;  ///< it has asked, and nothing had come
    bool waits = false;    ///< it asks or waits
    bool takes = false;    ///< it waits for whatever ends first
    bool drains = false;   ///< it waits for all that was buffered
    std::vector<CallAction> actions;
};

/// How much there is.
struct TraceExtent {
    std::int64_t calls = 0;
    std::int64_t time = 0;  ///< [ns]
    std::int64_t rest = 0;  ///< of that, since the last call, up to the end
    bool whole = false;     ///< the program has ended its use of MPI
};

class RankTrace {
public:
    RankTrace(const std::string& path, Rank rank) : file_{path}, rank_{rank} {}

    /// Calls `visit(call, before, position)` for each call: the time since the last one [ns], and its number, from 1.
    ///
    /// \throws std::invalid_argument for what can't be, with rank, and byte or call
    template <class Visit>
    TraceExtent walk(Visit&& visit) const {
        enum Record : std::uint8_t { killed, define, forget, end, first_call };
        const std::span<const std::byte> bytes = file_.bytes();
        std::uint32_t words = 0, version = 0;
        std::memcpy(&words, bytes.data() + words_at, sizeof words);
        std::memcpy(&version, bytes.data() + version_at, sizeof version);
        TraceNumbers numbers{bytes, rank_, head + words};
        std::vector<TracedCall> known;
        std::vector<std::span<const std::byte>> told;  // not all are calls of the part that is whole
        TraceExtent extent;
        while (!numbers.is_at_end()) {
            const std::int64_t record = numbers.next();
            if (record == killed) break;
            if (record == define) {
                told.push_back(numbers.take(numbers.next()));
                known.emplace_back();
            } else if (record == forget) {
                told.clear();
                known.clear();
            } else if (record == end) {
                extent.rest = numbers.next();
                pass(extent, extent.rest);
                numbers.next();
                if (version >= with_checksum) {
                    const std::int64_t sum = checksum(bytes.first(numbers.at()));
                    if (numbers.next() != sum) {
                        refuse_key(where(), "content that has changed", "a file as tramontane trace has written it");
                    }
                }
                if (!numbers.is_at_end()) {
                    refuse_key(where() + ", byte " + std::to_string(numbers.at()), "more after its end",
                               "the end of the file");
                }
                extent.whole = true;
            } else {
                const std::int64_t before = numbers.next(), inside = numbers.next();
                ++extent.calls;
                pass(extent, before);
                pass(extent, inside);
                const auto number = static_cast<std::size_t>(record - first_call);
                if (number >= known.size()) {
                    refuse_key(at(extent.calls), "record " + std::to_string(record),
                               std::to_string(define) + " to " + std::to_string(end + known.size()));
                }
                try {
                    if (!told[number].empty()) known[number] = read(std::exchange(told[number], {}));
                    visit(known[number], before, extent.calls);
                } catch (const Mistake& mistake) {
                    refuse_key(at(extent.calls), mistake.found, mistake.allowed);
                }
            }
        }
        // What a killed program leaves is as long as it had reserved.
        if (!extent.whole && bytes.size() % page != 0) {
            refuse_key(
                where() + ", byte " + std::to_string(bytes.size()), "the end of the file",
                "the end of the program, or whole pages of " + std::to_string(page) + " bytes where it was killed");
        }
        return extent;
    }
    [[nodiscard]] std::string at(std::int64_t call) const { return where() + ", call " + std::to_string(call); }
    [[nodiscard]] Rank rank() const { return rank_; }

    /// How much there is, without a look at what calls did.
    [[nodiscard]] TraceExtent extent() const {
        return walk([](const TracedCall&, std::int64_t, std::int64_t) {});
    }

private:
    static constexpr std::size_t version_at = 8, words_at = 20, head = 48, page = 4096;
    static constexpr std::uint32_t with_checksum = 3;                 ///< this version, and later ones
    static constexpr std::int64_t most_time = 1'000'000'000'000'000;  ///< [ns]: 11 days
    using Did = CallAction::Did;

    [[nodiscard]] std::string where() const { return "rank " + std::to_string(rank_); }
    void pass(TraceExtent& extent, std::int64_t time) const {
        if (time > most_time - extent.time) {
            refuse_key(at(extent.calls), std::to_string(time) + " ns more",
                       "up to " + std::to_string(most_time) + " ns in all");
        }
        extent.time += time;
    }
    static std::int64_t checksum(std::span<const std::byte> bytes) {
        std::uint64_t sum = 0xcbf29ce484222325ULL;
        for (const std::byte byte : bytes) sum = (sum ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3ULL;
        return static_cast<std::int64_t>(sum >> 1U);
    }

    [[nodiscard]] TracedCall read(std::span<const std::byte> told) const {
        TraceNumbers numbers{told};
        TracedCall call;
        const std::string name = numbers.word();
        const auto begins = [&](std::string_view word) { return name.starts_with(word); };
        constexpr std::array words{"Test",  "Iprobe", "Improbe", "Request_get_status", "Win_test", "Parrived", "Wait",
                                   "Probe", "Mprobe", "Win_wait"};
        call.waits = std::any_of(words.begin(), words.end(), begins);
        call.takes = name == "Waitany" || name == "Waitsome";
        call.drains = begins("Buffer_detach");
        const bool synchronous = begins("Ssend") || begins("Issend");
        while (!numbers.is_at_end()) {
            call.actions.push_back(action(name, numbers));
            call.actions.back().synchronous = synchronous || call.actions.back().did == Did::begin_synchronous;
            call.in_vain = call.in_vain || call.actions.back().did == Did::vain;
        }
        return call;
    }

    static CallAction action(std::string_view name, TraceNumbers& numbers) {
        CallAction found;
        const std::int64_t number = numbers.next();
        if (number < 1 || number > static_cast<int>(CallAction::last)) {
            throw Mistake{"action " + std::to_string(number) + " of a call",
                          "1 to " + std::to_string(static_cast<int>(CallAction::last))};
        }
        found.did = static_cast<Did>(number);
        const auto take = [&](std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) found.numbers[i] = numbers.next();
        };
        switch (found.did) {
            case Did::send:
            case Did::receive:
            case Did::end_receive:
                take(4);
                break;
            case Did::begin_send:
            case Did::begin_synchronous:
                take(5);
                break;
            case Did::begin_receive:
            case Did::probed:
            case Did::copied:
                take(2);
                break;
            case Did::end:
            case Did::drop:
            case Did::begin_probed:
            case Did::phase:
                take(1);
                break;
            case Did::collective:
                take(3);
                found.name = numbers.word();
                if (found.name.find('\0') != std::string::npos) {
                    throw Mistake{"a collective whose name has a zero byte", "one of MPI-3"};
                }
                found.list = list(numbers, 1);
                break;
            case Did::neighbours:
                take(2);
                found.list = list(numbers, 3);
                found.others = list(numbers, 3);
                break;
            case Did::communicator:
                take(1);
                found.list = ranks(numbers);
                found.others = ranks(numbers);
                break;
            case Did::threads:
                throw Mistake{"calls of several threads with MPI_THREAD_MULTIPLE",
                              "those of one, or MPI_THREAD_SERIALIZED"};
            case Did::untold:
                if (name == "Request_free") {
                    throw Mistake{"a receive whose request is freed before it has ended", "a wait for each receive"};
                }
                if (name.starts_with("Start")) {
                    throw Mistake{"the start of a request that is not known", "messages and collectives of MPI-4"};
                }
                if (name == "Finalize") {
                    throw Mistake{"a call that had not come back, by longjmp",
                                  "handlers of errors that return, or throw"};
                }
                throw Mistake{"MPI_Isendrecv, or MPI_Isendrecv_replace", "MPI_Isend and MPI_Irecv"};
            case Did::failed:
                throw Mistake{"a receive that has failed", "receives that are as large as what is sent"};
            case Did::joined:
                throw Mistake{"ranks that are spawned, or of another program", "ranks that all start together"};
            case Did::vain:
                break;
            case Did::one_sided:
                one_sided(found, numbers);
        }
        return found;
    }
    static void one_sided(CallAction& found, TraceNumbers& numbers) {
        using What = CallAction::OneSided;
        const std::int64_t what = numbers.next();
        if (what < 1 || what > static_cast<int>(What::flush)) {
            throw Mistake{"one-sided call " + std::to_string(what),
                          "1 to " + std::to_string(static_cast<int>(What::flush))};
        }
        found.what = static_cast<What>(what);
        std::size_t count = 1;
        if (found.what == What::put || found.what == What::get) count = 4;
        if (found.what == What::unlock || found.what == What::flush) count = 2;
        for (std::size_t i = 0; i < count; ++i) found.numbers[i] = numbers.next();
        if (found.what == What::post || found.what == What::start) found.list = list(numbers, 1);
    }
    static std::vector<std::int64_t> list(TraceNumbers& numbers, int each) {
        std::vector<std::int64_t> found;
        for (std::int64_t left = numbers.next(); left > 0; --left) {
            for (int i = 0; i < each; ++i) found.push_back(numbers.next());
        }
        return found;
    }
    /// Mostly in order, so as differences; unsigned, because steps of a broken file may be of any size.
    static std::vector<std::int64_t> ranks(TraceNumbers& numbers) {
        std::vector<std::int64_t> found;
        std::uint64_t next = 0;
        for (std::int64_t left = numbers.next(); left > 0; --left) {
            const auto step = static_cast<std::uint64_t>(numbers.next());
            next += step % 2 != 0 ? ~(step / 2) : step / 2;
            found.push_back(static_cast<std::int64_t>(next++));
        }
        return found;
    }

    MappedFile file_;
    Rank rank_;
};

}  // namespace tramontane
