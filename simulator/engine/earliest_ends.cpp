#include "engine/earliest_ends.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "engine/engine.hpp"
#include "rules/routing.hpp"
#include "topologies/topology.hpp"

namespace tramontane {
namespace {

/// What a rank has to do in the present round.
struct Work {
    Ticks begin = 0;          ///< when it could begin the round
    Ticks first_arrival = 0;  ///< of the round's messages
    Ticks last_copied = 0;    ///< when the message that would be copied last has been
    Ticks copying = 0;        ///< of everything that arrives
};

class Paths {
public:
    Paths(const Machine& machine, const Topology& topology, const Places& places, const Allocation& allocation)
        : parameters_(machine, topology),
          topology_(topology),
          places_(places),
          allocation_(allocation),
          link_latency_(parameters_.links.least_latency()),
          any_route_(topology.non_minimal_may_be_shorter() && rule_of(machine.routing).non_minimal()) {}

    [[nodiscard]] const Parameters& parameters() const { return parameters_; }

    [[nodiscard]] Ticks time(Rank from, Rank to, std::int64_t bytes) const {
        const NodeId from_node = node_of(from), to_node = node_of(to);
        const Parameters& p = parameters_;
        const auto n = static_cast<Ticks>(bytes);
        if (places_.shared() && from_node == to_node) return p.node_latency + checked_product(n, p.node_slot);
        const SwitchId source = switch_of(from_node), target = switch_of(to_node);
        if (bytes == 0 || bytes <= p.negligible_size) {
            return p.logp_out_in_latency + checked_product(topology_.distance(source, target), p.logp_hop_latency) +
                   checked_product(n, p.logp_slot);
        }
        const Ticks links = any_route_ ? (source == target ? 0 : 1) : topology_.distance(source, target);
        return p.injection_latency + checked_product(links + 1, link_latency_) +
               checked_product(n, p.least_slot) / (places_.stripes() ? places_.nics() : 1);
    }

private:
    [[nodiscard]] NodeId node_of(Rank rank) const {
        return places_.node_of(places_.of(static_cast<std::uint32_t>(rank)));
    }
    [[nodiscard]] SwitchId switch_of(NodeId node) const { return topology_.switch_of(allocation_.node(node)); }

    const Parameters parameters_;
    const Topology& topology_;
    const Places& places_;
    const Allocation& allocation_;
    const Ticks link_latency_;  // of any link, at least
    const bool any_route_;
};

/// Lets `rank` post the sends of a round. Returns when it has.
Ticks send_all(const Schedule& schedule, const Paths& paths, Rank rank, std::int64_t round, std::int32_t sends,
               std::vector<Work>& work) {
    const Parameters& p = paths.parameters();
    Ticks now = work[static_cast<std::size_t>(rank)].begin;
    for (std::int32_t i = 0; i < sends; ++i) {
        const Transfer t = schedule.send(rank, round, i);
        if (t.bytes <= p.short_limit) now += p.copy(t.bytes);
        check_event(now);
        const Ticks arrival = now + paths.time(rank, t.peer, t.bytes);
        const Ticks copying = t.bytes <= p.eager_limit && !p.direct_eager ? p.copy(t.bytes) : 0;
        Work& other = work[static_cast<std::size_t>(t.peer)];
        other.first_arrival = std::min(other.first_arrival, arrival);
        other.last_copied = std::max(other.last_copied, arrival + copying);
        other.copying += copying;
        check_event(other.copying);
    }
    return now;
}

}  // namespace

EarliestEnds earliest_ends(const Machine& machine, const Schedule& schedule, std::uint64_t seed,
                           const AllocationRule& rule, const PlacesRule& places_rule) {
    if (machine.model != "default") throw std::invalid_argument("model: a bound is known for the default only");
    const auto topology = make_topology(machine);
    const auto ranks = static_cast<std::size_t>(schedule.ranks());
    const Places places(places_rule, static_cast<std::uint32_t>(ranks), machine);
    const Allocation allocation(rule, places.nodes(), *topology, seed, places.nics());
    const Paths paths(machine, *topology, places, allocation);

    std::vector<Work> work(ranks);
    std::vector<Ticks> posted(ranks);
    const std::int64_t rounds = schedule.rounds() / schedule.repeats();  // of one repeat
    EarliestEnds ends;
    if (rounds == 0) ends.first_s = ends.last_s = std::vector<double>(static_cast<std::size_t>(schedule.repeats()), 0);
    for (std::int64_t round = 0; round < schedule.rounds(); ++round) {
        for (Work& w : work) w = {w.begin, std::numeric_limits<Ticks>::max(), 0, 0};
        for (std::size_t r = 0; r < ranks; ++r) {
            const auto rank = static_cast<Rank>(r);
            posted[r] = send_all(schedule, paths, rank, round, schedule.round(rank, round).sends, work);
        }
        for (std::size_t r = 0; r < ranks; ++r) {
            Work& w = work[r];
            // It copies after it has sent, and after something has arrived; the last message after that has arrived.
            w.begin = w.last_copied == 0 ? posted[r]
                                         : std::max(std::max(posted[r], w.first_arrival) + w.copying, w.last_copied);
            check_event(w.begin);
        }
        if ((round + 1) % rounds != 0) continue;
        const auto [first, last] = std::minmax_element(work.begin(), work.end(),
                                                       [](const Work& a, const Work& b) { return a.begin < b.begin; });
        ends.first_s.push_back(to_seconds(first->begin));
        ends.last_s.push_back(to_seconds(last->begin));
    }
    return ends;
}

}  // namespace tramontane
