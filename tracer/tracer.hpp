/// \file
/// What a traced call says of itself, and the trace it goes to.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "clock.hpp"
#include "file.hpp"
#include "handles.hpp"
#include "mpi.hpp"
#include "record.hpp"

namespace tramontane::tracer {

/// What a call may have done; `tramontane.study.traces.mpi_traces` reads it.
enum class Did : std::uint8_t {
    send = 1,
    receive,
    begin_send,
    begin_receive,
    end,
    end_receive,
    drop,
    collective,
    neighbours,
    communicator,
    phase,
    threads,
    one_sided,
    untold,  ///< something that a trace can't tell of
    vain,    ///< it has asked, and nothing had come
    joined,  ///< ranks of others take part
    probed,
    begin_probed,
    begin_synchronous,
    failed,  ///< a receive has ended without all that was sent
    copied,
};

/// Of a one-sided call.
enum class OneSided : std::uint8_t { put = 1, get, fence, post, start, complete, wait, lock, unlock, flush };

inline std::int64_t bytes_of(std::int64_t count, MPI_Datatype type) {
    if (count == 0) return 0;  // of what may be no type
    MPI_Count size = 0;
    TRAMONTANE_NEXT(MPI_Type_size_x)(type, &size);
    return count * size;
}

/// Null if there is to be no trace: an empty name would be that of the root of the file system.
inline const char* folder_of_traces() {
    const char* const folder = std::getenv("TRAMONTANE_TRACE");
    return folder == nullptr || *folder == 0 ? nullptr : folder;
}

/// The trace of this process.
class Tracer {
public:
    static constexpr std::uint32_t version = 4;

    /// There until the process is gone: what a library leaves to its destructors may still call MPI.
    static Tracer& own() {
        static auto* const tracer = new Tracer;
        return *tracer;
    }

