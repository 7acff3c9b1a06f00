#!/bin/sh
# Lets Spack install an environment: `spack.sh FOLDER`. Says one line; everything else goes to FOLDER/.spack-env/install.log.
# SPACK may hold the command with options of a site, "spack -C site". Run by make with BUILD=spack.
set -eu

spack=${SPACK:-spack}
environment=$1
log=$environment/.spack-env/install.log

# shellcheck disable=SC2086  # SPACK may hold options
if ! command -v ${spack%% *} >/dev/null 2>&1; then
    echo "BUILD=spack: no command ${spack%% *} (docs/spack.md); without BUILD=spack everything is built with CMake" >&2
    exit 2
fi
mkdir -p "$environment/.spack-env"
: >"$log"
echo "Spack installs the environment $environment (details in $log)" >&2
for step in concretize install; do
    # shellcheck disable=SC2086
    if ! $spack -e "$environment" $step >>"$log" 2>&1; then
        grep -m 3 Error "$log" >&2 || tail -n 20 "$log" >&2
        echo "BUILD=spack: spack $step failed; all of it in $log" >&2
        exit 1
    fi
done
touch "$environment/.spack-env/.installed"
