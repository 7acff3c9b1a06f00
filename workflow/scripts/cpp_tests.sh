#!/bin/sh
# Builds and runs the C++ tests where their framework, Catch2, is installed: `cpp_tests.sh [PRESET]`, one of
# CMakePresets.json. The same code is tested through its Python binding everywhere, so leaving them out loses no
# coverage of behaviour. With AT_LENGTH=1 the preset `address` makes all checks of its sanitizers and counts which lines
# they execute, for which it takes twice as long to build. Run by make, in the checkout's root.
set -eu

PATH="$PWD/.venv/bin:$PATH"
preset=${1:-cpp}
build=build/$preset
log=$build.log

left_out() {
    echo "C++ tests left out ($preset): $1" >&2
    exit 0
}

coverage=OFF
unchecked=''
if [ "$preset" = address ]; then
    if [ -n "${AT_LENGTH:-}" ]; then coverage=ON; else unchecked=alignment,null,object-size,vptr; fi
fi
if [ "$preset" = thread ]; then
    command -v clang++ >/dev/null || left_out 'no clang++ (Debian: apt-get install clang libclang-rt-dev)'
fi
mkdir -p build
cmake --preset "$preset" -DTRAMONTANE_COVERAGE="$coverage" -DTRAMONTANE_UNCHECKED="$unchecked" >"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }
if ! [ -e "$build/CTestTestfile.cmake" ] || grep -q 'Catch2 is not installed' "$log"; then
    left_out 'Catch2 is not installed (Debian: apt-get install catch2)'
fi
# Counts of lines of an earlier run; a build that has changed can't add to them.
find "$build" -name '*.gcda' -delete
cmake --build "$build" >>"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }
ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(nproc)"
[ "$coverage" = OFF ] || sh workflow/scripts/cpp_coverage.sh
