/// \file
/// The extension module tramontane._simulator.
#include <nanobind/nanobind.h>

#include <exception>
#include <system_error>

#include "simulation.hpp"
#include "workload_dict.hpp"

namespace {

/// What the system refuses is Python's OSError, whose number says which limit it was: of threads, say.
void tell_refusal(const std::exception_ptr& thrown, void* /*payload*/) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::system_error& refused) {
        PyErr_SetObject(PyExc_OSError, nanobind::make_tuple(refused.code().value(), refused.what()).ptr());
    }
}

}  // namespace

NB_MODULE(_simulator, module) {
    module.doc() = "Schedules of atmospheric models' communications, and the packet-level simulator that runs them.";
#ifdef TRAMONTANE_COMPILER
    module.attr("COMPILER") = TRAMONTANE_COMPILER;
#endif
    nanobind::register_exception_translator(tell_refusal);
    bind_schedule(module);
    bind_network(module);
    bind_simulation(module);
    bind_routing(module);
}
