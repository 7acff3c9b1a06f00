/* What programs may do and few do; the first word says what, on 2 ranks if nothing else is said. */
#include <fcntl.h>
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGE 100000
static char out[LARGE], in[LARGE];
static int rank, ranks, other;

static void work(double time) {
    const double begin = MPI_Wtime();
    while (MPI_Wtime() - begin < time) {
    }
}

/* Nothing of no type. */
static void no_type(void) {
    int counts[2] = {0, 0}, places[2] = {0, 0}, sizes[1] = {2}, open[1] = {0};
    MPI_Aint starts[2] = {0, 0};
    MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    counts[other] = 16, types[other] = MPI_BYTE;
    MPI_Alltoallw(out, counts, places, types, in, counts, places, types, MPI_COMM_WORLD);
    MPI_Comm line;
    MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, open, 0, &line);
    MPI_Neighbor_alltoallw(out, counts, starts, types, in, counts, starts, types, line);
    MPI_Comm_free(&line);
}

/* One of a type of 2.5 GiB, whose blocks are all in the same place: nothing is sent, as there is no other rank. */
static void large_type(void) {
    MPI_Datatype block, type;
    MPI_Type_contiguous(1 << 16, MPI_BYTE, &block);
    MPI_Type_create_hvector(40000, 1, 0, block, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(out, 1, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    MPI_Type_free(&block);
}

/* Between messages that are alike, more different calls than the tracer has room for: it forgets them all. */
static void distinct(void) {
    for (int i = 0; i <= 40000; ++i) {
        const int size = i / 200, tag = i % 200;
        MPI_Sendrecv(out, size, MPI_BYTE, 0, tag, in, size, MPI_BYTE, 0, tag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        if (i % 5000 != 0) continue;
        if (rank == 0) MPI_Send(out, 101, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(in, 101, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* A message has its place in the order when it is probed; from nobody comes one at once. */
static void probed(void) {
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int flag;
    if (rank == 0) {
        for (int size = 101; size <= 104; ++size) MPI_Send(out, size, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
    } else {
        MPI_Mprobe(0, 7, MPI_COMM_WORLD, &message, &status);
        MPI_Recv(in, 102, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Mrecv(in, 101, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        MPI_Mprobe(0, 7, MPI_COMM_WORLD, &message, &status);
        MPI_Recv(in, 104, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Imrecv(in, 103, MPI_BYTE, &message, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Mprobe(MPI_PROC_NULL, 7, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(in, 100, MPI_BYTE, &message, &status);
    MPI_Improbe(MPI_PROC_NULL, 7, MPI_COMM_WORLD, &flag, &message, &status);
    MPI_Imrecv(in, 100, MPI_BYTE, &message, &request);
    MPI_Wait(&request, &status);
}

/* Requests outlive their communicator, and another one is made in the meantime. */
static void freed(void) {
    MPI_Comm first, second;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    if (rank == 0) MPI_Isend(out, 100, MPI_BYTE, 1, 7, first, &request);
    if (rank == 1) MPI_Irecv(in, 100, MPI_BYTE, 0, 7, first, &request);
    MPI_Comm_free(&first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Send(out, 50, MPI_BYTE, 1, 7, second);
    if (rank == 1) MPI_Recv(in, 50, MPI_BYTE, 0, 7, second, MPI_STATUS_IGNORE);
    MPI_Comm_free(&second);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    if (rank == 0) MPI_Send_init(out, 101, MPI_BYTE, 1, 7, first, &request);
    if (rank == 1) MPI_Recv_init(in, 101, MPI_BYTE, 0, 7, first, &request);
    MPI_Comm_free(&first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    for (int i = 0; i < 3; ++i) {
        if (rank == 0) MPI_Start(&request), MPI_Send(out, 51, MPI_BYTE, 1, 7, second);
        if (rank == 1) MPI_Recv(in, 51, MPI_BYTE, 0, 7, second, MPI_STATUS_IGNORE), MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    MPI_Comm_free(&second);
}

/* A receive of which it is known that it has ended, and one of which it is not. */
static void let_go(const char* which) {
    MPI_Request request;
    int flag = 0;
    if (strcmp(which, "cancelled-before") == 0) {
        if (rank == 1) {
            MPI_Recv_init(in, 200, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &request);
            MPI_Start(&request);
            MPI_Cancel(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Start(&request);
            MPI_Request_free(&request);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) MPI_Send(out, 100, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        return;
    }
    if (rank == 0) MPI_Send(out, 100, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Irecv(in, 100, MPI_BYTE, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Request_free(&request);
        MPI_Irecv(in, 200, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &request);
        while (strcmp(which, "known") == 0 && !flag) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Sends through two communicators, and receives what comes through the second first; frees both. */
static void use_in_turn(MPI_Comm first, MPI_Comm second) {
    MPI_Request requests[2];
    if (rank == 0) {
        MPI_Isend(out, 101, MPI_BYTE, 1, 7, first, &requests[0]);
        MPI_Isend(out, 102, MPI_BYTE, 1, 7, second, &requests[1]);
    } else {
        MPI_Irecv(in, 102, MPI_BYTE, 0, 7, second, &requests[0]);
        MPI_Irecv(in + 200, 101, MPI_BYTE, 0, 7, first, &requests[1]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
}

/* Communicators are told apart by the order of the calls that make them, not by that of their first uses. */
static void copied(void) {
    MPI_Comm first, second;
    MPI_Request requests[2];
    MPI_Comm_idup(MPI_COMM_WORLD, &first, &requests[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &second, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    use_in_turn(first, second);
}

/* Sends that are done at once share a handle, with each other and with those to nobody. None of these waits needs what
   rank 1 receives later, but where messages wait for their receives it would be needed by a wait for another send. */
static void shared(void) {
    MPI_Request first, second, third, copies[2];
    if (rank == 0) {
        MPI_Isend(out, 101, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &first);
        MPI_Isend(out, 102, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &second);
        MPI_Isend(out, 103, MPI_BYTE, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &third);
        MPI_Wait(&third, MPI_STATUS_IGNORE);
        MPI_Irecv(in, 103, MPI_BYTE, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &third);
        MPI_Wait(&third, MPI_STATUS_IGNORE);
        MPI_Ibsend(out, 103, MPI_BYTE, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &third);
        MPI_Wait(&third, MPI_STATUS_IGNORE);
        MPI_Recv(in, 104, MPI_BYTE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&second, MPI_STATUS_IGNORE);
        MPI_Recv(in, 105, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&first, MPI_STATUS_IGNORE);
        for (int i = 0; i < 2; ++i) {
            MPI_Isend(out, 106, MPI_BYTE, 1, 6 + i, MPI_COMM_WORLD, &first);
            copies[i] = first;
        }
        MPI_Wait(&copies[0], MPI_STATUS_IGNORE);
        MPI_Recv(in, 108, MPI_BYTE, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&copies[1], MPI_STATUS_IGNORE);
    } else {
        MPI_Send(out, 104, MPI_BYTE, 0, 4, MPI_COMM_WORLD);
        MPI_Recv(in, 102, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, 105, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
        MPI_Recv(in, 101, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, 106, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, 108, MPI_BYTE, 0, 8, MPI_COMM_WORLD);
        MPI_Recv(in, 106, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Each rank copies first the communicator that the other one copies last. */
static void copied_in_turn(void) {
    MPI_Comm from[2], to[2];
    MPI_Request requests[2];
    for (int i = 0; i < 2; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &from[i]);
    for (int i = 0; i < 2; ++i) MPI_Comm_idup(from[i ^ rank], &to[i ^ rank], &requests[i]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; ++i) {
        if (rank == 0) MPI_Isend(out, 101 + i, MPI_BYTE, 1, 7, to[i], &requests[i]);
        if (rank == 1) MPI_Irecv(in + 200 * i, 101 + i, MPI_BYTE, 0, 7, to[i], &requests[i]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; ++i) MPI_Comm_free(&from[i]), MPI_Comm_free(&to[i]);
}

/* Both ranks wait for their sends before they receive, as these need nobody. */
static void buffered(void) {
    MPI_Request request;
    int size = 4 * (LARGE + MPI_BSEND_OVERHEAD);
    void* buffer = malloc(size);
    MPI_Buffer_attach(buffer, size);
    MPI_Ibsend(out, LARGE, MPI_BYTE, other, 7, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(in, LARGE, MPI_BYTE, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bsend_init(out, LARGE, MPI_BYTE, other, 8, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 2; ++i) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Recv(in, LARGE, MPI_BYTE, other, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
}

/* 20 ms of work after each of five questions that are not in vain. */
static void asked(void) {
    MPI_Request requests[2];
    int flag;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Send(out, 50, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        MPI_Send(out, 100, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        return;
    }
    MPI_Irecv(in, 100, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in, 100, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    work(0.02);
    for (flag = 0; !flag;) MPI_Iprobe(1, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    work(0.02);
    for (flag = 0; !flag;) MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE);
    work(0.02);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; ++i) {
        MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        work(0.02);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(in, 50, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Of 4 ranks, 3 and 1: each side gives as many sizes as the other has ranks. */
static void between(void) {
    MPI_Comm own, both;
    const int alone = rank == 3, many = alone ? 3 : 1;
    MPI_Comm_split(MPI_COMM_WORLD, alone, rank, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, alone ? 0 : 3, 5, &both);
    int* const counts = malloc(many * sizeof *counts);
    int* const places = malloc(many * sizeof *places);
    MPI_Datatype* const types = malloc(many * sizeof *types);
    for (int i = 0; i < many; ++i) counts[i] = 8, places[i] = 8 * i, types[i] = MPI_BYTE;
    MPI_Alltoallw(out, counts, places, types, in, counts, places, types, both);
    MPI_Alltoallv(out, counts, places, MPI_BYTE, in, counts, places, MPI_BYTE, both);
    MPI_Scatterv(out, alone ? counts : NULL, alone ? places : NULL, MPI_BYTE, in, 8, MPI_BYTE, alone ? MPI_ROOT : 0,
                 both);
    free(counts), free(places), free(types);
    MPI_Comm_free(&both);
    MPI_Comm_free(&own);
}

/* The first thread waits for a message of the second one, and makes no other call before the end. */
static void* second(void* nothing) {
    char sent[1000], got[1000];
    usleep(100000);
    for (int i = 0; i < 100; ++i) {
        MPI_Sendrecv(sent, 1000, MPI_BYTE, other, 1, got, 1000, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Send(sent, 1, MPI_BYTE, rank, 2, MPI_COMM_WORLD);
    return nothing;
}
static void* many(void* number) {
    const int tag = 1 + *(const int*)number;
    char sent[64], got[64];
    MPI_Request requests[2];
    for (int i = 0; i < 3000; ++i) {
        MPI_Irecv(got, 64, MPI_BYTE, rank, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(sent, i % 60, MPI_BYTE, rank, tag, MPI_COMM_WORLD, &requests[1]);
        if (i % 2 == 0) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int k = 0; k < 2 && i % 2 == 1; ++k) {
            for (int flag = 0; !flag;) MPI_Test(&requests[k], &flag, MPI_STATUS_IGNORE);
        }
    }
    return number;
}
static void threads(const char* how) {
    pthread_t all[4];
    int numbers[4] = {0, 1, 2, 3};
    const int number = strcmp(how, "second") == 0 ? 1 : 4;
    for (int i = 0; i < number; ++i) pthread_create(&all[i], NULL, number == 1 ? second : many, &numbers[i]);
    if (number == 1) MPI_Recv(in, 1, MPI_BYTE, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < number; ++i) pthread_join(all[i], NULL);
}

/* Threads that call in turn. */
static void* exchanges(void* bytes) {
    MPI_Sendrecv(out, *(const int*)bytes, MPI_BYTE, other, 1, in, 200, MPI_BYTE, other, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return bytes;
}
static void in_turn(void) {
    for (int bytes = 101; bytes <= 103; ++bytes) {
        pthread_t one;
        pthread_create(&one, NULL, exchanges, &bytes);
        pthread_join(one, NULL);
    }
    int bytes = 104;
    exchanges(&bytes);
}

/* Closes a descriptor of a trace, as programs do that close all that they have not opened, and takes its number. */
static void closes(const char* folder) {
    char name[64], target[4096];
    for (int i = 3; i < 256; ++i) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", i);
        const ssize_t length = readlink(name, target, sizeof target - 1);
        if (length <= 0) continue;
        target[length] = 0;
        if (strstr(target, ".trace") != NULL) close(i);
    }
    if (chdir(folder) != 0) abort();
    snprintf(name, sizeof name, "own-%d", rank);
    const int own = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (write(own, "hello\n", 6) != 6) abort();
    for (int i = 0; i < 400000; ++i) MPI_Bcast(out, i % 4000, MPI_BYTE, 0, MPI_COMM_SELF);
    struct stat found;
    fstat(own, &found);
    printf("%ld B\n", (long)found.st_size);
}

/* As many ranks more, which do what a program does. */
static void spawns(const char* program, MPI_Comm parent) {
    MPI_Comm others = parent;
    char* words[] = {"spawn", NULL};
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(program, words, ranks, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    }
    for (int i = 0; i < 1000; ++i) {
        MPI_Sendrecv(out, 100 + i % 200, MPI_BYTE, other, 1, in, 400, MPI_BYTE, other, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    MPI_Comm_disconnect(&others);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Synchronous sends in all forms, as the receives are posted in another order than they end. */
static void synchronous(void) {
    MPI_Request requests[2];
    if (rank == 0) {
        MPI_Issend(out, 101, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, 102, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Ssend(out, 103, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        MPI_Ssend_init(out, 104, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &requests[0]);
        for (int i = 0; i < 2; ++i) {
            MPI_Start(&requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&requests[0]);
    } else {
        for (int i = 0; i < 2; ++i) MPI_Irecv(in, 102, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &requests[i]);
        for (int i = 1; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        for (int i = 0; i < 3; ++i) MPI_Recv(in, 104, MPI_BYTE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* A receive that is too small, alone or beside another one. */
static void truncated(int alone) {
    MPI_Request requests[2];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Send(out, 100, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        MPI_Send(out, 50, MPI_BYTE, 1, 8, MPI_COMM_WORLD);
    } else if (alone) {
        MPI_Recv(in, 10, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, 50, MPI_BYTE, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Status statuses[2];
        MPI_Irecv(in, 10, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(in + 100, 50, MPI_BYTE, 0, 8, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, statuses);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Calls that the library refuses, and the program goes on. */
static void mistaken(void) {
    MPI_Request request = MPI_REQUEST_NULL;
    int number, index, indices[1];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE);
    MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE);
    MPI_Testsome(-1, &request, &number, indices, MPI_STATUSES_IGNORE);
    MPI_Waitany(-1, &request, &index, MPI_STATUS_IGNORE);
    MPI_Startall(-1, &request);
    MPI_Sendrecv(out, 101, MPI_BYTE, other, 7, in, 101, MPI_BYTE, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static jmp_buf before_error;
static void jumps(MPI_Comm* comm, int* error, ...) {
    (void)comm, (void)error;
    longjmp(before_error, 1);
}

/* A handler of errors that does not come back. */
static void jumped(void) {
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(jumps, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (setjmp(before_error) == 0) MPI_Send(out, 1, MPI_BYTE, ranks, 7, MPI_COMM_WORLD);
    MPI_Sendrecv(out, 101, MPI_BYTE, other, 7, in, 101, MPI_BYTE, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The buffer is there until the receiver has come. */
static void detached(void) {
    int size = LARGE + MPI_BSEND_OVERHEAD;
    void* buffer = malloc(size);
    MPI_Buffer_attach(buffer, size);
    if (rank == 0) MPI_Bsend(out, LARGE, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
    if (rank == 1) usleep(300000);
    if (rank == 1) MPI_Recv(in, LARGE, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
}

/* What a library sends for files is its own business. */
static void writes(const char* folder) {
    char name[4096], half[1000];
    MPI_File file;
    MPI_Request request;
    MPI_Status status;
    snprintf(name, sizeof name, "%s/written", folder);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_size(file, 4000);
    MPI_File_set_view(file, 1000 * rank, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, out, 1000, MPI_BYTE, &status);
    MPI_File_write_at_all(file, 0, out, 1000, MPI_BYTE, &status);
    MPI_File_iwrite_at_all(file, 0, out, 1000, MPI_BYTE, &request);
    MPI_Wait(&request, &status);
    MPI_File_sync(file);
    MPI_File_read_all_begin(file, half, 1000, MPI_BYTE);
    MPI_File_read_all_end(file, half, &status);
    MPI_File_read_at_all(file, 0, half, 1000, MPI_BYTE, &status);
    MPI_File_close(&file);
}

/* A persistent message with nobody. */
static void to_nobody(void) {
    MPI_Request requests[2];
    MPI_Send_init(out, 100, MPI_BYTE, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, 100, MPI_BYTE, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; ++i) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
}

/* Between two puts, waits for those that go to nobody. */
static void windows_of_nobody(int waits) {
    MPI_Win window;
    MPI_Win_create(in, LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        MPI_Put(out, 50000, MPI_BYTE, 0, 0, 50000, MPI_BYTE, window);
        if (waits) MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, window);
        if (waits) MPI_Win_flush(MPI_PROC_NULL, window);
        if (waits) MPI_Win_flush_local(MPI_PROC_NULL, window);
        if (waits) MPI_Win_unlock(MPI_PROC_NULL, window);
        MPI_Put(out, 50000, MPI_BYTE, 0, 50000, 50000, MPI_BYTE, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Win_free(&window);
}

#if MPI_VERSION >= 4
/* Large counts of messages that were probed. */
static void large_probed(void) {
    MPI_Message message;
    MPI_Request request;
    if (rank == 0) {
        for (int size = 101; size <= 103; ++size) MPI_Send(out, size, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        return;
    }
    MPI_Mprobe(0, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv_c(in, 101, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    MPI_Mprobe(0, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv_c(in, 102, MPI_BYTE, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(in, 103, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Windows are told apart from communicators by the order of the calls that make them, not by that of first uses. */
static void large_windows(void) {
    MPI_Win window;
    MPI_Comm copy;
    char* place;
    MPI_Win_allocate_c(LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &place, &window);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
        MPI_Put(out, 100, MPI_BYTE, 1, 0, 100, MPI_BYTE, window);
        MPI_Win_unlock(1, window);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank == 0) MPI_Send(out, 101, MPI_BYTE, 1, 7, copy);
    if (rank == 1) MPI_Recv(in, 101, MPI_BYTE, 0, 7, copy, MPI_STATUS_IGNORE);
    MPI_Win_fence(0, window);
    MPI_Win_fence(0, window);
    MPI_Comm_free(&copy);
    MPI_Win_free(&window);
}

/* So are communicators that are made of a group. */
static void of_groups(void) {
    MPI_Group group;
    MPI_Comm first, second;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create_from_group(group, "first", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first);
    MPI_Comm_create_from_group(group, "second", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
    MPI_Group_free(&group);
    use_in_turn(first, second);
}

/* Messages in partitions meet in the order in which they are made, whatever order they start in. */
static void partitioned_in_turn(void) {
    MPI_Request requests[2];
    for (int i = 0; i < 2; ++i) {
        if (rank == 0) MPI_Psend_init(out, 1, 101 + i, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
        if (rank == 1) MPI_Precv_init(in, 1, 101 + i, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
    }
    for (int i = 0; i < 2; ++i) {
        MPI_Start(&requests[rank == 0 ? i : 1 - i]);
        if (rank == 0) MPI_Pready(0, requests[i]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
}

/* A message in partitions and another one of the same tag. */
static void partitioned(void) {
    MPI_Request request;
    if (rank == 0) {
        MPI_Psend_init(out, 2, 50, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready(0, request);
        MPI_Pready(1, request);
        MPI_Send(out, 30, MPI_BYTE, 1, 9, MPI_COMM_WORLD);
    } else {
        MPI_Precv_init(in, 2, 50, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Recv(in, 30, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Start(&request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

#endif

#if MPI_VERSION >= 4
#define INIT(name) MPI_##name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define INIT(name) MPIX_##name##_init
#endif
#if defined(INIT)
/* Persistent collectives meet in the order in which they are made, whatever order they begin in. */
static void persistent(void) {
    MPI_Request requests[3];
    INIT(Allreduce)(out, in, 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    INIT(Bcast)(out + 1000, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    INIT(Allreduce)(out + 2000, in + 2000, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
    for (int step = 0; step < 2; ++step) {
        for (int i = 0; i < 3; ++i) MPI_Start(&requests[rank == 0 ? i : 2 - i]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 3; ++i) MPI_Request_free(&requests[i]);
}
#endif

/* A library may end MPI when the program ends; one that was there before MPI_Init is the last to be told. */
static void ends(void) {
    MPI_Sendrecv(out, 101, MPI_BYTE, other, 7, in, 101, MPI_BYTE, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
}

int main(int argc, char** argv) {
    int provided;
    const int ends_last = strcmp(argv[1], "ends-last") == 0 && atexit(ends) == 0;
    MPI_Comm parent;
    const int several = strstr(argv[1], "thread") != NULL ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, strcmp(argv[1], "serialized") == 0 ? MPI_THREAD_SERIALIZED : several, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_get_parent(&parent);
    other = ranks - 1 - rank;
    const char* const what = argv[1];
    if (strcmp(what, "no-type") == 0) no_type();
    if (strcmp(what, "large-type") == 0) large_type();
    if (strcmp(what, "distinct") == 0) distinct();
    if (strcmp(what, "probed") == 0) probed();
    if (strcmp(what, "freed") == 0) freed();
    if (strcmp(what, "let-go") == 0) let_go(argv[2]);
    if (strcmp(what, "copied") == 0) copied();
    if (strcmp(what, "copied-in-turn") == 0) copied_in_turn();
    if (strcmp(what, "shared") == 0) shared();
    if (strcmp(what, "buffered") == 0) buffered();
    if (strcmp(what, "asked") == 0) asked();
    if (strcmp(what, "between") == 0) between();
    if (strstr(what, "thread") != NULL) threads(argv[2]);
    if (strcmp(what, "serialized") == 0) in_turn();
    if (strcmp(what, "closes") == 0) closes(argv[2]);
    if (strcmp(what, "spawn") == 0) spawns(argv[0], parent);
    if (strcmp(what, "synchronous") == 0) synchronous();
    if (strcmp(what, "truncated") == 0) truncated(strcmp(argv[2], "alone") == 0);
    if (strcmp(what, "mistaken") == 0) mistaken();
    if (strcmp(what, "jumped") == 0) jumped();
    if (strcmp(what, "detached") == 0) detached();
    if (strcmp(what, "writes") == 0) writes(argv[2]);
    if (strcmp(what, "to-nobody") == 0) to_nobody();
    if (strcmp(what, "windows-of-nobody") == 0) windows_of_nobody(strcmp(argv[2], "waits") == 0);
#if defined(INIT)
    if (strcmp(what, "persistent") == 0) persistent();
#endif
#if MPI_VERSION >= 4
    if (strcmp(what, "large-windows") == 0) large_windows();
    if (strcmp(what, "large-probed") == 0) large_probed();
    if (strcmp(what, "of-groups") == 0) of_groups();
    if (strcmp(what, "partitioned-in-turn") == 0) partitioned_in_turn();
    if (strcmp(what, "partitioned") == 0) partitioned();
#endif
    if (rank == 0 && parent == MPI_COMM_NULL) puts("done");
    if (!ends_last) MPI_Finalize();
    return 0;
}
