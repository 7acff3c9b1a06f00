/// \file
/// tramontane-pnetcdf: writes or reads a NetCDF file by PnetCDF, each rank by itself or one of a group for all of it,
/// checks every value, and prints one line of JSON.
///
/// The variables have a value for each cell of a grid and each level. Cells belong to ranks in short runs, one rank
/// after the other, as in parts of a grid whose cells are numbered otherwise; so each rank has many requests, and those
/// of a group are neighbours (Wang et al. 2020, section 4).
///
/// Exit status: 0; 1 if data are wrong or the run failed; 2 for a mistake in the arguments, and for a file that can't
/// be written there. What went wrong is one line on standard error. A file has its name only once it is whole.
#include <fcntl.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "keys.hpp"
#include "refusal.hpp"
#include "writes.hpp"

namespace {

using namespace tramontane;

/// Cells one after the other, and where the values of the first one are in somebody's data.
struct Run {
    MPI_Offset first, count, at;
};

struct Options {
    MPI_Offset cells = 0, levels = 0, run = 0, variables = 0;
    int group = 0;
    std::string file, form;
    bool writes = true, faulty = false;
};

[[nodiscard]] Options read_options(const std::vector<std::string>& arguments) {
    KeyReader reader{split_arguments(arguments)};
    Values found;
    const std::vector<Key> keys{
        Key::word("do", {"write", "read"}),
        Key::word("form", {"blocking", "nonblocking", "collective", "grouped"}),
        {.name = "group", .integers = 1, .with = "form", .with_value = "grouped"},
        {.name = "file"},
        {.name = "cells", .integers = 1, .most = std::int64_t{1} << 40, .otherwise = std::int64_t{10242}},
        {.name = "levels", .integers = 1, .most = 1000, .otherwise = std::int64_t{30}},
        {.name = "variables", .integers = 1, .most = 1000, .otherwise = std::int64_t{2}},
        {.name = "run", .integers = 1, .most = 1'000'000, .otherwise = std::int64_t{8}},
        Key::word("fault", {"none", "value"}, "none"),
    };
    reader.read(keys, found);
    reader.finish();
    Options options;
    options.cells = found.integer("cells");
    options.levels = found.integer("levels");
    options.variables = found.integer("variables");
    options.run = found.integer("run");
    options.file = found.word("file");
    options.form = found.word("form");
    options.writes = found.is("do", "write");
    options.faulty = found.is("fault", "value");
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (options.form == "grouped") {
        const std::int64_t group = found.integer("group");
        if (group > ranks) {
            refuse_key("group", std::to_string(group), "at most " + std::to_string(ranks) + ", all ranks");
        }
        options.group = static_cast<int>(group);
    }
    return options;
}

/// What a rank has to say if something failed; nothing: nothing did.
struct Failure {
    std::string line;
    int status;
};

/// The line of the first rank that has one, on all ranks.
class Failed : public std::runtime_error {
public:
    explicit Failed(const Failure& failure) : std::runtime_error(failure.line), status_{failure.status} {}
    [[nodiscard]] int status() const { return status_; }

private:
    int status_;
};

void agree(MPI_Comm among, const Failure& own) {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(among, &rank);
    MPI_Comm_size(among, &ranks);
    int mine = own.line.empty() ? ranks : rank, first = ranks, status = own.status;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, among);
    if (first == ranks) return;
    std::vector<char> text(1024, '\0');
    own.line.copy(text.data(), text.size() - 1);
    MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, first, among);
    MPI_Bcast(&status, 1, MPI_INT, first, among);
    throw Failed({text.data(), status});
}

/// A file that can't be written whole. \param error what the operating system said
[[nodiscard]] Failure unwritable(const Options& options, int error) {
    const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    return {"file: found '" + options.file + (full ? "' without room (" : "' that can't be written (") +
                std::strerror(error) + "); allowed: one in a folder with room, that can be written",
            2};
}

