/// \file
/// Makes a table of operations of the calls that the ranks of a program have made.
///
/// Time inside MPI is no work, and time outside is. A receive that was open for any sender is known by who sent,
/// because traces are read after the fact. What a call starts waits for what the calls before it have waited for, and
/// for the start of what these have only started; so order is kept, and nothing else.
///
/// The files are walked twice: first to learn what all ranks say of each collective call, and what is put to each, and
/// then to tell what each rank does. Neither keeps the calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../refusal.hpp"
#include "../schedule.hpp"
#include "builder.hpp"
#include "mpi_groups.hpp"
#include "mpi_trace.hpp"
#include "scratch.hpp"

namespace tramontane {

/// How far a rank is in what it has with others in a window.
///
/// Transfers between two ranks belong together with a synchronisation of both: the same fence of the window, the same
/// start of one rank and post of the other, or none.
struct WindowEpochs {
    enum Kind : std::uint8_t { fences, starts, locks, pulls };
    struct Epoch {
        Kind kind;
        std::int64_t number;
    };

    std::int64_t fences_so_far = 0;
    std::int64_t locked = 0;
    bool started = false;
    std::vector<std::int64_t> targets, origins;  ///< of the group that it has started, or posted to
    std::unordered_map<std::int64_t, std::int64_t> starts_to, posts_to;

    void start(const std::vector<std::int64_t>& to) {
        started = true;
        targets = to;
        for (const std::int64_t rank : to) ++starts_to[rank];
    }
    void post(const std::vector<std::int64_t>& to) {
        origins = to;
        for (const std::int64_t rank : to) ++posts_to[rank];
    }
    /// That a put belongs to.
    [[nodiscard]] Epoch epoch(std::int64_t target) const {
        if (locked > 0) return {locks, 0};
        if (started) return {starts, starts_to.contains(target) ? starts_to.at(target) : 0};
        return {fences, fences_so_far};
    }
    void lock(CallAction::OneSided what) { locked += what == CallAction::OneSided::lock ? 1 : -1; }
};

/// A transfer that one side makes alone, as its other side has to know of it.
struct TracedPut {
    std::uint32_t window;
    WindowEpochs::Kind kind;
    bool acknowledged;
    std::int64_t epoch;
    Rank origin;  ///< who calls
    std::int64_t bytes;

    [[nodiscard]] auto key() const { return std::tuple{window, kind, epoch}; }
};

/// What all ranks exchange in a collective call.
struct TracedExchange {
    std::vector<const Schedule*> schedules{};        ///< of as many ranks as the group has, one after the other; or
    std::vector<std::vector<std::int64_t>> sizes{};  ///< what each sends to each [B]
    std::shared_ptr<const void> keeper{};            ///< of the schedules
    std::int64_t kept = -1;                          ///< or the number by which it stays a collective
};

/// Makes one of what the ranks of a group say of a call: name, members, root and the sizes that each tells.
///
/// \throws std::invalid_argument with found and allowed, comma between, where they can't be meant
using SayExchange = std::function<TracedExchange(const std::string& name, const TracedRanks& members, std::int64_t root,
                                                 const std::vector<std::span<const std::int64_t>>& said)>;

/// Messages from one rank to another with the same communicator and tag, which keep their order.
struct TracedLine {
    std::int64_t peer;    ///< the other rank
    std::uint32_t group;  ///< by its id
    std::int64_t tag;

    [[nodiscard]] auto operator<=>(const TracedLine&) const = default;
};

/// Which of the messages that a rank sends are synchronous: their places in their lines.
class SynchronousSends {
public:
    void send(const TracedLine& line, std::int64_t request, bool synchronous) {
        const std::uint32_t place = sent_[line]++;
        if (synchronous) found_[line].push_back(place);
        if (request != 0) open_[request] = {line, place};
    }
    /// A send is cancelled, and those after it come one place earlier.
    void drop(std::int64_t request) {
        const auto open = open_.find(request);
        if (open == open_.end()) return;
        const auto [line, place] = open->second;
        open_.erase(open);
        --sent_[line];
        std::erase(found_[line], place);
        for (std::uint32_t& each : found_[line]) each -= each > place ? 1 : 0;
        for (auto& [other, sent] : open_) {
            if (sent.first == line && sent.second > place) --sent.second;
        }
    }
    void forget(std::int64_t request) { open_.erase(request); }
    [[nodiscard]] const std::map<TracedLine, std::vector<std::uint32_t>>& found() const { return found_; }

private:
    std::map<TracedLine, std::uint32_t> sent_;
    std::map<TracedLine, std::vector<std::uint32_t>> found_;
    std::unordered_map<std::int64_t, std::pair<TracedLine, std::uint32_t>> open_;
};

/// What ranks have to know of each other: collective calls, synchronous sends, and what is put.
class MpiMeetings {
public:
    MpiMeetings(TracedGroups& groups, const SayExchange& say)
        : groups_{groups},
          say_{say},
          puts_(static_cast<std::size_t>(groups.ranks())),
          answered_(static_cast<std::size_t>(groups.ranks())) {}

