"""What this machine has to offer a campaign."""

import functools
import os
import socket
from pathlib import Path

_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)

#: Share of the memory that points may take together; the rest is the system's and the workflow's.
USABLE = 0.9


def cores() -> int:
    """Return the number of processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """Return how much memory points may take together [B], inside a container its limit."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _CGROUP_LIMITS:
        try:
            total = min(total, int(path.read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return int(total * USABLE)


@functools.cache
def names() -> list[str]:
    """Return what this machine is called, in short and with its domain, each once."""
    return list(dict.fromkeys((socket.gethostname(), socket.getfqdn())))
