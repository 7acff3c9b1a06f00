/// \file
/// By which calls of MPI a rank exchanges its halo (Deutscher Wetterdienst 2004: isend, recv and wait; irecv, send and
/// wait; sendrecv).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule.hpp"

namespace tramontane {

enum class HaloCalls : std::uint8_t {
    irecv_isend,  ///< posts all receives, then all sends, and waits for all: as any other round
    isend_recv,   ///< posts all sends, then receives one message after another
    irecv_send,   ///< posts all receives, then sends one message after another
    sendrecv      ///< one direction after another
};

/// Their names, in this order.
[[nodiscard]] inline std::vector<std::string> halo_calls() {
    return {"irecv-isend", "isend-recv", "irecv-send", "sendrecv"};
}

/// A round of all messages of a sweep, by calls that do not take directions apart.
[[nodiscard]] constexpr Round called(Round round, HaloCalls calls) {
    if (calls == HaloCalls::irecv_send) round.window = 1;
    round.in_turn = calls == HaloCalls::isend_recv;
    return round;
}

}  // namespace tramontane
