/* Every form of call that a trace tells of, on 4 ranks or more; sizes are such that each message can be told apart. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static char out[1 << 16], in[1 << 16];

static void messages(int rank, int ranks) {
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Request requests[4];
    MPI_Status status;
    int flag = 0, index, ended, indices[4];
    if (rank % 2 == 0) {
        MPI_Send(out, 101, MPI_BYTE, next, 1, MPI_COMM_WORLD);
        MPI_Ssend(out, 102, MPI_BYTE, next, 1, MPI_COMM_WORLD);
        MPI_Recv(in, 200, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, 200, MPI_BYTE, before, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Recv(in, 200, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, 103, MPI_BYTE, before, 2, MPI_COMM_WORLD);
    }
    MPI_Irecv(in, 400, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 26, MPI_DOUBLE, next, 3, MPI_COMM_WORLD, &requests[1]); /* 208 B */
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Irecv(in, 400, MPI_BYTE, before, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Issend(out, 209, MPI_BYTE, next, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(in + 400, 400, MPI_BYTE, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, 9, MPI_BYTE, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &requests[3]);
    while (!flag) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], &status);
    MPI_Waitall(2, requests + 2, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(out, 301, MPI_BYTE, next, 5, in, 400, MPI_BYTE, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(out, 302, MPI_BYTE, next, 6, before, 6, MPI_COMM_WORLD, &status);
    for (int step = 0; step < 3; ++step) {
        MPI_Irecv(in, 400, MPI_BYTE, before, 7, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, 310, MPI_BYTE, next, 7, MPI_COMM_WORLD, &requests[1]);
        if (step == 0) {
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
            MPI_Waitany(2, requests, &index, &status);
        } else if (step == 1) {
            for (int left = 2; left > 0; left -= ended) MPI_Waitsome(2, requests, &ended, indices, MPI_STATUSES_IGNORE);
        } else {
            for (flag = 0; !flag;) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        }
    }
    MPI_Irecv(in, 400, MPI_BYTE, before, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 311, MPI_BYTE, next, 7, MPI_COMM_WORLD, &requests[1]);
    for (int left = 2; left > 0; left -= flag) MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
    MPI_Irecv(in, 400, MPI_BYTE, before, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 312, MPI_BYTE, next, 7, MPI_COMM_WORLD, &requests[1]);
    for (int left = 2; left > 0; left -= ended) MPI_Testsome(2, requests, &ended, indices, MPI_STATUSES_IGNORE);
    /* What is never received: a receive that is cancelled. */
    MPI_Irecv(in, 400, MPI_BYTE, before, 99, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    /* Probed. */
    MPI_Message message;
    MPI_Isend(out, 320, MPI_BYTE, next, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Probe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &status);
    MPI_Recv(in, 400, MPI_BYTE, status.MPI_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Isend(out, 321, MPI_BYTE, next, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Mprobe(before, 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, 400, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Isend(out, 322, MPI_BYTE, next, 8, MPI_COMM_WORLD, &requests[0]);
    for (flag = 0; !flag;) MPI_Improbe(before, 8, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, 400, MPI_BYTE, &message, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    /* Persistent, three times. */
    MPI_Recv_init(in, 400, MPI_BYTE, before, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out, 330, MPI_BYTE, next, 9, MPI_COMM_WORLD, &requests[1]);
    for (int step = 0; step < 2; ++step) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Start(&requests[0]);
    MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    /* Buffered, and without a wait. */
    void* buffer = malloc(1 << 16);
    int size;
    MPI_Buffer_attach(buffer, 1 << 16);
    MPI_Bsend(out, 340, MPI_BYTE, next, 10, MPI_COMM_WORLD);
    MPI_Recv(in, 400, MPI_BYTE, before, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
    MPI_Isend(out, 341, MPI_BYTE, next, 11, MPI_COMM_WORLD, &requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Recv(in, 400, MPI_BYTE, before, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    /* A type with holes: 3 of 5 integers. */
    MPI_Datatype holes;
    MPI_Type_vector(3, 1, 2, MPI_INT, &holes);
    MPI_Type_commit(&holes);
    MPI_Sendrecv(out, 7, holes, next, 12, in, 400, MPI_BYTE, before, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* 84 B */
    MPI_Type_free(&holes);
    MPI_Sendrecv(out, 5, MPI_BYTE, rank, 13, in, 400, MPI_BYTE, rank, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void communicators(int rank, int ranks) {
    MPI_Comm half, copy, ring, graph, between;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    int own, others;
    MPI_Comm_rank(half, &own);
    MPI_Comm_size(half, &others);
    MPI_Sendrecv(out, 401, MPI_BYTE, (own + 1) % others, 1, in, 500, MPI_BYTE, (own + others - 1) % others, 1, half,
                 MPI_STATUS_IGNORE);
    MPI_Comm_dup(half, &copy);
    MPI_Bcast(out, 50, MPI_DOUBLE, 0, copy);
    MPI_Comm_free(&copy);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? (ranks % 2 ? ranks - 2 : ranks - 1)
                                                              : (ranks % 2 ? ranks - 1 : ranks - 2), 7, &between);
    if (ranks % 2 == 0) {
        MPI_Sendrecv(out, 402, MPI_BYTE, own, 2, in, 500, MPI_BYTE, own, 2, between, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    int sizes[1] = {ranks}, periods[1] = {1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, periods, 0, &ring);
    MPI_Neighbor_alltoall(out, 410, MPI_BYTE, in, 410, MPI_BYTE, ring);
    MPI_Neighbor_allgather(out, 411, MPI_BYTE, in, 411, MPI_BYTE, ring);
    int counts[2] = {412, 413}, reversed[2] = {413, 412}, places[2] = {0, 1000};
    MPI_Request request;
    MPI_Ineighbor_alltoallv(out, counts, places, MPI_BYTE, in, reversed, places, MPI_BYTE, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&ring);
    const int from[1] = {(rank + ranks - 1) % ranks}, to[1] = {(rank + 1) % ranks};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    MPI_Neighbor_alltoall(out, 414, MPI_BYTE, in, 414, MPI_BYTE, graph);
    MPI_Comm_free(&graph);
}

static void collectives(int rank, int ranks) {
    int counts[64], places[64], own = 8 * (rank + 1);
    for (int i = 0; i < ranks; ++i) counts[i] = 8 * (i + 1), places[i] = 800 * i;
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(out, 800, MPI_BYTE, 1, MPI_COMM_WORLD);
    MPI_Reduce(out, in, 100, MPI_DOUBLE, MPI_SUM, 2, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, in, 100, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Iallreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Gather(out, 16, MPI_BYTE, in, 16, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Gatherv(out, own, MPI_BYTE, in, counts, places, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Scatter(out, 24, MPI_BYTE, in, 24, MPI_BYTE, 1, MPI_COMM_WORLD);
    MPI_Scatterv(out, counts, places, MPI_BYTE, in, own, MPI_BYTE, 1, MPI_COMM_WORLD);
    MPI_Allgather(out, 4, MPI_DOUBLE, in, 4, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Allgatherv(out, own, MPI_BYTE, in, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Alltoall(out, 40, MPI_BYTE, in, 40, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; ++i) counts[i] = 8 * (rank + 1) * (i + 1);
    MPI_Alltoallv(out, counts, places, MPI_BYTE, in, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Ialltoallv(out, counts, places, MPI_BYTE, in, counts, places, MPI_BYTE, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Reduce_scatter_block(out, in, 6, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(out, in, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(out, in, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    messages(rank, ranks);
    MPI_Pcontrol(2);
    communicators(rank, ranks);
    collectives(rank, ranks);
    MPI_Finalize();
    return 0;
}
