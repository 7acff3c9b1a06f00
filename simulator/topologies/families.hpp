/// \file
/// The kinds of networks that the simulator has: one descriptor each, which stands at the end of the source file that
/// makes such networks. Everybody who must know what a geometry may say or which routings there are asks here, the
/// Python package included (bindings/network.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine.hpp"

namespace tramontane {

class Topology;

/// A machine that can't be, or an allocation on it: which key, what was found and what may stand there.
class Refusal : public std::invalid_argument {
public:
    Refusal(std::string key_, std::string problem_, std::string allowed_, const std::string& block = "machine.")
        : std::invalid_argument(block + key_ + ": " + problem_ + "; allowed: " + allowed_),
          key(std::move(key_)),
          problem(std::move(problem_)),
          allowed(std::move(allowed_)) {}

    std::string key;  ///< below `machine`, or the block that was said
    std::string problem;
    std::string allowed;
};

/// One way to give the size of a network.
struct Shape {
    std::string name;               ///< of networks of this shape
    std::string text;               ///< what the numbers mean, as users read it
    std::vector<std::string> keys;  ///< of the numbers, in their order in Machine::geometry
    bool mapping = false;           ///< canonically a mapping of these keys instead of a list
    /// Each key has a list of numbers, all of one length; in Machine::geometry one list follows the other. A mere list
    /// is that of the first key, unless it is a mapping. All numbers of the other keys are `otherwise` where they are
    /// left out.
    bool lists = false;
    std::int64_t otherwise = 1;
    std::size_t least = 1;  ///< numbers of a list
};

struct Family {
    std::string name;  ///< the value of `machine.topology`
    std::vector<Shape> shapes;
    std::vector<std::string> routings;  ///< the first is the default; routing.hpp has their rules
    bool nodes_by_geometry = false;     ///< the nodes of a switch follow from the geometry
    /// Ways to arrange `machine.global_links`, the first is the default; without any, the family has no such key.
    std::vector<std::string> arrangements{};
    bool parallel_links = false;  ///< whether it has `machine.parallel_links`; a port is of one class at all switches
    bool by_table = false;        ///< `machine.table` says the network; there is no geometry
    std::unique_ptr<Topology> (*make)(const Machine&);
    std::vector<std::int64_t> example;  ///< geometry of a small network
    std::int64_t example_links = 0;     ///< and its global links
};

/// The simulator's networks, in the order of documents.
[[nodiscard]] const std::vector<const Family*>& families();

/// \throws Refusal for an unknown name
[[nodiscard]] const Family& family_of(const std::string& topology);

/// All that a geometry may be, in words.
[[nodiscard]] std::string shapes_of(const Family& family);

/// The shape that a machine's geometry has.
/// \throws Refusal if it is none of the family's
[[nodiscard]] const Shape& shape_of(const Family& family, const std::vector<std::int64_t>& geometry);

/// \throws Refusal for a routing that the family doesn't have
void check_routing(const Family& family, const std::string& routing);

}  // namespace tramontane
