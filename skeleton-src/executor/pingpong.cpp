#include "pingpong.hpp"

#include <mpi.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "arguments.hpp"
#include "json.hpp"

namespace tramontane::executor {
namespace {

/// Tags: messages, and the empty one that says that all of a window were sent.
constexpr int message = 0;
constexpr int done = 1;

[[nodiscard]] char letter(std::int64_t at, std::int64_t size, std::int64_t slot) {
    return static_cast<char>((at * 131 + size * 31 + slot * 17) % 251);
}

/// The two ends of a connection, one of which this rank is.
class Pair {
public:
    Pair(const PingPongOptions& options, Rank rank, Rank ranks)
        : options_{options},
          first_{rank == 0},
          peer_{first_ ? ranks - 1 : 0},
          requests_(static_cast<std::size_t>(options.window)) {
        const std::int64_t longest = *std::max_element(options.sizes.begin(), options.sizes.end());
        outgoing_.resize(static_cast<std::size_t>(options.window * longest));
        incoming_.resize(outgoing_.size());
    }

    [[nodiscard]] MessageTimes measure(std::int64_t size) {
        MessageTimes times;
        times.bytes = size;
        fill(size);
        times.one_way = repeated([&] { return there_and_back(size) / 2; });
        const auto window = static_cast<double>(options_.window);
        times.gap = repeated([&] { return stream(size) / window; });
        times.send = repeated([&] { return send_window(size) / window; });
        times.has_receive = size <= most_waiting;
        if (times.has_receive) {
            times.receive = repeated([&] { return receive_waiting(size) / window; });
        }
        times.wrong = wrong(size);
        return times;
    }

private:
    template <class Once>
    [[nodiscard]] Summary repeated(Once&& once) {
        for (std::int64_t i = 0; i < options_.warmup; ++i) {
            once();
        }
        std::vector<double> times;
        for (std::int64_t i = 0; i < options_.repetitions; ++i) {
            times.push_back(once());
        }
        return summary(times);
    }

    double there_and_back(std::int64_t size) {
        const double begin = MPI_Wtime();
        if (first_) {
            send(size, 0);
            receive(size, 0);
        } else {
            receive(size, 0);
            send(size, 0);
        }
        return MPI_Wtime() - begin;
    }

    /// A window of messages to the last rank, and its answer that all have arrived.
    double stream(std::int64_t size) {
        const double begin = MPI_Wtime();
        for (std::int64_t slot = 0; slot < options_.window; ++slot) {
            MPI_Request* const request = &requests_[static_cast<std::size_t>(slot)];
            if (first_) {
                MPI_Isend(outgoing(size, slot), static_cast<int>(size), MPI_BYTE, peer_, message, MPI_COMM_WORLD,
                          request);
            } else {
                MPI_Irecv(incoming(size, slot), static_cast<int>(size), MPI_BYTE, peer_, message, MPI_COMM_WORLD,
                          request);
            }
        }
        MPI_Waitall(static_cast<int>(options_.window), requests_.data(), MPI_STATUSES_IGNORE);
        signal(!first_);
        return MPI_Wtime() - begin;
    }

    /// What the sender spends in MPI_Send.
    double send_window(std::int64_t size) {
        double spent = 0;
        if (first_) {
            const double begin = MPI_Wtime();
            for (std::int64_t slot = 0; slot < options_.window; ++slot) {
                send(size, slot);
            }
            spent = MPI_Wtime() - begin;
        } else {
            for (std::int64_t slot = 0; slot < options_.window; ++slot) {
                receive(size, slot);
            }
        }
        signal(!first_);
        return spent;
    }

    /// What a receiver spends in MPI_Recv when all messages are there: none overtakes another, so all have come when
    /// the one that was sent last has. The roles are the other way round, because the first rank keeps the times.
    double receive_waiting(std::int64_t size) {
        double spent = 0;
        if (!first_) {
            for (std::int64_t slot = 0; slot < options_.window; ++slot) {
                send(size, slot);
            }
            signal(true);
        } else {
            signal(false);
            const double begin = MPI_Wtime();
            for (std::int64_t slot = 0; slot < options_.window; ++slot) {
                receive(size, slot);
            }
            spent = MPI_Wtime() - begin;
        }
        signal(first_);
        return spent;
    }

