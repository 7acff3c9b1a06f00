/// \file
/// The calls of MPI that a trace tells of. Each is here under both of its names: Fortran's calls arrive at the first
/// one in MPICH, at the second one in Open MPI. Calls that move no data and wait for nobody are left alone: their time
/// is the rank's own.
#include "tracer.hpp"

// NOLINTBEGIN(bugprone-macro-parentheses): what stands in brackets is a list
using tramontane::tracer::bytes_of;
using tramontane::tracer::Call;
using tramontane::tracer::kept;
using tramontane::tracer::statuses_or_ours;
using tramontane::tracer::Tracer;

#define EACH(...) __VA_ARGS__
#define SECOND_NAME(name, params) extern "C" int P##name params __attribute__((alias(#name)));
/// A call: what it is given, how it is passed on, and what is told of it afterwards.
#define TRACED(name, params, args, ...)                      \
    extern "C" int MPI_##name params {                       \
        Call call(#name);                                    \
        const int status = TRAMONTANE_NEXT(MPI_##name) args; \
        if (call.done(status)) {                             \
            __VA_ARGS__                                      \
        }                                                    \
        return status;                                       \
    }                                                        \
    SECOND_NAME(MPI_##name, params)

// --- begin and end ---------------------------------------------------------------------------------------------------

extern "C" int MPI_Init(int* argc, char*** argv) {
    const int status = TRAMONTANE_NEXT(MPI_Init)(argc, argv);
    if (status == MPI_SUCCESS) Tracer::own().start(MPI_THREAD_SINGLE);
    return status;
}
SECOND_NAME(MPI_Init, (int*, char***))

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    const int status = TRAMONTANE_NEXT(MPI_Init_thread)(argc, argv, required, provided);
    if (status == MPI_SUCCESS) Tracer::own().start(*provided);
    return status;
}
SECOND_NAME(MPI_Init_thread, (int*, char***, int, int*))

extern "C" int MPI_Finalize(void) {
    Tracer::own().finish();
    return TRAMONTANE_NEXT(MPI_Finalize)();
}
SECOND_NAME(MPI_Finalize, (void))

extern "C" int MPI_Pcontrol(const int level, ...) {
    Call call("Pcontrol");
    if (call.done(MPI_SUCCESS)) call.phase(level);
    return MPI_SUCCESS;
}
extern "C" int PMPI_Pcontrol(const int, ...) __attribute__((alias("MPI_Pcontrol")));

// --- messages --------------------------------------------------------------------------------------------------------

#define MESSAGE const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm
#define SENT buffer, count, type, to, tag, comm
#define SENDS(name) TRACED(name, (MESSAGE), (SENT), call.send(comm, to, tag, bytes_of(count, type));)
#define BEGINS_TO_SEND(name)                                        \
    TRACED(name, (MESSAGE, MPI_Request * request), (SENT, request), \
           call.begin_send(comm, to, tag, bytes_of(count, type), request);)
#define MAKES_SEND(name)                                            \
    TRACED(name, (MESSAGE, MPI_Request * request), (SENT, request), \
           call.make_send(comm, to, tag, bytes_of(count, type), *request);)

SENDS(Send)
SENDS(Ssend)
SENDS(Rsend)
TRACED(Bsend, (MESSAGE), (SENT), call.begin_send(comm, to, tag, bytes_of(count, type), nullptr);)
BEGINS_TO_SEND(Isend)
BEGINS_TO_SEND(Issend)
BEGINS_TO_SEND(Irsend)
BEGINS_TO_SEND(Ibsend)
MAKES_SEND(Send_init)
MAKES_SEND(Ssend_init)
MAKES_SEND(Rsend_init)
MAKES_SEND(Bsend_init)

#define PLACE void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm
TRACED(Irecv, (PLACE, MPI_Request* request), (buffer, count, type, from, tag, comm, request),
       call.begin_receive(comm, from, *request);)
TRACED(Recv_init, (PLACE, MPI_Request* request), (buffer, count, type, from, tag, comm, request),
       call.make_receive(comm, from, *request);)

extern "C" int MPI_Recv(PLACE, MPI_Status* given) {
    Call call("Recv");
    MPI_Status* const got = statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(MPI_Recv)(buffer, count, type, from, tag, comm, got);
    if (call.done(status)) call.receive(comm, *got);
    return status;
}
SECOND_NAME(MPI_Recv, (PLACE, MPI_Status*))

extern "C" int MPI_Sendrecv(const void* buffer, int count, MPI_Datatype type, int to, int tag, void* place, int most,
                            MPI_Datatype as, int from, int tag_from, MPI_Comm comm, MPI_Status* given) {
    Call call("Sendrecv");
    MPI_Status* const got = statuses_or_ours(given, 1);
    const int status =
        TRAMONTANE_NEXT(MPI_Sendrecv)(buffer, count, type, to, tag, place, most, as, from, tag_from, comm, got);
    if (call.done(status)) {
        call.send(comm, to, tag, bytes_of(count, type));
        call.receive(comm, *got);
    }
    return status;
}
SECOND_NAME(MPI_Sendrecv,
            (const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*))

extern "C" int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int to, int tag, int from, int tag_from,
                                    MPI_Comm comm, MPI_Status* given) {
    Call call("Sendrecv_replace");
    MPI_Status* const got = statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(MPI_Sendrecv_replace)(buffer, count, type, to, tag, from, tag_from, comm, got);
    if (call.done(status)) {
        call.send(comm, to, tag, bytes_of(count, type));
        call.receive(comm, *got);
    }
    return status;
}
SECOND_NAME(MPI_Sendrecv_replace, (void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*))

