/// \file
/// Makes a table of operations: matches messages, and looks whether all that is told can be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../refusal.hpp"
#include "scratch.hpp"
#include "table.hpp"

namespace tramontane {

/// Collects the operations of ranks, one rank after the other, and packs them.
///
/// Messages match by (source, target, tag): the first send meets the first receive, in the order in which the ranks are
/// told of them, which is what MPI says of a program that calls them in this order.
class GraphBuilder {
public:
    using How = GraphTable::How;

    static constexpr std::int64_t most_ranks = std::int64_t{1} << 28;
    static constexpr std::int64_t most_bytes = std::int64_t{1} << 40;
    static constexpr std::int64_t most_work = 1'000'000'000'000'000;  ///< [ps]: 1000 s
    static constexpr std::int64_t most_tag = (std::int64_t{1} << 31) - 1;
    static constexpr std::int64_t most_level = 1 << 20;
    static constexpr std::size_t most_levels = 1000;

    /// \param place what positions in the file count, e.g. "line"
    explicit GraphBuilder(std::string place) : place_{std::move(place)} {}

    /// \param bytes of the file, which tells of each rank and so can't have more ranks than bytes
    void set_ranks(std::int64_t ranks, std::size_t bytes, std::int64_t position) {
        if (ranks < 1 || ranks > most_ranks) {
            refuse_key(at(position), std::to_string(ranks) + " ranks", "1 to " + std::to_string(most_ranks));
        }
        if (std::cmp_greater(ranks, bytes)) {
            refuse_key(at(position), std::to_string(ranks) + " ranks in " + std::to_string(bytes) + " bytes",
                       "a file that tells of each rank");
        }
        ranks_.assign(static_cast<std::size_t>(ranks), {});
    }
    /// What follows is of this rank.
    void begin_rank(std::int64_t rank, std::int64_t position) {
        check_rank(rank, position, at(position));
        rank_ = rank;
        OfRank& own = ranks_[static_cast<std::size_t>(rank)];
        if (own.told) refuse_key(at(position), "rank " + std::to_string(rank) + " again", "each rank once");
        own = {.told = true,
               .first = operations_.size(),
               .last = operations_.size(),
               .first_dependency = dependencies_.size(),
               .last_dependency = dependencies_.size()};
    }
    /// Each returns the operation's number within its rank, in the order in which they are told.
    std::uint32_t send(std::int64_t target, std::int64_t tag, std::int64_t bytes, std::int64_t position) {
        return message(Kind::send, target, tag, bytes, position, How::sent);
    }
    std::uint32_t receive(std::int64_t source, std::int64_t tag, std::int64_t bytes, std::int64_t position) {
        return message(Kind::receive, source, tag, bytes, position, How::sent);
    }
    /// The ends of a one-sided transfer: at its source and at its target. The tag matters for matching only.
    std::uint32_t source(How how, std::int64_t target, std::int64_t tag, std::int64_t bytes, std::int64_t position) {
        return message(Kind::send, target, tag, bytes, position, how);
    }
    std::uint32_t target(How how, std::int64_t source, std::int64_t tag, std::int64_t bytes, std::int64_t position) {
        return message(Kind::receive, source, tag, bytes, position, how);
    }
    /// The rank comes to a part of its program, which results tell of by itself.
    std::uint32_t mark(std::int64_t level, std::int64_t position) {
        if (level < 0 || level > most_level) {
            refuse_key(where(position), "level " + std::to_string(level), "0 to " + std::to_string(most_level));
        }
        if (const auto at = std::lower_bound(levels_.begin(), levels_.end(), level);
            at == levels_.end() || *at != level) {
            if (levels_.size() == most_levels) {
                refuse_key(where(position), "one more level", std::to_string(most_levels) + " levels in all");
            }
            levels_.insert(at, level);
        }
        return add({GraphTable::mark_of(level), 0, 0, static_cast<std::uint32_t>(position), Kind::work, How::sent});
    }
    /// A collective call that stays one; see `GraphTable::kept_of`.
    std::uint32_t keep(std::int64_t number, std::int64_t tag, std::int64_t position) {
        if (number < 0 || number >= most_tag) {
            refuse_key(where(position), "collective " + std::to_string(number), "0 to " + std::to_string(most_tag - 1));
        }
        if (tag < 0 || tag > most_tag) {
            refuse_key(where(position), "tag " + std::to_string(tag), "0 to " + std::to_string(most_tag));
        }
        return add(
            {GraphTable::kept_of(number, tag), 0, 0, static_cast<std::uint32_t>(position), Kind::work, How::sent});
    }
    /// What a rank was said to do, as work, turns out to be a receive.
    void amend(std::uint32_t operation, std::int64_t source, std::int64_t tag, std::int64_t bytes) {
        Operation& own = operations_[ranks_[static_cast<std::size_t>(rank_)].first + operation];
        check_message(Kind::receive, source, tag, bytes, own.position);
        own.amount = bytes;
        own.peer = static_cast<Rank>(source);
        own.tag = static_cast<std::int32_t>(tag);
        own.kind = Kind::receive;
    }
    /// What a rank was said to do turns out to be nothing.
    void withdraw(std::uint32_t operation) {
        Operation& own = operations_[ranks_[static_cast<std::size_t>(rank_)].first + operation];
        own.kind = Kind::work;
        own.amount = 0;
    }
    std::uint32_t work(std::int64_t picoseconds, std::int64_t position) {
        if (picoseconds < 0 || picoseconds > most_work) {
            refuse_key(where(position), "work of " + std::to_string(picoseconds) + " ps", "0 to 1000 s");
        }
        longest_ = std::max(longest_, picoseconds);
        return add({picoseconds, 0, 0, static_cast<std::uint32_t>(position), Kind::work, How::sent});
    }
    /// The operation that was told last is of this processor of the rank.
    void on_cpu(std::int64_t cpu, std::int64_t position) {
        if (cpu < 0 || cpu > GraphTable::last_cpu) {
            refuse_key(where(position), "cpu " + std::to_string(cpu), "0 to " + std::to_string(GraphTable::last_cpu));
        }
        operations_[operations_.size() - 1].cpu = static_cast<std::uint8_t>(cpu);
        highest_cpu_ = std::max(highest_cpu_, cpu);
    }
    /// \param on_start the later one waits until the earlier has started, else until it has ended
    void depend(std::uint32_t later, std::uint32_t earlier, bool on_start) {
        dependencies_.push_back({later, earlier, on_start});
        if (std::cmp_greater_equal(dependencies_.size(), GraphTable::most)) {
            refuse_key("dependencies", "2^32 or more", "less than 2^32 in all");
        }
        ranks_[static_cast<std::size_t>(rank_)].last_dependency = dependencies_.size();
    }

