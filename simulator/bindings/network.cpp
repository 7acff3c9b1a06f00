/// \file
/// Networks: what there is, and what one of them is like. Planning asks here, so that nobody else has to know.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../pisces16/network.hpp"
#include "../pisces16/ticks.hpp"
#include "../rules/routing.hpp"
#include "dict.hpp"
#include "machine_dict.hpp"
#include "placement/folding.hpp"
#include "random.hpp"
#include "simulation.hpp"
#include "topologies/families.hpp"

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
        const std::size_t least = shape.lists ? shape.least : 1;
        if (fits && length >= least && known == geometry.size()) return numbers;
    }
    throw Refusal("geometry", "found " + shown(geometry) + " for topology " + family.name, shapes_of(family));
}

/// Lists of which all but the first go without saying, as the shape that has just these numbers, if there is one.
Numbers settled(const Family& family, Numbers numbers) {
    const Shape& shape = shape_of(family, numbers);
    if (!shape.lists || shape.mapping) return numbers;
    const std::size_t each = numbers.size() / shape.keys.size();
    const auto said = numbers.begin() + static_cast<std::ptrdiff_t>(each);
    if (!std::all_of(said, numbers.end(), [&](std::int64_t n) { return n == shape.otherwise; })) return numbers;
    for (const Shape& plain : family.shapes) {
        if (!plain.lists && !plain.mapping && plain.keys.size() == each) numbers.resize(each);
    }
    return numbers;
}

Numbers geometry_from(const Family& family, const nb::handle& value) {
    if (nb::isinstance<nb::dict>(value)) return settled(family, numbers_of(family, nb::cast<nb::dict>(value)));
    Numbers numbers;
    if (!nb::try_cast<Numbers>(value, numbers, false)) {
        throw Refusal("geometry", "found " + shown(value), shapes_of(family));
    }
    for (const Shape& shape : family.shapes) {
        if (shape.lists && !shape.mapping) numbers.resize(numbers.size() * shape.keys.size(), shape.otherwise);
    }
    if (const Shape& shape = shape_of(family, numbers); shape.lists && shape.mapping) {
        throw Refusal("geometry", "found " + shown(value) + " for topology " + family.name, shapes_of(family));
    }
    return settled(family, numbers);
}