TRACED(Start, (MPI_Request * request), (request), call.start(*request);)
TRACED(Startall, (int number, MPI_Request requests[]), (number, requests),
       for (int i = 0; i < number; ++i) call.start(requests[i]);)

// --- waiting and asking ----------------------------------------------------------------------------------------------

extern "C" int MPI_Wait(MPI_Request* request, MPI_Status* given) {
    Call call("Wait");
    const MPI_Request before = *request;
    MPI_Status* const got = statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(MPI_Wait)(request, got);
    if (call.done(status)) call.end(before, *got);
    return status;
}
SECOND_NAME(MPI_Wait, (MPI_Request*, MPI_Status*))

extern "C" int MPI_Test(MPI_Request* request, int* flag, MPI_Status* given) {
    Call call("Test");
    const MPI_Request before = *request;
    MPI_Status* const got = statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(MPI_Test)(request, flag, got);
    if (call.done(status)) *flag != 0 ? call.end(before, *got) : call.vain();
    return status;
}
SECOND_NAME(MPI_Test, (MPI_Request*, int*, MPI_Status*))

extern "C" int MPI_Waitall(int number, MPI_Request requests[], MPI_Status* given) {
    Call call("Waitall");
    const MPI_Request* const before = kept(requests, number);
    MPI_Status* const got = statuses_or_ours(given, number);
    const int status = TRAMONTANE_NEXT(MPI_Waitall)(number, requests, got);
    if (call.done(status)) {
        for (int i = 0; i < number; ++i) call.end(before[i], got[i]);
    }
    return status;
}
SECOND_NAME(MPI_Waitall, (int, MPI_Request[], MPI_Status*))

extern "C" int MPI_Testall(int number, MPI_Request requests[], int* flag, MPI_Status* given) {
    Call call("Testall");
    const MPI_Request* const before = kept(requests, number);
    MPI_Status* const got = statuses_or_ours(given, number);
    const int status = TRAMONTANE_NEXT(MPI_Testall)(number, requests, flag, got);
    if (call.done(status)) {
        if (*flag == 0) call.vain();
        for (int i = 0; *flag != 0 && i < number; ++i) call.end(before[i], got[i]);
    }
    return status;
}
SECOND_NAME(MPI_Testall, (int, MPI_Request[], int*, MPI_Status*))

