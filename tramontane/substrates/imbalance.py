"""How unevenly a decomposition shares a grid.

Kept with every result, because unevenness alone may explain times that grow again with the number of processes: 256
levels over 250 processes leave some of them 1.95 times the mean (statement Z-T3).
"""

from tramontane.study.decomposition import bisected
from tramontane.study.points import Point
from tramontane.study.settings import filled
from tramontane.study.workloads import Allreduce, Halo


def largest_share(extent: int, parts: int) -> float:
    """Return the size of the largest of `parts` blocks of `extent` points, relative to the mean."""
    return -(-extent // parts) * parts / extent


def imbalance(point: Point) -> float:
    """Return the largest block of data of any rank in any layout, relative to the mean block.

    Returns
    -------
    float
        1 where all ranks hold the same. The four layouts of a transposition divide (x, y), (z, y), (z, x) and (y, x) by
        (cx, cy) (Zheng & Marguinaud 2018, Fig. 3); a halo exchange keeps the first one; an allreduce shares nothing.
    """
    workload = point.workload
    if isinstance(workload, Allreduce):
        return 1.0
    nx, ny, nz = workload.grid
    if isinstance(workload.decomposition, str):  # a bisection
        largest = bisected(nx, ny, point.ranks)
        return largest.area * point.ranks / (nx * ny) if largest else 1.0
    cx, cy = filled(workload.decomposition)
    layouts = [(nx, ny)] if isinstance(workload, Halo) else [(nx, ny), (nz, ny), (nz, nx), (ny, nx)]
    return max(largest_share(first, cx) * largest_share(second, cy) for first, second in layouts)
