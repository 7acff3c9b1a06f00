/// \file
/// Python view of the schedules: what tests hold against the papers, and figures draw as communication patterns.
#include "workload_dict.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "alltoall.hpp"
#include "blocks.hpp"
#include "contents.hpp"
#include "decomposition.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tramontane::bindings {
namespace {

Rank to_rank(const char* key, std::int64_t value) {
    if (value < 1 || value > std::numeric_limits<Rank>::max()) {
        refuse(key, std::to_string(value), "an integer from 1 and below 2^31");
    }
    return static_cast<Rank>(value);
}

/// Reads one dictionary and remembers what it was asked for, so that what is left over can be refused.
class Reader {
public:
    explicit Reader(const nb::dict& source) : source_{source} {}

    template <class T>
    std::optional<T> find(const char* key, const char* allowed) {
        known_.emplace_back(key);
        if (!source_.contains(key)) {
            return std::nullopt;
        }
        const nb::object value = source_[key];
        T result{};
        // try_cast lets bool pass for an integer; nobody means that.
        if (nb::isinstance<nb::bool_>(value) || !nb::try_cast<T>(value, result, /*convert=*/false)) {
            refuse(key, nb::repr(value).c_str(), allowed);
        }
        return result;
    }

    /// Whether a key that may also be something else has this word as its value.
    bool is_word(const char* key, const char* word) {
        std::string value;
        if (!source_.contains(key) || !nb::try_cast<std::string>(source_[key], value, /*convert=*/false)) return false;
        known_.emplace_back(key);
        return value == word;
    }

    template <class T>
    T get(const char* key, const char* allowed) {
        if (auto value = find<T>(key, allowed)) {
            return *std::move(value);
        }
        refuse(key, "nothing", allowed);
    }

    void refuse_others() const {
        for (const auto& [key, value] : source_) {
            const std::string name = nb::str(key).c_str();
            if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
                std::string allowed;
                for (const std::string& each : known_) {
                    allowed += (allowed.empty() ? "" : ", ") + each;
                }
                refuse(name, nb::repr(value).c_str(), "the keys " + allowed);
            }
        }
    }

private:
    const nb::dict& source_;
    std::vector<std::string> known_;
};

template <class T>
nb::object to_numpy(std::vector<T> values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner{kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); }};
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>{kept->data(), {kept->size()}, owner}.cast();
}

/// Block sizes of an all-to-all as a full matrix: any sizes, for a few thousand ranks at most.
class MatrixSizes {
public:
    MatrixSizes(Rank ranks, std::vector<std::int64_t> values) : ranks_{ranks}, values_{std::move(values)} {}

    std::int64_t operator()(Rank origin, Rank destination) const {
        return values_[static_cast<std::size_t>(std::int64_t{origin} * ranks_ + destination)];
    }

private:
    std::int64_t ranks_;
    std::vector<std::int64_t> values_;
};

/// A schedule behind checks: the C++ interface trusts its caller, Python's users get an exception.
class CheckedSchedule {
public:
    explicit CheckedSchedule(std::unique_ptr<ContentSchedule> schedule) : schedule_{std::move(schedule)} {}
    CheckedSchedule(const nb::dict& workload, std::int64_t ranks, bool allow_empty_blocks) {
        WorkloadSpec spec = workload_from_dict(workload, ranks);
        spec.allow_empty_blocks = allow_empty_blocks;
        schedule_ = make_content_schedule(spec);
    }

    const ContentSchedule& get() const { return *schedule_; }

    Round round(std::int64_t rank, std::int64_t round) const {
        check(rank, schedule_->ranks(), "rank");
        check(round, schedule_->rounds(), "round");
        return schedule_->round(static_cast<Rank>(rank), round);
    }

    template <auto Member>
    auto sent(std::int64_t rank, std::int64_t round, std::int64_t index) const {
        check(index, this->round(rank, round).sends, "index");
        return (*schedule_.*Member)(static_cast<Rank>(rank), round, static_cast<std::int32_t>(index));
    }

    template <auto Member>
    auto received(std::int64_t rank, std::int64_t round, std::int64_t index) const {
        check(index, this->round(rank, round).receives, "index");
        return (*schedule_.*Member)(static_cast<Rank>(rank), round, static_cast<std::int32_t>(index));
    }

    Box held(std::int64_t rank, std::int64_t phase) const {
        check(rank, schedule_->ranks(), "rank");
        check(phase, static_cast<std::int64_t>(schedule_->phases().size()) + 1, "phase");
        return schedule_->held(static_cast<Rank>(rank), static_cast<std::int32_t>(phase));
    }

