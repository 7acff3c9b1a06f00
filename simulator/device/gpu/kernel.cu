// The kernel, and what drives it from the host: the same lanes as simulator/device has on threads, one for each thread
// of the accelerator. Compiled by nvcc or hipcc into a library of its own (CMake: TRAMONTANE_CUDA, TRAMONTANE_HIP).
//
// One launch handles many windows, for which all its threads stay: in each, a lane handles what its LPs have, one LP
// after the other; then all meet, the first goes on to the next window that has events, and all meet again. A launch
// ends when no window is left, when so many have been handled, or when room gets scarce; only then the host looks.
// Of several points each has blocks of its own, which meet no others.
#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/accelerator.hpp"
#include "device/gpu/portable.hpp"
#include "device/worker.hpp"

namespace tramontane {
namespace device::gpu {
namespace {

// One block a processor, with as many warps as its registers allow: each warp has LPs of its own, and what a window
// takes is how long the busiest one is at it.
constexpr int threads_of_block = 1024;
constexpr std::uint32_t threads_of_warp = Agenda::bits_of_word;

/// What a kernel that has ended itself leaves behind, in memory of the host.
struct Obituary {
    static constexpr int length = 256;
    unsigned reported;
    Failure kind;
    char what[length];
};
__device__ Obituary* obituary;

/// What all lanes of a point share.
struct Together {
    InHand point;
    std::uint64_t left;   ///< windows that may be handled
    unsigned missing;     ///< blocks that have not come to where all meet
    unsigned generation;  ///< how often all have met
};

/// All threads of a point's blocks meet, and see what the others have written.
__device__ void meet(Together* together, unsigned blocks) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        volatile unsigned* const generation = &together->generation;
        const unsigned before = *generation;
        if (atomicSub(&together->missing, 1U) == 1U) {
            together->missing = blocks;
            __threadfence();
            atomicAdd(&together->generation, 1U);
        } else {
            while (*generation == before) {
            }
        }
        __threadfence();
    }
    __syncthreads();
}

__global__ void __launch_bounds__(threads_of_block) handle_windows(Together* points, unsigned blocks, Obituary* tell) {
    Together* const together = points + blockIdx.x / blocks;
    Common* const common = together->point.common;
    // Neighbours among LPs are often busy at the same time. So they belong to different processors, then to different
    // warps of a processor, and only then to different threads of a warp, which handle one LP after the other.
    const std::uint32_t warps = blocks * blockDim.x / threads_of_warp;
    const std::uint32_t warp = threadIdx.x / threads_of_warp * blocks + blockIdx.x % blocks;
    const std::uint32_t bit = threadIdx.x % threads_of_warp;
    const std::uint32_t lane = warp * threads_of_warp + bit;
    if (lane == 0) obituary = tell;
    meet(together, blocks);
    Worker& worker = together->point.workers[lane];
    Agenda& agenda = common->agenda;
    while (together->point.window != Agenda::ended && together->left > 0) {
        for (std::uint32_t word = warp; word < agenda.words(); word += warps) {
            const std::uint32_t bits = agenda.busy(word);
            if (bits == 0) continue;
            meet_in_step();
            if (bit == 0) agenda.clear_busy(word);
            if ((bits >> bit & 1) != 0) worker.visit(agenda.lp(word, bit));
            meet_in_step();
        }
        meet(together, blocks);
        if (warp == 0) {
            const bool crowded = any_in_step(bit < Common::pools && common->turn_records(bit));
            if (bit == 0) {
                together->point.window = agenda.turn();
                together->left = crowded ? 0 : together->left - 1;
            }
        }
        meet(together, blocks);
    }
}

}  // namespace

