/// \file
/// Values of a canonical point, which arrives as a Python dictionary.
#pragma once

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>

namespace tramontane::bindings {

/// \throws std::invalid_argument for a missing or mistyped key
template <class T>
T get(const nanobind::dict& d, const char* key) {
    if (!d.contains(key)) throw std::invalid_argument(std::string("a canonical point lacks '") + key + "'");
    T value{};
    if (!nanobind::try_cast<T>(d[key], value, /*convert=*/false)) {
        throw std::invalid_argument(std::string("'") + key + "' is " + nanobind::repr(d[key]).c_str());
    }
    return value;
}

/// The value, or `otherwise` where the key is missing or None.
template <class T>
T get_or(const nanobind::dict& d, const char* key, T otherwise) {
    return d.contains(key) && !d[key].is_none() ? get<T>(d, key) : otherwise;
}

}  // namespace tramontane::bindings
