/// \file
/// PISCES' switch and network interface, with a log of the packets that come in; all else is theirs.
///
/// What happens to a packet is private to them, but the handlers that they give to the links are not: ours look at an
/// event and pass it on. Events, and so times, are the same to the last digit.

#include <sprockit/sim_parameters.h>
#include <sstmac/hardware/nic/nic.h>
#include <sstmac/hardware/pisces/pisces_nic.h>
#include <sstmac/hardware/pisces/pisces_switch.h>

#include <memory>
#include <string>
#include <utility>

#include "packet_log.hpp"

namespace tramontane::sst {
namespace {

/// Lets somebody look at events on their way to their handler.
template <class Look>
class Tap final : public sstmac::EventHandler {
public:
    Tap(sstmac::LinkHandler* next, Look look) : next_(next), look_(std::move(look)) {}

    std::string toString() const override { return next_->toString(); }
    void handle(sstmac::Event* event) override {
        look_(event);
        next_->handle(event);
    }

private:
    std::unique_ptr<sstmac::LinkHandler> next_;
    Look look_;
};

}  // namespace

class LoggedNic final : public sstmac::hw::PiscesNIC {
public:
    SST_ELI_REGISTER_DERIVED(NIC, LoggedNic, "macro", "tramontane", SST_ELI_ELEMENT_VERSION(1, 0, 0),
                             "PISCES' network interface with a log of packets")

    LoggedNic(std::uint32_t id, SST::Params& params, sstmac::hw::Node* parent)
        : PiscesNIC(id, params, parent), log_(PacketLog::open(params)) {}

    sstmac::LinkHandler* payloadHandler(int port) override {
        sstmac::LinkHandler* const next = PiscesNIC::payloadHandler(port);
        if (port == NIC::LogP) {
            return new Tap(next, [this](sstmac::Event* event) {
                log_->bypassed(*static_cast<sstmac::hw::NicEvent*>(event)->msg(), now().time.ticks());
            });
        }
        return new Tap(next, [this](sstmac::Event* event) {
            log_->at_node(*static_cast<sstmac::hw::PiscesPacket*>(event), now().time.ticks());
        });
    }

private:
    std::shared_ptr<PacketLog> log_;
};

class LoggedSwitch final : public sstmac::hw::PiscesSwitch {
public:
    SST_ELI_REGISTER_DERIVED_COMPONENT(NetworkSwitch, LoggedSwitch, "macro", "tramontane_switch",
                                       SST_ELI_ELEMENT_VERSION(1, 0, 0), "PISCES' switch with a log of packets",
                                       COMPONENT_CATEGORY_NETWORK)

    using PiscesSwitch::PiscesSwitch;

    sstmac::LinkHandler* payloadHandler(int port) override {
        return new Tap(PiscesSwitch::payloadHandler(port), [this, log = PacketLog::opened()](sstmac::Event* event) {
            log->at_switch(*static_cast<sstmac::hw::PiscesPacket*>(event), now().time.ticks());
        });
    }
};

}  // namespace tramontane::sst
