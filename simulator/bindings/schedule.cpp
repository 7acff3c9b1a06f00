/// \file
/// Python view of the schedules: what tests hold against the papers, and figures draw as communication patterns.
#include "workload_dict.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "alltoall.hpp"
#include "blocks.hpp"
#include "contents.hpp"
#include "decomposition.hpp"
#include "graphs/builder.hpp"
#include "graphs/goal.hpp"
#include "graphs/goal_binary.hpp"
#include "graphs/mpi_graph.hpp"
#include "graphs/mpi_trace.hpp"
#include "graphs/scratch.hpp"
#include "sampled_stages.hpp"
#include "traffic.hpp"

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

/// What a value is, if a key could have it.
std::optional<Value> value_of(const nb::handle& value) {
    std::int64_t number = 0;
    std::string word;
    std::vector<std::int64_t> numbers;
    // try_cast lets bool pass for an integer; nobody means that.
    if (nb::isinstance<nb::bool_>(value)) return std::nullopt;
    if (nb::try_cast(value, number, /*convert=*/false)) return number;
    if (nb::try_cast(value, word, /*convert=*/false)) return word;
    if (nb::try_cast(value, numbers, /*convert=*/false)) return numbers;
    return std::nullopt;
}

/// Adds all keys of a block; those of a block within are `name.key`, those of the blocks of a list `name.0.key`.
void add_arguments(const nb::dict& source, const std::string& prefix, std::vector<Argument>& given) {
    for (const auto& [key, value] : source) {
        const std::string name = prefix + nb::str(key).c_str();
        if (nb::isinstance<nb::dict>(value)) {
            add_arguments(nb::cast<nb::dict>(value), name + ".", given);
            continue;
        }
        std::size_t number = 0;
        if (nb::isinstance<nb::list>(value)) {
            for (const nb::handle each : nb::cast<nb::list>(value)) {
                if (!nb::isinstance<nb::dict>(each)) break;
                add_arguments(nb::cast<nb::dict>(each), name + "." + std::to_string(number++) + ".", given);
            }
        }
        if (number == 0) given.push_back({name, value_of(value), nb::repr(value).c_str()});
    }
}

std::vector<Argument> arguments_in(const nb::dict& source) {
    std::vector<Argument> given;
    add_arguments(source, "", given);
    return given;
}

