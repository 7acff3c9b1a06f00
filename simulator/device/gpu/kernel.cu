// The kernel, and what drives it from the host: the same lanes as simulator/device has on threads, one for each thread
// of the accelerator. Compiled by nvcc or hipcc into a library of its own (CMake: TRAMONTANE_CUDA, TRAMONTANE_HIP).
//
// One launch handles many windows, for which all its threads stay: in each, a lane handles what some sites have, one
// site after the other; then it delivers, with the others of its warp, what they have sent; then all meet, and the last
// that comes goes on to the next window that has events. A launch ends when no window is left, when so many have been
// handled, or when room gets scarce; only then the host looks. Of several points each has blocks of its own, which meet
// no others.
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

// Each warp has sites of its own, and what a window takes is how long the busiest one is at it.
constexpr std::uint32_t threads_of_warp = Agenda::bits_of_word;
#if defined(__HIPCC__)
constexpr std::size_t bytes_beside = 0;  ///< of a thread in its multiprocessor's memory
#else
constexpr std::size_t bytes_beside = sizeof(LaneState);
#endif

/// What a kernel that has ended itself leaves behind, in memory of the host.
struct Obituary {
    static constexpr int length = 256;
    unsigned begun;     ///< by the thread that reports
    unsigned reported;  ///< all of it is there
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

/// All threads of a point's blocks meet, and see what the others have written. The warp that comes last calls `then()`
/// before the others go on.
template <class Then>
__device__ void meet(Together* together, unsigned blocks, Then&& then) {
    __syncthreads();
    if (threadIdx.x < threads_of_warp) {
        const bool first = threadIdx.x == 0;
        volatile unsigned* const generation = &together->generation;
        unsigned before = 0;
        bool last = false;
        if (first) {
            __threadfence();
            before = *generation;
            last = atomicSub(&together->missing, 1U) == 1U;
        }
        if (any_in_step(last)) {
            __threadfence();
            then();
            meet_in_step();
            if (first) {
                together->missing = blocks;
                __threadfence();
                atomicAdd(&together->generation, 1U);
            }
        } else if (first) {
            while (*generation == before) {
            }
        }
        __threadfence();
    }
    __syncthreads();
}

/// The threads of a warp share out what each of them has found, so that they are at it in step. Calls
/// `take(thread, index, mine)` for each: what a thread has found is taken by one for which it is `mine`; all call it.
/// \param own how much this thread has found
template <class Take>
__device__ void share_out(std::uint32_t own, Take&& take) {
    const std::uint32_t thread = threadIdx.x % threads_of_warp;
    std::uint32_t upto = own;  // of this thread and those before it
    for (std::uint32_t step = 1; step < threads_of_warp; step *= 2) {
        const std::uint32_t before = of_lower(upto, step);
        if (thread >= step) upto += before;
    }
    const std::uint32_t all = of_thread(upto, threads_of_warp - 1);
    for (std::uint32_t first = 0; first < all; first += threads_of_warp) {
        const std::uint32_t turn = first + thread;
        std::uint32_t found = 0;  // the thread that has found what this one takes
        for (std::uint32_t step = threads_of_warp / 2; step > 0; step /= 2) {
            if (of_thread(upto, found + step - 1) <= turn) found += step;
        }
        take(found, turn - of_thread(upto - own, found), turn < all);
        meet_in_step();
    }
}

/// What a warp does in a window. \param warp and warps its number, and how many there are
/// \param first_lane the number of its first thread among the point's lanes
__device__ void handle_window(Agenda& agenda, const Sites& sites, Worker& worker, std::uint32_t warp,
                              std::uint32_t warps, std::uint32_t first_lane) {
    const std::uint32_t thread = threadIdx.x % threads_of_warp;
    std::uint32_t orders = 0;
    bool any = false;
    for (std::uint32_t first = warp; first < agenda.words(); first += threads_of_warp * warps) {
        const std::uint32_t word = first + thread * warps;
        const std::uint32_t bits = word < agenda.words() ? agenda.busy(word) : 0;
        if (!any_in_step(bits != 0)) continue;
        if (bits != 0) agenda.clear_busy(word);
        if (!any) orders = worker.lane.orders();
        any = true;
        // At first all that happens at switches, then at nodes: so threads in step, and warps of a processor, are at
        // the same instructions, of which their cache holds few.
        const std::uint32_t of_switches = bits & agenda.bits_before(word, sites.first_node());
#pragma unroll 1
        for (const std::uint32_t these : {of_switches, bits & ~of_switches}) {
            share_out(static_cast<std::uint32_t>(__popc(these)),
                      [&](std::uint32_t found, std::uint32_t index, bool mine) {
                          std::uint32_t left = of_thread(these, found);
                          if (!mine) return;
                          for (; index > 0; --index) left &= left - 1;
                          worker.visit(agenda.site(first + found * warps, trailing_zeros(left)));
                      });
        }
    }
    if (!any) return;
    share_out(worker.lane.sent_count(), [&](std::uint32_t found, std::uint32_t index, bool mine) {
        if (mine) worker.lane.deliver(worker.lane.sent(first_lane + found)[index]);
    });
    worker.lane.clear_sent();
    worker.lane.tell();
    // A site may be another thread's next time: so all of them go on to count from the same number.
    if (!any_in_step(worker.lane.orders() != orders)) return;
    orders = worker.lane.orders();
    for (std::uint32_t step = 1; step < threads_of_warp; step *= 2) {
        const std::uint32_t other = of_thread(orders, thread ^ step);
        if (static_cast<std::int32_t>(other - orders) > 0) orders = other;
    }
    worker.lane.set_orders(orders);
}

__global__ void __launch_bounds__(threads_of_block, 1)
    handle_windows(Together* points, unsigned blocks, Obituary* tell) {
    Together* const together = points + blockIdx.x / blocks;
    Common* const common = together->point.common;
    // Neighbours among sites are often busy at the same time. So they belong to different processors, then to different
    // warps of a processor, and only then to the same warp.
    const std::uint32_t warps = blocks * blockDim.x / threads_of_warp;
    const std::uint32_t warp = threadIdx.x / threads_of_warp * blocks + blockIdx.x % blocks;
    if (warp == 0 && threadIdx.x % threads_of_warp == 0) obituary = tell;
    const std::uint32_t number = blockIdx.x % blocks * blockDim.x + threadIdx.x;
    LaneState& kept = common->states[number];
    LaneState* const own = OwnState(common->states.get(), common->lanes).operator->();
    if (own != &kept) *own = kept;
    meet(together, blocks, [] {});
    Agenda& agenda = common->agenda;
    while (together->point.window != Agenda::ended && together->left > 0) {
        handle_window(agenda, common->sites, *together->point.workers, warp, warps,
                      number - threadIdx.x % threads_of_warp);
        meet(together, blocks, [&] {
            const std::uint32_t thread = threadIdx.x % threads_of_warp;
            const bool crowded = any_in_step(thread < Common::pools && common->turn_records(thread));
            if (thread > 0) return;
            together->point.window = agenda.turn();
            together->left = crowded ? 0 : together->left - 1;
        });
    }
    if (own != &kept) kept = *own;
}

}  // namespace

