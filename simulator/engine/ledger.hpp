/// \file
/// Books kept of what is under way, for builds that check the simulator's invariants at each event (TRAMONTANE_CHECKS).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "memory/lines.hpp"

namespace tramontane {

/// Packets and bytes of the packet network: what was posted is waiting in a NIC, under way, or has arrived.
class Ledger {
public:
    void post(std::int64_t bytes) { waiting_ += bytes; }
    void cut(std::uint32_t bytes) {
        waiting_ -= bytes;
        enter(bytes);
    }
    /// A packet has arrived, or is another part's from now on.
    void leave(std::uint32_t bytes) {
        under_way_ -= bytes;
        --packets_;
    }
    /// A packet comes from another part.
    void enter(std::uint32_t bytes) {
        under_way_ += bytes;
        ++packets_;
    }

    /// What another thread has written.
    void add(const Ledger& other) {
        waiting_ += other.waiting_;
        under_way_ += other.under_way_;
        packets_ += other.packets_;
    }

    /// \param packets records in use
    /// \throws std::logic_error where they do not agree with the books
    void verify(std::uint64_t packets) const {
        if (waiting_ >= 0 && under_way_ >= 0 && packets_ == packets && (packets_ > 0 || under_way_ == 0)) return;
        throw std::logic_error("simulator: the books say " + std::to_string(packets_) + " packets with " +
                               std::to_string(under_way_) + " B are under way and " + std::to_string(waiting_) +
                               " B wait in the NICs; there are " + std::to_string(packets) + " packets");
    }
    void verify_closed(std::uint64_t packets) const {
        verify(packets);
        if (packets_ > 0 || waiting_ > 0) throw std::logic_error("simulator: data are left in the network");
    }

private:
    std::int64_t waiting_ = 0, under_way_ = 0;  // [B]
    std::uint64_t packets_ = 0;
};

/// Free space and space that is on its way back make no more than the buffer; `idle`: all of it.
inline void verify_buffer(std::int64_t free, std::int64_t free_or_promised, std::int64_t size, bool idle) {
    if (free >= 0 && free_or_promised <= size && (!idle || free_or_promised == size)) return;
    throw std::logic_error("simulator: of a buffer of " + std::to_string(size) + " B, " + std::to_string(free) +
                           " B are free and " + std::to_string(free_or_promised) + " B will be");
}

}  // namespace tramontane
