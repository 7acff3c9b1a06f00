/// \file
/// MPI as the program under it is linked with it; this library is linked with none.
#pragma once

#include <dlfcn.h>
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#if defined(OPEN_MPI)
// Handles of Open MPI are addresses of its variables. Programs that are started on the way, such as a shell, lack them.
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_int64_t
#pragma weak ompi_request_null
#pragma weak ompi_message_null
#pragma weak ompi_message_no_proc
#endif

// Open MPI 5 has these calls, and says that it is of MPI 3.1.
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define HAS_CALLS_OF_MPI_4
#define PERSISTENT_NAME(name) MPI_##name
// Open MPI 4 has some of them under other names.
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define PERSISTENT_NAME(name) MPIX_##name
#endif

namespace tramontane::tracer {

/// The function of the library itself, which a call of ours would otherwise hide.
template <class Function>
Function* library_function(const char* name) {
    void* const found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) {
        std::fprintf(stderr, "tramontane-trace: found no %s, allowed: a program that is linked with an MPI library\n",
                     name);
        std::_Exit(2);
    }
    return reinterpret_cast<Function*>(found);
}

/// Ends a program of another MPI library than this one is compiled with: handles of Open MPI are addresses, those of
/// MPICH and its kin are numbers, and neither can be handed on as the other.
inline void refuse_other_library() {
#if defined(OPEN_MPI)
    constexpr bool open_mpi = true;
#else
    constexpr bool open_mpi = false;
#endif
    if ((dlsym(RTLD_NEXT, "ompi_mpi_comm_world") != nullptr) == open_mpi) return;
    constexpr const char *one = "Open MPI", *another = "MPICH or the like";
    std::fprintf(stderr,
                 "tramontane-trace: found a program of %s; allowed: one of %s, for which this tracer was built\n",
                 open_mpi ? another : one, open_mpi ? one : another);
    std::_Exit(2);
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
#define TRAMONTANE_NEXT_OF(name)                                                                     \
    ([]() -> std::remove_pointer_t<decltype(&name)>* {                                               \
        static auto* const found =                                                                   \
            tramontane::tracer::library_function<std::remove_pointer_t<decltype(&name)>>("P" #name); \
        return found;                                                                                \
    }())
