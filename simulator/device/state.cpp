#include "device/state.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/event_queue.hpp"
#include "engine/ledger.hpp"
#include "engine/steady.hpp"
#include "engine/unpacking.hpp"
#include "rules/link_meter.hpp"

namespace tramontane::device {
namespace {

/// An array that has as many elements in every run of a point.
template <class T>
void keep_array(StateFile& file, const Array<T>& array) {
    file.array(array.get(), array.size());
}

/// What calls `f(meter)` for the meters of all links; see LinkBins.
auto each_meter(const State& state) {
    return [&state](auto&& f) {
        state.workers.front().switches.each_meter([&](SwitchId, Port, LinkMeter& meter) { f(meter); });
        for (LinkMeter& meter : std::span(state.nodes.injections.get(), state.nodes.injections.size())) f(meter);
    };
}

}  // namespace

void UnpackingArrays::keep(StateFile& file, const Schedule& schedule) {
    if (due.size() == 0) return;
    file.list(due.get(), due.size());
    for (std::uint32_t rank = 0; rank < orders.size(); ++rank) {
        UnpackingOrder& own = orders[rank];
        std::uint64_t next = own.next;
        std::vector<Unpacking::Receive> by_source;
        std::vector<std::uint8_t> all(own.receives);
        Unpacking::sort(schedule, static_cast<Rank>(rank), own.round, static_cast<std::int32_t>(own.receives),
                        by_source);
        for (std::uint32_t i = 0; i < own.receives; ++i) all[i] = is_there(rank, i) ? 1 : 0;
        file(own.round);
        file(next);
        file(by_source);
        file(all);
        if (!file.reading()) continue;
        own.next = static_cast<std::uint32_t>(next);
        own.receives = static_cast<std::uint32_t>(all.size());
        if (std::size_t{words} * 32 < all.size()) throw std::runtime_error("checkpoint: of another point");
        for (std::uint32_t i = 0; i < own.receives; ++i) {
            if (all[i] != 0) come(rank, i);
        }
    }
}

Sums State::sums() const {
    Sums sums;
    const std::size_t phases = common.phases;
    for (std::uint32_t lane = 0; lane < common.lanes; ++lane) {
        sums.add(common.ends[lane], {common.spans.get() + lane * phases, phases},
                 {common.totals.get() + lane * phases, phases});
    }
    for (std::size_t i = 0; i < common.tallies.size(); ++i) sums.counts.add(common.tallies[i].counted.all());
    sums.packets = common.packets.used(at_hand(&LaneState::packets).size());
    sums.transactions = common.transactions.used(at_hand(&LaneState::transactions).size());
    return sums;
}

Delays State::delays() const {
    Delays delays(run.congestion_bins, common.ranks);
    for (std::size_t i = 0; i < common.tallies.size(); ++i) common.tallies[i].tell(delays);
    delays.matrix.add(common.congestion.get());
    return delays;
}

void State::collect_link_use() {
    if (common.link_bins.wanted()) common.link_bins.collect(over_time, each_meter(*this));
}

void State::write(StateFile& file) {
    workers.front().give_ahead();
    collect_link_use();
    std::uint32_t threads = 1;
    file(threads);
    keep(file);
}

void State::read(StateFile& file) {
    std::uint32_t threads = 0;
    file(threads);
    if (threads != 1) {
        throw std::invalid_argument("device: found a checkpoint of " + std::to_string(threads) +
                                    " threads, allowed: cpu");
    }
    keep(file);
    if (common.link_bins.wanted()) common.link_bins.go_on(over_time, each_meter(*this));
}

/// In the order of Part::keep (simulation.cpp), with what the first lane has where there is one for each thread.
void State::keep(StateFile& file) {
    common.packets.keep(file, at_hand(&LaneState::packets));
    common.credits.keep(file, at_hand(&LaneState::credits));
    common.gaps.keep(file, at_hand(&LaneState::gaps));
    common.open_rounds.keep(file, at_hand(&LaneState::open_rounds));
    common.transactions.keep(file, at_hand(&LaneState::transactions));
    common.messages.keep(file, at_hand(&LaneState::messages));
    for (Worker& worker : workers) worker.lane.renew();
    keep_counts(file);
    keep_events(file);
    keep_switches(file);
    keep_nodes(file);
}

void State::keep_counts(StateFile& file) {
    Statistics statistics = sums().counts;
    Delays all = delays();
    Ledger ledger;
    for (const Worker& worker : workers) ledger.add(worker.lane.ledger);
    file(statistics);
    all.keep(file);
    over_time.keep(file);
    file(ledger);
    if (!file.reading()) return;
    workers.front().lane.ledger = ledger;
    common.tallies[0].counted.begin(statistics);
    common.tallies[0].begin(all);
    for (std::uint32_t source = 0; source < common.congestion_bins; ++source) {
        for (std::uint32_t destination = 0; destination < common.congestion_bins; ++destination) {
            common.congestion[std::size_t{source} * common.congestion_bins + destination] =
                all.matrix.at(source, destination);
        }
    }
}

void State::keep_events(StateFile& file) {
    Agenda& agenda = common.agenda;
    std::uint64_t window = agenda.window();
    std::vector<Index> pending;
    if (!file.reading()) {
        pending = agenda.take_all();
        Agenda::Soon soon;
        // Before anything is written: the run goes on with all of them where that fails.
        for (const Index i : pending) agenda.push(i, agenda.events()[i].time, agenda.events()[i].site, soon);
        agenda.note(soon);
    }
    std::uint64_t count = pending.size();
    file(window);
    file(count);
    if (file.reading()) agenda.go_to(window);
    Lane& lane = workers.front().lane;
    EventQueue::Later event{};
    for (std::uint64_t i = 0; i < count; ++i) {
        if (file.reading()) {
            file(event);
            lane.start(event.time, event.event.lp, event.event.code, event.event.item);
        } else {
            const Pending& own = agenda.events()[pending[i]];
            event = {own.time, {0, common.sites.lp(own.site), own.item, own.code}};
            file(event);
        }
    }

    // Of each queue, one lane has counted what waits there. So what begins to wait later must have a larger number than
    // any of them has given, modulo 2^32.
    std::uint32_t orders = lane.orders();
    for (const LaneState& state : each_state()) {
        if (static_cast<std::int32_t>(state.order - orders) > 0) orders = state.order;
    }
    file(orders);
    for (LaneState& state : each_state()) state.order = orders;
}

void State::keep_switches(StateFile& file) {
    file.list(switches.turns.get(), switches.turns.size());
    std::vector<SwitchId> met;
    for (SwitchId at = 0; at < common.switches; ++at) {
        if (switches.was_met(at)) met.push_back(at);
    }
    file(met);
    const std::size_t lines = switches.lines.size() / common.switches;
    for (const SwitchId at : met) {
        if (at >= common.switches) throw std::runtime_error("checkpoint: of another point");
        switches.records[at] = switches.lines.get() + at * lines;
        file.array(switches.records[at], lines);
        if (switches.visited.size() > 0) switches.visited[at] = 1;
    }
    keep_array(file, switches.injections);
}

void State::keep_nodes(StateFile& file) {
    keep_array(file, nodes.nodes);
    keep_array(file, nodes.open);
    keep_array(file, nodes.memory_until);  // nothing, here and below, where nobody asks for it
    keep_array(file, nodes.next_message);
    keep_array(file, nodes.unexpected);
    common.unpacking.keep(file, schedule);
    keep_array(file, nodes.injections);
    if (nodes.graph.records() != nullptr) nodes.graph.records()->keep(file, common.ranks);
    Repeats(schedule.ranks(), schedule.rounds(), schedule.repeats(), 0).keep(file);
    Sums all = sums();
    file(all.ends.span);
    file(all.phases);
    file(all.totals);
    file(all.ends.ended);
    if (!file.reading()) return;
    common.ends[0] = all.ends;
    std::copy(all.phases.begin(), all.phases.end(), common.spans.get());
    std::copy(all.totals.begin(), all.totals.end(), common.totals.get());
}

}  // namespace tramontane::device
