"""The embedded packet-flow simulator (`simulator/`, C++)."""

import contextlib
import functools
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.extension import simulator as _extension
from tramontane.results.timeline import Stretch
from tramontane.study.networks.link_names import INJECTION, LinkNames
from tramontane.study.patterns import patterns
from tramontane.study.points import stages
from tramontane.study.points.points import Point
from tramontane.study.traces import traces
from tramontane.study.values.settings import filled
from tramontane.study.values.units import WHOLE
from tramontane.study.workloads.jobs import Jobs
from tramontane.study.workloads.kinds import Workload
from tramontane.study.workloads.schedules import stages_of
from tramontane.study.workloads.workloads import Trace
from tramontane.substrates import Tell, devices, spack
from tramontane.substrates.checkpoints import Checkpoint
from tramontane.substrates.search import search
from tramontane.substrates.slowdown import with_slowdown

#: Ranks that wait for each other, and no packet that waits.
_CIRCLE = re.compile(r"deadlock: (?P<ranks>\d+ of \d+ ranks) never end(?P<who>(; rank \d+ waits for a [^;]*)+)")


class Simulator:
    """Runs a point on the embedded simulator; the default, and always installed.

    Parameters
    ----------
    threads : int, optional
        Threads that may share the work of a point; its result does not depend on them.
    checkpoint : Path, optional
        Where a point that takes long keeps its checkpoint. A processor has as many threads after it as before, one
        where a device has written it. No device goes on from that of several threads.
    device : str, optional
        One of :data:`tramontane.substrates.devices.DEVICES`; a result does not depend on it.
    tell : callable, optional
        Is called about each second with how many switches the packets of the run in hand have visited.
    """

    name = "simulator"

    def __init__(
        self,
        threads: int = 1,
        checkpoint: Path | None = None,
        device: str = "cpu",
        tell: Callable[[int], None] | None = None,
    ) -> None:
        self._threads = threads
        self._checkpoint = checkpoint
        self._device = device
        self._tell = tell

    def keeping(self, checkpoint: Path) -> "Simulator":
        """Return the same with a place for checkpoints."""
        return Simulator(self._threads, checkpoint, self._device, self._tell)

    def telling(self, tell: Callable[[int], None] | None) -> "Simulator":
        """Return the same that tells how far it is."""
        return Simulator(self._threads, self._checkpoint, self._device, tell)

    def available(self) -> str | None:
        """Return None, or that the extension was not compiled."""
        try:
            _extension()
        except InputError as error:
            return str(error)
        return None

    def newest_revision(self) -> int:
        """Return the newest revision of the network model."""
        return int(_extension().MODEL_REVISION)

    def revision(self, point: Point) -> int | None:
        """Return the revision of the network model that last changed the results of points such as this one."""
        canonical = point.canonical()
        workload, machine = canonical["workload"], canonical["machine"]
        by_workload = 5 if _is_retimed(workload, machine) else 3 if _is_redrawn(workload) else 0
        return max(int(_extension().model_revision(canonical)), by_workload)

    def compiler(self) -> str | None:
        """Return the compiler that built the extension."""
        return getattr(_extension(), "COMPILER", None)

    def builder(self) -> str:
        """Return what built the extension: CMake, or the package of Spack that it came with."""
        return spack.origin(Path(str(_extension().__file__))) or spack.CMAKE

    def build(self) -> str:
        """Return 16 hex digits that tell this build of the extension from any other."""
        return _digest(Path(str(_extension().__file__)))

    def refusal(self, point: Point) -> None:
        """Return None: points describe what the simulator can do."""

    def run(self, point: Point) -> dict[str, Any]:
        """Simulate a point; see :class:`tramontane.substrates.Substrate`.

        ``threads`` says how many were used: one where the model, the routing or the cutting short of repeats allows no
        more.
        """
        simulate = functools.partial(_extension().simulate, tell=self._tell)
        if self._device != "cpu":
            simulate = functools.partial(devices.simulate, _extension(), self._device, tell=self._tell)
        counted = point.statistics.waiting is not None  # which no checkpoint keeps
        if self._checkpoint is None or point.network.model != "default" or counted:
            return self._run(point, simulate)
        checkpoint = Checkpoint(self._checkpoint, point.canonical(), self.build(), several=point.workload.is_search)
        result = self._run(point, functools.partial(checkpoint.simulate, simulate))
        if checkpoint.resumed:
            result |= {"cpu_s": checkpoint.cpu_s(), "resumed": checkpoint.resumed}
        return result

    def gathers(self, point: Point) -> bool:
        """Return whether a device simulates a point beside others: one that it does not fill, and that is one run."""
        by_lanes = self._device in devices.GATHERING and point.ranks < devices.LEAST_RANKS
        return by_lanes and not point.workload.is_search and not isinstance(point.workload, Jobs)

    def run_together(self, points: Sequence[Point], tell: Tell) -> None:
        """Simulate points at once; see :class:`tramontane.substrates.Gatherer`."""

        def complete(number: int, simulated: dict[str, Any] | None) -> None:
            if simulated is None:
                return tell(number, None)
            told = simulated | {"engine": self._device}
            return tell(number, self._run(points[number], lambda *_: told))

        read = [as_simulated(point) for point in points]
        _extension().simulate_together(read, complete, self._device, self._threads)

    def timeline(self, point: Point, ranks: Sequence[int]) -> tuple[dict[str, Any], list[Stretch]]:
        """Simulate a point and tell what some of its ranks did when.

        Parameters
        ----------
        point : Point
            Of model default, without a search.
        ranks : sequence of int
            Those of which it is told.

        Returns
        -------
        dict
            The result; `span_s` is beside it, when the first rank starts and the last one ends.
        list of Stretch
            By rank, processor and begin; there is none where a rank had nothing to do.

        Raises
        ------
        InputError
            If the point has a search, or another model.
        """
        if point.workload.is_search or point.network.model != "default":
            found = "a search" if point.workload.is_search else f"model {point.network.model}"
            raise InputError("", "", found, "one run, of model default", problem=f"no timeline of {found}")
        with _ends(point):
            result = _extension().simulate(as_simulated(point), self._threads, timeline=list(ranks), tell=self._tell)
        told = [Stretch(*each) for each in result.pop("timeline")]
        return _with_loads(_with_all_stages(result, point), point), told

    def nodes(self, point: Point) -> list[int]:
        """Return the node that each rank is on; of a node with several network interfaces, the first of these."""
        return list(_extension().nodes_of_ranks(as_simulated(point)))

    def _run(self, point: Point, simulate: Callable[..., dict[str, Any]]) -> dict[str, Any]:
        def run(chosen: Point, *limit: Any) -> dict[str, Any]:
            with _ends(chosen):
                simulated = simulate(as_simulated(chosen), self._threads, *limit)
            return {
                "substrate": self.name,
                **_with_loads(_with_all_stages(simulated, chosen), chosen),
                "imbalance": chosen.imbalance,
                "model_revision": self.revision(chosen),
            }

        if isinstance(point.workload, Jobs):
            jobs = point.workload
            keys = as_simulated(point)

            def run_alone(number: int) -> dict[str, Any]:
                return simulate(keys | {"workload": jobs.alone(number)}, self._threads)

            return with_slowdown(run(point), jobs, run_alone)
        if point.workload.is_search:
            known = point.network.model == "default"
            return search(point, run, earliest_ends if known else None)
        return run(point)


