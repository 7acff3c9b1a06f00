#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

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

/// The type of a message that is not packed, from its first element on. Strides are in bytes, which MPI counts beyond
/// 2^31.
[[nodiscard]] MPI_Datatype make_type(const Layout& layout) {
#if defined(TRAMONTANE_SIMULATED_MPI)
    static_cast<void>(layout);
    refuse("buffers", "datatypes of real data with " TRAMONTANE_SIMULATED_MPI, "explicit, or data=null");
#else
    const auto stride = [](std::int64_t elements) { return static_cast<MPI_Aint>(elements * element_bytes); };
    const auto [x, y, z] = layout.extent;
    MPI_Datatype plane = MPI_DATATYPE_NULL, box = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(static_cast<int>(y), static_cast<int>(x), stride(layout.stride_y), element_type(), &plane);
    MPI_Type_create_hvector(static_cast<int>(z), 1, stride(layout.stride_z), plane, &box);
    MPI_Type_commit(&box);
    MPI_Type_free(&plane);
    return box;
#endif
}

class PointToPoint final : public OpenExchange {
public:
    PointToPoint(const Schedule& schedule, Rank rank, Payload& payload)
        : schedule_{schedule}, rank_{rank}, payload_{payload} {
        for (std::int64_t number = 0; !payload.packs() && number < schedule.rounds(); ++number) {
            const Round round = schedule.round(rank, number);
            for (std::int32_t index = 0; index < round.sends; ++index) {
                add_type({number, index}, payload.outgoing_layout(number, index), sent_);
            }
            for (std::int32_t index = 0; index < round.receives; ++index) {
                add_type({number, index}, payload.incoming_layout(number, index), received_);
            }
        }
    }
    PointToPoint(const PointToPoint&) = delete;
    PointToPoint& operator=(const PointToPoint&) = delete;
    ~PointToPoint() override {
        for (Typed* const all : {&sent_, &received_}) {
            for (auto& [place, message] : *all) MPI_Type_free(&message.type);
        }
    }

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
            const Message<double*> to = received(number, index, from.bytes);
            MPI_Irecv(to.first, to.count, to.type, from.peer, from.tag, MPI_COMM_WORLD, request++);
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
            const Message<double*> to = received(number, index, from.bytes);
            MPI_Recv(to.first, to.count, to.type, from.peer, from.tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
    /// What MPI is told of a message.
    template <class Pointer>
    struct Message {
        Pointer first;
        int count;
        MPI_Datatype type;
    };
    /// Messages that are not packed, by round and index.
    using Typed = std::map<std::pair<std::int64_t, std::int32_t>, Message<double*>>;

    static void add_type(const Typed::key_type& place, const Layout& layout, Typed& all) {
        all[place] = {layout.first, 1, make_type(layout)};
    }

    void post_send(std::int64_t number, std::int32_t index, MPI_Request& request) {
        const Transfer to = schedule_.send(rank_, number, index);
        const Message<const double*> from = sent(number, index, to.bytes);
        MPI_Isend(from.first, from.count, from.type, to.peer, to.tag, MPI_COMM_WORLD, &request);
    }
    [[nodiscard]] Message<const double*> sent(std::int64_t number, std::int32_t index, std::int64_t bytes) const {
        if (payload_.packs()) return {payload_.outgoing(number, index), count(bytes), type()};
        const Message<double*>& message = sent_.at({number, index});
        return {message.first, message.count, message.type};
    }
    [[nodiscard]] Message<double*> received(std::int64_t number, std::int32_t index, std::int64_t bytes) {
        if (payload_.packs()) return {payload_.incoming(number, index), count(bytes), type()};
        return received_.at({number, index});
    }

    [[nodiscard]] MPI_Datatype type() const { return payload_.counts_bytes() ? MPI_BYTE : element_type(); }
    [[nodiscard]] int count(std::int64_t bytes) const {
        return payload_.counts_bytes() ? byte_count(bytes) : element_count(bytes);
    }

    const Schedule& schedule_;
    Rank rank_;
    Payload& payload_;
    Typed sent_, received_;
    std::map<std::int64_t, std::vector<MPI_Request>> under_way_;
};

}  // namespace

std::unique_ptr<OpenExchange> make_point_to_point(const Schedule& schedule, Rank rank, Payload& payload) {
    return std::make_unique<PointToPoint>(schedule, rank, payload);
}

}  // namespace tramontane::executor
