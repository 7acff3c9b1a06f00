#include "graph_routes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "geometry.hpp"
#include "random.hpp"

namespace tramontane {
namespace {

constexpr std::uint32_t words = GraphRoutes::width / 64;
using Bits = std::array<std::uint64_t, words>;

/// Breadth-first searches from up to 512 switches at once, a bit for each (Then et al. 2014).
class Searches {
public:
    explicit Searches(const LinkTable& graph) : graph_(graph), reached_(graph.switches()), further_(graph.switches()) {}

    /// Calls `visit(links, switch, bits)` for the searches that reach a switch after so many links, level by level.
    template <class Visit>
    void run(std::span<const SwitchId> from, Visit&& visit) {
        Bits all{};
        for (std::uint32_t i = 0; i < from.size(); ++i) all[i / 64] |= std::uint64_t{1} << i % 64;
        std::fill(reached_.begin(), reached_.end(), Bits{});
        for (std::uint32_t i = 0; i < from.size(); ++i) reached_[from[i]][i / 64] |= std::uint64_t{1} << i % 64;
        front_.assign(from.begin(), from.end());
        std::sort(front_.begin(), front_.end());
        front_.erase(std::unique(front_.begin(), front_.end()), front_.end());
        for (const SwitchId at : front_) visit(0U, at, reached_[at]);
        for (std::uint32_t links = 1; !front_.empty(); ++links) {
            further_ = reached_;
            if (front_.size() * 8 < graph_.switches()) {
                push();
            } else {
                pull(all);
            }
            front_.clear();
            bool full = true;
            for (SwitchId at = 0; at < graph_.switches(); ++at) {
                if (further_[at] == reached_[at]) {
                    full = full && further_[at] == all;
                    continue;
                }
                Bits fresh;
                for (std::uint32_t w = 0; w < words; ++w) fresh[w] = further_[at][w] & ~reached_[at][w];
                front_.push_back(at);
                full = full && further_[at] == all;
                visit(links, at, fresh);
            }
            if (full) return;
            reached_.swap(further_);
        }
    }

private:
    void push() {
        for (const SwitchId at : front_) {
            for (const SwitchId next : graph_.neighbours(at)) join(further_[next], reached_[at]);
        }
    }
    /// Who is reached by all looks no further, but not after every single neighbour: that would take longer.
    void pull(const Bits& all) {
        constexpr std::size_t some = 8;
        for (SwitchId at = 0; at < graph_.switches(); ++at) {
            Bits own = reached_[at];
            const auto neighbours = graph_.neighbours(at);
            for (std::size_t first = 0; first < neighbours.size() && own != all; first += some) {
                const std::size_t last = std::min(first + some, neighbours.size());
                for (std::size_t i = first; i < last; ++i) join(own, reached_[neighbours[i]]);
            }
            further_[at] = own;
        }
    }
    static void join(Bits& own, const Bits& other) {
        for (std::uint32_t w = 0; w < words; ++w) own[w] |= other[w];
    }

    const LinkTable& graph_;
    std::vector<Bits> reached_, further_;
    std::vector<SwitchId> front_;
};

/// 64 small numbers, bit by bit: bit i of all of them is one word.
class Counters {
public:
    explicit Counters(std::size_t most) : digits_(static_cast<std::uint32_t>(std::bit_width(most))) {}
    void increase(std::uint64_t which) {
        for (std::uint32_t d = 0; which != 0; ++d) which &= ~(word_[d] ^= which);
    }
    /// Below 0 there are the largest numbers.
    void decrease(std::uint64_t which) {
        for (std::uint32_t d = 0; which != 0 && d < digits_; ++d) which &= word_[d] ^= which;
    }
    [[nodiscard]] std::uint64_t zeros() const {
        std::uint64_t any = 0;
        for (std::uint32_t d = 0; d < digits_; ++d) any |= word_[d];
        return ~any;
    }
    [[nodiscard]] std::uint32_t operator[](std::uint32_t i) const {
        std::uint32_t number = 0;
        for (std::uint32_t d = 0; d < digits_; ++d) number |= static_cast<std::uint32_t>(word_[d] >> i & 1) << d;
        return number;
    }
    void set(std::uint32_t i, std::uint32_t number) {
        for (std::uint32_t d = 0; d < digits_; ++d) word_[d] |= std::uint64_t{number >> d & 1} << i;
    }

private:
    std::uint32_t digits_;
    std::array<std::uint64_t, 17> word_{};
};

/// Which channel may be held while which is waited for; refuses what would close a cycle.
class Dependencies {
public:
    explicit Dependencies(std::size_t channels) : after_(channels), state_(channels) {}

