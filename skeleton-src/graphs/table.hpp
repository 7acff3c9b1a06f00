/// \file
/// Operations of ranks that depend on one another, as a trace has them: a file that is mapped, not read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../accelerated.hpp"
#include "../patterns/table.hpp"
#include "../refusal.hpp"
#include "../schedule.hpp"

namespace tramontane {

/// The operations of ranks as arrays, wherever these lie. The operations of a rank are numbered: receives, then sends,
/// then work, each in the order in which they were told. A message's ends know each other by these numbers, so that
/// nobody has to match them.
class GraphView {
public:
    /// Who does what for data to get to its target.
    enum class How : std::uint8_t {
        sent,              ///< both ends
        put,               ///< its source alone, which is done when the interface has it, ...
        acknowledged_put,  ///< ... or when the target's interface has answered
        pulled             ///< its target alone, whose request the source's interface answers
    };
    /// In place of the tag of a message that nobody receives by it.
    [[nodiscard]] static constexpr std::int32_t tag_of(How how) { return -static_cast<std::int32_t>(how); }
    /// Work that says which part of its program a rank has come to, and takes no time.
    [[nodiscard]] static constexpr std::int64_t mark_of(std::int64_t level) { return -1 - level; }
    [[nodiscard]] TRAMONTANE_RULE static constexpr std::int64_t level_of(std::int64_t mark) { return -1 - mark; }
    /// Work that stands for a collective call that nobody has made messages of, below all marks: its number among those
    /// that whoever reads the trace knows, and the tag that its messages are to have. Schedules have none.
    [[nodiscard]] static constexpr std::int64_t kept_of(std::int64_t number, std::int64_t tag) {
        return -((number + 1) << 32 | tag);
    }

    struct Header {
        std::array<char, 8> format;
        std::int64_t ranks, sends, receives, works, dependencies;
        std::int64_t longest;  ///< work [ps]
        std::int64_t levels;   ///< parts of the program that are told apart, beside the rest
        std::int64_t special;  ///< see `special_of`
    };
    static constexpr std::int64_t last_cpu = 255;
    /// What few tables have: transfers that one side makes alone, and operations of other processors than 0.
    /// \param highest number of a processor
    [[nodiscard]] static constexpr std::int64_t special_of(bool one_sided, std::int64_t highest) {
        return (one_sided ? 1 : 0) + 2 * highest;
    }
    [[nodiscard]] static constexpr bool one_sided(const Header& h) { return h.special % 2 != 0; }
    [[nodiscard]] static constexpr std::int64_t highest_cpu(const Header& h) { return h.special / 2; }
    /// What an executor asks for; tags stand elsewhere.
    struct Send {
        Rank target;
        std::uint32_t receive;  ///< that it meets: its number among those of the target
        std::uint64_t size : 56;
        std::uint64_t way : 8;

        static Send of(Rank target, std::uint32_t receive, std::int64_t bytes, How how) {
            Send made{target, receive, 0, 0};
            made.size = static_cast<std::uint64_t>(bytes);
            made.way = static_cast<std::uint8_t>(how);
            return made;
        }
        [[nodiscard]] TRAMONTANE_RULE std::int64_t bytes() const { return static_cast<std::int64_t>(size); }
        [[nodiscard]] TRAMONTANE_RULE How how() const { return static_cast<How>(way); }
    };
    static_assert(sizeof(Send) == 16);
    struct Receive {
        Rank source;
        std::uint32_t send;  ///< its number among the sends of the source
    };
    /// An operation of the same rank that waits for this one.
    struct Dependent {
        std::uint32_t operation : 30;
        std::uint32_t last : 1;      ///< of those that wait for this one
        std::uint32_t on_start : 1;  ///< until it has started; else until it has ended
    };
    static_assert(sizeof(Dependent) == sizeof(std::uint32_t));

    /// The operations of a rank.
    struct Operations {
        std::span<const Receive> receives;
        std::span<const Send> sends;
        std::span<const std::int64_t> works;   ///< [ps]
        std::uint64_t first = 0;               ///< their place among the operations of all ranks
        std::uint64_t first_receive = 0;       ///< the same among receives
        const std::int32_t* tags = nullptr;    ///< by send; or `tag_of` a transfer that one side makes alone
        const std::uint32_t* needs = nullptr;  ///< by operation: how many it waits for
        const std::uint32_t* dependents_begin = nullptr;
        const Dependent* all_dependents = nullptr;
        const std::uint8_t* cpus = nullptr;  ///< by operation; null: all are of processor 0

