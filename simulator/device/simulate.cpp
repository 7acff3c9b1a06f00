#include "device/simulate.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "device/accelerator.hpp"
#include "device/common.hpp"
#include "device/memory.hpp"
#include "device/on_threads.hpp"
#include "device/state.hpp"
#include "device/worker.hpp"
#include "rules/deadlock.hpp"
#include "setting.hpp"
#include "statistics/first_bins.hpp"
#include "statistics/imbalance.hpp"
#include "statistics/link_totals.hpp"
#include "statistics/sums.hpp"
#include "statistics/waiting.hpp"

namespace tramontane::device {
namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw std::invalid_argument("device: found " + what + ", allowed: cpu");
}

/// What an accelerator would be no help for, or what nobody has made for it. All of it is refused: what is left out in
/// silence would be another result.
const Run& accepted(const Machine& machine, const Run& run) {
    if (machine.model != "default") refuse("machine.model '" + machine.model + "'");
    if (machine.routing == "ugal-g") refuse("machine.routing 'ugal-g', which looks at all switches at once");
    if (run.steady_error > 0 || run.limit.set()) refuse("runs that may end early (steady, a limit)");
    if (!run.timeline.empty()) refuse("a timeline");
    return run;
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

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// What lanes are: threads, or those of an accelerator.
class Lanes {
public:
    explicit Lanes(const Form& form) : form_(form), accelerator_(form.accelerator ? &device::accelerator() : nullptr) {}

    [[nodiscard]] bool accelerated() const { return accelerator_ != nullptr; }
    [[nodiscard]] Memory& memory() { return accelerator_ == nullptr ? static_cast<Memory&>(host_) : *accelerator_; }
    /// Points that can be simulated at once.
    [[nodiscard]] std::size_t most_points() const {
        return accelerator_ == nullptr ? std::size_t{form_.points} : accelerator_->most_points();
    }
    /// Lanes of each of so many points.
    [[nodiscard]] std::uint32_t of_each(std::size_t points) const {
        if (accelerator_ == nullptr) return std::max(form_.lanes, 1U);
        const std::uint32_t all = accelerator_->lanes(form_.lanes == 0 ? ~0U : form_.lanes);
        return accelerator_->lanes(all / static_cast<std::uint32_t>(points));
    }
    [[nodiscard]] std::uint32_t stride(std::uint32_t lanes) const {
        return accelerator_ == nullptr ? form_.stride : lanes / accelerator_->in_step();
    }
    /// Lanes of each point that are in step.
    [[nodiscard]] std::uint32_t in_step() const {
        return accelerator_ == nullptr ? form_.in_step : accelerator_->in_step();
    }
    void settle() {
        if (accelerator_ != nullptr) accelerator_->settle();
    }
    /// Handles so many windows of each point, if there are.
    void launch(std::vector<InHand>& points) {
        if (accelerator_ != nullptr) return accelerator_->launch(points, form_.windows);
        for (InHand& point : points) {
            point.window = OnThreads(*point.common, point.workers, form_).run(point.window);
        }
    }

private:
    const Form& form_;
    HostMemory host_;
    Accelerator* const accelerator_;
};

/// A simulation under way.
class UnderWay {
public:
    UnderWay(const Asked& asked, Lanes& on, std::uint32_t lanes, const Keeping& keeping = {})
        : run_(accepted(asked.machine, asked.run)),
          schedule_(asked.schedule),
          entered_(std::chrono::steady_clock::now()),
          setting_(asked.machine, asked.schedule, asked.run),
          memory_(on.memory()),
          commons_(memory_, 1),
          common_(commons_.add(memory_, asked.machine, setting_, asked.schedule, asked.run, lanes, on.stride(lanes),
                               on.in_step())),
          switch_arrays_(memory_, common_, setting_.router.counters()),
          node_arrays_(memory_, common_, asked.schedule, injection_meter(*setting_.topology)),
          workers_(memory_, on.accelerated() ? 1 : lanes),
          link_use_(use_over_time(*setting_.topology, asked.run.links,
                                  surely_counted(asked.schedule, asked.run, common_.parameters, setting_))) {
        for (std::uint32_t number = 0; number < (on.accelerated() ? 1 : lanes); ++number) {
            workers_.add(memory_, asked.machine, common_, switch_arrays_, node_arrays_,
                         OwnState(common_.states.get() + number, lanes));
        }
        workers_.get()->switches.begin_all();
        if (keeping.from.empty()) {
            setting_.each_start(
                run_, [&](Ticks time, LpId lp, std::uint32_t code) { workers_.get()->lane.start(time, lp, code); });
        } else {
            StateFile file(keeping.from, StateFile::Mode::read);
            state().read(file);
        }
        outcome_.threads = on.accelerated() ? 1 : lanes;
        outcome_.setup_s = seconds_since(entered_);
        const auto begun = std::chrono::steady_clock::now();
        common_.turn_records();
        on.settle();
        window_ = common_.agenda.begin();
        spend(seconds_since(begun));
    }

    [[nodiscard]] bool ended() const { return window_ == Agenda::ended; }
    [[nodiscard]] InHand in_hand() { return {&common_, workers_.get(), window_}; }
    /// After a launch.
    void came_to(std::uint64_t window) { window_ = window; }
    void spend(double seconds) { outcome_.wall_s += seconds; }
    void keep(const std::string& file, const Keeping& keeping) {
        write_state(file, keeping, [&](StateFile& written) { state().write(written); });
    }
    void grow() {
        if (!common_.grow()) return;
        for (Worker* worker = workers_.get(); worker != workers_.get() + workers_.size(); ++worker) {
            worker->lane.renew();
        }
    }

    /// Switches that packets have visited so far.
    [[nodiscard]] std::uint64_t hops() const {
        std::uint64_t hops = 0;
        for (std::size_t i = 0; i < common_.tallies.size(); ++i) hops += common_.tallies[i].counted.all().hops;
        return hops;
    }
    /// The most memory that it has held so far [B].
    [[nodiscard]] std::uint64_t bytes() const { return memory_.most(); }
    /// \pre ended()
    /// \throws std::runtime_error on deadlock
    [[nodiscard]] Outcome outcome() {
        State end = state();
        Outcome& o = outcome_;
        o.delays = end.delays();
        const Sums sums = end.sums();
        sums.verify_ended(setting_.ranks, [&] {
            const Worker& any = *workers_.get();
            std::string text = any.nodes.waiting_ranks(setting_.ranks, 3);
            int limit = 3;
            for (SwitchId at = 0; at < common_.switches && limit > 0; ++at) {
                text += any.switches.waiting_packets(at, limit);
            }
            return text;
        });
        sums.verify();
        sums.tell(o, schedule_);
        if (run_.links.on) {
            end.collect_link_use();
            count_links(o, std::vector{&end}, *setting_.topology, common_.parameters, run_.links);
        }
        if (common_.waiting.on) {
            o.waiting = mean_waiting(
                setting_.ranks, run_.waiting_bins, [&](std::uint32_t rank) { return common_.waiting.ranks[rank].sums; },
                [&](std::uint32_t rank) { return common_.waiting.storage_of(rank); });
        }
        o.imbalance = imbalance(node_arrays_.nodes.get(), setting_.places.count(), setting_.ranks);
        o.network_bytes = workers_.get()->switches.memory(switch_arrays_);
        o.device_bytes = bytes();
        return std::move(o);
    }

private:
    [[nodiscard]] State state() {
        return {schedule_, run_, common_, {workers_.get(), workers_.size()}, switch_arrays_, node_arrays_, link_use_};
    }

    const Run& run_;
    const Schedule& schedule_;
    const std::chrono::steady_clock::time_point entered_;
    const Setting setting_;
    CountedMemory memory_;
    In<Common> commons_;
    Common& common_;
    SwitchArrays switch_arrays_;
    NodeArrays node_arrays_;
    In<Worker> workers_;
    UseOverTime link_use_;
    Outcome outcome_;
    std::uint64_t window_ = 0;
};

}  // namespace

