#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "exchange.hpp"

// Persistent collective operations: in MPI-4 (and Open MPI 5, which calls itself 3.1), before that in Open MPI under
// names of its own. A simulator's MPI (TRAMONTANE_SIMULATED_MPI) has neither these nor the neighbourhood collectives of
// MPI-3.
#if defined(TRAMONTANE_SIMULATED_MPI)
#define TRAMONTANE_PERSISTENT(function) nullptr
#elif MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define TRAMONTANE_PERSISTENT(function) &MPI_##function
#else
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define TRAMONTANE_PERSISTENT(function) &MPIX_##function
#else
#define TRAMONTANE_PERSISTENT(function) nullptr
#endif
#endif

namespace tramontane::executor {
namespace {

[[noreturn, maybe_unused]] void refuse_implementation(const std::string& found) {
    int version = 0;
    int subversion = 0;
    MPI_Get_version(&version, &subversion);
    throw std::invalid_argument("implementation: found " + found + ", which this library (MPI " +
                                std::to_string(version) + "." + std::to_string(subversion) +
                                ") lacks, allowed: schedule");
}

/// An operation that can be started as often as wanted; frees what MPI made for it.
class Persistent {
public:
    Persistent() = default;
    Persistent(const Persistent&) = delete;
    Persistent& operator=(const Persistent&) = delete;
    Persistent(Persistent&& other) noexcept : request_{other.request_} { other.request_ = MPI_REQUEST_NULL; }
    ~Persistent() { free(); }
    void free() {
        if (request_ != MPI_REQUEST_NULL) {
            MPI_Request_free(&request_);
        }
    }
    [[nodiscard]] MPI_Request* address() { return &request_; }
    void run() {
        MPI_Start(&request_);
        MPI_Wait(&request_, MPI_STATUS_IGNORE);
    }

private:
    MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Calls the persistent operation's creator, if the library has it.
template <class Function, class... Given>
void create(Function function, Given... given) {
    if constexpr (std::is_null_pointer_v<Function>) {
        refuse_implementation("persistent");
    } else {
        function(given...);
    }
}

/// Counts and displacements of one side of an exchange, in elements.
struct Side {
    std::vector<int> counts;
    std::vector<int> places;
};

[[nodiscard]] int displacement(const double* base, const double* at) {
    return element_count((at - base) * static_cast<std::int64_t>(sizeof(double)));
}

/// One all-to-all among the members of a group, or among neighbours.
struct Leg {
    MPI_Comm communicator = MPI_COMM_NULL;
    Side sent;
    Side received;
    const double* from = nullptr;
    double* to = nullptr;
    Persistent persistent;
};

class CollectiveExchange : public Exchange {
public:
    CollectiveExchange(Implementation implementation, const Schedule& schedule, Rank rank, Payload& payload)
        : implementation_{implementation}, schedule_{schedule}, rank_{rank}, payload_{payload} {}
    CollectiveExchange(const CollectiveExchange&) = delete;
    CollectiveExchange& operator=(const CollectiveExchange&) = delete;
    ~CollectiveExchange() override {
        for (Leg& leg : legs_) {
            leg.persistent.free();
            MPI_Comm_free(&leg.communicator);
        }
    }

