#include "device/accelerator.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "device/worker.hpp"

namespace tramontane::device {
namespace {

constexpr const char* library = "libtramontane-gpu.so";

[[noreturn]] void lacks_gpu(const std::string& why) {
    throw std::invalid_argument("device: found 'gpu' (" + why + "), allowed: cpu, host");
}

/// The folder of the file that this function is in.
std::string own_folder() {
    Dl_info found{};
    if (dladdr(reinterpret_cast<const void*>(&own_folder), &found) == 0 || found.dli_fname == nullptr) return ".";
    const std::string file = found.dli_fname;
    const std::size_t end = file.rfind('/');
    return end == std::string::npos ? "." : file.substr(0, end);
}

Accelerator& opened() {
    const std::string path = own_folder() + "/" + library;
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* const error = dlerror();
        const bool is_there = access(path.c_str(), F_OK) == 0;  // else what it needs is missing, or it is broken
        lacks_gpu(is_there && error != nullptr
                      ? error
                      : "this installation has no " + std::string(library) + " (make setup GPU=1)");
    }
    auto* const open = reinterpret_cast<OpenAccelerator*>(dlsym(handle, open_accelerator));
    if (open == nullptr) lacks_gpu(path + " is another library");
    const char* why = "it has none";
    Accelerator* const found = open(layout(), &why);
    if (found == nullptr) lacks_gpu(why);
    return *found;
}

}  // namespace

Layout layout() {
    return {sizeof(Common), sizeof(Worker), sizeof(LaneState), sizeof(NodeRecords::Node), sizeof(CacheLine)};
}

Accelerator& accelerator() {
    static Accelerator& found = opened();
    return found;
}

}  // namespace tramontane::device