    /// Takes what a rank says; the ranks in order.
    TraceExtent add(const RankTrace& rank) {
        KnownGroups known{groups_, rank.rank()};
        std::unordered_map<std::int64_t, WindowEpochs> windows;
        SynchronousSends sends;
        const TraceExtent extent = rank.walk([&](TracedCall& call, std::int64_t, std::int64_t position) {
            for (CallAction& each : call.actions) {
                const auto& n = each.numbers;
                if (each.did == Did::send) {
                    sends.send({n[1], known[n[0]].id, n[2]}, 0, each.synchronous);
                } else if (each.did == Did::begin_send || each.did == Did::begin_synchronous) {
                    sends.send({n[2], known[n[1]].id, n[3]}, n[0], each.synchronous);
                } else if (each.did == Did::end || each.did == Did::begin_receive) {  // some are let go before they end
                    sends.forget(n[0]);
                } else if (each.did == Did::drop) {
                    sends.drop(n[0]);
                } else if (each.did == Did::communicator) {
                    known.make(each);
                    windows.erase(each.numbers[0]);
                } else if (each.did == Did::copied) {
                    known.copy(each);
                } else if (each.did == Did::collective) {
                    const TracedGroup& group = known[each.numbers[1]];
                    if (!group.is_one()) throw Mistake{"a collective between two groups", "collectives within one"};
                    if (each.known == 0) each.known = 1 + number(each.name, each.numbers[2], each.list);
                    call_of(group, each.known - 1, position);
                } else if (each.did == Did::one_sided) {
                    one_sided(each, known[each.numbers[0]], windows[each.numbers[0]], rank.rank(), position);
                }
            }
        });
        for (const auto& [line, places] : sends.found()) {
            if (line.peer >= groups_.ranks()) continue;
            answered_[static_cast<std::size_t>(line.peer)][{rank.rank(), line.group, line.tag}] = places;
        }
        return extent;
    }

    /// Finds out what all of them exchange.
    /// \param cut calls that not all have made are left out
    void meet(bool cut) {
        for (std::uint32_t id = 0; id < calls_.size(); ++id) {
            Calls& calls = calls_[id];
            if (calls.by_place.empty()) continue;
            const TracedRanks& members = groups_.members(id);
            const auto shorter = [](const Said& a, const Said& b) { return a.size() < b.size(); };
            const auto [least, most] = std::minmax_element(calls.by_place.begin(), calls.by_place.end(), shorter);
            if (least->size() < most->size() && !cut) {
                const std::size_t count = least->size();
                const auto first = std::find_if(calls.by_place.begin(), calls.by_place.end(),
                                                [&](const Said& each) { return each.size() > count; });
                const auto other = static_cast<std::size_t>(least - calls.by_place.begin());
                refuse_key(where(members, first - calls.by_place.begin(), (*first)[count]),
                           "collective " + std::to_string(count + 1) + " of its communicator, which rank " +
                               std::to_string(members[other]) + " does not call",
                           "calls of all " + std::to_string(members.size()) + " ranks");
            }
            calls.exchanges.resize(least->size());
            for (std::size_t i = 0; i < calls.exchanges.size(); ++i) calls.exchanges[i] = exchange(id, i);
            calls.by_place.clear();
            calls.by_place.shrink_to_fit();
        }
        for (std::vector<TracedPut>& each : puts_) {
            std::stable_sort(each.begin(), each.end(),
                             [](const TracedPut& a, const TracedPut& b) { return a.key() < b.key(); });
        }
    }

