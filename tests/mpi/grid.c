/* A model on a grid of ranks that is closed in one direction: halos, and collectives of all ranks, rows and columns. */
#include <mpi.h>

enum { points = 720, bytes = 1728000 }; /* along a side of the grid; of what columns transpose, over all of it */

int main(int argc, char** argv) {
    static double out[4][points], in[4][points], sums[points], sum[points];
    static char many[bytes / 9], more[bytes / 9];
    int rank, ranks, before, sizes[2] = {0, 0}, closed[2] = {0, 1}, own[2], next[4], rows[2] = {0, 1},
                             columns[2] = {1, 0};
    MPI_Comm grid, row, column;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, sizes);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, closed, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, own);
    MPI_Cart_shift(grid, 0, 1, &next[0], &next[1]);
    MPI_Cart_shift(grid, 1, 1, &next[2], &next[3]);
    MPI_Cart_sub(grid, rows, &row);
    MPI_Cart_sub(grid, columns, &column);
    MPI_Bcast(many, 800, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Allgather(own, 2, MPI_INT, many, 2, MPI_INT, grid);
    MPI_Exscan(&rank, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int step = 0; step < 3; ++step) {
        MPI_Request requests[9];
        for (int i = 0; i < 4; ++i) {
            int size = points / sizes[i < 2 ? 1 : 0];
            MPI_Irecv(in[i], size, MPI_DOUBLE, next[i], i ^ 1, grid, &requests[i]);
            MPI_Isend(out[i], size, MPI_DOUBLE, next[i], i, grid, &requests[4 + i]);
        }
        MPI_Iallreduce(sums, sum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &requests[8]);
        for (volatile int i = 0; i < 2000000 / ranks; ++i) continue;
        MPI_Waitall(9, requests, MPI_STATUSES_IGNORE);
        MPI_Sendrecv(out[0], 20, MPI_DOUBLE, next[2], 7, in[0], 20, MPI_DOUBLE, next[3], 7, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Allreduce(sums, sum, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(sums, sum, points / sizes[0], MPI_DOUBLE, MPI_SUM, row);
        MPI_Alltoall(many, bytes / ranks / sizes[0], MPI_BYTE, more, bytes / ranks / sizes[0], MPI_BYTE, column);
        MPI_Reduce(sums, sum, 4, MPI_DOUBLE, MPI_SUM, ranks - 1, MPI_COMM_WORLD);
    }
    MPI_Gather(own, 2, MPI_INT, many, 2, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
