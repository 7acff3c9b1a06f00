#!/bin/sh
# clang-tidy (.clang-tidy) on the C++ that has changed since BASE, and on what includes it. BASE is a revision, or `all`
# for everything; by default it is where this branch left main and, on main itself, the commit before.
# Run by make, in the checkout's root.
set -eu

PATH="$PWD/.venv/bin:$PATH"
build=build/tidy
if ! command -v run-clang-tidy >/dev/null || ! command -v clang++ >/dev/null; then
    echo 'clang-tidy left out: not installed (Debian: apt-get install clang clang-tidy)' >&2
    exit 0
fi
# How each file is compiled. What the compiler itself warns of is an error here, too.
mpi=''
command -v mpicxx >/dev/null || mpi=-DTRAMONTANE_MPI=OFF
mkdir -p build
# shellcheck disable=SC2086
cmake --preset tidy $mpi >"$build.log" 2>&1 || { tail -n 20 "$build.log" >&2; exit 1; }
head=$(git rev-parse HEAD)
base=${BASE:-$(git merge-base HEAD origin/main 2>/dev/null || echo "$head")}
[ "$base" != "$head" ] || base=HEAD~1

if [ "$base" = all ]; then
    chosen='/(simulator|skeleton-src|tests/cpp)/'
else
    chosen=$(python workflow/scripts/sources_changed.py "$build" "$base")
    [ -n "$chosen" ] || { echo "clang-tidy: no C++ has changed since $base"; exit 0; }
fi
log=build/clang-tidy.log
# shellcheck disable=SC2086  # one regular expression a file
if ! run-clang-tidy -quiet -p "$build" $chosen >"$log" 2>&1; then
    # A header's findings come once for each file that includes it.
    sed 's/\x1b\[[0-9;]*m//g' "$log" | grep -E ' (error|warning): ' | sed "s|^$PWD/||" | sort -u >&2
    echo "clang-tidy failed; all it says is in $log" >&2
    exit 1
fi
echo "clang-tidy: nothing found in $(grep -c '^clang-tidy' "$log") files since $base"