extern "C" int MPI_Waitany(int number, MPI_Request requests[], int* index, MPI_Status* given) {
    Call call("Waitany");
    const MPI_Request* const before = kept(requests, number);
    MPI_Status* const got = statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(MPI_Waitany)(number, requests, index, got);
    if (call.done(status) && *index != MPI_UNDEFINED) call.end(before[*index], *got);
    return status;
}
SECOND_NAME(MPI_Waitany, (int, MPI_Request[], int*, MPI_Status*))

extern "C" int MPI_Testany(int number, MPI_Request requests[], int* index, int* flag, MPI_Status* given) {
    Call call("Testany");
    const MPI_Request* const before = kept(requests, number);
    MPI_Status* const got = statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(MPI_Testany)(number, requests, index, flag, got);
    if (call.done(status)) {
        if (*flag == 0) {
            call.vain();
        } else if (*index != MPI_UNDEFINED) {
            call.end(before[*index], *got);
        }
    }
    return status;
}
SECOND_NAME(MPI_Testany, (int, MPI_Request[], int*, int*, MPI_Status*))

#define SOME(name)                                                                                                \
    extern "C" int MPI_##name(int number, MPI_Request requests[], int* ended, int indices[], MPI_Status* given) { \
        Call call(#name);                                                                                         \
        const MPI_Request* const before = kept(requests, number);                                                 \
        MPI_Status* const got = statuses_or_ours(given, number);                                                  \
        const int status = TRAMONTANE_NEXT(MPI_##name)(number, requests, ended, indices, got);                    \
        if (call.done(status)) {                                                                                  \
            if (*ended == 0) call.vain();                                                                         \
            for (int i = 0; *ended != MPI_UNDEFINED && i < *ended; ++i) call.end(before[indices[i]], got[i]);     \
        }                                                                                                         \
        return status;                                                                                            \
    }                                                                                                             \
    SECOND_NAME(MPI_##name, (int, MPI_Request[], int*, int[], MPI_Status*))
SOME(Waitsome)
SOME(Testsome)

TRACED(Request_get_status, (MPI_Request request, int* flag, MPI_Status* given), (request, flag, given), call.vain();)

extern "C" int MPI_Request_free(MPI_Request* request) {
    Call call("Request_free");
    const MPI_Request before = *request;
    const int status = TRAMONTANE_NEXT(MPI_Request_free)(request);
    if (call.done(status)) call.free(before);
    return status;
}
SECOND_NAME(MPI_Request_free, (MPI_Request*))

TRACED(Cancel, (MPI_Request * request), (request), call.tracer().cancels = true;)

TRACED(Probe, (int from, int tag, MPI_Comm comm, MPI_Status* given), (from, tag, comm, given), )
TRACED(Iprobe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Status* given), (from, tag, comm, flag, given),
       if (*flag == 0) call.vain();)
TRACED(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* given),
       (from, tag, comm, message, given), call.probed(comm, *message);)
TRACED(Improbe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* given),
       (from, tag, comm, flag, message, given), *flag != 0 ? call.probed(comm, *message) : call.vain();)

extern "C" int MPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* given) {
    Call call("Mrecv");
    const MPI_Message before = *message;
    MPI_Status* const got = statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(MPI_Mrecv)(buffer, count, type, message, got);
    if (call.done(status)) call.receive_probed(before, *got);
    return status;
}
SECOND_NAME(MPI_Mrecv, (void*, int, MPI_Datatype, MPI_Message*, MPI_Status*))

extern "C" int MPI_Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
    Call call("Imrecv");
    const MPI_Message before = *message;
    const int status = TRAMONTANE_NEXT(MPI_Imrecv)(buffer, count, type, message, request);
    if (call.done(status)) call.begin_receive_probed(before, *request);
    return status;
}
SECOND_NAME(MPI_Imrecv, (void*, int, MPI_Datatype, MPI_Message*, MPI_Request*))

// --- collectives -----------------------------------------------------------------------------------------------------

