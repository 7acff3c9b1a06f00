/// \file
/// Where the bytes of messages come from and go to.
#pragma once

#include <cstdint>
#include <string>

#include "schedule.hpp"

namespace tramontane::executor {

/// Data of one rank, as the exchange of a round needs them. Calls come in the order of a run: for every phase, its
/// begin, its rounds, its end; for every round, pack, any of outgoing and incoming, unpack.
class Payload {
public:
    virtual ~Payload() = default;

    virtual void begin_phase(std::int32_t /*phase*/) {}
    virtual void end_phase(std::int32_t /*phase*/) {}
    virtual void pack(std::int64_t /*round*/) {}
    virtual void unpack(std::int64_t /*round*/) {}

    /// Where the `index`-th message to be sent (received) in a round stands, packed.
    [[nodiscard]] virtual const void* outgoing(std::int64_t round, std::int32_t index) const = 0;
    [[nodiscard]] virtual void* incoming(std::int64_t round, std::int32_t index) = 0;
};

/// Outcome of checks.
struct Findings {
    std::int64_t checked = 0;  ///< elements
    std::int64_t wrong = 0;
    std::string first;  ///< the first wrong element, in one line

    /// Counts a wrong element.
    void report(Rank rank, const std::string& where, const std::string& found, const std::string& expected) {
        if (wrong++ > 0) return;
        first = "rank " + std::to_string(rank) + " " + where + ": found " + found + ", expected " + expected;
    }
};

/// Real data that can be told from any other, and are checked.
class CheckedPayload : public Payload {
public:
    /// Writes the input of a repetition, and what no message brings everywhere else.
    virtual void fill(std::int64_t repetition) = 0;
    /// Checks what the rank holds when all is done.
    virtual void check_result() = 0;

    /// Whether to check every step as soon as it is done.
    void check_as_it_runs(bool wanted) { checking_ = wanted; }
    [[nodiscard]] const Findings& findings() const { return findings_; }

protected:
    [[nodiscard]] bool checking() const { return checking_; }
    [[nodiscard]] Findings& outcome() { return findings_; }

private:
    bool checking_ = false;
    Findings findings_;
};

/// All messages leave from one piece of memory and arrive in another: for simulators, and for times without copies.
class NullPayload final : public Payload {
public:
    /// \param outgoing,incoming as long as the longest message, or nullptr where MPI never looks at data
    NullPayload(const double* outgoing, double* incoming) : outgoing_{outgoing}, incoming_{incoming} {}

    [[nodiscard]] const void* outgoing(std::int64_t, std::int32_t) const override { return outgoing_; }
    [[nodiscard]] void* incoming(std::int64_t, std::int32_t) override { return incoming_; }

private:
    const double* outgoing_;
    double* incoming_;
};

}  // namespace tramontane::executor
