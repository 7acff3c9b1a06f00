/// \file
/// The memory of one rank: fields with a known pattern, moved in and out of messages, and checked. Knows no MPI.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contents.hpp"
#include "findings.hpp"
#include "pattern.hpp"
#include "payload.hpp"

namespace tramontane::executor {

/// Holds a rank's part of a field, one for each phase or one for all, or a vector that is added to those of all ranks:
/// as the schedule says of its contents. All copies are worked out when it is made, so that a run only moves data.
class Memory final : public Payload, public CheckedData {
public:
    /// \param schedule must outlive this
    /// \param packs whether messages are packed; else each has to be one box of a field that stays in its place
    /// \throws std::invalid_argument if ranks or grid are beyond what a pattern can tell apart
    Memory(const ContentSchedule& schedule, Rank rank, Fault fault = Fault::none, bool packs = true);

    /// Writes the pattern of a repetition to what the rank holds at first, and nothing() everywhere else.
    void fill(std::int64_t repetition);

    /// Whether to check every phase, and every one of repeated allreduces, as soon as it is done.
    void check_as_it_runs(bool wanted) override { checking_ = wanted; }
    /// Checks what the rank holds when all is done.
    void check_result() override;
    [[nodiscard]] const Findings& findings() const override { return findings_; }

    void begin_phase(std::int32_t phase) override;
    void end_phase(std::int32_t phase) override;
    void pack(std::int64_t round) override;
    void unpack(std::int64_t round) override;
    [[nodiscard]] const double* outgoing(std::int64_t round, std::int32_t index) const override;
    [[nodiscard]] double* incoming(std::int64_t round, std::int32_t index) override;
    [[nodiscard]] bool packs() const override { return packs_; }
    [[nodiscard]] Layout outgoing_layout(std::int64_t round, std::int32_t index) override;
    [[nodiscard]] Layout incoming_layout(std::int64_t round, std::int32_t index) override;

    /// For a library's own allreduce: the vector that goes in, and where the result is wanted.
    /// \param repeat number of the allreduce in the repetition
    void begin_allreduce(std::int64_t repeat);
    void end_allreduce(std::int64_t repeat);
    [[nodiscard]] const double* contributed() const { return own_.data(); }
    [[nodiscard]] double* reduced() { return areas_.front().values.data(); }

private:
    /// Elements of a box of indices, x fastest.
    struct Area {
        Box box;
        std::vector<double> values;
    };

    /// A box within an area and, where it is part of a message, its place in the staging buffer.
    struct Part {
        std::size_t area;
        std::int64_t first;
        std::array<std::int64_t, 3> extent;
        std::int64_t stride_y;
        std::int64_t stride_z;
        std::int64_t staged;
    };

    struct Copy {
        Part from;
        Part to;
    };

    /// Vectors that are added up into a part, in ascending order of the ranks that sent them.
    struct Sum {
        Part part;
        std::vector<std::int64_t> staged;
        std::size_t own;  ///< place of the rank's own vector among them
    };

    struct RoundPlan {
        std::vector<std::int64_t> send_at, receive_at;  ///< in the staging buffers, by index
        std::int64_t sent = 0, received = 0;            ///< elements
        std::vector<Part> packed, unpacked;             ///< where nothing is packed: by index, too
        std::vector<Sum> sums;
    };

    struct PhasePlan {
        std::vector<Copy> before;  ///< what stays on the rank
        std::vector<Copy> after;   ///< periodic images of its own points
    };

    [[nodiscard]] const RoundPlan& plan(std::int64_t round) const {
        return rounds_[static_cast<std::size_t>(round % period_)];
    }
    [[nodiscard]] std::size_t area_of(std::int32_t phase) const {
        return schedule_.in_place() ? 0 : static_cast<std::size_t>(phase);
    }
    [[nodiscard]] Part part(std::size_t area, const Box& box, std::int64_t staged = 0) const;

    void plan_phases();
    void plan_rounds();
    void plan_sums(std::int64_t round, RoundPlan& plan);

    /// \throws std::logic_error if a message is no box of the field
    void require_boxes(std::int64_t round, const RoundPlan& plan) const;
    [[nodiscard]] Layout layout(const Part& part);

    void copy(const Copy& copy);
    void stage(const Part& part, std::vector<double>& buffer) const;
    void unstage(const Part& part);
    void add(const Sum& sum);
    void corrupt(double* values, std::int64_t count, std::int64_t message);

    void write_contribution(std::int64_t repeat);
    void check_phase(std::int32_t phase);
    void check_sums(std::int64_t repeat);
    void check_field(std::int32_t phase);
    void report(const std::string& where, const std::string& found, const std::string& expected);

    const ContentSchedule& schedule_;
    std::optional<Grid> field_;  ///< without one, a vector is summed
    Rank rank_;
    Fault fault_;
    bool packs_;
    std::int64_t period_;        ///< rounds after which the plan repeats
    std::int64_t faulty_round_;  ///< the last one in which this rank receives; -1: none
    std::vector<std::string> phase_names_;
    std::vector<Area> areas_;  ///< the last one holds what is to be passed on
    std::vector<PhasePlan> phases_;
    std::vector<RoundPlan> rounds_;
    std::vector<double> sending_, receiving_, own_;
    std::int64_t repetition_ = 0;
    bool checking_ = false;
    Findings findings_;
};

}  // namespace tramontane::executor