/// An accelerator that CUDA or HIP drives: the first one.
class Gpu final : public Accelerator {
public:
    /// \param why gets what is missing, if it is not empty then
    explicit Gpu(std::string& why) { why = open(); }

    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] std::uint32_t lanes(std::uint32_t wanted) const override {
        const auto all = static_cast<std::uint32_t>(blocks_) * threads_;
        return std::min(all, std::max(1U, wanted / threads_) * threads_);
    }
    [[nodiscard]] std::uint32_t most_points() const override { return static_cast<std::uint32_t>(blocks_); }
    [[nodiscard]] std::uint32_t in_step() const override { return threads_of_warp; }

    /// What does not fit is refused: a driver would move memory to the host and back, without an end.
    [[nodiscard]] void* allocate(std::size_t bytes) override {
        bytes = std::max<std::size_t>(bytes, 1);
        if (held_ + bytes > bytes_ / 16 * 15) {
            throw NoRoom("device: found a point that takes more than the " + std::to_string(bytes_ >> 30) +
                         " GiB that were free (" + name_ + "), allowed: cpu");
        }
        void* memory = nullptr;
        std::string error = allocate_shared(&memory, bytes);
        if (!error.empty()) {
            throw NoRoom("device: found a point for whose memory the driver of " + name_ + " says: " + error +
                         ", allowed: cpu");
        }
        sizes_[memory] = bytes;
        held_ += bytes;
        error = gpu::clear(memory, bytes);
        if (error.empty()) error = wait();
        if (!error.empty()) release(memory);
        check(error);
        unsettled_.push_back(memory);
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
        unsigned blocks = points.at(0).common->lanes / threads_;  // of each
        Together* next = together_;
        for (const InHand& point : points) *next++ = {point, windows, blocks, 0};
        *told_ = {};
        void* arguments[] = {&together_, &blocks, &told_};
        const auto all = static_cast<int>(blocks * points.size());
        check(launch_together(handle_windows, all, static_cast<int>(threads_), threads_ * bytes_beside, arguments));
        const std::string error = wait();
        if (told_->reported != 0) throw_told();
        check(error);
        next = together_;
        for (InHand& point : points) point = (next++)->point;
    }