/// An accelerator that CUDA or HIP drives: the first one.
class Gpu final : public Accelerator {
public:
    /// \param why gets what is missing, if it is not empty then
    explicit Gpu(std::string& why) { why = open(); }

    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] std::uint32_t lanes(std::uint32_t wanted) const override {
        const auto all = static_cast<std::uint32_t>(blocks_) * threads_of_block;
        return std::min(all, std::max(1U, wanted / threads_of_block) * threads_of_block);
    }
    [[nodiscard]] std::uint32_t most_points() const override { return static_cast<std::uint32_t>(blocks_); }
    [[nodiscard]] std::uint32_t in_step() const override { return threads_of_warp; }

    /// What does not fit is refused: a driver would move memory to the host and back, without an end.
    [[nodiscard]] void* allocate(std::size_t bytes) override {
        bytes = std::max<std::size_t>(bytes, 1);
        if (held_ + bytes > bytes_ / 16 * 15) {
            throw NoRoom("device: found a point that takes more than " + std::to_string(bytes_ >> 30) + " GiB (" +
                         name_ + "), allowed: what an accelerator has");
        }
        void* memory = nullptr;
        if (!allocate_shared(&memory, bytes).empty()) throw std::bad_alloc();
        check(gpu::clear(memory, bytes));
        check(wait());
        sizes_[memory] = bytes;
        unsettled_.push_back(memory);
        held_ += bytes;
        return memory;
    }
    void release(void* memory) noexcept override {
        const auto found = sizes_.find(memory);
        if (found == sizes_.end()) return;
        held_ -= found->second;
        sizes_.erase(found);
        gpu::release(memory);
    }
    void settle() override {
        for (void* const memory : unsettled_) {
            if (const auto found = sizes_.find(memory); found != sizes_.end()) check(bring(memory, found->second));
        }
        unsettled_.clear();
        check(wait());
    }
    void copy(void* to, const void* from, std::size_t bytes) override {
        if (bytes > 0) check(gpu::copy(to, from, bytes));
    }

    void launch(std::vector<InHand>& points, std::uint64_t windows) override {
        unsigned blocks = points.at(0).common->lanes / threads_of_block;  // of each
        Together* next = together_;
        for (const InHand& point : points) *next++ = {point, windows, blocks, 0};
        *told_ = {};
        void* arguments[] = {&together_, &blocks, &told_};
        const auto all = static_cast<int>(blocks * points.size());
        check(launch_together(handle_windows, all, threads_of_block, arguments));
        const std::string error = wait();
        if (told_->reported != 0) throw_told();
        check(error);
        next = together_;
        for (InHand& point : points) point = (next++)->point;
    }

private:
    std::string open() {
        int count = 0, processors = 0, of_processor = 0;
        bool cooperates = false, shares = false;
        std::string why = count_devices(count);
        if (!why.empty()) return "the driver says: " + why;
        if (count == 0) return "this machine has none";
        why = describe(name_, bytes_, processors, cooperates, shares);
        if (!why.empty()) return "the driver says: " + why;
        if (!cooperates || !shares) return name_ + " launches no blocks together, or shares no memory with its host";
        why = set_stack(stack_bytes);
        if (why.empty()) why = most_blocks(of_processor, handle_windows, threads_of_block);
        if (why.empty() && of_processor == 0) why = "a block has no room";
        blocks_ = processors * of_processor;
        const std::size_t most = sizeof(Together) * static_cast<std::size_t>(blocks_);
        if (why.empty()) why = allocate_shared(reinterpret_cast<void**>(&together_), most);
        if (why.empty()) why = allocate_on_host(reinterpret_cast<void**>(&told_), sizeof(Obituary));
        return why.empty() ? why : name_ + ": " + why;
    }

    static void check(const std::string& error) {
        if (!error.empty()) throw std::runtime_error("device: the accelerator's driver says: " + error);
    }
    [[noreturn]] void throw_told() const {
        const std::string what = told_->what;
        if (told_->kind == Failure::invalid) throw std::invalid_argument(what);
        if (told_->kind == Failure::logic) throw std::logic_error(what);
        throw std::runtime_error(what);
    }

    static constexpr std::size_t stack_bytes = 8192;

    std::string name_;
    std::uint64_t bytes_ = 0, held_ = 0;
    std::unordered_map<void*, std::size_t> sizes_;
    std::vector<void*> unsettled_;  // allocated since `settle`; some may have been released
    int blocks_ = 0;
    Together* together_ = nullptr;
    Obituary* told_ = nullptr;
};

}  // namespace device::gpu

__device__ void end_kernel(Failure kind, const char* what) {
    device::gpu::Obituary* const tell = device::gpu::obituary;
    if (atomicExch(&tell->reported, 1U) == 0U) {
        tell->kind = kind;
        int i = 0;
        for (; i + 1 < device::gpu::Obituary::length && what[i] != 0; ++i) tell->what[i] = what[i];
        tell->what[i] = 0;
        __threadfence_system();
#if defined(__HIPCC__)
        abort();
#else
        __trap();
#endif
    }
    while (true) {  // until the first one has told
    }
}

}  // namespace tramontane

extern "C" [[gnu::visibility("default")]] tramontane::device::Accelerator* tramontane_open_accelerator(
    const tramontane::device::Layout& expected, const char** why) {
    using namespace tramontane::device;
    static std::string reason;
    if (!(expected == Layout{sizeof(Common), sizeof(Worker), sizeof(tramontane::NodeRecords::Node),
                             sizeof(tramontane::CacheLine)})) {
        *why = "libtramontane-gpu.so was made of other sources (make setup GPU=1)";
        return nullptr;
    }
    static gpu::Gpu found(reason);
    *why = reason.c_str();
    return reason.empty() ? &found : nullptr;
}
