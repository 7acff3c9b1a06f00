#include "stamps.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace tramontane::executor {
namespace {

/// The finaliser of SplitMix64: every bit of the result depends on every bit of the number.
[[nodiscard]] constexpr std::uint64_t scrambled(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

[[nodiscard]] std::uint64_t seed_of(const Stamp& stamp) {
    std::uint64_t seed = 0;
    for (const std::int64_t each : {std::int64_t{stamp.source}, std::int64_t{stamp.target}, std::int64_t{stamp.tag},
                                    stamp.round, stamp.repetition}) {
        seed = scrambled(seed + 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(each));
    }
    return seed;
}

[[nodiscard]] std::string shown(std::byte value) { return "byte " + std::to_string(std::to_integer<int>(value)); }

}  // namespace

void write_stamped(const Stamp& stamp, std::byte* at, std::int64_t bytes) {
    std::uint64_t counter = seed_of(stamp);
    for (std::int64_t done = 0; done < bytes; done += 8) {
        const std::uint64_t word = scrambled(counter += 0x9e3779b97f4a7c15U);
        std::memcpy(at + done, &word, static_cast<std::size_t>(std::min<std::int64_t>(8, bytes - done)));
    }
}

void Stamps::Side::add(const Transfer& transfer) {
    places.push_back(static_cast<std::int64_t>(bytes.size()));
    transfers.push_back(transfer);
    bytes.resize(bytes.size() + static_cast<std::size_t>(transfer.bytes));
}

template <class Visit>
void Stamps::each(const Side& side, std::int64_t round, Visit&& visit) const {
    const auto number = static_cast<std::size_t>(round % period_);
    for (std::size_t i = side.begins[number]; i < side.begins[number + 1]; ++i) {
        visit(side.transfers[i], side.places[i]);
    }
}

Stamps::Stamps(const Schedule& schedule, Rank rank, Fault fault)
    : rank_{rank}, fault_{fault}, rounds_{schedule.rounds()}, period_{schedule.rounds() / schedule.repeats()} {
    std::int64_t longest = 0;
    for (Side* const side : {&sending_, &receiving_}) side->end_round();
    for (std::int64_t number = 0; number < period_; ++number) {
        const Round round = schedule.round(rank, number);
        for (std::int32_t i = 0; i < round.sends; ++i) sending_.add(schedule.send(rank, number, i));
        for (std::int32_t i = 0; i < round.receives; ++i) {
            const Transfer from = schedule.receive(rank, number, i);
            receiving_.add(from);
            longest = std::max(longest, from.bytes);
            if (from.bytes > 0) faulty_round_ = number;
        }
        for (Side* const side : {&sending_, &receiving_}) side->end_round();
    }
    expected_.resize(static_cast<std::size_t>(longest));
    // Even a message of 0 bytes has an address.
    for (Side* const side : {&sending_, &receiving_}) side->bytes.resize(side->bytes.size() + 1);
}

void Stamps::fill(std::int64_t repetition) {
    repetition_ = repetition;
    for (std::int64_t round = rounds_ - period_; round < rounds_; ++round) prepare(round);
}

/// Rounds that repeat have their messages in the same memory. As long as every round is checked, each writes stamps of
/// its own; otherwise all repeats send those of the last one.
void Stamps::pack(std::int64_t round) {
    if (checking()) prepare(round);
}

void Stamps::unpack(std::int64_t round) {
    if (fault_ != Fault::none && round == rounds_ - period_ + faulty_round_) corrupt(round);
    if (checking()) check(round);
}

void Stamps::check_result() {
    for (std::int64_t round = rounds_ - period_; round < rounds_; ++round) check(round);
}

const void* Stamps::outgoing(std::int64_t round, std::int32_t index) const {
    return sending_.bytes.data() + sending_.place(round % period_, index);
}

void* Stamps::incoming(std::int64_t round, std::int32_t index) {
    return receiving_.bytes.data() + receiving_.place(round % period_, index);
}

void Stamps::prepare(std::int64_t round) {
    each(sending_, round, [&](const Transfer& to, std::int64_t place) {
        write_stamped(sent(to, round), sending_.bytes.data() + place, to.bytes);
    });
    each(receiving_, round, [&](const Transfer& from, std::int64_t place) {
        std::byte* const at = receiving_.bytes.data() + place;
        write_stamped(received(from, round), at, from.bytes);
        std::transform(at, at + from.bytes, at, [](std::byte value) { return ~value; });
    });
}

/// Of the first message that has any byte.
void Stamps::corrupt(std::int64_t round) {
    bool done = false;
    each(receiving_, round, [&](const Transfer& from, std::int64_t place) {
        if (done || from.bytes == 0) return;
        done = true;
        std::byte* const first = receiving_.bytes.data() + place;
        std::byte* const end = first + from.bytes;
        std::byte* const other = std::find_if(first, end, [&](std::byte value) { return value != *first; });
        if (fault_ == Fault::missing) {
            write_stamped(received(from, round), first, from.bytes);
            std::transform(first, end, first, [](std::byte value) { return ~value; });
        } else if (fault_ == Fault::place && other != end) {
            std::swap(*first, *other);
        } else {  // no two bytes differ: then nothing else can be told from what was sent
            first[from.bytes / 2] ^= std::byte{4};
        }
    });
}

void Stamps::check(std::int64_t round) {
    each(receiving_, round, [&](const Transfer& from, std::int64_t place) {
        write_stamped(received(from, round), expected_.data(), from.bytes);
        const std::byte* const found = receiving_.bytes.data() + place;
        outcome().checked += from.bytes;
        if (std::memcmp(found, expected_.data(), static_cast<std::size_t>(from.bytes)) == 0) return;
        for (std::int64_t i = 0; i < from.bytes; ++i) {
            const std::byte right = expected_[static_cast<std::size_t>(i)];
            if (found[i] == right) continue;
            outcome().report(rank_,
                             "round " + std::to_string(round) + ", message of rank " + std::to_string(from.peer) +
                                 " with tag " + std::to_string(from.tag) + ", place " + std::to_string(i),
                             shown(found[i]) + (found[i] == ~right ? ", as if it had not come" : ""), shown(right));
        }
    });
}

}  // namespace tramontane::executor
