#include <algorithm>
#include <limits>
#include <map>
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
        refuse("kind", "a message of " + std::to_string(bytes) + " B", "less than 2^31 B in each message");
    }
    return static_cast<int>(bytes);
}

namespace {

class PointToPoint final : public OpenExchange {
public:
    PointToPoint(const Schedule& schedule, Rank rank, Payload& payload)
        : schedule_{schedule}, rank_{rank}, payload_{payload} {}

    void run(std::int64_t number) override {
        begin(number);
        end(number);
    }

    void begin(std::int64_t number) override {
        const Round round = schedule_.round(rank_, number);
        std::vector<MPI_Request>& requests = under_way_[number];
        requests.resize(static_cast<std::size_t>(round.receives) + static_cast<std::size_t>(round.sends));
        MPI_Request* request = requests.data();
        for (std::int32_t index = 0; index < round.receives && !round.in_turn; ++index) {
            const Transfer from = schedule_.receive(rank_, number, index);
            MPI_Irecv(payload_.incoming(number, index), count(from.bytes), type(), from.peer, from.tag, MPI_COMM_WORLD,
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
        request = sends + at_once;
        for (std::int32_t index = 0; index < round.receives && round.in_turn; ++index) {
            const Transfer from = schedule_.receive(rank_, number, index);
            MPI_Recv(payload_.incoming(number, index), count(from.bytes), type(), from.peer, from.tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
        requests.resize(static_cast<std::size_t>(request - requests.data()));
    }

    void end(std::int64_t number) override {
        const auto found = under_way_.find(number);
        std::vector<MPI_Request>& requests = found->second;
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        under_way_.erase(found);
    }

private:
    void post_send(std::int64_t number, std::int32_t index, MPI_Request& request) {
        const Transfer to = schedule_.send(rank_, number, index);
        MPI_Isend(payload_.outgoing(number, index), count(to.bytes), type(), to.peer, to.tag, MPI_COMM_WORLD, &request);
    }

    [[nodiscard]] MPI_Datatype type() const { return payload_.counts_bytes() ? MPI_BYTE : element_type(); }
    [[nodiscard]] int count(std::int64_t bytes) const {
        return payload_.counts_bytes() ? byte_count(bytes) : element_count(bytes);
    }

    const Schedule& schedule_;
    Rank rank_;
    Payload& payload_;
    std::map<std::int64_t, std::vector<MPI_Request>> under_way_;
};

}  // namespace

std::unique_ptr<OpenExchange> make_point_to_point(const Schedule& schedule, Rank rank, Payload& payload) {
    return std::make_unique<PointToPoint>(schedule, rank, payload);
}

}  // namespace tramontane::executor
