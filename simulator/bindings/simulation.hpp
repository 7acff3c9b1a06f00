/// \file
/// The simulator's entry points for Python.
#pragma once

#include <nanobind/nanobind.h>

void bind_simulation(nanobind::module_& module);
void bind_network(nanobind::module_& module);
void bind_routing(nanobind::module_& module);