nb::object to_python(const Value& value) {
    return std::visit([](const auto& each) { return nb::cast(each); }, value);
}

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
    explicit CheckedSchedule(std::unique_ptr<Schedule> schedule) : schedule_{std::move(schedule)} {}
    CheckedSchedule(const nb::dict& workload, std::int64_t ranks, bool allow_empty_blocks)
        : schedule_{workload_from_dict(workload, ranks, {.empty_blocks = allow_empty_blocks})->schedule()} {}

    const Schedule& get() const { return *schedule_; }

    Round round(std::int64_t rank, std::int64_t round) const {
        check(rank, schedule_->ranks(), "rank");
        check(round, schedule_->rounds(), "round");
        return schedule_->round(static_cast<Rank>(rank), round);
    }

    /// \throws std::invalid_argument for a schedule that does not say what its messages carry
    const ContentSchedule& contents() const {
        if (schedule_->contents() == nullptr) throw std::invalid_argument("schedule: says not what its messages carry");
        return *schedule_->contents();
    }
    template <auto Member>
    const auto& owner() const {
        if constexpr (std::is_invocable_v<decltype(Member), const Schedule&, Rank, std::int64_t, std::int32_t>) {
            return *schedule_;
        } else {
            return contents();
        }
    }

    template <auto Member>
    auto sent(std::int64_t rank, std::int64_t round, std::int64_t index) const {
        check(index, this->round(rank, round).sends, "index");
        return (owner<Member>().*Member)(static_cast<Rank>(rank), round, static_cast<std::int32_t>(index));
    }

    template <auto Member>
    auto received(std::int64_t rank, std::int64_t round, std::int64_t index) const {
        check(index, this->round(rank, round).receives, "index");
        return (owner<Member>().*Member)(static_cast<Rank>(rank), round, static_cast<std::int32_t>(index));
    }

    Box held(std::int64_t rank, std::int64_t phase) const {
        check(rank, schedule_->ranks(), "rank");
        check(phase, static_cast<std::int64_t>(schedule_->phases().size()) + 1, "phase");
        return contents().held(static_cast<Rank>(rank), static_cast<std::int32_t>(phase));
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

    std::string goal(std::int64_t rank) const {
        check(rank, schedule_->ranks(), "rank");
        const nb::gil_scoped_release released;
        return GoalWriter{*schedule_}.rank(static_cast<Rank>(rank));
    }

    std::vector<std::int64_t> stages() const {
        std::vector<std::int64_t> stages;
        for (const StagedPhase& phase : staged_phases(*schedule_)) stages.push_back(phase.stages());
        return stages;
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

    std::unique_ptr<Schedule> schedule_;
};

using MatrixArgument = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

CheckedSchedule make_matrix_alltoall(const std::string& algorithm, const MatrixArgument& sizes,
                                     std::optional<std::int64_t> radix) {
    if (sizes.shape(0) != sizes.shape(1)) {
        throw std::invalid_argument("sizes: found " + std::to_string(sizes.shape(0)) + " x " +
                                    std::to_string(sizes.shape(1)) + ", allowed: a square matrix");
    }
    const Rank ranks = to_rank("ranks", static_cast<std::int64_t>(sizes.shape(0)));
    std::vector<std::int64_t> values(sizes.data(), sizes.data() + sizes.size());
    if (std::any_of(values.begin(), values.end(), [](std::int64_t each) { return each < 0; })) {
        throw std::invalid_argument("sizes: found a negative one, allowed: integers from 0");
    }
    std::vector<Argument> given{{"algorithm", algorithm, "'" + algorithm + "'"}};
    if (radix) given.push_back({"radix", *radix, std::to_string(*radix)});
    KeyReader reader{std::move(given)};
    const std::vector<Key> keys = algorithm_keys(alltoall_algorithms);
    Values read;
    reader.read(keys, read, "workload.");
    reader.finish("workload.");
    return CheckedSchedule{std::make_unique<AlltoallSchedule<MatrixSizes>>(make_alltoall(read, ranks),
                                                                           MatrixSizes{ranks, std::move(values)})};
}

std::pair<std::int64_t, std::int64_t> as_pair(Range range) { return {range.first, range.last}; }

auto as_tuple(const Box& box) { return std::tuple{as_pair(box.x), as_pair(box.y), as_pair(box.z)}; }

nb::dict describe_kinds() {
    nb::dict result;
    for (const WorkloadKind& kind : workload_kinds()) {
        nb::list keys;
        for (const Key& key : kind.keys) {
            nb::dict entry;
            entry["name"] = key.name;
            entry["integers"] = key.integers;
            entry["least"] = key.least;
            entry["most"] = key.most;
            entry["words"] = key.words;
            entry["default"] = key.otherwise ? to_python(*key.otherwise) : nb::none();
            entry["required"] = !key.otherwise && !key.optional;
            entry["with"] = key.with.empty() ? nb::none() : nb::object(nb::make_tuple(key.with, key.with_value));
            keys.append(entry);
        }
        nb::dict described;
        described["keys"] = keys;
        described["library_algorithm"] = kind.library_algorithm;
        result[kind.name.c_str()] = described;
    }
    return result;
}

nb::dict to_python(const Values& values) {
    nb::dict result;
    for (const auto& [key, value] : values.all()) result[key.c_str()] = to_python(value);
    return result;
}

nb::dict read_keys(const nb::dict& workload) {
    KeyReader reader{arguments_in(workload)};
    Values values;
    static_cast<void>(read_workload(reader, values));
    reader.finish("workload.");
    return to_python(values);
}

nb::object describe_limits(const Workload& workload) {
    const auto limits = workload.limits();
    return limits ? nb::object(nb::make_tuple(limits->cx, limits->cy)) : nb::object(nb::none());
}

nb::bytes shared_setup(const Workload& workload) {
    const std::vector<std::byte> setup = workload.setup();
    return nb::bytes(setup.data(), setup.size());
}

std::vector<std::int64_t> sizes_of(const std::vector<KindOfMessage>& kinds) {
    std::vector<std::int64_t> sizes(kinds.size());
    std::transform(kinds.begin(), kinds.end(), sizes.begin(), [](const KindOfMessage& kind) { return kind.bytes; });
    return sizes;
}

/// Which put each is, as a number.
std::vector<std::uint8_t> puts_of(const std::vector<KindOfMessage>& kinds) {
    std::vector<std::uint8_t> puts(kinds.size());
    std::transform(kinds.begin(), kinds.end(), puts.begin(), [](const KindOfMessage& kind) { return kind.put; });
    return puts;
}

nb::list count_traffic(const Workload& workload, const TrafficLimits& limits) {
    const auto schedule = workload.sampled();
    const TrafficSample sample = [&] {
        const nb::gil_scoped_release released;
        return TrafficSample{*schedule, limits};
    }();
    nb::list result;
    for (const PhaseTraffic& phase : sample.phases()) {
        std::vector<KindOfMessage> kinds;
        std::vector<double> messages;
        for (const auto& [kind, count] : phase.messages) {
            kinds.push_back(kind);
            messages.push_back(count);
        }
        nb::dict entry;
        entry["sizes"] = to_numpy(sizes_of(kinds));
        entry["puts"] = to_numpy(puts_of(kinds));
        entry["messages"] = to_numpy(std::move(messages));
        entry["posted"] = phase.posted;
        entry["windowed"] = phase.windowed;
        entry["source"] = to_numpy(phase.pairs.source);
        entry["destination"] = to_numpy(phase.pairs.destination);
        entry["bytes"] = to_numpy(sizes_of(phase.pairs.kind));
        entry["put"] = to_numpy(puts_of(phase.pairs.kind));
        entry["weight"] = to_numpy(phase.pairs.weight);
        result.append(entry);
    }
    return result;
}

using Packed = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>;

/// A table that stays where it is.
Packed as_array(Scratch<std::byte>&& packed) {
    auto own = std::make_unique<Scratch<std::byte>>(std::move(packed));
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(own->data());
    const std::size_t size = own->size();
    const nb::capsule owner{own.release(),
                            [](void* table) noexcept { delete static_cast<Scratch<std::byte>*>(table); }};
    return {bytes, {size}, owner};
}

Packed pack_goal(const std::string& path) {
    return as_array([&] {
        const nb::gil_scoped_release released;
        return packed_goal(path);
    }());
}

/// What Python makes of what ranks say of a collective call: nothing, a number, schedules, or what each sends to each.
TracedExchange exchange_of(const nb::object& found) {
    if (found.is_none()) return {};
    if (nb::isinstance<nb::int_>(found)) return {.kept = nb::cast<std::int64_t>(found)};
    if (nb::len(found) == 0 || !nb::isinstance<CheckedSchedule>(found[0])) {
        return {.sizes = nb::cast<std::vector<std::vector<std::int64_t>>>(found)};
    }
    std::vector<const Schedule*> schedules;
    for (const nb::handle each : found) schedules.push_back(&nb::cast<const CheckedSchedule&>(each).get());
    return {.schedules = std::move(schedules), .keeper = std::make_shared<const nb::object>(found)};
}

nb::object as_tuple_of(std::span<const std::int64_t> numbers) {
    nb::list list;
    for (const std::int64_t each : numbers) list.append(each);
    return nb::tuple(list);
}

/// A path may have bytes that are no text.
std::string path_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

Packed pack_mpi_trace(const std::vector<nb::bytes>& files, const nb::callable& say, bool alike) {
    std::vector<std::string> paths;
    for (const nb::bytes& file : files) paths.push_back(path_of(file));
    const auto exchange = [&](const std::string& name, const TracedRanks& members, std::int64_t root,
                              const std::vector<std::span<const std::int64_t>>& said) {
        const std::vector<std::int64_t> ranks(members.begin(), members.end());
        nb::list sizes;
        for (const auto& each : said) sizes.append(as_tuple_of(each));
        try {
            return exchange_of(say(name, as_tuple_of(ranks), root, sizes));
        } catch (const nb::python_error& error) {
            if (!error.matches(PyExc_ValueError)) throw;
            throw std::invalid_argument(nb::str(error.value()).c_str());
        }
    };
    return as_array(packed_mpi_trace(paths, exchange, alike));
}

nb::tuple extent_of_trace(const nb::bytes& file, std::int64_t rank) {
    const TraceExtent found = RankTrace{path_of(file), static_cast<Rank>(rank)}.extent();
    return nb::make_tuple(found.calls, found.time, found.whole);
}

GraphBuilder make_graph_builder(std::int64_t ranks, std::string place) {
    GraphBuilder builder{std::move(place)};
    builder.set_ranks(ranks, static_cast<std::size_t>(GraphBuilder::most_ranks), 0);
    return builder;
}

Packed pack_operations(GraphBuilder& builder) {
    return as_array([&] {
        const nb::gil_scoped_release released;
        return builder.pack();
    }());
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

/// What schedules consist of, and how points are divided into blocks.
void bind_values(nb::module_& m) {
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
        .def_ro("in_turn", &Round::in_turn,
                "It posts its receives after its sends, each when the one before it is complete.")
        .def_ro("waits", &Round::waits, "For all of its transfers; else a later round does.")
        .def_ro("work", &Round::work, "Of the rank's processor [ps].")
        .def_ro("bytes", &Round::bytes, "That it reads or writes.")
        .def_ro("ends", &Round::ends, "It waits for the round that is so many before; 0: for its own transfers.")
        .def_ro("sends_only", &Round::sends_only, "Of the round that it ends, it waits for what this rank sends.")
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
}

/// Schedules, and the descriptions of workloads that they are of.
void bind_schedules(nb::module_& m) {
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
        .def_static("alltoall", &make_matrix_alltoall, "algorithm"_a, "sizes"_a, "radix"_a = nb::none(),
                    "One all-to-all among all ranks; ``sizes[i, j]`` doubles (int64) go from rank i to rank j.")
        .def_prop_ro("ranks", [](const CheckedSchedule& s) { return s.get().ranks(); })
        .def_prop_ro("rounds", [](const CheckedSchedule& s) { return s.get().rounds(); })
        .def_prop_ro(
            "is_graph", [](const CheckedSchedule& s) { return s.get().graph() != nullptr; },
            "Whether it says by operation what is waited for; seen as rounds it is one, without an order.")
        .def_prop_ro("phases", [](const CheckedSchedule& s) { return s.get().phases(); })
        .def_prop_ro("stages", &CheckedSchedule::stages,
                     "Stages of each phase: its rounds; or, where a window of sends slides through its one round, the "
                     "sends over those that are under way at a time.")
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
        .def("goal", &CheckedSchedule::goal, "rank"_a,
             "What a rank does, as GOAL text; ValueError for what a graph of operations can't say.")
        .def("totals", &CheckedSchedule::totals, "``{phase: (messages, bytes)}`` over all ranks and rounds.");

    nb::class_<Workload>(
        m, "Workload",
        "What planning has to know of a workload; its schedule says the rest.\n\n"
        "Parameters\n----------\n"
        "workload : dict\n    Keys of the ``workload`` block of a point, in base units.\n"
        "ranks : int\n    Number of processes.\n"
        "allow_empty_blocks : bool\n    Let a transposition have ranks without points in some layout.\n\n"
        "Raises\n------\nValueError\n    For a wrong key or value; the message names it and what is allowed.")
        .def(nb::new_([](const nb::dict& workload, std::int64_t ranks, bool allow_empty_blocks) {
                 return workload_from_dict(workload, ranks, {.empty_blocks = allow_empty_blocks});
             }),
             "workload"_a, "ranks"_a, nb::kw_only(), "allow_empty_blocks"_a = false)
        .def_prop_ro(
            "values", [](const Workload& workload) { return to_python(workload.values()); },
            "All of its keys, those that were left out too.")
        .def_prop_ro("limits", &describe_limits, "The largest cx and cy of a decomposition; None without one.")
        .def_prop_ro("imbalance", &Workload::imbalance,
                     "The largest block of data of any rank at any time, relative to the mean.")
        .def("setup", &shared_setup,
             "What all ranks have to know of each other, for simulated processes to share; empty: nothing.")
        .def(
            "traffic",
            [](const Workload& workload, std::int64_t calls, std::int64_t ranks, std::int64_t pairs) {
                return count_traffic(workload, {.calls = calls, .ranks = ranks, .pairs = pairs});
            },
            "calls"_a = TrafficLimits{}.calls, "ranks"_a = TrafficLimits{}.ranks, "pairs"_a = TrafficLimits{}.pairs,
            "What is sent, for each phase a dict.\n\n"
            "``messages`` of each of the ``sizes`` [B], and which of them are ``puts``; those ``posted`` at a time by\n"
            "all ranks; whether sends are ``windowed``; and pairs of ranks, each for ``weight`` messages: ``source``,\n"
            "``destination``, ``bytes`` and whether it is a ``put``.\n"
            "Exact where a look at all ranks takes no more than `calls` of the schedule; else from a sample of ranks.");
    m.def("kinds", &describe_kinds,
          "Of each kind of workload the keys, beside ``kind``, and the algorithm whose messages are those of an MPI\n"
          "library's operation.");
    m.def("read", &read_keys, "workload"_a,
          "All keys of a workload whose number of ranks is not known yet; ValueError as for ``Workload``.");
}

/// What turns traces into operations.
void bind_traces(nb::module_& m) {
    m.def("pack_goal", &pack_goal, "path"_a,
          "The table of operations of a GOAL file, text or binary; ValueError with rank, place in the file, what was\n"
          "found and what is allowed.");

    m.def(
        "pack_mpi_trace", &pack_mpi_trace, "files"_a, "say"_a, "alike"_a = false,
        "The table of operations of a trace that `tramontane trace` has written; ValueError as for ``pack_goal``.\n\n"
        "Parameters\n----------\n"
        "files : list of bytes\n    Of all ranks, in order; their headers are not looked at.\n"
        "say : callable\n    Makes schedules, rows of what each sends to each, or None of a collective call's name,\n"
        "    the ranks, the root's place, and the sizes that each rank tells. Or a number: the call stays one then, "
        "as\n"
        "    with ``GraphBuilder.keep``.\n"
        "alike : bool\n    Whether each call has work before it, if only of no time, so that ranks that call alike do\n"
        "    alike.");
    m.def("extent_of_trace", &extent_of_trace, "file"_a, "rank"_a,
          "Calls of a rank's file, how long they took [ns], and whether the program ended its use of MPI.");

    nb::class_<GraphBuilder>(m, "GraphBuilder",
                             "Collects operations, one rank after the other, and packs them into a table.\n\n"
                             "Parameters\n----------\n"
                             "ranks : int\n    How many there are.\n"
                             "place : str\n    What positions in the file count, such as 'event'.\n\n"
                             "Raises\n------\nValueError\n    For what can't be; with rank and position.")
        .def(nb::new_(&make_graph_builder), "ranks"_a, "place"_a)
        .def("begin_rank", &GraphBuilder::begin_rank, "rank"_a, "position"_a, "What follows is of this rank.")
        .def("send", &GraphBuilder::send, "target"_a, "tag"_a, "bytes"_a, "position"_a,
             "Return the operation's number within its rank.")
        .def("receive", &GraphBuilder::receive, "source"_a, "tag"_a, "bytes"_a, "position"_a,
             "Return the operation's number within its rank.")
        .def("work", &GraphBuilder::work, "picoseconds"_a, "position"_a,
             "Return the operation's number within its rank.")
        .def("keep", &GraphBuilder::keep, "number"_a, "tag"_a, "position"_a,
             "Return the operation's number within its rank: a collective call that stays one. The table has it as\n"
             "work of -((number + 1) << 32 | tag); nobody can simulate it.")
        .def(
            "depend",
            [](GraphBuilder& builder, std::uint32_t later, std::uint32_t earlier, bool on_start) {
                builder.depend(later, earlier, on_start);
            },
            "later"_a, "earlier"_a, "on_start"_a, "The later one waits for the earlier one's start, or end.")
        .def("pack", &pack_operations, "The table; ValueError for messages that have one end only, and circles.");
}

}  // namespace

std::unique_ptr<Workload> workload_from_dict(const nb::dict& workload, std::int64_t ranks,
                                             const Permissions& permissions) {
    return make_workload(arguments_in(workload), ranks, permissions);
}

}  // namespace tramontane::bindings

void bind_schedule(nb::module_& module) {
    nb::module_ m =
        module.def_submodule("schedule", "What every rank sends and receives in every round of a workload.");
    tramontane::bindings::bind_values(m);
    tramontane::bindings::bind_schedules(m);
    tramontane::bindings::bind_traces(m);
}
