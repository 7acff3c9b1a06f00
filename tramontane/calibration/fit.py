"""Fits the simulator's uncontended path to measured times of single messages.

On one switch a message of n bytes takes, by docs/model.md (o: overheads of sender and receiver, L: latency of a link,
B: bandwidth, M: bandwidth of copies in memory):

    eager        o + 2 L + n / B + 2 n / M        the head passes two links; sender and receiver copy, from 72 B on
    rendezvous   o + 6 L + (n + 128) / B          header and get request, 64 B each, go before

A small allreduce by recursive doubling on a power of two ranks is, stage by stage, a message that all send and receive
at the same time: each number of ranks adds one more time of a message.

The overheads are measured by themselves, so times are linear in L, 1/B and 1/M for any eager limit; the limit is the
one that fits best.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tramontane.study.values.units import DOUBLE
from tramontane.study.workloads.kinds import Workload
from tramontane.study.workloads.workloads import Allreduce

Values = npt.NDArray[np.float64]

HEADERS = 128
"""Header and get request of a rendezvous [B]."""
COPIED = 72
"""From which size on a copy takes the memory time [B]."""
SMALL = 64
"""Messages that are as short as can be: their sending and receiving is overhead [B]."""


@dataclass(frozen=True)
class Stages:
    """What a stage of small allreduces takes at one number of ranks.

    Attributes
    ----------
    ranks : int
        A power of two.
    size : int
        Of each message [B].
    time : float
        Of a stage [s].
    """

    ranks: int
    size: int
    time: float


def stages(ranks: int, workload: Workload, time: float) -> Stages | None:
    """Return the time of a stage of repeated allreduces that took `time` [s]; None where stages are not all alike."""
    number = ranks.bit_length() - 1
    if ranks != 2**number or ranks < 2 or not isinstance(workload, Allreduce):
        return None
    return Stages(ranks, DOUBLE * workload.count, time / (workload.repeats * number))


@dataclass(frozen=True)
class Parameters:
    """What of a machine a single message shows.

    Attributes
    ----------
    latency : float
        Of a link [s].
    bandwidth : float
        Of a link [B/s].
    copies : float or None
        Bandwidth of copies in memory [B/s]; None if they take no time.
    send, receive : float
        Overheads of the processors [s].
    eager_limit : int
        Largest message sent without waiting for its receiver [B].
    """

    latency: float
    bandwidth: float
    copies: float | None
    send: float
    receive: float
    eager_limit: int


def predict(parameters: Parameters, sizes: Sequence[int] | Values) -> Values:
    """Return the one-way times of messages [s]."""
    n = np.asarray(sizes, dtype=np.float64)
    columns = _columns(n, parameters.eager_limit)
    copies = 0.0 if parameters.copies is None else 1 / parameters.copies
    values = np.array([parameters.latency, 1 / parameters.bandwidth, copies])
    return np.asarray(parameters.send + parameters.receive + columns @ values, dtype=np.float64)


def fit(
    sizes: Sequence[int], one_way: Sequence[float], send: float, receive: float, allreduces: Sequence[Stages] = ()
) -> Parameters:
    """Return the parameters that fit measured times best, in relative terms.

    Parameters
    ----------
    sizes : sequence of int
        Of messages, ascending, from 1 [B].
    one_way : sequence of float
        Their times [s].
    send, receive : float
        Measured overheads [s].
    allreduces : sequence of Stages, optional
        Small allreduces on ranks that share no processor; each counts like a size of message.

    Raises
    ------
    ValueError
        If the times fit no machine: they do not grow with size, are less than the overheads, or no times at all.
    """
    sizes, one_way = [*sizes, *(each.size for each in allreduces)], [*one_way, *(each.time for each in allreduces)]
    for size, time in zip(sizes, one_way, strict=True):
        if not time > 0:
            raise ValueError(f"a message of {size} B: found a one-way time of {time:g} s, allowed: more than 0 s")
    n, times = np.asarray(sizes, dtype=np.float64), np.asarray(one_way, dtype=np.float64)
    limits = sorted(set(sizes) - {each.size for each in allreduces})
    found = [solution for limit in limits if (solution := _solve(n, times, send, receive, int(limit))) is not None]
    if not found:
        raise ValueError("the measured times fit no machine: they don't grow with size, or are less than overheads")
    # Of equally good limits the largest: where no step shows, all messages are eager.
    return min(reversed(found), key=lambda parameters: deviation(parameters, sizes, one_way))


def deviation(parameters: Parameters, sizes: Sequence[int], one_way: Sequence[float]) -> float:
    """Return the root mean square of relative residuals."""
    return float(np.sqrt(np.mean(residuals(parameters, sizes, one_way) ** 2)))


def residuals(parameters: Parameters, sizes: Sequence[int], one_way: Sequence[float]) -> Values:
    """Return the fitted over the measured times, less 1."""
    return predict(parameters, sizes) / np.asarray(one_way, dtype=np.float64) - 1


def _columns(n: Values, limit: int) -> Values:
    """Return how often L, 1/B and 1/M count in the time of each size."""
    eager = n <= limit
    return np.column_stack(
        [
            np.where(eager, 2.0, 6.0),
            np.where(eager, n, n + HEADERS),
            np.where(eager & (n >= COPIED), 2 * n, 0.0),
        ]
    )


def _solve(n: Values, times: Values, send: float, receive: float, limit: int) -> Parameters | None:
    """Return the best parameters for an eager limit, or None where only impossible ones fit."""
    columns = _columns(n, limit) / times[:, None]
    wanted = (times - send - receive) / times
    several = np.unique(n[columns[:, 2] > 0]).size > 1  # what one size alone shows might be copies, or a step
    # Without copies, too, where they seem to take less than no time.
    for used in ([0, 1, 2], [0, 1]) if several else ([0, 1],):
        values = np.zeros(3)
        solution, _, rank, _ = np.linalg.lstsq(columns[:, used], wanted, rcond=None)
        values[used] = solution
        if rank == len(used) and (solution > 0).all():
            copies = float(1 / values[2]) if values[2] > 0 else None
            return Parameters(float(values[0]), float(1 / values[1]), copies, send, receive, limit)
    return None