/// One value, which says where it belongs: they are 1, 2, ... in the order of the file.
[[nodiscard]] double value_of(const Options& options, MPI_Offset variable, MPI_Offset cell, MPI_Offset level) {
    return static_cast<double>(1 + (variable * options.cells + cell) * options.levels + level);
}

[[nodiscard]] std::string name_of(MPI_Offset variable) { return "field_" + std::to_string(variable); }

[[nodiscard]] std::vector<Run> runs_of(const Options& options, int rank, int ranks) {
    std::vector<Run> runs;
    MPI_Offset at = 0;
    for (MPI_Offset first = rank * options.run; first < options.cells; first += ranks * options.run) {
        const MPI_Offset count = std::min(options.run, options.cells - first);
        runs.push_back({first, count, at});
        at += count;
    }
    return runs;
}

[[nodiscard]] MPI_Offset cells_in(const std::vector<Run>& runs) {
    return runs.empty() ? 0 : runs.back().at + runs.back().count;
}

/// A NetCDF file that the ranks of a communicator have open.
class File {
public:
    File(MPI_Comm among, std::string path, const Options& options, bool creates)
        : among_{among}, path_{std::move(path)}, options_{options} {
        if (creates) {
            create();
        } else {
            open();
        }
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (id_ >= 0) ncmpi_abort(id_);
    }

    /// Writes or reads the values of a variable. Everybody must call it where the form is collective.
    void access(MPI_Offset variable, const std::string& form, const std::vector<Run>& runs, std::vector<double>& data,
                bool writes) {
        const int of = ids_[static_cast<std::size_t>(variable)];
        const bool together = form == "collective";
        long long mine = static_cast<long long>(runs.size()), most = mine;
        if (together) MPI_Allreduce(&mine, &most, 1, MPI_LONG_LONG, MPI_MAX, among_);
        if (form == "blocking") note(ncmpi_begin_indep_data(id_));
        for (long long number = 0; number < most; ++number) {
            const bool has = number < mine;
            const Run run = has ? runs[static_cast<std::size_t>(number)] : Run{0, 0, 0};
            const MPI_Offset start[2] = {run.first, 0}, count[2] = {run.count, has ? options_.levels : 0};
            double* const at = data.data() + run.at * options_.levels;
            requests_ += has ? 1 : 0;
            if (form == "nonblocking") {
                note(writes ? ncmpi_iput_vara_double(id_, of, start, count, at, nullptr)
                            : ncmpi_iget_vara_double(id_, of, start, count, at, nullptr));
            } else if (together) {
                note(writes ? ncmpi_put_vara_double_all(id_, of, start, count, at)
                            : ncmpi_get_vara_double_all(id_, of, start, count, at));
            } else {
                note(writes ? ncmpi_put_vara_double(id_, of, start, count, at)
                            : ncmpi_get_vara_double(id_, of, start, count, at));
            }
        }
        if (form == "nonblocking") {
            note(ncmpi_wait_all(id_, writes ? NC_PUT_REQ_ALL : NC_GET_REQ_ALL, nullptr, nullptr));
        }
        if (form == "blocking") note(ncmpi_end_indep_data(id_));
    }
    /// Closes it. Everybody must call it, or nobody.
    void close() {
        note(ncmpi_close(id_));
        id_ = -1;
    }
    /// What failed on this rank. What the operating system said of a write is worth more than what became of it.
    [[nodiscard]] Failure failure() const {
        return write_error() != 0 ? unwritable(options_, write_error()) : failure_;
    }
    /// Bytes of the file once everything is written, as PnetCDF laid it out.
    [[nodiscard]] MPI_Offset bytes() {
        MPI_Offset begin = 0;
        note(ncmpi_inq_varoffset(id_, ids_.back(), &begin));
        return begin + 8 * options_.cells * options_.levels;
    }
    [[nodiscard]] long long requests() const { return requests_; }

private:
    void create() {
        note(ncmpi_create(among_, path_.c_str(), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id_));
        if (!failure_.line.empty()) {
            id_ = -1;
            return;
        }
        watch_writes(path_);
        int dims[2] = {0, 0};
        note(ncmpi_def_dim(id_, "cell", options_.cells, &dims[0]));
        note(ncmpi_def_dim(id_, "level", options_.levels, &dims[1]));
        for (MPI_Offset variable = 0; variable < options_.variables; ++variable) {
            ids_.push_back(0);
            note(ncmpi_def_var(id_, name_of(variable).c_str(), NC_DOUBLE, 2, dims, &ids_.back()));
        }
        note(ncmpi_enddef(id_));
    }
    void open() {
        note(ncmpi_open(among_, path_.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id_), 2);
        if (!failure_.line.empty()) {
            id_ = -1;
            return;
        }
        for (MPI_Offset variable = 0; variable < options_.variables; ++variable) {
            ids_.push_back(0);
            const std::string name = name_of(variable);
            if (ncmpi_inq_varid(id_, name.c_str(), &ids_.back()) != NC_NOERR) {
                refuse("no variable '" + name + "'");
                return;
            }
            if (!has_shape(ids_.back())) {
                refuse("'" + name + "' of another type or shape than " + std::to_string(options_.cells) + " x " +
                       std::to_string(options_.levels) + " doubles");
                return;
            }
        }
    }
    [[nodiscard]] bool has_shape(int of) const {
        int dims = 0, each[2] = {0, 0};
        nc_type type = NC_NAT;
        MPI_Offset cells = 0, levels = 0;
        return ncmpi_inq_varndims(id_, of, &dims) == NC_NOERR && dims == 2 &&
               ncmpi_inq_vartype(id_, of, &type) == NC_NOERR && type == NC_DOUBLE &&
               ncmpi_inq_vardimid(id_, of, each) == NC_NOERR && ncmpi_inq_dimlen(id_, each[0], &cells) == NC_NOERR &&
               ncmpi_inq_dimlen(id_, each[1], &levels) == NC_NOERR && cells == options_.cells &&
               levels == options_.levels;
    }
    void refuse(const std::string& found) {
        failure_ = {"file: found " + found + " in '" + options_.file + "'; allowed: what `do=write` has written", 2};
    }
    void note(int error, int status = 1) {
        if (error == NC_NOERR || !failure_.line.empty()) return;
        failure_ = {"'" + options_.file + "': " + ncmpi_strerror(error), status};
    }

