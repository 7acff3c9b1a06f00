#include "stamped.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "../random.hpp"
#include "words.hpp"

namespace tramontane::executor {
namespace {

/// What the words of a message are drawn from.
[[nodiscard]] std::uint64_t stamp(Rank source, Rank target, std::int64_t round, std::int32_t tag,
                                  std::int64_t repetition) {
    const auto pair = static_cast<std::uint64_t>(source) << 32 | static_cast<std::uint32_t>(target);
    const auto when = static_cast<std::uint64_t>(round) << 16 ^ static_cast<std::uint64_t>(repetition);
    return random_bits(pair, when, static_cast<std::uint32_t>(tag));
}

/// Never null, because some MPI libraries refuse null for messages without bytes.
void make_room(std::vector<std::uint64_t>& words, std::size_t count) { words.assign(count + 1, 0); }

}  // namespace

Stamped::Stamped(const Schedule& schedule, Rank rank, Fault fault)
    : schedule_{schedule}, rank_{rank}, fault_{fault}, last_{schedule.rounds() - 1} {
    const auto receives = [&] {
        const Round round = schedule.round(rank, last_);
        for (std::int32_t index = 0; index < round.receives; ++index) {
            if (schedule.receive(rank, last_, index).bytes > 0) return true;
        }
        return false;
    };
    while (last_ >= 0 && !receives()) --last_;
}

void Stamped::pack(std::int64_t number) {
    Buffers buffers;
    if (!spare_.empty()) {
        buffers = std::move(spare_.back());
        spare_.pop_back();
    }
    const Round round = schedule_.round(rank_, number);
    const auto place = [](auto&& transfer, std::int32_t count, std::vector<std::size_t>& at) {
        std::size_t words = 0;
        at.clear();
        for (std::int32_t index = 0; index < count; ++index) {
            at.push_back(words);
            words += words_of(transfer(index).bytes);
        }
        return words;
    };
    const auto send = [&](std::int32_t index) { return schedule_.send(rank_, number, index); };
    const auto receive = [&](std::int32_t index) { return schedule_.receive(rank_, number, index); };
    make_room(buffers.sent, place(send, round.sends, buffers.send_at));
    make_room(buffers.received, place(receive, round.receives, buffers.receive_at));
    for (std::int32_t index = 0; index < round.sends; ++index) {
        const Transfer to = send(index);
        const std::uint64_t of = stamp(rank_, to.peer, number, to.tag, repetition_);
        std::uint64_t* const first = buffers.sent.data() + buffers.send_at[static_cast<std::size_t>(index)];
        for (std::size_t at = 0; at < words_of(to.bytes); ++at) first[at] = word(of, at, to.bytes);
    }
    rounds_[number] = std::move(buffers);
}

void Stamped::unpack(std::int64_t number) {
    const auto found = rounds_.find(number);
    if (fault_ != Fault::none && number == last_) {
        Buffers& buffers = found->second;
        corrupt(buffers.received, buffers.receive_at.size() > 1 ? buffers.receive_at[1] : buffers.received.size() - 1);
    }
    if (checking_) check(number, found->second);
    if (number == last_) return;
    spare_.push_back(std::move(found->second));
    rounds_.erase(found);
}

void Stamped::check_result() {
    const auto found = rounds_.find(last_);
    if (found == rounds_.end()) return;
    check(last_, found->second);
    spare_.push_back(std::move(found->second));
    rounds_.erase(found);
}

void Stamped::check(std::int64_t number, const Buffers& buffers) {
    const Round round = schedule_.round(rank_, number);
    for (std::int32_t index = 0; index < round.receives; ++index) {
        const Transfer from = schedule_.receive(rank_, number, index);
        const std::uint64_t of = stamp(from.peer, rank_, number, from.tag, repetition_);
        const std::uint64_t* const first =
            buffers.received.data() + buffers.receive_at[static_cast<std::size_t>(index)];
        for (std::size_t at = 0; at < words_of(from.bytes); ++at) {
            ++findings_.checked;
            if (first[at] == word(of, at, from.bytes)) continue;
            ++findings_.wrong;
            if (!findings_.first.empty()) continue;
            findings_.first = "round " + std::to_string(number) + ", message of " + std::to_string(from.bytes) +
                              " B from rank " + std::to_string(from.peer) + " to rank " + std::to_string(rank_) +
                              ": word " + std::to_string(at) + " is not what was sent";
        }
    }
}

/// \param message words of the first message among them
void Stamped::corrupt(std::vector<std::uint64_t>& words, std::size_t message) const {
    const std::size_t count = words.size() - 1;
    if (fault_ == Fault::missing) {
        std::fill_n(words.begin(), message > 0 ? message : count, 0);
    } else if (fault_ == Fault::place && count > 1) {
        std::swap(words[0], words[count - 1]);
    } else {
        words[0] ^= 1;
    }
}

const double* Stamped::outgoing(std::int64_t round, std::int32_t index) const {
    const Buffers& buffers = rounds_.at(round);
    return reinterpret_cast<const double*>(buffers.sent.data() + buffers.send_at[static_cast<std::size_t>(index)]);
}

double* Stamped::incoming(std::int64_t round, std::int32_t index) {
    Buffers& buffers = rounds_.at(round);
    return reinterpret_cast<double*>(buffers.received.data() + buffers.receive_at[static_cast<std::size_t>(index)]);
}

}  // namespace tramontane::executor