    void run(std::int64_t round) override {
        Leg& leg = legs_[static_cast<std::size_t>(round)];
        switch (implementation_) {
            case Implementation::persistent:
                leg.persistent.run();
                break;
            case Implementation::nonblocking: {
                MPI_Request request = MPI_REQUEST_NULL;
                begin(leg, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                break;
            }
            default:
                complete(leg);
        }
    }

protected:
    /// Makes the legs; not in the constructor, because it needs the derived class.
    void prepare() {
        for (std::int64_t number = 0; number < schedule_.rounds(); ++number) {
            const Round round = schedule_.round(rank_, number);
            std::vector<Transfer> sends;
            std::vector<Transfer> receives;
            for (std::int32_t index = 0; index < round.sends; ++index) {
                sends.push_back(schedule_.send(rank_, number, index));
            }
            for (std::int32_t index = 0; index < round.receives; ++index) {
                receives.push_back(schedule_.receive(rank_, number, index));
            }
            legs_.emplace_back();
            Leg& leg = legs_.back();
            leg.from = sends.empty() ? nullptr : payload_.outgoing(number, 0);
            leg.to = receives.empty() ? nullptr : payload_.incoming(number, 0);
            connect(leg, number, sends, receives);
            if (implementation_ == Implementation::persistent) {
                make_persistent(leg);
            }
        }
    }

    /// Fills in communicator, counts and displacements.
    virtual void connect(Leg& leg, std::int64_t round, const std::vector<Transfer>& sends,
                         const std::vector<Transfer>& receives) = 0;
    virtual void complete(Leg& leg) = 0;
    virtual void begin(Leg& leg, MPI_Request* request) = 0;
    virtual void make_persistent(Leg& leg) = 0;

    [[nodiscard]] Rank rank() const { return rank_; }
    [[nodiscard]] int sent_from(const Leg& leg, std::int64_t round, std::size_t index) const {
        return displacement(leg.from, payload_.outgoing(round, static_cast<std::int32_t>(index)));
    }
    [[nodiscard]] int received_at(const Leg& leg, std::int64_t round, std::size_t index) const {
        return displacement(leg.to, payload_.incoming(round, static_cast<std::int32_t>(index)));
    }

private:
    Implementation implementation_;
    const Schedule& schedule_;
    Rank rank_;
    Payload& payload_;
    std::vector<Leg> legs_;
};

/// MPI_Alltoallv among the ranks that talk to each other in a round; what a rank keeps is not part of it.
class GroupExchange final : public CollectiveExchange {
public:
    GroupExchange(Implementation implementation, const Schedule& schedule, Rank rank, Payload& payload)
        : CollectiveExchange{implementation, schedule, rank, payload} {
        prepare();
    }

private:
    void connect(Leg& leg, std::int64_t round, const std::vector<Transfer>& sends,
                 const std::vector<Transfer>& receives) override {
        std::vector<Rank> members{rank()};
        for (const Transfer& each : sends) {
            members.push_back(each.peer);
        }
        std::sort(members.begin(), members.end());
        MPI_Comm_split(MPI_COMM_WORLD, members.front(), rank(), &leg.communicator);
        const auto member = [&](Rank peer) {
            return static_cast<std::size_t>(std::lower_bound(members.begin(), members.end(), peer) - members.begin());
        };
        for (Side* side : {&leg.sent, &leg.received}) {
            side->counts.resize(members.size());
            side->places.resize(members.size());
        }
        for (std::size_t index = 0; index < sends.size(); ++index) {
            leg.sent.counts[member(sends[index].peer)] = element_count(sends[index].bytes);
            leg.sent.places[member(sends[index].peer)] = sent_from(leg, round, index);
        }
        for (std::size_t index = 0; index < receives.size(); ++index) {
            leg.received.counts[member(receives[index].peer)] = element_count(receives[index].bytes);
            leg.received.places[member(receives[index].peer)] = received_at(leg, round, index);
        }
    }

