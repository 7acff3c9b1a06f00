#include "device/memory.hpp"

#include <algorithm>
#include <cstring>

namespace tramontane::device {

namespace {
constexpr std::size_t line = 128;
}

/// A line more than is asked for, in whose rest before the array stands where the memory begins.
void* HostMemory::allocate(std::size_t bytes) {
    void* const memory = std::calloc(std::max<std::size_t>(bytes, 1) + line, 1);
    if (memory == nullptr) throw std::bad_alloc();
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    auto* const array = static_cast<std::byte*>(memory) + (line - address % line);
    std::memcpy(array - sizeof(memory), &memory, sizeof(memory));
    return array;
}

void HostMemory::release(void* memory) noexcept {
    if (memory == nullptr) return;
    void* begin = nullptr;
    std::memcpy(&begin, static_cast<std::byte*>(memory) - sizeof(begin), sizeof(begin));
    std::free(begin);
}

void HostMemory::copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

}  // namespace tramontane::device
