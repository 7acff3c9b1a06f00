/// \file
/// Messages whose every byte says from whom, to whom and when they were sent: real data for schedules that do not say
/// what their messages carry. Knows no MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "findings.hpp"
#include "pattern.hpp"
#include "payload.hpp"

namespace tramontane::executor {

/// Of any number of bytes; several rounds may be under way. A message is checked in every check that runs along; of the
/// last round with any, those received stay until the end.
class Stamped final : public Payload, public CheckedData {
public:
    /// \param schedule must outlive this
    Stamped(const Schedule& schedule, Rank rank, Fault fault = Fault::none);

    /// To be called before each repetition.
    void fill(std::int64_t repetition) { repetition_ = repetition; }

    void check_as_it_runs(bool wanted) override { checking_ = wanted; }
    void check_result() override;
    [[nodiscard]] const Findings& findings() const override { return findings_; }

    void pack(std::int64_t round) override;
    void unpack(std::int64_t round) override;
    [[nodiscard]] const double* outgoing(std::int64_t round, std::int32_t index) const override;
    [[nodiscard]] double* incoming(std::int64_t round, std::int32_t index) override;
    [[nodiscard]] bool counts_bytes() const override { return true; }

private:
    /// Memory of a round that is under way: all messages one after the other, each from a whole word on.
    struct Buffers {
        std::vector<std::uint64_t> sent, received;
        std::vector<std::size_t> send_at, receive_at;  ///< by index [words]
    };

    void check(std::int64_t round, const Buffers& buffers);
    void corrupt(std::vector<std::uint64_t>& words, std::size_t message) const;

    const Schedule& schedule_;
    Rank rank_;
    Fault fault_;
    std::int64_t last_;  ///< round in which this rank receives; -1: none
    std::map<std::int64_t, Buffers> rounds_;
    std::vector<Buffers> spare_;  ///< of rounds that are over
    std::int64_t repetition_ = 0;
    bool checking_ = false;
    Findings findings_;
};

}  // namespace tramontane::executor