    void add(std::uint32_t held, std::uint32_t wanted) {
        auto& own = after_[held];
        if (std::find(own.begin(), own.end(), wanted) != own.end()) return;
        own.push_back(wanted);
        added_.push_back(held);
    }
    /// Whether there is no cycle; keeps what was added if so, else forgets it.
    bool settle() {
        std::fill(state_.begin(), state_.end(), unseen);
        bool cycle = false;
        for (const std::uint32_t held : added_) cycle = cycle || leads_back(held);
        if (cycle) {
            for (std::size_t i = added_.size(); i-- > 0;) after_[added_[i]].pop_back();
        }
        added_.clear();
        return !cycle;
    }

private:
    enum : std::uint8_t { unseen, open, done };

    /// Depth first, without recursion: routes may be long.
    bool leads_back(std::uint32_t from) {
        if (state_[from] == done) return false;
        path_.assign(1, {from, 0});
        state_[from] = open;
        while (!path_.empty()) {
            auto& [at, place] = path_.back();
            if (place == after_[at].size()) {
                state_[at] = done;
                path_.pop_back();
                continue;
            }
            const std::uint32_t next = after_[at][place++];
            if (state_[next] == open) return true;
            if (state_[next] == unseen) {
                state_[next] = open;
                path_.emplace_back(next, 0);
            }
        }
        return false;
    }