    nb::dict transfers(std::int64_t round, const std::string& side) const {
        check(round, schedule_->rounds(), "round");
        if (side != "send" && side != "receive") {
            throw std::invalid_argument("side: found '" + side + "', allowed: send, receive");
        }
        const bool sending = side == "send";
        std::vector<Rank> source, destination;
        std::vector<std::int32_t> tag;
        std::vector<std::int64_t> bytes;
        for (Rank rank = 0; rank < schedule_->ranks(); ++rank) {
            const Round work = schedule_->round(rank, round);
            const std::int32_t messages = sending ? work.sends : work.receives;
            for (std::int32_t index = 0; index < messages; ++index) {
                const Transfer transfer =
                    sending ? schedule_->send(rank, round, index) : schedule_->receive(rank, round, index);
                source.push_back(sending ? rank : transfer.peer);
                destination.push_back(sending ? transfer.peer : rank);
                tag.push_back(transfer.tag);
                bytes.push_back(transfer.bytes);
            }
        }
        nb::dict result;
        result["source"] = to_numpy(std::move(source));
        result["destination"] = to_numpy(std::move(destination));
        result["tag"] = to_numpy(std::move(tag));
        result["bytes"] = to_numpy(std::move(bytes));
        return result;
    }

    nb::dict totals() const {
        std::vector<std::string> names = schedule_->phases();
        std::vector<std::pair<std::int64_t, std::int64_t>> sums(names.size());
        {
            nb::gil_scoped_release released;
            for (std::int64_t round = 0; round < schedule_->rounds(); ++round) {
                for (Rank rank = 0; rank < schedule_->ranks(); ++rank) {
                    const Round work = schedule_->round(rank, round);
                    auto& [messages, bytes] = sums[static_cast<std::size_t>(work.phase)];
                    messages += work.sends;
                    for (std::int32_t index = 0; index < work.sends; ++index) {
                        bytes += schedule_->send(rank, round, index).bytes;
                    }
                }
            }
        }
        nb::dict result;
        for (std::size_t phase = 0; phase < names.size(); ++phase) {
            result[names[phase].c_str()] = nb::make_tuple(sums[phase].first, sums[phase].second);
        }
        return result;
    }

private:
    static void check(std::int64_t value, std::int64_t end, const char* what) {
        if (value < 0 || value >= end) {
            throw nb::index_error(
                (std::string{what} + " " + std::to_string(value) + " is not in [0, " + std::to_string(end) + ")")
                    .c_str());
        }
    }

    std::unique_ptr<ContentSchedule> schedule_;
};

using MatrixArgument = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

CheckedSchedule make_matrix_alltoall(const std::string& algorithm, const MatrixArgument& sizes, std::int64_t radix) {
    if (sizes.shape(0) != sizes.shape(1)) {
        throw std::invalid_argument("sizes: found " + std::to_string(sizes.shape(0)) + " x " +
                                    std::to_string(sizes.shape(1)) + ", allowed: a square matrix");
    }
    const Rank ranks = to_rank("ranks", static_cast<std::int64_t>(sizes.shape(0)));
    std::vector<std::int64_t> values(sizes.data(), sizes.data() + sizes.size());
    if (std::any_of(values.begin(), values.end(), [](std::int64_t each) { return each < 0; })) {
        throw std::invalid_argument("sizes: found a negative one, allowed: integers from 0");
    }
    return CheckedSchedule{std::make_unique<AlltoallSchedule<MatrixSizes>>(make_alltoall(algorithm, ranks, radix),
                                                                           MatrixSizes{ranks, std::move(values)})};
}

std::pair<std::int64_t, std::int64_t> as_pair(Range range) { return {range.first, range.last}; }

auto as_tuple(const Box& box) { return std::tuple{as_pair(box.x), as_pair(box.y), as_pair(box.z)}; }

nb::bytes halo_table(const nb::dict& workload, std::int64_t ranks) {
    const WorkloadSpec spec = workload_from_dict(workload, ranks);
    if (!spec.bisection) throw std::invalid_argument("workload.decomposition: only bisection has a table of halos");
    const std::vector<std::byte> table = HaloTable::make(spec.grid, spec.width, Bisection{spec.grid, spec.ranks});
    return nb::bytes(table.data(), table.size());
}

Blocks checked_blocks(std::int64_t points, std::int64_t parts) {
    if (points < 0 || points > std::numeric_limits<Rank>::max()) {
        throw std::invalid_argument("points: found " + std::to_string(points) +
                                    ", allowed: an integer from 0, below 2^31");
    }
    if (parts < 1 || parts > std::numeric_limits<Rank>::max()) {
        throw std::invalid_argument("parts: found " + std::to_string(parts) +
                                    ", allowed: an integer from 1, below 2^31");
    }
    return Blocks{points, static_cast<Rank>(parts)};
}

}  // namespace

