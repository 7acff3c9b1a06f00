/// \file
/// Calls that have counts, once for each type of these; `calls.cpp` says what the words mean.
// NOLINTBEGIN(bugprone-macro-parentheses): part of a file

// --- messages --------------------------------------------------------------------------------------------------------

SENDS(Send)
SENDS(Ssend)
SENDS(Rsend)
TRACED(NAMED(Bsend), (MESSAGE), (SENT), call.begin_buffered_send(comm, to, tag, bytes_of(count, type), nullptr);)
BEGINS_TO_SEND(Isend)
BEGINS_TO_SEND(Issend)
BEGINS_TO_SEND(Irsend)
MAKES_SEND(Send_init)
MAKES_SEND(Ssend_init, {.synchronous = true})
MAKES_SEND(Rsend_init)
MAKES_SEND(Bsend_init, {.buffered = true})
TRACED(NAMED(Ibsend), (MESSAGE, MPI_Request* request), (SENT, request),
       call.begin_buffered_send(comm, to, tag, bytes_of(count, type), request);)
// It waits until what was buffered has gone.
TRACED(NAMED(Buffer_detach), (void* place, COUNT* size), (place, size), )

TRACED(NAMED(Irecv), (PLACE, MPI_Request* request), (buffer, count, type, from, tag, comm, request),
       call.begin_receive(comm, from, *request);)
TRACED(NAMED(Recv_init), (PLACE, MPI_Request* request), (buffer, count, type, from, tag, comm, request),
       call.make_receive(comm, from, *request);)

extern "C" int NAMED(MPI_Recv)(PLACE, MPI_Status* given) {
    Call call("Recv");
    MPI_Status* const got = call.statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(NAMED(MPI_Recv))(buffer, count, type, from, tag, comm, got);
    if (call.done(status)) call.receive(comm, *got);
    return status;
}
SECOND_NAME(NAMED(MPI_Recv), (PLACE, MPI_Status*))

extern "C" int NAMED(MPI_Mrecv)(void* buffer, COUNT count, MPI_Datatype type, MPI_Message* message, MPI_Status* given) {
    Call call("Mrecv");
    const MPI_Message before = *message;
    MPI_Status* const got = call.statuses_or_ours(given, 1);
    const int status = TRAMONTANE_NEXT(NAMED(MPI_Mrecv))(buffer, count, type, message, got);
    if (call.done(status)) call.receive_probed(before, *got);
    return status;
}
SECOND_NAME(NAMED(MPI_Mrecv), (void*, COUNT, MPI_Datatype, MPI_Message*, MPI_Status*))

extern "C" int NAMED(MPI_Imrecv)(void* buffer, COUNT count, MPI_Datatype type, MPI_Message* message,
                                 MPI_Request* request) {
    Call call("Imrecv");
    const MPI_Message before = *message;
    const int status = TRAMONTANE_NEXT(NAMED(MPI_Imrecv))(buffer, count, type, message, request);
    if (call.done(status)) call.begin_receive_probed(before, *request);
    return status;
}
SECOND_NAME(NAMED(MPI_Imrecv), (void*, COUNT, MPI_Datatype, MPI_Message*, MPI_Request*))

extern "C" int NAMED(MPI_Sendrecv)(const void* buffer, COUNT count, MPI_Datatype type, int to, int tag, void* place,
                                   COUNT most, MPI_Datatype as, int from, int tag_from, MPI_Comm comm,
                                   MPI_Status* given) {
    Call call("Sendrecv");
    MPI_Status* const got = call.statuses_or_ours(given, 1);
    const int status =
        TRAMONTANE_NEXT(NAMED(MPI_Sendrecv))(buffer, count, type, to, tag, place, most, as, from, tag_from, comm, got);
    if (call.done(status)) {
        call.send(comm, to, tag, bytes_of(count, type));
        call.receive(comm, *got);
    }
    return status;
}
SECOND_NAME(NAMED(MPI_Sendrecv),
            (const void*, COUNT, MPI_Datatype, int, int, void*, COUNT, MPI_Datatype, int, int, MPI_Comm, MPI_Status*))