        [[nodiscard]] TRAMONTANE_RULE std::uint32_t cpu_of(std::uint32_t operation) const {
            return cpus == nullptr ? 0 : cpus[operation];
        }
        [[nodiscard]] TRAMONTANE_RULE std::uint32_t count() const {
            return static_cast<std::uint32_t>(receives.size() + sends.size() + works.size());
        }
        [[nodiscard]] TRAMONTANE_RULE bool is_receive(std::uint32_t operation) const {
            return operation < receives.size();
        }
        [[nodiscard]] TRAMONTANE_RULE bool is_send(std::uint32_t operation) const {
            return !is_receive(operation) && operation < receives.size() + sends.size();
        }
        [[nodiscard]] TRAMONTANE_RULE std::uint32_t send_of(std::uint32_t operation) const {
            return operation - static_cast<std::uint32_t>(receives.size());
        }
        [[nodiscard]] TRAMONTANE_RULE std::uint32_t work_of(std::uint32_t operation) const {
            return operation - static_cast<std::uint32_t>(receives.size() + sends.size());
        }
        [[nodiscard]] TRAMONTANE_RULE std::uint32_t operation_of_send(std::uint32_t send) const {
            return send + static_cast<std::uint32_t>(receives.size());
        }
        [[nodiscard]] TRAMONTANE_RULE std::uint32_t operation_of_work(std::uint32_t work) const {
            return work + static_cast<std::uint32_t>(receives.size() + sends.size());
        }
        [[nodiscard]] TRAMONTANE_RULE std::span<const Dependent> dependents(std::uint32_t operation) const {
            return {all_dependents + dependents_begin[operation], all_dependents + dependents_begin[operation + 1]};
        }
    };
    static constexpr std::array<char, 8> format{'T', 'R', 'M', 'G', 'R', 'A', 'F', '3'};
    static constexpr std::int64_t most = std::int64_t{1} << 32;          ///< operations or dependencies of all
    static constexpr std::int64_t most_of_rank = std::int64_t{1} << 28;  ///< operations; see Transaction::index_bits

    [[nodiscard]] const Header& header() const { return header_; }
    [[nodiscard]] Rank ranks() const { return static_cast<Rank>(header_.ranks); }
    [[nodiscard]] std::int64_t operations() const { return header_.sends + header_.receives + header_.works; }

    /// In order.
    [[nodiscard]] TRAMONTANE_RULE std::span<const std::int64_t> levels() const {
        return {levels_, static_cast<std::size_t>(header_.levels)};
    }
    /// Whether there are transfers that one side makes alone.
    [[nodiscard]] bool one_sided() const { return one_sided(header_); }
    /// The highest number of a processor that a rank has.
    [[nodiscard]] std::int64_t highest_cpu() const { return highest_cpu(header_); }

    /// Ranks beyond those of the table have nothing to do.
    [[nodiscard, gnu::always_inline]] TRAMONTANE_RULE Operations of(Rank rank) const {
        if (rank >= header_.ranks) return {};
        const Begins begin = begins_[static_cast<std::size_t>(rank)], end = begins_[static_cast<std::size_t>(rank) + 1];
        const std::uint64_t first = std::uint64_t{begin.receives} + begin.sends + begin.works;
        return {.receives = {receives_ + begin.receives, receives_ + end.receives},
                .sends = {sends_ + begin.sends, sends_ + end.sends},
                .works = {works_ + begin.works, works_ + end.works},
                .first = first,
                .first_receive = begin.receives,
                .tags = tags_ + begin.sends,
                .needs = needs_ + first,
                .dependents_begin = dependents_begin_ + first,
                .all_dependents = dependents_,
                .cpus = cpus_ == nullptr ? nullptr : cpus_ + first};
    }
    /// The phase of a mark: 0, or the place of its level among those above 0, plus 1.
    [[nodiscard]] TRAMONTANE_RULE std::int16_t phase_of(std::int64_t mark) const {
        const std::int64_t level = level_of(mark);
        if (level == 0) return 0;
        std::int16_t phase = 1;
        for (const std::int64_t other : levels()) phase += other > 0 && other < level ? 1 : 0;
        return phase;
    }

