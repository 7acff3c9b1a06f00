/// \file
/// What everybody has to know of a kind of workload: bindings, the MPI executor, planning and the plug-ins of other
/// simulators ask here, and branch on no kind's name.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../contents.hpp"
#include "../decomposition.hpp"
#include "../keys.hpp"
#include "../refusal.hpp"
#include "../schedule.hpp"

namespace tramontane {

/// Operation of an MPI library that does what a workload's own messages do.
enum class Collective {
    none,
    alltoall,    ///< MPI_Alltoallv among the ranks that talk to each other in a round
    neighbours,  ///< MPI_Neighbor_alltoallv on the graph of a round
    allreduce    ///< MPI_Allreduce of the vectors of all ranks
};

/// A workload whose keys have been read and found to be possible for its number of ranks.
class Workload {
public:
    Workload(Values values, Rank ranks) : values_{std::move(values)}, ranks_{ranks} {}
    Workload(const Workload&) = delete;
    Workload& operator=(const Workload&) = delete;
    virtual ~Workload() = default;

    /// All of its keys, those that were left out too, `kind` first.
    [[nodiscard]] const Values& values() const { return values_; }
    [[nodiscard]] Rank ranks() const { return ranks_; }

    /// \param setup what `setup()` gave, kept by others for longer than the schedule; empty: it makes its own
    [[nodiscard]] virtual std::unique_ptr<Schedule> schedule(std::span<const std::byte> setup = {}) const = 0;

    /// The same messages for somebody who asks about a few ranks only; for planning, made without a table of all.
    [[nodiscard]] virtual std::unique_ptr<Schedule> sampled() const { return schedule(); }

    /// What all ranks have to know of each other, in one piece of memory that they may share; empty: nothing.
    [[nodiscard]] virtual std::vector<std::byte> setup() const { return {}; }

    /// The largest block of data of any rank at any time, relative to the mean.
    [[nodiscard]] virtual double imbalance() const { return 1; }

    /// How far a decomposition may cut the grid; nothing where there is none.
    [[nodiscard]] virtual std::optional<DecompositionLimits> limits() const { return std::nullopt; }

    /// Whether MPI shall take messages from the field and bring them there by datatypes, so that nothing is packed.
    /// Then each message is one box of a field that stays in its place.
    [[nodiscard]] virtual bool by_datatypes() const { return false; }

    /// Whether its phases are steps, with work among them.
    [[nodiscard]] virtual bool has_steps() const { return false; }

    /// The MPI library's operation that would do the same.
    [[nodiscard]] virtual Collective collective() const { return Collective::none; }

protected:
    void set(const std::string& key, Value value) { values_.set(key, std::move(value)); }

private:
    Values values_;
    Rank ranks_;
};

/// Refuses what a workload within another one can't have: its messages carry stamps and stand in no field.
/// \param within what it is
inline void refuse_datatypes(const Workload& workload, const std::string& within) {
    if (!workload.by_datatypes()) return;
    refuse("buffers", "datatypes in a " + within + ", whose messages are of no field",
           "explicit, or a halo of its own");
}

/// What is let pass although no model would do it.
struct Permissions {
    /// Let a transposition have ranks without points in some layout; their messages have 0 bytes. A few reference
    /// points of two or four ranks do (a grid with ny = 1).
    bool empty_blocks = false;
};

/// The descriptor of a kind of workload.
struct WorkloadKind {
    std::string name;
    std::vector<Key> keys;  ///< beside `kind`, in the order in which they are told
    /// The algorithm whose schedule says what a library's operation moves; empty if there is none to be chosen.
    std::string library_algorithm;
    /// \throws std::invalid_argument for what is not possible, with one line: key, what was found, what is allowed
    std::unique_ptr<Workload> (*make)(Values values, Rank ranks, const Permissions& permissions);
    /// Reads keys whose names depend on what is given; null: there are none.
    void (*read_more)(KeyReader& reader, Values& values) = nullptr;
};

/// The key `algorithm` and those keys that only some algorithms have.
///
/// \param algorithms each with a `name` and `keys()`
template <class Algorithms>
[[nodiscard]] std::vector<Key> algorithm_keys(const Algorithms& algorithms) {
    std::vector<Key> keys{Key::word("algorithm", {})};
    for (const auto& algorithm : algorithms) {
        keys.front().words.emplace_back(algorithm.name);
        for (Key key : algorithm.keys()) {
            key.with = "algorithm";
            key.with_value = algorithm.name;
            keys.push_back(std::move(key));
        }
    }
    return keys;
}

}  // namespace tramontane