    std::vector<std::vector<std::uint32_t>> after_;
    std::vector<std::uint8_t> state_;
    std::vector<std::uint32_t> added_;
    std::vector<std::pair<std::uint32_t, std::size_t>> path_;
};

constexpr std::uint32_t few_hops = 4;               // so many channels are taken without looking for fewer
constexpr std::uint64_t most_looks = 50'000'000;    // destinations times switches, and times wires, to look for fewer
constexpr std::uint64_t most_checks = 300'000'000;  // destinations times switches to check datelines
constexpr std::uint32_t most_channels = 100;        // legs of a route double them, and 8 bits hold them

}  // namespace

GraphRoutes::GraphRoutes(const LinkTable& graph, bool any_switch)
    : graph_(graph),
      destinations_(graph.switches() + (graph.spreads() ? graph.nodes() : 0)),
      expected_(destinations_),
      most_blocks_(std::max<std::size_t>(1, most_bytes / (std::size_t{graph.switches()} * width * (wide() ? 2 : 1)))),
      blocks_((destinations_ + width - 1) / width),
      kept_(blocks_.size()) {
    switches_ = graph.switches();
    by_node_ = graph.spreads();
    find_channels(any_switch);
}

GraphRoutes::GraphRoutes(const GraphRoutes& found, const std::vector<NodeId>& nodes)
    : RoutePlan(found),
      graph_(found.graph_),
      destinations_(found.destinations_),
      most_blocks_(found.most_blocks_),
      longest_(found.longest_),
      blocks_(found.blocks_.size()),
      kept_(found.kept_.size()) {
    std::vector<std::uint32_t> places(destinations_, destinations_);
    const auto add = [&](std::uint32_t destination) {
        if (places[destination] != destinations_) return;
        places[destination] = static_cast<std::uint32_t>(at_place_.size());
        at_place_.push_back(destination);
    };
    for (const NodeId node : nodes) add(destination(graph_, graph_.switch_of(node), node));
    expected_ = static_cast<std::uint32_t>(at_place_.size());
    for (std::uint32_t rest = 0; rest < destinations_; ++rest) add(rest);
    place_ = std::move(places);
}

WholeRoutes::WholeRoutes(const GraphRoutes& routes) : RoutePlan(routes) {
    std::vector<std::uint8_t> narrow;
    std::vector<Port> wide;
    const auto join = [&]<class Number>(std::vector<Number>& all, Pages<Number> GraphRoutes::Block::* of_block) {
        for (std::uint32_t first = 0; first < routes.expected_; first += width) {
            const std::uint32_t count = std::min(width, routes.destinations_ - first);
            const Number* const own = (routes.block(first / width).*of_block).get();
            all.insert(all.end(), own, own + std::size_t{(count + lane - 1) / lane} * lane * switches_);
        }
    };
    if (routes.wide()) {
        join(wide, &GraphRoutes::Block::wide);
    } else {
        join(narrow, &GraphRoutes::Block::narrow);
    }
    narrow_ = std::move(narrow);
    wide_ = std::move(wide);
}

const GraphRoutes::Block& GraphRoutes::made(std::uint32_t number) const {
    const std::lock_guard<std::mutex> locked(making_);
    if (!kept_[number]) {
        const auto there =
            std::count_if(kept_.begin(), kept_.end(), [](const auto& block) { return block != nullptr; });
        if (static_cast<std::size_t>(there) >= most_blocks_) {
            throw Refusal("file",
                          "found packets to more than " + std::to_string(most_blocks_ * width) +
                              " switches of a graph of " + std::to_string(graph_.switches()),
                          "as many as have routes of 1.5 GiB; a smaller graph, or a job on fewer switches");
        }
        kept_[number] = make(number);
        blocks_[number].store(kept_[number].get(), std::memory_order_release);
    }
    return *kept_[number];
}

std::unique_ptr<GraphRoutes::Block> GraphRoutes::make(std::uint32_t number) const {
    const std::uint32_t first = number * width, count = std::min(width, destinations_ - first);
    std::vector<SwitchId> targets(count);
    for (std::uint32_t i = 0; i < count; ++i) targets[i] = switch_of(destination_at(first + i));
    const SwitchId switches = graph_.switches();
    const std::uint32_t lanes = (count + lane - 1) / lane;
    std::vector<Distances> far(std::size_t{lanes} * switches);
    Searches(graph_).run(targets, [&](std::uint32_t links, SwitchId at, const Bits& bits) {
        for (std::uint32_t l = 0; l < lanes; ++l) far[std::size_t{l} * switches + at][links % 3] |= bits[l];
    });
    auto block = std::make_unique<Block>();
    const std::size_t places = far.size() * lane;
    if (wide()) {
        block->wide = allocate_pages<Port>(places);
    } else {
        block->narrow = allocate_pages<std::uint8_t>(places);
    }
    for (std::uint32_t l = 0; l < lanes; ++l) {
        const Distances* own = far.data() + std::size_t{l} * switches;
        const std::size_t place = std::size_t{l} * switches * lane;
        if (wide()) {
            choose(first + l * lane, own, block->wide.get() + place);
        } else {
            choose(first + l * lane, own, block->narrow.get() + place);
        }
    }
    return block;
}

/// Fills in the ports to the destinations of a lane, a bit for each: counts the wires that lead nearer, and takes of
/// each as many past as its choice says.
template <class Number>
void GraphRoutes::choose(std::uint32_t first, const Distances* far, Number* chosen) const {
    const std::uint32_t count = std::min(lane, destinations_ - first);
    for (SwitchId at = 0; at < graph_.switches(); ++at, chosen += lane) {
        const auto neighbours = graph_.neighbours(at);
        const auto wires = graph_.wires(at);
        const auto [zero, one, two] = far[at];
        const auto nearer = [&, zero = zero, one = one, two = two](SwitchId next) {
            return (far[next][2] & zero) | (far[next][0] & one) | (far[next][1] & two);
        };
        Counters found(neighbours.size()), past(neighbours.size());
        for (const SwitchId next : neighbours) found.increase(nearer(next));
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t equal = found[i];
            if (equal > 1) past.set(i, choice(at, destination_at(first + i), equal, spread_of_first(at, i, nearer)));
        }
        for (std::size_t k = 0; k < neighbours.size(); ++k) {
            const std::uint64_t hits = nearer(neighbours[k]);
            for (std::uint64_t taken = hits & past.zeros(); taken != 0; taken &= taken - 1) {
                chosen[std::countr_zero(taken)] = static_cast<Number>(wires[k].port);
            }
            past.decrease(hits);
        }
    }
}

