/// \file
/// What a lane has for itself. All else lanes of a point have in common, also what finds it.
///
/// On an accelerator it lies in the memory of the lane's multiprocessor: states of all lanes would fill the caches. Not
/// so with HIP, whose compiler then does not end within minutes.
#pragma once

#include <cstdint>
#include <span>

#include "device/agenda.hpp"
#include "device/records.hpp"
#include "memory/lines.hpp"
#include "rules/rule.hpp"

namespace tramontane::device {

/// Free records that a lane keeps: to ask for each of them would be to wait for memory each time.
template <std::uint32_t at_a_time_>
struct AtHand {
    static constexpr std::uint32_t at_a_time = at_a_time_, most = 2 * at_a_time;

    std::uint32_t count;
    Index records[most];

    [[nodiscard]] std::span<const Index> all() const { return {records, count}; }
};

/// Zeros at first, but for its number.
struct LaneState {
    Ticks begin, end;      ///< of the window, while a site is visited; else `end` is 0
    Agenda::Soon soon;     ///< windows of what it has led to
    Index events;          ///< of the site that is visited: a heap
    SiteId site;           ///< that is visited
    std::uint32_t sent;    ///< what is in its outbox
    std::uint32_t order;   ///< counts what begins to wait
    std::uint32_t number;  ///< its own among those of the point
    AtHand<4> packets, pending;
    AtHand<2> transactions, messages, credits;
    AtHand<1> gaps, open_rounds;
    /// Makes the size an odd number of 8 B, so that the same field of threads in step lies in different banks.
    std::uint32_t unused;
};
static_assert(sizeof(LaneState) % 16 == 8 && alignof(LaneState) == 8);

#if defined(__CUDACC__)
extern __shared__ Ticks states_of_block[];  ///< of all threads of a block
#endif

/// Threads of a block of an accelerator at most. With twice as many, and half the registers for each, all points that
/// were tried took longer.
inline constexpr std::uint32_t threads_of_block = 512;

/// Finds the state of the lane that asks.
class OwnState {
public:
    OwnState() = default;
    /// \param states of the lane, or of all lanes that an accelerator has for a point
    /// \param lanes that are there
    TRAMONTANE_RULE explicit OwnState(LaneState* states, std::uint32_t lanes = 1)
        : states_(states), blocks_(lanes / threads_of_block) {}

    [[nodiscard]] TRAMONTANE_RULE LaneState* operator->() const {
#if defined(__CUDA_ARCH__)
        return reinterpret_cast<LaneState*>(states_of_block) + threadIdx.x;
#elif defined(TRAMONTANE_ON_DEVICE)
        return states_ + blockIdx.x % blocks_ * blockDim.x + threadIdx.x;
#else
        static_cast<void>(blocks_);  // only a device asks for it; GCC 11 knows no [[maybe_unused]] of members
        return states_;
#endif
    }

private:
    LaneState* states_ = nullptr;
    std::uint32_t blocks_ = 0;
};

/// A lane's view of records.
/// \tparam hand what the lane keeps of them
template <class T, auto LaneState::* hand>
class Pool {
public:
    Pool(Records<T>& records, OwnState own) : records_(records), all_(records.all()), own_(own) {}

    /// When there is more room for records.
    void renew() { all_ = records_.all(); }
    [[nodiscard]] TRAMONTANE_RULE T& operator[](Index i) const { return all_[i]; }
    [[nodiscard]] TRAMONTANE_RULE Index take() {
        auto& own = own_.operator->()->*hand;
        if (own.count == 0) {
            records_.take(own.records, own.at_a_time);
            own.count = own.at_a_time;
        }
        return own.records[--own.count];
    }
    TRAMONTANE_RULE void give_back(Index i) {
        auto& own = own_.operator->()->*hand;
        if (own.count == own.most) {
            own.count -= own.at_a_time;
            records_.give_back(own.records + own.count, own.at_a_time);
        }
        own.records[own.count++] = i;
    }
    TRAMONTANE_RULE void prefetch(Index i) const { prefetch_line(&all_[i]); }

private:
    Records<T>& records_;
    T* all_;
    OwnState own_;
};

}  // namespace tramontane::device
