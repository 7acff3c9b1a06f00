#!/bin/sh
# Builds and runs the C++ tests where their framework, Catch2, is installed. The same code is tested through its Python
# binding everywhere, so leaving them out loses no coverage of behaviour. Run by make, in the checkout's root.
set -eu

PATH="$PWD/.venv/bin:$PATH"
build=build/cpp
log=$build.log
mkdir -p build
cmake -S . -B "$build" -G Ninja -DTRAMONTANE_EXTENSION=OFF -DTRAMONTANE_TESTS=ON -DTRAMONTANE_CHECKS=ON \
    -DTRAMONTANE_LTO=OFF >"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }
if ! [ -e "$build/CTestTestfile.cmake" ] || grep -q 'Catch2 is not installed' "$log"; then
    echo 'C++ tests left out: Catch2 is not installed (Debian: apt-get install catch2)' >&2
    exit 0
fi
cmake --build "$build" >>"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }
ctest --test-dir "$build" --output-on-failure --no-tests=error
