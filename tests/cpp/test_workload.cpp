#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "testing.hpp"
#include "traffic.hpp"
#include "workload.hpp"

using namespace tramontane;

namespace {

std::string refusal(const std::vector<std::string>& words, std::int64_t ranks = 6,
                    const Permissions& permissions = {}) {
    try {
        (void)make_workload(split_arguments(words), ranks, permissions)->schedule();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "accepted";
}

std::unique_ptr<Schedule> schedule(const std::vector<std::string>& words, std::int64_t ranks) {
    return make_workload(split_arguments(words), ranks)->schedule();
}

}  // namespace

TEST_CASE("a workload makes the schedule that is described") {
    const auto transposition = schedule({"kind=transposition", "algorithm=ring-k", "radix=4", "grid=1440x720x64"}, 256);
    REQUIRE(transposition->ranks() == 256);
    REQUIRE(transposition->rounds() == 12);
    REQUIRE(transposition->send(0, 0, 0).bytes == 8 * 90 * 45 * 4);
    REQUIRE(schedule({"kind=halo", "width=20", "grid=1440x720x64"}, 256)->phases() ==
            std::vector<std::string>{"x-sweep", "y-sweep"});
    REQUIRE(schedule({"kind=allreduce", "algorithm=recursive-k", "radix=4", "repeats=50"}, 256)->rounds() == 200);
}

TEST_CASE("what cannot be is refused in one line") {
    REQUIRE(refusal({}) ==
            "workload.kind: found nothing, allowed: transposition, halo, allreduce, collective, "
            "pattern, trace, random-shifts, program, jobs");
    REQUIRE(refusal({"kind=tree"}) ==
            "workload.kind: found 'tree', allowed: transposition, halo, allreduce, collective, "
            "pattern, trace, random-shifts, program, jobs");
    const std::vector<std::string> ring{"kind=transposition", "algorithm=ring-k", "radix=1", "grid=10x10x2"};
    REQUIRE(refusal(ring) == "accepted");
    const auto decomposed = [&](const std::string& by) {
        auto words = ring;
        words.push_back("decomposition=" + by);
        return words;
    };
    const std::string three = "workload.decomposition: found cx = 3 > nz = 2, allowed: cx <= nz = 2 and cy <= ny = 10";
    REQUIRE(refusal(decomposed("3x2")) == three);
    REQUIRE(refusal(decomposed("3x2"), 6, {.empty_blocks = true}) == "accepted");
    REQUIRE(refusal(decomposed("2x2")) ==
            "workload.decomposition: found [2, 2], that is 4 processes, allowed: cx * cy = 6, the number of ranks");
    REQUIRE(refusal({"kind=transposition", "algorithm=ring-k", "radix=0", "grid=10x10x2"}) ==
            "workload.radix: found '0', allowed: an integer from 1");
    REQUIRE(refusal({"kind=allreduce", "algorithm=ring-k"}) ==
            "workload.algorithm: found 'ring-k', allowed: recursive-k, recursive-doubling, ring, rabenseifner, "
            "rabenseifner-pairs");
    REQUIRE(refusal({"kind=allreduce", "algorithm=ring", "repeats=0"}) ==
            "workload.repeats: found '0', allowed: an integer from 1");
}

TEST_CASE("of several mistakes the one is told that explains the others") {
    const std::string misspelt = refusal({"kind=halo", "wdith=2", "grid=8x8x8"});
    REQUIRE(misspelt ==
            "workload.wdith: found an unknown key, allowed: the keys kind, width, grid, "
            "decomposition, calls, buffers");
    REQUIRE(refusal({"kind=halo", "grid=8x8x8"}) == "workload.width: found nothing, allowed: an integer from 1");
    REQUIRE(refusal({"kind=allreduce", "algorithm=ring", "radix=2"}) ==
            "workload.radix: found '2', but algorithm ring has none, allowed: only with recursive-k");
    REQUIRE(refusal({"kind=halo", "kind=halo"}) == "kind: found it twice, allowed: each key once");
    REQUIRE(refusal({"halo"}) == "arguments: found 'halo', allowed: key=value");
}

TEST_CASE("a value's type is told by its looks") {
    REQUIRE(parsed("12") == Value(std::int64_t{12}));
    REQUIRE(parsed("-3") == Value(std::int64_t{-3}));
    REQUIRE(parsed("1x2x3") == Value(std::vector<std::int64_t>{1, 2, 3}));
    REQUIRE(parsed("1,2") == Value(std::vector<std::int64_t>{1, 2}));
    for (const char* word : {"", "x", "1x", "2d", "1.5", "ring-4"}) REQUIRE(parsed(word) == Value(std::string(word)));
}

TEST_CASE("traffic is exact where all ranks are looked at, and close where some are") {
    const std::vector<std::string> words{"kind=transposition", "algorithm=bruck", "grid=97x89x83"};
    const auto workload = make_workload(split_arguments(words), 720);
    const auto sums = [&](const TrafficLimits& limits) {
        double messages = 0, bytes = 0;
        const auto made = workload->sampled();
        const TrafficSample sample(*made, limits);
        for (const PhaseTraffic& phase : sample.phases()) {
            for (const auto& [kind, count] : phase.messages) {
                messages += count;
                bytes += static_cast<double>(kind.bytes) * count;
            }
        }
        return std::pair{messages, bytes};
    };
    double messages = 0, bytes = 0;
    const auto made = workload->schedule();
    for (std::int64_t number = 0; number < made->rounds(); ++number) {
        for (Rank rank = 0; rank < made->ranks(); ++rank) {
            for (std::int32_t index = 0; index < made->round(rank, number).sends; ++index) {
                ++messages;
                bytes += static_cast<double>(made->send(rank, number, index).bytes);
            }
        }
    }
    REQUIRE(sums({}) == std::pair{messages, bytes});
    const auto [some, their_bytes] = sums({.calls = 1});
    REQUIRE(std::abs(some / messages - 1) < 1e-9);
    REQUIRE(std::abs(their_bytes / bytes - 1) < 0.03);
}

TEST_CASE("a halo of tiles is the same whether neighbours are looked up or looked for") {
    const auto workload =
        make_workload(split_arguments({"kind=halo", "width=5", "grid=144x72x4", "decomposition=bisection"}), 97);
    const auto table = workload->schedule();
    const auto search = workload->sampled();
    for (Rank rank = 0; rank < 97; ++rank) {
        const std::int32_t sends = table->round(rank, 0).sends;
        REQUIRE(search->round(rank, 0).sends == sends);
        for (std::int32_t index = 0; index < sends; ++index) {
            const Transfer one = table->send(rank, 0, index), other = search->send(rank, 0, index);
            REQUIRE((one.peer == other.peer && one.tag == other.tag && one.bytes == other.bytes));
        }
    }
}