    void complete(Leg& leg) override {
        MPI_Alltoallv(leg.from, leg.sent.counts.data(), leg.sent.places.data(), element_type(), leg.to,
                      leg.received.counts.data(), leg.received.places.data(), element_type(), leg.communicator);
    }
    void begin(Leg& leg, MPI_Request* request) override {
        MPI_Ialltoallv(leg.from, leg.sent.counts.data(), leg.sent.places.data(), element_type(), leg.to,
                       leg.received.counts.data(), leg.received.places.data(), element_type(), leg.communicator,
                       request);
    }
    void make_persistent(Leg& leg) override {
        create(TRAMONTANE_PERSISTENT(Alltoallv_init), leg.from, leg.sent.counts.data(), leg.sent.places.data(),
               element_type(), leg.to, leg.received.counts.data(), leg.received.places.data(), element_type(),
               leg.communicator, MPI_INFO_NULL, leg.persistent.address());
    }
};

#if !defined(TRAMONTANE_SIMULATED_MPI)
/// MPI_Neighbor_alltoallv on the graph of a round. Two blocks may be neighbours on both sides; their two messages then
/// match in the order of the edges, which is that of the schedule at both ends: upward first.
class NeighbourExchange final : public CollectiveExchange {
public:
    NeighbourExchange(Implementation implementation, const Schedule& schedule, Rank rank, Payload& payload)
        : CollectiveExchange{implementation, schedule, rank, payload} {
        prepare();
    }

private:
    void connect(Leg& leg, std::int64_t round, const std::vector<Transfer>& sends,
                 const std::vector<Transfer>& receives) override {
        std::vector<int> sources;
        std::vector<int> destinations;
        for (std::size_t index = 0; index < sends.size(); ++index) {
            destinations.push_back(sends[index].peer);
            leg.sent.counts.push_back(element_count(sends[index].bytes));
            leg.sent.places.push_back(sent_from(leg, round, index));
        }
        for (std::size_t index = 0; index < receives.size(); ++index) {
            sources.push_back(receives[index].peer);
            leg.received.counts.push_back(element_count(receives[index].bytes));
            leg.received.places.push_back(received_at(leg, round, index));
        }
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                       static_cast<int>(destinations.size()), destinations.data(), MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &leg.communicator);
    }

    void complete(Leg& leg) override {
        MPI_Neighbor_alltoallv(leg.from, leg.sent.counts.data(), leg.sent.places.data(), element_type(), leg.to,
                               leg.received.counts.data(), leg.received.places.data(), element_type(),
                               leg.communicator);
    }
    void begin(Leg& leg, MPI_Request* request) override {
        MPI_Ineighbor_alltoallv(leg.from, leg.sent.counts.data(), leg.sent.places.data(), element_type(), leg.to,
                                leg.received.counts.data(), leg.received.places.data(), element_type(),
                                leg.communicator, request);
    }
    void make_persistent(Leg& leg) override {
        create(TRAMONTANE_PERSISTENT(Neighbor_alltoallv_init), leg.from, leg.sent.counts.data(), leg.sent.places.data(),
               element_type(), leg.to, leg.received.counts.data(), leg.received.places.data(), element_type(),
               leg.communicator, MPI_INFO_NULL, leg.persistent.address());
    }
};
#endif

class Allreduce final : public LibraryAllreduce {
public:
    Allreduce(Implementation implementation, const double* contributed, double* reduced, std::int64_t count)
        : implementation_{implementation},
          contributed_{contributed},
          reduced_{reduced},
          count_{element_count(count * static_cast<std::int64_t>(sizeof(double)))} {
        if (implementation_ == Implementation::persistent) {
            create(TRAMONTANE_PERSISTENT(Allreduce_init), contributed_, reduced_, count_, element_type(), MPI_SUM,
                   MPI_COMM_WORLD, MPI_INFO_NULL, persistent_.address());
        }
    }

    void run() override {
        switch (implementation_) {
            case Implementation::persistent:
                persistent_.run();
                break;
            case Implementation::nonblocking: {
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Iallreduce(contributed_, reduced_, count_, element_type(), MPI_SUM, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                break;
            }
            default:
                MPI_Allreduce(contributed_, reduced_, count_, element_type(), MPI_SUM, MPI_COMM_WORLD);
        }
    }

private:
    Implementation implementation_;
    const double* contributed_;
    double* reduced_;
    int count_;
    Persistent persistent_;
};

}  // namespace

std::unique_ptr<Exchange> make_library_exchange(const Options& options, const Schedule& schedule, Rank rank,
                                                Payload& payload) {
    if (options.workload->collective() == Collective::alltoall) {
        return std::make_unique<GroupExchange>(options.implementation, schedule, rank, payload);
    }
#if defined(TRAMONTANE_SIMULATED_MPI)
    refuse_implementation(options.implementation_name + " among neighbours");
#else
    return std::make_unique<NeighbourExchange>(options.implementation, schedule, rank, payload);
#endif
}

std::unique_ptr<LibraryAllreduce> make_library_allreduce(Implementation implementation, const double* contributed,
                                                         double* reduced, std::int64_t count) {
    return std::make_unique<Allreduce>(implementation, contributed, reduced, count);
}

}  // namespace tramontane::executor
