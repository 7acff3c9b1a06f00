#include "memory.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "refusal.hpp"

namespace tramontane::executor {
namespace {

[[nodiscard]] Range common(const Range& a, const Range& b) {
    return {std::max(a.first, b.first), std::max({a.first, b.first, std::min(a.last, b.last)})};
}

[[nodiscard]] Box common(const Box& a, const Box& b) { return {common(a.x, b.x), common(a.y, b.y), common(a.z, b.z)}; }

[[nodiscard]] std::int64_t modulo(std::int64_t value, std::int64_t n) { return (value % n + n) % n; }

[[nodiscard]] std::string point(std::int64_t x, std::int64_t y, std::int64_t z) {
    return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

}  // namespace

Memory::Memory(const ContentSchedule& schedule, Rank rank, Fault fault, bool packs)
    : schedule_{schedule},
      field_{schedule.field()},
      rank_{rank},
      fault_{fault},
      packs_{packs},
      period_{schedule.rounds() / schedule.repeats()},
      faulty_round_{-1},
      phase_names_{schedule.phases()} {
    if (schedule.ranks() >= Rank{1} << rank_bits) {
        refuse_key("ranks", std::to_string(schedule.ranks()), "less than 2^22 with real data");
    }
    if (field_) {
        const auto [nx, ny, nz] = *field_;
        if (nx * ny * nz >= std::int64_t{1} << index_bits) {
            refuse("grid", std::to_string(nx * ny * nz) + " points", "less than 2^38 with real data");
        }
    }
    const auto phases = static_cast<std::int32_t>(phase_names_.size());
    // A vector is summed where it stands, which may be more than the part whose sum is wanted.
    const std::int32_t only = field_ ? phases : 0;
    for (std::int32_t phase = schedule.in_place() ? only : 0; phase <= (schedule.in_place() ? only : phases); ++phase) {
        const Box box = schedule_.held(rank_, phase);
        areas_.push_back({box, std::vector<double>(static_cast<std::size_t>(box.size()))});
    }
    if (!field_) own_.resize(areas_.front().values.size());
    plan_phases();
    plan_rounds();
}

Memory::Part Memory::part(std::size_t area, const Box& box, std::int64_t staged) const {
    const Box& whole = areas_[area].box;
    const std::int64_t nx = whole.x.size();
    const std::int64_t ny = whole.y.size();
    return {area,
            box.x.first - whole.x.first + nx * (box.y.first - whole.y.first + ny * (box.z.first - whole.z.first)),
            {box.x.size(), box.y.size(), box.z.size()},
            nx,
            nx * ny,
            staged};
}

void Memory::plan_phases() {
    phases_.resize(phase_names_.size());
    for (std::int32_t phase = 0; phase < static_cast<std::int32_t>(phases_.size()); ++phase) {
        PhasePlan& plan = phases_[static_cast<std::size_t>(phase)];
        if (!schedule_.in_place()) {
            const Box stays = common(schedule_.held(rank_, phase), schedule_.held(rank_, phase + 1));
            plan.before.push_back({part(area_of(phase), stays), part(area_of(phase + 1), stays)});
        }
        for (const OwnCopy& each : schedule_.images(rank_, phase)) {
            plan.after.push_back({part(area_of(phase + 1), each.from), part(area_of(phase + 1), each.to)});
        }
    }
}

void Memory::plan_rounds() {
    std::map<std::pair<Rank, Rank>, std::int64_t> passing;  // origin and destination to place among what is passed on
    std::int64_t passing_end = 0;
    std::int64_t passing_most = 0;
    std::int64_t sending_most = 0;
    std::int64_t receiving_most = 0;
    std::int32_t phase = -1;
    const std::size_t transit = areas_.size();
    const auto transit_part = [&](std::int64_t at, std::int64_t size, std::int64_t staged) {
        return Part{transit, at, {size, 1, 1}, size, size, staged};
    };
    rounds_.resize(static_cast<std::size_t>(period_));
    for (std::int64_t number = 0; number < period_; ++number) {
        RoundPlan& plan = rounds_[static_cast<std::size_t>(number)];
        const Round round = schedule_.round(rank_, number);
        if (round.phase != phase) {
            phase = round.phase;  // all blocks of the phase before have reached their destination
            passing.clear();
            passing_end = 0;
        }
        for (std::int32_t index = 0; index < round.sends; ++index) {
            plan.send_at.push_back(plan.sent);
            for (const Piece& piece : schedule_.send_contents(rank_, number, index)) {
                const std::int64_t size = piece.box.size();
                const auto found = passing.find({piece.origin, piece.destination});
                if (found != passing.end()) {
                    plan.packed.push_back(transit_part(found->second, size, plan.sent));
                } else {
                    plan.packed.push_back(part(area_of(phase), piece.box, plan.sent));
                }
                plan.sent += size;
            }
        }
        for (std::int32_t index = 0; index < round.receives; ++index) {
            plan.receive_at.push_back(plan.received);
            for (const Piece& piece : schedule_.receive_contents(rank_, number, index)) {
                const std::int64_t size = piece.box.size();
                if (piece.destination != rank_) {
                    passing[{piece.origin, piece.destination}] = passing_end;
                    plan.unpacked.push_back(transit_part(passing_end, size, plan.received));
                    passing_end += size;
                } else if (!piece.combine) {
                    plan.unpacked.push_back(part(area_of(phase + 1), piece.box, plan.received));
                }
                plan.received += size;
            }
        }
        plan_sums(number, plan);
        if (!packs_) require_boxes(number, plan);
        if (round.receives > 0) {
            faulty_round_ = number;
        }
        passing_most = std::max(passing_most, passing_end);
        sending_most = std::max(sending_most, plan.sent);
        receiving_most = std::max(receiving_most, plan.received);
    }
    areas_.push_back(
        {{{0, passing_most}, {0, 1}, {0, 1}}, std::vector<double>(static_cast<std::size_t>(passing_most))});
    if (packs_) sending_.resize(static_cast<std::size_t>(sending_most));
    if (packs_ || fault_ != Fault::none) receiving_.resize(static_cast<std::size_t>(receiving_most));
}

void Memory::require_boxes(std::int64_t number, const RoundPlan& plan) const {
    const Round round = schedule_.round(rank_, number);
    const auto of_field = [](const Part& each) { return each.area == 0; };
    const bool boxes = field_ && schedule_.in_place() && plan.sums.empty() &&
                       plan.packed.size() == static_cast<std::size_t>(round.sends) &&
                       plan.unpacked.size() == static_cast<std::size_t>(round.receives) &&
                       std::all_of(plan.packed.begin(), plan.packed.end(), of_field) &&
                       std::all_of(plan.unpacked.begin(), plan.unpacked.end(), of_field);
    if (!boxes) throw std::logic_error("a message is no box of a field, and has to be packed");
}

void Memory::plan_sums(std::int64_t number, RoundPlan& plan) {
    const Round round = schedule_.round(rank_, number);
    std::vector<std::pair<Rank, std::int64_t>> vectors;  // sender and place of what is to be added
    Box box{};
    for (std::int32_t index = 0; index < round.receives; ++index) {
        const std::vector<Piece> pieces = schedule_.receive_contents(rank_, number, index);
        if (pieces.empty() || !pieces.front().combine) {
            continue;
        }
        if (pieces.size() != 1 || (!vectors.empty() && pieces.front().box != box)) {
            throw std::logic_error("a round adds up different parts of a vector");
        }
        box = pieces.front().box;
        vectors.emplace_back(pieces.front().origin, plan.receive_at[static_cast<std::size_t>(index)]);
    }
    if (vectors.empty()) {
        return;
    }
    std::sort(vectors.begin(), vectors.end());
    Sum sum{part(0, box), {}, 0};
    for (const auto& [sender, place] : vectors) {
        sum.own += sender < rank_ ? 1 : 0;
        sum.staged.push_back(place);
    }
    plan.sums.push_back(std::move(sum));
}

void Memory::fill(std::int64_t repetition) {
    repetition_ = repetition;
    for (Area& area : areas_) {
        std::fill(area.values.begin(), area.values.end(), nothing());
    }
    std::fill(receiving_.begin(), receiving_.end(), nothing());
    if (!field_) {
        write_contribution(0);
        return;
    }
    const auto [nx, ny, nz] = *field_;
    const Box box = schedule_.held(rank_, 0);
    const Part own = part(0, box);
    for (std::int64_t z = box.z.first; z < box.z.last; ++z) {
        for (std::int64_t y = box.y.first; y < box.y.last; ++y) {
            double* const row = areas_[0].values.data() + own.first + own.stride_y * (y - box.y.first) +
                                own.stride_z * (z - box.z.first);
            for (std::int64_t x = box.x.first; x < box.x.last; ++x) {
                row[x - box.x.first] = encode({repetition_ % 16, rank_, x + nx * (y + ny * z)});
            }
        }
    }
}

void Memory::write_contribution(std::int64_t repeat) {
    for (std::size_t i = 0; i < own_.size(); ++i) {
        own_[i] = contribution(rank_, static_cast<std::int64_t>(i), repetition_ * schedule_.repeats() + repeat);
    }
    std::copy(own_.begin(), own_.end(), areas_.front().values.begin());
}

void Memory::begin_phase(std::int32_t phase) {
    for (const Copy& each : phases_[static_cast<std::size_t>(phase)].before) {
        copy(each);
    }
}

void Memory::end_phase(std::int32_t phase) {
    for (const Copy& each : phases_[static_cast<std::size_t>(phase)].after) {
        copy(each);
    }
    if (checking_) {
        check_phase(phase + 1);
    }
}

void Memory::pack(std::int64_t round) {
    if (!field_ && round % period_ == 0 && round > 0) {
        if (checking_) {
            check_sums(round / period_ - 1);
        }
        write_contribution(round / period_);
    }
    if (!packs_) return;
    for (const Part& each : plan(round).packed) {
        stage(each, sending_);
    }
}

void Memory::unpack(std::int64_t round) {
    const RoundPlan& now = plan(round);
    if (fault_ != Fault::none && round == schedule_.rounds() - period_ + faulty_round_) {
        // What is in its place already is taken out once more, to be corrupted as if it had been packed.
        for (const Part& each : now.unpacked) {
            if (!packs_) stage(each, receiving_);
        }
        corrupt(receiving_.data(), now.received, now.receive_at.size() > 1 ? now.receive_at[1] : now.received);
    } else if (!packs_) {
        return;
    }
    for (const Part& each : now.unpacked) {
        unstage(each);
    }
    for (const Sum& each : now.sums) {
        add(each);
    }
}

const double* Memory::outgoing(std::int64_t round, std::int32_t index) const {
    return sending_.data() + plan(round).send_at[static_cast<std::size_t>(index)];
}

double* Memory::incoming(std::int64_t round, std::int32_t index) {
    return receiving_.data() + plan(round).receive_at[static_cast<std::size_t>(index)];
}

Layout Memory::outgoing_layout(std::int64_t round, std::int32_t index) {
    return layout(plan(round).packed[static_cast<std::size_t>(index)]);
}

Layout Memory::incoming_layout(std::int64_t round, std::int32_t index) {
    return layout(plan(round).unpacked[static_cast<std::size_t>(index)]);
}

Layout Memory::layout(const Part& part) {
    return {areas_[part.area].values.data() + part.first, part.extent, part.stride_y, part.stride_z};
}

void Memory::begin_allreduce(std::int64_t repeat) {
    if (repeat > 0) {
        write_contribution(repeat);
    }
}

void Memory::end_allreduce(std::int64_t repeat) {
    if (fault_ != Fault::none) {
        const auto count = static_cast<std::int64_t>(own_.size());
        corrupt(reduced(), count, count);
    }
    if (checking_) {
        check_sums(repeat);
    }
}

void Memory::copy(const Copy& each) {
    for (std::int64_t z = 0; z < each.from.extent[2]; ++z) {
        for (std::int64_t y = 0; y < each.from.extent[1]; ++y) {
            const double* const from = areas_[each.from.area].values.data() + each.from.first + y * each.from.stride_y +
                                       z * each.from.stride_z;
            double* const to =
                areas_[each.to.area].values.data() + each.to.first + y * each.to.stride_y + z * each.to.stride_z;
            std::copy_n(from, each.from.extent[0], to);
        }
    }
}

void Memory::stage(const Part& part, std::vector<double>& buffer) const {
    double* to = buffer.data() + part.staged;
    for (std::int64_t z = 0; z < part.extent[2]; ++z) {
        for (std::int64_t y = 0; y < part.extent[1]; ++y) {
            const double* const from =
                areas_[part.area].values.data() + part.first + y * part.stride_y + z * part.stride_z;
            to = std::copy_n(from, part.extent[0], to);
        }
    }
}

void Memory::unstage(const Part& part) {
    const double* from = receiving_.data() + part.staged;
    for (std::int64_t z = 0; z < part.extent[2]; ++z) {
        for (std::int64_t y = 0; y < part.extent[1]; ++y) {
            std::copy_n(from, part.extent[0],
                        areas_[part.area].values.data() + part.first + y * part.stride_y + z * part.stride_z);
            from += part.extent[0];
        }
    }
}

/// In ascending order of ranks, own vector in its place, so that all ranks get the same bits whatever the numbers.
void Memory::add(const Sum& sum) {
    double* const to = areas_[sum.part.area].values.data() + sum.part.first;
    for (std::int64_t i = 0; i < sum.part.extent[0]; ++i) {
        const double own = to[i];
        double total = 0;
        for (std::size_t v = 0; v < sum.staged.size(); ++v) {
            if (v == sum.own) {
                total += own;
            }
            total += receiving_[static_cast<std::size_t>(sum.staged[v] + i)];
        }
        to[i] = sum.own == sum.staged.size() ? total + own : total;
    }
}

/// \param message elements of the first message among them
void Memory::corrupt(double* values, std::int64_t count, std::int64_t message) {
    if (count == 0) {
        return;
    }
    switch (fault_) {
        case Fault::value:
            values[count / 2] =
                std::bit_cast<double>(std::bit_cast<std::uint64_t>(values[count / 2]) ^ std::uint64_t{1} << 40);
            break;
        case Fault::place:
            std::swap(values[0], values[count - 1]);
            break;
        case Fault::missing:
            std::fill_n(values, message, nothing());
            break;
        case Fault::none:
            break;
    }
}

void Memory::check_result() { check_phase(static_cast<std::int32_t>(phases_.size())); }

void Memory::check_phase(std::int32_t phase) {
    if (field_) {
        check_field(phase);
    } else if (phase == static_cast<std::int32_t>(phases_.size())) {
        check_sums(schedule_.repeats() - 1);
    }
}

void Memory::check_sums(std::int64_t repeat) {
    const std::int64_t instance = repetition_ * schedule_.repeats() + repeat;
    const Range summed = schedule_.held(rank_, static_cast<std::int32_t>(phases_.size())).x;
    for (std::int64_t i = summed.first; i < summed.last; ++i) {
        double expected = 0;
        for (Rank rank = 0; rank < schedule_.ranks(); ++rank) {
            expected += contribution(rank, i, instance);
        }
        const double found = areas_.front().values[static_cast<std::size_t>(i)];
        ++findings_.checked;
        if (!same(found, expected)) {
            report("allreduce " + std::to_string(repeat) + ", element " + std::to_string(i), std::to_string(found),
                   std::to_string(expected));
        }
    }
}

void Memory::check_field(std::int32_t phase) {
    const auto [nx, ny, nz] = *field_;
    const Box box = schedule_.held(rank_, phase);
    const Part held = part(area_of(phase), box);
    for (std::int64_t z = box.z.first; z < box.z.last; ++z) {
        const std::int64_t gz = modulo(z, nz);
        for (std::int64_t y = box.y.first; y < box.y.last; ++y) {
            const std::int64_t gy = modulo(y, ny);
            const double* const values = areas_[held.area].values.data() + held.first +
                                         held.stride_y * (y - box.y.first) + held.stride_z * (z - box.z.first);
            const std::int64_t last = std::min(box.x.last, schedule_.length(gy, gz));
            for (std::int64_t x = box.x.first; x < last; ++x) {
                const std::int64_t gx = modulo(x, nx);
                const Rank origin = schedule_.owner_in_space(gx, gy, gz);
                const double found = values[x - box.x.first];
                if (!same(found, encode({repetition_ % 16, origin, gx + nx * (gy + ny * gz)}))) {
                    const Origin is = decode(found);
                    const std::string what = same(found, nothing())
                                                 ? "nothing"
                                                 : "what rank " + std::to_string(is.rank) + " had at " +
                                                       point(is.index % nx, is.index / nx % ny, is.index / nx / ny) +
                                                       " in repetition " + std::to_string(is.repetition);
                    report("after phase " + (phase > 0 ? phase_names_[static_cast<std::size_t>(phase - 1)] : "0") +
                               ", point " + point(x, y, z),
                           what,
                           "what rank " + std::to_string(origin) + " had at " + point(gx, gy, gz) + " in repetition " +
                               std::to_string(repetition_ % 16));
                }
            }
            findings_.checked += std::max<std::int64_t>(last - box.x.first, 0);
        }
    }
}

void Memory::report(const std::string& where, const std::string& found, const std::string& expected) {
    if (findings_.wrong == 0) {
        findings_.first = "rank " + std::to_string(rank_) + " " + where + ": found " + found + ", expected " + expected;
    }
    ++findings_.wrong;
}

}  // namespace tramontane::executor
