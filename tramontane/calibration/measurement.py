"""Measures what messages cost between two ranks, by the skeleton program's `kind=pingpong`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tramontane.calibration import fit
from tramontane.substrates.mpi import measure
from tramontane.substrates.mpi.build import build_program
from tramontane.substrates.mpi.libraries import Library

SIZES = tuple(2**exponent for exponent in range(19))
"""Messages from 1 B to 256 KiB: beyond, times are those of caches more than those of a network."""
_WINDOW, _REPETITIONS, _WARMUP = 16, 200, 20

#: Of the repetitions the shortest counts: whatever disturbs a message makes it slower, never faster.
STATISTIC = "min"

#: Starts the program on so many ranks with these arguments and returns what it prints; tests put a model in place.
Run = Callable[[int, list[str]], dict[str, Any]]


@dataclass(frozen=True)
class Messages:
    """Times of messages by size [s], and what they were measured with.

    Attributes
    ----------
    sizes : tuple of int
        Of messages [B].
    one_way : tuple of float
        Half of there and back.
    one_way_median : tuple of float
        The same, median over repetitions.
    gap : tuple of float
        Between messages of a window.
    send, receive : float
        Overheads.
    printed : dict
        All that the program said.
    """

    sizes: tuple[int, ...]
    one_way: tuple[float, ...]
    one_way_median: tuple[float, ...]
    gap: tuple[float, ...]
    send: float
    receive: float
    printed: dict[str, Any]

    @property
    def rate(self) -> float:
        """Small messages a second."""
        return 1 / min(self.gap)

    @property
    def stream_bandwidth(self) -> float:
        """Best bandwidth of a window of messages [B/s]."""
        return max(size / gap for size, gap in zip(self.sizes, self.gap, strict=True))


def runner(library: Library) -> Run:
    """Return what runs the program with `library`, built now if need be."""
    executable = build_program(library)
    return lambda ranks, arguments: measure(library, executable, ranks, arguments)


def messages(run: Run) -> Messages:
    """Measure messages of `SIZES`."""
    timing = [f"window={_WINDOW}", f"repetitions={_REPETITIONS}", f"warmup={_WARMUP}"]
    printed = run(2, ["kind=pingpong", f"sizes={','.join(map(str, SIZES))}", *timing])
    entries = printed["sizes"]
    small = [entry for entry in entries if entry["bytes"] <= fit.SMALL]
    return Messages(
        sizes=tuple(entry["bytes"] for entry in entries),
        one_way=tuple(entry["one_way_s"][STATISTIC] for entry in entries),
        one_way_median=tuple(entry["one_way_s"]["median"] for entry in entries),
        gap=tuple(entry["gap_s"][STATISTIC] for entry in entries),
        send=min(entry["send_s"][STATISTIC] for entry in small),
        receive=min(entry["receive_s"][STATISTIC] for entry in small),
        printed=printed,
    )
