"""Environment variables of a system's file, as a shell reads them: ``$NAME`` in them stands for another variable."""

import os
import re
import subprocess
from collections.abc import Mapping

#: What a shell would take for its own between double quotes, but for variables and what is escaped of them.
_SPECIAL, _ESCAPED = re.compile(r"""["`]|\\(?!\$)|(?<!\\)\$(?=\()"""), r"\\\g<0>"


def exports(variables: Mapping[str, str]) -> list[list[str]]:
    """Return variables as ReFrame wants them, for a shell: quotes stay, and ``$NAME`` stands for another variable."""
    return [[key, f'"{_SPECIAL.sub(_ESCAPED, value)}"'] for key, value in variables.items()]


def values(variables: Mapping[str, str]) -> dict[str, str]:
    """Return what they are where no job's script exports them: as in such a script, one after the other.

    Raises
    ------
    ValueError
        If a shell refuses one; the message is what it says.
    """
    if not any("$" in value for value in variables.values()):
        return dict(variables)
    script = [f"export {key}={value}\nprintf '%s\\0' \"${key}\"" for key, value in exports(variables)]
    done = subprocess.run(["/bin/sh", "-c", "\n".join(script)], env=os.environ, capture_output=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr.decode(errors="replace").strip())
    return dict(zip(variables, map(os.fsdecode, done.stdout.split(b"\0")), strict=False))
