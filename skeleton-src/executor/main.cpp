/// \file
/// tramontane-mpi: executes the schedule of a workload with MPI, checks every element, and prints one line of JSON.
///
/// Exit status: 0; 1 if data arrived wrong or the run failed; 2 for a mistake in the arguments. What went wrong is one
/// line on standard error. There is no static data of ranks, because in some simulators all of them live in one
/// process.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "measure.hpp"
#include "operation.hpp"
#include "options.hpp"
#include "pingpong.hpp"
#include "report.hpp"
#include "setup_segment.hpp"

namespace {

using namespace tramontane;
using namespace tramontane::executor;

/// First line of a text, without runs of blanks.
[[nodiscard]] std::string first_line(const std::string& text) {
    std::string line;
    for (const char c : text.substr(0, text.find('\n'))) {
        const bool blank = c == ' ' || c == '\t';
        if (!blank || (!line.empty() && line.back() != ' ')) {
            line += blank ? ' ' : c;
        }
    }
    return line;
}

[[nodiscard]] Place find_place(Rank rank, Rank ranks) {
    Place place;
    int length = 0;
#if defined(TRAMONTANE_SIMULATED_MPI)
    place.library = TRAMONTANE_SIMULATED_MPI;
#else
    std::vector<char> library(MPI_MAX_LIBRARY_VERSION_STRING);
    MPI_Get_library_version(library.data(), &length);
    place.library = first_line(library.data());
#endif
    int version = 0;
    int subversion = 0;
    MPI_Get_version(&version, &subversion);
    place.standard = std::to_string(version) + "." + std::to_string(subversion);
    constexpr int longest = 64;  // of a host's name that is kept
    std::vector<char> name(std::max<std::size_t>(MPI_MAX_PROCESSOR_NAME, longest));
    MPI_Get_processor_name(name.data(), &length);
    std::vector<char> names(rank == 0 ? static_cast<std::size_t>(ranks) * longest : 0);
    MPI_Gather(name.data(), longest, MPI_CHAR, names.data(), longest, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (Rank each = 0; rank == 0 && each < ranks; ++each) {
        const char* const at = names.data() + static_cast<std::size_t>(each) * longest;
        ++place.hosts[std::string(at, std::find(at, at + longest, '\0'))];
    }
    return place;
}

/// Prints the first complaint of the lowest rank that has one; everybody must call it.
void complain(const std::string& complaint, Rank rank, Rank ranks) {
    int mine = complaint.empty() ? ranks : rank;
    int first = ranks;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == first) {
        std::fprintf(stderr, "tramontane-mpi: %s\n", complaint.c_str());
    }
}

[[nodiscard]] int run_pingpong(const std::vector<std::string>& arguments, Rank rank, Rank ranks) {
    const PingPongOptions options = read_pingpong_options(arguments, ranks);
    const std::vector<MessageTimes> times = measure_pingpong(options, rank, ranks);
    const Place place = find_place(rank, ranks);
    if (rank == 0) {
        std::printf("%s\n", report(options, times, place, ranks).c_str());
        std::fflush(stdout);
    }
    return std::any_of(times.begin(), times.end(), [](const MessageTimes& each) { return each.wrong > 0; }) ? 1 : 0;
}

[[nodiscard]] int run(const std::vector<std::string>& arguments, Rank rank, Rank ranks) {
    if (asks_for_pingpong(arguments)) {
        return run_pingpong(arguments, rank, ranks);
    }
    const Options options = read_options(arguments, ranks);
    const auto setup = options.setup.empty() ? std::span<const std::byte>{} : attached(options.setup);
    const auto schedule = options.workload->schedule(setup);
    const auto operation = make_operation(options, *schedule, rank);
    std::string complaint;
    const Measurement measurement = measure(options, *schedule, *operation, rank, complaint);
    const Place place = find_place(rank, ranks);
    if (measurement.wrong > 0) {
        complain(complaint, rank, ranks);
    }
    if (rank == 0) {
        std::printf("%s\n", report(options, schedule->phases(), measurement, place).c_str());
        std::fflush(stdout);
    }
    return measurement.wrong > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int status = 0;
    try {
        status = run(std::vector<std::string>(argv + 1, argv + argc), rank, ranks);
    } catch (const std::invalid_argument& mistake) {  // the same one on all ranks
        if (rank == 0) {
            std::fprintf(stderr, "tramontane-mpi: %s\n", mistake.what());
        }
        status = 2;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "tramontane-mpi: rank %d: %s\n", rank, failure.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return status;
}
