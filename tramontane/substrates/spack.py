"""Programs that Spack has built: whether they are asked for, where they are, and how to tell them from others.

``BUILD=spack`` of the Makefile sets `BUILD`; Spack's environment is the one that is activated, else that of this
checkout (`spack.yaml`). What is found is never taken on trust: Spack leaves its description of a package beside what it
installs, and from there a record gets it.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tramontane.errors import InputError

#: Environment variable that names what builds: one of `BUILDERS`.
BUILD = "TRAMONTANE_BUILD"
CMAKE, SPACK = "cmake", "spack"
BUILDERS = (CMAKE, SPACK)
#: Environment variables: what starts Spack, with options of a site; and the environment that is activated.
_COMMAND, _ACTIVE = "SPACK", "SPACK_ENV"
#: What Spack leaves in each package it has installed.
_DESCRIPTION, _SURROUNDINGS = Path(".spack", "spec.json"), Path(".spack", "install_environment.json")


def asked() -> bool:
    """Return whether Spack is to build.

    Raises
    ------
    InputError
        If something else than `BUILDERS` is asked for, or Spack is not there.
    """
    builder = os.environ.get(BUILD) or CMAKE
    if builder not in BUILDERS:
        raise InputError("environment variable", BUILD, builder, ", ".join(BUILDERS))
    if builder == SPACK and shutil.which(_command()[0]) is None:
        problem = f"no command {_command()[0]}; `tramontane docs spack` says how to get it"
        raise InputError("environment variable", BUILD, builder, CMAKE, problem=problem)
    return builder == SPACK


def environment(checkout: Path) -> Path:
    """Return the folder of Spack's environment."""
    return Path(os.environ.get(_ACTIVE) or checkout)


def find(program: str, checkout: Path) -> Path | None:
    """Return where a program lies in the view of Spack's environment, or None if it does not."""
    path = Path(environment(checkout), ".spack-env", "view", "bin", program)
    return path if path.exists() else None


def install(checkout: Path) -> None:
    """Let Spack install its environment, as far as it is not.

    Raises
    ------
    RuntimeError
        If it fails; the message is Spack's first error.
    """
    for step in ("concretize", "install"):
        command = [*_command(), "-e", str(environment(checkout)), step]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
            said = next((line for line in lines if "Error" in line), lines[-1] if lines else "it said nothing")
            raise RuntimeError(f"spack {step} ended with status {done.returncode}: {said}")


def origin(file: Path) -> str | None:
    """Return the package that an installed file belongs to: ``tramontane@main/4jn3wlo by Spack 1.1.1``, or None."""
    for folder in file.resolve().parents:
        if Path(folder, _DESCRIPTION).is_file():
            package = _json(folder / _DESCRIPTION)["spec"]["nodes"][0]
            version = str(_json(folder / _SURROUNDINGS).get("spack_version", "")).split()
            by = f" by Spack {version[0]}" if version else ""
            return f"{package['name']}@{package['version']}/{package['hash'][:7]}{by}"
    return None


def _json(file: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return content


def _command() -> list[str]:
    return (os.environ.get(_COMMAND) or "spack").split()