    /// Once MPI is there.
    void start(int provided) {
        const char* const folder = folder_of_traces();
        if (folder == nullptr || file.is_open()) return;
        MPI_Comm parent = MPI_COMM_NULL;
        TRAMONTANE_NEXT(MPI_Comm_get_parent)(&parent);
        if (parent != MPI_COMM_NULL) return;  // the ranks that are traced are those that have spawned it
        several_threads_ = provided == MPI_THREAD_MULTIPLE;
        int rank = 0, ranks = 0;
        TRAMONTANE_NEXT(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
        TRAMONTANE_NEXT(MPI_Comm_size)(MPI_COMM_WORLD, &ranks);
        clock.start();
        TRAMONTANE_NEXT(MPI_Comm_dup)(MPI_COMM_WORLD, &private_);
        begun_ = clock.now();
        std::int64_t run = 0;  // none without the first file: what others added to a trace would spoil it
        if (rank == 0 && open(folder, rank)) run = (host_time() ^ (std::int64_t{::getpid()} << 40U)) | 1;
        TRAMONTANE_NEXT(MPI_Bcast)(&run, sizeof run, MPI_BYTE, 0, private_);
        const bool is_open = run != 0 && (rank == 0 || open(folder, rank));
        unsigned char all = is_open ? 1 : 0;  // of what one rank lacks nothing can be made
        TRAMONTANE_NEXT(MPI_Allreduce)(MPI_IN_PLACE, &all, 1, MPI_BYTE, MPI_BAND, private_);
        if (all == 0) {
            if (is_open) file.remove();
            TRAMONTANE_NEXT(MPI_Comm_free)(&private_);
            return;
        }
        const std::int64_t offset = clock_offset(rank, ranks);
        header(rank, ranks, run, offset);
        on = true;
        define(MPI_COMM_WORLD);
        define(MPI_COMM_SELF);
        last_end = clock.now();
    }
    void finish() {
        if (!on) return;
        on = false;
        const std::int64_t now = clock.now();
        flush();
        if (depth > 0) {  // since a handler of errors left a call by longjmp, others seemed to be within that one
            Bytes lost;
            lost.text("Finalize");
            lost.all(Did::untold);
            write(lost.view(), 0, 0);
        }
        int rank = 0, ranks = 0;
        TRAMONTANE_NEXT(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
        TRAMONTANE_NEXT(MPI_Comm_size)(MPI_COMM_WORLD, &ranks);
        const std::int64_t offset = clock_offset(rank, ranks);
        TRAMONTANE_NEXT(MPI_Comm_free)(&private_);
        const auto lock = locked();
        calls.finish(now - last_end, offset);
        file.close();
    }

    /// The communicator of a handle; its definition becomes part of the call if it is met first.
    Communicator& communicator(MPI_Comm handle) {
        Communicator* const known = communicators.find(handle);
        return known != nullptr ? *known : define(handle);
    }
    Communicator& define(MPI_Comm handle) { return tell(communicators.add(handle)); }
    /// \param handle null for one that is there for a request
    Communicator& define_like(const Communicator& other, const MPI_Comm* handle) {
        Communicator& made = communicators.add_like(other, handle);
        defined.all(Did::copied, made.number, other.number);
        return made;
    }

    /// The window of a handle, as above.
    Window& window(MPI_Win handle) {
        const auto [found, is_new] = windows.try_emplace(number_of(handle));
        Window& own = found->second;
        if (!is_new) return own;
        MPI_Group group{};
        TRAMONTANE_NEXT(MPI_Win_get_group)(handle, &group);
        own = {communicators.number(), Communicators::ranks_of_freed(group)};
        defined.all(Did::communicator, own.number);
        put_members(own.members);
        put_members({});
        return own;
    }
    void forget(MPI_Win handle) {
        const auto found = windows.find(number_of(handle));
        if (found == windows.end()) return;
        communicators.give_back(found->second.number);
        windows.erase(found);
    }

    /// Writes the polls in vain that were the last calls.
    void flush() {
        if (!polling) return;
        polling = false;
        write(polled.view(), poll_begin - last_end, poll_end - poll_begin);
        last_end = poll_end;
    }
    void write(std::span<const std::uint8_t> did, std::int64_t before, std::int64_t inside) {
        const auto lock = locked();
        calls.call(did, before, inside);
    }
    /// Whether this thread's calls are told. Those of a second thread at a time end a trace's use: it says so at once,
    /// because the first one may never come back, and is left alone from then on.
    bool enter(std::string_view name) {
        if (!on) return false;
        if (!several_threads_) return true;
        static thread_local int number = 0;
        if (number == 0) number = ++threads_;
        if (number == 2 && !told_of_threads_.exchange(true)) {
            Bytes threads;
            threads.text(name);
            threads.all(Did::threads);
            write(threads.view(), 0, 0);
        }
        return number == 1;
    }

    bool on = false;
    static inline thread_local int depth = 0;  ///< of calls in each other
    bool cancels = false;                      ///< whether the program has ever cancelled a request
    Clock clock;
    File file;
    Calls calls{file};
    Communicators communicators;
    std::unordered_map<std::uintptr_t, Window> windows;
    Requests requests;
    Bytes did, defined, whole, polled;
    std::int64_t last_end = 0;
    bool polling = false;
    std::int64_t poll_begin = 0, poll_end = 0;
    std::vector<MPI_Status> statuses;
    std::vector<MPI_Request> handles;

private:
    bool open(const std::string& folder, int rank) {
        char name[32];
        std::snprintf(name, sizeof name, "/rank-%07d.trace", rank);
        const std::string path = folder + name;
        if (file.open(path.c_str())) return true;
        std::fprintf(stderr, "tramontane-trace: %s can't be written (%s); there will be no trace\n", path.c_str(),
                     std::strerror(errno));
        return false;
    }
    Communicator& tell(Communicator& made) {
        defined.all(Did::communicator, made.number);
        put_members(made.members);
        put_members(made.between_groups ? made.peers : std::vector<int>{});
        return made;
    }
    /// The file, where another thread may write to it.
    std::unique_lock<std::mutex> locked() {
        return several_threads_ ? std::unique_lock{writing_} : std::unique_lock<std::mutex>{};
    }
    void put_members(const std::vector<int>& ranks) {
        defined.all(ranks.size());
        int before = -1;
        for (const int rank : ranks) {  // mostly in order, so as differences
            const std::int64_t step = std::int64_t{rank} - before - 1;
            defined.all(step < 0 ? -2 * step - 1 : 2 * step);
            before = rank;
        }
    }

    /// How far the clock of rank 0 is ahead of this one [ns]: of several messages there and back, the quickest.
    std::int64_t clock_offset(int rank, int ranks) {
        constexpr int tries = 8;
        std::int64_t offset = 0, quickest = INT64_MAX;
        const auto send = TRAMONTANE_NEXT(MPI_Send);
        const auto receive = TRAMONTANE_NEXT(MPI_Recv);
        for (int other = 1; other < ranks; ++other) {
            if (rank != 0 && rank != other) continue;
            for (int i = 0; i < tries; ++i) {
                std::int64_t there = 0;
                if (rank == 0) {
                    receive(&there, sizeof there, MPI_BYTE, other, 0, private_, MPI_STATUS_IGNORE);
                    there = clock.now();
                    send(&there, sizeof there, MPI_BYTE, other, 0, private_);
                    continue;
                }
                const std::int64_t sent = clock.now();
                send(&there, sizeof there, MPI_BYTE, 0, 0, private_);
                receive(&there, sizeof there, MPI_BYTE, 0, 0, private_, MPI_STATUS_IGNORE);
                const std::int64_t back = clock.now();
                if (back - sent >= quickest) continue;
                quickest = back - sent;
                offset = there - (sent + back) / 2;
            }
        }
        return offset;
    }

    void header(int rank, int ranks, std::int64_t run, std::int64_t offset) {
        std::string words;
        if (std::getenv("TRAMONTANE_TRACE_STRIP") == nullptr) {
            char library[MPI_MAX_LIBRARY_VERSION_STRING], program[1024], host[256] = "";
            int size = 0;
            TRAMONTANE_NEXT(MPI_Get_library_version)(library, &size);
            words.assign(library, std::string_view(library, static_cast<std::size_t>(size)).find_first_of("\n,"));
            const ssize_t length = ::readlink("/proc/self/exe", program, sizeof program);
            ::gethostname(host, sizeof host - 1);
            words += '\n';
            words.append(program, length > 0 ? static_cast<std::size_t>(length) : 0).append(1, '\n').append(host);
        }
        struct Fixed {
            char format[8];
            std::uint32_t version, rank, ranks, words;
            std::int64_t run, begun, offset;
        } fixed{{'T', 'R', 'M', 'T', 'R', 'A', 'C', 'E'},
                version,
                static_cast<std::uint32_t>(rank),
                static_cast<std::uint32_t>(ranks),
                static_cast<std::uint32_t>(words.size()),
                run,
                begun_,
                offset};
        std::vector<std::uint8_t> all(sizeof fixed + words.size());
        std::memcpy(all.data(), &fixed, sizeof fixed);
        if (!words.empty()) std::memcpy(all.data() + sizeof fixed, words.data(), words.size());
        file.append(all);
    }

    bool several_threads_ = false;
    std::atomic<int> threads_{0};
    std::atomic<bool> told_of_threads_{false};
    std::mutex writing_;
    std::int64_t begun_ = 0;
    MPI_Comm private_{};
};

/// While there is one, calls are the library's own.
class Unseen {
public:
    Unseen() { ++Tracer::depth; }
    Unseen(const Unseen&) = delete;
    Unseen& operator=(const Unseen&) = delete;
    ~Unseen() { --Tracer::depth; }
};

/// What a send is, beside that.
struct SendMode {
    bool buffered = false, synchronous = false;
};

/// A call of the program, from its begin to its end; calls that the library makes within are its own business.
class Call {
public:
    explicit Call(std::string_view name) : t_{Tracer::own()}, traced_{Tracer::depth++ == 0 && t_.enter(name)} {
        if (!traced_) return;
        name_ = name;
        t_.did.clear();
        begin_ = end_ = t_.clock.now();  // it may not come back: handlers of errors throw
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
        --Tracer::depth;
        if (!traced_) return;
        if (vain_ && t_.defined.size() == 0) {
            if (!t_.polling) {
                t_.polled.clear();
                t_.polled.text(name_);
                t_.polled.all(Did::vain);
                t_.poll_begin = begin_;
            }
            t_.polling = true;
            t_.poll_end = t_.clock.now();
            return;
        }
        t_.flush();
        t_.whole.clear();
        t_.whole.text(name_);
        t_.whole.raw(t_.defined.view());
        t_.whole.raw(t_.did.view());
        if (vain_) t_.whole.all(Did::vain);
        t_.defined.clear();
        t_.write(t_.whole.view(), begin_ - t_.last_end, end_ - begin_);
        t_.last_end = t_.clock.now();  // what we do takes no time of the program's
    }

    /// The library has done its part: whether there is something to tell.
    bool done(int status) {
        if (!traced_) return false;
        end_ = t_.clock.now();
        if (status == MPI_SUCCESS) return true;
        int kind = 0;
        TRAMONTANE_NEXT(MPI_Error_class)(status, &kind);
        if (kind == MPI_ERR_TRUNCATE || kind == MPI_ERR_IN_STATUS) t_.did.all(Did::failed);
        return false;
    }
    /// It has asked, and nothing had come.
    void vain() { vain_ = traced_; }
    /// Ranks of others take part from here on.
    void joined() { t_.did.all(Did::joined); }
    /// Statuses that a call fills in: the program's own, or ours where it wants none.
    [[nodiscard]] MPI_Status* statuses_or_ours(MPI_Status* given, int number) {
        if (!traced_ || (given != MPI_STATUSES_IGNORE && given != MPI_STATUS_IGNORE)) return given;
        if (std::ssize(t_.statuses) < number) t_.statuses.resize(static_cast<std::size_t>(number));
        return t_.statuses.data();
    }
    /// Requests as they are before a call that changes them, if they may be any: the library refuses others.
    [[nodiscard]] const MPI_Request* kept(const MPI_Request* requests, int number) {
        if (traced_ && requests != nullptr && number > 0) t_.handles.assign(requests, requests + number);
        return t_.handles.data();
    }

    void send(MPI_Comm comm, int to, int tag, std::int64_t bytes) {
        if (to == MPI_PROC_NULL) return;
        const Communicator& c = t_.communicator(comm);
        t_.did.all(Did::send, c.number, c.peer(to), tag, bytes);
    }
    /// \param status of a receive that has ended
    void receive(MPI_Comm comm, const MPI_Status& status) {
        if (status.MPI_SOURCE == MPI_PROC_NULL) return;
        const Communicator& c = t_.communicator(comm);
        t_.did.all(Did::receive, c.number, c.peer(status.MPI_SOURCE), status.MPI_TAG, received(status));
    }
    /// A send that goes on until its request ends.
    void begin_send(MPI_Comm comm, int to, int tag, std::int64_t bytes, const MPI_Request& request) {
        if (to == MPI_PROC_NULL) return begin_nothing(&request);
        const Communicator& c = t_.communicator(comm);
        t_.did.all(Did::begin_send, add(request, {.kind = Request::send}), c.number, c.peer(to), tag, bytes);
    }
    /// A send that goes on without the rank's waiting for it: a request ends at once.
    void begin_buffered_send(MPI_Comm comm, int to, int tag, std::int64_t bytes, const MPI_Request* request) {
        begin_nothing(request);
        if (to == MPI_PROC_NULL) return;
        const Communicator& c = t_.communicator(comm);
        t_.did.all(Did::begin_send, Requests::none, c.number, c.peer(to), tag, bytes);
    }
    void begin_receive(MPI_Comm comm, int from, const MPI_Request& request) {
        if (from == MPI_PROC_NULL) return begin_nothing(&request);
        Communicator& c = t_.communicator(comm);
        ++c.awaited;
        t_.did.all(Did::begin_receive, add(request, {.kind = Request::receive, .communicator = &c}), c.number);
    }
    /// A persistent receive in partitions: from whom, with which tag and how much is known.
    void make_partitioned_receive(MPI_Comm comm, int from, int tag, std::int64_t bytes, const MPI_Request& request) {
        make_receive(comm, from, request);
        if (from == MPI_PROC_NULL) return;
        Request& r = t_.requests[find(request, &request)];
        r.known = true;  // its status says nothing
        r.peer = r.communicator->peer(from);
        r.tag = r.communicator->partitioned_tag(false, from, tag);
        r.bytes = bytes;
    }
    void make_partitioned_send(MPI_Comm comm, int to, int tag, std::int64_t bytes, const MPI_Request& request) {
        make_send(comm, to, to == MPI_PROC_NULL ? tag : of(comm).partitioned_tag(true, to, tag), bytes, request);
    }
    void make_send(MPI_Comm comm, int to, std::int64_t tag, std::int64_t bytes, const MPI_Request& request,
                   SendMode mode = {}) {
        if (to == MPI_PROC_NULL) return make_idle(request);
        Communicator& c = t_.communicator(comm);
        add(request, {.kind = Request::send,
                      .persistent = true,
                      .active = false,
                      .buffered = mode.buffered,
                      .synchronous = mode.synchronous,
                      .communicator = &c,
                      .peer = c.peer(to),
                      .tag = tag,
                      .bytes = bytes});
        ++c.awaited;  // starts ask for its number
    }
    void make_receive(MPI_Comm comm, int from, const MPI_Request& request) {
        if (from == MPI_PROC_NULL) return make_idle(request);
        Communicator& c = t_.communicator(comm);
        ++c.awaited;
        add(request, {.kind = Request::receive, .persistent = true, .active = false, .communicator = &c});
    }
    /// \param before what the request was; Open MPI makes another one where what is buffered has not gone yet
    void start(MPI_Request before, const MPI_Request& request) {
        const std::uint32_t slot = find(before, &request);
        if (slot == Requests::none) return untold();
        if (request != before) t_.requests.rename(slot, number_of(request), &request);
        Request& r = t_.requests[slot];
        r.active = true;
        r.cancelled = false;
        if (r.kind == Request::send) {
            t_.did.all(r.synchronous ? Did::begin_synchronous : Did::begin_send, r.buffered ? Requests::none : slot,
                       r.communicator->number, r.peer, r.tag, r.bytes);
        } else if (r.kind == Request::receive) {
            t_.did.all(Did::begin_receive, slot, r.communicator->number);
        } else {
            t_.did.raw(r.starts);
        }
    }
    /// What is told is of a collective that begins later, and often. Ranks may begin several in different orders, but
    /// make them in the same one: so it is as if each had a communicator of its own.
    void make_collective(MPI_Comm comm) { own_ = &t_.define_like(t_.communicator(comm), nullptr); }
    void keep(const MPI_Request& request) {
        Request& r = t_.requests[find(request, &request)];
        r.persistent = true;
        r.active = false;
        r.communicator = own_;
        ++own_->awaited;
        r.starts.assign(t_.did.view().begin(), t_.did.view().end());
        t_.did.clear();
    }
    /// A request that is no longer open.
    /// \param handle as it was before the call
    /// \param where the program's variable of it
    void end(MPI_Request handle, const MPI_Request* where, const MPI_Status& status) {
        const std::uint32_t slot = find(handle, where);
        if (slot == Requests::none || !t_.requests[slot].active) return;
        Request& r = t_.requests[slot];
        int cancelled = 0;
        if (t_.cancels) TRAMONTANE_NEXT(MPI_Test_cancelled)(&status, &cancelled);
        if (r.buffered) {
            // has ended at once
        } else if (cancelled != 0) {
            t_.did.all(Did::drop, slot);
        } else if (r.known) {
            t_.did.all(Did::end_receive, slot, r.peer, r.tag, r.bytes);
        } else if (r.kind == Request::receive) {
            t_.did.all(Did::end_receive, slot, r.communicator->peer(status.MPI_SOURCE), status.MPI_TAG,
                       received(status));
        } else {
            t_.did.all(Did::end, slot);
        }
        if (r.persistent) {
            r.active = false;
        } else {
            remove(slot);
        }
    }
    /// A message that has taken its place in the order, and is received later.
    void probed(MPI_Comm comm, int from, MPI_Message message) {
        if (from == MPI_PROC_NULL) return;
        Communicator& c = t_.communicator(comm);
        ++c.awaited;
        t_.did.all(Did::probed,
                   t_.requests.add(number_of(message), nullptr, {.kind = Request::message, .communicator = &c}),
                   c.number);
    }
    void receive_probed(MPI_Message message, const MPI_Status& status) {
        const std::uint32_t slot = t_.requests.find(number_of(message), nullptr);
        if (slot == Requests::none) return;  // from nobody
        t_.did.all(Did::begin_probed, slot);
        t_.did.all(Did::end_receive, slot, t_.requests[slot].communicator->peer(status.MPI_SOURCE), status.MPI_TAG,
                   received(status));
        remove(slot);
    }
    void begin_receive_probed(MPI_Message message, const MPI_Request& request) {
        const std::uint32_t slot = t_.requests.find(number_of(message), nullptr);
        if (slot == Requests::none) return begin_nothing(&request);
        t_.did.all(Did::begin_probed, slot);
        t_.requests.rename(slot, number_of(request), &request);
        t_.requests[slot].kind = Request::receive;
    }
    /// A receive has ended, and its request is still open.
    void ended(MPI_Request handle, const MPI_Status& status) {
        const std::uint32_t slot = find(handle, nullptr);
        if (slot == Requests::none) return;
        Request& r = t_.requests[slot];
        if (r.kind != Request::receive || r.persistent || r.cancelled || status.MPI_SOURCE < 0) return;
        r.known = true;
        r.peer = r.communicator->peer(status.MPI_SOURCE);
        r.tag = status.MPI_TAG;
        r.bytes = received(status);
    }
    void cancel(const MPI_Request& request) {
        t_.cancels = true;
        if (const std::uint32_t slot = find(request, &request); slot != Requests::none) {
            t_.requests[slot].cancelled = true;
        }
    }
    void free(MPI_Request handle, const MPI_Request* where) {
        const std::uint32_t slot = find(handle, where);
        if (slot == Requests::none) return;
        const Request& r = t_.requests[slot];
        if (r.kind == Request::receive && r.active && !r.cancelled) {
            r.known ? t_.did.all(Did::end_receive, slot, r.peer, r.tag, r.bytes) : untold();
        }
        remove(slot);
    }

    /// A collective call.
    /// \param request of one that goes on, else null
    /// \param sizes how many are told
    /// \return whether sizes follow: none between groups, where most ranks give what means nothing
    bool collective(const MPI_Request* request, MPI_Comm comm, std::string_view operation, int root, int sizes) {
        const Communicator& c = own_ == nullptr ? t_.communicator(comm) : *own_;
        t_.did.all(Did::collective, begun(request), c.number, root < 0 ? 0 : root);
        t_.did.text(operation);
        t_.did.all(c.between_groups ? 0 : sizes);
        return !c.between_groups;
    }
    void size(std::int64_t bytes) { t_.did.all(bytes); }
    template <class Count>
    void sizes(const Count* counts, MPI_Datatype type, int number) {
        for (int i = 0; i < number; ++i) size(bytes_of(counts[i], type));
    }
    template <class Count>
    void sizes(const Count* counts, const MPI_Datatype* types, int number) {
        for (int i = 0; i < number; ++i) size(bytes_of(counts[i], types[i]));
    }
    /// An exchange with the neighbours of a communicator.
    /// \param sent, received bytes to and from the i-th of them
    template <class Sent, class Received>
    void neighbours(const MPI_Request* request, MPI_Comm comm, Sent&& sent, Received&& received) {
        Communicator& c = own_ == nullptr ? t_.communicator(comm) : *own_;
        look_up(comm, c);
        t_.did.all(Did::neighbours, begun(request), c.number);
        put_edges(c.targets, sent);
        put_edges(c.sources, received);
    }
    void made(MPI_Comm comm) {
        if (comm != MPI_COMM_NULL) t_.define(comm);
    }
    /// One that may not be asked yet, and is like another.
    void made_like(MPI_Comm other, MPI_Comm comm) {
        if (comm != MPI_COMM_NULL) t_.define_like(t_.communicator(other), &comm);
    }
    /// A put or get.
    /// \param request of one that is waited for by itself, else null
    void transfer(OneSided what, MPI_Win window, int target, std::int64_t bytes, const MPI_Request* request) {
        if (target == MPI_PROC_NULL) return begin_nothing(request);
        const Window& own = t_.window(window);
        t_.did.all(Did::one_sided, what, own.number, begun(request), own.members[static_cast<std::size_t>(target)],
                   bytes);
    }
    /// What synchronises.
    template <class... More>
    void synchronise(OneSided what, MPI_Win window, More... more) {
        t_.did.all(Did::one_sided, what, t_.window(window).number, more...);
    }
    void synchronise_with(OneSided what, MPI_Win window, MPI_Group group) {
        const std::vector<int> ranks = Communicators::ranks_of(group);
        synchronise(what, window, ranks.size());
        for (const int rank : ranks) t_.did.all(rank);
    }
    /// A rank of a window, plus 1: 0 stands for all. Of nobody it is this rank, whose own transfers end at once.
    [[nodiscard]] int target(MPI_Win window, int rank) {
        if (rank == MPI_PROC_NULL) return 1 + of(MPI_COMM_SELF).peer(0);
        return 1 + t_.window(window).members[static_cast<std::size_t>(rank)];
    }
    void made_window(MPI_Win window) { t_.window(window); }
    void untold() { t_.did.all(Did::untold); }
    void phase(int level) { t_.did.all(Did::phase, level < 0 ? 0 : level); }

    [[nodiscard]] Communicator& of(MPI_Comm comm) { return t_.communicator(comm); }
    [[nodiscard]] int size_of(MPI_Comm comm) { return of(comm).size(); }
    [[nodiscard]] int rank_in(MPI_Comm comm) { return of(comm).rank; }
    Tracer& tracer() { return t_; }

private:
    static std::int64_t received(const MPI_Status& status) {
        int bytes = 0;
        TRAMONTANE_NEXT(MPI_Get_count)(&status, MPI_BYTE, &bytes);
        if (bytes != MPI_UNDEFINED) return bytes;
        MPI_Count many = 0;  // more than an int says
        TRAMONTANE_NEXT(MPI_Get_elements_x)(&status, MPI_BYTE, &many);
        return many;
    }
    std::uint32_t add(const MPI_Request& request, const Request& what) {
        return t_.requests.add(number_of(request), &request, what);
    }
    [[nodiscard]] std::uint32_t find(MPI_Request handle, const MPI_Request* where) {
        return t_.requests.find(number_of(handle), where);
    }
    /// A persistent message with nobody.
    void make_idle(const MPI_Request& request) {
        add(request, {.kind = Request::other, .persistent = true, .active = false, .buffered = true});
    }
    /// A request whose end tells nothing; it may share its handle with others, of which each has an end of its own.
    void begin_nothing(const MPI_Request* request) {
        if (request != nullptr) add(*request, {.kind = Request::other, .buffered = true});
    }
    std::uint32_t begun(const MPI_Request* request) {
        return request == nullptr ? Requests::none : add(*request, {.kind = Request::other});
    }
    void remove(std::uint32_t slot) {
        if (t_.requests[slot].communicator != nullptr) t_.communicators.release(*t_.requests[slot].communicator);
        t_.requests.remove(slot);
    }
    template <class Size>
    void put_edges(const std::vector<Communicator::Neighbour>& edges, Size&& size) {
        std::size_t number = 0;
        for (const auto& edge : edges) number += edge.rank >= 0 ? 1 : 0;
        t_.did.all(number);
        for (std::size_t i = 0; i < edges.size(); ++i) {
            if (edges[i].rank >= 0) t_.did.all(edges[i].rank, edges[i].tag, size(static_cast<int>(i)));
        }
    }
    static void look_up(MPI_Comm comm, Communicator& c) {
        if (c.looked_up) return;
        c.looked_up = true;
        int kind = 0;
        TRAMONTANE_NEXT(MPI_Topo_test)(comm, &kind);
        const auto edge = [&c](int rank, std::size_t tag) {
            return Communicator::Neighbour{rank < 0 ? -1 : c.peer(rank), static_cast<int>(tag)};
        };
        std::vector<int> from, to;
        if (kind == MPI_CART) {
            int dimensions = 0;
            TRAMONTANE_NEXT(MPI_Cartdim_get)(comm, &dimensions);
            for (int d = 0; d < dimensions; ++d) {
                int before = 0, after = 0;
                TRAMONTANE_NEXT(MPI_Cart_shift)(comm, d, 1, &before, &after);
                from.push_back(before), from.push_back(after);
            }
            // What goes down in a dimension comes from above, also where both are the same rank.
            for (std::size_t i = 0; i < from.size(); ++i) {
                c.targets.push_back(edge(from[i], i));
                c.sources.push_back(edge(from[i], i ^ 1U));
            }
            return;
        }
        if (kind == MPI_GRAPH) {
            int number = 0;
            TRAMONTANE_NEXT(MPI_Graph_neighbors_count)(comm, c.rank, &number);
            from.resize(static_cast<std::size_t>(number));
            TRAMONTANE_NEXT(MPI_Graph_neighbors)(comm, c.rank, number, from.data());
            to = from;
        } else if (kind == MPI_DIST_GRAPH) {
            int in = 0, out = 0, weighted = 0;
            TRAMONTANE_NEXT(MPI_Dist_graph_neighbors_count)(comm, &in, &out, &weighted);
            from.resize(static_cast<std::size_t>(in));
            to.resize(static_cast<std::size_t>(out));
            std::vector<int> weights(from.size() + to.size() + 1);
            TRAMONTANE_NEXT(MPI_Dist_graph_neighbors)
            (comm, in, from.data(), weights.data(), out, to.data(), weights.data() + in);
        }
        for (const int rank : from) c.sources.push_back(edge(rank, 0));
        for (const int rank : to) c.targets.push_back(edge(rank, 0));
    }

    Tracer& t_;
    bool traced_;
    bool vain_ = false;
    Communicator* own_ = nullptr;  ///< of a persistent collective
    std::string_view name_;
    std::int64_t begin_ = 0, end_ = 0;
};

/// Says once, in one process of the run, that a session is no MPI_Init. Nobody has a rank yet, so the first process is
/// known by what its launcher tells it.
inline void tell_of_session() {
    static std::atomic<bool> told{false};
    if (folder_of_traces() == nullptr || told.exchange(true)) return;
    for (const char* const name : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
        const char* const rank = std::getenv(name);
        if (rank != nullptr && std::strcmp(rank, "0") != 0) return;
    }
    std::fputs(
        "tramontane-trace: found MPI_Session_init; allowed: MPI_Init: what is done outside of MPI_Init and "
        "MPI_Finalize is not told\n",
        stderr);
}

}  // namespace tramontane::tracer
