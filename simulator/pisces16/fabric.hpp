/// \file
/// Switches, links and the injecting and receiving side of the nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "../rules/channel.hpp"
#include "cut_through.hpp"
#include "engine.hpp"
#include "network.hpp"

namespace tramontane::pisces16 {

/// Packets only; messages and ranks are above.
class Fabric final : public Occupancy {
public:
    /// Numbers all links and what is inside of switches and nodes.
    Fabric(Engine& engine, Network& network, std::uint32_t ranks);

    [[nodiscard]] Network& network() { return network_; }

    /// A node's message: hands over as many packets as there are credits for; the rest waits.
    void post(Index message);
    /// A head, credit or tail arrives.
    void handle(const Event& event);
    /// Called with a message whose last byte has arrived at its target.
    std::function<void(Index)> on_arrival;

    [[nodiscard]] std::int64_t queued(SwitchId at, Port port) const override;
    [[nodiscard]] std::uint64_t memory() const;

private:
    /// Credits of the next stage, and packets that wait for them.
    class VirtualChannel {
    public:
        explicit VirtualChannel(std::int64_t credits) : credits_(credits) {}
        [[nodiscard]] std::int64_t credits() const { return credits_; }
        void take(std::uint32_t bytes) { credits_ -= bytes; }
        void give(std::uint32_t bytes) { credits_ += bytes; }
        void wait(Pool<Packet>& packets, Index packet) {
            const std::uint32_t bytes = packets[packet].bytes;
            smallest_ = waiting_.empty() ? bytes : std::min(smallest_, bytes);
            waiting_.append(packets, packet);
        }
        /// Removes the first packet that fits.
        Index pop(Pool<Packet>& packets) {
            if (credits_ < smallest_) return none;  // saves most searches of long queues
            return waiting_.take_first(packets, [this](const Packet& packet) { return packet.bytes <= credits_; });
        }

    private:
        std::int64_t credits_;
        std::uint32_t smallest_ = 0;  ///< no waiting packet is smaller
        IntrusiveQueue waiting_;
    };
    struct Output {
        CutThrough server;
        LinkNumber packets = 0, credits = 0;
        Ticks latency = 0;
        std::uint32_t target = 0;  ///< switch or node
        bool to_node = false;
    };
    struct Injector {
        CutThrough server;
        std::int64_t credits;
        IntrusiveQueue waiting;  ///< messages
        LinkNumber packets = 0, credits_back = 0;
    };

    void head_at_switch(SwitchId at, Index packet);
    void cross(SwitchId at, Index packet);
    void leave(std::uint32_t output, Index packet);
    void give_back(const Packet& packet, Ticks time);
    void tail_at_node(Index packet);
    void inject(Index message);

    [[nodiscard]] std::uint32_t output_of(SwitchId at, Port port) const { return at * ports_ + port; }
    [[nodiscard]] VirtualChannel& channel(std::vector<VirtualChannel>& channels, std::uint32_t output,
                                          std::uint8_t channel) {
        return channels[std::size_t{output} * channels_ + channel];
    }

    Engine& engine_;
    Network& network_;
    const Parameters& p_;
    const Port ports_;
    const std::uint8_t channels_;
    const std::int64_t credits_;  ///< of a channel, at first
    std::vector<CutThrough> crossbars_;
    std::vector<VirtualChannel> crossing_, leaving_;
    std::vector<Output> outputs_;
    std::vector<Injector> injectors_;
};

}  // namespace tramontane::pisces16
