/// \file
/// Graphs of operations that are drawn at random.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "graphs/builder.hpp"
#include "graphs/table.hpp"
#include "random.hpp"

namespace tramontane::testing {

/// The table of a graph, from a file in memory: a table is mapped, never copied.
[[nodiscard]] inline std::shared_ptr<const GraphTable> table_of(std::span<const std::byte> packed) {
    const int file = memfd_create("graph", MFD_CLOEXEC);
    if (file < 0 || ::write(file, packed.data(), packed.size()) != std::ssize(packed)) {
        throw std::runtime_error("no file in memory");
    }
    auto table = std::make_shared<const GraphTable>("/proc/self/fd/" + std::to_string(file));
    ::close(file);
    return table;
}

/// Messages of all kinds, work and marks in some steps, of up to three processors a rank. What a rank does in a step
/// waits for some of what it has done in steps before; so nobody waits in a circle. Many messages go to rank 0, which
/// is late.
[[nodiscard]] inline std::unique_ptr<GraphSchedule> drawn_graph(Rank ranks, std::uint64_t number) {
    using How = GraphTable::How;
    struct Message {
        Rank source, target;
        std::int64_t bytes;
        How how;
    };
    std::uint64_t count = 0;
    const auto draw = [&](std::uint64_t range) { return below(random_bits(4, number, count++), range); };
    const std::uint64_t cpus = 1 + draw(3);
    const bool one_sided = draw(2) == 0;
    std::vector<std::vector<Message>> steps(2 + draw(4));
    for (std::vector<Message>& messages : steps) {
        messages.resize(draw(4 * static_cast<std::uint64_t>(ranks)));
        for (Message& m : messages) {
            m.source = static_cast<Rank>(draw(static_cast<std::uint64_t>(ranks)));
            m.target = draw(3) == 0 ? 0 : static_cast<Rank>(draw(static_cast<std::uint64_t>(ranks)));
            if (m.target == m.source) m.target = (m.source + 1) % ranks;
            m.bytes = static_cast<std::int64_t>(draw(draw(2) == 0 ? 300 : 6'000));
            m.how = one_sided && draw(2) == 0 ? static_cast<How>(1 + draw(3)) : How::sent;
        }
    }
    GraphBuilder graph("number");
    graph.set_ranks(ranks, static_cast<std::size_t>(ranks), 0);
    for (Rank rank = 0; rank < ranks; ++rank) {
        graph.begin_rank(rank, 0);
        struct Done {
            std::uint32_t operation;
            bool starts;  // else others do it: a put to this rank, or what is pulled from it
        };
        std::vector<Done> before, own;
        const auto add = [&](std::uint32_t operation, bool starts = true) {
            own.push_back({operation, starts});
            if (!starts) return;
            if (draw(3) == 0) graph.on_cpu(static_cast<std::int64_t>(draw(cpus)), 0);
            for (std::uint64_t i = 0; !before.empty() && i < draw(4); ++i) {
                const Done& earlier = before[draw(before.size())];
                graph.depend(operation, earlier.operation, earlier.starts && draw(4) == 0);
            }
        };
        for (std::size_t step = 0; step < steps.size(); ++step) {
            const std::uint64_t work = (rank == 0 ? 20'000'000 : 1'000'000) * draw(2);
            add(graph.work(static_cast<std::int64_t>(work), 0));
            if (draw(4) == 0) own.push_back({graph.mark(static_cast<std::int64_t>(draw(3)), 0), true});
            for (const Message& m : steps[step]) {
                const auto tag = static_cast<std::int64_t>(step % 2);
                const bool sent = m.how == How::sent;
                if (m.source == rank) {
                    add(sent ? graph.send(m.target, tag, m.bytes, 0) : graph.source(m.how, m.target, tag, m.bytes, 0),
                        m.how != How::pulled);
                } else if (m.target == rank) {
                    add(sent ? graph.receive(m.source, tag, m.bytes, 0)
                             : graph.target(m.how, m.source, tag, m.bytes, 0),
                        sent || m.how == How::pulled);
                }
            }
            before.insert(before.end(), own.begin(), own.end());
            own.clear();
        }
    }
    const std::int64_t scale = GraphSchedule::whole / 2 * static_cast<std::int64_t>(1 + draw(3));
    return std::make_unique<GraphSchedule>(table_of(graph.pack().view()), ranks, scale);
}

}  // namespace tramontane::testing
