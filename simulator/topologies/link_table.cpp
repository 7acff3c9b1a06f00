#include "link_table.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "geometry.hpp"

namespace tramontane {
namespace {

/// Reads one part of a file after the other.
class FileParts {
public:
    explicit FileParts(std::span<const std::byte> bytes) : bytes_(bytes) {}
    template <class T>
    std::span<const T> take(std::size_t count) {
        if (count > bytes_.size() / sizeof(T)) throw Refusal("table", "found one that is cut short", "a whole one");
        const std::span<const T> part{reinterpret_cast<const T*>(bytes_.data()), count};
        bytes_ = bytes_.subspan(count * sizeof(T));
        return part;
    }
    [[nodiscard]] bool empty() const { return bytes_.empty(); }

private:
    std::span<const std::byte> bytes_;
};

/// Returns the number of each switch's first wire among those of all, and the end.
std::vector<std::uint32_t> first_wires(std::span<const LinkTable::Link> links, SwitchId switches) {
    std::vector<std::uint32_t> first(std::size_t{switches} + 1, 0);
    for (const LinkTable::Link& link : links) {
        for (const std::uint32_t end : link.ends) ++first[end + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    return first;
}

/// Returns the wires of all switches, those of each in the order in which they are preferred.
std::vector<Wire> wires_of(std::span<const LinkTable::Link> links, const std::vector<std::uint32_t>& first_wire) {
    std::vector<Wire> wires(2 * links.size());
    std::vector<std::uint16_t> preference(wires.size());
    auto next = first_wire;
    for (const LinkTable::Link& link : links) {
        for (const int end : {0, 1}) {
            const std::uint32_t place = next[link.ends[end]]++;
            wires[place] = {link.ends[1 - end], link.spread,
                            link.ports[end],    static_cast<LinkClassId>(link.link_class + 1),
                            link.ring,          link.dateline};
            preference[place] = link.preference;
        }
    }
    std::vector<std::uint32_t> order;
    std::vector<Wire> ordered;
    for (std::size_t at = 0; at + 1 < first_wire.size(); ++at) {
        const std::uint32_t first = first_wire[at], last = first_wire[at + 1];
        order.resize(last - first);
        std::iota(order.begin(), order.end(), first);
        std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return preference[a] != preference[b] ? preference[a] < preference[b] : wires[a].port < wires[b].port;
        });
        ordered.clear();
        for (const std::uint32_t place : order) ordered.push_back(wires[place]);
        std::copy(ordered.begin(), ordered.end(), wires.begin() + first);
    }
    return wires;
}

/// Returns the number of the wire within its switch, by switch and port.
std::vector<std::uint16_t> wires_behind(const std::vector<Wire>& wires, const std::vector<std::uint32_t>& first_wire,
                                        Port ports) {
    std::vector<std::uint16_t> behind((first_wire.size() - 1) * ports, no_wire);
    for (std::size_t at = 0; at + 1 < first_wire.size(); ++at) {
        std::uint16_t number = 0;
        for (std::uint32_t place = first_wire[at]; place < first_wire[at + 1]; ++place) {
            behind[at * ports + wires[place].port] = number++;
        }
    }
    return behind;
}

}  // namespace

bool LinkTable::says_nodes(const std::string& path) {
    const MappedFile file(path);
    return (FileParts(file.bytes()).take<Header>(1)[0].columns & has_nodes) != 0;
}

LinkTable::LinkTable(const std::string& path, std::int64_t nodes_per_switch) {
    const MappedFile file(path);
    FileParts parts(file.bytes());
    const Header& header = parts.take<Header>(1)[0];
    if (header.format != format) throw Refusal("table", "found '" + path + "'", "the table of a graph");
    columns_ = header.columns;
    const SwitchId switches = checked(header.switches, "switches", 1, "file");
    const bool said = (columns_ & has_nodes) != 0;
    const auto links = parts.take<Link>(static_cast<std::size_t>(header.links));
    const auto counts = parts.take<std::uint32_t>(said ? switches : 0);
    const auto node_ports = parts.take<Port>(said ? static_cast<std::size_t>(header.nodes) : 0);
    static_cast<void>(parts.take<std::byte>((8 - (counts.size_bytes() + node_ports.size_bytes()) % 8) % 8));
    const auto rates = parts.take<Rate>(static_cast<std::size_t>(header.classes));
    const auto text = parts.take<char>(static_cast<std::size_t>(header.text));
    if (!parts.empty()) throw Refusal("table", "found more in '" + path + "' than its header says", "a whole table");

    // Tables stay as they are once they are made: these become some.
    std::vector<std::uint32_t> first_wire = first_wires(links, switches);
    std::vector<Wire> wires = wires_of(links, first_wire);
    std::vector<SwitchId> neighbours, switch_of;
    std::vector<Port> node_port;
    neighbours.reserve(wires.size());
    std::int64_t ports = 0;
    for (const Wire& wire : wires) {
        neighbours.push_back(wire.next);
        spreads_ = spreads_ || wire.spread != 0;
        ports = std::max<std::int64_t>(ports, wire.port + 1);
    }

    const Size each = said ? 0 : checked(nodes_per_switch, "nodes of a switch", 1, "nodes_per_switch");
    carries_nodes_.resize(switches);
    std::int64_t most_of_one = 0;
    NodeId node = 0;
    static_cast<void>(checked(said ? header.nodes : std::int64_t{each} * switches, "nodes", 1, "file"));
    for (SwitchId at = 0; at < switches; ++at) {
        const Size own = said ? counts[at] : each;
        const Size wired = first_wire[at + 1] - first_wire[at];
        carries_nodes_[at] = own > 0;
        nodes_per_switch_ = std::gcd(nodes_per_switch_, own);
        most_of_one = std::max<std::int64_t>(most_of_one, own);
        radix_ = std::max<std::int64_t>(radix_, std::int64_t{own} + wired);
        switch_of.insert(switch_of.end(), own, at);
        if (!said) continue;
        for (Size i = 0; i < own; ++i) ports = std::max<std::int64_t>(ports, node_ports[node + i] + 1);
        node_port.insert(node_port.end(), node_ports.begin() + node, node_ports.begin() + node + own);
        node += own;
    }
    if (!said) {  // behind all wires, at the same ports everywhere
        static_cast<void>(checked_ports(ports + each));
        for (SwitchId at = 0; at < switches; ++at) {
            for (Size i = 0; i < each; ++i) node_port.push_back(static_cast<Port>(ports + i));
        }
        ports += each;
    }
    ports_ = checked_ports(ports);
    behind_ = wires_behind(wires, first_wire, ports_);
    first_wire_ = std::move(first_wire);
    wires_ = std::move(wires);
    neighbours_ = std::move(neighbours);
    switch_of_ = std::move(switch_of);
    node_port_ = std::move(node_port);

    link_classes_.push_back({"ejection"});
    const char* name = text.data();
    for (const Rate& rate : rates) {
        link_classes_.push_back({name, rate.bandwidth, rate.latency});
        name += link_classes_.back().name.size() + 1;
    }
}

}  // namespace tramontane