    /// What a group exchanges in its call of a number; null if that is left out.
    [[nodiscard]] const TracedExchange* exchange_of(std::uint32_t id, std::size_t number) const {
        if (id >= calls_.size() || number >= calls_[id].exchanges.size()) return nullptr;
        return &exchanges_[calls_[id].exchanges[number]];
    }
    /// What is put to a rank, or pulled from it, in an epoch; in the order of the ranks that call.
    [[nodiscard]] std::span<const TracedPut> puts(Rank rank, std::uint32_t window, WindowEpochs::Epoch epoch) const {
        const std::vector<TracedPut>& all = puts_[static_cast<std::size_t>(rank)];
        const TracedPut wanted{window, epoch.kind, false, epoch.number, 0, 0};
        const auto [first, last] = std::equal_range(
            all.begin(), all.end(), wanted, [](const TracedPut& a, const TracedPut& b) { return a.key() < b.key(); });
        return {first, last};
    }
    [[nodiscard]] std::span<const TracedPut> puts(Rank rank) const { return puts_[static_cast<std::size_t>(rank)]; }
    /// Which messages of a line to a rank are synchronous; null if none is.
    [[nodiscard]] const std::vector<std::uint32_t>* answered(Rank rank, const TracedLine& from) const {
        const auto& lines = answered_[static_cast<std::size_t>(rank)];
        const auto found = lines.find(from);
        return found == lines.end() ? nullptr : &found->second;
    }

private:
    using Did = CallAction::Did;
    using What = CallAction::OneSided;
    struct Call {
        std::uint32_t said, position;
    };
    using Said = std::vector<Call>;
    struct Calls {
        std::vector<Said> by_place;
        std::vector<std::uint32_t> exchanges;
    };
    struct Words {
        std::string name;
        std::int64_t root;
        std::vector<std::int64_t> sizes;
        bool operator<(const Words& other) const {
            return std::tie(name, root, sizes) < std::tie(other.name, other.root, other.sizes);
        }
    };

    std::uint32_t number(const std::string& name, std::int64_t root, const std::vector<std::int64_t>& sizes) {
        const auto found = words_.try_emplace({name, root, sizes}, static_cast<std::uint32_t>(words_.size()));
        if (found.second) said_.push_back(&found.first->first);
        return found.first->second;
    }
    void call_of(const TracedGroup& group, std::uint32_t said, std::int64_t position) {
        if (group.members->size() == 1) return;
        if (calls_.size() <= group.id) calls_.resize(group.id + std::size_t{1});
        Calls& calls = calls_[group.id];
        calls.by_place.resize(group.members->size());
        calls.by_place[group.place].push_back({said, static_cast<std::uint32_t>(position)});
    }
    void one_sided(const CallAction& each, const TracedGroup& window, WindowEpochs& epochs, Rank rank,
                   std::int64_t position) {
        switch (each.what) {
            case What::put:
            case What::get: {
                const std::int64_t target = each.numbers[2];
                if (target >= groups_.ranks() || target == rank) return;
                const bool pulls = each.what == What::get;
                const WindowEpochs::Epoch epoch =
                    pulls ? WindowEpochs::Epoch{WindowEpochs::pulls, 0} : epochs.epoch(target);
                puts_[static_cast<std::size_t>(target)].push_back({window.id, epoch.kind,
                                                                   epochs.locked > 0 || each.numbers[1] != 0,
                                                                   epoch.number, rank, each.numbers[3]});
                return;
            }
            case What::fence:
                ++epochs.fences_so_far;
                return call_of(window, number("barrier", 0, {}), position);
            case What::start:
                return epochs.start(each.list);
            case What::complete:
                epochs.started = false;
                return;
            case What::lock:
            case What::unlock:
                epochs.lock(each.what);
                return;
            default:
                return;
        }
    }

    [[nodiscard]] static std::string where(const TracedRanks& members, std::ptrdiff_t place, const Call& call) {
        return "rank " + std::to_string(members[static_cast<std::size_t>(place)]) + ", call " +
               std::to_string(call.position);
    }
    /// The number of what a group exchanges in its i-th call.
    std::uint32_t exchange(std::uint32_t id, std::size_t i) {
        const Calls& calls = calls_[id];
        const TracedRanks& members = groups_.members(id);
        std::vector<std::uint32_t> key;
        for (const Said& each : calls.by_place) key.push_back(each[i].said);
        const auto found = known_.try_emplace({&members, std::move(key)}, static_cast<std::uint32_t>(known_.size()));
        if (!found.second) return found.first->second;
        const Call& first = calls.by_place.front()[i];
        const Words& words = *said_[first.said];
        std::vector<std::span<const std::int64_t>> sizes;
        for (const std::uint32_t each : found.first->first.second) {
            const Words& other = *said_[each];
            if (other.name != words.name || other.root != words.root) {
                const auto told = [&](const Words& own, std::size_t place) {
                    return own.name +
                           (other.root != words.root ? " with root " + std::to_string(own.root) : std::string{}) +
                           " at rank " + std::to_string(members[place]);
                };
                refuse_key(where(members, 0, first), told(words, 0) + " and " + told(other, sizes.size()),
                           "one call, and one root");
            }
            sizes.emplace_back(other.sizes);
        }
        try {
            exchanges_.push_back(say_(words.name, members, words.root, sizes));
        } catch (const std::invalid_argument& error) {
            const std::string text = error.what();
            const std::size_t comma = text.find(", ");
            const auto without = [](std::string part, const std::string& word) {  // where it is a refusal itself
                const std::size_t at = part.find(word);
                return at == std::string::npos ? part : part.erase(at, word.size());
            };
            refuse_key(where(members, 0, first), without(text.substr(0, comma), ": found"),
                       comma == std::string::npos ? "another" : without(text.substr(comma + 2), "allowed: "));
        }
        return found.first->second;
    }

