/// \file
/// Networks: what there is, and what one of them is like. Planning asks here, so that nobody else has to know.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../families.hpp"
#include "../pisces16/network.hpp"
#include "../routing.hpp"
#include "dict.hpp"
#include "machine_dict.hpp"
#include "random.hpp"
#include "simulation.hpp"

namespace nb = nanobind;

namespace tramontane::bindings {
namespace {

using Numbers = std::vector<std::int64_t>;

/// As YAML has it.
std::string shown(const nb::handle& value) {
    std::string text = nb::repr(value).c_str();
    std::erase(text, '\'');
    return text;
}

/// The numbers of a mapping: key by key, each of them or each of its list.
/// \throws Refusal unless the mapping has the keys of a shape
Numbers numbers_of(const Family& family, const nb::dict& geometry) {
    for (const Shape& shape : family.shapes) {
        Numbers numbers;
        std::size_t known = 0, length = 0;
        bool fits = true;
        for (const std::string& key : shape.keys) {
            const bool first = &key == &shape.keys.front();
            if (!geometry.contains(key.c_str())) {
                fits = fits && shape.lists && !first;
                numbers.insert(numbers.end(), length, shape.otherwise);
                continue;
            }
            ++known;
            Numbers list;
            if (!shape.lists) {
                std::int64_t number = 0;
                fits = fits && nb::try_cast<std::int64_t>(geometry[key.c_str()], number, false);
                list.push_back(number);
            } else {
                fits = fits && nb::try_cast<Numbers>(geometry[key.c_str()], list, false);
            }
            if (first) length = list.size();
            fits = fits && list.size() == length;
            numbers.insert(numbers.end(), list.begin(), list.end());
        }
        if (fits && length > 0 && known == geometry.size()) return numbers;
    }
    throw Refusal("geometry", "found " + shown(geometry) + " for topology " + family.name, shapes_of(family));
}

Numbers geometry_from(const Family& family, const nb::handle& value) {
    if (nb::isinstance<nb::dict>(value)) return numbers_of(family, nb::cast<nb::dict>(value));
    Numbers numbers;
    if (!nb::try_cast<Numbers>(value, numbers, false)) {
        throw Refusal("geometry", "found " + shown(value), shapes_of(family));
    }
    for (const Shape& shape : family.shapes) {
        if (shape.lists) numbers.resize(numbers.size() * shape.keys.size(), shape.otherwise);
    }
    return numbers;
}

/// A geometry as a canonical point has it.
nb::object spelled(const Shape& shape, const Numbers& numbers) {
    const std::size_t each = shape.lists ? numbers.size() / shape.keys.size() : 1;
    const auto part = [&](std::size_t from, std::size_t count) {
        nb::list list;
        for (std::size_t i = from; i < from + count; ++i) list.append(numbers[i]);
        return list;
    };
    const auto ours = numbers.begin() + static_cast<std::ptrdiff_t>(each);
    const bool plain = std::all_of(ours, numbers.end(), [&](std::int64_t n) { return n == shape.otherwise; });
    if (shape.lists ? plain : !shape.mapping) return part(0, shape.lists ? each : numbers.size());
    nb::dict mapping;
    for (std::size_t k = 0; k < shape.keys.size(); ++k) {
        if (shape.lists) {
            mapping[shape.keys[k].c_str()] = part(k * each, each);
        } else {
            mapping[shape.keys[k].c_str()] = numbers[k];
        }
    }
    return mapping;
}

/// A network that is looked at, not simulated.
class Network {
public:
    explicit Network(const nb::dict& dict)
        : machine_(network_from_dict(dict)),
          topology_(make_topology(machine_)),
          router_(*topology_, machine_.routing.empty() ? topology_->family().routings[0] : machine_.routing) {}

    [[nodiscard]] nb::dict facts() const {
        const Topology& t = *topology_;
        const Family& family = t.family();
        const Shape& shape = shape_of(family, machine_.geometry);
        nb::dict facts;
        facts["shape"] = shape.name;
        facts["geometry"] = nb::tuple(nb::cast(machine_.geometry));
        facts["spelled"] = spelled(shape, machine_.geometry);
        facts["nodes_per_switch"] = t.nodes_per_switch();
        facts["switches"] = t.switches();
        facts["nodes"] = t.nodes();
        facts["ports"] = t.radix();
        facts["port_numbers"] = t.ports();
        facts["links"] = t.links();
        facts["groups"] = t.groups();
        facts["virtual_channels"] = static_cast<int>(router_.channels());
        return facts;
    }

    [[nodiscard]] std::uint64_t switches_near(std::uint64_t own) const {
        return std::min<std::uint64_t>(topology_->switches_near(own), topology_->switches());
    }

    using Nodes = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

