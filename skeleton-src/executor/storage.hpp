/// \file
/// Reads and writes of programs, by POSIX.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "findings.hpp"
#include "pattern.hpp"
#include "schedule.hpp"

namespace tramontane::executor {

/// A file that the ranks of a node share; each access of a repetition has a place of its own in it. It has no name any
/// more once all have opened it, so that it goes when they end, however they do; and its room is taken beforehand, so
/// that a disk which is full is noticed before anything is written.
class Storage : public CheckedData {
public:
    /// Makes data for an access, which takes no part in its time.
    virtual void prepare(std::int64_t number, std::int64_t repetition) = 0;
    /// Writes or reads in a round.
    virtual void access(std::int64_t number) = 0;
    /// Checks what has been read, or reads what has been written, and forgets it.
    virtual void release(std::int64_t number) = 0;
};

/// Everybody must call it.
/// \param directory where the file is; empty: $TMPDIR, or /tmp
/// \throws std::invalid_argument if it can't be there, on all ranks
[[nodiscard]] std::unique_ptr<Storage> make_storage(const Schedule& schedule, Rank rank, const std::string& directory,
                                                    Fault fault);

}  // namespace tramontane::executor
