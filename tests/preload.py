"""Libraries that a test puts in front of others (LD_PRELOAD), to stand in for what a machine would have to do."""

import subprocess
from pathlib import Path

_REPLACED = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))
"""


def preloaded(folder: Path, code: str) -> dict[str, str]:
    """Compile C code, in which ``NEXT(type, name)`` is the function that it replaces.

    Returns
    -------
    dict
        The environment variable with which programs begin with it.
    """
    source, library = folder / "preloaded.c", folder / "preloaded.so"
    source.write_text(_REPLACED + code)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library)}
