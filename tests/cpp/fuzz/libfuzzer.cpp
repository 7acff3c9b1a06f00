// The entry of libFuzzer; TRY is the function that a program tries its inputs with.
#include <cstddef>
#include <cstdint>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tramontane::fuzz::TRY({reinterpret_cast<const char*>(data), size});
    return 0;
}
