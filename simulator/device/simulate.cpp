#include "device/simulate.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/accelerator.hpp"
#include "device/common.hpp"
#include "device/memory.hpp"
#include "device/state.hpp"
#include "device/worker.hpp"
#include "link_totals.hpp"
#include "node_store.hpp"
#include "setting.hpp"
#include "sums.hpp"
#include "thread_team.hpp"

namespace tramontane::device {
namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw std::invalid_argument("device: found " + what + ", allowed: cpu");
}

/// What an accelerator would be no help for, or what nobody has made for it. All of it is refused: what is left out in
/// silence would be another result.
void refuse_others(const Machine& machine, const Schedule& schedule, const Run& run) {
    if (machine.model != "default") refuse("machine.model '" + machine.model + "'");
    if (machine.routing == "ugal-g") refuse("machine.routing 'ugal-g', which looks at all switches at once");
    if (run.steady_error > 0 || run.limit.set()) refuse("runs that may end early (steady, a limit)");
    if (run.links.bins > 0) refuse("statistics.bins");
    if (run.waiting_bins > 0 || !run.timeline.empty()) refuse("statistics.waiting, and no timeline");
    if (schedule.graph() != nullptr) refuse("graphs of operations (trace, GOAL)");
    if (schedule.receives_in_turn()) refuse("receives in turn (calls: isend-recv)");
    if (machine.unpack_per_byte > 0 && machine.unpacks_in_order) refuse("unpacking in the order of receives");
}

/// Objects that lie in a memory that lanes see.
template <class T>
class In {
public:
    In(Memory& memory, std::size_t room) : objects_(memory, room * sizeof(T)) {}
    In(const In&) = delete;
    In& operator=(const In&) = delete;
    ~In() {
        while (count_ > 0) get()[--count_].~T();
    }
    template <class... Of>
    T& add(Of&&... of) {
        T& made = *::new (static_cast<void*>(get() + count_)) T(std::forward<Of>(of)...);
        ++count_;
        return made;
    }
    [[nodiscard]] T* get() const { return reinterpret_cast<T*>(objects_.get()); }
    [[nodiscard]] std::size_t size() const { return count_; }

private:
    Array<std::byte> objects_;
    std::size_t count_ = 0;
};

/// Windows one after the other. All lanes meet twice in each: when its events have been handled, and when the next one
/// is known.
class Launch {
public:
    Launch(Common& common, Worker* workers, const Form& form)
        : common_(common), workers_(workers), form_(form), barrier_(common.lanes), errors_(common.lanes) {}

    /// Handles so many windows, if there are. \param window the first one
    /// \return the next one
    std::uint64_t run(std::uint64_t window) {
        window_ = window;
        left_ = form_.windows;
        {
            std::vector<std::jthread> threads;
            try {
                for (std::uint32_t lane = 1; lane < common_.lanes; ++lane) {
                    threads.emplace_back([this, lane] {
                        go_.wait(Go::not_yet);
                        if (go_ == Go::now) work(lane);
                    });
                }
            } catch (...) {  // there may be no more threads
                let(Go::never);
                throw;
            }
            let(Go::now);
            work(0);
        }
        for (const std::exception_ptr& error : errors_) {
            if (error) std::rethrow_exception(error);
        }
        return window_;
    }

private:
    enum class Go : std::uint8_t { not_yet, now, never };
    void let(Go go) {
        go_ = go;
        go_.notify_all();
    }

    void work(std::uint32_t lane) {
        std::vector<LpId> found;
        int spins = Barrier::most_spins;
        while (window_ != Agenda::ended && left_ > 0) {
            try {
                find(lane, found);
                for (const LpId lp : found) workers_[lane].visit(lp);
            } catch (...) {
                fail(lane);
            }
            barrier_.arrive_and_wait(spins);
            if (lane == 0) turn();
            barrier_.arrive_and_wait(spins);
        }
    }

    /// The lane's LPs that have something in this window. Each has whole words of bits.
    void find(std::uint32_t lane, std::vector<LpId>& found) const {
        found.clear();
        Agenda& agenda = common_.agenda;
        for (std::uint32_t word = lane; word < agenda.words(); word += common_.lanes) {
            std::uint32_t bits = agenda.busy(word);
            if (bits != 0) agenda.clear_busy(word);
            for (; bits != 0; bits &= bits - 1) {
                found.push_back(agenda.lp(word, static_cast<std::uint32_t>(std::countr_zero(bits))));
            }
        }
        if (form_.shuffle == 0) return;
        for (std::size_t i = found.size(); i > 1; --i) {
            std::swap(found[i - 1], found[below(random_bits(form_.shuffle, agenda.window(), i), i)]);
        }
    }