    MPI_Comm among_;
    std::string path_;
    const Options& options_;
    int id_ = -1;
    std::vector<int> ids_;
    long long requests_ = 0;
    Failure failure_{};
};

/// The requests of a group, sorted and merged, and how its ranks' values lie in them.
class Merged {
public:
    Merged(MPI_Comm group, const std::vector<Run>& own, MPI_Offset levels) : group_{group}, levels_{levels} {
        MPI_Comm_rank(group, &rank_);
        MPI_Comm_size(group, &ranks_);
        int mine = 3 * static_cast<int>(own.size());
        std::vector<int> lengths(static_cast<std::size_t>(ranks_)), begins;
        MPI_Gather(&mine, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, group);
        begins = begins_of(lengths);
        std::vector<Run> all(rank_ == 0 ? static_cast<std::size_t>(begins.back() + lengths.back()) / 3 : 0);
        static_assert(sizeof(Run) == 3 * sizeof(MPI_Offset));
        MPI_Gatherv(own.data(), mine, MPI_OFFSET, all.data(), lengths.data(), begins.data(), MPI_OFFSET, 0, group);
        own_ = static_cast<int>(cells_in(own) * levels);
        counts_.resize(static_cast<std::size_t>(ranks_));
        MPI_Gather(&own_, 1, MPI_INT, counts_.data(), 1, MPI_INT, 0, group);
        displacements_ = begins_of(counts_);
        for (int guest = 0; rank_ == 0 && guest < ranks_; ++guest) {
            const auto number = static_cast<std::size_t>(guest);
            for (int at = begins[number] / 3; at < (begins[number] + lengths[number]) / 3; ++at) {
                Run run = all[static_cast<std::size_t>(at)];
                run.at += displacements_[number] / levels;
                pieces_.push_back(run);
            }
        }
        std::sort(pieces_.begin(), pieces_.end(),
                  [](const Run& one, const Run& other) { return one.first < other.first; });
        for (const Run& piece : pieces_) {
            if (!runs_.empty() && runs_.back().first + runs_.back().count == piece.first) {
                runs_.back().count += piece.count;
            } else {
                runs_.push_back({piece.first, piece.count, cells_in(runs_)});
            }
        }
    }
    [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }

    /// The values of all guests, in the order of the file. Everybody of the group must call it.
    [[nodiscard]] std::vector<double> gathered(const std::vector<double>& own) const {
        std::vector<double> sent(size());
        MPI_Gatherv(own.data(), own_, MPI_DOUBLE, sent.data(), counts_.data(), displacements_.data(), MPI_DOUBLE, 0,
                    group_);
        std::vector<double> sorted(sent.size());
        for_each_piece([&](MPI_Offset in_file, MPI_Offset at, MPI_Offset values) {
            std::copy_n(sent.begin() + at, values, sorted.begin() + in_file);
        });
        return sorted;
    }
    /// Each rank's own of what the host has read. Everybody of the group must call it.
    [[nodiscard]] std::vector<double> scattered(const std::vector<double>& sorted) const {
        std::vector<double> sent(size()), own(static_cast<std::size_t>(own_));
        for_each_piece([&](MPI_Offset in_file, MPI_Offset at, MPI_Offset values) {
            std::copy_n(sorted.begin() + in_file, values, sent.begin() + at);
        });
        MPI_Scatterv(sent.data(), counts_.data(), displacements_.data(), MPI_DOUBLE, own.data(), own_, MPI_DOUBLE, 0,
                     group_);
        return own;
    }
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(cells_in(runs_) * levels_); }

private:
    [[nodiscard]] static std::vector<int> begins_of(const std::vector<int>& lengths) {
        std::vector<int> begins(lengths.size(), 0);
        for (std::size_t at = 1; at < lengths.size(); ++at) begins[at] = begins[at - 1] + lengths[at - 1];
        return begins;
    }
    template <class Visit>
    void for_each_piece(Visit visit) const {
        MPI_Offset in_file = 0;
        for (const Run& piece : pieces_) {
            visit(in_file * levels_, piece.at * levels_, piece.count * levels_);
            in_file += piece.count;
        }
    }

    MPI_Comm group_;
    MPI_Offset levels_;
    int rank_ = 0, ranks_ = 1, own_ = 0;
    std::vector<int> counts_, displacements_;
    std::vector<Run> pieces_, runs_;
};

/// Who opens the file, and who else there is in a group.
struct Communicators {
    MPI_Comm group = MPI_COMM_NULL, hosts = MPI_COMM_WORLD;
    Communicators(int size, int rank) {
        if (size == 0) return;
        MPI_Comm_split(MPI_COMM_WORLD, rank / size, rank, &group);
        MPI_Comm_split(MPI_COMM_WORLD, rank % size == 0 ? 0 : MPI_UNDEFINED, rank, &hosts);
    }
};

/// Says that there is no room, or nothing can be written there, before anything is.
void check_room(const Options& options, const std::string& path, int rank) {
    Failure own{};
    if (rank == 0) {
        const long double bytes = 8.0L * static_cast<long double>(options.variables) *
                                  static_cast<long double>(options.levels) * static_cast<long double>(options.cells);
        const int file = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
        int failed = file < 0 ? errno : 0;
        struct statvfs room{};
        if (failed == 0 && fstatvfs(file, &room) != 0) failed = errno;
        const auto free = static_cast<long double>(room.f_bavail) * static_cast<long double>(room.f_frsize);
        if (failed == 0 && bytes > free) failed = ENOSPC;
        if (file >= 0) {
            close(file);
            unlink(path.c_str());
        }
        if (failed != 0) own = unwritable(options, failed);
    }
    agree(MPI_COMM_WORLD, own);
}

