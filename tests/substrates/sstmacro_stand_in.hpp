/// \file
/// As much of SST/macro 16's C++ as `sstmacro/` names, declared and not defined: so that a compiler checks our side of
/// it where SST/macro is not installed. SST/macro itself decides whether this is true (docs/sstmacro.md).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace SST {

struct UnitAlgebra {
    struct Decimal {
        [[nodiscard]] double toDouble() const;
    };
    [[nodiscard]] Decimal getValue() const;
    [[nodiscard]] std::int64_t getRoundedValue() const;
};

class Params {
public:
    template <class T>
    T find(const std::string& key) const;
    template <class T>
    T find(const std::string& key, const T& otherwise) const;
    template <class T>
    void find_array(const std::string& key, std::vector<T>& values) const;
    [[nodiscard]] bool contains(const std::string& key) const;
    [[nodiscard]] Params get_scoped_params(const std::string& block) const;
};

}  // namespace SST

namespace sprockit {

struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
[[noreturn]] void abort(const std::string& line);

}  // namespace sprockit

#define SPKT_REGISTER_DERIVED(base, type, library, name, text) static_assert(sizeof(library name text) > 0)
#define SST_ELI_ELEMENT_VERSION(a, b, c) 0
#define SST_ELI_REGISTER_DERIVED(base, type, library, name, version, text) static_assert(sizeof(library name text) > 0);
#define SST_ELI_REGISTER_DERIVED_COMPONENT(base, type, library, name, version, text, category) \
    static_assert(sizeof(library name text) > 0);

namespace sstmac {

using NodeId = std::uint32_t;
using SwitchId = std::uint32_t;

struct TimeDelta {
    TimeDelta() = default;
    explicit TimeDelta(double seconds);
    [[nodiscard]] std::uint64_t ticks() const;
};
struct Timestamp {
    TimeDelta time;
};

struct Event {
    virtual ~Event() = default;
};
struct EventHandler {
    virtual ~EventHandler() = default;
    [[nodiscard]] virtual std::string toString() const = 0;
    virtual void handle(Event* event) = 0;
};
using LinkHandler = EventHandler;

namespace hw {

struct Flow {
    virtual ~Flow() = default;
    [[nodiscard]] std::uint64_t flowId() const;
    [[nodiscard]] std::uint64_t byteLength() const;
};

class NetworkMessage : public Flow {
public:
    enum nic_event_t { rdma_get_request, rdma_get_payload, smsg_send };
    [[nodiscard]] nic_event_t type() const;
    [[nodiscard]] NodeId fromaddr() const;
    [[nodiscard]] NodeId toaddr() const;
    [[nodiscard]] Timestamp timeStarted() const;
};

class Packet : public Event {
public:
    struct Header {
        char is_tail : 1;
        std::uint16_t edge_port;
        std::uint8_t deadlock_vc : 4;
    };
    template <class T>
    T* rtrHeader() {
        static_assert(sizeof(T) <= 16, "what PISCES keeps for a router");
        return nullptr;
    }
    [[nodiscard]] NodeId toaddr() const;
    [[nodiscard]] NodeId fromaddr() const;
    [[nodiscard]] std::uint32_t byteLength() const;
    [[nodiscard]] std::uint64_t flowId() const;
    [[nodiscard]] Flow* flow() const;
    void setEdgeOutport(int port);
    void setDeadlockVC(int channel);
};
class PiscesPacket : public Packet {
public:
    [[nodiscard]] TimeDelta byteDelay() const;
};

class Topology {
public:
    struct Connection {
        SwitchId src, dst;
        int src_outport, dst_inport;
    };
    struct InjectionPort {
        NodeId nid;
        int switch_port, ep_port;
    };
    explicit Topology(SST::Params& params);
    virtual ~Topology() = default;
    [[nodiscard]] virtual std::string toString() const = 0;
    virtual void connectedOutports(SwitchId at, std::vector<Connection>& links) const = 0;
    [[nodiscard]] virtual SwitchId numSwitches() const = 0;
    [[nodiscard]] virtual SwitchId maxSwitchId() const = 0;
    [[nodiscard]] virtual NodeId numNodes() const = 0;
    [[nodiscard]] virtual NodeId maxNodeId() const = 0;
    [[nodiscard]] virtual int maxNumPorts() const = 0;
    [[nodiscard]] virtual int numHopsToNode(NodeId from, NodeId to) const = 0;
    [[nodiscard]] virtual SwitchId endpointToSwitch(NodeId node) const = 0;
    virtual void endpointsConnectedToInjectionSwitch(SwitchId at, std::vector<InjectionPort>& nodes) const = 0;
    virtual void endpointsConnectedToEjectionSwitch(SwitchId at, std::vector<InjectionPort>& nodes) const = 0;
};

class NetworkSwitch {
public:
    virtual ~NetworkSwitch() = default;
    [[nodiscard]] virtual int queueLength(int port, int channel) const = 0;
};

class Router {
public:
    virtual ~Router() = default;
    [[nodiscard]] virtual std::string toString() const = 0;
    virtual void route(Packet* packet) = 0;
    [[nodiscard]] virtual int numVC() const = 0;

protected:
    Router(SST::Params& params, Topology* topology, NetworkSwitch* here);
    static constexpr int all_vcs = -1;
    SwitchId my_addr_;
    NetworkSwitch* netsw_;
};

class Node;
class NicEvent : public Event {
public:
    [[nodiscard]] NetworkMessage* msg() const;
};
class NIC {
public:
    enum Port { Injection, LogP };
    virtual ~NIC() = default;
    [[nodiscard]] Timestamp now() const;
};
class PiscesNIC : public NIC {
public:
    PiscesNIC(std::uint32_t id, SST::Params& params, Node* parent);
    virtual LinkHandler* payloadHandler(int port);
};
class PiscesSwitch : public NetworkSwitch {
public:
    PiscesSwitch(std::uint32_t id, SST::Params& params);
    [[nodiscard]] int queueLength(int port, int channel) const override;
    virtual LinkHandler* payloadHandler(int port);
    [[nodiscard]] Timestamp now() const;
};

}  // namespace hw
}  // namespace sstmac

namespace sumi {

struct MpiProtocol {
    enum Protocol { EAGER0, EAGER1, RENDEZVOUS_GET };
};
class MpiMessage : public sstmac::hw::NetworkMessage {
public:
    [[nodiscard]] int protocol() const;
    [[nodiscard]] int srcRank() const;
    [[nodiscard]] int dstRank() const;
};

}  // namespace sumi