WorkloadSpec workload_from_dict(const nb::dict& workload, std::int64_t ranks) {
    constexpr const char* integer = "an integer";
    Reader reader{workload};
    WorkloadSpec spec{};
    spec.ranks = to_rank("ranks", ranks);
    spec.kind = reader.get<std::string>("kind", "transposition, halo, allreduce");
    if (spec.kind == "allreduce") {
        spec.algorithm = reader.get<std::string>("algorithm", "recursive-k, recursive-doubling, ring, rabenseifner");
        spec.count = reader.get<std::int64_t>("count", integer);
        spec.repeats = reader.find<std::int64_t>("repeats", integer).value_or(1);
        if (spec.algorithm == "recursive-k") {
            spec.radix = reader.get<std::int64_t>("radix", integer);
            spec.remainder = reader.find<std::string>("remainder", "paper, adjacent").value_or("paper");
        }
    } else if (spec.kind == "transposition" || spec.kind == "halo") {
        spec.grid = reader.get<std::array<std::int64_t, 3>>("grid", "three integers");
        spec.bisection = spec.kind == "halo" && reader.is_word("decomposition", "bisection");
        if (!spec.bisection) {
            spec.decomposition =
                reader.find<std::array<std::int64_t, 2>>("decomposition", "two integers").value_or(spec.decomposition);
        }
        if (spec.kind == "halo") {
            spec.width = reader.get<std::int64_t>("width", integer);
        } else {
            spec.algorithm = reader.get<std::string>("algorithm", alltoall_algorithms);
            if (spec.algorithm == "ring-k" || spec.algorithm == "sliding-window") {
                spec.radix = reader.get<std::int64_t>("radix", integer);
            } else if (spec.algorithm == "bruck") {
                spec.radix = reader.find<std::int64_t>("radix", integer).value_or(2);
            }
        }
    } else {
        refuse("kind", "'" + spec.kind + "'", "transposition, halo, allreduce");
    }
    reader.refuse_others();
    return spec;
}

}  // namespace tramontane::bindings