/// Takes all the room that a file will need, its header's too, so that a disk does not fill up while it is written.
/// Only now, because creating a file throws away what had its name. Everybody must call it.
void take_room(const Options& options, const std::string& path, File* file, int rank) {
    Failure own{};
    if (rank == 0) {
        const MPI_Offset bytes = file->bytes();
        const int there = open(path.c_str(), O_RDWR | O_CLOEXEC);
        int failed = there < 0 ? errno : posix_fallocate(there, 0, static_cast<off_t>(bytes));
        // Some file systems tell only now.
        if (there >= 0 && close(there) != 0 && failed == 0) failed = errno;
        own = failed != 0 ? unwritable(options, failed) : file->failure();
    }
    agree(MPI_COMM_WORLD, own);
}

struct Outcome {
    double seconds = 0;
    long long requests = 0;
};

/// Writes or reads all variables of a file in a form. \param fields values of each variable
[[nodiscard]] Outcome transfer(const Options& options, const Communicators& by, const std::string& path,
                               const std::vector<Run>& runs, std::vector<std::vector<double>>& fields, bool writes) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    std::unique_ptr<Merged> merged;
    if (options.group > 0) merged = std::make_unique<Merged>(by.group, runs, options.levels);
    std::unique_ptr<File> file;
    if (by.hosts != MPI_COMM_NULL) file = std::make_unique<File>(by.hosts, path, options, writes);
    agree(MPI_COMM_WORLD, file ? file->failure() : Failure{});
    if (writes) {  // which counts as no time of writing
        const double before = MPI_Wtime();
        take_room(options, path, file.get(), rank);
        begin += MPI_Wtime() - before;
    }
    for (MPI_Offset variable = 0; variable < options.variables; ++variable) {
        std::vector<double>& own = fields[static_cast<std::size_t>(variable)];
        if (!merged) {
            file->access(variable, options.form, runs, own, writes);
            continue;
        }
        std::vector<double> sorted = writes ? merged->gathered(own) : std::vector<double>(merged->size());
        if (file) file->access(variable, "blocking", merged->runs(), sorted, writes);
        if (!writes) own = merged->scattered(sorted);
    }
    // Closing takes all who have it open: they must know before whether one of them has to give up.
    agree(MPI_COMM_WORLD, file ? file->failure() : Failure{});
    if (file) file->close();
    agree(MPI_COMM_WORLD, file ? file->failure() : Failure{});
    Outcome own{MPI_Wtime() - begin, file ? file->requests() : 0}, all;
    MPI_Allreduce(&own.seconds, &all.seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&own.requests, &all.requests, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

struct Checked {
    long long values = 0, wrong = 0;
};

[[nodiscard]] Checked check(const Options& options, const std::vector<Run>& runs,
                            const std::vector<std::vector<double>>& fields) {
    Checked found;
    for (MPI_Offset variable = 0; variable < options.variables; ++variable) {
        const std::vector<double>& field = fields[static_cast<std::size_t>(variable)];
        for (const Run& run : runs) {
            for (MPI_Offset at = 0; at < run.count * options.levels; ++at) {
                const double wanted = value_of(options, variable, run.first + at / options.levels, at % options.levels);
                const double there = field[static_cast<std::size_t>(run.at * options.levels + at)];
                ++found.values;
                if (std::memcmp(&there, &wanted, sizeof wanted) != 0) ++found.wrong;
            }
        }
    }
    return found;
}

[[nodiscard]] int run(const Options& options, int rank, int ranks) {
    const std::string path = options.writes ? options.file + ".part" : options.file;
    if (options.writes) check_room(options, path, rank);
    const std::vector<Run> runs = runs_of(options, rank, ranks);
    const Communicators by{options.group, rank};
    std::vector<std::vector<double>> fields(static_cast<std::size_t>(options.variables));
    Outcome wrote{}, read{};
    for (auto& field : fields) field.assign(static_cast<std::size_t>(cells_in(runs) * options.levels), 0.0);
    try {
        if (options.writes) {
            for (MPI_Offset variable = 0; variable < options.variables; ++variable) {
                for (const Run& each : runs) {
                    for (MPI_Offset at = 0; at < each.count * options.levels; ++at) {
                        fields[static_cast<std::size_t>(variable)]
                              [static_cast<std::size_t>(each.at * options.levels + at)] =
                                  value_of(options, variable, each.first + at / options.levels, at % options.levels);
                    }
                }
            }
            wrote = transfer(options, by, path, runs, fields, true);
            for (auto& field : fields) std::fill(field.begin(), field.end(), 0.0);
        }
        read = transfer(options, by, path, runs, fields, false);
        if (options.faulty && !fields.front().empty()) fields.front().front() += 1;
        const Checked own = check(options, runs, fields);
        Checked all;
        MPI_Allreduce(&own.values, &all.values, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (all.wrong > 0) {
            agree(MPI_COMM_WORLD, {std::to_string(all.wrong) + " of " + std::to_string(all.values) + " values in '" +
                                       options.file + "' are not what was written",
                                   1});
        }
        Failure own_failure{};
        if (options.writes && rank == 0 && rename(path.c_str(), options.file.c_str()) != 0) {
            own_failure = {"'" + options.file + "': " + std::strerror(errno), 1};
        }
        agree(MPI_COMM_WORLD, own_failure);
        if (rank == 0) {
            std::printf("{\"form\": \"%s\", \"ranks\": %d, \"group\": %d, \"values\": %lld, \"verified\": true",
                        options.form.c_str(), ranks, options.group, all.values);
            if (options.writes)
                std::printf(", \"write_s\": %.6f, \"write_requests\": %lld", wrote.seconds, wrote.requests);
            std::printf(", \"read_s\": %.6f, \"read_requests\": %lld}\n", read.seconds, read.requests);
        }
    } catch (const Failed&) {
        if (options.writes && rank == 0) unlink(path.c_str());
        throw;
    } catch (const std::exception&) {  // of this rank alone, which ends the others
        if (options.writes) unlink(path.c_str());
        throw;
    }
    return 0;
}

/// Chooses among Open MPI's ways to files, unless the environment says something else; called before MPI begins.
///
/// Its own, OMPIO, takes a write that failed for a done one, with lines on standard error; and for a pointer into the
/// file that all ranks share, and that nobody here uses, it has a semaphore by the file's name, for which a run waits
/// forever if another with that name was killed. So it is ROMIO where there is one; where there is none, OMPIO with
/// such a pointer for each rank, and without threads whose writes we would not see (writes.hpp).
void prepare_library() {
    setenv("OMPI_MCA_io_ompio_priority", "1", 0);
    setenv("OMPI_MCA_io_ompio_delete_priority", "1", 0);
    setenv("OMPI_MCA_sharedfp", "^sm,lockedfile", 0);
    setenv("OMPI_MCA_fcoll_vulcan_async_io", "2", 0);
    // Too large a file for this user: an error, not the end.
    std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace

int main(int argc, char** argv) {
    prepare_library();
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int status = 0;
    const auto say = [&](const char* what) {
        if (rank == 0) std::fprintf(stderr, "tramontane-pnetcdf: %s\n", what);
    };
    try {
        status = run(read_options(std::vector<std::string>(argv + 1, argv + argc)), rank, ranks);
    } catch (const Failed& failure) {
        say(failure.what());
        status = failure.status();
    } catch (const std::invalid_argument& mistake) {  // the same one on all ranks
        say(mistake.what());
        status = 2;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "tramontane-pnetcdf: rank %d: %s\n", rank, failure.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return status;
}
