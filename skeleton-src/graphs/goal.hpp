/// \file
/// GOAL, the text in which LogGOPSim and ATLAHS read what ranks do: Hoefler, Siebert & Lumsdaine, "Group Operation
/// Assembly Language - A Flexible Way to Express Collective Communication", ICPP 2009.
///
///     num_ranks 2
///     rank 0 {
///       l1: calc 100            // [ns]
///       l2: send 10b to 1 tag 5
///       l2 requires l1          // starts when l1 has ended; irequires: when it has started
///     }
///
/// Receives from any rank and of any tag are refused: what they do depends on time. `nic` is left to the machine. A
/// message without a tag has tag 0, an operation without a `cpu` is of processor 0.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "../refusal.hpp"
#include "../schedule.hpp"
#include "builder.hpp"

namespace tramontane {

/// Reads a text.
class GoalReader {
public:
    explicit GoalReader(std::string_view text) : text_{text} {}

    /// \throws std::invalid_argument with rank, line, what was found and what is allowed
    [[nodiscard]] Scratch<std::byte> packed() {
        expect("num_ranks");
        const std::int64_t ranks = number("the number of ranks");
        builder_.set_ranks(ranks, text_.size(), line_);
        for (std::string_view word = next(); !word.empty(); word = next()) {
            if (word != "rank") refuse_here(word, "rank, or the end");
            builder_.begin_rank(number("a rank"), line_);
            within_ = true;
            expect("{");
            labels_.clear();
            for (word = next(); word != "}"; word = next()) {
                if (word.empty()) refuse_here(word, "}");
                statement(word);
            }
            within_ = false;
        }
        return builder_.pack();
    }

private:
    static constexpr std::int64_t picoseconds = 1000;  ///< of GOAL's unit, a nanosecond

    struct Attributes {
        std::int64_t tag = 0, cpu = 0;
    };

    void statement(std::string_view word) {
        if (is_operation(word)) {
            operation(word);
            return;
        }
        const std::string_view label = word;
        if (!is_label(label)) refuse_here(label, "send, recv, calc, a label, or }");
        word = next();
        if (word == ":") {
            word = next();
            if (!is_operation(word)) refuse_here(word, "send, recv, calc");
            const std::int64_t line = line_;
            const std::uint32_t told = operation(word);
            if (!labels_.emplace(label, told).second) {
                refuse_key(builder_.where(line), "label '" + readable(label) + "' again", "each label once");
            }
        } else if (word == "requires" || word == "irequires") {
            const std::uint32_t later = labelled(label);
            builder_.depend(later, labelled(next()), word == "irequires");
        } else {
            refuse_here(word, "':', requires, irequires");
        }
    }

    std::uint32_t operation(std::string_view word) {
        const std::int64_t line = line_;
        if (word == "calc") {
            const std::int64_t time = number("a time [ns]");
            if (time > GraphBuilder::most_work / picoseconds || time < 0) {
                refuse_key(builder_.where(line), "work of " + std::to_string(time) + " ns", "0 to 1000 s");
            }
            const Attributes more = attributes();
            return on_cpu(builder_.work(time * picoseconds, line), more, line);
        }
        std::string_view size = next();
        if (size.empty() || size.back() != 'b') refuse_here(size, "a number of bytes, such as 10b");
        size.remove_suffix(1);
        const std::int64_t bytes = value_of(size, "a number of bytes, such as 10b");
        const bool sends = word == "send";
        expect(sends ? "to" : "from");
        const std::int64_t peer = number("a rank");
        const Attributes more = attributes();
        return on_cpu(
            sends ? builder_.send(peer, more.tag, bytes, line) : builder_.receive(peer, more.tag, bytes, line), more,
            line);
    }
    std::uint32_t on_cpu(std::uint32_t told, const Attributes& more, std::int64_t line) {
        builder_.on_cpu(more.cpu, line);
        return told;
    }

    /// Reads what may follow an operation.
    Attributes attributes() {
        Attributes found;
        while (true) {
            const auto [at, line] = std::pair{at_, line_};
            const std::string_view word = next();
            if (word == "tag") {
                found.tag = number("a tag");
            } else if (word == "cpu") {
                found.cpu = number("a number");
            } else if (word == "nic") {
                static_cast<void>(number("a number"));
            } else {
                at_ = at;
                line_ = line;
                return found;
            }
        }
    }

