#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "random.hpp"
#include "testing.hpp"
#include "workload.hpp"

using namespace tramontane;

namespace {

constexpr const char* costs =
    " one_sided.put=1 one_sided.post=10 one_sided.start=100 one_sided.complete=1000 one_sided.wait=10000"
    " one_sided.flush=100000 one_sided.fence=1000000 one_sided.lock=10000000 one_sided.unlock=100000000";

std::vector<std::string> words(const std::string& line) {
    std::vector<std::string> found;
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t end = std::min(line.find(' ', at), line.size());
        if (end > at) found.push_back(line.substr(at, end - at));
        at = end + 1;
    }
    return found;
}

/// A program of one halo, whole or with work between its begin and its end.
std::unique_ptr<Schedule> program(const std::string& one_sided, std::int64_t ranks, std::int64_t repeat, bool split,
                                  const std::string& halo = "width=7 grid=30x20x2") {
    std::string line = "kind=program repeat=" + std::to_string(repeat) + " steps.0.kind=halo";
    for (const std::string& key : words(halo)) line += " steps.0." + key;
    for (const std::string& key : words(one_sided)) line += " steps.0.one_sided." + key;
    if (split) {
        line += " steps.0.begin=h steps.1.kind=work steps.1.time=5 steps.2.kind=allreduce steps.2.algorithm=ring";
        line += " steps.2.count=3 steps.2.repeats=1 steps.3.kind=end steps.3.of=h";
    }
    return make_workload(split_arguments(words(line + costs)), ranks)->schedule();
}

const std::vector<std::string> ways{"synchronisation=fence",
                                    "synchronisation=fence scope=neighbours",
                                    "synchronisation=fence opens=after",
                                    "synchronisation=post-start",
                                    "synchronisation=post-start opens=after",
                                    "synchronisation=passive",
                                    "synchronisation=passive scope=all",
                                    "synchronisation=lock",
                                    "synchronisation=lock scope=neighbours"};

bool is_put(const Round& round) {
    return round.call == WindowCall::puts || round.call == WindowCall::acknowledged_puts;
}

}  // namespace

TEST_CASE("every message of a one-sided exchange is received by whom it is sent to, in its round") {
    for (std::uint64_t number = 0; number < 60; ++number) {
        auto draw = [&, count = std::uint64_t{0}](std::uint64_t range) mutable {
            return below(random_bits(7, number, count++), range);
        };
        const auto ranks = static_cast<Rank>(1 + draw(24));
        const auto schedule = program(ways[draw(ways.size())], ranks, 1 + static_cast<std::int64_t>(draw(3)),
                                      draw(2) == 0, "width=" + std::to_string(1 + draw(40)) + " grid=30x20x2");
        for (std::int64_t at = 0; at < schedule->rounds(); ++at) {
            std::map<std::tuple<Rank, Rank, std::int32_t, std::int64_t>, int> open;
            for (Rank rank = 0; rank < ranks; ++rank) {
                const Round round = schedule->round(rank, at);
                REQUIRE(round.call == schedule->round(0, at).call);
                REQUIRE(round.window_number == schedule->round(0, at).window_number);
                for (std::int32_t index = 0; index < round.sends; ++index) {
                    const Transfer to = schedule->send(rank, at, index);
                    REQUIRE(to.peer != rank);
                    ++open[{rank, to.peer, to.tag, to.bytes}];
                }
                for (std::int32_t index = 0; index < round.receives; ++index) {
                    const Transfer from = schedule->receive(rank, at, index);
                    --open[{from.peer, rank, from.tag, from.bytes}];
                }
            }
            REQUIRE(std::all_of(open.begin(), open.end(), [](const auto& each) { return each.second == 0; }));
        }
    }
}

TEST_CASE("what a round ends is a round of puts, and all puts are read once") {
    for (const std::string& way : ways) {
        for (const bool split : {false, true}) {
            const auto schedule = program(way, 12, 3, split);
            for (Rank rank = 0; rank < 12; ++rank) {
                std::map<std::int64_t, int> read;
                for (std::int64_t at = 0; at < schedule->rounds(); ++at) {
                    const Round round = schedule->round(rank, at);
                    if (is_put(round)) {
                        REQUIRE_FALSE(round.waits);
                        REQUIRE(read.emplace(at, 0).second);
                    }
                    if (round.ends == 0) continue;
                    const Round ended = schedule->round(rank, at - round.ends);
                    REQUIRE(is_put(ended));
                    if (round.call == WindowCall::read) {
                        REQUIRE(ended.window_number == round.window_number);
                        ++read[at - round.ends];
                    } else {
                        REQUIRE(round.sends_only);
                        REQUIRE(ended.call == WindowCall::acknowledged_puts);
                    }
                }
                REQUIRE(read.size() == 3 * 2);
                REQUIRE(std::all_of(read.begin(), read.end(), [](const auto& each) { return each.second == 1; }));
            }
        }
    }
}

