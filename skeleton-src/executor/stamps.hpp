/// \file
/// Contents of messages of which only the lengths are known: every byte says which message it is part of, and where.
/// Knows no MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pattern.hpp"
#include "payload.hpp"
#include "schedule.hpp"

namespace tramontane::executor {

/// A message as both of its ends know it. No two of a run are alike, but for the repeats of a round.
struct Stamp {
    Rank source;
    Rank target;
    std::int32_t tag;
    std::int64_t round;
    std::int64_t repetition;
};

/// Writes the bytes of a message, any number of them; other ones for every stamp.
void write_stamped(const Stamp& stamp, std::byte* at, std::int64_t bytes);

/// The messages of one rank, all of one period of the schedule side by side, so that nothing is packed while the clock
/// runs.
///
/// A byte that has not come is told from the right one for certain: what is to be received is its complement at first.
class Stamps final : public CheckedPayload {
public:
    /// \param schedule must outlive this
    Stamps(const Schedule& schedule, Rank rank, Fault fault = Fault::none);

    void fill(std::int64_t repetition) override;
    void check_result() override;

    void pack(std::int64_t round) override;
    void unpack(std::int64_t round) override;
    [[nodiscard]] const void* outgoing(std::int64_t round, std::int32_t index) const override;
    [[nodiscard]] void* incoming(std::int64_t round, std::int32_t index) override;

private:
    /// Messages of one side, one after the other.
    struct Side {
        std::vector<std::size_t> begins;  ///< of the first message of a round; one more for the end
        std::vector<Transfer> transfers;
        std::vector<std::int64_t> places;  ///< in the bytes, of each message
        std::vector<std::byte> bytes;

        void end_round() { begins.push_back(transfers.size()); }
        void add(const Transfer& transfer);
        [[nodiscard]] std::int64_t place(std::int64_t round, std::int32_t index) const {
            return places[begins[static_cast<std::size_t>(round)] + static_cast<std::size_t>(index)];
        }
    };

    /// Calls `visit(transfer, place)` for each message of a round of the period.
    template <class Visit>
    void each(const Side& side, std::int64_t round, Visit&& visit) const;

    [[nodiscard]] Stamp sent(const Transfer& transfer, std::int64_t round) const {
        return {rank_, transfer.peer, transfer.tag, round, repetition_};
    }
    [[nodiscard]] Stamp received(const Transfer& transfer, std::int64_t round) const {
        return {transfer.peer, rank_, transfer.tag, round, repetition_};
    }

    void prepare(std::int64_t round);
    void corrupt(std::int64_t round);
    void check(std::int64_t round);

    Rank rank_;
    Fault fault_;
    std::int64_t rounds_, period_;
    std::int64_t faulty_round_ = -1;  ///< the last one in which this rank receives anything; -1: none
    Side sending_, receiving_;
    std::vector<std::byte> expected_;  ///< one message
    std::int64_t repetition_ = 0;
};

}  // namespace tramontane::executor