extern "C" int NAMED(MPI_Sendrecv_replace)(void* buffer, COUNT count, MPI_Datatype type, int to, int tag, int from,
                                           int tag_from, MPI_Comm comm, MPI_Status* given) {
    Call call("Sendrecv_replace");
    MPI_Status* const got = call.statuses_or_ours(given, 1);
    const int status =
        TRAMONTANE_NEXT(NAMED(MPI_Sendrecv_replace))(buffer, count, type, to, tag, from, tag_from, comm, got);
    if (call.done(status)) {
        call.send(comm, to, tag, bytes_of(count, type));
        call.receive(comm, *got);
    }
    return status;
}
SECOND_NAME(NAMED(MPI_Sendrecv_replace), (void*, COUNT, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*))

#if MPI_VERSION >= 4 || (defined(HAS_CALLS_OF_MPI_4) && !defined(OF_LARGE_COUNTS))
// One request for a send and a receive: MPICH 4.0 sets no status when it ends, so nobody knows what came from whom.
TRACED(NAMED(Isendrecv),
       (const void* buffer, COUNT count, MPI_Datatype type, int to, int tag, void* place, COUNT most, MPI_Datatype as,
        int from, int tag_from, MPI_Comm comm, MPI_Request* request),
       (buffer, count, type, to, tag, place, most, as, from, tag_from, comm, request), call.untold();)
TRACED(NAMED(Isendrecv_replace),
       (void* buffer, COUNT count, MPI_Datatype type, int to, int tag, int from, int tag_from, MPI_Comm comm,
        MPI_Request* request),
       (buffer, count, type, to, tag, from, tag_from, comm, request), call.untold();)
#endif

// --- collectives -----------------------------------------------------------------------------------------------------

#ifndef OF_LARGE_COUNTS
COLLECTIVE(Barrier, Ibarrier, (MPI_Comm comm), (comm), call.collective(request, comm, "barrier", 0, 0);)
#endif
COLLECTIVE(Bcast, Ibcast, (void* buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm),
           (buffer, count, type, root, comm), UNIFORM("bcast", root, bytes_of(count, type)))
