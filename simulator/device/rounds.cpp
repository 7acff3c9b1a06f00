#include "device/rounds.hpp"

#include <algorithm>
#include <future>
#include <limits>
#include <map>
#include <thread>
#include <tuple>
#include <vector>

#include "graphs/table.hpp"

namespace tramontane::device {
namespace {

auto fields(const Round& r) {
    return std::tuple(r.phase, r.sends, r.receives, r.window, r.in_turn, r.waits, r.work, r.idles, r.ends, r.sends_only,
                      r.call, r.access, r.window_number, r.put_cost, r.bytes, r.phase_receives);
}

/// Numbers different values in the order in which they come.
template <class Key, class Value>
class Numbers {
public:
    std::uint32_t of(const Key& key, const Value& value) {
        if (!values.empty() && key == last_) return last_number_;  // as a rule
        const auto [found, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(values.size()));
        if (is_new) values.push_back(value);
        last_ = key;
        return last_number_ = found->second;
    }
    std::vector<Value> values;

private:
    std::map<Key, std::uint32_t> numbers_;
    Key last_{};
    std::uint32_t last_number_ = 0;
};
using RoundNumbers = Numbers<decltype(fields(Round{})), Round>;
using SizeNumbers = Numbers<std::int64_t, std::int64_t>;

/// Some ranks of the table.
struct Part {
    std::vector<RoundTable::Entry> entries;
    std::vector<std::uint32_t> firsts;   // round of each entry
    std::vector<std::uint64_t> of_rank;  // first entry of each rank
    std::vector<RoundTable::Run> runs, receive_runs;
    std::vector<std::uint64_t> receives_begin;  // first run of each entry
    RoundNumbers different;
    SizeNumbers sizes;
    std::uint64_t most_at_once = 0, most_bytes_at_once = 0;
};

/// Adds a transfer to the runs of an entry. \param number of it in the entry
void add(std::vector<RoundTable::Run>& runs, std::int32_t number, Rank peer, std::uint32_t size) {
    if (number > 0) {
        RoundTable::Run& run = runs.back();
        if (number == run.first + 1) run.step = peer - run.peer;  // its second one
        if (size == run.size && peer == run.peer_of(number)) return;
    }
    runs.push_back({number, peer, 0, size});
}

/// What a rank has under way at a time: a round that does not wait for the one before comes on top of it.
class AtOnce {
public:
    void add(bool waits, std::uint64_t of_round) { most_ = waits ? std::max(most_, of_round) : most_ + of_round; }
    [[nodiscard]] std::uint64_t most() const { return most_; }

private:
    std::uint64_t most_ = 0;
};

/// Messages of a round that may be under way at a time. \param held those that a window of sends can hold back
std::uint64_t under_way(const Round& round, std::int32_t held) {
    const bool windowed = round.waits && round.window > 0;
    return static_cast<std::uint64_t>(windowed ? round.sends - held + std::min(held, round.window) : round.sends);
}

/// \param joins equal rounds one after the other are one entry
/// \param with_receives or only sends
Part part_of(const Schedule& schedule, Rank begin, Rank end, const SendLimits& limits, bool joins, bool with_receives) {
    Part part;
    for (Rank rank = begin; rank < end; ++rank) {
        AtOnce messages, bytes;
        std::int64_t sends = 0, receives = 0;  // of the last entry
        part.of_rank.push_back(part.entries.size());
        for (std::int64_t number = 0; number < schedule.rounds(); ++number) {
            const Round round = schedule.round(rank, number);
            const std::uint32_t what = part.different.of(fields(round), round);
            const bool goes_on = joins && number > 0 && part.entries.back().what == what &&
                                 sends + round.sends <= std::numeric_limits<std::int32_t>::max() &&
                                 receives + round.receives <= std::numeric_limits<std::int32_t>::max();
            if (!goes_on) {
                part.entries.push_back({part.runs.size(), 0, what});
                part.firsts.push_back(static_cast<std::uint32_t>(number));
                if (with_receives) part.receives_begin.push_back(part.receive_runs.size());
                sends = receives = 0;
            }
            std::int32_t held = 0;
            std::uint64_t all = 0;  // [B]
            for (std::int32_t index = 0; index < round.sends; ++index) {
                const Transfer transfer = schedule.send(rank, number, index);
                held += transfer.bytes > limits.eager ? 1 : 0;
                all += static_cast<std::uint64_t>(transfer.bytes);
                const std::uint32_t size = part.sizes.of(transfer.bytes, transfer.bytes);
                add(part.runs, static_cast<std::int32_t>(sends++), transfer.peer, size);
            }
            for (std::int32_t index = 0; with_receives && index < round.receives; ++index) {
                const Transfer transfer = schedule.receive(rank, number, index);
                const std::uint32_t size = part.sizes.of(transfer.bytes, transfer.bytes);
                add(part.receive_runs, static_cast<std::int32_t>(receives++), transfer.peer, size);
            }
            RoundTable::Entry& entry = part.entries.back();
            entry.runs = static_cast<std::uint32_t>(part.runs.size() - entry.first);
            messages.add(round.waits, under_way(round, held));
            bytes.add(round.waits, all);
        }
        part.most_at_once += messages.most();
        part.most_bytes_at_once += std::min(bytes.most(), static_cast<std::uint64_t>(limits.buffer));
    }
    return part;
}

/// Whether a table with an entry for each round would be too large, and one without takes at most half of it.
bool joins(const Schedule& schedule, std::uint64_t most_bytes) {
    const auto rounds = static_cast<std::uint64_t>(schedule.rounds());
    const std::uint64_t each = sizeof(RoundTable::Entry) + sizeof(RoundTable::Run);
    if (static_cast<std::uint64_t>(schedule.ranks()) * rounds * each <= most_bytes) return false;
    const Part one = part_of(schedule, 0, 1, {}, true, false);
    return 2 * std::max(one.entries.size(), one.runs.size()) <= rounds;
}

/// A schedule is asked some 10^9 times for the largest points: by all cores.
std::vector<Part> parts_of(const Schedule& schedule, const SendLimits& limits, bool joins, bool receives) {
    constexpr Rank few = 4096;
    const Rank ranks = schedule.ranks();
    const auto cores = static_cast<Rank>(std::max(1U, std::thread::hardware_concurrency()));
    const Rank each = std::max(few, (ranks + cores - 1) / cores);
    std::vector<std::future<Part>> asked;
    for (Rank begin = 0; begin < ranks; begin += std::min(each, ranks - begin)) {
        const Rank end = begin + std::min(each, ranks - begin);
        asked.push_back(std::async(each < ranks ? std::launch::async : std::launch::deferred,
                                   [&schedule, &limits, begin, end, joins, receives] {
                                       return part_of(schedule, begin, end, limits, joins, receives);
                                   }));
    }
    std::vector<Part> parts;
    parts.reserve(asked.size());
    for (auto& part : asked) parts.push_back(part.get());
    return parts;
}

/// What a graph has under way at a time is known to its run alone. Few ranks have more than some messages under way,
/// and records grow between launches: so this is more than one launch needs, unless it begins with an enormous burst.
std::uint64_t likely_at_once(const GraphSchedule& graph) {
    const std::uint64_t few = std::max<std::uint64_t>(8 * static_cast<std::uint64_t>(graph.ranks()), 1 << 20);
    return std::min(static_cast<std::uint64_t>(graph.table().header().sends), few);
}

template <class T>
Array<T> array_of(Memory& memory, const std::vector<T>& values) {
    Array<T> array(memory, values.size());
    std::copy(values.begin(), values.end(), array.get());
    return array;
}

}  // namespace

RoundTable::RoundTable(Memory& memory, const Schedule& schedule, const SendLimits& limits, bool receives,
                       std::uint64_t most_bytes)
    : count_(static_cast<std::size_t>(schedule.rounds())),
      joins_(schedule.graph() == nullptr && joins(schedule, most_bytes)),
      one_sided_(schedule.one_sided()),
      cuts_rounds_(schedule.cuts_rounds()),
      in_turn_(schedule.receives_in_turn()) {
    if (schedule.graph() != nullptr) {
        most_at_once_ = likely_at_once(*schedule.graph());
        most_bytes_at_once_ = static_cast<std::uint64_t>(schedule.ranks()) * static_cast<std::uint64_t>(limits.buffer);
        return;
    }
    receives = receives || in_turn_;
    const std::vector<Part> parts = parts_of(schedule, limits, joins_, receives);
    std::size_t entries = 0, runs = 0;
    for (const Part& part : parts) {
        entries += part.entries.size();
        runs += part.runs.size();
        most_at_once_ += part.most_at_once;
        most_bytes_at_once_ += part.most_bytes_at_once;
    }
    entries_ = Array<Entry>(memory, entries);
    runs_ = Array<Run>(memory, runs);
    if (joins_) {
        firsts_ = Array<std::uint32_t>(memory, entries);
        of_rank_ = Array<std::uint64_t>(memory, static_cast<std::size_t>(schedule.ranks()) + 1);
    }
    RoundNumbers different;
    SizeNumbers sizes;
    std::vector<std::uint64_t> receives_begin;
    std::vector<Run> receive_runs;
    std::uint64_t entry = 0, run = 0, rank = 0;  // the next one's number
    for (const Part& part : parts) {
        std::vector<std::uint32_t> number_of_round, number_of_size;
        for (const Round& round : part.different.values) number_of_round.push_back(different.of(fields(round), round));
        for (const std::int64_t size : part.sizes.values) number_of_size.push_back(sizes.of(size, size));
        if (joins_) {
            for (const std::uint64_t first : part.of_rank) of_rank_[rank++] = entry + first;
            std::copy(part.firsts.begin(), part.firsts.end(), firsts_.get() + entry);
        }
        const std::uint64_t runs_before = run;
        for (const Entry& own : part.entries) {
            entries_[entry++] = {runs_before + own.first, own.runs, number_of_round[own.what]};
        }
        for (const Run& own : part.runs) runs_[run++] = {own.first, own.peer, own.step, number_of_size[own.size]};
        for (const std::uint64_t first : part.receives_begin) receives_begin.push_back(receive_runs.size() + first);
        for (const Run& own : part.receive_runs) {
            receive_runs.push_back({own.first, own.peer, own.step, number_of_size[own.size]});
        }
    }
    if (joins_) of_rank_[rank] = entry;
    if (receives) {
        receives_begin.push_back(receive_runs.size());
        receives_begin_ = array_of(memory, receives_begin);
        receive_runs_ = array_of(memory, receive_runs);
    }
    different_ = array_of(memory, different.values);
    sizes_ = array_of(memory, sizes.values);
}

std::uint64_t RoundTable::bytes() const {
    return entries_.bytes() + firsts_.bytes() + of_rank_.bytes() + runs_.bytes() + receives_begin_.bytes() +
           receive_runs_.bytes() + different_.bytes() + sizes_.bytes();
}

}  // namespace tramontane::device
