#!/bin/sh
# Tries broken points, schedules and files of GOAL on the simulator's C++ by libFuzzer, with AddressSanitizer and
# UndefinedBehaviorSanitizer: `fuzz.sh SECONDS`, for each of the three. What fails lies in build/fuzz/found; put it,
# mended, beside the inputs of tests/cpp/fuzz/corpus, which are tests. Run by make, in the checkout's root.
set -eu

PATH="$PWD/.venv/bin:$PATH"
seconds=$1
build=build/fuzz
inputs=tests/cpp/fuzz
log=$build.log

command -v clang++ >/dev/null || { echo 'fuzz: no clang++ (Debian: apt-get install clang libclang-rt-dev)' >&2; exit 1; }
mkdir -p build
cmake --preset fuzz >"$log" 2>&1 && cmake --build "$build" --target fuzz_graph fuzz_point fuzz_schedule >>"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    exit 1
}
failed=0
for what in graph point schedule; do
    mkdir -p "$build/new/$what" "$build/found"
    "$build/tests/cpp/fuzz_$what" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -max_len=800 -verbosity=0 \
        -dict="$inputs/words.dict" -artifact_prefix="$build/found/$what-" "$build/new/$what" "$inputs/corpus/$what" ||
        failed=1
    echo "fuzz: $what: $(find "$build/new/$what" -type f | wc -l) inputs kept in $build/new/$what" >&2
done
exit "$failed"
