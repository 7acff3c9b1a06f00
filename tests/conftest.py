"""A tiny project for tests that need one, with next to nothing to simulate; and a private Slurm."""

import io
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.waiting import PATIENCE, wait_for
from tramontane.campaign.batch import run_batch
from tramontane.campaign.plan import Plan, make_plan, write_plan
from tramontane.study import Point
from tramontane.study.patterns.patterns import PROJECT
from tramontane.substrates.simulator import Simulator


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """With `--cov`, say in one line what the tests have covered."""
    if config.getoption("cov_source", None):
        from tests import coverage_by_room

        terminalreporter.write_line(coverage_by_room.line())


#: MPI programs of tests end within a second, half of which their ranks spend on looking for hardware: at all that is on
#: the PCI bus, and for networks that only another layer of Open MPI than this one could use.
LOOK_AT_LESS = {"HWLOC_COMPONENTS": "-pci,-linux:pci", "OMPI_MCA_pml": "ob1"}


def pytest_configure() -> None:
    """Let what tests start be interrupted, although a shell in the background forbade it, or nohup."""
    for name, value in LOOK_AT_LESS.items():
        os.environ.setdefault(name, value)
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, usual)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--long`: what takes longest, too."""
    parser.addoption("--long", action="store_true", help="tests that take longest, too")


#: Rooms whose tests are of compiled code, or of files: what Python they execute, other rooms test.
NO_PYTHON = ("house", "schedules")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what takes longest to `make test-long`; begin with what is slow, so that all processes end together."""
    items[:] = slow_first(items, getattr(config, "workerinput", {}).get("workercount", 1))
    for item in items:
        if item.path.parent.name in NO_PYTHON:
            item.add_marker(pytest.mark.no_cover)
    if not config.getoption("--long", False) and config.getoption("--hypothesis-profile") != "long":
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes long: make test-long"))


def slow_first(items: Sequence[pytest.Item], processes: int) -> list[pytest.Item]:
    """Return tests in the order in which each process begins with its share of what is slow, whole modules of it.

    To begin with, xdist's `worksteal` gives each process as many neighbours: this share, and the first that are quick.
    """
    slow: dict[Path, list[pytest.Item]] = {}
    quick: list[pytest.Item] = []
    for item in items:
        (slow.setdefault(item.path, []) if item.get_closest_marker("slow") else quick).append(item)
    ordered: list[pytest.Item] = []
    for process in range(processes):
        own = [item for module in list(slow.values())[process::processes] for item in module]
        room = max(0, (len(items) - len(ordered)) // (processes - process) - len(own))
        ordered += [*own, *quick[:room]]
        quick = quick[room:]
    return [*ordered, *quick]


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Trace nothing in a test marked `no_cover`: in xdist's processes, pytest-cov lets one of its two tracers go on."""
    if not item.get_closest_marker("no_cover"):
        return (yield)
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


# No test times: how long an example takes on a busy machine says nothing.
settings.register_profile("tramontane", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("tramontane"), max_examples=1000)
settings.load_profile("tramontane")

TINY = """\
title: Allreduces on a small torus
question: Does anything run at all?
description: One allreduce on a few processes.
base:
  machine: $machine
  workload: {kind: allreduce, algorithm: recursive-k, repeats: 1}
cross:
  series: [rec-2, rec-3]
  ranks: $processes
variants:
  series:
    rec-2: {workload.radix: 2}
    rec-3: {workload.radix: 3}
exclude:
  - series == 'rec-3' and ranks == 2
scales:
  smoke: {processes: [2, 4, 8], machine: {topology: torus, geometry: [2, 2, 2], nodes_per_switch: 2}}
  laptop: {processes: [2, 4, 8, 16], machine: {topology: torus, geometry: [2, 2, 2], nodes_per_switch: 2}}
figure: {lines: series, caption: Time of an allreduce.}
"""

#: Shares the points of radix 2 with the other one.
OTHER = (
    TINY.replace("small torus", "small torus, again")
    .replace("rec-3", "rec-4")
    .replace("workload.radix: 3", "workload.radix: 4")
)


class Fake:
    """A substrate for tests of everything around one: known numbers, and ranks that make it fail in every way."""

    name = "simulator"
    FAILING, CRASHING, SLOW = 13, 14, 15

    def __init__(self) -> None:
        self._revision = Simulator().newest_revision()  # or all that it gives would be of an older one

    def available(self) -> str | None:
        return None

    def refusal(self, point: Point) -> None:
        return None

    def newest_revision(self) -> int:
        return self._revision

    def revision(self, point: Point) -> int | None:
        return self._revision

    def compiler(self) -> str | None:
        return "none"

    def builder(self) -> str | None:
        return "nobody"

    def run(self, point: Point) -> dict[str, Any]:
        ranks = point.ranks
        if ranks == self.FAILING:
            raise RuntimeError("deadlock: rank 0 waits for\nrank 1")
        if ranks == self.CRASHING:
            os.kill(os.getpid(), signal.SIGKILL)
        if ranks == self.SLOW:
            time.sleep(60)
        return {
            "time_s": 1e-6 * ranks,
            "phases": {"first": 4e-7 * ranks, "second": 6e-7 * ranks},
            "messages": ranks,
            "packets": 2 * ranks,
            "control_packets": 0,
            "bytes": 100 * ranks,
            "hops": 6 * ranks,
            "wall_s": 0.01,
            "setup_s": 0.001,
            "imbalance": 1.0,
            "substrate": self.name,
            "model_revision": self._revision,
        }


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The root of a project with one experiment, `tiny`, of five points at scale smoke."""
    experiments = tmp_path / "project" / "configs" / "experiments"
    experiments.mkdir(parents=True)
    (experiments / "tiny.yaml").write_text(TINY, encoding="utf-8")
    return tmp_path / "project"


@pytest.fixture
def other(project: Path) -> Path:
    """A second experiment, `tiny_again`, in the same project; three of its five points are also `tiny`'s."""
    file = project / "configs" / "experiments" / "tiny_again.yaml"
    file.write_text(OTHER, encoding="utf-8")
    return file


@pytest.fixture
def execute(fake: Fake) -> Callable[..., Plan]:
    """A function that plans a project's campaign and runs its batches on the fake substrate, without the workflow."""

    def run(root: Path, scale: str = "smoke", substrate: Fake = fake, **options: Any) -> Plan:
        plan = make_plan(root, scale, **options)
        write_plan(plan)
        for batch in plan.batches:
            run_batch(plan.layout.batch(batch.identity), root, lambda name: substrate, io.StringIO())
        return plan

    return run


PRIVATE = Path(__file__).parent / "slurm" / "private.py"
#: After this a private Slurm ends whatever becomes of the tests [s].
LIFETIME = 1800


class PrivateSlurm:
    """A running cluster: how to use it, and how to break it."""

    def __init__(self, folder: Path, process: "subprocess.Popen[str]") -> None:
        self.folder = folder
        self.process = process
        path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
        self.environment = {**os.environ, "PATH": path}

    def tell(self, order: str) -> None:
        """Kill or start a daemon: ``kill n2``, ``start slurmctld``."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def ask(self, *command: str) -> str:
        """Return what one of Slurm's commands says; nothing if it fails."""
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=self.environment, timeout=PATIENCE
        )
        return done.stdout if done.returncode == 0 else ""

    def jobs(self) -> dict[str, str]:
        """Return the state of every job, also of those that have ended."""
        rows = self.ask("squeue", "--states=all", "-h", "-o", "%i %T").splitlines()
        return dict(tuple(row.split()) for row in rows)  # type: ignore[misc]

    def wait_until_saved(self, job: str) -> None:
        """Wait until the controller has saved what has happened so far; a remark on a job makes it save.

        It saves some seconds after a change. One that is killed before that comes back with jobs running on a dead
        node that it had sent again, and gives them no step until their time is over.
        """
        state = self.folder / "state" / "job_state"
        earlier = state.stat().st_mtime_ns if state.exists() else 0
        self.ask("scontrol", "update", f"JobId={job}", "Comment=saved")
        self.wait_for(lambda: state.exists() and state.stat().st_mtime_ns > earlier)

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Wait until a condition holds; fail if it does not in time."""
        wait_for(condition, lambda: self.ask("squeue", "--states=all", "-h", "-o", "%i %T %r"), every=0.2)


def missing_for_slurm() -> list[str]:
    done = subprocess.run([sys.executable, str(PRIVATE), "--missing"], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.fixture(scope="module")
def slurm(request: pytest.FixtureRequest) -> Iterator[PrivateSlurm]:
    """A private Slurm of two nodes, for the tests of one file; without Slurm's packages they are skipped."""
    lacking = missing_for_slurm()
    if lacking:
        pytest.skip(f"{', '.join(lacking)} not found (Debian: apt-get install slurm-wlm munge)")
    # Short and of our own: munge's socket lies in it, and no other test may write there.
    with tempfile.TemporaryDirectory(prefix="slurm-") as parent:
        folder = Path(parent, "c")
        Path(parent).chmod(0o755)
        process = subprocess.Popen(
            [sys.executable, str(PRIVATE), str(folder), "--lifetime", str(LIFETIME)]
            + ["--preemption"] * getattr(request.module, "PREEMPTION", False),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                pytest.fail(process.communicate()[1])
            yield PrivateSlurm(folder, process)
        finally:
            process.communicate()  # closes its input, which ends it


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The root of an empty project in which tables of messages are kept, in the checkout's place."""
    root = tmp_path_factory.mktemp("tables")
    (root / "configs" / "experiments").mkdir(parents=True)
    (root / "configs" / "machines").symlink_to(Path(__file__).parents[1] / "configs" / "machines")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PROJECT, str(root))
        yield root