COLLECTIVE(Reduce, Ireduce, (BETWEEN, COUNT count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
           (buffer, place, count, type, op, root, comm), UNIFORM("reduce", root, bytes_of(count, type)))
COLLECTIVE(Allreduce, Iallreduce, (BETWEEN, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (buffer, place, count, type, op, comm), UNIFORM("allreduce", 0, bytes_of(count, type)))
COLLECTIVE(Scan, Iscan, (BETWEEN, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (buffer, place, count, type, op, comm), UNIFORM("scan", 0, bytes_of(count, type)))
COLLECTIVE(Exscan, Iexscan, (BETWEEN, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (buffer, place, count, type, op, comm), UNIFORM("exscan", 0, bytes_of(count, type)))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
           (BETWEEN, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (buffer, place, count, type, op, comm),
           UNIFORM("reduce_scatter_block", 0, bytes_of(count, type)))
COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           (BETWEEN, const COUNT counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (buffer, place, counts, type, op, comm), BY_RANK("reduce_scatter", 0, counts, type))
COLLECTIVE(Gather, Igather, (FROM, TO, int root, MPI_Comm comm), (buffer, count, type, place, most, as, root, comm),
           UNIFORM("gather", root, BLOCK))
COLLECTIVE(Gatherv, Igatherv,
           (FROM, void* place, const COUNT counts[], const PLACE_OF starts[], MPI_Datatype as, int root, MPI_Comm comm),
           (buffer, count, type, place, counts, starts, as, root, comm),
           UNIFORM("gatherv", root, IN_PLACE ? bytes_of(counts[call.rank_in(comm)], as) : bytes_of(count, type)))
COLLECTIVE(Scatter, Iscatter, (FROM, TO, int root, MPI_Comm comm), (buffer, count, type, place, most, as, root, comm),
           UNIFORM("scatter", root, call.rank_in(comm) == root ? bytes_of(count, type) : bytes_of(most, as)))
COLLECTIVE(
    Scatterv, Iscatterv,
    (const void* buffer, const COUNT counts[], const PLACE_OF starts[], MPI_Datatype type, TO, int root, MPI_Comm comm),
    (buffer, counts, starts, type, place, most, as, root, comm), if (call.rank_in(comm) == root) {
        BY_RANK("scatterv", root, counts, type)
    } else {UNIFORM("scatterv", root, bytes_of(most, as))})
COLLECTIVE(Allgather, Iallgather, (FROM, TO, MPI_Comm comm), (buffer, count, type, place, most, as, comm),
           UNIFORM("allgather", 0, BLOCK))
COLLECTIVE(Allgatherv, Iallgatherv,
           (FROM, void* place, const COUNT counts[], const PLACE_OF starts[], MPI_Datatype as, MPI_Comm comm),
           (buffer, count, type, place, counts, starts, as, comm),
           UNIFORM("allgatherv", 0, IN_PLACE ? bytes_of(counts[call.rank_in(comm)], as) : bytes_of(count, type)))
COLLECTIVE(Alltoall, Ialltoall, (FROM, TO, MPI_Comm comm), (buffer, count, type, place, most, as, comm),
           UNIFORM("alltoall", 0, BLOCK))
COLLECTIVE(Alltoallv, Ialltoallv,
           (const void* buffer, V(MPI_Datatype type), void* place, const COUNT most[], const PLACE_OF places[],
            MPI_Datatype as, MPI_Comm comm),
           (buffer, counts, starts, type, place, most, places, as, comm),
           BY_RANK("alltoallv", 0, IN_PLACE ? most : counts, IN_PLACE ? as : type))
COLLECTIVE(Alltoallw, Ialltoallw,
           (const void* buffer, V(W), void* place, const COUNT most[], const PLACE_OF places[], const MPI_Datatype as[],
            MPI_Comm comm),
           (buffer, counts, starts, types, place, most, places, as, comm),
           BY_RANK("alltoallw", 0, IN_PLACE ? most : counts, IN_PLACE ? as : types))

COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, (FROM, TO, MPI_Comm comm),
           (buffer, count, type, place, most, as, comm),
           call.neighbours(request, comm, SAME(bytes_of(count, type)), SAME(bytes_of(most, as)));)
COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv,
           (FROM, void* place, const COUNT most[], const PLACE_OF starts[], MPI_Datatype as, MPI_Comm comm),
           (buffer, count, type, place, most, starts, as, comm),
           call.neighbours(request, comm, SAME(bytes_of(count, type)), EACH_OF(most, as));)
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, (FROM, TO, MPI_Comm comm),
           (buffer, count, type, place, most, as, comm),
           call.neighbours(request, comm, SAME(bytes_of(count, type)), SAME(bytes_of(most, as)));)
COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv,
           (const void* buffer, V(MPI_Datatype type), void* place, const COUNT most[], const PLACE_OF places[],
            MPI_Datatype as, MPI_Comm comm),
           (buffer, counts, starts, type, place, most, places, as, comm),
           call.neighbours(request, comm, EACH_OF(counts, type), EACH_OF(most, as));)
COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw,
           (const void* buffer, const COUNT counts[], const MPI_Aint starts[], W, void* place, const COUNT most[],
            const MPI_Aint places[], const MPI_Datatype as[], MPI_Comm comm),
           (buffer, counts, starts, types, place, most, places, as, comm),
           call.neighbours(request, comm, EACH_OF(counts, types[i]), EACH_OF(most, as[i]));)

// --- one-sided calls -------------------------------------------------------------------------------------------------

TRACED(NAMED(Put), (FROM, THERE, MPI_Win window), (buffer, count, type, rank, place, most, as, window),
       call.transfer(OneSided::put, window, rank, bytes_of(count, type), nullptr);)
TRACED(NAMED(Rput), (FROM, THERE, MPI_Win window, MPI_Request* request),
       (buffer, count, type, rank, place, most, as, window, request),
       call.transfer(OneSided::put, window, rank, bytes_of(count, type), request);)
