#include <algorithm>
#include <limits>
#include <string>

#include "exchange.hpp"
#include "refusal.hpp"

namespace tramontane::executor {

int element_count(std::int64_t bytes) {
    const std::int64_t elements = bytes / element_bytes;
    if (elements > std::numeric_limits<int>::max()) {
        refuse("grid", "a message of " + std::to_string(elements) + " doubles", "less than 2^31 in each message");
    }
    return static_cast<int>(elements);
}

int byte_count(std::int64_t bytes) {
    if (bytes > std::numeric_limits<int>::max()) {
        refuse("bytes", std::to_string(bytes), "less than 2^31 in each message");
    }
    return static_cast<int>(bytes);
}

namespace {

class PointToPoint final : public Exchange {
public:
    PointToPoint(const Schedule& schedule, Rank rank, Payload& payload)
        : schedule_{schedule},
          rank_{rank},
          payload_{payload},
          type_{schedule.contents() != nullptr ? element_type() : MPI_BYTE},
          count_{schedule.contents() != nullptr ? element_count : byte_count} {}

    void run(std::int64_t number) override {
        const Round round = schedule_.round(rank_, number);
        requests_.resize(static_cast<std::size_t>(round.receives) + static_cast<std::size_t>(round.sends));
        MPI_Request* request = requests_.data();
        for (std::int32_t index = 0; index < round.receives; ++index) {
            const Transfer from = schedule_.receive(rank_, number, index);
            MPI_Irecv(payload_.incoming(number, index), count_(from.bytes), type_, from.peer, from.tag, MPI_COMM_WORLD,
                      request++);
        }
        const std::int32_t at_once = round.window > 0 ? std::min(round.window, round.sends) : round.sends;
        MPI_Request* const sends = request;
        for (std::int32_t index = 0; index < at_once; ++index) post_send(number, index, sends[index]);
        for (std::int32_t index = at_once; index < round.sends; ++index) {
            int done = 0;
            MPI_Waitany(at_once, sends, &done, MPI_STATUS_IGNORE);
            post_send(number, index, sends[done]);
        }
        requests_.resize(static_cast<std::size_t>(round.receives) + static_cast<std::size_t>(at_once));
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    }

private:
    void post_send(std::int64_t number, std::int32_t index, MPI_Request& request) {
        const Transfer to = schedule_.send(rank_, number, index);
        MPI_Isend(payload_.outgoing(number, index), count_(to.bytes), type_, to.peer, to.tag, MPI_COMM_WORLD, &request);
    }

    const Schedule& schedule_;
    Rank rank_;
    Payload& payload_;
    MPI_Datatype type_;
    int (*count_)(std::int64_t bytes);
    std::vector<MPI_Request> requests_;
};

}  // namespace

std::unique_ptr<Exchange> make_point_to_point(const Schedule& schedule, Rank rank, Payload& payload) {
    return std::make_unique<PointToPoint>(schedule, rank, payload);
}

}  // namespace tramontane::executor