/// A collective in both forms; `request` is null in the one that waits.
#define COLLECTIVE(name, immediate, params, args, ...)                           \
    extern "C" int MPI_##name(EACH params) {                                     \
        Call call(#name);                                                        \
        const int status = TRAMONTANE_NEXT(MPI_##name)(EACH args);               \
        if (call.done(status)) {                                                 \
            const MPI_Request* const request = nullptr;                          \
            __VA_ARGS__                                                          \
        }                                                                        \
        return status;                                                           \
    }                                                                            \
    SECOND_NAME(MPI_##name, (EACH params))                                       \
    extern "C" int MPI_##immediate(EACH params, MPI_Request* request) {          \
        Call call(#immediate);                                                   \
        const int status = TRAMONTANE_NEXT(MPI_##immediate)(EACH args, request); \
        if (call.done(status)) {                                                 \
            __VA_ARGS__                                                          \
        }                                                                        \
        return status;                                                           \
    }                                                                            \
    SECOND_NAME(MPI_##immediate, (EACH params, MPI_Request * request))

/// One size that says it all.
#define UNIFORM(operation, root, bytes)                 \
    call.collective(request, comm, operation, root, 1); \
    call.size(bytes);
/// A size for each rank.
#define BY_RANK(operation, root, counts, types)                          \
    call.collective(request, comm, operation, root, call.size_of(comm)); \
    call.sizes(counts, types, call.size_of(comm));

#define FROM const void *buffer, int count, MPI_Datatype type
#define TO void *place, int most, MPI_Datatype as
#define BETWEEN const void *buffer, void *place
#define IN_PLACE (buffer == MPI_IN_PLACE)
#define BLOCK bytes_of(IN_PLACE ? most : count, IN_PLACE ? as : type)

COLLECTIVE(Barrier, Ibarrier, (MPI_Comm comm), (comm), call.collective(request, comm, "barrier", 0, 0);)
COLLECTIVE(Bcast, Ibcast, (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
           (buffer, count, type, root, comm), UNIFORM("bcast", root, bytes_of(count, type)))
COLLECTIVE(Reduce, Ireduce, (BETWEEN, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
           (buffer, place, count, type, op, root, comm), UNIFORM("reduce", root, bytes_of(count, type)))
COLLECTIVE(Allreduce, Iallreduce, (BETWEEN, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (buffer, place, count, type, op, comm), UNIFORM("allreduce", 0, bytes_of(count, type)))
COLLECTIVE(Scan, Iscan, (BETWEEN, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (buffer, place, count, type, op, comm), UNIFORM("scan", 0, bytes_of(count, type)))
COLLECTIVE(Exscan, Iexscan, (BETWEEN, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (buffer, place, count, type, op, comm), UNIFORM("exscan", 0, bytes_of(count, type)))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
           (BETWEEN, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (buffer, place, count, type, op, comm),
           UNIFORM("reduce_scatter_block", 0, bytes_of(count, type)))
COLLECTIVE(Reduce_scatter, Ireduce_scatter, (BETWEEN, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (buffer, place, counts, type, op, comm), BY_RANK("reduce_scatter", 0, counts, type))
COLLECTIVE(Gather, Igather, (FROM, TO, int root, MPI_Comm comm), (buffer, count, type, place, most, as, root, comm),
           UNIFORM("gather", root, BLOCK))
COLLECTIVE(Gatherv, Igatherv,
           (FROM, void* place, const int counts[], const int starts[], MPI_Datatype as, int root, MPI_Comm comm),
           (buffer, count, type, place, counts, starts, as, root, comm),
           UNIFORM("gatherv", root, IN_PLACE ? bytes_of(counts[call.rank_in(comm)], as) : bytes_of(count, type)))
COLLECTIVE(Scatter, Iscatter, (FROM, TO, int root, MPI_Comm comm), (buffer, count, type, place, most, as, root, comm),
           UNIFORM("scatter", root, call.rank_in(comm) == root ? bytes_of(count, type) : bytes_of(most, as)))
COLLECTIVE(
    Scatterv, Iscatterv,
    (const void* buffer, const int counts[], const int starts[], MPI_Datatype type, TO, int root, MPI_Comm comm),
    (buffer, counts, starts, type, place, most, as, root, comm), if (call.rank_in(comm) == root) {
        BY_RANK("scatterv", root, counts, type)
    } else {UNIFORM("scatterv", root, bytes_of(most, as))})
COLLECTIVE(Allgather, Iallgather, (FROM, TO, MPI_Comm comm), (buffer, count, type, place, most, as, comm),
           UNIFORM("allgather", 0, BLOCK))
COLLECTIVE(Allgatherv, Iallgatherv,
           (FROM, void* place, const int counts[], const int starts[], MPI_Datatype as, MPI_Comm comm),
           (buffer, count, type, place, counts, starts, as, comm),
           UNIFORM("allgatherv", 0, IN_PLACE ? bytes_of(counts[call.rank_in(comm)], as) : bytes_of(count, type)))
COLLECTIVE(Alltoall, Ialltoall, (FROM, TO, MPI_Comm comm), (buffer, count, type, place, most, as, comm),
           UNIFORM("alltoall", 0, BLOCK))
#define V(type) const int counts[], const int starts[], type
#define W const MPI_Datatype types[]
COLLECTIVE(Alltoallv, Ialltoallv,
           (const void* buffer, V(MPI_Datatype type), void* place, const int most[], const int places[],
            MPI_Datatype as, MPI_Comm comm),
           (buffer, counts, starts, type, place, most, places, as, comm),
           BY_RANK("alltoallv", 0, IN_PLACE ? most : counts, IN_PLACE ? as : type))
COLLECTIVE(Alltoallw, Ialltoallw,
           (const void* buffer, V(W), void* place, const int most[], const int places[], const MPI_Datatype as[],
            MPI_Comm comm),
           (buffer, counts, starts, types, place, most, places, as, comm),
           BY_RANK("alltoallw", 0, IN_PLACE ? most : counts, IN_PLACE ? as : types))

#define SAME(bytes) [each = bytes](int) { return each; }
#define EACH_OF(counts, type) [&](int i) { return bytes_of(counts[i], type); }
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, (FROM, TO, MPI_Comm comm),
           (buffer, count, type, place, most, as, comm),
           call.neighbours(request, comm, SAME(bytes_of(count, type)), SAME(bytes_of(most, as)));)
COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv,
           (FROM, void* place, const int most[], const int starts[], MPI_Datatype as, MPI_Comm comm),
           (buffer, count, type, place, most, starts, as, comm),
           call.neighbours(request, comm, SAME(bytes_of(count, type)), EACH_OF(most, as));)
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, (FROM, TO, MPI_Comm comm),
           (buffer, count, type, place, most, as, comm),
           call.neighbours(request, comm, SAME(bytes_of(count, type)), SAME(bytes_of(most, as)));)
COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv,
           (const void* buffer, V(MPI_Datatype type), void* place, const int most[], const int places[],
            MPI_Datatype as, MPI_Comm comm),
           (buffer, counts, starts, type, place, most, places, as, comm),
           call.neighbours(request, comm, EACH_OF(counts, type), EACH_OF(most, as));)
COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw,
           (const void* buffer, const int counts[], const MPI_Aint starts[], W, void* place, const int most[],
            const MPI_Aint places[], const MPI_Datatype as[], MPI_Comm comm),
           (buffer, counts, starts, types, place, most, places, as, comm),
           call.neighbours(request, comm, EACH_OF(counts, types[i]), EACH_OF(most, as[i]));)

// --- one-sided calls, which a reader has to know of
// --------------------------------------------------------------------

#define HERE const void *buffer, int count, MPI_Datatype type
#define THERE int rank, MPI_Aint place, int most, MPI_Datatype as
#define ONE_SIDED(name, params, args) TRACED(name, params, args, call.one_sided();)
ONE_SIDED(Put, (HERE, THERE, MPI_Win window), (buffer, count, type, rank, place, most, as, window))
ONE_SIDED(Get, (void* buffer, int count, MPI_Datatype type, THERE, MPI_Win window),
          (buffer, count, type, rank, place, most, as, window))
ONE_SIDED(Accumulate, (HERE, THERE, MPI_Op op, MPI_Win window),
          (buffer, count, type, rank, place, most, as, op, window))
ONE_SIDED(Get_accumulate, (HERE, void* found, int number, MPI_Datatype of, THERE, MPI_Op op, MPI_Win window),
          (buffer, count, type, found, number, of, rank, place, most, as, op, window))
ONE_SIDED(Fetch_and_op,
          (const void* buffer, void* found, MPI_Datatype type, int rank, MPI_Aint place, MPI_Op op, MPI_Win window),
          (buffer, found, type, rank, place, op, window))
ONE_SIDED(Compare_and_swap,
          (const void* buffer, const void* with, void* found, MPI_Datatype type, int rank, MPI_Aint place,
           MPI_Win window),
          (buffer, with, found, type, rank, place, window))
ONE_SIDED(Rput, (HERE, THERE, MPI_Win window, MPI_Request* request),
          (buffer, count, type, rank, place, most, as, window, request))
ONE_SIDED(Rget, (void* buffer, int count, MPI_Datatype type, THERE, MPI_Win window, MPI_Request* request),
          (buffer, count, type, rank, place, most, as, window, request))
ONE_SIDED(Raccumulate, (HERE, THERE, MPI_Op op, MPI_Win window, MPI_Request* request),
          (buffer, count, type, rank, place, most, as, op, window, request))

// --- communicators ---------------------------------------------------------------------------------------------------

#define MAKES(name, params, args) TRACED(name, params, args, call.made(*made);)
MAKES(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made))
MAKES(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made), (comm, info, made))
MAKES(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), (comm, group, made))
MAKES(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made), (comm, group, tag, made))
MAKES(Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm* made), (comm, colour, key, made))
MAKES(Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm* made), (comm, kind, key, info, made))
MAKES(Cart_create, (MPI_Comm comm, int n, const int sizes[], const int periods[], int reorder, MPI_Comm* made),
      (comm, n, sizes, periods, reorder, made))