Outcome simulate(const Machine& machine, const Schedule& schedule, const Run& run, const Form& form, const Poll& poll,
                 const Keeping& keeping) {
    check_keeping(run, keeping);
    Lanes lanes(form);
    UnderWay point({machine, schedule, run}, lanes, lanes.of_each(1), keeping);
    while (!point.ended()) {
        const auto begun = std::chrono::steady_clock::now();
        std::vector<InHand> hand = {point.in_hand()};
        lanes.launch(hand);
        point.came_to(hand[0].window);
        if (poll) poll(point.hops());
        const std::string file = keeping.wanted && !point.ended() ? keeping.wanted() : "";
        if (!file.empty()) point.keep(file, keeping);
        point.grow();
        point.spend(seconds_since(begun));
    }
    return point.outcome();
}

std::uint64_t bytes_at_first(const Machine& machine, const Schedule& schedule, const Run& run, std::uint32_t lanes) {
    const Form form{.lanes = lanes, .in_step = std::clamp(lanes, 1U, 32U)};  // as accelerators have them
    Lanes on(form);
    // Of an accelerator's lanes all have the same worker.
    return UnderWay({machine, schedule, run}, on, lanes).bytes() - (std::max(lanes, 1U) - 1) * sizeof(Worker);
}

namespace {

bool is_for_want_of_memory(const std::exception& error) {
    return dynamic_cast<const NoRoom*>(&error) != nullptr || dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
}

}  // namespace

void simulate_together(const std::vector<Asked>& points, const Form& form, const std::function<void()>& poll,
                       const std::function<void(std::size_t, const Outcome*)>& tell) {
    struct Begun {
        std::size_t number;
        std::unique_ptr<UnderWay> point;
    };
    Lanes lanes(form);
    std::deque<std::size_t> waiting(points.size());
    std::iota(waiting.begin(), waiting.end(), 0);
    const std::size_t most = std::min(points.size(), lanes.most_points());
    std::vector<Begun> begun;
    while (!waiting.empty() || !begun.empty()) {
        while (!waiting.empty() && begun.size() < most) {
            const std::size_t number = waiting.front();
            std::unique_ptr<UnderWay> point;
            try {
                point = std::make_unique<UnderWay>(points[number], lanes, lanes.of_each(most));
            } catch (const std::exception& error) {
                // Memory that others hold is free when one of them has ended.
                if (!begun.empty() && is_for_want_of_memory(error)) break;
            }
            waiting.pop_front();
            if (point == nullptr) {
                tell(number, nullptr);
            } else {
                begun.push_back({number, std::move(point)});
            }
        }
        if (begun.empty()) break;
        const auto launched = std::chrono::steady_clock::now();
        std::vector<InHand> hand;
        for (const Begun& each : begun) hand.push_back(each.point->in_hand());
        lanes.launch(hand);
        poll();
        for (std::size_t i = 0; i < begun.size(); ++i) {
            begun[i].point->came_to(hand[i].window);
            begun[i].point->grow();
        }
        const double share = seconds_since(launched) / static_cast<double>(begun.size());
        for (Begun& each : begun) each.point->spend(share);
        std::erase_if(begun, [&](const Begun& each) {
            if (!each.point->ended()) return false;
            Outcome outcome;
            bool failed = false;
            try {
                outcome = each.point->outcome();
            } catch (const std::exception&) {
                failed = true;
            }
            tell(each.number, failed ? nullptr : &outcome);
            return true;
        });
    }
}

}  // namespace tramontane::device