    TracedGroups& groups_;
    const SayExchange& say_;
    std::vector<Calls> calls_;  // by group
    std::map<Words, std::uint32_t> words_;
    std::vector<const Words*> said_;
    std::map<std::pair<const TracedRanks*, std::vector<std::uint32_t>>, std::uint32_t> known_;
    std::vector<TracedExchange> exchanges_;
    std::vector<std::vector<TracedPut>> puts_;                                // by target
    std::vector<std::map<TracedLine, std::vector<std::uint32_t>>> answered_;  // by target
};

/// A number for each tag of each group, and of each use that is not the program's own.
class TracedTags {
public:
    enum Use : std::uint8_t { message, collective, neighbour, post, complete, fenced, started, locked, pulled, answer };

    std::int64_t of(std::uint32_t group, Use use, std::int64_t tag) {
        if (group == 0 && use == message && tag < first) return tag;
        const auto found = known_.try_emplace({group, use, tag}, first + std::ssize(known_));
        return found.first->second;
    }

private:
    static constexpr std::int64_t first = std::int64_t{1} << 30;

    struct Hash {
        std::size_t operator()(const std::tuple<std::uint32_t, Use, std::int64_t>& key) const {
            const auto& [group, use, tag] = key;
            return ((std::size_t{group} << 4U | use) * 0x9e3779b97f4a7c15ULL) ^
                   (static_cast<std::size_t>(tag) * 0xff51afd7ed558ccdULL);
        }
    };
    std::unordered_map<std::tuple<std::uint32_t, Use, std::int64_t>, std::int64_t, Hash> known_;
};

/// Follows one rank through its calls and tells what it does.
class MpiCaller {
public:
    /// \param alike there is work before each call, if only of no time, and calls in turn that each wait for whatever
    ///     ends first are as one that waits for all of that: ranks that call alike do alike
    MpiCaller(GraphBuilder& builder, TracedGroups& groups, const MpiMeetings& meetings, TracedTags& tags, Rank rank,
              bool alike)
        : builder_{builder},
          meetings_{meetings},
          tags_{tags},
          rank_{rank},
          ranks_{groups.ranks()},
          alike_{alike},
          groups_{groups, rank} {
        builder_.begin_rank(rank, 0);
    }

    /// \param before since the end of the last call [ns]
    void call(const TracedCall& call, std::int64_t before, std::int64_t position) {
        position_ = position;
        if (takes_ && call.takes) {
            between_ += before;
        } else {
            end_turns();
            if ((before > 0 || alike_) && !(polled_ && call.waits)) work(before);
            started_.clear();
            ended_.clear();
            is_of_now_ = false;
        }
        for (const CallAction& each : call.actions) take(each);
        if (call.drains) add(ended_, std::exchange(buffered_, {}));
        takes_ = alike_ && call.takes;
        if (!takes_) finish();
        polled_ = call.in_vain;
    }

    /// Tells what others do with this rank, or wait for, and nobody here waits for.
    /// \param rest since the end of the last call [ns]
    void end(std::int64_t rest) {
        end_turns();
        if (rest > 0) work(rest);
        answer();
        for (const TracedPut& each : meetings_.puts(rank_)) {
            if (each.kind == WindowEpochs::locks) {
                builder_.target(how_of(each), each.origin, tag_of(each), each.bytes, position_);
            } else if (each.kind == WindowEpochs::pulls) {
                builder_.source(How::pulled, each.origin, tag_of(each), each.bytes, position_);
            }
        }
    }

private:
    using Did = CallAction::Did;
    using What = CallAction::OneSided;
    using How = GraphTable::How;
    using Use = TracedTags::Use;

