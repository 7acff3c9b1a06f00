"""One measurement, as the processes of the benchmark run it."""

import resource
import time
from typing import Any

from tramontane import _simulator


def measure(point: dict[str, Any]) -> dict[str, Any]:
    """Simulate a canonical point and add CPU time [s] and peak memory [B] of this process."""
    start = time.process_time()
    result: dict[str, Any] = _simulator.simulate(point)
    result["cpu_s"] = time.process_time() - start
    result["peak_rss_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return result
