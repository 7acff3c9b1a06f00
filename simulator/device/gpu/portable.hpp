/// \file
/// CUDA's runtime as HIP calls it, too: all that an accelerator's driver needs of either.
#pragma once

#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define TRAMONTANE_GPU(name) hip##name
#define TRAMONTANE_GPU_PROPERTIES hipDeviceProp_t
#define TRAMONTANE_GPU_HOST_ALLOCATE(memory, bytes) hipHostMalloc(memory, bytes, hipHostMallocMapped)
#else
#include <cuda_runtime.h>
#define TRAMONTANE_GPU(name) cuda##name
#define TRAMONTANE_GPU_PROPERTIES cudaDeviceProp
#define TRAMONTANE_GPU_HOST_ALLOCATE(memory, bytes) cudaHostAlloc(memory, bytes, cudaHostAllocMapped)
#endif

#include <cstddef>
#include <cstdint>
#include <string>

namespace tramontane::device::gpu {

/// What one call of the runtime says; empty where all is well.
inline std::string said(TRAMONTANE_GPU(Error_t) error) {
    return error == TRAMONTANE_GPU(Success) ? "" : TRAMONTANE_GPU(GetErrorString)(error);
}

inline std::string count_devices(int& count) { return said(TRAMONTANE_GPU(GetDeviceCount)(&count)); }
/// Of the first device.
/// \param bytes of its memory that nobody holds, neither other programs nor the driver
/// \param beside what a block may have of a multiprocessor's memory [B]
inline std::string describe(std::string& name, std::size_t& bytes, int& processors, std::size_t& beside,
                            bool& cooperates, bool& shares) {
    TRAMONTANE_GPU_PROPERTIES found{};
    std::string error = said(TRAMONTANE_GPU(GetDeviceProperties)(&found, 0));
    std::size_t all = 0;
    if (error.empty()) error = said(TRAMONTANE_GPU(MemGetInfo)(&bytes, &all));
    if (!error.empty()) return error;
    name = found.name;
    processors = found.multiProcessorCount;
#if defined(__HIPCC__)
    beside = found.sharedMemPerBlock;
#else
    beside = found.sharedMemPerBlockOptin;
#endif
    cooperates = found.cooperativeLaunch != 0;
    shares = found.concurrentManagedAccess != 0;
    return "";
}

/// Memory that device and host see; it lies where it is used.
inline std::string allocate_shared(void** memory, std::size_t bytes) {
    return said(TRAMONTANE_GPU(MallocManaged)(memory, bytes));
}
inline void release(void* memory) { (void)TRAMONTANE_GPU(Free)(memory); }
/// Memory of the host that a device can write to, and that outlives a kernel that has failed.
inline std::string allocate_on_host(void** memory, std::size_t bytes) {
    return said(TRAMONTANE_GPU_HOST_ALLOCATE(memory, bytes));
}
inline std::string clear(void* memory, std::size_t bytes) { return said(TRAMONTANE_GPU(Memset)(memory, 0, bytes)); }
inline std::string copy(void* to, const void* from, std::size_t bytes) {
    return said(TRAMONTANE_GPU(Memcpy)(to, from, bytes, TRAMONTANE_GPU(MemcpyDefault)));
}
/// Brings shared memory to the first device.
inline std::string bring(void* memory, std::size_t bytes) {
#if !defined(__HIPCC__) && CUDART_VERSION >= 13000
    return said(cudaMemPrefetchAsync(memory, bytes, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, nullptr));
#else
    return said(TRAMONTANE_GPU(MemPrefetchAsync)(memory, bytes, 0, nullptr));
#endif
}
inline std::string wait() { return said(TRAMONTANE_GPU(DeviceSynchronize)()); }

// Threads in step: 32 with CUDA; with HIP, where they are 64, two groups of 32 are in step with each other, too.
#if defined(__HIPCC__)
__device__ inline void meet_in_step() { __builtin_amdgcn_wave_barrier(); }
__device__ inline bool any_in_step(bool own) { return __any(own) != 0; }
/// What another of them says, or the one that is `step` lower. \pre all of them ask
__device__ inline std::uint32_t of_thread(std::uint32_t own, std::uint32_t thread) {
    return static_cast<std::uint32_t>(__shfl(static_cast<int>(own), static_cast<int>(thread), 32));
}
__device__ inline std::uint32_t of_lower(std::uint32_t own, std::uint32_t step) {
    return static_cast<std::uint32_t>(__shfl_up(static_cast<int>(own), step, 32));
}
#else
__device__ inline void meet_in_step() { __syncwarp(); }
__device__ inline bool any_in_step(bool own) { return __any_sync(~0U, own) != 0; }
__device__ inline std::uint32_t of_thread(std::uint32_t own, std::uint32_t thread) {
    return __shfl_sync(~0U, own, static_cast<int>(thread));
}
__device__ inline std::uint32_t of_lower(std::uint32_t own, std::uint32_t step) {
    return __shfl_up_sync(~0U, own, step);
}
#endif

/// Lets a block have so much memory of its multiprocessor.
template <class Kernel>
std::string allow_shared(Kernel kernel, std::size_t bytes) {
    return said(TRAMONTANE_GPU(FuncSetAttribute)(reinterpret_cast<const void*>(kernel),
                                                 TRAMONTANE_GPU(FuncAttributeMaxDynamicSharedMemorySize),
                                                 static_cast<int>(bytes)));
}
template <class Kernel>
std::string most_blocks(int& blocks, Kernel kernel, int threads, std::size_t bytes) {
    return said(TRAMONTANE_GPU(OccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, kernel, threads, bytes));
}
/// All blocks at a time, or not at all.
template <class Kernel>
std::string launch_together(Kernel kernel, int blocks, int threads, std::size_t bytes, void** arguments) {
    return said(TRAMONTANE_GPU(LaunchCooperativeKernel)(
        reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(blocks)),
        dim3(static_cast<unsigned>(threads)), arguments, bytes, nullptr));
}
/// Of each thread; HIP's compiler finds out for itself how much a kernel takes.
inline std::string set_stack([[maybe_unused]] std::size_t bytes) {
#if defined(__HIPCC__)
    return "";
#else
    return said(cudaDeviceSetLimit(cudaLimitStackSize, bytes));
#endif
}

}  // namespace tramontane::device::gpu
