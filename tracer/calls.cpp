/// \file
/// The calls of MPI that a trace tells of. Each is here under both of its names: Fortran's calls arrive at the first
/// one in MPICH, at the second one in Open MPI. Calls that move no data and wait for nobody are left alone: their time
/// is the rank's own.
#include "tracer.hpp"

// NOLINTBEGIN(bugprone-macro-parentheses): what stands in brackets is a list
using tramontane::tracer::bytes_of;
using tramontane::tracer::Call;
using tramontane::tracer::OneSided;
using tramontane::tracer::Tracer;
using tramontane::tracer::Unseen;

#define EACH(...) __VA_ARGS__
#define SECOND_NAME(name, params) SECOND_NAME_OF(name, params)
#define SECOND_NAME_OF(name, params) extern "C" int P##name params __attribute__((alias(#name)));
/// A call: what it is given, how it is passed on, and what is told of it afterwards.
#define TRACED(...) TRACED_OF(__VA_ARGS__)
#define TRACED_OF(name, params, args, ...)                   \
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

#if defined(HAS_CALLS_OF_MPI_4)
extern "C" int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
    tramontane::tracer::tell_of_session();
    return TRAMONTANE_NEXT(MPI_Session_init)(info, handler, session);
}
SECOND_NAME(MPI_Session_init, (MPI_Info, MPI_Errhandler, MPI_Session*))
#endif

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

// --- calls that have counts, and where there are any those of large counts
// ---------------------------------------------

#define MESSAGE const void *buffer, COUNT count, MPI_Datatype type, int to, int tag, MPI_Comm comm
#define SENT buffer, count, type, to, tag, comm
#define SENDS(name) TRACED(NAMED(name), (MESSAGE), (SENT), call.send(comm, to, tag, bytes_of(count, type));)
#define BEGINS_TO_SEND(name)                                               \
    TRACED(NAMED(name), (MESSAGE, MPI_Request * request), (SENT, request), \
           call.begin_send(comm, to, tag, bytes_of(count, type), *request);)
#define MAKES_SEND(name, ...)                                              \
    TRACED(NAMED(name), (MESSAGE, MPI_Request * request), (SENT, request), \
           call.make_send(comm, to, tag, bytes_of(count, type), *request __VA_OPT__(, ) __VA_ARGS__);)
