/// \file
/// Folding: a job of one, two, three, ... dimensions on a torus or mesh of as many or more, so that neighbours in the
/// job are neighbours in the machine (Ajima, Sumimoto and Shimizu, IEEE Computer 42(11), 2009, have it for Tofu).
///
/// Dimension d of the machine belongs to dimension d mod n of a job of n. So each dimension of the job has dimensions
/// of the machine to itself. It fills a box of these, and is a way through the box, the last of them fastest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topologies/families.hpp"
#include "topologies/topology.hpp"

namespace tramontane {
namespace folding {

/// A side of a box.
struct Side {
    std::uint32_t size;
    SwitchId stride;
    bool ring;  ///< whether its ends are linked
};

/// Finds sides of at most `most` whose product is `length`, the last as large as it can be, then the one before, ...
inline bool fill(std::span<const Extent> most, std::int64_t length, std::uint32_t* sides) {
    if (most.empty()) return length == 1;
    const std::size_t last = most.size() - 1;
    for (std::int64_t size = std::min<std::int64_t>(most[last].size, length); size > 0; --size) {
        if (length % size != 0 || !fill(most.first(last), length / size, sides)) continue;
        sides[last] = static_cast<std::uint32_t>(size);
        return true;
    }
    return false;
}

/// Boustrophedon: each row goes back where the one before went forth.
inline std::vector<SwitchId> snake(std::span<const Side> box) {
    std::vector<SwitchId> way{0};
    for (std::size_t d = box.size(); d-- > 0;) {
        const std::size_t row = way.size();
        for (std::uint32_t i = 1; i < box[d].size; ++i) {
            for (std::size_t k = 0; k < row; ++k) way.push_back(way[i % 2 == 0 ? k : row - 1 - k] + i * box[d].stride);
        }
    }
    return way;
}

/// A Hamiltonian cycle: boustrophedon through all but the first places of a side, and home through these. The last
/// places of the way out are next to the first ones if the rows are even in number or the side closes.
inline std::vector<SwitchId> cycle(const std::vector<SwitchId>& rows, const Side& side) {
    std::vector<SwitchId> way{rows[0]};
    for (std::size_t k = 0; k < rows.size(); ++k) {
        for (std::uint32_t i = 1; i < side.size; ++i) {
            way.push_back(rows[k] + (k % 2 == 0 ? i : side.size - i) * side.stride);
        }
    }
    way.insert(way.end(), rows.rbegin(), rows.rend() - 1);
    return way;
}

/// A way through a box; its ends are neighbours, too, where this is possible.
inline std::vector<SwitchId> way(const std::vector<Side>& box) {
    for (std::size_t d = box.size(); d-- > 0;) {
        if (box[d].size == 1) continue;
        std::vector<Side> others = box;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(d));
        const std::vector<SwitchId> rows = snake(others);
        if (rows.size() % 2 == 0 || box[d].ring || box[d].size == 2) return cycle(rows, box[d]);
    }
    return snake(box);
}

template <class T>
std::string list(const std::vector<T>& numbers) {
    std::string text;
    for (const T& number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
    return text;
}

[[noreturn]] inline void refuse_shape(const std::string& found, const std::string& allowed) {
    throw Refusal("shape", "found " + found, allowed, "allocation.");
}

}  // namespace folding

/// The switch at each place of a job of this shape, the first of its dimensions fastest.
/// \throws Refusal if it does not fit
inline std::vector<SwitchId> fold(const std::vector<Extent>& machine, const std::vector<std::int64_t>& shape) {
    const std::size_t n = shape.size();
    if (machine.empty()) folding::refuse_shape("a shape", "only on a torus");
    if (n == 0 || n > machine.size()) {
        folding::refuse_shape(std::to_string(n) + " dimensions", "1 to " + std::to_string(machine.size()));
    }
    std::vector<SwitchId> strides{1};
    for (const Extent& each : machine) strides.push_back(strides.back() * each.size);
    std::vector<SwitchId> places{0};
    for (std::size_t i = 0; i < n; ++i) {
        std::vector<Extent> own;
        std::vector<std::size_t> which;
        for (std::size_t d = i; d < machine.size(); d += n) {
            own.push_back(machine[d]);
            which.push_back(d);
        }
        std::vector<std::uint32_t> sizes(own.size()), most(own.size());
        std::transform(own.begin(), own.end(), most.begin(), [](const Extent& each) { return each.size; });
        if (!folding::fill(own, shape[i], sizes.data())) {
            folding::refuse_shape(std::to_string(shape[i]) + " along its dimension " + std::to_string(i),
                                  "a product of numbers up to " + folding::list(most) + ", the sizes of dimensions " +
                                      folding::list(which) + " of the machine");
        }
        std::vector<folding::Side> box;
        for (std::size_t k = 0; k < own.size(); ++k) {
            box.push_back({sizes[k], strides[which[k]], own[k].ring && sizes[k] == own[k].size});
        }
        const std::vector<SwitchId> way = folding::way(box);
        std::vector<SwitchId> next;
        next.reserve(places.size() * way.size());
        for (const SwitchId far : way) {
            for (const SwitchId near : places) next.push_back(far + near);
        }
        places = std::move(next);
    }
    return places;
}

/// The node of the machine that each node of a job is, where the job's switches have a shape and each has all its
/// nodes.
/// \param nodes of the job
/// \param per_switch nodes of a switch
/// \throws Refusal if it does not fit
inline std::vector<NodeId> folded_nodes(const Topology& topology, const std::vector<std::int64_t>& shape,
                                        std::uint32_t nodes, NodeId per_switch) {
    const std::vector<SwitchId> switches = fold(topology.extents(), shape);
    const std::uint32_t needed = (nodes + per_switch - 1) / per_switch;
    if (switches.size() != needed) {
        folding::refuse_shape("[" + folding::list(shape) + "] of " + std::to_string(switches.size()) + " switches",
                              "a product of " + std::to_string(needed) + ", which have the " + std::to_string(nodes) +
                                  " nodes of the job");
    }
    std::vector<NodeId> found(nodes);
    for (std::uint32_t i = 0; i < nodes; ++i) found[i] = switches[i / per_switch] * per_switch + i % per_switch;
    return found;
}

}  // namespace tramontane