@contextlib.contextmanager
def _ends(point: Point) -> Iterator[None]:
    """Take ranks of a trace that wait for each other for ever for what they are: a mistake in the input.

    Whatever else never ends is ours: packets that wait for each other, and our own schedules.
    """
    try:
        yield
    except RuntimeError as error:
        circle = _CIRCLE.fullmatch(str(error))
        if circle is None or not isinstance(point.workload, Trace):
            raise
        digest = str(point.workload.table)
        raise InputError(
            patterns.file_of(digest) or f"trace {digest[:12]}",
            "",
            None,
            "operations that all end, where a send above machine.protocol.eager_limit waits for its receive",
            problem=f"found {circle['ranks']} that never end{circle['who']}",
        ) from None


def as_simulated(point: Point) -> dict[str, Any]:
    """Return the canonical point with the keys of its workload that the compiled description reads."""
    read = point.canonical() | {"workload": point.schedule_keys()}
    read["machine"] |= point.network.table_keys()
    if isinstance(point.workload, Jobs):
        read["allocation"] = point.workload.allocation(str(point.allocation), point.ranks_per_node)
    if point.steady.stages is not None:
        read["windows"] = _windows(point)
    return read


def _windows(point: Point) -> stages.Windows:
    return stages.windows(_stages(point), filled(point.steady.stages) / WHOLE, point.seed)


def _stages(point: Point) -> tuple[int, ...]:
    return stages_of(point.workload.schedule_keys(), point.ranks)


