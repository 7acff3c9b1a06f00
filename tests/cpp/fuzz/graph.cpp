#include <span>

#include "../given.hpp"
#include "../graphs.hpp"
#include "fuzz.hpp"
#include "graphs/goal.hpp"
#include "graphs/goal_binary.hpp"
#include "graphs/table.hpp"
#include "simulation.hpp"

namespace tramontane::fuzz {
namespace {

/// Whether the messages take a few thousand packets; each end of a message must know the other one.
bool is_cheap(const GraphSchedule& schedule, const Machine& machine) {
    std::int64_t packets = 0;
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
        const auto own = schedule.table().of(rank);
        for (std::uint32_t i = 0; i < own.sends.size(); ++i) {
            const auto& send = own.sends[i];
            const auto met = schedule.table().of(send.target).receives[send.receive];
            expect(met.source == rank && met.send == i, "a message whose ends do not know each other");
            packets += 1 + send.bytes() / machine.packet;
            if (packets > 3000) return false;
        }
    }
    return true;
}

}  // namespace

void try_graph(std::string_view text) {
    try_input([&] {
        const auto bytes = std::as_bytes(std::span{text});
        const Scratch<std::byte> packed =
            BinaryGoalReader::is_binary(bytes) ? BinaryGoalReader{bytes}.packed() : GoalReader{text}.packed();
        const auto table = testing::table_of(packed.view());
        if (table->ranks() > 64 || table->operations() > 3000) return;
        const GraphSchedule schedule{table, table->ranks(), GraphSchedule::whole};

        // Eager or rendezvous, progress in calls or by hardware: the input's length chooses.
        Machine machine = testing::pushing("torus", {4, 4, 4});
        machine.model = "default";
        if (text.size() % 2 == 1) machine.short_limit = machine.eager_limit = 64;
        machine.hardware_progress = text.size() / 2 % 2 == 1;
        if (!is_cheap(schedule, machine)) return;
        const Outcome o = simulate(machine, schedule, {});
        expect(o.time_s >= 0 && o.time_s <= to_seconds(end_of_time), "a time beyond the range");
    });
}

}  // namespace tramontane::fuzz
