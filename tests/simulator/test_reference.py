"""Measured points of SST/macro 16.0 that are small enough not to be chaotic (all ranks on one switch).

Full agreement with SST/macro, on all topologies and as distributions, is a study of its own; this keeps the protocol
and the servers from drifting away from it.
"""

from __future__ import annotations

import pytest

from tramontane import _simulator

from .points import allreduce, machine, point, transposition

ONE_SWITCH = machine("torus", (1, 1, 1), 8, crossbar={"bandwidth": 160 * 10**9})
GRID = (1440, 90, 64)

# Ranks, workload, time [s] of SST/macro 16.0, PISCES: largest time of a rank after MPI_Barrier. 10 GB/s and
# 100 ns throughout, packets of 4096 B, 64 KB of buffer, ranks on one switch of a fat tree.
MEASURED = [
    (2, transposition(GRID, (2, 1)), 3.319398400e-03),
    (2, allreduce(3), 4.228000000e-07),
    (2, allreduce(4), 4.228000000e-07),
    (3, transposition(GRID, (3, 1)), 5.187172800e-03),
    (4, transposition(GRID, (4, 1)), 3.313480825e-03),
    (4, transposition(GRID, (4, 1), radix=2), 2.925567569e-03),
    (8, transposition(GRID, (8, 1)), 2.073705793e-03),
    (8, transposition(GRID, (8, 1)) | {"algorithm": "bruck"}, 2.530012000e-03),
]


@pytest.mark.parametrize(("ranks", "workload", "reference"), MEASURED)
def test_one_switch(ranks: int, workload: dict, reference: float) -> None:
    if workload["algorithm"] == "bruck":
        workload = {k: v for k, v in workload.items() if k != "radix"}
    result = _simulator.simulate(point(ranks, workload, ONE_SWITCH))
    assert result["time_s"] == pytest.approx(reference, rel=2e-3)
