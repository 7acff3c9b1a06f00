"""Names of files in ``configs/``, and of figures: what may become a file of results and a word of a command line."""

import re
from pathlib import Path

from tramontane.errors import InputError, show

ALL, NONE = WORDS = ("all", "none")
"""Words that stand for all experiments and for none."""
MOST_LETTERS = 100
ALLOWED = f"letters, digits, and . _ - inside, at most {MOST_LETTERS}; not {' or '.join(WORDS)}"
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


def is_name(text: str) -> bool:
    """Tell whether a text can be the name of an experiment, a machine, a system or a figure."""
    return len(text) <= MOST_LETTERS and text not in WORDS and _NAME.fullmatch(text) is not None


def check_name(path: Path) -> None:
    """Refuse a file whose name can't be the name of what it describes (InputError)."""
    if not is_name(path.stem):
        problem = f"found the file name {show(path.name)}"
        raise InputError(path, "", path.stem, f"a name of {ALLOWED}", problem=problem)
