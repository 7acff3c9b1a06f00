/// \file
/// Catch2, version 2 or 3, and what the tests of schedules share.
#pragma once

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "contents.hpp"

namespace tramontane::testing {

/// A send and the receive that it meets.
struct Message {
    Rank source;
    Rank destination;
    std::vector<Piece> sent;      ///< in the sender's coordinates
    std::vector<Piece> received;  ///< the same, in the receiver's coordinates
};

/// All messages of a round, in the order in which they are posted; fails unless sends and receives pair up exactly,
/// with the same tag and length, and that length is what the contents need.
inline std::vector<Message> matched(const ContentSchedule& schedule, std::int64_t number) {
    struct Awaited {
        std::int64_t bytes;
        std::vector<Piece> contents;
    };
    std::map<std::tuple<Rank, Rank, std::int32_t>, Awaited> awaited;
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
        const Round work = schedule.round(rank, number);
        for (std::int32_t index = 0; index < work.receives; ++index) {
            const Transfer transfer = schedule.receive(rank, number, index);
            const bool is_new = awaited
                                    .emplace(std::tuple{transfer.peer, rank, transfer.tag},
                                             Awaited{transfer.bytes, schedule.receive_contents(rank, number, index)})
                                    .second;
            REQUIRE(is_new);
        }
    }
    std::vector<Message> messages;
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
        const Round work = schedule.round(rank, number);
        for (std::int32_t index = 0; index < work.sends; ++index) {
            const Transfer transfer = schedule.send(rank, number, index);
            REQUIRE(transfer.peer != rank);
            const auto found = awaited.find({rank, transfer.peer, transfer.tag});
            REQUIRE(found != awaited.end());
            REQUIRE(found->second.bytes == transfer.bytes);
            Message message{rank, transfer.peer, schedule.send_contents(rank, number, index),
                            std::move(found->second.contents)};
            awaited.erase(found);
            std::int64_t elements = 0;
            REQUIRE(message.sent.size() == message.received.size());
            for (std::size_t i = 0; i < message.sent.size(); ++i) {
                elements += message.sent[i].box.size();
                REQUIRE(message.sent[i].box.size() == message.received[i].box.size());
                REQUIRE(message.sent[i].origin == message.received[i].origin);
                REQUIRE(message.sent[i].destination == message.received[i].destination);
                REQUIRE(message.sent[i].combine == message.received[i].combine);
            }
            REQUIRE(transfer.bytes == element_bytes * elements);
            messages.push_back(std::move(message));
        }
    }
    REQUIRE(awaited.empty());
    return messages;
}

/// Non-negative remainder.
[[nodiscard]] inline std::int64_t modulo(std::int64_t value, std::int64_t n) { return (value % n + n) % n; }

}  // namespace tramontane::testing
