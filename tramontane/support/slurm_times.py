"""Times as Slurm writes them."""

import re

_TIME = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")


def seconds(time: str) -> int | None:
    """Return a time such as ``days-hours:minutes:seconds`` [s]; None without limit."""
    found = _TIME.fullmatch(time.strip())
    if found is None:
        return None
    days, hours, minutes, rest = (int(part or 0) for part in found.groups())
    return ((24 * days + hours) * 60 + minutes) * 60 + rest
