/// \file
/// What the program's handles stand for: communicators and requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mpi.hpp"

namespace tramontane::tracer {

struct Communicator {
    std::uint32_t number = 0;  ///< in the trace
    std::vector<int> members;  ///< their ranks in MPI_COMM_WORLD
    std::vector<int> peers;    ///< those that messages go to: the other group of an intercommunicator
    bool between_groups = false;
    int rank = 0;
    bool looked_up = false;  ///< the neighbours
    struct Neighbour {
        int rank;  ///< in MPI_COMM_WORLD; -1: nobody
        int tag;   ///< which of several edges
    };
    std::vector<Neighbour> sources, targets;
    std::map<std::tuple<bool, int, int>, std::int64_t> partitioned;  ///< messages that were made, by way, peer and tag
    int awaited = 0;       ///< requests that still ask for its number, or for peers
    bool retired = false;  ///< no handle stands for it

    [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
    [[nodiscard]] int peer(int rank_of_peer) const { return peers[static_cast<std::size_t>(rank_of_peer)]; }
    /// Messages in partitions meet no others, and each other in the order in which they are made, whatever order they
    /// start in: so each has a tag that no others have.
    std::int64_t partitioned_tag(bool sends, int rank_of_peer, int tag) {
        return ++partitioned[{sends, rank_of_peer, tag}] << 32U | tag;
    }
};

class Communicators {
public:
    /// Null if it is not known.
    Communicator* find(MPI_Comm handle) {
        if (handle == last_handle_ && last_ != nullptr) return last_;
        const auto found = known_.find(number_of(handle));
        if (found == known_.end()) return nullptr;
        last_handle_ = handle;
        return last_ = found->second.get();
    }
    Communicator& add(MPI_Comm handle) {
        forget(handle);
        auto own = std::make_unique<Communicator>();
        Communicator& made = *own;
        made.number = number();
        int between = 0;
        TRAMONTANE_NEXT(MPI_Comm_test_inter)(handle, &between);
        TRAMONTANE_NEXT(MPI_Comm_rank)(handle, &made.rank);
        MPI_Group group{};
        TRAMONTANE_NEXT(MPI_Comm_group)(handle, &group);
        made.members = ranks_of_freed(group);
        made.between_groups = between != 0;
        if (made.between_groups) TRAMONTANE_NEXT(MPI_Comm_remote_group)(handle, &group);
        made.peers = made.between_groups ? ranks_of_freed(group) : made.members;
        known_[number_of(handle)] = std::move(own);
        return made;
    }
    /// One of the same ranks, which a handle stands for, or which is there for a request.
    Communicator& add_like(const Communicator& other, const MPI_Comm* handle) {
        if (handle != nullptr) forget(*handle);
        auto own = std::make_unique<Communicator>();
        Communicator& made = *own;
        made.number = number();
        made.members = other.members;
        made.peers = other.peers;
        made.between_groups = other.between_groups;
        made.rank = other.rank;
        if (handle != nullptr) {
            known_[number_of(*handle)] = std::move(own);
        } else {
            retire(std::move(own));
        }
        return made;
    }
    /// It keeps its number while there are requests: they go on when it is freed.
    void forget(MPI_Comm handle) {
        last_ = nullptr;
        const auto found = known_.find(number_of(handle));
        if (found == known_.end()) return;
        if (found->second->awaited > 0) {
            retire(std::move(found->second));
        } else {
            give_back(found->second->number);
        }
        known_.erase(found);
    }
    /// One request less.
    void release(Communicator& of) {
        if (--of.awaited > 0 || !of.retired) return;
        give_back(of.number);
        retired_.erase(&of);
    }
    /// A number in the trace, for a communicator or for a window.
    std::uint32_t number() {
        if (free_.empty()) return next_++;
        const std::uint32_t own = free_.back();
        free_.pop_back();
        return own;
    }
    void give_back(std::uint32_t number) { free_.push_back(number); }
    static std::vector<int> ranks_of_freed(MPI_Group group) {
        std::vector<int> found = ranks_of(group);
        TRAMONTANE_NEXT(MPI_Group_free)(&group);
        return found;
    }
    /// The ranks in MPI_COMM_WORLD of a group.
    static std::vector<int> ranks_of(MPI_Group group) {
        int size = 0;
        TRAMONTANE_NEXT(MPI_Group_size)(group, &size);
        std::vector<int> own(static_cast<std::size_t>(size)), found(own.size());
        for (int i = 0; i < size; ++i) own[static_cast<std::size_t>(i)] = i;
        MPI_Group world{};
        TRAMONTANE_NEXT(MPI_Comm_group)(MPI_COMM_WORLD, &world);
        TRAMONTANE_NEXT(MPI_Group_translate_ranks)(group, size, own.data(), world, found.data());
        TRAMONTANE_NEXT(MPI_Group_free)(&world);
        return found;
    }

private:
    void retire(std::unique_ptr<Communicator> one) {
        one->retired = true;
        Communicator* const place = one.get();
        retired_[place] = std::move(one);
    }