    /// An operation that something waits for: its start or its end.
    struct Need {
        std::uint32_t operation;
        bool on_start;
        bool operator==(const Need&) const = default;
    };
    using Gate = std::vector<Need>;
    /// What a request, or a part of a call, stands for.
    struct Doing {
        Gate begun, ended;
        std::uint64_t gate = 0;   ///< the calls before it, by `gate_`
        std::int64_t group = -1;  ///< that a receive is of, by its id, while it is not known what comes
    };
    struct Window {
        WindowEpochs epochs;
        std::vector<std::pair<std::int64_t, Need>> open;  ///< puts and gets that a rank may wait for, by target
    };
    struct Part {
        bool sends;
        std::int64_t peer, tag, bytes;
    };

    void take(const CallAction& action) {
        const auto& n = action.numbers;
        switch (action.did) {
            case Did::send:
            case Did::receive:
                return finished(message(action, n[0], n[1], n[2], n[3]));
            case Did::begin_send:
            case Did::begin_synchronous: {
                Doing own = message(action, n[1], n[2], n[3], n[4]);
                if (n[0] == 0) add(buffered_, own.ended);
                return open(n[0], std::move(own));
            }
            case Did::begin_receive: {
                Doing own = single(builder_.work(0, position_));
                own.group = groups_[n[1]].id;
                return open(n[0], std::move(own));
            }
            case Did::probed: {  // has its place in the order, and does not begin yet
                const std::uint32_t own = builder_.work(0, position_);
                requests_[n[0]] = {{}, {{own, false}}, gate_, groups_[n[1]].id};
                return;
            }
            case Did::begin_probed: {
                Doing own = close_receive(n[0], false);
                const std::uint32_t operation = own.ended.front().operation;
                own.begun = {{told(operation, after_), true}};
                own.gate = gate_;
                return open(n[0], std::move(own));
            }
            case Did::end:
                return finished(close(n[0], "call"));
            case Did::end_receive:
                return end_receive(action);
            case Did::drop: {
                const Doing own = close(n[0], "call");
                for (const Need& each : own.ended) builder_.withdraw(each.operation);
                return;
            }
            case Did::collective:
                return start(n[0], collective(groups_[n[1]], after_));
            case Did::neighbours:
                return neighbours(action);
            case Did::communicator:
                groups_.make(action);
                windows_.erase(n[0]);
                return;
            case Did::copied:
                return groups_.copy(action);
            case Did::phase:
                return finished(single(builder_.mark(n[0], position_)));
            case Did::threads:
            case Did::untold:
            case Did::joined:
            case Did::failed:
            case Did::vain:
                return;
            case Did::one_sided:
                return one_sided(action, groups_[n[0]], windows_[n[0]]);
        }
    }

    /// \param time [ns]
    void work(std::int64_t time) {
        constexpr std::int64_t picoseconds = 1000, most = GraphBuilder::most_work / picoseconds;
        do {  // several in turn, where one would be too long
            const std::int64_t part = std::min(time, most);
            only({told(builder_.work(part * picoseconds, position_), after_), false});
            time -= part;
        } while (time > 0);
    }
    void end_turns() {
        if (!takes_) return;
        finish();
        work(std::exchange(between_, 0));
        takes_ = false;
    }

    // --- operations and what they wait for ---------------------------------------------------------------------------

    std::uint32_t told(std::uint32_t operation, const Gate& needs) {
        for (const Need& each : needs) builder_.depend(operation, each.operation, each.on_start);
        return operation;
    }
    Doing single(std::uint32_t operation) {
        told(operation, after_);
        return {.begun = {{operation, true}}, .ended = {{operation, false}}, .gate = gate_, .group = -1};
    }
    void only(Need need) {
        after_.assign(1, need);
        ++gate_;
    }
    void finished(const Doing& what) {
        add(ended_, what.ended);
        is_of_now_ = is_of_now_ || what.gate == gate_;
    }
    void begun(const Doing& what) {
        add(started_, what.begun);
        is_of_now_ = is_of_now_ || what.gate == gate_;
    }
    static void add(Gate& to, const Gate& more) { to.insert(to.end(), more.begin(), more.end()); }
    void start(std::int64_t request, Doing what) { request == 0 ? finished(what) : open(request, std::move(what)); }
    void open(std::int64_t request, Doing what) {
        begun(what);
        requests_[request] = std::move(what);
    }
    Doing close(std::int64_t request, const std::string& what) {
        const auto found = requests_.find(request);
        if (found == requests_.end()) {
            throw Mistake{"the end of request " + std::to_string(request), "requests that a " + what + " has begun"};
        }
        Doing own = std::move(found->second);
        requests_.erase(found);
        return own;
    }
    /// The same of a receive, which is one operation.
    /// \param begun or it has been probed only
    Doing close_receive(std::int64_t request, bool begun) {
        const std::string what = begun ? "receive" : "probe";
        Doing own = close(request, what);
        if (own.group < 0 || own.begun.empty() == begun) {
            throw Mistake{"a message of request " + std::to_string(request) + ", which receives none",
                          "requests that a " + what + " has begun"};
        }
        return own;
    }
    /// The next call waits for what this one has ended, and for the start of what it has started.
    void finish() {
        if (started_.empty() && ended_.empty()) return;
        Gate gate = ended_;
        for (const Need& each : started_) {
            if (std::find(ended_.begin(), ended_.end(), Need{each.operation, false}) == ended_.end()) {
                gate.push_back(each);
            }
        }
        // What was started before does not wait for what has come since.
        if (!is_of_now_) add(gate, after_);
        if (gate.size() > 1) gate.assign(1, {told(builder_.work(0, position_), gate), false});
        only(gate.front());
    }

