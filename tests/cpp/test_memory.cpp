// A run that gets no memory ends with that, whoever asks for it: a program of its own, since it replaces `new`.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "drawn.hpp"
#include "given.hpp"
#include "simulation.hpp"
#include "testing.hpp"

namespace {

constexpr long never = -1;
std::atomic<long> until_none = never;  // how often there is memory still

void* memory(std::size_t bytes, std::size_t aligned = alignof(std::max_align_t)) {
    if (until_none > never && until_none-- == 0) throw std::bad_alloc();
    void* const found = std::aligned_alloc(aligned, (bytes + aligned - 1) / aligned * aligned);
    if (found == nullptr) throw std::bad_alloc();
    return found;
}

}  // namespace

void* operator new(std::size_t bytes) { return memory(bytes); }
void* operator new(std::size_t bytes, std::align_val_t aligned) {
    return memory(bytes, static_cast<std::size_t>(aligned));
}
void operator delete(void* of) noexcept { std::free(of); }
void operator delete(void* of, std::size_t) noexcept { std::free(of); }
void operator delete(void* of, std::align_val_t) noexcept { std::free(of); }
void operator delete(void* of, std::size_t, std::align_val_t) noexcept { std::free(of); }

using namespace tramontane;
using namespace tramontane::testing;

TEST_CASE("several threads end where any of them, or who starts them, gets no memory") {
    const Drawn drawn(every_network()[0], 7);
    const auto schedule = drawn.schedule();
    Run run = drawn.run;
    run.threads = 4;
    run.grain = 0;
    const auto simulated = [&] { return numbers(simulate(drawn.machine, *schedule, run)); };
    const auto expected = simulated();
    long asked = 0;
    for (bool failed = true; failed; ++asked) {
        until_none = asked;
        try {
            const auto found = simulated();
            failed = until_none <= never;  // who sorts does without
            until_none = never;
            CHECK(found == expected);
        } catch (const std::bad_alloc&) {
            until_none = never;
        }
    }
    CHECK(asked > 100);
}
