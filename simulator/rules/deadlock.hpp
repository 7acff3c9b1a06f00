/// \file
/// What a deadlock's report says: which ranks wait for what, and which packets. Only a host asks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rules/node.hpp"
#include "rules/switch.hpp"

namespace tramontane {

template <class Engine, class Switches>
std::string NodeRules<Engine, Switches>::waiting_ranks(std::uint32_t ranks, int limit) const {
    std::string text;
    for (std::uint32_t rank = 0; rank < ranks && limit > 0; ++rank) {
        const Node& node = nodes_[places_.of(rank)];
        if (node.state == RankState::ended) continue;
        if (graph_) return waiting_operations(rank, limit);
        text += "; rank " + std::to_string(rank) + " in round " + std::to_string(node.round) + " waits for " +
                std::to_string(node.left.receives) + " receives and " + std::to_string(node.left.sends) + " sends";
        --limit;
    }
    return text;
}

/// Who waits for whom, from a rank on, until it is somebody who was named before.
template <class Engine, class Switches>
std::string NodeRules<Engine, Switches>::waiting_operations(std::uint32_t rank, int limit) const {
    std::string text;
    std::vector<std::uint32_t> named;
    while (limit-- > 0 && std::find(named.begin(), named.end(), rank) == named.end()) {
        named.push_back(rank);
        const GraphTable::Operations own = graph_->of(rank);
        std::uint32_t operation = 0;
        while (operation < own.count() && (*graph_)(own, operation).number != OperationState::started) ++operation;
        if (operation == own.count()) break;
        const bool receives = own.is_receive(operation);
        const Rank peer = receives ? own.receives[operation].source : own.sends[own.send_of(operation)].target;
        const std::int32_t tag = receives
                                     ? graph_->of(static_cast<std::uint32_t>(peer)).tags[own.receives[operation].send]
                                     : own.tags[own.send_of(operation)];
        text += "; rank " + std::to_string(rank) + " waits for " + (receives ? "a message from" : "a receive of") +
                " rank " + std::to_string(peer) + ", tag " + std::to_string(tag);
        rank = static_cast<std::uint32_t>(peer);
    }
    return text;
}

template <class Own, class Engine>
std::string SwitchRules<Own, Engine>::waiting_packets(SwitchId at, int& limit) const {
    std::string text;
    if (!switches_[at]) return text;
    const std::size_t count = std::size_t{topology_.ports()} * channels_;
    const Output* output = outputs(at);
    for (std::size_t i = 0; i < count; ++i, ++output) {
        for (const SwitchChannel* channel : {&output->before, &output->behind}) {
            if (channel->waiting.empty()) continue;
            if (limit == 0) return text;
            --limit;
            const Packet& packet = engine_.packets[channel->waiting.any(engine_.packets)];
            text += "; switch " + std::to_string(at) + " port " + std::to_string(i / channels_) + " channel " +
                    std::to_string(i % channels_) + ": a packet of " + std::to_string(packet.bytes) + " B to node " +
                    std::to_string(packet.route.destination) + " waits for " +
                    (channel == &output->before ? "the output buffer" : "space behind the link") + " (" +
                    std::to_string(channel->credits()) + " B free)";
        }
    }
    return text;
}

}  // namespace tramontane
