#include "device/simulate.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <exception>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/lane.hpp"
#include "setting.hpp"
#include "sums.hpp"
#include "thread_team.hpp"

namespace tramontane::device {
namespace {

/// What an accelerator would be no help for, or what nobody has made for it. All of it is refused: what is left out in
/// silence would be another result.
void refuse_others(const Machine& machine, const Schedule& schedule, const Run& run) {
    const auto refuse = [](const std::string& what) {
        throw std::invalid_argument("device: the device engine has no " + what);
    };
    if (machine.model != "default") refuse("machine.model '" + machine.model + "'");
    if (machine.routing == "ugal-g") refuse("machine.routing 'ugal-g', which looks at all switches at once");
    if (run.steady_error > 0 || run.limit.set()) refuse("runs that may end early (steady, a limit)");
    if (run.links.on) refuse("statistics.links");
    if (run.waiting_bins > 0 || !run.timeline.empty()) refuse("statistics.waiting, and no timeline");
    // A rank's packets draw their random numbers by their count, over all its NICs; and which NIC is served first
    // depends on when each of them is looked at, as long as nobody can see the difference. Here that is at other times.
    const bool one_each = machine.nic_choice == NicChoice::rank || machine.nic_choice == NicChoice::block;
    if (machine.nics > 1 && (!one_each || machine.stripe_above > 0)) {
        refuse("ranks that use several NICs (node.nic_choice other than rank and block, node.stripe_above)");
    }
    if (schedule.graph() != nullptr) refuse("graphs of operations (trace, GOAL)");
}

/// One lane and what it sees.
struct alignas(64) Worker {
    Worker(Common& common, const Setting& setting, const Machine& machine, const Schedule& schedule, const Run& run,
           Switches::Store& switch_store, NodeStore& node_store)
        : lane(common),
          switches(lane, *setting.topology, setting.router, switch_store),
          nodes(lane, switches, machine, *setting.topology, setting.places, setting.allocation, schedule,
                Noise(run.noise, run.seed), node_store) {
        lane.delays = Delays(run.congestion_bins, setting.ranks);
    }

    /// Handles what happens at an LP in this window.
    void visit(LpId lp) {
        lane.visit(
            lp, [&](const Pending& event, Ticks time) { take_back(lp, event, time); },
            [&](const Pending& event, Ticks now) { handle(lp, event, now); });
    }

    Lane lane;
    Switches switches;
    Nodes nodes;

private:
    void take_back(LpId lp, const Pending& event, Ticks time) {
        if ((event.code & 15) == Lane::to_switch) return switches.take_back(lp, event.code, time, event.item);
        switches.take_from_switch(lane.place_of(lp, event.code), time, event.item);
    }
    void handle(LpId lp, const Pending& event, Ticks now) {
        switch (kind_of(event.code)) {
            case EventKind::crossbar_credit:
                return switches.crossbar_goes_on(lp, event.code, now);
            case EventKind::output_credit:
                return switches.link_goes_on(lp, event.code, now);
            case EventKind::nic_wake:
                return nodes.nic_goes_on(lane.place_of(lp, event.code), now);
            case EventKind::start:
                return nodes.rank_starts(lane.place_of(lp, event.code), now);
            case EventKind::resume:
                return nodes.resume(lane.place_of(lp, event.code), now);
            case EventKind::head_arrival:
                return switches.head_arrives(lp, event.item, now);
            case EventKind::crossbar_exit:
                return switches.head_leaves_crossbar(lp, event.item, now);
            case EventKind::message_arrival:
                return nodes.message_arrives(lane.place_of(lp, event.code), event.code, event.item, now);
        }
    }
};

/// Windows one after the other. All lanes meet twice in each: when its events have been handled, and when the next one
/// is known.
class Launch {
public:
    Launch(Common& common, std::vector<std::unique_ptr<Worker>>& workers, const Form& form)
        : common_(common),
          workers_(workers),
          form_(form),
          barrier_(static_cast<std::uint32_t>(workers.size())),
          errors_(workers.size()) {}

    /// Handles so many windows, if there are. \param window the first one
    /// \return the next one
    std::uint64_t run(std::uint64_t window) {
        window_ = window;
        left_ = form_.windows;
        {
            std::vector<std::jthread> threads;
            try {
                for (std::uint32_t lane = 1; lane < workers_.size(); ++lane) {
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
                for (const LpId lp : found) workers_[lane]->visit(lp);
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
        for (std::uint32_t word = lane; word < agenda.words(); word += static_cast<std::uint32_t>(workers_.size())) {
            for (std::uint32_t bits = agenda.take_busy(word); bits != 0; bits &= bits - 1) {
                found.push_back(word * 32 + static_cast<std::uint32_t>(std::countr_zero(bits)));
            }
        }
        if (form_.shuffle == 0) return;
        for (std::size_t i = found.size(); i > 1; --i) {
            std::swap(found[i - 1], found[below(random_bits(form_.shuffle, agenda.window(), i), i)]);
        }
    }

    void turn() {
        try {
            common_.turn();
            window_ = common_.agenda.turn();
        } catch (...) {
            fail(0);
        }
        left_ = failed_ || common_.crowded() ? 0 : left_ - 1;  // nobody else may end a lane: others would wait for it
    }

    void fail(std::uint32_t lane) {
        if (!errors_[lane]) errors_[lane] = std::current_exception();
        failed_ = true;
    }

    Common& common_;
    std::vector<std::unique_ptr<Worker>>& workers_;
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
                 const std::function<void()>& poll) {
    refuse_others(machine, schedule, run);
    const auto entered = std::chrono::steady_clock::now();
    const Setting setting(machine, schedule, run);
    Common common(machine, *setting.topology, run.seed, setting.places, run.window);
    Switches::Store switch_store;
    NodeStore node_store(machine, setting.places, schedule, common.parameters);
    std::vector<std::unique_ptr<Worker>> workers;
    while (workers.size() < std::max(form.lanes, 1U)) {
        workers.push_back(std::make_unique<Worker>(common, setting, machine, schedule, run, switch_store, node_store));
    }
    setting.each_start(run,
                       [&](Ticks time, LpId lp, std::uint32_t code) { common.agenda.push(time, lp, code, none, 0); });

    Outcome outcome;
    outcome.threads = static_cast<std::uint32_t>(workers.size());
    outcome.setup_s = seconds_since(entered);
    const auto begun = std::chrono::steady_clock::now();
    common.turn();
    for (std::uint64_t window = common.agenda.begin(); window != Agenda::ended;) {
        window = Launch(common, workers, form).run(window);
        poll();
        common.grow();
    }
    outcome.wall_s = seconds_since(begun);

    Sums sums;
    outcome.delays = Delays(run.congestion_bins, setting.ranks);
    for (const auto& worker : workers) {
        sums.add(worker->lane, worker->nodes);
        outcome.delays.add(worker->lane.delays);
    }
    if (sums.ended < setting.ranks) {
        throw std::runtime_error("deadlock: " + std::to_string(setting.ranks - sums.ended) + " of " +
                                 std::to_string(setting.ranks) + " ranks never end");
    }
    sums.verify();
    sums.tell(outcome, schedule);
    outcome.imbalance = node_store.imbalance(setting.places.count());
    outcome.network_bytes = workers[0]->switches.memory();
    return outcome;
}

}  // namespace tramontane::device