    std::uint32_t labelled(std::string_view label) {
        const auto found = labels_.find(label);
        if (found == labels_.end()) refuse_here(label, "a label of this rank, further up");
        return found->second;
    }

    [[nodiscard]] static bool is_operation(std::string_view word) {
        return word == "send" || word == "recv" || word == "calc";
    }
    [[nodiscard]] static bool is_label(std::string_view word) {
        return !word.empty() && is_of_word(word.front()) && word.front() != '-' && word != "rank";
    }
    [[nodiscard]] static bool is_of_word(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
               c == '.';
    }

    void expect(std::string_view word) {
        if (const std::string_view found = next(); found != word) refuse_here(found, "'" + std::string(word) + "'");
    }
    std::int64_t number(const char* what) { return value_of(next(), what); }
    std::int64_t value_of(std::string_view text, const char* what) {
        std::int64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, value);
        if (text.empty() || read.ec != std::errc{} || read.ptr != end) refuse_here(text, what);
        return value;
    }

    /// The next word, or sign of its own; empty at the end.
    std::string_view next() {
        skip();
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_of_word(text_[at_])) ++at_;
        if (at_ == begin && at_ < text_.size()) ++at_;
        return text_.substr(begin, at_ - begin);
    }
    /// Skips white space and comments.
    void skip() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '\n') {
                ++line_;
                ++at_;
            } else if (c == ' ' || c == '\t' || c == '\r') {
                ++at_;
            } else if (text_.substr(at_, 2) == "//") {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (text_.substr(at_, 2) == "/*") {
                const std::size_t end = text_.find("*/", at_ + 2);
                if (end == std::string_view::npos) refuse_here("a comment without an end", "*/");
                for (; at_ < end + 2; ++at_) line_ += text_[at_] == '\n' ? 1 : 0;
            } else {
                return;
            }
        }
    }

    [[noreturn]] void refuse_here(std::string_view found, const std::string& allowed) const {
        const std::string shown = found.empty() ? "the end" : "'" + readable(found) + "'";
        refuse_key(within_ ? builder_.where(line_) : builder_.at(line_), shown, allowed);
    }
    /// What can be shown of it in a line.
    [[nodiscard]] static std::string readable(std::string_view found) {
        std::string text{found.substr(0, 40)};
        for (char& c : text) c = c < ' ' || c > '~' ? '?' : c;
        return text;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::int64_t line_ = 1;
    bool within_ = false;  ///< a rank
    GraphBuilder builder_{"line"};
    std::unordered_map<std::string_view, std::uint32_t> labels_;
};

/// Writes what a rank does in a schedule, round after round: each operation of a round waits for the end of the rounds
/// that its rank waits for, which stands there as work that takes no time. Of a graph, its operations and what each
/// waits for.
///
/// Work is rounded to whole nanoseconds.
class GoalWriter {
public:
    /// \throws std::invalid_argument for what a graph can't say
    explicit GoalWriter(const Schedule& schedule) : schedule_{schedule} {
        if (const GraphSchedule* const graph = schedule.graph(); graph != nullptr) {
            if (graph->one_sided()) refuse("file", "one-sided calls", "messages of two sides: GOAL has no puts");
            if (!graph->table().levels().empty()) refuse("file", "regions", "a trace without: GOAL has none");
        }
        if (schedule.one_sided()) refuse("steps.one_sided", "puts", "messages of two sides: GOAL has no puts");
        if (schedule.reads_or_writes()) refuse("steps", "steps that read or write", "others: GOAL has no storage");
    }

