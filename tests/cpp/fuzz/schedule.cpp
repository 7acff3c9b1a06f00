#include <algorithm>

#include "fuzz.hpp"

namespace tramontane::fuzz {
namespace {

constexpr std::int64_t rounds_looked_at = 12, transfers_looked_at = 40;

void look_at(const Schedule& schedule, Rank rank, std::int64_t number) {
    const auto phases = static_cast<std::int32_t>(schedule.phases().size());
    const Round round = schedule.round(rank, number);
    expect(0 <= round.phase && round.phase < phases, "a round of no phase");
    expect(round.work >= 0 && round.ends >= 0 && round.ends <= number, "work or an end that cannot be");
    expect(round.sends >= 0 && round.receives >= 0 && round.window >= 0, "a negative number of transfers");
    for (const bool sends : {true, false}) {
        const std::int32_t all = sends ? round.sends : round.receives;
        for (std::int32_t i = 0; i < std::min<std::int64_t>(all, transfers_looked_at); ++i) {
            const Transfer t = sends ? schedule.send(rank, number, i) : schedule.receive(rank, number, i);
            expect(0 <= t.peer && t.peer < schedule.ranks() && t.peer != rank, "a message to nobody, or to oneself");
            expect(t.bytes >= 0, "a message of negative length");
            const bool whole = schedule.contents() == nullptr || t.bytes % 8 == 0;
            expect(schedule.ranks() > 64 || t.bytes > 1'000'000 || whole, "part of an element");
        }
    }
}

}  // namespace

void try_schedule(std::string_view text) {
    try_input([&] {
        KeyReader reader(arguments_of(text));
        Values values;
        reader.read({Key::integer("ranks", 1)}, values);
        if (values.find("ranks") == nullptr) reader.finish();
        const auto workload = small_workload(reader, values.integer("ranks"));
        if (!workload) return;
        expect(workload->imbalance() >= 1 - 1e-9, "the largest block is below the mean");
        const auto schedule = workload->schedule();
        const std::int64_t rounds = schedule->rounds();
        expect(rounds >= 0 && schedule->repeats() > 0 && rounds % schedule->repeats() == 0,
               "repeats of part of a round");
        const Rank step = std::max<Rank>(1, schedule->ranks() / 16);
        for (std::int64_t i = 0; i < std::min(rounds, rounds_looked_at); ++i) {
            const std::int64_t number =
                i < rounds_looked_at / 2 ? i : std::max(i, rounds - 1 - (rounds_looked_at - 1 - i));
            for (Rank rank = 0; rank < schedule->ranks(); rank += step) look_at(*schedule, rank, number);
        }
    });
}

}  // namespace tramontane::fuzz
