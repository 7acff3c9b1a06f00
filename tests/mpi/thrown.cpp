/* Ranks that send to the next one, after an error that the program's own handler has thrown on. */
#include <mpi.h>

#include <cstdlib>

namespace {
struct Thrown {};
void throws(MPI_Comm* /*unused*/, int* /*unused*/, ...) { throw Thrown{}; }
}  // namespace

int main(int argc, char** argv) {
    int rank = 0, ranks = 0, caught = 0;
    char out[101] = {}, in[101];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Errhandler handler{};
    MPI_Comm_create_errhandler(throws, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    try {
        MPI_Send(out, 1, MPI_BYTE, ranks, 7, MPI_COMM_WORLD);
    } catch (const Thrown&) {
        ++caught;
    }
    MPI_Sendrecv(out, sizeof out, MPI_BYTE, (rank + 1) % ranks, 7, in, sizeof in, MPI_BYTE, (rank + ranks - 1) % ranks,
                 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return caught == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
