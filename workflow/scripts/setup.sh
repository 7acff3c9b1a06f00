#!/bin/sh
# Sets up the checkout: `setup.sh packages` makes .venv with the locked packages, `setup.sh simulator` compiles the
# simulator into it, and with GPU=1 or GPU=hip the driver of GPUs, too (docs/gpu.md). Says one line; everything else
# goes to .venv/setup.log. Run by make, in the checkout's root.
set -eu

python=${PYTHON:-python3}
log=.venv/setup.log

# Everything that is missing is told in one go, each with the Debian package that brings it.
missing=''
lacks() { missing="$missing
  $1 (Debian: apt-get install $2)"; }

check_python() {
    if ! command -v "$python" >/dev/null 2>&1; then
        lacks "$python" "python3 python3-venv python3-dev"
        return
    fi
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        lacks "Python 3.11 or later, found $("$python" -V 2>&1); PYTHON=... names another" "python3"
        return
    fi
    "$python" -c 'import venv, ensurepip' >/dev/null 2>&1 || lacks "Python's module venv" "python3-venv"
    "$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' \
        || lacks "Python's header Python.h" "python3-dev"
}

check_compiler() {
    for compiler in "${CXX:-c++}" ${CXX:+''} g++ clang++; do
        [ -n "$compiler" ] || break
        # shellcheck disable=SC2086  # CXX may hold options
        if command -v ${compiler%% *} >/dev/null 2>&1 && printf '%s\n' \
            '#include <concepts>' '#include <coroutine>' '#include <span>' \
            'template <std::integral T> T f(std::span<const T> s) { return s[0]; }' \
            'int main() { int a[] = {0}; return f(std::span<const int>(a)); }' \
            | $compiler -std=c++20 -x c++ -fsyntax-only - >/dev/null 2>&1; then
            return
        fi
    done
    lacks "a C++20 compiler${CXX:+ ($CXX is none)}" "g++"
}

stop_if_missing() {
    [ -z "$missing" ] && return
    echo "This machine lacks:$missing" >&2
    exit 1
}

# What the step prints goes to the log; its end is shown if it fails.
logged() {
    if ! with_progress "$@"; then
        tail -n 20 "$log" >&2
        echo "set-up failed: $*; all of it in $log" >&2
        exit 1
    fi
}

# Meanwhile a terminal shows how far it is. The command itself is in the foreground, where it can be interrupted.
with_progress() {
    status=0
    show_progress &
    "$@" >>"$log" 2>&1 || status=$?
    kill $! 2>/dev/null || :
    wait $! 2>/dev/null || :
    ! on_terminal || printf '\r\033[K' >&2
    return "$status"
}

on_terminal() { [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; }

# How long the step has taken, and of what Ninja compiles how much is done: until it ends, or whoever waits for it.
show_progress() {
    on_terminal || return 0
    begun=$(date +%s)
    while kill -0 $$ 2>/dev/null; do
        seconds=$(($(date +%s) - begun))
        step=$(tail -n 5 "$log" | grep -o '\[[1-9][0-9]*/[0-9]*\]' | tail -n 1 | tr -d '[]')
        made=${step%/*} all=${step#*/}
        if [ -z "$step" ]; then
            left=''
        elif [ $((all - made)) -gt 2 ]; then # linking, which optimises all at once, takes half as long as all before
            left=", $made of $all steps, about $((seconds * (3 * all / 2 - made) / made)) s left"
        else
            left=", $made of $all steps, linking"
        fi
        printf '\r\033[K%s s%s' "$seconds" "$left" >&2
        sleep 1
    done
}

packages() {
    check_python
    check_compiler
    stop_if_missing
    echo "setting up .venv (a few minutes the first time; details in $log)" >&2
    # A virtual environment can't be moved, and dies with the Python it was made from.
    if ! .venv/bin/python -c 'import pip' >/dev/null 2>&1 || ! same_place; then
        rm -rf .venv
        "$python" -m venv .venv
    fi
    : >"$log"
    install_packages
    printf %s "$PWD" >.venv/.place
    touch .venv/.packages
}

# uv takes a third of pip's time, but heeds none of pip's settings: where a site says which index pip is to ask, or where
# uv does not get through, pip does it.
install_packages() {
    pip='.venv/bin/python -m pip'
    locked='--require-hashes --no-deps -r'
    if ! $pip config list | grep -q 'index'; then
        # The lock's entry of uv: a line, and indented ones with its hashes.
        awk '/^[^ ]/ { own = /^uv==/ } own' requirements.lock >.venv/uv.lock
        # shellcheck disable=SC2086  # several words
        if with_progress $pip install --disable-pip-version-check $locked .venv/uv.lock &&
            with_progress env VIRTUAL_ENV="$PWD/.venv" .venv/bin/uv pip install --no-cache --compile-bytecode $locked requirements.lock; then
            return
        fi
    fi
    # shellcheck disable=SC2086
    logged $pip install --disable-pip-version-check $locked requirements.lock
}

same_place() {
    head -c 4096 .venv/bin/pip | grep -qF "$PWD/.venv/"
}

# CUDA's compiler is the machine's, where it has one, or comes as packages.
choose_gpu() {
    gpu=''
    define='--config-settings=cmake.define.TRAMONTANE_' # what CMake was told before, it remembers
    case "${GPU:-}" in
        '' | 0) [ ! -s .venv/.gpu ] || gpu="${define}CUDA=OFF ${define}HIP=OFF" ;;
        1)
            gpu="${define}CUDA=ON ${define}HIP=OFF"
            if [ -z "${CUDACXX:-}" ] && ! command -v nvcc >/dev/null 2>&1; then
                logged .venv/bin/python -m pip install --disable-pip-version-check --require-hashes --no-deps \
                    -r requirements-gpu.lock
                cuda=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia/cu13
                CUDACXX=$cuda/bin/nvcc
                CUDAFLAGS="-L$cuda/lib ${CUDAFLAGS:-}" # nvcc looks in lib64
                export CUDACXX CUDAFLAGS
            fi
            ;;
        hip) gpu="${define}CUDA=OFF ${define}HIP=ON" ;;
    esac
}