/// The spread of the first wire that leads nearer to a destination of a lane.
template <class Nearer>
std::uint32_t GraphRoutes::spread_of_first(SwitchId at, std::uint32_t place, Nearer&& nearer) const {
    if (!by_node_) return 0;
    const auto wires = graph_.wires(at);
    std::size_t k = 0;
    while ((nearer(wires[k].next) >> place & 1) == 0) ++k;
    return wires[k].spread;
}

std::uint32_t GraphRoutes::choice(SwitchId at, std::uint32_t destination, std::uint32_t count,
                                  std::uint32_t spread) const {
    if (!graph_.says_spread()) {
        return static_cast<std::uint32_t>(below(mix(std::uint64_t{at} << 32 | destination), count));
    }
    // Who goes to a switch, not to a node of it, takes the first.
    return spread == 0 || destination < graph_.switches() ? 0 : (destination - graph_.switches()) / spread % count;
}

std::uint32_t GraphRoutes::distance(SwitchId from, SwitchId to) const {
    if (all_fit()) return route_length(graph_, *this, from, to);
    std::uint32_t links = 0;
    // Balls around both ends grow, the smaller one first, until they meet.
    thread_local std::vector<std::uint8_t> side;
    side.resize(std::max<std::size_t>(side.size(), graph_.switches()));
    std::array<std::vector<SwitchId>, 2> front{{{from}, {to}}};
    std::vector<SwitchId> met{from, to}, following;
    side[from] = 1;
    bool there = from == to;
    if (!there) side[to] = 2;
    while (!there) {
        const int own = front[0].size() <= front[1].size() ? 0 : 1;
        const auto mark = static_cast<std::uint8_t>(own + 1);
        ++links;
        following.clear();
        for (const SwitchId at : front[own]) {
            for (const Wire& wire : graph_.wires(at)) {
                there = there || (side[wire.next] != 0 && side[wire.next] != mark);
                if (side[wire.next] != 0) continue;
                side[wire.next] = mark;
                following.push_back(wire.next);
            }
        }
        met.insert(met.end(), following.begin(), following.end());
        front[own].swap(following);
    }
    for (const SwitchId at : met) side[at] = 0;
    return links;
}

bool GraphRoutes::is_end(std::uint32_t destination, bool any_switch) const {
    if (destination >= graph_.switches()) return true;
    return any_switch || (!by_node_ && graph_.carries_nodes(destination));
}

template <class Visit>
void GraphRoutes::each_dependency(std::uint32_t destination, bool any_switch, std::vector<SwitchId>& met,
                                  Visit&& visit) const {
    const SwitchId target = switch_of(destination), switches = graph_.switches();
    met.assign(switches, switches);  // the last source whose route came by
    for (SwitchId from = 0; from < switches; ++from) {
        if (!any_switch && !graph_.carries_nodes(from)) continue;
        const Wire* wire = nullptr;
        std::uint32_t held = 0;
        for (SwitchId at = from; at != target;) {
            const Wire& following = next(at, destination);
            const std::uint32_t wanted = number_of(at, following);
            if (wire != nullptr) visit(held, wanted);
            if (met[at] != switches) break;
            met[at] = from;
            wire = &following;
            held = wanted;
            at = following.next;
        }
    }
}

bool GraphRoutes::datelines_hold(bool any_switch) const {
    const std::size_t wires = 2 * static_cast<std::size_t>(graph_.links());
    Dependencies all(2 * wires);
    std::vector<std::uint8_t> met(graph_.switches());
    for (std::uint32_t destination = 0; destination < destinations_; ++destination) {
        if (!is_end(destination, any_switch)) continue;
        const SwitchId target = switch_of(destination);
        std::fill(met.begin(), met.end(), std::uint8_t{0});
        for (SwitchId from = 0; from < graph_.switches(); ++from) {
            if (!any_switch && !graph_.carries_nodes(from)) continue;
            Trail trail;
            std::uint32_t held = 0;
            for (SwitchId at = from; at != target;) {
                const Wire& wire = next(at, destination);
                const std::uint8_t channel = by_dateline(wire, trail);
                const std::uint32_t wanted = 2 * number_of(at, wire) + channel;
                if (at != from) all.add(held, wanted);
                // From here on a route depends on the channel and on whether it is the last one.
                const auto now = static_cast<std::uint8_t>(1U << (2 * channel + (trail.crossed ? 1 : 0)));
                if ((met[at] & now) != 0) break;
                met[at] = static_cast<std::uint8_t>(met[at] | now);
                held = wanted;
                at = wire.next;
            }
        }
    }
    return all.settle();
}

