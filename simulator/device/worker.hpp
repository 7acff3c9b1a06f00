/// \file
/// What a lane does, and all that it sees. On an accelerator the lanes of a point have one of them together.
#pragma once

#include "device/common.hpp"
#include "device/lane.hpp"

namespace tramontane::device {

struct alignas(128) Worker {
    Worker(Memory& memory, const Machine& machine, Common& common, SwitchArrays& switch_arrays, NodeArrays& node_arrays,
           OwnState own)
        : lane(common, own),
          switches(lane, memory, common, switch_arrays),
          nodes(lane, switches, machine, common, node_arrays, own) {}

    /// Handles what happens at a site in this window.
    TRAMONTANE_RULE void visit(SiteId site) {
        const LpId lp = lane.sites.lp(site);
        if (lp >= lane.switches) {
            if (!lane.places.several()) nodes.begin_visit(lp - lane.switches);
        } else if (lane.sites.by_port()) {
            switches.begin_visit(lp, lane.sites.port(site));
        }
        lane.visit(
            site, [&](const Pending& event, Ticks time) { take_back(lp, event, time); },
            [&](const Pending& event, Ticks now) { handle(lp, event, now); });
    }
    /// While no lane runs; see Lane::give_ahead.
    void give_ahead() {
        lane.give_ahead([&](LpId lp, const Pending& event, Ticks time) { take_back(lp, event, time); });
    }

    Lane lane;
    Switches switches;
    Nodes nodes;

private:
    TRAMONTANE_RULE void take_back(LpId lp, const Pending& event, Ticks time) {
        if ((event.code & 15) == Lane::to_switch) return switches.take_back(lp, event.code, time, event.item);
        switches.take_from_switch(lane.place_of(lp, event.code), time, event.item);
    }
    TRAMONTANE_RULE void handle(LpId lp, const Pending& event, Ticks now) {
        switch (kind_of(event.code)) {
            case EventKind::crossbar_credit:
                return switches.crossbar_goes_on(lp, event.code, now);
            case EventKind::output_credit:
                return switches.link_goes_on(lp, event.code, now);
            case EventKind::nic_wake:
                return nodes.nic_goes_on(lane.place_of(lp, event.code), now);
            case EventKind::start:
                return nodes.rank_starts(lane.place_of(lp, event.code), now);
            case EventKind::resume:
                return nodes.processor_goes_on(lane.place_of(lp, event.code), event.code, now);
            case EventKind::head_arrival:
                return switches.head_arrives(lp, event.item, now);
            case EventKind::crossbar_exit:
                return switches.head_leaves_crossbar(lp, event.item, now);
            case EventKind::message_arrival:
                return nodes.message_arrives(lane.place_of(lp, event.code), event.code, event.item, now);
        }
    }
};

}  // namespace tramontane::device
