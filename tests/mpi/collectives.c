/* Collective calls one after the other, each told by three arguments: operation, doubles of the vector or of a block,
   and the root. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i + 2 < argc; i += 3) {
        const char* name = argv[i];
        int count = atoi(argv[i + 1]), root = atoi(argv[i + 2]);
        double *out = calloc((size_t)count * ranks + 1, 8), *in = calloc((size_t)count * ranks + 1, 8);
        MPI_Comm all = MPI_COMM_WORLD;
        if (!strcmp(name, "barrier")) MPI_Barrier(all);
        if (!strcmp(name, "broadcast")) MPI_Bcast(out, count, MPI_DOUBLE, root, all);
        if (!strcmp(name, "reduce")) MPI_Reduce(out, in, count, MPI_DOUBLE, MPI_SUM, root, all);
        if (!strcmp(name, "allreduce")) MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, all);
        if (!strcmp(name, "gather")) MPI_Gather(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, root, all);
        if (!strcmp(name, "scatter")) MPI_Scatter(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, root, all);
        if (!strcmp(name, "allgather")) MPI_Allgather(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, all);
        if (!strcmp(name, "alltoall")) MPI_Alltoall(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, all);
        free(out);
        free(in);
    }
    MPI_Finalize();
    return 0;
}
