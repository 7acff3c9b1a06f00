#include "routing.hpp"

#include <array>

namespace tramontane {

const RoutingRule& rule_of(const std::string& routing) {
    static const std::array rules{
        RoutingRule{"minimal", Policy::minimal},
        RoutingRule{"d-mod-k", Policy::minimal},
        RoutingRule{"valiant", Policy::valiant},
        RoutingRule{"valiant-global", Policy::valiant, true},
        RoutingRule{"ugal", Policy::ugal},
        RoutingRule{"ugal-g", Policy::ugal_g},
        RoutingRule{"par", Policy::par},
        RoutingRule{"ugal-sstmacro71", Policy::ugal_sstmacro71},
        RoutingRule{"round-robin", Policy::round_robin},
        RoutingRule{"adaptive", Policy::adaptive},
    };
    for (const RoutingRule& rule : rules) {
        if (rule.name == routing) return rule;
    }
    throw std::invalid_argument("machine.routing: no rule for '" + routing + "'");
}

}  // namespace tramontane