#define PLACE void *buffer, COUNT count, MPI_Datatype type, int from, int tag, MPI_Comm comm
/// A collective in all forms; `request` is null in the one that waits.
#if defined(PERSISTENT_NAME)
#define PERSISTENT(...) PERSISTENT_OF(__VA_ARGS__)
#define PERSISTENT_OF(name, params, args, ...)                                                \
    extern "C" int PERSISTENT_NAME(name)(EACH params, MPI_Info info, MPI_Request * request) { \
        Call call(#name);                                                                     \
        const int status = TRAMONTANE_NEXT(PERSISTENT_NAME(name))(EACH args, info, request);  \
        if (call.done(status)) {                                                              \
            call.make_collective(comm);                                                       \
            __VA_ARGS__ call.keep(*request);                                                  \
        }                                                                                     \
        return status;                                                                        \
    }                                                                                         \
    SECOND_NAME(PERSISTENT_NAME(name), (EACH params, MPI_Info info, MPI_Request * request))
#else
#define PERSISTENT(...)
#endif
#define COLLECTIVE(name, immediate, ...) COLLECTIVE_(NAMED(name), NAMED(immediate), NAMED(name##_init), __VA_ARGS__)
#define COLLECTIVE_(...) COLLECTIVE_OF(__VA_ARGS__)
#define COLLECTIVE_OF(name, immediate, persistent, params, args, ...)            \
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
    SECOND_NAME(MPI_##immediate, (EACH params, MPI_Request * request))           \
    PERSISTENT(persistent, params, args, __VA_ARGS__)
/// One size that says it all.
#define UNIFORM(operation, root, bytes) \
    if (call.collective(request, comm, operation, root, 1)) call.size(bytes);
/// A size for each rank.
#define BY_RANK(operation, root, counts, types)                              \
    if (call.collective(request, comm, operation, root, call.size_of(comm))) \
        call.sizes(counts, types, call.size_of(comm));
#define FROM const void *buffer, COUNT count, MPI_Datatype type
#define TO void *place, COUNT most, MPI_Datatype as
#define BETWEEN const void *buffer, void *place
#define IN_PLACE (buffer == MPI_IN_PLACE)
#define BLOCK bytes_of(IN_PLACE ? most : count, IN_PLACE ? as : type)
#define V(type) const COUNT counts[], const PLACE_OF starts[], type
#define W const MPI_Datatype types[]
#define SAME(bytes) [each = bytes](int) { return each; }
#define EACH_OF(counts, type) [&](int i) { return bytes_of(counts[i], type); }
#define THERE int rank, MPI_Aint place, COUNT most, MPI_Datatype as

#define MAKES_WINDOW(name, params, args) TRACED(name, params, args, call.made_window(*window);)
/// A call of files: messages of the library for its own use are no messages of the program.
#define OF_FILES(...) OF_FILES_OF(__VA_ARGS__)
#define OF_FILES_OF(name, params, args)          \
    extern "C" int MPI_##name params {           \
        const Unseen unseen;                     \
        return TRAMONTANE_NEXT(MPI_##name) args; \
    }                                            \
    SECOND_NAME(MPI_##name, params)
#define OF_DATA(way, data)                                                                                           \
    OF_DATA_OF(way##_all, (MPI_File file, data buffer, COUNT count, MPI_Datatype type), (file, buffer, count, type)) \
    OF_DATA_OF(way##_ordered, (MPI_File file, data buffer, COUNT count, MPI_Datatype type),                          \
               (file, buffer, count, type))                                                                          \
    OF_DATA_OF(way##_at_all, (MPI_File file, MPI_Offset at, data buffer, COUNT count, MPI_Datatype type),            \
               (file, at, buffer, count, type))                                                                      \
    OF_FILES(NAMED(File_i##way##_all),                                                                               \
             (MPI_File file, data buffer, COUNT count, MPI_Datatype type, MPI_Request * request),                    \
             (file, buffer, count, type, request))                                                                   \
    OF_FILES(NAMED(File_i##way##_at_all),                                                                            \
             (MPI_File file, MPI_Offset at, data buffer, COUNT count, MPI_Datatype type, MPI_Request * request),     \
             (file, at, buffer, count, type, request))
#define OF_DATA_OF(name, params, args)                                                  \
    OF_FILES(NAMED(File_##name), (EACH params, MPI_Status * given), (EACH args, given)) \
    OF_FILES(NAMED(File_##name##_begin), params, args)

#define COUNT int
#define PLACE_OF int
#define DISPLACEMENT int
#define NAMED(name) name
#include "counted_calls.hpp"
#if MPI_VERSION >= 4
#undef COUNT
#undef PLACE_OF
#undef DISPLACEMENT
#undef NAMED
#define COUNT MPI_Count
#define PLACE_OF MPI_Aint
#define DISPLACEMENT MPI_Aint
#define NAMED(name) name##_c
#define OF_LARGE_COUNTS
#include "counted_calls.hpp"
#endif

#if defined(HAS_CALLS_OF_MPI_4)
// Messages in partitions count as one, which begins with MPI_Start: when which partition is ready is not told.
TRACED(Psend_init,
       (const void* buffer, int partitions, MPI_Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
        MPI_Info info, MPI_Request* request),
       (buffer, partitions, count, type, to, tag, comm, info, request),
       call.make_partitioned_send(comm, to, tag, partitions* bytes_of(count, type), *request);)
TRACED(Precv_init,
       (void* buffer, int partitions, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
        MPI_Info info, MPI_Request* request),
       (buffer, partitions, count, type, from, tag, comm, info, request),
       call.make_partitioned_receive(comm, from, tag, partitions* bytes_of(count, type), *request);)
TRACED(Parrived, (MPI_Request request, int partition, int* flag), (request, partition, flag),
       if (*flag == 0) call.vain();)
#endif

extern "C" int MPI_Start(MPI_Request* request) {
    Call call("Start");
    const MPI_Request before = *request;
    const int status = TRAMONTANE_NEXT(MPI_Start)(request);
    if (call.done(status)) call.start(before, *request);
    return status;
}
SECOND_NAME(MPI_Start, (MPI_Request*))

extern "C" int MPI_Startall(int number, MPI_Request requests[]) {
    Call call("Startall");
    const MPI_Request* const before = call.kept(requests, number);
    const int status = TRAMONTANE_NEXT(MPI_Startall)(number, requests);
    if (call.done(status)) {
        for (int i = 0; i < number; ++i) call.start(before[i], requests[i]);
    }
    return status;
}
SECOND_NAME(MPI_Startall, (int, MPI_Request[]))

// --- waiting and asking ----------------------------------------------------------------------------------------------

extern "C" int MPI_Wait(MPI_Request* request, MPI_Status* given) {
    Call call("Wait");
    const MPI_Request before = *request;
    MPI_Status* const got = call.statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(MPI_Wait)(request, got);
    if (call.done(status)) call.end(before, request, *got);
    return status;
}
SECOND_NAME(MPI_Wait, (MPI_Request*, MPI_Status*))

extern "C" int MPI_Test(MPI_Request* request, int* flag, MPI_Status* given) {
    Call call("Test");
    const MPI_Request before = *request;
    MPI_Status* const got = call.statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(MPI_Test)(request, flag, got);
    if (call.done(status)) *flag != 0 ? call.end(before, request, *got) : call.vain();
    return status;
}
SECOND_NAME(MPI_Test, (MPI_Request*, int*, MPI_Status*))

extern "C" int MPI_Waitall(int number, MPI_Request requests[], MPI_Status* given) {
    Call call("Waitall");
    const MPI_Request* const before = call.kept(requests, number);
    MPI_Status* const got = call.statuses_or_ours(given, number);
    const int status = TRAMONTANE_NEXT(MPI_Waitall)(number, requests, got);
    if (call.done(status)) {
        for (int i = 0; i < number; ++i) call.end(before[i], &requests[i], got[i]);
    }
    return status;
}
SECOND_NAME(MPI_Waitall, (int, MPI_Request[], MPI_Status*))

extern "C" int MPI_Testall(int number, MPI_Request requests[], int* flag, MPI_Status* given) {
    Call call("Testall");
    const MPI_Request* const before = call.kept(requests, number);
    MPI_Status* const got = call.statuses_or_ours(given, number);
    const int status = TRAMONTANE_NEXT(MPI_Testall)(number, requests, flag, got);
    if (call.done(status)) {
        if (*flag == 0) call.vain();
        for (int i = 0; *flag != 0 && i < number; ++i) call.end(before[i], &requests[i], got[i]);
    }
    return status;
}
SECOND_NAME(MPI_Testall, (int, MPI_Request[], int*, MPI_Status*))

extern "C" int MPI_Waitany(int number, MPI_Request requests[], int* index, MPI_Status* given) {
    Call call("Waitany");
    const MPI_Request* const before = call.kept(requests, number);
    MPI_Status* const got = call.statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(MPI_Waitany)(number, requests, index, got);
    if (call.done(status) && *index != MPI_UNDEFINED) call.end(before[*index], &requests[*index], *got);
    return status;
}
SECOND_NAME(MPI_Waitany, (int, MPI_Request[], int*, MPI_Status*))

extern "C" int MPI_Testany(int number, MPI_Request requests[], int* index, int* flag, MPI_Status* given) {
    Call call("Testany");
    const MPI_Request* const before = call.kept(requests, number);
    MPI_Status* const got = call.statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(MPI_Testany)(number, requests, index, flag, got);
    if (call.done(status)) {
        if (*flag == 0) {
            call.vain();
        } else if (*index != MPI_UNDEFINED) {
            call.end(before[*index], &requests[*index], *got);
        }
    }
    return status;
}
SECOND_NAME(MPI_Testany, (int, MPI_Request[], int*, int*, MPI_Status*))

#define SOME(name)                                                                                                \
    extern "C" int MPI_##name(int number, MPI_Request requests[], int* ended, int indices[], MPI_Status* given) { \
        Call call(#name);                                                                                         \
        const MPI_Request* const before = call.kept(requests, number);                                            \
        MPI_Status* const got = call.statuses_or_ours(given, number);                                             \
        const int status = TRAMONTANE_NEXT(MPI_##name)(number, requests, ended, indices, got);                    \
        if (call.done(status)) {                                                                                  \
            if (*ended == 0) call.vain();                                                                         \
            for (int i = 0; *ended != MPI_UNDEFINED && i < *ended; ++i)                                           \
                call.end(before[indices[i]], &requests[indices[i]], got[i]);                                      \
        }                                                                                                         \
        return status;                                                                                            \
    }                                                                                                             \
    SECOND_NAME(MPI_##name, (int, MPI_Request[], int*, int[], MPI_Status*))
SOME(Waitsome)
SOME(Testsome)

extern "C" int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* given) {
    Call call("Request_get_status");
    MPI_Status* const got = call.statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(MPI_Request_get_status)(request, flag, got);
    if (call.done(status)) *flag != 0 ? call.ended(request, *got) : call.vain();
    return status;
}
SECOND_NAME(MPI_Request_get_status, (MPI_Request, int*, MPI_Status*))

extern "C" int MPI_Request_free(MPI_Request* request) {
    Call call("Request_free");
    const MPI_Request before = *request;
    const int status = TRAMONTANE_NEXT(MPI_Request_free)(request);
    if (call.done(status)) call.free(before, request);
    return status;
}
SECOND_NAME(MPI_Request_free, (MPI_Request*))

TRACED(Cancel, (MPI_Request * request), (request), call.cancel(*request);)

TRACED(Probe, (int from, int tag, MPI_Comm comm, MPI_Status* given), (from, tag, comm, given), )
TRACED(Iprobe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Status* given), (from, tag, comm, flag, given),
       if (*flag == 0) call.vain();)
TRACED(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* given),
       (from, tag, comm, message, given), call.probed(comm, from, *message);)
TRACED(Improbe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* given),
       (from, tag, comm, flag, message, given), *flag != 0 ? call.probed(comm, from, *message) : call.vain();)

// --- one-sided calls without counts
// -----------------------------------------------------------------------------------

TRACED(Fetch_and_op,
       (const void* buffer, void* found, MPI_Datatype type, int rank, MPI_Aint place, MPI_Op op, MPI_Win window),
       (buffer, found, type, rank, place, op, window),
       call.transfer(OneSided::get, window, rank, bytes_of(1, type), nullptr);)
TRACED(Compare_and_swap,
       (const void* buffer, const void* with, void* found, MPI_Datatype type, int rank, MPI_Aint place, MPI_Win window),
       (buffer, with, found, type, rank, place, window),
       call.transfer(OneSided::get, window, rank, bytes_of(1, type), nullptr);)

#define SYNCHRONISES(name, params, args, ...) TRACED(Win_##name, params, args, call.synchronise(__VA_ARGS__);)
SYNCHRONISES(fence, (int assertion, MPI_Win window), (assertion, window), OneSided::fence, window)
SYNCHRONISES(complete, (MPI_Win window), (window), OneSided::complete, window)
SYNCHRONISES(wait, (MPI_Win window), (window), OneSided::wait, window)
SYNCHRONISES(lock, (int kind, int rank, int assertion, MPI_Win window), (kind, rank, assertion, window), OneSided::lock,
             window)
SYNCHRONISES(lock_all, (int assertion, MPI_Win window), (assertion, window), OneSided::lock, window)
SYNCHRONISES(unlock, (int rank, MPI_Win window), (rank, window), OneSided::unlock, window, call.target(window, rank))
SYNCHRONISES(unlock_all, (MPI_Win window), (window), OneSided::unlock, window, 0)
SYNCHRONISES(flush, (int rank, MPI_Win window), (rank, window), OneSided::flush, window, call.target(window, rank))
SYNCHRONISES(flush_all, (MPI_Win window), (window), OneSided::flush, window, 0)
SYNCHRONISES(flush_local, (int rank, MPI_Win window), (rank, window), OneSided::flush, window,
             call.target(window, rank))
SYNCHRONISES(flush_local_all, (MPI_Win window), (window), OneSided::flush, window, 0)
TRACED(Win_test, (MPI_Win window, int* flag), (window, flag),
       *flag != 0 ? call.synchronise(OneSided::wait, window) : call.vain();)
TRACED(Win_post, (MPI_Group group, int assertion, MPI_Win window), (group, assertion, window),
       call.synchronise_with(OneSided::post, window, group);)
TRACED(Win_start, (MPI_Group group, int assertion, MPI_Win window), (group, assertion, window),
       call.synchronise_with(OneSided::start, window, group);)

MAKES_WINDOW(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* window), (info, comm, window))

extern "C" int MPI_Win_free(MPI_Win* window) {
    Call call("Win_free");
    const MPI_Win before = *window;
    const int status = TRAMONTANE_NEXT(MPI_Win_free)(window);
    if (call.done(status)) call.tracer().forget(before);
    return status;
}
SECOND_NAME(MPI_Win_free, (MPI_Win*))

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
#if defined(HAS_CALLS_OF_MPI_4)
MAKES(Comm_create_from_group,
      (MPI_Group group, const char* words, MPI_Info info, MPI_Errhandler handler, MPI_Comm* made),
      (group, words, info, handler, made))
MAKES(Intercomm_create_from_groups,
      (MPI_Group own, int leader, MPI_Group others, int other, const char* words, MPI_Info info, MPI_Errhandler handler,
       MPI_Comm* made),
      (own, leader, others, other, words, info, handler, made))
#endif

// The handle is there at once, but may not be used.
#define MAKES_LIKE(name, params, args) TRACED(name, params, args, call.made_like(comm, *made);)
MAKES_LIKE(Comm_idup, (MPI_Comm comm, MPI_Comm* made, MPI_Request* request), (comm, made, request))
#if defined(HAS_CALLS_OF_MPI_4)
MAKES_LIKE(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request),
           (comm, info, made, request))
#endif

#define JOINS(name, params, args) TRACED(name, params, args, call.joined();)
JOINS(Comm_spawn,
      (const char* command, char* words[], int most, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made,
       int errors[]),
      (command, words, most, info, root, comm, made, errors))
JOINS(Comm_spawn_multiple,
      (int number, char* commands[], char** words[], const int most[], const MPI_Info infos[], int root, MPI_Comm comm,
       MPI_Comm* made, int errors[]),
      (number, commands, words, most, infos, root, comm, made, errors))
JOINS(Comm_accept, (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),
      (port, info, root, comm, made))
JOINS(Comm_connect, (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),
      (port, info, root, comm, made))
JOINS(Comm_join, (int socket, MPI_Comm* made), (socket, made))

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
