#!/bin/sh
# clang-tidy (.clang-tidy) on the C++ that has changed since BASE, and on what includes it. BASE is a revision, or `all`
# for everything; by default it is where this branch left main and, on main itself, the commit before.
# Asks the build of the preset `thread` how each file is compiled and what it includes. Run by make.
set -eu

PATH="$PWD/.venv/bin:$PATH"
build=build/thread
if ! command -v run-clang-tidy >/dev/null || ! [ -e "$build/build.ninja" ]; then
    echo 'clang-tidy left out: not installed (Debian: apt-get install clang clang-tidy)' >&2
    exit 0
fi
head=$(git rev-parse HEAD)
base=${BASE:-$(git merge-base HEAD origin/main 2>/dev/null || echo "$head")}
[ "$base" != "$head" ] || base=HEAD~1

if [ "$base" = all ]; then
    chosen='/(simulator|skeleton-src|tests/cpp)/'
else
    # Of each object file ninja lists the source and then its headers; print the source if one of them has changed.
    chosen=$(
        { git diff --name-only "$base" -- '*.cpp' '*.hpp' && echo --; ninja -C "$build" -t deps; } | awk -v root="$PWD/" '
            !listed { if ($0 == "--") listed = 1; else changed[root $0]; next }
            /^[^ ]/ { source = ""; next }
            { name = $1; sub("^[.][.]/[.][.]/", root, name) } # as a compiler cache may have it
            { if (!source) source = name; if ((name in changed) && source != "-") { print "^" source "$"; source = "-" } }
            ' | grep -v '/\.venv/' | sort -u
    )
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
