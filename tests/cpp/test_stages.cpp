// Schedules of which only some stages are kept.
#include <cstdint>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sampled_stages.hpp"
#include "testing.hpp"
#include "transposition.hpp"

using namespace tramontane;

namespace {

Transposition made(const std::string& algorithm, std::int64_t radix, Decomposition d) {
    Values values;
    values.set("algorithm", algorithm);
    values.set("radix", radix);
    return {{96, 96, 48}, d, values};
}

using Message = std::pair<Rank, std::int64_t>;

/// What a rank sends in the stages [begin, end) of a phase, as partner and bytes.
std::multiset<Message> sent(const Transposition& whole, std::int32_t phase, Rank rank, std::int64_t begin,
                            std::int64_t end) {
    const StagedPhase staged = staged_phases(whole)[static_cast<std::size_t>(phase)];
    std::multiset<Message> messages;
    const auto add = [&](std::int64_t round, std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i) {
            const Transfer send = whole.send(rank, round, static_cast<std::int32_t>(i));
            messages.insert({send.peer, send.bytes});
        }
    };
    if (staged.window > 0) {
        add(staged.first, begin * staged.window, std::min<std::int64_t>(end * staged.window, staged.sends));
    } else {
        for (std::int64_t stage = begin; stage < end; ++stage) {
            add(staged.first + stage, 0, whole.round(rank, staged.first + stage).sends);
        }
    }
    return messages;
}

}  // namespace

TEST_CASE("stages are rounds, or the sends of a sliding window over those under way") {
    const auto counts = [](const Transposition& schedule) {
        std::vector<std::int64_t> stages;
        for (const StagedPhase& phase : staged_phases(schedule)) stages.push_back(phase.stages());
        return stages;
    };
    CHECK(counts(made("ring-k", 1, {6, 8})) == std::vector<std::int64_t>{5, 7, 5});
    CHECK(counts(made("ring-k", 3, {6, 8})) == std::vector<std::int64_t>{2, 3, 2});
    CHECK(counts(made("sliding-window", 3, {6, 8})) == std::vector<std::int64_t>{2, 3, 2});
    CHECK(counts(made("ring-k", 1, {1, 8})) == std::vector<std::int64_t>{0, 7, 0});
}

TEST_CASE("a sampled schedule has the messages of its windows, and each has a receiver") {
    for (const auto& [algorithm, radix] : {std::pair{"ring-k", 1}, {"ring-k", 2}, {"sliding-window", 1}}) {
        const Transposition whole = made(algorithm, radix, {6, 8});
        const bool slides = std::string(algorithm) == "sliding-window";
        const std::vector<StagedPhase> staged = staged_phases(whole);
        std::vector<std::vector<StageWindow>> windows;
        for (const StagedPhase& phase : staged) windows.push_back({{0, 1}, {phase.stages() - 1, 1}});
        const SampledStages sampled(whole, windows);
        CHECK(sampled.phases().size() == 6);
        CHECK(sampled.cuts_rounds() == slides);
        for (Rank rank = 0; rank < whole.ranks(); ++rank) {
            std::vector<std::multiset<Message>> found(6);
            for (std::int64_t at = 0; at < sampled.rounds(); ++at) {
                const Round round = sampled.round(rank, at);
                CHECK(round.sends == round.receives);
                for (std::int32_t i = 0; i < round.sends; ++i) {
                    const std::int32_t window = round.phase + (round.phase_receives > 0 ? i / round.phase_receives : 0);
                    const Transfer send = sampled.send(rank, at, i);
                    CHECK(sampled.send_bytes(rank, at, i) == send.bytes);
                    const Transfer receive = sampled.receive(send.peer, at, i);
                    CHECK(receive.peer == rank);
                    CHECK(receive.bytes == send.bytes);
                    found[static_cast<std::size_t>(window)].insert({send.peer, send.bytes});
                }
            }
            for (std::int32_t window = 0; window < 6; ++window) {
                const std::int64_t last = staged[static_cast<std::size_t>(window / 2)].stages() - 1;
                const std::int64_t stage = window % 2 == 0 ? 0 : last;
                CHECK(found[static_cast<std::size_t>(window)] == sent(whole, window / 2, rank, stage, stage + 1));
            }
        }
    }
}

TEST_CASE("windows that are no windows are refused") {
    const Transposition rings = made("ring-k", 1, {6, 8}), slides = made("sliding-window", 1, {6, 8});
    using Windows = std::vector<std::vector<StageWindow>>;
    const auto refused = [](const Schedule& schedule, const Windows& windows) {
        CHECK_THROWS_AS(SampledStages(schedule, windows), std::invalid_argument);
    };
    refused(rings, {{{0, 1}}, {{0, 1}}});            // of two phases
    refused(rings, {{{0, 6}}, {{0, 1}}, {{0, 1}}});  // more stages than there are
    refused(rings, {{{2, 1}, {1, 1}}, {}, {}});      // backwards
    refused(rings, {{{0, 2}, {1, 1}}, {}, {}});      // twice
    refused(rings, {{{0, 0}}, {}, {}});              // none
    refused(slides, {{}, {{0, 1}, {2, 2}, {5, 1}}, {}});
}
