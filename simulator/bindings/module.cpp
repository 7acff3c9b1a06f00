/// \file
/// The extension module tramontane._simulator.
#include <nanobind/nanobind.h>

#include "simulation.hpp"
#include "workload_dict.hpp"

NB_MODULE(_simulator, module) {
    module.doc() = "Schedules of atmospheric models' communications, and the packet-level simulator that runs them.";
#ifdef TRAMONTANE_COMPILER
    module.attr("COMPILER") = TRAMONTANE_COMPILER;
#endif
    bind_schedule(module);
    bind_network(module);
    bind_simulation(module);
    bind_routing(module);
}
