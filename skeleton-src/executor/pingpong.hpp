/// \file
/// What a message costs between two ranks: the numbers that a model of a network is fitted to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure.hpp"
#include "report.hpp"
#include "schedule.hpp"

namespace tramontane::executor {

struct PingPongOptions {
    std::vector<std::int64_t> sizes;  ///< of messages [B]
    std::int64_t window = 16;         ///< messages under way at once, where there are several
    std::int64_t warmup = 10;
    std::int64_t repetitions = 100;
};

/// \throws std::invalid_argument with one line: key, what was found, what is allowed
[[nodiscard]] PingPongOptions read_pingpong_options(const std::vector<std::string>& arguments, Rank ranks);

/// Whether arguments ask for this instead of a workload: kind=pingpong.
[[nodiscard]] bool asks_for_pingpong(const std::vector<std::string>& arguments);

/// Times for messages of one size [s], each over the repetitions. Those of sending and receiving are overheads in the
/// sense of LogP (Culler et al. 1993): what a message costs the processor.
struct MessageTimes {
    std::int64_t bytes = 0;
    Summary one_way;  ///< half the time of there and back
    Summary gap;      ///< between messages of a window that are all under way: bandwidth, or rate of small ones
    Summary send;     ///< in MPI_Send; of messages beyond the eager limit it is the whole transfer
    Summary receive;  ///< in MPI_Recv of a message that is there; only up to `most_waiting`
    bool has_receive = false;
    std::int64_t wrong = 0;  ///< bytes that arrived other than they were sent
};

/// Largest message that may wait at its receiver without anybody asking for it [B].
inline constexpr std::int64_t most_waiting = 1024;

/// Between the first and the last rank; on rank 0 the times, elsewhere empty.
[[nodiscard]] std::vector<MessageTimes> measure_pingpong(const PingPongOptions& options, Rank rank, Rank ranks);

/// One JSON object, without a line break.
[[nodiscard]] std::string report(const PingPongOptions& options, const std::vector<MessageTimes>& times,
                                 const Place& place, Rank ranks);

}  // namespace tramontane::executor