MAKES(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm* made), (comm, remain, made))
MAKES(Graph_create, (MPI_Comm comm, int n, const int index[], const int edges[], int reorder, MPI_Comm* made),
      (comm, n, index, edges, reorder, made))
MAKES(Dist_graph_create,
      (MPI_Comm comm, int n, const int from[], const int degrees[], const int to[], const int weights[], MPI_Info info,
       int reorder, MPI_Comm* made),
      (comm, n, from, degrees, to, weights, info, reorder, made))
MAKES(Dist_graph_create_adjacent,
      (MPI_Comm comm, int in, const int from[], const int in_weights[], int out, const int to[],
       const int out_weights[], MPI_Info info, int reorder, MPI_Comm* made),
      (comm, in, from, in_weights, out, to, out_weights, info, reorder, made))
MAKES(Intercomm_create, (MPI_Comm comm, int leader, MPI_Comm peers, int other, int tag, MPI_Comm* made),
      (comm, leader, peers, other, tag, made))
MAKES(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm* made), (comm, high, made))

#define LEAVES(name)                                                       \
    extern "C" int MPI_##name(MPI_Comm* comm) {                            \
        Call call(#name);                                                  \
        const MPI_Comm before = *comm;                                     \
        const int status = TRAMONTANE_NEXT(MPI_##name)(comm);              \
        if (call.done(status)) call.tracer().communicators.forget(before); \
        return status;                                                     \
    }                                                                      \
    SECOND_NAME(MPI_##name, (MPI_Comm*))
LEAVES(Comm_free)
LEAVES(Comm_disconnect)
// NOLINTEND(bugprone-macro-parentheses)