    void signal(bool sends) {
        if (sends) {
            MPI_Send(nullptr, 0, MPI_BYTE, peer_, done, MPI_COMM_WORLD);
        } else {
            MPI_Recv(nullptr, 0, MPI_BYTE, peer_, done, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }

    void send(std::int64_t size, std::int64_t slot) {
        MPI_Send(outgoing(size, slot), static_cast<int>(size), MPI_BYTE, peer_, message, MPI_COMM_WORLD);
    }
    void receive(std::int64_t size, std::int64_t slot) {
        MPI_Recv(incoming(size, slot), static_cast<int>(size), MPI_BYTE, peer_, message, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }

    [[nodiscard]] char* outgoing(std::int64_t size, std::int64_t slot) { return outgoing_.data() + size * slot; }
    [[nodiscard]] char* incoming(std::int64_t size, std::int64_t slot) { return incoming_.data() + size * slot; }

    void fill(std::int64_t size) {
        for (std::int64_t slot = 0; slot < options_.window; ++slot) {
            for (std::int64_t at = 0; at < size; ++at) {
                outgoing(size, slot)[at] = letter(at, size, slot);
                incoming(size, slot)[at] = static_cast<char>(~letter(at, size, slot));
            }
        }
    }

    /// Every slot is received at the last rank; of small messages also at the first, of others there only one.
    [[nodiscard]] std::int64_t wrong(std::int64_t size) {
        const std::int64_t slots = !first_ || size <= most_waiting ? options_.window : 1;
        std::int64_t count = 0;
        for (std::int64_t slot = 0; slot < slots; ++slot) {
            for (std::int64_t at = 0; at < size; ++at) {
                count += incoming(size, slot)[at] != letter(at, size, slot) ? 1 : 0;
            }
        }
        return count;
    }

    const PingPongOptions& options_;
    bool first_;
    Rank peer_;
    std::vector<MPI_Request> requests_;
    std::vector<char> outgoing_, incoming_;
};

}  // namespace

bool asks_for_pingpong(const std::vector<std::string>& arguments) {
    return std::find(arguments.begin(), arguments.end(), "kind=pingpong") != arguments.end();
}

PingPongOptions read_pingpong_options(const std::vector<std::string>& arguments, Rank ranks) {
    PingPongOptions options;
    const std::vector<Key> keys{
        Key::word("kind", {"pingpong"}),
        {.name = "sizes", .integers = Key::any_number, .least = 0, .most = std::numeric_limits<int>::max()},
        Key::integer("window", 1, options.window),
        Key::integer("warmup", 0, options.warmup),
        Key::integer("repetitions", 1, options.repetitions),
        Key::integer("ranks", 2, std::int64_t{ranks})};
    KeyReader reader{split_arguments(arguments)};
    Values values;
    reader.read(keys, values);
    reader.finish();
    options.sizes = values.integers("sizes");
    options.window = values.integer("window");
    options.warmup = values.integer("warmup");
    options.repetitions = values.integer("repetitions");
    refuse_other_ranks(ranks, values.integer("ranks"));
    if (ranks < 2) refuse_key("ranks", std::to_string(ranks), "2 or more");
    return options;
}

std::vector<MessageTimes> measure_pingpong(const PingPongOptions& options, Rank rank, Rank ranks) {
    std::vector<MessageTimes> result;
    std::vector<long long> wrong(options.sizes.size());
    if (rank == 0 || rank == ranks - 1) {
        Pair pair{options, rank, ranks};
        for (std::size_t i = 0; i < options.sizes.size(); ++i) {
            result.push_back(pair.measure(options.sizes[i]));
            wrong[i] = result.back().wrong;
        }
    }
    std::vector<long long> all(wrong.size());
    MPI_Allreduce(wrong.data(), all.data(), static_cast<int>(wrong.size()), MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < result.size(); ++i) {
        result[i].wrong = all[i];
    }
    return rank == 0 ? std::move(result) : std::vector<MessageTimes>{};
}

std::string report(const PingPongOptions& options, const std::vector<MessageTimes>& times, const Place& place,
                   Rank ranks) {
    json::List sizes;
    std::int64_t wrong = 0;
    for (const MessageTimes& each : times) {
        wrong += each.wrong;
        sizes.add(json::List{}
                      .add("bytes", json::number(each.bytes))
                      .add("one_way_s", json::object(each.one_way))
                      .add("gap_s", json::object(each.gap))
                      .add("send_s", json::object(each.send))
                      .add("receive_s", each.has_receive ? json::object(each.receive) : "null")
                      .object());
    }
    json::List list = heading(place, ranks);
    return list.add("workload", json::List{}.add("kind", json::quoted("pingpong")).object())
        .add("window", json::number(options.window))
        .add("warmup", json::number(options.warmup))
        .add("repetitions", json::number(options.repetitions))
        .add("sizes", sizes.array())
        .add("verified", wrong == 0 ? "true" : "false")
        .add("elements_wrong", json::number(wrong))
        .object();
}

}  // namespace tramontane::executor