void bind_schedule(nb::module_& module) {
    using namespace tramontane;
    using namespace tramontane::bindings;

    nb::module_ m =
        module.def_submodule("schedule", "What every rank sends and receives in every round of a workload.");

    nb::class_<Transfer>(m, "Transfer", "One message, seen from one of its two ends.")
        .def_ro("peer", &Transfer::peer, "The other end.")
        .def_ro("tag", &Transfer::tag, "Tells apart messages between the same two ranks in the same round.")
        .def_ro("bytes", &Transfer::bytes, "Payload [B].")
        .def("__repr__", [](const Transfer& t) {
            return "Transfer(peer=" + std::to_string(t.peer) + ", tag=" + std::to_string(t.tag) +
                   ", bytes=" + std::to_string(t.bytes) + ")";
        });

    nb::class_<Round>(m, "Round", "How many transfers a rank has in a round, and the phase the round belongs to.")
        .def_ro("phase", &Round::phase)
        .def_ro("sends", &Round::sends)
        .def_ro("receives", &Round::receives)
        .def_ro("window", &Round::window, "Sends that may be under way at a time; 0: all.")
        .def("__repr__", [](const Round& r) {
            return "Round(phase=" + std::to_string(r.phase) + ", sends=" + std::to_string(r.sends) +
                   ", receives=" + std::to_string(r.receives) + ")";
        });

    nb::class_<Piece>(m, "Piece", "One part of what a message carries.")
        .def_ro("origin", &Piece::origin, "Rank that contributed the data first (of a combined value: the sender).")
        .def_ro("destination", &Piece::destination,
                "Rank the data are for; another one than the receiver if they are to be passed on.")
        .def_prop_ro(
            "box", [](const Piece& p) { return as_tuple(p.box); },
            "((x0, x1), (y0, y1), (z0, z1)), half open, in the coordinates of the rank that was asked.")
        .def_prop_ro(
            "size", [](const Piece& p) { return p.box.size(); }, "Elements in the box.")
        .def_ro("combine", &Piece::combine, "True: add to what the receiver has; False: put in its place.")
        .def("__repr__", [](const Piece& p) {
            return "Piece(origin=" + std::to_string(p.origin) + ", destination=" + std::to_string(p.destination) +
                   ", size=" + std::to_string(p.box.size()) + (p.combine ? ", combine=True)" : ", combine=False)");
        });

    nb::class_<CheckedSchedule>(
        m, "Schedule",
        "The schedule of a workload.\n\n"
        "Parameters\n----------\n"
        "workload : dict\n    The ``workload`` block of a canonical point.\n"
        "ranks : int\n    Number of processes.\n"
        "allow_empty_blocks : bool\n    Let a transposition have ranks without points in some layout.\n\n"
        "Raises\n------\nValueError\n    For a wrong key or value; the message names it and what is allowed.")
        .def(nb::init<const nb::dict&, std::int64_t, bool>(), "workload"_a, "ranks"_a, nb::kw_only(),
             "allow_empty_blocks"_a = false)
        .def_static("alltoall", &make_matrix_alltoall, "algorithm"_a, "sizes"_a, "radix"_a = 2,
                    "One all-to-all among all ranks; ``sizes[i, j]`` doubles (int64) go from rank i to rank j.")
        .def_prop_ro("ranks", [](const CheckedSchedule& s) { return s.get().ranks(); })
        .def_prop_ro("rounds", [](const CheckedSchedule& s) { return s.get().rounds(); })
        .def_prop_ro("phases", [](const CheckedSchedule& s) { return s.get().phases(); })
        .def("round", &CheckedSchedule::round, "rank"_a, "round"_a)
        .def("send", &CheckedSchedule::sent<&Schedule::send>, "rank"_a, "round"_a, "index"_a,
             "The ``index``-th message that ``rank`` sends in ``round``.")
        .def("receive", &CheckedSchedule::received<&Schedule::receive>, "rank"_a, "round"_a, "index"_a,
             "The ``index``-th message that ``rank`` receives in ``round``.")
        .def("send_contents", &CheckedSchedule::sent<&ContentSchedule::send_contents>, "rank"_a, "round"_a, "index"_a,
             "The pieces of that message, in the sender's coordinates.")
        .def("receive_contents", &CheckedSchedule::received<&ContentSchedule::receive_contents>, "rank"_a, "round"_a,
             "index"_a, "The pieces of that message, in the receiver's coordinates.")
        .def(
            "held",
            [](const CheckedSchedule& s, std::int64_t rank, std::int64_t phase) {
                return as_tuple(s.held(rank, phase));
            },
            "rank"_a, "phase"_a,
            "The box ``rank`` holds when ``phase`` begins; ``phase = len(phases)``: when all is done.")
        .def("transfers", &CheckedSchedule::transfers, "round"_a, "side"_a = "send",
             "All messages of a round as NumPy arrays ``source``, ``destination``, ``tag``, ``bytes``; as their "
             "senders\n"
             "(``side=\"send\"``) or their receivers (``side=\"receive\"``) see them, by rank and index.")
        .def("totals", &CheckedSchedule::totals, "``{phase: (messages, bytes)}`` over all ranks and rounds.");

    m.def("halo_table", &halo_table, "workload"_a, "ranks"_a,
          "Tiles and neighbours of all processes of a halo exchange by bisection, as simulated processes share them.");

    m.def(
        "block",
        [](std::int64_t points, std::int64_t parts, std::int64_t part) {
            const Blocks blocks = checked_blocks(points, parts);
            if (part < 0 || part >= parts) {
                throw nb::index_error("part is not in [0, parts)");
            }
            return as_pair(blocks.range(static_cast<Rank>(part)));
        },
        "points"_a, "parts"_a, "part"_a,
        "``(first, last)``, half open, of one of ``parts`` blocks of ``points`` indices.");
    m.def(
        "block_owner",
        [](std::int64_t points, std::int64_t parts, std::int64_t index) {
            const Blocks blocks = checked_blocks(points, parts);
            if (index < 0 || index >= points) {
                throw nb::index_error("index is not in [0, points)");
            }
            return blocks.owner(index);
        },
        "points"_a, "parts"_a, "index"_a, "The block that holds an index.");
    m.def(
        "nearest_square",
        [](std::int64_t ranks, std::int64_t max_cx, std::int64_t max_cy) {
            const auto found = nearest_square(to_rank("ranks", ranks), {max_cx, max_cy});
            return found ? nb::object(nb::make_tuple(found->cx, found->cy)) : nb::object(nb::none());
        },
        nb::sig("def nearest_square(ranks: int, max_cx: int, max_cy: int) -> tuple[int, int] | None"), "ranks"_a,
        "max_cx"_a, "max_cy"_a, "``(cx, cy)`` with cx * cy = ranks nearest to square within the limits, or None.");
    m.def(
        "default_decomposition",
        [](const std::string& kind, std::int64_t ranks, const Grid& grid) {
            const Decomposition found = default_decomposition(kind, to_rank("ranks", ranks), grid);
            return std::pair{found.cx, found.cy};
        },
        "kind"_a, "ranks"_a, "grid"_a,
        "``(cx, cy)`` that a transposition or halo exchange takes if its point states none; ValueError if there is "
        "none.");
}
