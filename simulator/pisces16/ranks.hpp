/// \file
/// Ranks and what MPI does for them: launch, collectives around the measurement, protocols, matching, copies.
#pragma once

#include <coroutine>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "../rules/channel.hpp"
#include "collective.hpp"
#include "fabric.hpp"
#include "schedule.hpp"
#include "task.hpp"

namespace tramontane::pisces16 {

struct Span {
    Ticks begin = ~Ticks{0};
    Ticks end = 0;
    void add(Ticks from, Ticks to) {
        begin = std::min(begin, from);
        end = std::max(end, to);
    }
    [[nodiscard]] Ticks length() const { return end > begin ? end - begin : 0; }
};

class Ranks {
public:
    Ranks(Engine& engine, Fabric& fabric, const Schedule& schedule, std::uint64_t seed, Ticks start_jitter);
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    /// Starts rank 0, which starts the others.
    void launch();
    void handle(const Event& event);

    /// Of the schedule; what follows is not of interest.
    [[nodiscard]] bool all_ended() const { return ended_ == ranks_.size(); }
    [[nodiscard]] std::size_t ended() const { return ended_; }
    [[nodiscard]] const Span& span() const { return span_; }
    [[nodiscard]] const std::vector<Span>& phases() const { return phases_; }
    [[nodiscard]] double imbalance() const;
    /// Up to `limit` ranks that have not ended, in words.
    [[nodiscard]] std::string waiting(int limit) const;

private:
    /// Which messages a rank takes: MPI_Init polls only its own, everything else takes point-to-point messages first.
    enum class Wait : std::uint8_t { nothing, initial, any };

    struct Receive {
        NodeId source;
        std::int64_t round;
        std::int32_t tag;
    };

    struct RankState {
        Task program;
        std::coroutine_handle<> resume;  ///< where it computes or waits
        Wait wait = Wait::nothing;
        bool launched = false;  ///< before, its messages are kept
        bool ended = false;     ///< the schedule, not yet the reductions after it
        IntrusiveQueue early, initial, point_to_point, collective;
        IntrusiveQueue unexpected;    ///< in the order of handling
        std::vector<Receive> posted;  ///< in the order of posting
        std::vector<Index> held;      ///< envelopes that have overtaken others, in order of source and sequence
        std::unordered_map<NodeId, std::uint32_t> next_out, next_in;  ///< sequence numbers by partner
        std::int64_t outstanding = 0;                                 ///< requests of the current round
        std::int64_t round = -1;
        Collective running;
        std::uint32_t collectives = 0;  ///< started so far
        std::size_t actions_left = 0;
        IntrusiveQueue ahead;  ///< messages of collectives, or of their actions, that have not started
        CutThrough memory;
        std::uint64_t bytes = 0;
        explicit RankState(Ticks memory_slot) : memory(memory_slot) {}
    };

    // Suspensions
    struct Computing;
    struct NextMessage;
    [[nodiscard]] Computing compute(NodeId rank, Ticks until, Numbers::Part part);
    [[nodiscard]] Computing copy(NodeId rank, std::int64_t bytes);
    [[nodiscard]] Computing turn(NodeId rank);
    [[nodiscard]] NextMessage next_message(NodeId rank, Wait wait);

    // The program
    Task run(NodeId rank);
    Task run_round(NodeId rank, std::int64_t round, Round size);
    Task post_receive(NodeId rank, Receive receive);
    Task post_send(NodeId rank, std::int64_t round, Transfer transfer);
    Task take(NodeId rank, Index message);
    Task take_in_order(NodeId rank, Index message);
    Task collect(NodeId rank, Collective collective);
    Task take_collective(NodeId rank, Index message);
    Task start_action(NodeId rank, std::size_t action);
    Task end_action(NodeId rank, std::size_t action);

    // Messages
    void arrive(Index message);
    void deliver(NodeId rank, Index message);
    void start(NodeId rank, Index message);
    void forward_launch(NodeId rank);
    void send(Index message);
    void answer(Index message, Message::Kind kind);
    [[nodiscard]] Index new_message(Message::Kind kind, NodeId source, NodeId target, std::int64_t bytes);
    [[nodiscard]] bool match(RankState& state, const Message& message);
    [[nodiscard]] static IntrusiveQueue& queue_of(RankState& state, const Message& message);
    [[nodiscard]] std::size_t find_action(const RankState& state, const Message& message) const;

    Engine& engine_;
    Fabric& fabric_;
    const Schedule& schedule_;
    const std::uint64_t seed_;
    const Ticks start_jitter_;
    std::vector<RankState> ranks_;
    std::size_t ended_ = 0;
    Span span_;
    std::vector<Span> phases_;
};

}  // namespace tramontane::pisces16