    // --- messages ----------------------------------------------------------------------------------------------------

    Doing message(const CallAction& action, std::int64_t group, std::int64_t peer, std::int64_t tag,
                  std::int64_t bytes) {
        const TracedLine line{checked(peer), groups_[group].id, tag};
        const bool sends = action.did != Did::receive;
        Doing own = single(end_of(sends, peer, tags_.of(line.group, Use::message, tag), bytes));
        if (!sends) received(line, own.ended.front().operation);
        if (action.synchronous) {
            add(own.ended, single(end_of(false, peer, tags_.of(line.group, Use::answer, tag), 0)).ended);
        }
        return own;
    }
    void received(const TracedLine& line, std::uint32_t operation) {
        if (meetings_.answered(rank_, line) != nullptr) received_[line].push_back(operation);
    }
    /// A synchronous send ends with an empty message, which comes when its receive has ended, whatever this rank calls.
    void answer() {
        std::vector<std::pair<std::uint32_t, TracedLine>> answers;
        for (auto& [line, receives] : received_) {
            std::sort(receives.begin(), receives.end());  // as they were posted, in whatever order they ended
            for (const std::uint32_t place : *meetings_.answered(rank_, line)) {
                if (place < receives.size()) answers.emplace_back(receives[place], line);
            }
        }
        std::sort(answers.begin(), answers.end());
        for (const auto& [receive, line] : answers) {
            const std::int64_t tag = tags_.of(line.group, Use::answer, line.tag);
            told(end_of(true, line.peer, tag, 0), {{receive, false}});
        }
    }
    std::uint32_t end_of(bool sends, std::int64_t peer, std::int64_t tag, std::int64_t bytes) {
        if (peer == rank_) return builder_.work(0, position_);  // passes no network
        return sends ? builder_.send(peer, tag, bytes, position_) : builder_.receive(peer, tag, bytes, position_);
    }
    [[nodiscard]] std::int64_t checked(std::int64_t peer) const {
        if (peer >= ranks_) {
            throw Mistake{"a message of rank " + std::to_string(peer), "0 to " + std::to_string(ranks_ - 1)};
        }
        return peer;
    }
    void end_receive(const CallAction& action) {
        const auto& [request, peer, tag, bytes, none] = action.numbers;
        const Doing own = close_receive(request, true);
        if (checked(peer) != rank_) {
            const TracedLine line{peer, static_cast<std::uint32_t>(own.group), tag};
            const std::uint32_t operation = own.ended.front().operation;
            builder_.amend(operation, peer, tags_.of(line.group, Use::message, tag), bytes);
            received(line, operation);
        }
        finished(own);
    }

    /// Rounds of messages, each of which waits for the one before.
    class Rounds {
    public:
        /// \param after what the next call waits for, and maybe more
        Rounds(MpiCaller& caller, const Gate& after)
            : caller_{caller}, doing_{.begun = after, .ended = after, .gate = caller.gate_, .group = -1} {}
        void add(const Part& part) {
            next_.push_back(
                {caller_.told(caller_.end_of(part.sends, part.peer, part.tag, part.bytes), doing_.ended), false});
        }
        void end_round() {
            if (next_.empty()) return;
            doing_.ended.swap(next_);
            next_.clear();
        }
        [[nodiscard]] const Doing& doing() const { return doing_; }

    private:
        MpiCaller& caller_;
        Doing doing_;
        Gate next_;
    };