    /// Where something is, for a refusal.
    [[nodiscard]] std::string where(std::int64_t position) const {
        return "rank " + std::to_string(rank_) + ", " + at(position);
    }
    [[nodiscard]] std::string at(std::int64_t position) const { return place_ + " " + std::to_string(position); }

    /// \throws std::invalid_argument for operations that wait for each other in a circle, a rank that nothing was told
    ///     of, a send without a receive, a receive without a send, or two of different sizes
    /// \param cut what is told ends before its time: messages that have one end only are left out
    [[nodiscard]] Scratch<std::byte> pack(bool cut = false) {
        if (cut) leave_out();
        number();
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) check_circles(static_cast<std::int64_t>(rank));
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            if (!ranks_[rank].told) refuse_key("rank " + std::to_string(rank), "nothing", "what it does, if only { }");
        }
        GraphTable::Header header{.format = GraphTable::format,
                                  .ranks = std::ssize(ranks_),
                                  .sends = 0,
                                  .receives = 0,
                                  .works = 0,
                                  .dependencies = static_cast<std::int64_t>(dependencies_.size()),
                                  .longest = longest_,
                                  .levels = std::ssize(levels_),
                                  .special = GraphTable::special_of(one_sided_, highest_cpu_)};
        for (const OfRank& own : ranks_) {
            header.sends += own.sends;
            header.receives += own.receives;
            header.works += own.count() - own.sends - own.receives;
        }
        const Scratch<std::uint32_t> partners = matched();
        Scratch<std::byte> packed(GraphTable::size(header));
        Writer out{packed};
        out.put(header);
        for (const std::int64_t level : levels_) out.put(level);
        each(Kind::send, [&](const Operation& o, std::size_t i) {
            out.put(GraphTable::Send::of(o.peer, partners[i], o.amount, o.how));
        });
        each(Kind::work, [&](const Operation& o, std::size_t) { out.put(o.amount); });
        each(Kind::receive,
             [&](const Operation& o, std::size_t i) { out.put(GraphTable::Receive{o.peer, partners[i]}); });
        each(Kind::send,
             [&](const Operation& o, std::size_t) { out.put(o.how == How::sent ? o.tag : GraphTable::tag_of(o.how)); });
        put_dependencies(out);
        put_begins(out, [](const OfRank& own) { return own.sends; });
        put_begins(out, [](const OfRank& own) { return own.receives; });
        put_begins(out, [](const OfRank& own) { return own.count() - own.sends - own.receives; });
        if (highest_cpu_ > 0) put_cpus(out);
        return packed;
    }

