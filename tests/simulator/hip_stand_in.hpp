/// \file
/// As much of HIP as the driver of GPUs names (simulator/device/gpu), on a processor: so that the kernel and its driver
/// run where no GPU is, and a test sees each call fail.
///
/// A block is a thread, and its threads are fibers, each of which runs until it waits for others. 32 are in step.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#define __host__
#define __device__
#define __global__
#define __launch_bounds__(...)
#define __builtin_amdgcn_wave_barrier() (void)stand_in::say(0)

struct dim3 {
    unsigned x = 1;
    explicit dim3(unsigned count) : x(count) {}
};
inline thread_local dim3 threadIdx(0), blockIdx(0), blockDim(0);

namespace stand_in {

constexpr unsigned in_step = 32;

/// A block of the one kernel that there is, of three arguments.
class Block {
public:
    using Kernel = void (*)(void*, unsigned, void*);

    Block(const void* kernel, void** arguments, unsigned number, unsigned threads)
        : kernel_(reinterpret_cast<Kernel>(const_cast<void*>(kernel))),
          arguments_(arguments),
          number_(number),
          left_(threads),
          fibers_(threads),
          warps_(threads / in_step),
          stacks_(new std::byte[threads * stack]) {}

    /// \return whether all its threads have come to their end
    bool run() {
        here() = this;
        blockIdx.x = number_;
        blockDim.x = static_cast<unsigned>(fibers_.size());
        for (std::size_t i = 0; i < fibers_.size(); ++i) {
            ucontext_t& begin = fibers_[i].begin;
            getcontext(&begin);
            begin.uc_stack.ss_sp = stacks_.get() + i * stack;
            begin.uc_stack.ss_size = stack;
            makecontext(&begin, [] { here()->live(); }, 0);
        }
        if (_setjmp(host_) == 0) go_to(0);
        return left_ == 0;
    }
    /// All its threads.
    void meet() {
        const unsigned before = met_;
        if (++come_ == fibers_.size()) {
            come_ = 0;
            ++met_;
        }
        while (met_ == before) pass_on();
    }
    /// What all threads in step say.
    const unsigned* say(unsigned own) {
        Warp& warp = warps_[threadIdx.x / in_step];
        const unsigned before = warp.met;
        unsigned* const said = warp.said[before % 2];
        said[threadIdx.x % in_step] = own;
        if (++warp.come == in_step) {
            warp.come = 0;
            ++warp.met;
        }
        while (warp.met == before) pass_on();
        return said;
    }
    [[noreturn]] void end() { _longjmp(host_, 1); }
    static Block*& here() {
        static thread_local Block* block = nullptr;
        return block;
    }

private:
    static constexpr std::size_t stack = 1 << 16;
    struct Fiber {
        ucontext_t begin;
        jmp_buf goes_on;
        bool begun, ended;
    };
    struct Warp {
        unsigned come, met, said[2][in_step];
    };

    void live() {
        kernel_(*static_cast<void**>(arguments_[0]), *static_cast<unsigned*>(arguments_[1]),
                *static_cast<void**>(arguments_[2]));
        fibers_[threadIdx.x].ended = true;
        if (--left_ == 0) end();
        go_to(next());
    }
    [[nodiscard]] unsigned next() const {
        unsigned other = threadIdx.x;
        do {
            other = (other + 1) % blockDim.x;
        } while (fibers_[other].ended);
        return other;
    }
    void pass_on() {
        if (_setjmp(fibers_[threadIdx.x].goes_on) == 0) go_to(next());
    }
    [[noreturn]] void go_to(unsigned other) {
        threadIdx.x = other;
        Fiber& fiber = fibers_[other];
        if (fiber.begun) _longjmp(fiber.goes_on, 1);
        fiber.begun = true;
        setcontext(&fiber.begin);
        std::abort();
    }

    const Kernel kernel_;
    void** const arguments_;
    const unsigned number_;
    unsigned left_, come_ = 0, met_ = 0;
    std::vector<Fiber> fibers_;
    std::vector<Warp> warps_;
    std::unique_ptr<std::byte[]> stacks_;
    jmp_buf host_;
};

inline const unsigned* say(unsigned own) { return Block::here()->say(own); }

/// What a test sees and sets.
struct Device {
    std::size_t free = std::size_t{1} << 30;  ///< at first [B]
    int processors = 1;
    int calls = 0;         ///< how many there were
    int fails = 0;         ///< the number of the one that fails
    int held = 0;          ///< what was allocated and is not free
    bool is_lost = false;  ///< a kernel has ended itself: all calls fail
};
inline Device device;

}  // namespace stand_in

