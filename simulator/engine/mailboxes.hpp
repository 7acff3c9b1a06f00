/// \file
/// What parts of a simulation tell each other.
///
/// Nothing passes between two LPs sooner than a window lasts (event_queue.hpp). So the events of one part's LPs
/// can be handled for a whole window without looking at the other parts, by another thread at the same time
/// (conservative synchronisation; Lubachevsky, CACM 1989). What is meant for an LP of another part waits in a box
/// until all have ended the window. There are two boxes from each part to each other, which take turns: while one is
/// emptied the other is filled, so that threads meet only once a window.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/partition.hpp"
#include "rules/records.hpp"

namespace tramontane {

/// What happens at an LP of another part.
struct RemoteEvent {
    Ticks time;
    LpId lp;
    std::uint32_t code;
    Index item;  ///< message; bytes of credits that come back to an output; nothing for a packet's head
};

struct alignas(64) Mailbox {
    std::vector<RemoteEvent> events;
    std::vector<Packet> packets;  ///< of the heads among the events, in their order

    void clear() {
        events.clear();
        packets.clear();
    }
};

class Mailboxes {
public:
    explicit Mailboxes(const Partition& partition) : partition_(partition) {
        for (auto& boxes : boxes_) boxes.resize(std::size_t{partition.parts()} * partition.parts());
    }

    [[nodiscard]] std::uint32_t parts() const { return partition_.parts(); }
    [[nodiscard]] std::uint32_t owner(LpId lp) const { return partition_.of(lp); }

    /// \param turn changes from window to window
    [[nodiscard]] Mailbox& box(bool turn, std::uint32_t from, std::uint32_t to) {
        return boxes_[turn ? 1 : 0][std::size_t{from} * partition_.parts() + to];
    }

private:
    const Partition& partition_;
    std::array<std::vector<Mailbox>, 2> boxes_;
};

}  // namespace tramontane
