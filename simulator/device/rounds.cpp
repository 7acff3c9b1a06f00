#include "device/rounds.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace tramontane::device {
namespace {

constexpr std::uint64_t most_sends = std::uint64_t{1} << 33;  // 48 GiB

auto fields(const Round& r) {
    return std::tuple(r.phase, r.sends, r.receives, r.window, r.in_turn, r.waits, r.work, r.ends, r.sends_only, r.call,
                      r.access, r.window_number, r.put_cost, r.bytes);
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

template <class T>
Array<T> array_of(Memory& memory, const std::vector<T>& values) {
    Array<T> array(memory, values.size());
    std::copy(values.begin(), values.end(), array.get());
    return array;
}

}  // namespace

RoundTable::RoundTable(Memory& memory, const Schedule& schedule)
    : count_(static_cast<std::size_t>(schedule.rounds())), one_sided_(schedule.one_sided()) {
    const Rank ranks = schedule.ranks();
    std::uint64_t sends = 0;
    for (Rank rank = 0; rank < ranks; ++rank) {
        std::uint64_t most = 0;
        for (std::size_t number = 0; number < count_; ++number) {
            const Round round = schedule.round(rank, static_cast<std::int64_t>(number));
            sends += static_cast<std::uint64_t>(round.sends);
            const auto under_way = round.window > 0 ? std::min(round.window, round.sends) : round.sends;
            most = round.waits ? std::max<std::uint64_t>(most, static_cast<std::uint64_t>(under_way))
                               : most + static_cast<std::uint64_t>(round.sends);
        }
        most_at_once_ += most;
        if (sends > most_sends) {
            throw std::invalid_argument("device: found a schedule of " + std::to_string(sends) +
                                        " messages of its first " + std::to_string(rank + 1) +
                                        " ranks, allowed: at most " + std::to_string(most_sends) +
                                        " in all, whose table an accelerator holds");
        }
    }
    rounds_ = Array<Entry>(memory, static_cast<std::size_t>(ranks) * count_);
    peers_ = Array<Rank>(memory, sends);
    size_of_ = Array<std::uint16_t>(memory, sends);
    Numbers<decltype(fields(Round{})), Round> different;
    Numbers<std::int64_t, std::int64_t> sizes;
    std::uint64_t next = 0;
    for (Rank rank = 0; rank < ranks; ++rank) {
        for (std::size_t number = 0; number < count_; ++number) {
            const auto at = static_cast<std::int64_t>(number);
            const Round round = schedule.round(rank, at);
            rounds_[place(rank, at)] = {next, different.of(fields(round), round)};
            for (std::int32_t index = 0; index < round.sends; ++index, ++next) {
                const Transfer transfer = schedule.send(rank, at, index);
                const std::uint32_t size = sizes.of(transfer.bytes, transfer.bytes);
                if (size > std::numeric_limits<std::uint16_t>::max()) {
                    throw std::invalid_argument(
                        "device: found messages of more than 65536 different sizes, allowed: "
                        "as many");
                }
                peers_[next] = transfer.peer;
                size_of_[next] = static_cast<std::uint16_t>(size);
            }
        }
    }
    different_ = array_of(memory, different.values);
    sizes_ = array_of(memory, sizes.values);
}

std::uint64_t RoundTable::bytes() const {
    return rounds_.bytes() + different_.bytes() + peers_.bytes() + size_of_.bytes() + sizes_.bytes();
}

}  // namespace tramontane::device