/// A geometry as a canonical point has it.
nb::object spelled(const Shape& shape, const Numbers& numbers) {
    const std::size_t each = shape.lists ? numbers.size() / shape.keys.size() : 1;
    const auto part = [&](std::size_t from, std::size_t count) {
        nb::list list;
        for (std::size_t i = from; i < from + count; ++i) list.append(numbers[i]);
        return list;
    };
    // Whether all numbers from the k-th key on go without saying.
    const auto plain = [&](std::size_t k, std::size_t keys) {
        const auto from = numbers.begin() + static_cast<std::ptrdiff_t>(k * each);
        return std::all_of(from, from + static_cast<std::ptrdiff_t>(keys * each),
                           [&](std::int64_t n) { return n == shape.otherwise; });
    };
    if (!shape.mapping && (!shape.lists || plain(1, shape.keys.size() - 1))) {
        return part(0, shape.lists ? each : numbers.size());
    }
    nb::dict mapping;
    for (std::size_t k = 0; k < shape.keys.size(); ++k) {
        if (shape.lists) {
            if (k == 0 || !plain(k, 1)) mapping[shape.keys[k].c_str()] = part(k * each, each);
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
        nb::list classes, rates;
        for (const LinkClass& each : t.link_classes()) {
            classes.append(each.name);
            rates.append(nb::make_tuple(each.bandwidth, each.latency));
        }
        facts["link_classes"] = nb::tuple(classes);
        facts["link_rates"] = nb::tuple(rates);
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
        Numbers found(source.shape(0));
        for (std::size_t i = 0; i < found.size(); ++i) {
            const SwitchId from = switch_of(source.data()[i]), to = switch_of(target.data()[i]);
            found[i] = 1 + (non_minimal ? indirect(from, to, static_cast<NodeId>(target.data()[i]), i)
                                        : topology_->distance(from, to));
        }
        return as_array(std::move(found));
    }

    /// Links that leave the switches from `first` to before `last`, one direction each.
    [[nodiscard]] nb::dict links(std::int64_t first, std::int64_t last) const {
        const Topology& t = *topology_;
        if (first < 0 || first > last || last > t.switches()) throw std::invalid_argument("no such switches");
        Numbers source, target, kind, ports;
        for (auto at = static_cast<SwitchId>(first); at < last; ++at) {
            for (Port port = 0; port < t.wired_ports(); ++port) {
                if (!has_link(t, at, port)) continue;
                source.push_back(at);
                target.push_back(t.neighbour(at, port));
                kind.push_back(t.link_class(at, port));
                ports.push_back(port);
            }
        }
        nb::dict columns;
        columns["source"] = as_array(std::move(source));
        columns["target"] = as_array(std::move(target));
        columns["link_class"] = as_array(std::move(kind));
        columns["port"] = as_array(std::move(ports));
        return columns;
    }

    /// The switch of each node.
    [[nodiscard]] nb::object switches_of(const Nodes& nodes) const {
        Numbers found(nodes.shape(0));
        for (std::size_t i = 0; i < found.size(); ++i) found[i] = switch_of(nodes.data()[i]);
        return as_array(std::move(found));
    }

    /// The nodes of a job whose switches have a shape.
    [[nodiscard]] nb::object fold(const Numbers& shape, std::uint32_t nodes, NodeId nics) const {
        const NodeId per_switch = std::max<NodeId>(topology_->nodes_per_switch() / nics, 1);
        const std::vector<NodeId> found = folded_nodes(*topology_, shape, nodes, per_switch);
        return as_array({found.begin(), found.end()});
    }

    /// The port of its switch that leads to each node.
    [[nodiscard]] nb::object node_ports(const Nodes& nodes) const {
        Numbers found(nodes.shape(0));
        for (std::size_t i = 0; i < found.size(); ++i) {
            static_cast<void>(switch_of(nodes.data()[i]));
            found[i] = topology_->ejection_port(static_cast<NodeId>(nodes.data()[i]));
        }
        return as_array(std::move(found));
    }

private:
    static nb::object as_array(Numbers numbers) {
        auto* kept = new Numbers(std::move(numbers));
        const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Numbers*>(p); });
        return nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>{kept->data(), {kept->size()}, owner}.cast();
    }

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
            described["asks_no_queue"] = rule.asks_no_queue();
            routings.append(described);
        }
        nb::dict example;
        example["topology"] = family->name;
        if (!family->by_table) example["geometry"] = spelled(shape_of(*family, family->example), family->example);
        if (family->example_links > 0) example["global_links"] = family->example_links;
        nb::dict described;
        described["name"] = family->name;
        described["example"] = example;
        described["shapes"] = shapes;
        described["routings"] = routings;
        described["arrangements"] = family->arrangements;
        described["parallel_links"] = family->parallel_links;
        described["by_table"] = family->by_table;
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
    const bool said = d.contains("geometry") && !d["geometry"].is_none();
    if (!said && !family.by_table) throw Refusal("geometry", "missing", shapes_of(family));
    if (said) m.geometry = geometry_from(family, d["geometry"]);
    m.table = get_or<std::string>(d, "table", "");
    m.nodes_per_switch = get_or<std::int64_t>(d, "nodes_per_switch", 0);
    m.global_links = get_or<std::int64_t>(d, "global_links", 0);
    m.arrangement = get_or<std::string>(d, "arrangement", "");
    m.routing = get_or<std::string>(d, "routing", "");
    if (d.contains("parallel_links") && !d["parallel_links"].is_none()) {
        for (const auto& [name, links] : get<nb::dict>(d, "parallel_links")) {
            m.parallel_links.push_back({nb::cast<std::string>(name), nb::cast<std::int64_t>(links)});
        }
    }
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
    module.attr("PISCES_16_BANDWIDTHS") =
        nb::make_tuple(tramontane::pisces16::min_bandwidth, tramontane::max_bandwidth);
    nb::class_<b::Network>(module, "Network", "A network that is looked at.")
        .def(nb::init<const nb::dict&>(), "machine"_a,
             "Of the keys of a canonical machine, topology and geometry are needed.\n\nRaises Refusal, a ValueError "
             "with `key`, `problem` and `allowed`, for a network that can't be.")
        .def("facts", &b::Network::facts, "What it consists of.")
        .def("switches_near", &b::Network::switches_near, "own"_a,
             "About how many switches are met by minimal routes among the nodes of the first `own` ones, at most.")
        .def("links", &b::Network::links, "first"_a, "last"_a,
             "Links that leave some switches: arrays source, target, link_class and port.")
        .def("switches_of", &b::Network::switches_of, "nodes"_a, "The switch of each node.")
        .def("fold", &b::Network::fold, "shape"_a, "nodes"_a, "nics"_a = 1,
             "The node of the machine that each node of a job of some shape is.\n\nRaises Refusal if it does not fit.")
        .def("node_ports", &b::Network::node_ports, "nodes"_a, "The port of its switch that leads to each node.")
        .def("visits", &b::Network::visits, "source"_a, "target"_a, "non_minimal"_a = false,
             "Switches a packet visits between nodes, by the shortest minimal routes or by random intermediate ones.");
}
