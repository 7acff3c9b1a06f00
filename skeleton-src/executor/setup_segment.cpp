#include "setup_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "refusal.hpp"

namespace tramontane::executor {
namespace {

[[nodiscard]] std::span<const std::byte> attach(const std::string& name) {
    const auto refuse_segment = [&] { refuse_key("setup", "'" + name + "'", "a segment of shared memory"); };
    const int file = shm_open(name.c_str(), O_RDONLY, 0);
    if (file < 0) refuse_segment();
    struct stat status{};
    void* const memory = fstat(file, &status) == 0 && status.st_size > 0
                             ? mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_SHARED, file, 0)
                             : MAP_FAILED;
    close(file);
    if (memory == MAP_FAILED) refuse_segment();
    return {static_cast<const std::byte*>(memory), static_cast<std::size_t>(status.st_size)};
}

}  // namespace

std::span<const std::byte> attached(const std::string& name) {
    static const std::string first = name;
    static const std::span<const std::byte> content = attach(name);
    if (name != first) refuse_key("setup", "'" + name + "' beside '" + first + "'", "one segment a process");
    return content;
}

}  // namespace tramontane::executor
