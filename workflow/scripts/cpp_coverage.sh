#!/bin/sh
# Says which part of the C++ the C++ tests have executed, by room: the counts of the preset `address`, built with
# AT_LENGTH=1. Run by cpp_tests.sh.
set -eu

[ -e build/address/CTestTestfile.cmake ] || exit 0
for room in simulator skeleton-src; do
    printf 'coverage, C++ tests, %s: ' "$room"
    .venv/bin/gcovr --root . --filter "$room/" --gcov-ignore-errors all --gcov-ignore-parse-errors all \
        --json-summary - build/address 2>/dev/null \
        | .venv/bin/python -c 'import json, sys
print("{0[line_percent]} % of {0[line_total]} lines".format(json.load(sys.stdin)))'
done