    /// Has its arrays lie elsewhere: `copy(data, count)` returns where.
    template <class Copy>
    void move(Copy&& copy) {
        const auto move_array = [&]<class T>(const T*& array, std::int64_t count) {
            if (count > 0) array = copy(array, static_cast<std::size_t>(count));
        };
        each_array(move_array);
        move_array(begins_, header_.ranks + 1);
        if (cpus_ != nullptr) move_array(cpus_, operations());
    }

protected:
    /// Where what a rank does begins. The file has these numbers far from one another; they are asked for with each
    /// message.
    struct Begins {
        std::uint32_t receives, sends, works;
    };

    /// Calls `f(array, count)` for the arrays that lie one after the other in a file.
    template <class F>
    void each_array(F&& f) {
        f(levels_, header_.levels);
        f(sends_, header_.sends);
        f(works_, header_.works);
        f(receives_, header_.receives);
        f(tags_, header_.sends);
        f(needs_, operations());
        f(dependents_begin_, operations() + 1);
        f(dependents_, header_.dependencies);
    }

    Header header_{};
    const std::int64_t* levels_ = nullptr;
    const Send* sends_ = nullptr;
    const std::int64_t* works_ = nullptr;
    const Receive* receives_ = nullptr;
    const std::int32_t* tags_ = nullptr;
    const std::uint32_t* needs_ = nullptr;
    const std::uint32_t* dependents_begin_ = nullptr;
    const Dependent* dependents_ = nullptr;
    const Begins* begins_ = nullptr;      // by rank; one more than there are
    const std::uint8_t* cpus_ = nullptr;  // null: all operations are of processor 0
};

/// What the ranks do, and what of it has to wait for what.
///
/// In the file, in the byte order of memory: header, levels, sends, work, receives; then 32-bit numbers: of each
/// send its tag, of each operation how many others it waits for, then the others that wait for it (where they begin, by
/// operation; and all of them below), and the first send, receive and work of each rank and the number of all; and,
/// where a rank has several processors, which of them does each operation, a byte each. `GraphBuilder` makes it; its
/// digest, which is checked by `tramontane.study.patterns.patterns`, says that it is whole. Here its size is checked.
class GraphTable : public GraphView {
public:
    /// \throws std::invalid_argument if the file is no such table
    explicit GraphTable(const std::string& path) : file_{path} {
        const std::span<const std::byte> bytes = file_.bytes();
        if (bytes.size() >= sizeof header_) std::memcpy(&header_, bytes.data(), sizeof header_);
        if (header_.format != format || !countable(header_) || bytes.size() != size(header_)) {
            refuse("table", "'" + path + "', whose " + std::to_string(bytes.size()) + " bytes are no operations",
                   "operations that are whole");
        }
        const std::byte* at = bytes.data() + sizeof header_;
        const auto take = [&]<class T>(const T*& array, std::int64_t count) {
            array = reinterpret_cast<const T*>(at);
            at += static_cast<std::size_t>(count) * sizeof(T);
        };
        each_array(take);
        const std::uint32_t *sends = nullptr, *receives = nullptr, *works = nullptr;
        take(sends, header_.ranks + 1);
        take(receives, header_.ranks + 1);
        take(works, header_.ranks + 1);
        of_ranks_.reserve(static_cast<std::size_t>(header_.ranks) + 1);
        for (std::int64_t rank = 0; rank <= header_.ranks; ++rank) {
            of_ranks_.push_back({receives[rank], sends[rank], works[rank]});
        }
        begins_ = of_ranks_.data();
        if (GraphView::highest_cpu(header_) > 0) take(cpus_, operations());
    }
    GraphTable(const GraphTable&) = delete;
    GraphTable& operator=(const GraphTable&) = delete;
    ~GraphTable() = default;

