/// \file
/// What messages cost a rank's processor beside the protocol's copies: pure functions of the machine, of a message's
/// size, and of how many requests are open at the rank.
///
/// Overheads are LogP's o and, a byte, LogGOPS's O (Hoefler, Schneider and Lumsdaine 2010). Queues are not walked: what
/// a walk of a queue of n entries costs is that of its mean, as if each entry were as likely to be the one.
#pragma once

#include <cstdint>

#include "machine.hpp"
#include "rules/rule.hpp"
#include "ticks.hpp"

namespace tramontane {

class Costs {
public:
    explicit Costs(const Machine& m)
        : lock_(m.threads > 1 ? from_picoseconds(m.lock) : 0),
          send_(from_picoseconds(m.send_overhead) + lock_),
          receive_(from_picoseconds(m.receive_overhead) + lock_),
          rendezvous_(from_picoseconds(m.rendezvous_overhead)),
          under_way_(from_picoseconds(m.under_way_overhead)),
          eager_limit_(m.eager_limit),
          post_(from_picoseconds(m.post_overhead) + lock_),
          send_byte_(from_picoseconds(m.send_overhead_per_byte)),
          receive_byte_(from_picoseconds(m.receive_overhead_per_byte)),
          staging_(from_picoseconds(m.staging_latency)),
          staging_byte_(m.staging_bandwidth == 0 ? 0 : byte_time(m.staging_bandwidth)),
          posted_(from_picoseconds(m.match_posted)),
          unexpected_(from_picoseconds(m.match_unexpected)),
          of_looking_((receive_ | rendezvous_) > 0 || posted_ > 0 || receive_byte_ > 0 || staging_byte_ > 0) {}

    /// Before a message of the workload is handed over.
    [[nodiscard]] TRAMONTANE_RULE Ticks send(std::int64_t bytes) const {
        return send_ + of_protocol(bytes) + of_size(bytes, send_byte_);
    }
    /// Whether that depends on how many sends of the rank are under way.
    [[nodiscard]] TRAMONTANE_RULE bool of_sends_under_way() const { return under_way_ > 0; }
    /// On top of `send`.
    [[nodiscard]] TRAMONTANE_RULE Ticks send_beside(std::uint64_t under_way) const {
        const Ticks time = checked_product(under_way, under_way_);
        check_step(time);
        return time;
    }
    /// When a payload that has arrived is looked at.
    [[nodiscard]] TRAMONTANE_RULE Ticks receive(std::int64_t bytes) const {
        return receive_ + of_protocol(bytes) + of_size(bytes, receive_byte_);
    }

    /// Whether it takes time to look at what has arrived.
    [[nodiscard]] TRAMONTANE_RULE bool of_looking() const { return of_looking_; }
    /// To find the receive of a message among `open` ones: half of them on average; or all of them, and none.
    [[nodiscard]] TRAMONTANE_RULE Ticks match(std::uint64_t open, bool is_there) const {
        return halves(is_there ? open + 1 : 2 * open, posted_);
    }

    /// Whether it takes time to post a receive.
    [[nodiscard]] TRAMONTANE_RULE bool of_posting() const { return post_ > 0 || unexpected_ > 0; }
    /// Whether that depends on the messages that have come before their receives.
    [[nodiscard]] TRAMONTANE_RULE bool of_unexpected() const { return unexpected_ > 0; }
    /// To post receives. Each looks for its message among the `unexpected` ones: `found` of them find it halfway on
    /// average, the others walk past all.
    [[nodiscard]] TRAMONTANE_RULE Ticks post(std::uint64_t receives, std::uint64_t unexpected,
                                             std::uint64_t found) const {
        const Ticks calls = checked_product(receives, post_);
        const Ticks walks = halves(2 * (receives - found) * unexpected + found * (unexpected + 1), unexpected_);
        check_step(calls + walks);
        return calls + walks;
    }

private:
    /// Half of `count` times `each`.
    [[nodiscard]] TRAMONTANE_RULE static Ticks halves(std::uint64_t count, Ticks each) {
        return checked_product(count, each) / 2;
    }
    [[nodiscard]] TRAMONTANE_RULE Ticks of_protocol(std::int64_t bytes) const {
        return bytes > eager_limit_ ? rendezvous_ : 0;
    }
    [[nodiscard]] TRAMONTANE_RULE Ticks of_size(std::int64_t bytes, Ticks each) const {
        if ((each | staging_byte_) == 0 || bytes == 0) [[likely]]
            return 0;
        const Ticks time = checked_product(static_cast<std::uint64_t>(bytes), each + staging_byte_) + staging_;
        check_step(time);
        return time;
    }

    Ticks lock_;  // of a call, where several threads of a rank make them
    Ticks send_, receive_;
    Ticks rendezvous_;  // at each end, of messages above the limit
    Ticks under_way_;   // of a send, for each that is under way
    std::int64_t eager_limit_;
    Ticks post_;
    Ticks send_byte_, receive_byte_;
    Ticks staging_, staging_byte_;  // between the accelerator's memory and the host's
    Ticks posted_, unexpected_;     // an entry of the queue
    bool of_looking_;
};

}  // namespace tramontane
