#include "topology.hpp"

#include "all.hpp"
#include "families.hpp"
#include "geometry.hpp"
#include "parallel_links.hpp"

namespace tramontane {

const std::vector<const Family*>& families() {
    static const std::vector<const Family*> all = all_families();
    return all;
}

const Family& family_of(const std::string& topology) {
    std::vector<std::string> names;
    for (const Family* family : families()) {
        if (family->name == topology) return *family;
        names.push_back(family->name);
    }
    throw Refusal("topology", "found '" + topology + "'", joined(names));
}

std::string shapes_of(const Family& family) {
    std::vector<std::string> texts;
    for (const Shape& shape : family.shapes) texts.push_back(shape.text);
    return joined(texts, "; or ");
}

const Shape& shape_of(const Family& family, const std::vector<std::int64_t>& geometry) {
    for (const Shape& shape : family.shapes) {
        const std::size_t count = geometry.size(), keys = shape.keys.size();
        if (shape.lists ? count >= keys * shape.least && count % keys == 0 : count == keys) return shape;
    }
    throw Refusal("geometry", "found " + listed(geometry) + " for topology " + family.name, shapes_of(family));
}

void check_routing(const Family& family, const std::string& routing) {
    for (const std::string& own : family.routings) {
        if (own == routing) return;
    }
    throw Refusal("routing", "found '" + routing + "' for topology " + family.name, joined(family.routings));
}

namespace {

/// The topologies of the families for which `has` holds.
template <class Has>
std::vector<std::string> names_of(Has&& has) {
    std::vector<std::string> names;
    for (const Family* family : families()) {
        if (has(*family)) names.push_back(family->name);
    }
    return names;
}

/// Refuses keys that the family doesn't have.
void check_keys(const Family& family, const Machine& machine) {
    if (family.by_table && machine.table.empty()) {
        throw Refusal("file", "missing", "a graph: .csv, .json or .txt");
    }
    if (!family.by_table && !machine.table.empty()) {
        throw Refusal("file", "found one for topology " + family.name,
                      "only with " + joined(names_of([](const Family& f) { return f.by_table; })));
    }
    if (!machine.parallel_links.empty() && !family.parallel_links) {
        throw Refusal("parallel_links", "found some for topology " + family.name,
                      "only with " + joined(names_of([](const Family& f) { return f.parallel_links; })) +
                          "; fattree and hyperx have theirs in the geometry");
    }
    if (!family.arrangements.empty()) {
        const std::string arrangement = machine.arrangement.empty() ? family.arrangements[0] : machine.arrangement;
        for (const std::string& own : family.arrangements) {
            if (own == arrangement) return;
        }
        throw Refusal("arrangement", "found '" + arrangement + "'", joined(family.arrangements));
    }
    const auto others = names_of([](const Family& f) { return !f.arrangements.empty(); });
    const auto refuse = [&](const char* key, const std::string& found) {
        throw Refusal(key, "found " + found + " for topology " + family.name, "only with " + joined(others));
    };
    if (machine.global_links != 0) refuse("global_links", std::to_string(machine.global_links));
    if (!machine.arrangement.empty()) refuse("arrangement", machine.arrangement);
}

}  // namespace

std::unique_ptr<Topology> make_topology(const Machine& machine) {
    const Family& family = family_of(machine.topology);
    static_cast<void>(shape_of(family, machine.geometry));
    check_keys(family, machine);
    if (machine.nodes_per_switch < 0) {
        throw Refusal("nodes_per_switch", "found " + std::to_string(machine.nodes_per_switch), "1 or more");
    }
    Machine complete = machine;
    if (complete.nodes_per_switch == 0 && !family.nodes_by_geometry) complete.nodes_per_switch = default_nodes;
    auto topology = family.make(complete);
    if (!machine.parallel_links.empty()) topology = with_parallel_links(std::move(topology), machine);
    topology->family_ = &family;
    const auto nodes = static_cast<std::int64_t>(topology->nodes_per_switch());
    if (machine.nodes_per_switch != 0 && machine.nodes_per_switch != nodes) {
        throw Refusal("nodes_per_switch",
                      "found " + std::to_string(machine.nodes_per_switch) +
                          (family.by_table ? ", where the file makes it " : ", where the geometry makes it ") +
                          std::to_string(nodes),
                      std::to_string(nodes) + ", or leave it out");
    }
    return topology;
}

}  // namespace tramontane