    void turn() {
        bool crowded = false;
        try {
            crowded = common_.turn_records();
            window_ = common_.agenda.turn();
        } catch (...) {
            fail(0);
        }
        left_ = failed_ || crowded ? 0 : left_ - 1;  // nobody else may end a lane: others would wait for it
    }

    void fail(std::uint32_t lane) {
        if (!errors_[lane]) errors_[lane] = std::current_exception();
        failed_ = true;
    }

    Common& common_;
    Worker* const workers_;
    const Form& form_;
    Barrier barrier_;
    std::vector<std::exception_ptr> errors_;
    std::atomic<bool> failed_ = false;
    std::atomic<Go> go_ = Go::not_yet;     // whether there are all threads
    std::uint64_t window_ = 0, left_ = 0;  // written between the two barriers
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Outcome simulate(const Machine& machine, const Schedule& schedule, const Run& run, const Form& form,
                 const std::function<void()>& poll, const Keeping& keeping) {
    refuse_others(machine, schedule, run);
    const auto entered = std::chrono::steady_clock::now();
    const Setting setting(machine, schedule, run);
    HostMemory host;
    Accelerator* const accelerator = form.accelerator ? &device::accelerator() : nullptr;
    Memory& memory = accelerator == nullptr ? static_cast<Memory&>(host) : *accelerator;
    const std::uint32_t lanes =
        accelerator == nullptr ? std::max(form.lanes, 1U) : accelerator->lanes(form.lanes == 0 ? ~0U : form.lanes);

    In<Common> commons(memory, 1);
    Common& common = commons.add(memory, machine, setting, schedule, run, lanes,
                                 accelerator == nullptr ? form.stride : lanes / accelerator->in_step());
    if (accelerator != nullptr && !common.network.is_computed()) {
        refuse("networks that are tables (a graph, machine.parallel_links) on an accelerator");
    }
    SwitchArrays switch_arrays(memory, common, setting.router.counters());
    NodeArrays node_arrays(memory, machine, common, checked_rounds(schedule.rounds()),
                           injection_meter(*setting.topology));
    In<Worker> workers(memory, lanes);
    for (std::uint32_t number = 0; number < lanes; ++number) {
        workers.add(memory, machine, common, switch_arrays, node_arrays, number);
    }
    State state{schedule, run, common, workers.get(), switch_arrays, node_arrays};
    if (keeping.from.empty()) {
        setting.each_start(run,
                           [&](Ticks time, LpId lp, std::uint32_t code) { workers.get()->lane.start(time, lp, code); });
    } else {
        StateFile file(keeping.from, StateFile::Mode::read);
        state.read(file);
    }

    Outcome outcome;
    outcome.threads = accelerator == nullptr ? lanes : 1;
    outcome.setup_s = seconds_since(entered);
    const auto begun = std::chrono::steady_clock::now();
    common.turn_records();
    if (accelerator != nullptr) accelerator->settle();
    for (std::uint64_t window = common.agenda.begin(); window != Agenda::ended;) {
        window = accelerator == nullptr ? Launch(common, workers.get(), form).run(window)
                                        : accelerator->launch(common, workers.get(), form.windows);
        poll();
        const std::string file = keeping.wanted && window != Agenda::ended ? keeping.wanted() : "";
        if (!file.empty()) write_state(file, keeping, [&](StateFile& written) { state.write(written); });
        common.grow();
    }
    outcome.wall_s = seconds_since(begun);

    outcome.delays = state.delays();
    const Sums sums = state.sums();
    if (sums.ended < setting.ranks) {
        throw std::runtime_error("deadlock: " + std::to_string(setting.ranks - sums.ended) + " of " +
                                 std::to_string(setting.ranks) + " ranks never end");
    }
    sums.verify();
    sums.tell(outcome, schedule);
    if (run.links.on) {
        LinkTotals totals(*setting.topology, common.parameters, run.links);
        workers.get()->switches.each_counted_link(
            [&](SwitchId at, Port port, const LinkMeter& meter) { totals.add(at, port, meter); });
        workers.get()->nodes.each_counted_injection(
            [&](LpId, NodeId node, const LinkMeter& meter) { totals.add(node, 0, meter); });
        totals.tell(outcome);
    }
    outcome.imbalance = imbalance(node_arrays.nodes.get(), setting.places.count(), setting.ranks);
    outcome.network_bytes = workers.get()->switches.memory(switch_arrays);
    return outcome;
}

}  // namespace tramontane::device