    std::unordered_map<std::uintptr_t, std::unique_ptr<Communicator>> known_;
    std::unordered_map<const Communicator*, std::unique_ptr<Communicator>> retired_;
    std::vector<std::uint32_t> free_;
    std::uint32_t next_ = 0;
    MPI_Comm last_handle_{};
    Communicator* last_ = nullptr;
};

/// A window.
struct Window {
    std::uint32_t number = 0;  ///< in the trace
    std::vector<int> members;  ///< their ranks in MPI_COMM_WORLD
};

/// What a request, or a message that was probed, stands for.
struct Request {
    enum Kind : std::uint8_t { send, receive, other, message };
    struct Links {
        std::uint32_t before = 0, next = 0;
    };
    std::uintptr_t handle = 0;
    const void* where = nullptr;   ///< the program's variable of that handle, when it began
    Links of_handle{}, of_both{};  ///< in the same buckets
    Kind kind = send;
    bool persistent = false;
    bool active = true;
    bool buffered = false;     ///< a send that its end does not wait for
    bool synchronous = false;  ///< a send that has ended when its receive has
    Communicator* communicator = nullptr;
    std::int64_t peer = 0, tag = 0, bytes = 0;  ///< of a persistent send, or of a receive that is known
    bool known = false;                         ///< of a receive: what comes, before it ends
    bool cancelled = false;                     ///< if that was not too late
    std::vector<std::uint8_t> starts{};         ///< what a start of a persistent collective is told of
};

/// Requests under small numbers, which come again when they are free, so that repeated steps look the same.
///
/// Several requests may share a handle: that of whatever is done at once, such as small sends, and messages with
/// nobody. These are told apart by the variables that hold them; copies of these are taken in the order in which they
/// began.
class Requests {
public:
    static constexpr std::uint32_t none = 0;

    std::uint32_t add(std::uintptr_t handle, const void* where, const Request& request) {
        std::uint32_t own = free_;
        if (own == none) {
            own = static_cast<std::uint32_t>(all_.size());
            all_.emplace_back();
        } else {
            free_ = all_[own].of_handle.next;
        }
        all_[own] = request;
        put(own, handle, where);
        return own;
    }
    std::uint32_t find(std::uintptr_t handle, const void* where) {
        const Buckets::Bucket& both = of_both_.of(mixed(handle, where));
        for (std::uint32_t at = both.first; at != none; at = all_[at].of_both.next) {
            if (all_[at].handle == handle && all_[at].where == where) return at;
        }
        std::uint32_t oldest = of_handle_.of(mixed(handle)).first;
        while (oldest != none && all_[oldest].handle != handle) oldest = all_[oldest].of_handle.next;
        return oldest;
    }
    void remove(std::uint32_t own) {
        take_out(own);
        all_[own].of_handle.next = free_;
        free_ = own;
    }
    /// Another handle stands for it from here on.
    void rename(std::uint32_t own, std::uintptr_t handle, const void* where) {
        take_out(own);
        put(own, handle, where);
    }
    Request& operator[](std::uint32_t own) { return all_[own]; }

private:
    /// Requests by some of what they are known by, each bucket in the order in which they began.
    class Buckets {
    public:
        struct Bucket {
            std::uint32_t first = none, last = none;
        };
        explicit Buckets(Request::Links Request::* links) : links_{links} {}
        [[nodiscard]] Bucket& of(std::uint64_t mixed) { return buckets_[mixed >> 52U]; }
        void put(std::vector<Request>& all, std::uint32_t own, Bucket& to) {
            all[own].*links_ = {to.last, none};
            (to.first == none ? to.first : (all[to.last].*links_).next) = own;
            to.last = own;
        }
        void take_out(std::vector<Request>& all, std::uint32_t own, Bucket& of) {
            const auto [before, next] = all[own].*links_;
            (before == none ? of.first : (all[before].*links_).next) = next;
            (next == none ? of.last : (all[next].*links_).before) = before;
        }

    private:
        Request::Links Request::* links_;
        std::vector<Bucket> buckets_ = std::vector<Bucket>(4096);
    };

    static std::uint64_t mixed(std::uintptr_t handle, const void* where = nullptr) {
        const std::uint64_t both = handle + 0x632be59bd9b4e019ULL * reinterpret_cast<std::uintptr_t>(where);
        return (both ^ (both >> 7U)) * 0x9e3779b97f4a7c15ULL;
    }
    void put(std::uint32_t own, std::uintptr_t handle, const void* where) {
        all_[own].handle = handle;
        all_[own].where = where;
        of_handle_.put(all_, own, of_handle_.of(mixed(handle)));
        of_both_.put(all_, own, of_both_.of(mixed(handle, where)));
    }
    void take_out(std::uint32_t own) {
        of_handle_.take_out(all_, own, of_handle_.of(mixed(all_[own].handle)));
        of_both_.take_out(all_, own, of_both_.of(mixed(all_[own].handle, all_[own].where)));
    }

    Buckets of_handle_{&Request::of_handle}, of_both_{&Request::of_both};
    std::vector<Request> all_ = std::vector<Request>(1);
    std::uint32_t free_ = none;
};

}  // namespace tramontane::tracer
