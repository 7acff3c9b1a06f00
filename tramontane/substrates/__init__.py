"""What executes a point: the embedded simulator, an MPI library, SimGrid or SST/macro.

A substrate that is not there is reported as such, with the line that installs it; nothing is ever faked. This module
and what it imports at once need only the standard library: a process that runs a point can ask at once to end with its
parent, before it loads what it runs.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tramontane.errors import InputError, closest

if TYPE_CHECKING:
    from pathlib import Path

    from tramontane.study.points.points import Point
    from tramontane.substrates.refusal import Refusal


class Substrate(Protocol):
    """One way to execute a point."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    def available(self) -> str | None:
        """Return None if the substrate can run, else why it can't and the line that installs it."""
        ...

    def revision(self, point: "Point") -> int | None:
        """Return the revision of the substrate's model that last changed the results of points such as this one."""
        ...

    def compiler(self) -> str | None:
        """Return what compiled the substrate, if it knows."""
        ...

    def builder(self) -> str | None:
        """Return what built the substrate: ``cmake``, the wrapper of another simulator, or a package of Spack."""
        ...

    def refusal(self, point: "Point") -> "Refusal | None":
        """Return what of a point the substrate has no counterpart for, or None if it can run it."""
        ...

    def run(self, point: "Point") -> dict[str, Any]:
        """Execute a point and return what `tramontane run` prints, without ``id`` and ``peak_rss_bytes``.

        Raises
        ------
        ValueError
            If the substrate can't execute this point.
        RuntimeError
            If the execution fails, for example by a deadlock; the message says what waits for what.
        """
        ...


@runtime_checkable
class Keeper(Protocol):
    """A substrate that can keep a long point's state, and go on from it."""

    def build(self) -> str:
        """Return what tells this build of it from any other: states are for one build."""
        ...

    def keeping(self, checkpoint: "Path") -> Substrate:
        """Return the same with a file for the checkpoint of the next point."""
        ...


@runtime_checkable
class Teller(Protocol):
    """A substrate that can tell how far it is with a long point."""

    def telling(self, tell: Callable[[int], None] | None) -> Substrate:
        """Return the same that calls `tell` every now and then with how many switches packets have visited."""
        ...


#: Is given the number of a point that has ended, and its result; None if it is to be run by itself.
Tell = Callable[[int, dict[str, Any] | None], None]


@runtime_checkable
class Gatherer(Protocol):
    """A substrate that can run many small points at once, where one alone would leave most of it idle."""

    def gathers(self, point: "Point") -> bool:
        """Return whether a point may be one of those."""
        ...

    def run_together(self, points: "Sequence[Point]", tell: Tell) -> None:
        """Run points, and tell of each that ends; those of which nothing was told are to be run by themselves."""
        ...


#: Threads that may share the work of one point.
MOST_THREADS = 64


def get(name: str, threads: int = 1, device: str | None = None) -> Substrate:
    """Return the substrate called `name`; `threads` and `device` are those that the simulator may use for a point.

    Raises
    ------
    InputError
        If there is no such substrate.
    """
    if name == "simulator":
        from tramontane.substrates import devices  # noqa: PLC0415
        from tramontane.substrates.simulator import Simulator  # noqa: PLC0415

        return Simulator(threads, device=device or devices.chosen())
    if name == "mpi":
        from tramontane.substrates.mpi import Mpi  # noqa: PLC0415

        return Mpi()
    if name == "simgrid":
        from tramontane.substrates.simgrid import SimGrid  # noqa: PLC0415

        return SimGrid()
    if name == "sstmacro":
        from tramontane.substrates.sstmacro import SstMacro  # noqa: PLC0415

        return SstMacro()
    from tramontane.study.points.points import SUBSTRATES  # noqa: PLC0415

    raise InputError("substrate", "", name, ", ".join(SUBSTRATES), hint=closest(name, SUBSTRATES))


def require(name: str, threads: int = 1, device: str | None = None) -> Substrate:
    """Return the substrate called `name`, which can run; see :func:`get`.

    Raises
    ------
    InputError
        If there is no such substrate, or if it is not installed; the line says what installs it.
    """
    substrate = get(name, threads, device)
    reason = substrate.available()
    if reason is not None:
        from tramontane.study.points.points import SUBSTRATES  # noqa: PLC0415

        ready = ", ".join(other for other in SUBSTRATES if get(other).available() is None) or "none is installed"
        raise InputError(f"substrate {name}", "", name, ready, problem=reason)
    return substrate
