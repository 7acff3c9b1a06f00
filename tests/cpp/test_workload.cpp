#include <string>

#include "testing.hpp"
#include "workload.hpp"

using namespace tramontane;

namespace {

std::string refusal(const WorkloadSpec& spec) {
    try {
        (void)make_schedule(spec);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("make_schedule makes the schedule that is described") {
    WorkloadSpec spec{};
    spec.kind = "transposition";
    spec.algorithm = "ring-k";
    spec.ranks = 256;
    spec.radix = 4;
    spec.grid = {1440, 720, 64};
    REQUIRE(make_schedule(spec)->ranks() == 256);
    REQUIRE(make_schedule(spec)->rounds() == 12);
    REQUIRE(make_schedule(spec)->send(0, 0, 0).bytes == 8 * 90 * 45 * 4);
    spec.kind = "halo";
    spec.width = 20;
    REQUIRE(make_schedule(spec)->phases() == std::vector<std::string>{"x-sweep", "y-sweep"});
    spec.kind = "allreduce";
    spec.algorithm = "recursive-k";
    spec.count = 3;
    spec.repeats = 50;
    REQUIRE(make_schedule(spec)->rounds() == 200);
}

TEST_CASE("What cannot be is refused in one line") {
    WorkloadSpec spec{};
    REQUIRE(refusal(spec) == "workload.kind: found '', allowed: transposition, halo, allreduce");
    spec.kind = "transposition";
    spec.algorithm = "ring-k";
    spec.ranks = 6;
    spec.radix = 1;
    spec.grid = {10, 10, 2};
    REQUIRE(refusal(spec) == "accepted");
    spec.decomposition = {3, 2};
    REQUIRE(refusal(spec).find("workload.decomposition: found [3, 2], allowed: cx <= 2 and cy <= 10") == 0);
    spec.allow_empty_blocks = true;
    REQUIRE(refusal(spec) == "accepted");
    spec.decomposition = {2, 2};
    REQUIRE(refusal(spec) == "workload.decomposition: found [2, 2], allowed: [cx, cy] with cx * cy = ranks (6)");
    spec.decomposition = {2, 3};
    spec.radix = 0;
    REQUIRE(refusal(spec) == "workload.radix: found 0, allowed: an integer from 1");
    spec.kind = "allreduce";
    spec.count = 3;
    REQUIRE(refusal(spec) ==
            "workload.algorithm: found 'ring-k', allowed: recursive-k, recursive-doubling, ring, rabenseifner");
    spec.algorithm = "ring";
    spec.repeats = 0;
    REQUIRE(refusal(spec) == "workload.repeats: found 0, allowed: an integer from 1");
}