    [[nodiscard]] static std::size_t size(const Header& h) {
        const auto count = [](std::int64_t number) { return static_cast<std::size_t>(number); };
        return sizeof h + count(h.levels) * sizeof(std::int64_t) + count(h.sends) * sizeof(Send) +
               count(h.works) * sizeof(std::int64_t) + count(h.receives) * sizeof(Receive) +
               sizeof(std::uint32_t) * (count(h.sends) + 2 * count(h.sends + h.receives + h.works) + 1 +
                                        count(h.dependencies) + 3 * (count(h.ranks) + 1)) +
               (highest_cpu(h) > 0 ? count(h.sends + h.receives + h.works) : 0);
    }

private:
    [[nodiscard]] static bool countable(const Header& h) {
        for (const std::int64_t count : {h.sends, h.receives, h.works, h.dependencies, h.levels}) {
            if (count < 0 || count >= most) return false;
        }
        if (h.special < 0 || highest_cpu(h) > last_cpu) return false;
        return h.ranks > 0 && h.ranks < most / 2 && h.sends == h.receives && h.sends + h.receives + h.works < most;
    }

    MappedFile file_;
    std::vector<Begins> of_ranks_;
};

/// The operations of a table, each as soon as those are done that it waits for.
///
/// Seen as rounds, it is one, with all messages and without their order; who executes it asks for `graph()`.
class GraphSchedule final : public Schedule {
public:
    static constexpr std::int64_t whole = 1'000'000;

    /// \param work_scale factor on all work, in millionths
    GraphSchedule(std::shared_ptr<const GraphTable> table, Rank ranks, std::int64_t work_scale)
        : table_{std::move(table)}, ranks_{ranks}, work_scale_{work_scale} {}

    [[nodiscard]] Rank ranks() const override { return ranks_; }
    [[nodiscard]] std::int64_t rounds() const override { return 1; }
    [[nodiscard]] std::vector<std::string> phases() const override {
        std::vector<std::string> names{"trace"};
        for (const std::int64_t level : table_->levels()) {
            if (level > 0) names.push_back("region-" + std::to_string(level));
        }
        return names;
    }
    [[nodiscard]] bool one_sided() const override { return table_->one_sided(); }
    [[nodiscard]] Round round(Rank rank, std::int64_t /*round*/) const override {
        const auto own = table_->of(rank);
        return {.phase = 0,
                .sends = static_cast<std::int32_t>(own.sends.size()),
                .receives = static_cast<std::int32_t>(own.receives.size())};
    }
    [[nodiscard]] Transfer send(Rank rank, std::int64_t /*round*/, std::int32_t index) const override {
        const auto own = table_->of(rank);
        const auto& send = own.sends[static_cast<std::size_t>(index)];
        return {send.target, own.tags[index], send.bytes()};
    }
    [[nodiscard]] std::int64_t send_bytes(Rank rank, std::int64_t /*round*/, std::int32_t index) const override {
        return table_->of(rank).sends[static_cast<std::size_t>(index)].bytes();
    }
    [[nodiscard]] Transfer receive(Rank rank, std::int64_t /*round*/, std::int32_t index) const override {
        const auto& receive = table_->of(rank).receives[static_cast<std::size_t>(index)];
        const auto source = table_->of(receive.source);
        return {receive.source, source.tags[receive.send], source.sends[receive.send].bytes()};
    }
    [[nodiscard]] const GraphSchedule* graph() const override { return this; }

    [[nodiscard]] const GraphTable& table() const { return *table_; }
    [[nodiscard]] std::int64_t work_scale() const { return work_scale_; }
    /// \param picoseconds of a work of the table
    [[nodiscard]] std::int64_t scaled(std::int64_t picoseconds) const { return scaled_by(work_scale_, picoseconds); }
    [[nodiscard]] TRAMONTANE_RULE static std::int64_t scaled_by(std::int64_t work_scale, std::int64_t picoseconds) {
        // Whole microseconds by themselves: the product may need more than 64 bits, which no accelerator divides.
        return picoseconds / whole * work_scale + (picoseconds % whole * work_scale + whole / 2) / whole;
    }

private:
    std::shared_ptr<const GraphTable> table_;
    Rank ranks_;
    std::int64_t work_scale_;
};

}  // namespace tramontane
