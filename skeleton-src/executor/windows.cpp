#include "windows.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "exchange.hpp"
#include "refusal.hpp"

namespace tramontane::executor {

// Where the clock is simulated it may stand still while a rank looks again and again.
#if !defined(TRAMONTANE_LOOK_AGAIN)
#define TRAMONTANE_LOOK_AGAIN() static_cast<void>(0)
#endif

#if defined(TRAMONTANE_SIMULATED_MPI)

std::unique_ptr<Windows> make_windows(const Schedule&, Rank, Payload&) {
    refuse("steps.one_sided", "puts with " TRAMONTANE_SIMULATED_MPI, "messages of two sides");
}

#else

namespace {

constexpr std::size_t most_windows = 500;  // libraries have room for a few thousand
/// MPICH 4.0.2 as Debian has it corrupts windows of any other multiple.
constexpr MPI_Aint unit = 16;

[[nodiscard]] MPI_Aint padded(std::int64_t bytes) { return static_cast<MPI_Aint>((bytes + unit - 1) / unit * unit); }

/// Where what a rank receives in a round stands, and how much room all takes; a notification has a counter.
[[nodiscard]] MPI_Aint place(const Schedule& schedule, Rank rank, std::int64_t round, std::vector<MPI_Aint>& at) {
    MPI_Aint end = 0;
    const Round found = schedule.round(rank, round);
    for (std::int32_t index = 0; index < found.receives; ++index) {
        at.push_back(end);
        end += found.call == WindowCall::notify ? unit : padded(schedule.receive(rank, round, index).bytes);
    }
    return end;
}

/// The ranks that a rank puts to, those that put to it, or both.
[[nodiscard]] MPI_Group group(const Schedule& schedule, Rank rank, std::int64_t number, bool targets, bool origins) {
    const Round round = schedule.round(rank, number);
    std::vector<int> ranks;
    const auto add = [&](int peer) {
        if (std::find(ranks.begin(), ranks.end(), peer) == ranks.end()) ranks.push_back(peer);
    };
    for (std::int32_t i = 0; targets && i < round.sends; ++i) add(schedule.send(rank, number, i).peer);
    for (std::int32_t i = 0; origins && i < round.receives; ++i) add(schedule.receive(rank, number, i).peer);
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some);
    MPI_Group_free(&all);
    return some;
}

void free_group(MPI_Group& group) {
    if (group != MPI_GROUP_NULL && group != MPI_GROUP_EMPTY) MPI_Group_free(&group);
}

class OwnWindows final : public Windows {
public:
    OwnWindows(const Schedule& schedule, Rank rank, Payload& payload)
        : schedule_{schedule}, rank_{rank}, payload_{payload} {
        std::vector<std::int64_t> first;  // round of each window; a loop comes back to it
        for (std::int64_t number = 0; number < schedule.rounds() / schedule.repeats(); ++number) {
            const Round round = schedule.round(rank, number);
            if (!is_put(round.call)) continue;
            const auto window = static_cast<std::size_t>(round.window_number);
            if (window >= first.size()) first.resize(window + 1, -1);
            if (first[window] < 0) first[window] = number;
        }
        if (first.size() > most_windows) {
            refuse("steps", std::to_string(first.size()) + " rounds of puts, those of a loop counted once",
                   "at most " + std::to_string(most_windows));
        }
        for (const std::int64_t number : first) windows_.push_back(make(number));
    }

    ~OwnWindows() override {
        for (Window& window : windows_) {
            if (window.counts) MPI_Win_unlock_all(window.handle);
            free_group(window.origins);
            free_group(window.targets);
            free_group(window.neighbours);
            MPI_Win_free(&window.handle);
        }
    }

    void put(std::int64_t number) override {
        const Round round = schedule_.round(rank_, number);
        Window& window = of(round);
        window.second = !window.second;
        for (std::int32_t index = 0; index < round.sends; ++index) {
            const Transfer to = schedule_.send(rank_, number, index);
            const auto at = static_cast<std::size_t>(index);
            const int bytes = byte_count(to.bytes);
            MPI_Put(payload_.outgoing(number, index), bytes, MPI_BYTE, to.peer,
                    window.there[at] + (window.second ? window.halves_there[at] : 0), bytes, MPI_BYTE, window.handle);
        }
    }

    void notify(std::int64_t number) override {
        const Round round = schedule_.round(rank_, number);
        Window& window = of(round);
        const std::int64_t one = 1;
        for (std::int32_t index = 0; index < round.sends; ++index) {
            MPI_Accumulate(&one, 1, MPI_INT64_T, schedule_.send(rank_, number, index).peer,
                           window.there[static_cast<std::size_t>(index)], 1, MPI_INT64_T, MPI_SUM, window.handle);
        }
        MPI_Win_flush_all(window.handle);
    }
    /// Counters only grow, so that who notifies again before this rank has seen the first time does no harm.
    void wait_notified(std::int64_t number) override {
        Window& window = of(schedule_.round(rank_, number));
        ++window.awaited;
        for (const MPI_Aint at : window.here) {
            for (std::int64_t found = 0; found < window.awaited;) {
                MPI_Fetch_and_op(nullptr, &found, MPI_INT64_T, rank_, at, MPI_NO_OP, window.handle);
                MPI_Win_flush(rank_, window.handle);
                if (found < window.awaited) TRAMONTANE_LOOK_AGAIN();
            }
        }
    }

