// Bytes, packets and credits are conserved and time goes forward, checked at each event in a build with checks, as CI's
// is.
#include <cstdint>
#include <vector>

#include "engine/ledger.hpp"
#include "given.hpp"
#include "simulation.hpp"
#include "testing.hpp"

using namespace tramontane;
using namespace tramontane::testing;

TEST_CASE("this build checks") { CHECK(checks_invariants()); }

TEST_CASE("books that don't balance are an error") {
    Ledger ledger;
    ledger.post(100);
    ledger.cut(60);
    CHECK_NOTHROW(ledger.verify(1));
    CHECK_THROWS_AS(ledger.verify(0), std::logic_error);         // a packet got lost
    CHECK_THROWS_AS(ledger.verify(2), std::logic_error);         // or was made of nothing
    CHECK_THROWS_AS(ledger.verify_closed(1), std::logic_error);  // or is still on its way
    ledger.leave(60);
    CHECK_NOTHROW(ledger.verify(0));
    CHECK_THROWS_AS(ledger.verify_closed(0), std::logic_error);  // 40 B were never sent
    ledger.cut(40);
    ledger.leave(39);
    CHECK_THROWS_AS(ledger.verify(0), std::logic_error);  // a byte got lost

    CHECK_NOTHROW(verify_buffer(10, 80, 100, false));
    CHECK_NOTHROW(verify_buffer(10, 100, 100, true));
    CHECK_THROWS_AS(verify_buffer(10, 80, 100, true), std::logic_error);
    CHECK_THROWS_AS(verify_buffer(10, 101, 100, false), std::logic_error);
    CHECK_THROWS_AS(verify_buffer(-1, 80, 100, false), std::logic_error);
}

TEST_CASE("every network, routing and protocol keeps the books, with buffers of one packet a channel") {
    const std::vector<const char*> workloads{"kind=transposition algorithm=ring-k radix=3",
                                             "kind=transposition algorithm=burst",
                                             "kind=allreduce algorithm=rabenseifner"};
    for (Machine machine : every_network()) {
        for (const std::int64_t buffers : {1, 8}) {
            machine.packet = 256;
            machine.buffer = 256 * 6 * buffers;
            machine.crossbar_bandwidth = 20'000'000'000;
            machine.short_limit = 128;
            machine.eager_limit = 512;
            machine.round_robin_injection = buffers == 8;
            for (const char* workload : workloads) {
                Run run;
                run.start_jitter = 1'000'000;
                run.congestion_bins = 4;
                INFO(machine.topology << " " << machine.routing << " " << workload << " " << buffers);
                const auto schedule = small_workload(workload, 24);
                const Outcome o = simulate(machine, *schedule, run);
                CHECK(o.delays.total.packets == o.packets);
            }
        }
    }
}
