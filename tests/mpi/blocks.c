/* A model on a grid of ranks of three dimensions, one of them closed: halos with edges and corners, as a Krylov solver
   or a dynamical core has them, and collectives of all ranks, of planes and of lines. */
#include <mpi.h>

enum { points = 240, most = 8 * points * points }; /* along each dimension; bytes of a buffer */

int main(int argc, char** argv) {
    static char out[27][most], in[27][most];
    static double sums[points], sum[points];
    int ranks, sizes[3] = {0, 0, 0}, closed[3] = {0, 1, 0}, own[3], rank;
    int planes[3] = {1, 0, 1}, lines[3] = {0, 1, 0};
    MPI_Comm grid, plane, line;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 3, sizes);
    MPI_Cart_create(MPI_COMM_WORLD, 3, sizes, closed, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 3, own);
    MPI_Cart_sub(grid, planes, &plane);
    MPI_Cart_sub(grid, lines, &line);
    for (int step = 0; step < 2; ++step) {
        MPI_Request requests[52];
        int number = 0;
        for (int way = 0; way < 27; ++way) {
            int there[3], peer, count = 8, is_inside = way != 13;
            for (int d = 0, left = way; d < 3; ++d, left /= 3) {
                there[d] = own[d] + left % 3 - 1;
                count *= left % 3 == 1 ? points / sizes[d] : 2;
                is_inside &= closed[d] || (there[d] >= 0 && there[d] < sizes[d]);
            }
            if (!is_inside) continue;
            MPI_Cart_rank(grid, there, &peer);
            MPI_Irecv(in[way], count, MPI_BYTE, peer, 26 - way, grid, &requests[number++]);
            MPI_Isend(out[way], count, MPI_BYTE, peer, way, grid, &requests[number++]);
        }
        for (volatile int i = 0; i < 2000000 / ranks; ++i) continue;
        MPI_Waitall(number, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(sums, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(sums, sum, points / sizes[1], MPI_DOUBLE, MPI_SUM, plane);
        MPI_Bcast(sums, 8, MPI_DOUBLE, sizes[1] - 1, line);
    }
    MPI_Finalize();
    return 0;
}