std::uint32_t GraphRoutes::longest_route(bool any_switch) const {
    std::vector<SwitchId> ends;
    for (SwitchId at = 0; at < graph_.switches(); ++at) {
        if (any_switch || graph_.carries_nodes(at)) ends.push_back(at);
    }
    std::uint32_t longest = 0;
    Searches searches(graph_);
    for (std::size_t first = 0; first < ends.size(); first += width) {
        const std::size_t count = std::min<std::size_t>(width, ends.size() - first);
        searches.run({ends.data() + first, count}, [&](std::uint32_t links, SwitchId at, const Bits&) {
            if (links > longest && (any_switch || graph_.carries_nodes(at))) longest = links;
        });
    }
    return longest;
}

/// Layered routing (LASH: Skeie, Lysne and Theiss 2002), with destinations in place of pairs of switches: all routes to
/// a destination keep one channel, and destinations share a channel as long as its dependencies have no cycle.
/// \return the layer of each destination; nothing if there would be more than `most` of them
std::vector<std::uint8_t> GraphRoutes::found_layers(bool any_switch, std::uint32_t most) const {
    std::vector<Dependencies> layers;
    std::vector<std::uint8_t> own(destinations_, 0);
    std::vector<SwitchId> met;
    for (std::uint32_t d = 0; d < destinations_; ++d) {
        if (!is_end(d, any_switch)) continue;
        for (std::size_t layer = 0;; ++layer) {
            if (layer == most) return {};
            if (layer == layers.size()) layers.emplace_back(2 * static_cast<std::size_t>(graph_.links()));
            each_dependency(d, any_switch, met,
                            [&](std::uint32_t held, std::uint32_t wanted) { layers[layer].add(held, wanted); });
            if (!layers[layer].settle()) continue;
            own[d] = static_cast<std::uint8_t>(layer);
            break;
        }
    }
    return own;
}

bool GraphRoutes::one_channel_holds(bool any_switch) const {
    Dependencies all(2 * static_cast<std::size_t>(graph_.links()));
    std::vector<SwitchId> met;
    for (std::uint32_t d = 0; d < destinations_; ++d) {
        if (!is_end(d, any_switch)) continue;
        each_dependency(d, any_switch, met, [&](std::uint32_t held, std::uint32_t wanted) { all.add(held, wanted); });
    }
    return all.settle();
}

/// As the file says, or one channel where that is enough; else a channel for each hop (Merlin and Schweitzer 1980),
/// but where routes are long layers, if these are fewer.
void GraphRoutes::find_channels(bool any_switch) {
    longest_ = longest_route(any_switch);
    const std::uint64_t switches = graph_.switches(), wires = 2 * static_cast<std::uint64_t>(graph_.links());
    if (graph_.says_dateline()) {
        if (!all_fit() || destinations_ * switches > most_checks) {
            throw Refusal("file", "found datelines in a graph of " + std::to_string(switches) + " switches",
                          "none, or a smaller graph: whether they can't deadlock is looked for");
        }
        if (!datelines_hold(any_switch)) {
            throw Refusal("file", "found datelines that leave a cycle of channels, which could deadlock",
                          "one for each ring of links, or none: then channels are found");
        }
        rule_ = Rule::by_dateline;
        channels_ = 2;
        return;
    }
    if (all_fit() && destinations_ * switches <= most_looks && one_channel_holds(any_switch)) return;
    if (all_fit() && longest_ > few_hops && destinations_ * wires <= most_looks) {
        layers_ = found_layers(any_switch, std::min(longest_ - 1, most_channels));
        if (!layers_.empty()) {
            channels_ = static_cast<std::uint8_t>(1 + *std::max_element(layers_.begin(), layers_.end()));
            return;
        }
    }
    if (longest_ > most_channels) {
        throw Refusal("file", "found routes of " + std::to_string(longest_) + " links, each with a channel of its own",
                      "at most " + std::to_string(most_channels) + " links");
    }
    rule_ = Rule::by_hop;
    channels_ = static_cast<std::uint8_t>(std::max<std::uint32_t>(longest_, 1));
}

}  // namespace tramontane
