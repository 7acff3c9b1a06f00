/* Two sessions of MPI 4 at a time, within MPI_Init and MPI_Finalize where there is an argument. MPICH 4.0 can't begin
   anew when its last session has ended, so they end together. */
#include <mpi.h>
#include <stdio.h>

static int sum_in(MPI_Session session) {
    MPI_Group group;
    MPI_Comm all;
    int rank, sum = 0;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "tramontane", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
    MPI_Comm_rank(all, &rank);
    ++rank;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_free(&all);
    MPI_Group_free(&group);
    return sum;
}

int main(int argc, char** argv) {
    MPI_Session first, second;
    int rank = 0, a, b;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
    a = sum_in(first);
    if (argc > 1) {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    b = sum_in(second);
    if (argc > 1) MPI_Finalize();
    MPI_Session_finalize(&first);
    MPI_Session_finalize(&second);
    printf("sums %d %d\n", a, b);
    return 0;
}