def _with_all_stages(result: dict[str, Any], point: Point) -> dict[str, Any]:
    """Return a result whose times are those of all stages, and how well the stages that were simulated tell them."""
    if point.steady.stages is None:
        return result
    drawn, there = _windows(point), _stages(point)
    slides = point.workload.chosen == "sliding-window"
    jump = stages.SLIDING_JUMP if slides else stages.JUMP
    phases, error = stages.estimate(drawn, there, result["window_ends_s"], jump)
    time = sum(phases)
    simulated = sum(length for windows in drawn for _, length in windows)
    told = {
        "time_s": time,
        "phases": dict(zip(schedule(point.workload, point.ranks).phases, phases, strict=True)),
        "stages_simulated": simulated,
        "stages_left_out": sum(there) - simulated,
        "steady_error": error / time if time else 0.0,
    }
    return {key: value for key, value in result.items() if key != "window_ends_s"} | told


def _with_loads(result: dict[str, Any], point: Point) -> dict[str, Any]:
    """Return a result in which links say how much of what they could carry they did, and single ones what they are."""
    if "links" not in result:
        return result
    machine, time = point.network, result["time_s"]
    numbers, rates = machine.facts.link_counts(), {name: each.bandwidth for name, each in machine.links.items()}
    numbers[INJECTION], rates[INJECTION] = machine.facts.nodes, machine.injection.bandwidth

    def load(carried: int, link_class: str, links: int) -> float:
        most = links * filled(rates[link_class]) * time
        return carried / most if most else 0.0

    classes = [
        own
        | {"number": (number := numbers[own["name"]]), "load": load(own["bytes"], own["name"], number)}
        | {"used_load": load(own["bytes"], own["name"], own["used"])}
        for own in result["links"]
    ]
    names = LinkNames(machine.topology, machine.facts)
    singles = []
    for own in result.get("single_links", ()):
        told = own | {"load": load(own["bytes"], own["class"], 1)}
        if own["class"] == INJECTION:
            singles.append({"name": names.injection(own["node"])} | told)
            continue
        behind, node = names.ends(own["switch"], own["port"])
        end = {"to_switch": behind} if behind is not None else {"to_node": node}
        singles.append({"name": names.name(own["class"], own["switch"], own["port"])} | told | end)
    if "single_links" not in result:
        return result | {"links": classes}
    for each in classes:
        each["max_load"] = max((own["load"] for own in singles if own["class"] == each["name"]), default=0.0)
    return result | {"links": classes, "single_links": singles}


def earliest_ends(point: Point) -> tuple[list[float], list[float]]:
    """Return lower bounds of the ends of a point's repeats; see :data:`tramontane.substrates.search.EarliestEnds`."""
    first, last = _extension().earliest_ends(as_simulated(point))
    return first, last


def schedule(workload: Workload, ranks: int) -> Any:
    """Return who sends what to whom in which round of a workload, as every substrate executes it.

    Parameters
    ----------
    workload : Workload
        What is communicated, its decomposition filled in.
    ranks : int
        Number of processes.
    """
    return _extension().schedule.Schedule(workload.schedule_keys(), ranks)


@functools.cache
def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def _is_retimed(workload: dict[str, Any], machine: dict[str, Any]) -> bool:
    """Whether revision 5 changed a workload on a machine.

    Receives in turn are posted one by one, where that, or matching, takes time; and small data that a trace pulls
    bypass the network where small messages do.
    """
    costs = {**machine.get("overhead", {}), **machine.get("matching", {}), **machine.get("threads", {})}
    posts = any(costs.get(key) for key in ("post", "posted", "unexpected", "lock_time"))
    bypasses = machine["protocol"].get("negligible_size")
    for block in _blocks(workload):
        if posts and block.get("calls") == "isend-recv":
            return True
        if bypasses and block.get("kind") == "trace":
            return any(traces.counts(patterns.table(digest)).one_sided for digest in patterns.named(block))
    return False


def _is_redrawn(workload: dict[str, Any]) -> bool:
    """Whether revision 3 changed a workload: each pass of a loop draws noise of its own, and shares one window."""
    blocks = list(_blocks(workload))
    return any(block.get("kind") == "loop" for block in blocks) and any(
        block.get("noise") or block.get("one_sided") for block in blocks
    )


def _blocks(keys: Any) -> Iterator[dict[str, Any]]:
    """Yield each block of keys, and those within it."""
    if isinstance(keys, dict):
        yield keys
    for inner in keys.values() if isinstance(keys, dict) else keys if isinstance(keys, list) else ():
        yield from _blocks(inner)
