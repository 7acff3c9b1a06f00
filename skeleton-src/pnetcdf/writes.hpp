/// \file
/// What the operating system answers when the MPI library writes to our file.
///
/// Libraries keep it to themselves: Open MPI's OMPIO takes a failed write for a done one, ROMIO says MPI_ERR_IO
/// whatever it was. Worse, the rank whose write failed leaves a collective operation that all others go on with: they
/// wait forever. So this program has its own `pwrite` in front of theirs. It remembers the first error and says that
/// all is written; the ranks agree later that it is not.
#pragma once

#include <string>

namespace tramontane {

/// From now on, errors of writes to this file are remembered; an error of another file is forgotten. Files that aren't
/// watched are written as always.
void watch_writes(const std::string& path);

/// What the first failed write since then said, an `errno`; 0: none failed.
[[nodiscard]] int write_error();

}  // namespace tramontane