    void call(const Round& round) override {
        Window& window = of(round);
        switch (round.call) {
            case WindowCall::fence:
                MPI_Win_fence(0, window.handle);
                break;
            case WindowCall::fence_of_neighbours:
                fence_neighbours(window);
                break;
            case WindowCall::post_start:
                MPI_Win_post(window.origins, 0, window.handle);
                MPI_Win_start(window.targets, 0, window.handle);
                break;
            case WindowCall::complete_wait:
                MPI_Win_complete(window.handle);
                MPI_Win_wait(window.handle);
                break;
            case WindowCall::lock:
                MPI_Win_lock_all(MPI_MODE_NOCHECK, window.handle);
                window.locked = true;
                break;
            case WindowCall::flush:
                MPI_Win_flush_all(window.handle);
                break;
            case WindowCall::unlock:
                MPI_Win_unlock_all(window.handle);
                window.locked = false;
                break;
            default:
                break;
        }
    }

    void read(std::int64_t number) override {
        const Round round = schedule_.round(rank_, number);
        Window& window = of(round);
        // What others have put without a call of this rank is seen within an epoch of its own only.
        const bool passive = round.call == WindowCall::acknowledged_puts;
        const bool locks = passive && !window.locked;
        if (locks) MPI_Win_lock(MPI_LOCK_SHARED, rank_, 0, window.handle);
        if (passive) MPI_Win_sync(window.handle);
        const std::byte* const half = window.memory + (window.second ? window.half : 0);
        for (std::int32_t index = 0; index < round.receives; ++index) {
            const std::int64_t bytes = schedule_.receive(rank_, number, index).bytes;
            std::memcpy(payload_.incoming(number, index), half + window.here[static_cast<std::size_t>(index)],
                        static_cast<std::size_t>(bytes));
        }
        if (locks) MPI_Win_unlock(rank_, window.handle);
    }

private:
    struct Window {
        MPI_Win handle = MPI_WIN_NULL;
        std::byte* memory = nullptr;
        MPI_Aint half = 0;                   ///< bytes
        std::vector<MPI_Aint> here, there;   ///< where receives are in a half, and sends in the target's
        std::vector<MPI_Aint> halves_there;  ///< of targets, by send
        MPI_Group origins = MPI_GROUP_NULL, targets = MPI_GROUP_NULL, neighbours = MPI_GROUP_NULL;
        bool second = false;       ///< the half in use
        bool fenced = false;       ///< by a fence of neighbours, which the next one ends
        bool locked = false;       ///< of all ranks
        bool counts = false;       ///< notifications; then it is locked all the time
        std::int64_t awaited = 0;  ///< times that these have been waited for
    };

    /// MPI's own fence is of all ranks of a window. This one waits for the same as a fence does, of neighbours: that
    /// they have begun the epoch, or that all of it is there.
    static void fence_neighbours(Window& window) {
        if (window.fenced) {
            MPI_Win_complete(window.handle);
            MPI_Win_wait(window.handle);
        } else {
            MPI_Win_post(window.neighbours, 0, window.handle);
            MPI_Win_start(window.neighbours, 0, window.handle);
        }
        window.fenced = !window.fenced;
    }

    [[nodiscard]] Window make(std::int64_t number) const {
        Window window;
        const Round round = schedule_.round(rank_, number);
        window.half = place(schedule_, rank_, number, window.here);
        for (std::int32_t index = 0; index < round.sends; ++index) {
            const Transfer to = schedule_.send(rank_, number, index);
            std::vector<MPI_Aint> at;
            window.halves_there.push_back(place(schedule_, to.peer, number, at));
            for (std::int32_t other = 0; other < static_cast<std::int32_t>(at.size()); ++other) {
                const Transfer from = schedule_.receive(to.peer, number, other);
                if (from.peer != rank_ || from.tag != to.tag) continue;
                window.there.push_back(at[static_cast<std::size_t>(other)]);
                break;
            }
        }
        window.origins = group(schedule_, rank_, number, false, true);
        window.targets = group(schedule_, rank_, number, true, false);
        window.neighbours = group(schedule_, rank_, number, true, true);
        MPI_Win_allocate(2 * window.half + unit, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.memory, &window.handle);
        window.counts = round.call == WindowCall::notify;
        if (window.counts) {
            std::memset(window.memory, 0, static_cast<std::size_t>(2 * window.half + unit));
            MPI_Win_lock_all(MPI_MODE_NOCHECK, window.handle);
            MPI_Win_sync(window.handle);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        return window;
    }

    [[nodiscard]] Window& of(const Round& round) { return windows_[static_cast<std::size_t>(round.window_number)]; }

    const Schedule& schedule_;
    Rank rank_;
    Payload& payload_;
    std::vector<Window> windows_;
};

}  // namespace

std::unique_ptr<Windows> make_windows(const Schedule& schedule, Rank rank, Payload& payload) {
    return std::make_unique<OwnWindows>(schedule, rank, payload);
}

#endif

}  // namespace tramontane::executor