simulator() {
    check_compiler
    stop_if_missing
    echo "compiling the simulator (details in $log)" >&2
    # cmake and ninja come with the packages; the build is kept in build/ and only brought up to date.
    PATH="$PWD/.venv/bin:$PATH"
    export PATH
    choose_gpu
    # shellcheck disable=SC2086  # no option, or some
    logged .venv/bin/python -m pip install --verbose --disable-pip-version-check --no-build-isolation --no-deps $gpu -e .
    # Where the environment has Python write no bytecode, as in many containers, each command would compile its modules.
    logged .venv/bin/python -m compileall -q tramontane analysis
    printf %s "${GPU:-}" >.venv/.gpu
    touch .venv/.compiled
}

# What CMake, Ninja, PATH or the scripts of a virtual environment take for something else in the path of a folder.
case "$PWD" in
    *[\"\\\;\|:\$\`\[\]*?\<]* | *"
"*)
        printf '%s\n' "this folder: found '$PWD'; allowed: a path without line breaks and \" \\ ; | : \$ \` [ ] * ? <" >&2
        exit 2
        ;;
esac

[ -w . ] || {
    echo "this folder: '$PWD' can't be written; allowed: one that can, as .venv and build are made in it" >&2
    exit 1
}

case "${GPU:-0}" in
    0 | 1 | hip) ;;
    *)
        echo "GPU: found '$GPU', allowed: 0, 1 (CUDA), hip" >&2
        exit 2
        ;;
esac

case "${1:-}" in
    packages) packages ;;
    simulator) simulator ;;
    *)
        echo "usage: setup.sh packages|simulator" >&2
        exit 2
        ;;
esac
