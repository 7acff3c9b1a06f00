/* One-sided calls, regions, and with MPI 4 persistent collectives and large counts; sizes tell transfers apart. */
#include <mpi.h>

static char out[4096], in[4096];

int main(int argc, char** argv) {
    int rank, ranks, flag = 0;
    MPI_Win window;
    MPI_Request request;
    MPI_Group everybody, from, to;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);

    MPI_Pcontrol(1);
    MPI_Win_fence(0, window);
    MPI_Put(out, 501, MPI_BYTE, next, 0, 501, MPI_BYTE, window);
    MPI_Accumulate(out, 502, MPI_BYTE, before, 600, 502, MPI_BYTE, MPI_REPLACE, window);
    MPI_Win_fence(0, window);
    MPI_Get(out, 503, MPI_BYTE, next, 0, 503, MPI_BYTE, window);
    MPI_Put(out, 10, MPI_BYTE, MPI_PROC_NULL, 0, 10, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    MPI_Pcontrol(0);

    MPI_Pcontrol(7);
    MPI_Comm_group(MPI_COMM_WORLD, &everybody);
    MPI_Group_incl(everybody, 1, &next, &to);
    MPI_Group_incl(everybody, 1, &before, &from);
    for (int step = 0; step < 2; ++step) {
        MPI_Win_post(from, 0, window);
        MPI_Win_start(to, 0, window);
        MPI_Put(out, 511 + step, MPI_BYTE, next, 0, 511 + step, MPI_BYTE, window);
        MPI_Win_complete(window);
        if (step == 0) MPI_Win_wait(window);
        while (step == 1 && !flag) MPI_Win_test(window, &flag);
    }
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&everybody);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock_all(0, window);
    MPI_Put(out, 521, MPI_BYTE, next, 0, 521, MPI_BYTE, window);
    MPI_Win_flush(next, window);
    MPI_Rput(out, 522, MPI_BYTE, before, 0, 522, MPI_BYTE, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Rget(out, 523, MPI_BYTE, before, 0, 523, MPI_BYTE, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush_all(window);
    MPI_Win_unlock_all(window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window);
    MPI_Get(out, 524, MPI_BYTE, next, 0, 524, MPI_BYTE, window);
    MPI_Win_unlock(next, window);
    MPI_Win_free(&window);
#if MPI_VERSION >= 4
    MPI_Allreduce_init(out, in, 70, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int step = 0; step < 3; ++step) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    MPI_Sendrecv_c(out, 531, MPI_BYTE, next, 9, in, 600, MPI_BYTE, before, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Alltoall_c(out, 80, MPI_BYTE, in, 80, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Request halves[2];
    MPI_Psend_init(out, 2, 268, MPI_BYTE, next, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &halves[0]);
    MPI_Precv_init(in, 4, 134, MPI_BYTE, before, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &halves[1]);
    for (int step = 0; step < 2; ++step) {
        MPI_Startall(2, halves);
        for (int part = 0; part < 2; ++part) MPI_Pready(part, halves[0]);
        for (int there = 0; there == 0;) MPI_Parrived(halves[1], 3, &there);
        MPI_Waitall(2, halves, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&halves[0]);
    MPI_Request_free(&halves[1]);
#endif
    MPI_Finalize();
    return 0;
}