TRACED(NAMED(Accumulate), (FROM, THERE, MPI_Op op, MPI_Win window),
       (buffer, count, type, rank, place, most, as, op, window),
       call.transfer(OneSided::put, window, rank, bytes_of(count, type), nullptr);)
TRACED(NAMED(Raccumulate), (FROM, THERE, MPI_Op op, MPI_Win window, MPI_Request* request),
       (buffer, count, type, rank, place, most, as, op, window, request),
       call.transfer(OneSided::put, window, rank, bytes_of(count, type), request);)
TRACED(NAMED(Get), (void* buffer, COUNT count, MPI_Datatype type, THERE, MPI_Win window),
       (buffer, count, type, rank, place, most, as, window),
       call.transfer(OneSided::get, window, rank, bytes_of(count, type), nullptr);)
TRACED(NAMED(Rget), (void* buffer, COUNT count, MPI_Datatype type, THERE, MPI_Win window, MPI_Request* request),
       (buffer, count, type, rank, place, most, as, window, request),
       call.transfer(OneSided::get, window, rank, bytes_of(count, type), request);)
TRACED(NAMED(Get_accumulate), (FROM, void* found, COUNT number, MPI_Datatype of, THERE, MPI_Op op, MPI_Win window),
       (buffer, count, type, found, number, of, rank, place, most, as, op, window),
       call.transfer(OneSided::get, window, rank, bytes_of(number, of), nullptr);)
TRACED(NAMED(Rget_accumulate),
       (FROM, void* found, COUNT number, MPI_Datatype of, THERE, MPI_Op op, MPI_Win window, MPI_Request* request),
       (buffer, count, type, found, number, of, rank, place, most, as, op, window, request),
       call.transfer(OneSided::get, window, rank, bytes_of(number, of), request);)

MAKES_WINDOW(NAMED(Win_create),
             (void* base, MPI_Aint size, DISPLACEMENT unit, MPI_Info info, MPI_Comm comm, MPI_Win* window),
             (base, size, unit, info, comm, window))
MAKES_WINDOW(NAMED(Win_allocate),
             (MPI_Aint size, DISPLACEMENT unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window),
             (size, unit, info, comm, base, window))
MAKES_WINDOW(NAMED(Win_allocate_shared),
             (MPI_Aint size, DISPLACEMENT unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window),
             (size, unit, info, comm, base, window))

// --- files: calls of all ranks; those of one send nothing ------------------------------------------------------------

#ifndef OF_LARGE_COUNTS
OF_FILES(File_open, (MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file),
         (comm, name, mode, info, file))
OF_FILES(File_close, (MPI_File * file), (file))
OF_FILES(File_set_size, (MPI_File file, MPI_Offset size), (file, size))
OF_FILES(File_preallocate, (MPI_File file, MPI_Offset size), (file, size))
OF_FILES(File_set_view,
         (MPI_File file, MPI_Offset start, MPI_Datatype unit, MPI_Datatype type, const char* form, MPI_Info info),
         (file, start, unit, type, form, info))
OF_FILES(File_set_info, (MPI_File file, MPI_Info info), (file, info))
OF_FILES(File_set_atomicity, (MPI_File file, int flag), (file, flag))
OF_FILES(File_sync, (MPI_File file), (file))
OF_FILES(File_seek_shared, (MPI_File file, MPI_Offset to, int from), (file, to, from))
#define END_OF_DATA(name, data) \
    OF_FILES(File_##name##_end, (MPI_File file, data buffer, MPI_Status * given), (file, buffer, given))
END_OF_DATA(read_all, void*)
END_OF_DATA(read_at_all, void*)
END_OF_DATA(read_ordered, void*)
END_OF_DATA(write_all, const void*)
END_OF_DATA(write_at_all, const void*)
END_OF_DATA(write_ordered, const void*)
#endif
OF_DATA(read, void*)
OF_DATA(write, const void*)
// NOLINTEND(bugprone-macro-parentheses)
