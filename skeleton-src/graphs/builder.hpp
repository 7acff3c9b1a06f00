/// \file
/// Makes a table of operations: matches messages, and looks whether all that is told can be.
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
#include "table.hpp"

namespace tramontane {

/// Collects the operations of ranks, one rank after the other, and packs them.
///
/// Messages match by (source, target, tag): the first send meets the first receive, in the order in which the ranks are
/// told of them, which is what MPI says of a program that calls them in this order.
class GraphBuilder {
public:
    static constexpr std::int64_t most_ranks = std::int64_t{1} << 28;
    static constexpr std::int64_t most_bytes = std::int64_t{1} << 40;
    static constexpr std::int64_t most_work = 1'000'000'000'000'000;  ///< [ps]: 1000 s
    static constexpr std::int64_t most_tag = (std::int64_t{1} << 31) - 1;

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
        return message(Kind::send, target, tag, bytes, position);
    }
    std::uint32_t receive(std::int64_t source, std::int64_t tag, std::int64_t bytes, std::int64_t position) {
        return message(Kind::receive, source, tag, bytes, position);
    }
    std::uint32_t work(std::int64_t picoseconds, std::int64_t position) {
        if (picoseconds < 0 || picoseconds > most_work) {
            refuse_key(where(position), "work of " + std::to_string(picoseconds) + " ps", "0 to 1000 s");
        }
        longest_ = std::max(longest_, picoseconds);
        return add({picoseconds, 0, 0, static_cast<std::uint32_t>(position), Kind::work});
    }
    /// \param on_start the later one waits until the earlier has started, else until it has ended
    void depend(std::uint32_t later, std::uint32_t earlier, bool on_start) {
        dependencies_.push_back({later, earlier, on_start});
        if (std::ssize(dependencies_) >= GraphTable::most) {
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
    [[nodiscard]] std::vector<std::byte> pack() {
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
                                  .dependencies = std::ssize(dependencies_),
                                  .longest = longest_};
        for (const OfRank& own : ranks_) {
            header.sends += own.sends;
            header.receives += own.receives;
            header.works += own.count() - own.sends - own.receives;
        }
        const std::vector<std::uint32_t> partners = matched();
        std::vector<std::byte> packed(GraphTable::size(header));
        Writer out{packed};
        out.put(header);
        each(Kind::send, [&](const Operation& o, std::size_t) { out.put(GraphTable::Send{o.peer, o.tag, o.amount}); });
        each(Kind::work, [&](const Operation& o, std::size_t) { out.put(o.amount); });
        each(Kind::receive,
             [&](const Operation& o, std::size_t i) { out.put(GraphTable::Receive{o.peer, partners[i]}); });
        each(Kind::send, [&](const Operation&, std::size_t i) { out.put(partners[i]); });
        put_dependencies(out);
        put_begins(out, [](const OfRank& own) { return own.sends; });
        put_begins(out, [](const OfRank& own) { return own.receives; });
        put_begins(out, [](const OfRank& own) { return own.count() - own.sends - own.receives; });
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
        explicit Writer(std::vector<std::byte>& into) : at_{into.data()} {}
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

    std::uint32_t message(Kind kind, std::int64_t peer, std::int64_t tag, std::int64_t bytes, std::int64_t position) {
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
        return add({bytes, static_cast<Rank>(peer), static_cast<std::int32_t>(tag),
                    static_cast<std::uint32_t>(position), kind});
    }

    std::uint32_t add(const Operation& operation) {
        OfRank& own = ranks_[static_cast<std::size_t>(rank_)];
        if (own.count() + 1 >= GraphTable::most_of_rank || std::ssize(operations_) + 1 >= GraphTable::most) {
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
        return std::string(o.kind == Kind::send ? "a send to rank " : "a receive from rank ") + std::to_string(o.peer) +
               " with tag " + std::to_string(o.tag);
    }

    /// Of each message's end, by place, the number of the other end within its rank and kind.
    ///
    /// The sends to each rank, by counting, are in order of their source; what is left is to sort the ends at one rank
    /// by source and tag.
    [[nodiscard]] std::vector<std::uint32_t> matched() const {
        struct End {
            Rank source;
            std::int32_t tag;
            std::size_t place;
            [[nodiscard]] std::pair<Rank, std::int32_t> key() const { return {source, tag}; }
        };
        std::vector<std::size_t> begins(ranks_.size() + 1, 0);
        each(Kind::send, [&](const Operation& o, std::size_t) { ++begins[static_cast<std::size_t>(o.peer) + 1]; });
        for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
        std::vector<End> sent(begins.back());
        std::vector<std::size_t> next(begins.begin(), begins.end() - 1);
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            for (std::size_t i = ranks_[rank].first; i < ranks_[rank].last; ++i) {
                const Operation& o = operations_[i];
                if (o.kind != Kind::send) continue;
                sent[next[static_cast<std::size_t>(o.peer)]++] = {static_cast<Rank>(rank), o.tag, i};
            }
        }
        const auto by_key = [](const End& a, const End& b) { return a.key() < b.key(); };
        std::vector<std::uint32_t> partners(operations_.size());
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

    void put_dependencies(Writer& out) const {
        std::vector<std::uint32_t> needs(operations_.size(), 0), begins(operations_.size() + 1, 0);
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
        std::vector<GraphTable::Dependent> dependents(dependencies_.size());
        std::vector<std::uint32_t> next(begins.begin(), begins.end() - 1);
        visit([&](std::uint32_t later, std::uint32_t earlier, bool on_start) {
            dependents[next[base + earlier]++] = {later & 0x7fffffffU, on_start ? 1U : 0U};
        });
        for (std::size_t i = 0; i < operations_.size(); ++i) {
            std::sort(dependents.begin() + begins[i], dependents.begin() + begins[i + 1],
                      [](const auto& a, const auto& b) { return a.operation < b.operation; });
        }
        for (const std::uint32_t each : needs) out.put(each);
        for (const std::uint32_t each : begins) out.put(each);
        for (const auto& each : dependents) out.put(each);
    }

    std::string place_;
    std::int64_t rank_ = 0;
    std::int64_t longest_ = 0;
    std::vector<OfRank> ranks_;
    std::vector<Operation> operations_;
    std::vector<Dependency> dependencies_;
};

}  // namespace tramontane