    Doing collective(const TracedGroup& group, const Gate& after) {
        Rounds rounds{*this, after};
        if (group.members->size() == 1) return rounds.doing();
        const TracedExchange* const exchange = meetings_.exchange_of(group.id, met_[group.id]++);
        if (exchange == nullptr) return rounds.doing();
        const TracedRanks& members = *group.members;
        const auto own = static_cast<Rank>(group.place);
        const std::int64_t tag = tags_.of(group.id, Use::collective, 0);
        if (exchange->kept >= 0) {
            const std::uint32_t call = told(builder_.keep(exchange->kept, tag, position_), after);
            return {.begun = {{call, true}}, .ended = {{call, false}}, .gate = gate_, .group = -1};
        }
        const auto add = [&](bool sends, Rank place, std::int64_t bytes) {
            rounds.add({sends, members[static_cast<std::size_t>(place)], tag, bytes});
        };
        for (const Schedule* const schedule : exchange->schedules) {
            for (std::int64_t number = 0; number < schedule->rounds(); ++number) {
                const Round round = schedule->round(own, number);
                for (std::int32_t i = 0; i < round.receives; ++i) {
                    const Transfer t = schedule->receive(own, number, i);
                    add(false, t.peer, t.bytes);
                }
                for (std::int32_t i = 0; i < round.sends; ++i) {
                    const Transfer t = schedule->send(own, number, i);
                    add(true, t.peer, t.bytes);
                }
                rounds.end_round();
            }
        }
        // Directly, to the next ranks first; what is empty is not sent.
        const auto count = static_cast<Rank>(members.size());
        const auto& sizes = exchange->sizes;
        for (Rank i = 1; i < count && !sizes.empty(); ++i) {
            const Rank from = (own - i + count) % count;
            const std::int64_t bytes = sizes[static_cast<std::size_t>(from)][group.place];
            if (bytes > 0) add(false, from, bytes);
        }
        for (Rank i = 1; i < count && !sizes.empty(); ++i) {
            const Rank to = (own + i) % count;
            const std::int64_t bytes = sizes[group.place][static_cast<std::size_t>(to)];
            if (bytes > 0) add(true, to, bytes);
        }
        rounds.end_round();
        return rounds.doing();
    }
    void neighbours(const CallAction& action) {
        const TracedGroup& group = groups_[action.numbers[1]];
        Rounds rounds{*this, after_};
        const auto add = [&](bool sends, const std::vector<std::int64_t>& edges) {
            for (std::size_t i = 0; i < edges.size(); i += 3) {
                if (checked(edges[i]) == rank_) continue;
                rounds.add({sends, edges[i], tags_.of(group.id, Use::neighbour, edges[i + 1]), edges[i + 2]});
            }
        };
        add(false, action.others);
        add(true, action.list);
        rounds.end_round();
        start(action.numbers[0], rounds.doing());
    }

    // --- one-sided calls; as steps of programs do (programs/one_sided.hpp) -------------------------------------------