private:
    std::string open() {
        int count = 0, processors = 0, of_processor = 0;
        std::size_t beside = 0;
        bool cooperates = false, shares = false;
        std::string why = count_devices(count);
        if (!why.empty()) return "the driver says: " + why;
        if (count == 0) return "this machine has none";
        why = describe(name_, bytes_, processors, beside, cooperates, shares);
        if (!why.empty()) return "the driver says: " + why;
        if (!cooperates || !shares) return name_ + " launches no blocks together, or shares no memory with its host";
        while (threads_ * bytes_beside > beside) threads_ -= 4 * threads_of_warp;
        why = set_stack(stack_bytes);
        if (why.empty()) why = allow_shared(handle_windows, threads_ * bytes_beside);
        if (why.empty())
            why = most_blocks(of_processor, handle_windows, static_cast<int>(threads_), threads_ * bytes_beside);
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
    std::size_t bytes_ = 0, held_ = 0;  // free when it was opened, and of these ours
    std::unordered_map<void*, std::size_t> sizes_;
    std::vector<void*> unsettled_;  // allocated since `settle`; some may have been released
    int blocks_ = 0;
    std::uint32_t threads_ = threads_of_block;  // fewer where their states have no room
    Together* together_ = nullptr;
    Obituary* told_ = nullptr;
};

}  // namespace device::gpu

__device__ void end_kernel(Failure kind, const char* what) {
    device::gpu::Obituary* const tell = device::gpu::obituary;
    if (atomicExch(&tell->begun, 1U) == 0U) {
        tell->kind = kind;
        int i = 0;
        for (; i + 1 < device::gpu::Obituary::length && what[i] != 0; ++i) tell->what[i] = what[i];
        tell->what[i] = 0;
        __threadfence_system();
        *static_cast<volatile unsigned*>(&tell->reported) = 1;
        __threadfence_system();
    }
    // The others wait here, not in a branch of their own: AMD's threads in step would be at that one for ever, and the
    // one that reports with them. And a loop that looks at nothing its compiler takes for one that is never reached.
    while (*static_cast<volatile unsigned*>(&tell->reported) == 0) {
    }
#if defined(__HIPCC__)
    abort();
#else
    __trap();
#endif
}

}  // namespace tramontane

extern "C" [[gnu::visibility("default")]] tramontane::device::Accelerator* tramontane_open_accelerator(
    const tramontane::device::Layout& expected, const char** why) {
    using namespace tramontane::device;
    static std::string reason;
    if (!(expected == Layout{sizeof(Common), sizeof(Worker), sizeof(LaneState), sizeof(tramontane::NodeRecords::Node),
                             sizeof(tramontane::CacheLine)})) {
        *why = "libtramontane-gpu.so was made of other sources (make setup GPU=1)";
        return nullptr;
    }
    static gpu::Gpu found(reason);
    *why = reason.c_str();
    return reason.empty() ? &found : nullptr;
}