private:
    enum class Kind : std::uint8_t { receive, send, work };

    struct Operation {
        std::int64_t amount;  ///< [B] or [ps]
        Rank peer;
        std::int32_t tag;
        std::uint32_t position;
        Kind kind;
        How how;
        std::uint8_t cpu = 0;
        std::uint32_t number = 0;  ///< within its rank and kind
    };
    struct Dependency {
        std::uint32_t later, earlier;  ///< as they were told
        bool on_start;
    };
    struct OfRank {
        bool told = false;
        std::size_t first = 0, last = 0;  ///< operations
        std::size_t first_dependency = 0, last_dependency = 0;
        std::uint32_t receives = 0, sends = 0;

        [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(last - first); }
    };
    class Writer {
    public:
        explicit Writer(Scratch<std::byte>& into) : at_{into.data()} {}
        template <class T>
        void put(const T& value) {
            std::memcpy(at_, &value, sizeof value);
            at_ += sizeof value;
        }

    private:
        std::byte* at_;
    };

    void check_rank(std::int64_t rank, std::int64_t /*position*/, const std::string& place) const {
        if (rank < 0 || rank >= std::ssize(ranks_)) {
            refuse_key(place, "rank " + std::to_string(rank), "0 to " + std::to_string(std::ssize(ranks_) - 1));
        }
    }

    std::uint32_t message(Kind kind, std::int64_t peer, std::int64_t tag, std::int64_t bytes, std::int64_t position,
                          How how) {
        check_message(kind, peer, tag, bytes, position);
        one_sided_ = one_sided_ || how != How::sent;
        return add({bytes, static_cast<Rank>(peer), static_cast<std::int32_t>(tag),
                    static_cast<std::uint32_t>(position), kind, how});
    }

    void check_message(Kind kind, std::int64_t peer, std::int64_t tag, std::int64_t bytes,
                       std::int64_t position) const {
        const char* const word = kind == Kind::send ? "a message to " : "a message from ";
        if (peer == -1 && kind == Kind::receive) {
            refuse_key(where(position), "a message from any rank", "the number of a rank");
        }
        if (tag == -1 && kind == Kind::receive) refuse_key(where(position), "a message of any tag", "a tag");
        check_rank(peer, position, where(position));
        if (peer == rank_) refuse_key(where(position), word + std::string("the rank itself"), "another rank");
        if (tag < 0 || tag > most_tag) {
            refuse_key(where(position), "tag " + std::to_string(tag), "0 to " + std::to_string(most_tag));
        }
        if (bytes < 0 || bytes > most_bytes) {
            refuse_key(where(position), std::to_string(bytes) + " B", "0 to " + std::to_string(most_bytes) + " B");
        }
    }

    std::uint32_t add(const Operation& operation) {
        OfRank& own = ranks_[static_cast<std::size_t>(rank_)];
        if (own.count() + 1 >= GraphTable::most_of_rank ||
            std::cmp_greater_equal(operations_.size() + 1, GraphTable::most)) {
            refuse_key(where(operation.position), "too many operations", "less than 2^28 of a rank, 2^32 in all");
        }
        operations_.push_back(operation);
        own.last = operations_.size();
        return own.count() - 1;
    }

    /// Numbers the operations of each rank and kind.
    void number() {
        for (OfRank& own : ranks_) {
            std::uint32_t works = own.receives = own.sends = 0;
            for (std::size_t i = own.first; i < own.last; ++i) {
                Operation& o = operations_[i];
                o.number = o.kind == Kind::receive ? own.receives++ : o.kind == Kind::send ? own.sends++ : works++;
            }
        }
    }
    /// The number of an operation within its rank.
    [[nodiscard]] static std::uint32_t numbered(const OfRank& own, const Operation& o) {
        const std::uint32_t before = o.kind == Kind::receive ? 0 : o.kind == Kind::send ? 0 : own.sends;
        return o.number + before + (o.kind == Kind::receive ? 0 : own.receives);
    }

    /// Calls `visit(operation, place)` for those of a kind, by rank.
    template <class Visit>
    void each(Kind kind, Visit&& visit) const {
        for (const OfRank& own : ranks_) {
            for (std::size_t i = own.first; i < own.last; ++i) {
                if (operations_[i].kind == kind) visit(operations_[i], i);
            }
        }
    }
    template <class Count>
    void put_begins(Writer& out, Count&& count) const {
        std::uint32_t begin = 0;
        out.put(begin);
        for (const OfRank& own : ranks_) out.put(begin += count(own));
    }

    [[nodiscard]] std::string found_at(std::size_t rank, const Operation& o) const {
        return "rank " + std::to_string(rank) + ", " + at(o.position);
    }
    [[nodiscard]] static std::string told(const Operation& o) {
        const std::string peer = std::to_string(o.peer);
        if (o.how != How::sent) {
            return (o.kind == Kind::send ? "one-sided data to rank " : "one-sided data from rank ") + peer;
        }
        return (o.kind == Kind::send ? "a send to rank " : "a receive from rank ") + peer + " with tag " +
               std::to_string(o.tag);
    }

    /// Makes nothing of messages that have one end only, which are the last ones of their source, target and tag.
    void leave_out() {
        struct Key {
            Rank source, target;
            std::int32_t tag;
            bool operator==(const Key&) const = default;
        };
        struct Hash {
            std::size_t operator()(const Key& key) const {
                return (std::size_t{static_cast<std::uint32_t>(key.source)} << 32U ^
                        std::size_t{static_cast<std::uint32_t>(key.target)} << 12U ^
                        static_cast<std::uint32_t>(key.tag)) *
                       0x9e3779b97f4a7c15ULL;
            }
        };
        struct Ends {
            std::uint32_t sends = 0, receives = 0, seen_sends = 0, seen_receives = 0;
        };
        std::unordered_map<Key, Ends, Hash> ends;
        const auto each_end = [&](auto&& visit) {
            for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
                for (std::size_t i = ranks_[rank].first; i < ranks_[rank].last; ++i) {
                    Operation& o = operations_[i];
                    if (o.kind == Kind::work) continue;
                    const auto own = static_cast<Rank>(rank);
                    const bool sends = o.kind == Kind::send;
                    visit(o, ends[sends ? Key{own, o.peer, o.tag} : Key{o.peer, own, o.tag}], sends);
                }
            }
        };
        each_end([](const Operation&, Ends& of, bool sends) { ++(sends ? of.sends : of.receives); });
        each_end([](Operation& o, Ends& of, bool sends) {
            if ((sends ? of.seen_sends : of.seen_receives)++ >= std::min(of.sends, of.receives)) {
                o.kind = Kind::work;
                o.amount = 0;
            }
        });
    }

    /// Of each message's end, by place, the number of the other end within its rank and kind.
    ///
    /// The sends to each rank, by counting, are in order of their source; what is left is to sort the ends at one rank
    /// by source and tag.
    [[nodiscard]] Scratch<std::uint32_t> matched() const {
        struct End {
            Rank source;
            std::int32_t tag;
            std::size_t place;
            [[nodiscard]] std::pair<Rank, std::int32_t> key() const { return {source, tag}; }
        };
        std::vector<std::size_t> begins(ranks_.size() + 1, 0);
        each(Kind::send, [&](const Operation& o, std::size_t) { ++begins[static_cast<std::size_t>(o.peer) + 1]; });
        for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
        Scratch<End> sent(begins.back());
        std::vector<std::size_t> next(begins.begin(), begins.end() - 1);
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            for (std::size_t i = ranks_[rank].first; i < ranks_[rank].last; ++i) {
                const Operation& o = operations_[i];
                if (o.kind != Kind::send) continue;
                sent[next[static_cast<std::size_t>(o.peer)]++] = {static_cast<Rank>(rank), o.tag, i};
            }
        }
        const auto by_key = [](const End& a, const End& b) { return a.key() < b.key(); };
        Scratch<std::uint32_t> partners(operations_.size());
        std::vector<End> posted;
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            posted.clear();
            for (std::size_t i = ranks_[rank].first; i < ranks_[rank].last; ++i) {
                const Operation& o = operations_[i];
                if (o.kind == Kind::receive) posted.push_back({o.peer, o.tag, i});
            }
            const std::span<End> here{sent.data() + begins[rank], sent.data() + begins[rank + 1]};
            std::stable_sort(here.begin(), here.end(), by_key);
            std::stable_sort(posted.begin(), posted.end(), by_key);
            for (std::size_t i = 0; i < std::max(here.size(), posted.size()); ++i) {
                const bool lacks_send = i >= here.size() || (i < posted.size() && by_key(posted[i], here[i]));
                const bool lacks_receive = i >= posted.size() || (i < here.size() && by_key(here[i], posted[i]));
                if (lacks_send) {
                    const Operation& o = operations_[posted[i].place];
                    refuse_key(found_at(rank, o), told(o) + ", which sends none", "a send for each receive");
                }
                if (lacks_receive) {
                    const Operation& o = operations_[here[i].place];
                    refuse_key(found_at(static_cast<std::size_t>(here[i].source), o), told(o) + ", which receives none",
                               "a receive for each send");
                }
                const Operation &from = operations_[here[i].place], &to = operations_[posted[i].place];
                if (from.amount != to.amount) {
                    refuse_key(found_at(rank, to), told(to) + " of " + std::to_string(to.amount) + " B",
                               std::to_string(from.amount) + " B, which " +
                                   found_at(static_cast<std::size_t>(here[i].source), from) + " sends");
                }
                partners[here[i].place] = to.number;
                partners[posted[i].place] = from.number;
            }
        }
        return partners;
    }

    /// Does all operations of a rank in an order that is allowed; what is left then waits for each other.
    void check_circles(std::int64_t rank) const {
        const OfRank& own = ranks_[static_cast<std::size_t>(rank)];
        const std::span<const Dependency> all{dependencies_.data() + own.first_dependency,
                                              dependencies_.data() + own.last_dependency};
        // Where all go from earlier to later ones there is no circle.
        if (std::all_of(all.begin(), all.end(), [](const Dependency& d) { return d.earlier < d.later; })) return;
        std::vector<std::uint32_t> begins(own.count() + std::size_t{1}, 0), left(own.count(), 0), order;
        for (const Dependency& d : all) ++begins[d.earlier + std::size_t{1}], ++left[d.later];
        for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
        std::vector<std::uint32_t> dependents(all.size()), next(begins.begin(), begins.end() - 1);
        for (const Dependency& d : all) dependents[next[d.earlier]++] = d.later;
        for (std::uint32_t i = 0; i < own.count(); ++i) {
            if (left[i] == 0) order.push_back(i);
        }
        for (std::size_t i = 0; i < order.size(); ++i) {
            for (std::uint32_t k = begins[order[i]]; k < begins[order[i] + std::size_t{1}]; ++k) {
                if (--left[dependents[k]] == 0) order.push_back(dependents[k]);
            }
        }
        if (order.size() == own.count()) return;
        // Each of those left has one before it that is left, too: going back ends in the circle.
        std::vector<std::uint32_t> before(own.count(), 0);
        std::uint32_t one = 0;
        for (const Dependency& d : all) {
            if (left[d.later] > 0 && left[d.earlier] > 0) before[one = d.later] = d.earlier;
        }
        for (std::uint32_t i = 0; i < own.count(); ++i) one = before[one];
        const Operation &o = operations_[own.first + one], &other = operations_[own.first + before[one]];
        refuse_key(found_at(static_cast<std::size_t>(rank), o),
                   "a circle of dependencies through this operation and that of " + at(other.position),
                   "no operation that waits for itself");
    }

    void put_cpus(Writer& out) const {
        for (const OfRank& own : ranks_) {
            for (const Kind kind : {Kind::receive, Kind::send, Kind::work}) {
                for (std::size_t i = own.first; i < own.last; ++i) {
                    if (operations_[i].kind == kind) out.put(operations_[i].cpu);
                }
            }
        }
    }

    void put_dependencies(Writer& out) const {
        Scratch<std::uint32_t> needs(operations_.size()), begins(operations_.size() + 1);
        std::size_t base = 0;
        const auto visit = [&](auto&& call) {
            base = 0;
            for (const OfRank& own : ranks_) {
                for (std::size_t i = own.first_dependency; i < own.last_dependency; ++i) {
                    const Dependency& d = dependencies_[i];
                    call(numbered(own, operations_[own.first + d.later]),
                         numbered(own, operations_[own.first + d.earlier]), d.on_start);
                }
                base += own.count();
            }
        };
        visit([&](std::uint32_t later, std::uint32_t earlier, bool) {
            ++needs[base + later];
            ++begins[base + earlier + 1];
        });
        for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
        Scratch<GraphTable::Dependent> dependents(dependencies_.size());
        Scratch<std::uint32_t> next(operations_.size());
        std::copy_n(begins.data(), operations_.size(), next.data());
        visit([&](std::uint32_t later, std::uint32_t earlier, bool on_start) {
            dependents[next[base + earlier]++] = {later & 0x3fffffffU, 0U, on_start ? 1U : 0U};
        });
        for (std::size_t i = 0; i < operations_.size(); ++i) {
            std::sort(dependents.data() + begins[i], dependents.data() + begins[i + 1],
                      [](const auto& a, const auto& b) { return a.operation < b.operation; });
            if (begins[i] < begins[i + 1]) dependents[begins[i + 1] - std::size_t{1}].last = 1;
        }
        for (const std::uint32_t each : needs.view()) out.put(each);
        for (const std::uint32_t each : begins.view()) out.put(each);
        for (const auto& each : dependents.view()) out.put(each);
    }

    std::string place_;
    std::int64_t rank_ = 0;
    std::int64_t longest_ = 0;
    std::int64_t highest_cpu_ = 0;
    bool one_sided_ = false;
    std::vector<OfRank> ranks_;
    std::vector<std::int64_t> levels_;  ///< in order
    Scratch<Operation> operations_;
    Scratch<Dependency> dependencies_;
};

}  // namespace tramontane
