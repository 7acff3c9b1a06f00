#include "device/rounds.hpp"

#include <algorithm>
#include <future>
#include <map>
#include <thread>
#include <tuple>
#include <vector>

namespace tramontane::device {
namespace {

auto fields(const Round& r) {
    return std::tuple(r.phase, r.sends, r.receives, r.window, r.in_turn, r.waits, r.work, r.ends, r.sends_only, r.call,
                      r.access, r.window_number, r.put_cost, r.bytes, r.phase_receives);
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
    std::vector<RoundTable::Entry> rounds;
    std::vector<RoundTable::Run> runs;
    RoundNumbers different;
    SizeNumbers sizes;
    std::uint64_t most_at_once = 0;
};

void add_sends(Part& part, const Schedule& schedule, Rank rank, std::int64_t round, std::int32_t sends) {
    for (std::int32_t index = 0; index < sends; ++index) {
        const Transfer transfer = schedule.send(rank, round, index);
        const std::uint32_t size = part.sizes.of(transfer.bytes, transfer.bytes);
        if (index > 0) {
            RoundTable::Run& run = part.runs.back();
            if (index == run.first + 1) run.step = transfer.peer - run.peer;  // its second one
            if (size == run.size && transfer.peer == run.peer + (index - run.first) * run.step) continue;
        }
        part.runs.push_back({index, transfer.peer, 0, size});
    }
}

Part part_of(const Schedule& schedule, Rank begin, Rank end) {
    Part part;
    for (Rank rank = begin; rank < end; ++rank) {
        std::uint64_t most = 0;
        for (std::int64_t number = 0; number < schedule.rounds(); ++number) {
            const Round round = schedule.round(rank, number);
            const std::uint64_t first = part.runs.size();
            add_sends(part, schedule, rank, number, round.sends);
            part.rounds.push_back(
                {first, static_cast<std::uint32_t>(part.runs.size() - first), part.different.of(fields(round), round)});
            const auto under_way = round.window > 0 ? std::min(round.window, round.sends) : round.sends;
            most = round.waits ? std::max<std::uint64_t>(most, static_cast<std::uint64_t>(under_way))
                               : most + static_cast<std::uint64_t>(round.sends);
        }
        part.most_at_once += most;
    }
    return part;
}

/// A schedule is asked some 10^9 times for the largest points: by all cores.
std::vector<Part> parts_of(const Schedule& schedule) {
    constexpr Rank few = 4096;
    const Rank ranks = schedule.ranks();
    const auto cores = static_cast<Rank>(std::max(1U, std::thread::hardware_concurrency()));
    const Rank each = std::max(few, (ranks + cores - 1) / cores);
    std::vector<std::future<Part>> asked;
    for (Rank begin = 0; begin < ranks; begin += std::min(each, ranks - begin)) {
        const Rank end = begin + std::min(each, ranks - begin);
        asked.push_back(std::async(each < ranks ? std::launch::async : std::launch::deferred,
                                   [&schedule, begin, end] { return part_of(schedule, begin, end); }));
    }
    std::vector<Part> parts;
    parts.reserve(asked.size());
    for (auto& part : asked) parts.push_back(part.get());
    return parts;
}

template <class T>
Array<T> array_of(Memory& memory, const std::vector<T>& values) {
    Array<T> array(memory, values.size());
    std::copy(values.begin(), values.end(), array.get());
    return array;
}

}  // namespace

RoundTable::RoundTable(Memory& memory, const Schedule& schedule)
    : count_(static_cast<std::size_t>(schedule.rounds())),
      one_sided_(schedule.one_sided()),
      cuts_rounds_(schedule.cuts_rounds()) {
    const std::vector<Part> parts = parts_of(schedule);
    std::size_t rounds = 0, runs = 0;
    for (const Part& part : parts) {
        rounds += part.rounds.size();
        runs += part.runs.size();
        most_at_once_ += part.most_at_once;
    }
    rounds_ = Array<Entry>(memory, rounds);
    runs_ = Array<Run>(memory, runs);
    RoundNumbers different;
    SizeNumbers sizes;
    Entry* next_round = rounds_.get();
    Run* next_run = runs_.get();
    for (const Part& part : parts) {
        std::vector<std::uint32_t> number_of_round, number_of_size;
        for (const Round& round : part.different.values) number_of_round.push_back(different.of(fields(round), round));
        for (const std::int64_t size : part.sizes.values) number_of_size.push_back(sizes.of(size, size));
        const auto before = static_cast<std::uint64_t>(next_run - runs_.get());
        for (const Entry& entry : part.rounds)
            *next_round++ = {before + entry.first, entry.runs, number_of_round[entry.what]};
        for (const Run& run : part.runs) *next_run++ = {run.first, run.peer, run.step, number_of_size[run.size]};
    }
    different_ = array_of(memory, different.values);
    sizes_ = array_of(memory, sizes.values);
}

std::uint64_t RoundTable::bytes() const {
    return rounds_.bytes() + runs_.bytes() + different_.bytes() + sizes_.bytes();
}

}  // namespace tramontane::device