    void one_sided(const CallAction& action, const TracedGroup& group, Window& window) {
        WindowEpochs& epochs = window.epochs;
        switch (action.what) {
            case What::put:
            case What::get:
                return transfer(action, group, window);
            case What::fence: {
                Gate gate = after_;
                add(gate, targets(group.id, {WindowEpochs::fences, epochs.fences_so_far++}, -1));
                add(gate, closed(window, -1));
                return finished(collective(group, gate));
            }
            case What::post:
                epochs.post(action.list);
                for (const std::int64_t rank : epochs.origins) begun(tell(group, Use::post, true, rank));
                return;
            case What::start:
                epochs.start(action.list);
                for (const std::int64_t rank : epochs.targets) finished(tell(group, Use::post, false, rank));
                return;
            case What::complete:
                for (const std::int64_t rank : epochs.targets) begun(tell(group, Use::complete, true, rank));
                epochs.started = false;
                add(ended_, closed(window, -1));
                return;
            case What::wait:
                for (const std::int64_t rank : epochs.origins) {
                    finished(tell(group, Use::complete, false, rank));
                    add(ended_, targets(group.id, {WindowEpochs::starts, epochs.posts_to[rank]}, rank));
                }
                return;
            case What::lock:
                epochs.lock(action.what);
                return;
            case What::unlock:
                epochs.lock(action.what);
                [[fallthrough]];
            case What::flush:
                add(ended_, closed(window, action.numbers[1] - 1));
                return;
        }
    }
    Doing tell(const TracedGroup& group, Use use, bool sends, std::int64_t rank) {
        return single(end_of(sends, checked(rank), tags_.of(group.id, use, 0), 0));
    }
    void transfer(const CallAction& action, const TracedGroup& group, Window& window) {
        const auto& [number, request, target, bytes, none] = action.numbers;
        if (checked(target) == rank_) return start(request, single(builder_.work(0, position_)));
        const bool pulls = action.what == What::get;
        const bool acknowledged = window.epochs.locked > 0 || request != 0;
        const WindowEpochs::Epoch epoch =
            pulls ? WindowEpochs::Epoch{WindowEpochs::pulls, 0} : window.epochs.epoch(target);
        const TracedPut told{group.id, epoch.kind, acknowledged, epoch.number, rank_, bytes};
        Doing own = single(pulls ? builder_.target(How::pulled, target, tag_of(told), bytes, position_)
                                 : builder_.source(how_of(told), target, tag_of(told), bytes, position_));
        if (pulls || acknowledged) window.open.emplace_back(target, own.ended.front());
        if (request != 0) return open(request, std::move(own));
        begun(own);
    }
    /// What is put to this rank in an epoch, by one rank (-1: by all); nothing has to be for it to come.
    Gate targets(std::uint32_t window, WindowEpochs::Epoch epoch, std::int64_t origin) {
        Gate found;
        for (const TracedPut& each : meetings_.puts(rank_, window, epoch)) {
            if (origin >= 0 && each.origin != origin) continue;
            found.push_back({builder_.target(how_of(each), each.origin, tag_of(each), each.bytes, position_), false});
        }
        return found;
    }
    /// Transfers of this rank that it waits for: those with a target, or all (-1).
    static Gate closed(Window& window, std::int64_t target) {
        Gate found;
        std::erase_if(window.open, [&](const auto& each) {
            const bool is_meant = target < 0 || each.first == target;
            if (is_meant) found.push_back(each.second);
            return is_meant;
        });
        return found;
    }
    [[nodiscard]] static How how_of(const TracedPut& put) {
        return put.acknowledged ? How::acknowledged_put : How::put;
    }
    [[nodiscard]] std::int64_t tag_of(const TracedPut& put) {
        constexpr std::array uses{Use::fenced, Use::started, Use::locked, Use::pulled};
        return tags_.of(put.window, uses.at(put.kind), put.epoch);
    }

    GraphBuilder& builder_;
    const MpiMeetings& meetings_;
    TracedTags& tags_;
    Rank rank_, ranks_;
    bool alike_;
    KnownGroups groups_;
    std::unordered_map<std::int64_t, Doing> requests_;
    std::unordered_map<std::int64_t, Window> windows_;
    std::unordered_map<std::uint32_t, std::size_t> met_;         ///< collective calls of each group so far
    Gate after_;                                                 ///< what the next call waits for
    std::uint64_t gate_ = 1;                                     ///< how often that has changed
    Gate started_, ended_;                                       ///< by this call
    Gate buffered_;                                              ///< sends that nothing has waited for
    std::map<TracedLine, std::vector<std::uint32_t>> received_;  ///< messages, where some are to be answered
    bool is_of_now_ = false;                                     ///< some of that waits for `after_`
    bool polled_ = false;
    bool takes_ = false;        ///< calls in turn that wait for whatever ends first
    std::int64_t between_ = 0;  ///< these [ns]
    std::int64_t position_ = 0;
};

/// The table of operations of a trace.
///
/// Of one whose program was killed, messages that have but one end are left out, and collectives that not all have
/// called.
///
/// \param files of all ranks, in order; whoever calls has looked at their headers
/// \param alike ranks that call alike do alike: each call has work before it, if only of no time
/// \throws std::invalid_argument with rank, call or byte, what was found and what is allowed
[[nodiscard]] inline Scratch<std::byte> packed_mpi_trace(const std::vector<std::string>& files, const SayExchange& say,
                                                         bool alike) {
    std::vector<std::unique_ptr<RankTrace>> ranks;
    for (const std::string& file : files) {
        ranks.push_back(std::make_unique<RankTrace>(file, static_cast<Rank>(ranks.size())));
    }
    TracedGroups groups{static_cast<Rank>(ranks.size())};
    MpiMeetings meetings{groups, say};
    bool cut = false;
    for (const auto& rank : ranks) cut = !meetings.add(*rank).whole || cut;
    meetings.meet(cut);
    GraphBuilder builder{"call"};
    builder.set_ranks(std::ssize(ranks), static_cast<std::size_t>(GraphBuilder::most_ranks), 0);
    TracedTags tags;
    for (const auto& rank : ranks) {
        MpiCaller caller{builder, groups, meetings, tags, rank->rank(), alike};
        const TraceExtent all = rank->walk([&](const TracedCall& call, std::int64_t before, std::int64_t position) {
            caller.call(call, before, position);
        });
        caller.end(all.rest);
    }
    return builder.pack(cut);
}

}  // namespace tramontane