TEST_CASE("puts are the messages of the exchange, in its order") {
    const auto exchange = make_workload(split_arguments({"kind=halo", "width=7", "grid=30x20x2"}), 12)->schedule();
    for (const std::string& way : ways) {
        const auto schedule = program(way, 12, 1, false);
        std::int64_t inner = 0;
        for (std::int64_t at = 0; at < schedule->rounds(); ++at) {
            if (!is_put(schedule->round(0, at))) continue;
            for (Rank rank = 0; rank < 12; ++rank) {
                const std::int32_t sends = exchange->round(rank, inner).sends;
                REQUIRE(schedule->round(rank, at).sends == sends);
                REQUIRE(schedule->round(rank, at).put_cost == 1);
                for (std::int32_t index = 0; index < sends; ++index) {
                    const Transfer put = schedule->send(rank, at, index), sent = exchange->send(rank, inner, index);
                    REQUIRE(put.peer == sent.peer);
                    REQUIRE(put.tag == sent.tag);
                    REQUIRE(put.bytes == sent.bytes);
                }
            }
            ++inner;
        }
        REQUIRE(inner == exchange->rounds());
    }
}

TEST_CASE("an opening meets a closing: before puts each target opens, and after them each origin tells") {
    for (const std::string way : {"synchronisation=post-start", "synchronisation=post-start opens=after"}) {
        const auto schedule = program(way, 12, 4, true);
        std::map<std::int32_t, std::int64_t> balance;  // of windows: opened, and not closed
        for (std::int64_t at = 0; at < schedule->rounds(); ++at) {
            const Round round = schedule->round(5, at);
            if (round.call == WindowCall::post_start) REQUIRE(++balance[round.window_number] == 1);
            if (is_put(round)) REQUIRE(balance[round.window_number] == 1);
            if (round.call == WindowCall::complete_wait) REQUIRE(--balance[round.window_number] == 0);
        }
        REQUIRE(std::all_of(balance.begin(), balance.end(), [](const auto& each) { return each.second == 0; }));
    }
}

TEST_CASE("costs are those of the calls: once, or for each neighbour") {
    // 4 x 3 ranks, a halo of one neighbour on each side: two in x, and two in y.
    const auto sum = [](const std::string& way, std::int64_t repeat) {
        const auto schedule = program(way, 12, repeat, false, "width=1 grid=32x24x1 decomposition=4x3");
        std::int64_t all = 0;
        for (std::int64_t at = 0; at < schedule->rounds(); ++at) all += schedule->round(0, at).work;
        return all;
    };
    REQUIRE(sum("synchronisation=fence", 3) == 3 * 2 * 2 * 1'000'000);
    REQUIRE(sum("synchronisation=fence opens=after", 3) == 3 * 2 * 2 * 1'000'000);
    REQUIRE(sum("synchronisation=post-start", 3) == 3 * 2 * 2 * 11'110);
    REQUIRE(sum("synchronisation=passive", 3) == 3 * 2 * 2 * 100'000 + 2 * 110'000'000);
    REQUIRE(sum("synchronisation=lock", 3) == 3 * 2 * 110'000'000);
}

TEST_CASE("neighbours count once, however many messages they get") {
    // Two ranks in x: both sides are the same rank.
    const auto schedule = program("synchronisation=post-start", 2, 1, false, "width=1 grid=8x8x1 decomposition=2x1");
    for (std::int64_t at = 0; at < schedule->rounds(); ++at) {
        const Round round = schedule->round(0, at);
        if (round.call == WindowCall::post_start || round.call == WindowCall::complete_wait) {
            REQUIRE(round.sends == (round.window_number == 0 ? 1 : 0));
        }
        if (is_put(round)) REQUIRE(round.sends == (round.window_number == 0 ? 2 : 0));
    }
}
