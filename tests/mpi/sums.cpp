// Owners of a vertex exchange contributions with delays of their own, and add them in three orders. Prints what each
// has: order, seed, rank, bits of the sum. Ranks are the owners of one vertex; argument: number of seeds.
#include <mpi.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace {

double total(const std::vector<double>& contributions, const std::vector<int>& order) {
    double sum = contributions[static_cast<std::size_t>(order.front())];
    for (std::size_t at = 1; at < order.size(); ++at) sum += contributions[static_cast<std::size_t>(order[at])];
    return sum;
}

/// Exchanges a contribution with all others. \return the others in order of arrival
std::vector<int> exchange(int own, std::vector<double>& contributions, std::mt19937_64& delays) {
    const int ranks = static_cast<int>(contributions.size());
    std::vector<MPI_Request> receives(contributions.size(), MPI_REQUEST_NULL), sends = receives;
    const double value = contributions[static_cast<std::size_t>(own)];
    for (int peer = 0; peer < ranks; ++peer)
        if (peer != own)
            MPI_Irecv(&contributions[static_cast<std::size_t>(peer)], 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD,
                      &receives[static_cast<std::size_t>(peer)]);
    std::this_thread::sleep_for(std::chrono::microseconds(delays() % 300));
    for (int peer = 0; peer < ranks; ++peer)
        if (peer != own)
            MPI_Isend(&value, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, &sends[static_cast<std::size_t>(peer)]);
    std::vector<int> arrived;
    while (static_cast<int>(arrived.size()) < ranks - 1) {
        int peer = 0, is_there = 0;
        MPI_Testany(ranks, receives.data(), &peer, &is_there, MPI_STATUS_IGNORE);
        if (is_there != 0) {
            arrived.push_back(peer);
        } else {
            std::this_thread::yield();
        }
    }
    MPI_Waitall(ranks, sends.data(), MPI_STATUSES_IGNORE);
    return arrived;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int own = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const auto size = static_cast<std::size_t>(ranks);
    std::mt19937_64 delays(static_cast<std::uint64_t>(own) + 1);
    const int seeds = argc > 1 ? std::atoi(argv[1]) : 0;
    std::vector<std::uint64_t> found;  // of each seed three
    for (int seed = 0; seed < seeds; ++seed) {
        std::mt19937_64 numbers(static_cast<std::uint64_t>(seed / 2));  // each vertex twice: two runs
        std::vector<double> contributions(size);
        for (double& each : contributions) each = std::normal_distribution<double>{}(numbers);
        std::vector<int> fixed(size), arrival = exchange(own, contributions, delays), each{own};
        std::iota(fixed.begin(), fixed.end(), 0);
        arrival.insert(arrival.begin(), own);
        for (const int rank : fixed)
            if (rank != own) each.push_back(rank);
        for (const auto& order : {arrival, each, fixed})
            found.push_back(std::bit_cast<std::uint64_t>(total(contributions, order)));
    }
    std::vector<std::uint64_t> all(own == 0 ? found.size() * size : 0);
    const int count = static_cast<int>(found.size());
    MPI_Gather(found.data(), count, MPI_UINT64_T, all.data(), count, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (const std::uint64_t bits : all) std::printf("%llx\n", static_cast<unsigned long long>(bits));
    MPI_Finalize();
}
