/* A library with MPI, which a program loads that is not linked with MPI, as modules of Python are. */
#include <mpi.h>

int run(void) {
    int rank, ranks, sent = 1, got, all;
    MPI_Comm half;
    MPI_Init(0, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Sendrecv(&sent, 1, MPI_INT, (rank + 1) % ranks, 5, &got, 1, MPI_INT, (rank + ranks - 1) % ranks, 5,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &half);
    if (half != MPI_COMM_NULL) MPI_Allreduce(&sent, &all, 1, MPI_INT, MPI_SUM, half);
    MPI_Allreduce(&sent, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}
