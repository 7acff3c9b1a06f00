#include "workload.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "workloads/allreduce.hpp"
#include "workloads/collective.hpp"
#include "workloads/halo.hpp"
#include "workloads/jobs.hpp"
#include "workloads/pattern.hpp"
#include "workloads/program.hpp"
#include "workloads/trace.hpp"
#include "workloads/transposition.hpp"

namespace tramontane {

const std::vector<WorkloadKind>& workload_kinds() {
    static const std::vector<WorkloadKind> kinds{transposition_kind(), halo_kind(),    allreduce_kind(),
                                                 collective_kind(),    pattern_kind(), trace_kind(),
                                                 random_shifts_kind(), program_kind(), jobs_kind()};
    return kinds;
}

const WorkloadKind& workload_kind(const std::string& name) {
    const auto& kinds = workload_kinds();
    return *std::find_if(kinds.begin(), kinds.end(), [&](const WorkloadKind& each) { return each.name == name; });
}

const WorkloadKind& read_workload(KeyReader& reader, Values& values) {
    Key kind = Key::word("kind", {});
    for (const WorkloadKind& each : workload_kinds()) kind.words.push_back(each.name);
    reader.read({kind}, values, "workload.");
    for (const WorkloadKind& each : workload_kinds()) {
        if (!values.is("kind", each.name)) continue;
        reader.read(each.keys, values, "workload.");
        if (each.read_more != nullptr) each.read_more(reader, values);
        return each;
    }
    refuse(kind.name, "nothing", kind.allowed());
}

std::unique_ptr<Workload> make_workload(std::vector<Argument> given, std::int64_t ranks,
                                        const Permissions& permissions) {
    if (ranks < 1 || ranks > std::numeric_limits<Rank>::max()) {
        refuse_key("ranks", std::to_string(ranks), "an integer from 1 and below 2^31");
    }
    KeyReader reader{std::move(given)};
    Values values;
    const WorkloadKind& kind = read_workload(reader, values);
    reader.finish("workload.");
    return kind.make(std::move(values), static_cast<Rank>(ranks), permissions);
}

}  // namespace tramontane