    /// \param non_minimal by an intermediate switch as Valiant's routing would draw it; the same at each call
    [[nodiscard]] nb::object visits(const Nodes& source, const Nodes& target, bool non_minimal) const {
        if (source.shape(0) != target.shape(0)) throw std::invalid_argument("as many sources as targets");
        auto kept = std::make_unique<Numbers>(source.shape(0));
        for (std::size_t i = 0; i < kept->size(); ++i) {
            const SwitchId from = switch_of(source.data()[i]), to = switch_of(target.data()[i]);
            (*kept)[i] = 1 + (non_minimal ? indirect(from, to, static_cast<NodeId>(target.data()[i]), i)
                                          : topology_->distance(from, to));
        }
        Numbers* numbers = kept.release();
        const nb::capsule owner(numbers, [](void* p) noexcept { delete static_cast<Numbers*>(p); });
        return nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>{numbers->data(), {numbers->size()}, owner}.cast();
    }

private:
    /// Links on the way by an intermediate switch; it ends early where it meets its end.
    [[nodiscard]] std::uint32_t indirect(SwitchId at, SwitchId to, NodeId node, std::uint64_t number) const {
        if (at == to) return 0;
        const Draw draw(random_bits(mix(1), number, 0));
        const SwitchId via = topology_->intermediate(at, to, draw, router_.non_minimal_elsewhere());
        Trail trail;
        trail.aims = true;
        std::uint32_t links = 0;
        for (; at != via && at != to; ++links) {
            at = topology_->neighbour(at, topology_->towards(at, via, node, trail, draw).port);
        }
        return links + topology_->distance(at, to);
    }

    [[nodiscard]] SwitchId switch_of(std::int64_t node) const {
        if (node < 0 || node >= topology_->nodes()) throw std::invalid_argument("no node " + std::to_string(node));
        return topology_->switch_of(static_cast<NodeId>(node));
    }

    Machine machine_;
    std::unique_ptr<Topology> topology_;
    Router router_;
};

nb::list describe_families() {
    nb::list all;
    for (const Family* family : families()) {
        nb::list shapes, routings;
        for (const Shape& shape : family->shapes) {
            nb::dict described;
            described["name"] = shape.name;
            described["text"] = shape.text;
            described["keys"] = shape.keys;
            described["mapping"] = shape.mapping || shape.lists;
            described["lists"] = shape.lists;
            shapes.append(described);
        }
        for (const std::string& routing : family->routings) {
            const RoutingRule& rule = rule_of(routing);
            nb::dict described;
            described["name"] = routing;
            described["non_minimal"] = rule.non_minimal();
            described["always_non_minimal"] = rule.always_non_minimal();
            described["fixed"] = rule.is_fixed();
            routings.append(described);
        }
        nb::dict example;
        example["topology"] = family->name;
        example["geometry"] = spelled(shape_of(*family, family->example), family->example);
        if (family->example_links > 0) example["global_links"] = family->example_links;
        nb::dict described;
        described["name"] = family->name;
        described["example"] = example;
        described["shapes"] = shapes;
        described["routings"] = routings;
        described["arrangements"] = family->arrangements;
        all.append(described);
    }
    return all;
}

/// ValueErrors that also say key, problem and allowed values by themselves.
void bind_refusal(nb::module_& module) {
    PyObject* type = PyErr_NewException("tramontane._simulator.Refusal", PyExc_ValueError, nullptr);
    module.attr("Refusal") = nb::steal(type);
    nb::register_exception_translator(
        [](const std::exception_ptr& thrown, void* payload) {
            try {
                std::rethrow_exception(thrown);
            } catch (const Refusal& refusal) {
                const nb::handle own(static_cast<PyObject*>(payload));
                nb::object error = own(refusal.what());
                error.attr("key") = refusal.key;
                error.attr("problem") = refusal.problem;
                error.attr("allowed") = refusal.allowed;
                PyErr_SetObject(own.ptr(), error.ptr());
            }
        },
        type);
}

}  // namespace

Machine network_from_dict(const nb::dict& d) {
    Machine m;
    m.topology = get<std::string>(d, "topology");
    const Family& family = family_of(m.topology);
    if (!d.contains("geometry")) throw Refusal("geometry", "missing", shapes_of(family));
    m.geometry = geometry_from(family, d["geometry"]);
    m.nodes_per_switch = get_or<std::int64_t>(d, "nodes_per_switch", 0);
    m.global_links = get_or<std::int64_t>(d, "global_links", 0);
    m.arrangement = get_or<std::string>(d, "arrangement", "");
    m.routing = get_or<std::string>(d, "routing", "");
    return m;
}

}  // namespace tramontane::bindings

void bind_network(nb::module_& module) {
    using namespace nb::literals;
    namespace b = tramontane::bindings;
    b::bind_refusal(module);
    module.def("families", &b::describe_families, "The kinds of networks, their shapes and routings.");
    module.attr("DEFAULT_NODES") = tramontane::default_nodes;
    nb::dict pisces;
    for (const auto& [shape, routings] : tramontane::pisces16::runnable()) pisces[shape.c_str()] = nb::cast(routings);
    module.attr("PISCES_16") = pisces;
    nb::class_<b::Network>(module, "Network", "A network that is looked at.")
        .def(nb::init<const nb::dict&>(), "machine"_a,
             "Of the keys of a canonical machine, topology and geometry are needed.\n\nRaises Refusal, a ValueError "
             "with `key`, `problem` and `allowed`, for a network that can't be.")
        .def("facts", &b::Network::facts, "What it consists of.")
        .def("switches_near", &b::Network::switches_near, "own"_a,
             "About how many switches are met by minimal routes among the nodes of the first `own` ones, at most.")
        .def("visits", &b::Network::visits, "source"_a, "target"_a, "non_minimal"_a = false,
             "Switches a packet visits between nodes, by the shortest minimal routes or by random intermediate ones.");
}
