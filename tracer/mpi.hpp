/// \file
/// MPI as the program under it is linked with it; this library is linked with none.
#pragma once

#include <dlfcn.h>
#include <link.h>
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

// Open MPI 5 has these calls, and says that it is of MPI 3.1.
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define HAS_CALLS_OF_MPI_4
#define PERSISTENT_NAME(name) MPI_##name
// Open MPI 4 has some of them under other names.
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define PERSISTENT_NAME(name) MPIX_##name
#endif

namespace tramontane::tracer {

/// Where to look for what the program's MPI library has: after this library, as the program is linked with it; or
/// through what the program has loaded later, such as a module of Python, which shares no names with others.
inline void* mpi_library() {
    constexpr const char* known = "PMPI_Init";
    if (dlsym(RTLD_NEXT, known) != nullptr) return RTLD_NEXT;
    std::vector<std::string> files;
    const auto add = [](dl_phdr_info* object, std::size_t, void* to) {
        static_cast<std::vector<std::string>*>(to)->emplace_back(object->dlpi_name);
        return 0;
    };
    dl_iterate_phdr(add, &files);
    Dl_info own{}, other{};
    dladdr(reinterpret_cast<void*>(&mpi_library), &own);
    for (const std::string& file : files) {
        void* const object = file.empty() ? nullptr : dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (object == nullptr) continue;
        void* const found = dlsym(object, known);
        if (found != nullptr && dladdr(found, &other) != 0 && other.dli_fbase != own.dli_fbase) return object;
        dlclose(object);
    }
    return RTLD_NEXT;
}

#if defined(OPEN_MPI)
inline constexpr bool is_open_mpi = true;
inline constexpr const char* kind = "Open MPI";
#else
inline constexpr bool is_open_mpi = false;
inline constexpr const char* kind = "MPICH or its kin";
#endif

/// What the library itself has by this name; a call of ours would otherwise hide it.
inline void* library_symbol(const char* name, bool is_variable) {
    static void* const library = mpi_library();
    // A program may have a copy of a variable, which all others use then.
    static void* const variables = library == RTLD_NEXT ? RTLD_DEFAULT : library;
    static const bool is_other = (dlsym(variables, "ompi_mpi_comm_world") != nullptr) != is_open_mpi;
    void* const found = dlsym(is_variable ? variables : library, name);
    if (found == nullptr) {
        std::fprintf(stderr, "tramontane-trace: found no %s, allowed: a program that has an MPI library\n", name);
        std::_Exit(2);
    }
    if (is_other) {  // its handles are of other types
        std::fprintf(stderr, "tramontane-trace: found another MPI library, allowed: %s, as this one was built\n", kind);
        std::_Exit(2);
    }
    return found;
}

/// A handle as a number.
template <class Handle>
std::uintptr_t number_of(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>) {
        return reinterpret_cast<std::uintptr_t>(handle);
    } else {
        return static_cast<std::uintptr_t>(static_cast<std::make_unsigned_t<Handle>>(handle));
    }
}

}  // namespace tramontane::tracer

/// The library's own `MPI_name`, by its second name.
#define TRAMONTANE_NEXT(name) TRAMONTANE_NEXT_OF(name)
#define TRAMONTANE_NEXT_OF(name)                                                              \
    ([]() -> std::remove_pointer_t<decltype(&name)>* {                                        \
        static auto* const found = reinterpret_cast<std::remove_pointer_t<decltype(&name)>*>( \
            tramontane::tracer::library_symbol("P" #name, false));                            \
        return found;                                                                         \
    }())

#if defined(OPEN_MPI)
// Handles of Open MPI are addresses of its variables.
#define TRAMONTANE_VARIABLE(type, name)                                                                 \
    (*[]() -> type* {                                                                                   \
        static auto* const found = static_cast<type*>(tramontane::tracer::library_symbol(#name, true)); \
        return found;                                                                                   \
    }())
#define ompi_mpi_comm_world TRAMONTANE_VARIABLE(ompi_predefined_communicator_t, ompi_mpi_comm_world)
#define ompi_mpi_comm_self TRAMONTANE_VARIABLE(ompi_predefined_communicator_t, ompi_mpi_comm_self)
#define ompi_mpi_comm_null TRAMONTANE_VARIABLE(ompi_predefined_communicator_t, ompi_mpi_comm_null)
#define ompi_mpi_op_band TRAMONTANE_VARIABLE(ompi_predefined_op_t, ompi_mpi_op_band)
#define ompi_mpi_byte TRAMONTANE_VARIABLE(ompi_predefined_datatype_t, ompi_mpi_byte)
#endif
