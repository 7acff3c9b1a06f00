/// \file
/// What parts of a simulation tell each other.
///
/// Nothing passes between two places sooner than a window lasts (event_queue.hpp). So the events of one part's places
/// can be handled for a whole window without looking at the other parts, by another thread at the same time
/// (conservative synchronisation; Lubachevsky, CACM 1989). What is meant for a place of another part waits in a box
/// until all have ended the window. There are two boxes from each part to each other, which take turns: while one is
/// emptied the other is filled, so that threads meet only once a window.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "partition.hpp"
#include "records.hpp"

namespace tramontane {

/// What happens at a place of another part.
struct Crossing {
    Ticks time;
    Place place;
    std::uint32_t code;
    Index item;  ///< message; bytes of credits that come back to an output; nothing for a packet's head
};

struct alignas(64) Outbox {
    std::vector<Crossing> events;
    std::vector<Packet> packets;  ///< of the heads among the events, in their order

    void clear() {
        events.clear();
        packets.clear();
    }
};

class Exchange {
public:
    explicit Exchange(const Partition& partition) : partition_(partition) {
        for (auto& boxes : boxes_) boxes.resize(std::size_t{partition.parts()} * partition.parts());
    }

    [[nodiscard]] std::uint32_t parts() const { return partition_.parts(); }
    [[nodiscard]] std::uint32_t owner(Place place) const { return partition_.of(place); }

    /// \param turn changes from window to window
    [[nodiscard]] Outbox& box(bool turn, std::uint32_t from, std::uint32_t to) {
        return boxes_[turn ? 1 : 0][std::size_t{from} * partition_.parts() + to];
    }

private:
    const Partition& partition_;
    std::array<std::vector<Outbox>, 2> boxes_;
};

}  // namespace tramontane