    [[nodiscard]] std::string rank(Rank rank) {
        text_ = "\nrank " + std::to_string(rank) + " {\n";
        last_ = gate_ = 0;
        if (const GraphSchedule* const graph = schedule_.graph(); graph != nullptr) {
            write(graph->table().of(rank), *graph, rank);
            return std::move(text_) + "}\n";
        }
        std::map<std::int64_t, Posted> open;
        for (std::int64_t number = 0; number < schedule_.rounds(); ++number) {
            const Round round = schedule_.round(rank, number);
            if (round.window > 1 && round.window < round.sends) {
                refuse("algorithm", "sends that wait until another one is complete, whichever it is",
                       "an algorithm that posts all sends at once: GOAL names what is waited for");
            }
            if (round.work > 0) {
                gate_ = add("calc " + std::to_string(nanoseconds(round.work)), gate_);
            } else if (round.ends > 0) {
                end(round, open, number - round.ends);
            } else if (round.sends + round.receives > 0) {
                const Posted posted = post(rank, number, round);
                if (!round.waits) open[number] = posted;
                join(posted.first, posted.receives + posted.sends, round.waits ? "requires" : "irequires");
            }
        }
        return std::move(text_) + "}\n";
    }

private:
    /// Operations as they are numbered, so that they make the same table when they are read; labels are numbers plus 1.
    void write(const GraphTable::Operations& own, const GraphSchedule& graph, Rank rank) {
        for (std::uint32_t operation = 0; operation < own.count(); ++operation) {
            text_ += "l" + std::to_string(operation + 1) + ": ";
            if (own.is_receive(operation)) {
                text_ += told("recv ", "from", graph.receive(rank, 0, static_cast<std::int32_t>(operation)));
            } else if (own.is_send(operation)) {
                text_ += told("send ", "to", graph.send(rank, 0, static_cast<std::int32_t>(own.send_of(operation))));
            } else {
                text_ += "calc " + std::to_string(nanoseconds(graph.scaled(own.works[own.work_of(operation)])));
            }
            if (const std::uint32_t cpu = own.cpu_of(operation); cpu > 0) text_ += " cpu " + std::to_string(cpu);
            text_ += "\n";
        }
        for (std::uint32_t operation = 0; operation < own.count(); ++operation) {
            for (const GraphTable::Dependent& each : own.dependents(operation)) {
                depend(std::int64_t{each.operation} + 1, each.on_start != 0 ? "irequires" : "requires",
                       std::int64_t{operation} + 1);
            }
        }
    }
    [[nodiscard]] static std::string told(const char* what, const char* way, const Transfer& t) {
        return what + std::to_string(t.bytes) + "b " + way + " " + std::to_string(t.peer) + " tag " +
               std::to_string(t.tag);
    }
    [[nodiscard]] static std::int64_t nanoseconds(std::int64_t picoseconds) { return (picoseconds + 500) / 1000; }

    struct Posted {
        std::int64_t first;  ///< label of the receives, behind which the sends are; the other way round in turn
        std::int32_t receives, sends;
    };

    Posted post(Rank rank, std::int64_t number, const Round& round) {
        const Posted posted{last_ + 1, round.receives, round.sends};
        std::int64_t before = gate_;
        const auto message = [&](const char* what, const char* way, const Transfer& t, bool in_turn) {
            const std::int64_t label = add(told(what, way, t), before);
            if (in_turn) before = label;
        };
        const auto receives = [&] {
            before = gate_;
            for (std::int32_t i = 0; i < round.receives; ++i) {
                message("recv ", "from", schedule_.receive(rank, number, i), round.in_turn);
                if (round.in_turn && i == 0 && round.sends > 0) depend(last_, "irequires", last_ - 1);
            }
        };
        if (!round.in_turn) receives();
        before = gate_;
        for (std::int32_t i = 0; i < round.sends; ++i) {
            message("send ", "to", schedule_.send(rank, number, i), round.window == 1);
        }
        if (round.in_turn) receives();
        return posted;
    }

    void end(const Round& round, std::map<std::int64_t, Posted>& open, std::int64_t ended) {
        const auto found = open.find(ended);
        if (found == open.end()) return;  // it had no messages
        const Posted& p = found->second;
        if (round.sends_only) {
            join(p.first + p.receives, p.sends, "requires");
        } else {
            join(p.first, p.receives + p.sends, "requires");
            open.erase(found);
        }
    }

    /// What follows waits for `count` operations from `first` on, and for what was waited for before.
    void join(std::int64_t first, std::int64_t count, const char* how) {
        gate_ = add("calc 0", gate_);
        for (std::int64_t i = first; i < first + count; ++i) depend(gate_, how, i);
    }
    /// Returns the label of an operation that waits for another one; 0: for none.
    std::int64_t add(const std::string& operation, std::int64_t after) {
        text_ += "l" + std::to_string(++last_) + ": " + operation + "\n";
        if (after > 0) depend(last_, "requires", after);
        return last_;
    }
    void depend(std::int64_t later, const char* how, std::int64_t earlier) {
        text_ += "l" + std::to_string(later) + " " + how + " l" + std::to_string(earlier) + "\n";
    }

    const Schedule& schedule_;
    std::string text_;
    std::int64_t last_ = 0;  ///< label
    std::int64_t gate_ = 0;
};

}  // namespace tramontane