enum hipError_t { hipSuccess, hipErrorOutOfMemory, hipErrorLaunchFailure };
enum hipMemcpyKind { hipMemcpyDefault };
enum hipFuncAttribute { hipFuncAttributeMaxDynamicSharedMemorySize };
enum hipHostMallocFlags { hipHostMallocMapped };
struct hipDeviceProp_t {
    char name[64];
    int multiProcessorCount, cooperativeLaunch, concurrentManagedAccess;
    std::size_t sharedMemPerBlock;
};

namespace stand_in {

inline hipError_t called() {
    if (device.is_lost) return hipErrorLaunchFailure;
    return ++device.calls == device.fails ? hipErrorOutOfMemory : hipSuccess;
}
inline hipError_t allocate(void** memory, std::size_t bytes) {
    const hipError_t error = called();
    if (error != hipSuccess) return error;
    *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(*memory, 0x5a, bytes);
    ++device.held;
    return hipSuccess;
}

}  // namespace stand_in

inline const char* hipGetErrorString(hipError_t error) {
    return error == hipErrorOutOfMemory ? "out of memory" : "unspecified launch failure";
}
inline hipError_t hipGetDeviceCount(int* count) {
    *count = 1;
    return stand_in::called();
}
inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* found, int) {
    *found = {"a stand-in", stand_in::device.processors, 1, 1, 1 << 16};
    return stand_in::called();
}
inline hipError_t hipMemGetInfo(std::size_t* free, std::size_t* all) {
    *free = *all = stand_in::device.free;
    return stand_in::called();
}
inline hipError_t hipMallocManaged(void** memory, std::size_t bytes) { return stand_in::allocate(memory, bytes); }
inline hipError_t hipHostMalloc(void** memory, std::size_t bytes, unsigned) {
    return stand_in::allocate(memory, bytes);
}
inline hipError_t hipFree(void* memory) {
    --stand_in::device.held;
    std::free(memory);
    return hipSuccess;
}
inline hipError_t hipMemset(void* memory, int value, std::size_t bytes) {
    const hipError_t error = stand_in::called();
    if (error == hipSuccess) std::memset(memory, value, bytes);
    return error;
}
inline hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind) {
    const hipError_t error = stand_in::called();
    if (error == hipSuccess) std::memcpy(to, from, bytes);
    return error;
}
inline hipError_t hipMemPrefetchAsync(const void*, std::size_t, int, void*) { return stand_in::called(); }
inline hipError_t hipDeviceSynchronize() { return stand_in::called(); }
inline hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int) { return stand_in::called(); }
template <class Kernel>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel, int, std::size_t) {
    *blocks = 1;
    return stand_in::called();
}
inline hipError_t hipLaunchCooperativeKernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments,
                                             std::size_t, void*) {
    const hipError_t error = stand_in::called();
    if (error != hipSuccess) return error;
    std::atomic<bool> failed = false;
    {
        std::vector<std::jthread> all;
        for (unsigned number = 0; number < blocks.x; ++number) {
            all.emplace_back([&, number] {
                stand_in::Block block(kernel, arguments, number, threads.x);
                if (!block.run()) failed = true;
            });
        }
    }
    stand_in::device.is_lost = failed;
    return hipSuccess;
}

inline void __syncthreads() { stand_in::Block::here()->meet(); }
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_system() { __threadfence(); }
inline int __any(bool own) {
    const unsigned* const said = stand_in::say(own ? 1 : 0);
    for (unsigned i = 0; i < stand_in::in_step; ++i) {
        if (said[i] != 0) return 1;
    }
    return 0;
}
inline int __shfl(int own, int of, int) {
    return static_cast<int>(stand_in::say(static_cast<unsigned>(own))[static_cast<unsigned>(of) % stand_in::in_step]);
}
inline int __shfl_up(int own, unsigned step, int) {
    const unsigned thread = threadIdx.x % stand_in::in_step;
    const unsigned* const said = stand_in::say(static_cast<unsigned>(own));
    return thread < step ? own : static_cast<int>(said[thread - step]);
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }

template <class T>
T atomicAdd(T* to, T more) {
    return __atomic_fetch_add(to, more, __ATOMIC_RELAXED);
}
template <class T>
T atomicSub(T* from, T less) {
    return __atomic_fetch_sub(from, less, __ATOMIC_RELAXED);
}
template <class T>
T atomicOr(T* of, T bits) {
    return __atomic_fetch_or(of, bits, __ATOMIC_RELAXED);
}
template <class T>
T atomicExch(T* of, T value) {
    return __atomic_exchange_n(of, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicMax(T* to, T value) {
    T known = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (known < value && !__atomic_compare_exchange_n(to, &known, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return known;
}

namespace tramontane {
/// Ends all threads, and what the runtime can do.
[[noreturn]] inline void abort() { stand_in::Block::here()->end(); }
}  // namespace tramontane

extern "C" [[gnu::visibility("default")]] stand_in::Device* stand_in_device() { return &stand_in::device; }
