"""Runs a campaign from the plan to the report: starts Snakemake quietly, watches, and says in the end what came of it.

All words go to standard error; the last line of standard output is the path of the report.
"""

import contextlib
import functools
import getpass
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TextIO
from xml.parsers import expat

from tramontane.campaign.causes import why
from tramontane.campaign.lock import only_one
from tramontane.campaign.plan import Plan, Resources, check_scale, make_plan, write_plan
from tramontane.campaign.profiles import read_profile
from tramontane.campaign.progress import CampaignTally, ClusterTally, progress
from tramontane.campaign.rules import Rules
from tramontane.campaign.slurm import Limits, cancel_left, commands_first, find_limits, queue
from tramontane.errors import InputError, display_path
from tramontane.results.manifest import gone
from tramontane.results.store import Store
from tramontane.substrates import devices, spack
from tramontane.support.formatting import about_bytes, listed, plural, roughly
from tramontane.support.layout import SHARE, Layout, cache
from tramontane.support.processes import end_with_parent
from tramontane.support.tables import table

#: How often the store is looked at [s].
INTERVAL = 0.5
#: Time after which a signal is noticed [s].
_NAP = 0.1
#: How long a workflow that was asked to stop is waited for [s].
PATIENCE = 15.0

#: Folders of figures that the report shows.
_DRAWN = ("figures", "sheets", "schematics", "studies/*")

#: What Slurm replaces in names of logs, and what in an argument the plug-in quotes as Python does and not as a shell.
_UNFIT_FOR_SLURM = re.compile(r"""[%\\]|'.*[$`"]|[$`"].*'""")

#: Exit status of a run that was stopped: that of a shell command ended by SIGINT or SIGTERM.
_STOPPED = 128

#: Exit status of a campaign that ended with a report, but with points or figures that failed.
POINTS_FAILED = 3


@dataclass(frozen=True)
class Options:
    """How a campaign is run.

    Parameters
    ----------
    cores : int
        Cores to use.
    memory : int or None
        Memory that points may take [B]: together on one machine, each on a cluster; None for what a node has.
    profile : str
        Folder of `workflow/profiles`.
    refresh : bool
        Whether to run results of older model revisions again.
    run : bool
        False: no point is run; figures and report show what is there.
    where : str or None
        Expression of the coordinates of the points that are to be run; None for all.
    threads : int
        Threads, and so cores, for each point; points run side by side on the cores that are left.
    device : str or None
        What simulates, one of :data:`tramontane.substrates.devices.DEVICES`; None for what the environment asks for.
    """

    cores: int
    memory: int | None
    profile: str = "default"
    refresh: bool = False
    run: bool = True
    where: str | None = None
    threads: int = 1
    device: str | None = None


def reproduce(root: Path, scale: str, experiments: Sequence[str], options: Options) -> int:
    """Run a campaign and return the exit status.

    Raises
    ------
    InputError
        If an experiment, the scale or the profile does not exist, or an experiment holds a mistake.
    """
    check_scale(scale)  # before there is a folder of that name
    spack.asked()  # refuses at once what can't be had
    profile = find_profile(root, options.profile)
    cluster = read_profile(profile).executor == "slurm"
    if cluster and (found := _UNFIT_FOR_SLURM.search(str(root.absolute()))):
        problem = f"found {found[0]} in the path {root.absolute()}, which jobs would take for something else"
        raise InputError(
            "--profile", "", options.profile, "a path without %, \\, and ' beside $, ` or \"", problem=problem
        )
    first = commands_first() if cluster else []
    limits = find_limits(profile) if cluster else Limits()
    resources = Resources(
        cores=options.cores,
        memory=options.memory or limits.memory,
        threads=options.threads,
        cluster=cluster,
        minutes=limits.minutes,
        device=devices.of_campaign(limits.gpus if cluster else None, options.device),
    )
    layout = Layout(root, scale)
    with _ends_on_signals() as signals, only_one(layout.folder) as lock:
        if lock is None:
            _say(f"another run of the {scale} campaign is going on in this checkout; wait for it, or stop it first")
            return 1
        if cluster and (left := cancel_left(root, scale)):
            _say(f"{plural(left, 'job')} of a run that was killed cancelled")
        plan = make_plan(
            root, scale, experiments, resources, refresh=options.refresh, run=options.run, where=options.where
        )
        if not plan.experiments:
            _say("no experiment asked for: everything is set up, nothing was run")
            return 0
        write_plan(plan)
        _remove_unsound(layout)
        Rules(root).check_outputs(scale)
        for line in header(plan, options):
            _say(line)
        status = 0
        if Rules(root).is_fresh(scale):
            _say(_nothing_to_do(plan))
        else:
            status = _run(plan, snakemake_command(plan, profile, options), first, options, lock, signals)
            if status not in (0, POINTS_FAILED):
                return status
        for line in undrawn(plan):
            status = POINTS_FAILED
            _say(line)
        for line in left_over(layout):
            _say(line)
        print(display_path(layout.report.absolute()), flush=True)
        return status


def find_profile(root: Path, name: str) -> Path:
    """Return the folder of a profile, the checkout's own before the one that comes with the code."""
    for folder in (root, SHARE):
        found = folder / "workflow" / "profiles" / name
        if found.is_dir():
            return found
    known = sorted({path.parent.name for where in (root, SHARE) for path in where.glob("workflow/profiles/*/*.yaml")})
    if not known:
        problem = "no workflow/profiles here"
        raise InputError(root, "", name, "a checkout of Tramontane", problem=problem)
    raise InputError("--profile", "", name, ", ".join(known))


def header(plan: Plan, options: Options) -> Iterator[str]:
    """Yield what a campaign begins with: experiments, points, what is done, what is to be run and what that costs."""
    points, jobs = plan.points, plan.jobs
    done = len(points) - len(jobs) - plan.left_out
    line = f"{plan.scale}: {plural(len(plan.experiments), 'experiment')}, {plural(len(points), 'point')}, {done} done"
    if jobs:
        line += f", {len(jobs)} to run in {plural(len(plan.batches), 'batch')}; "
        if on_gpu := sum(job.on_gpu for job in jobs):
            line += f"{roughly(plan.gpu_seconds)} on a GPU"
        if on_gpu < len(jobs):
            place = "in jobs of Slurm" if plan.resources.cluster else f"on {plural(options.cores, 'core')}"
            line += f"{', and ' if on_gpu else ''}{roughly(plan.seconds)} of processor time {place}"
            line += f", {options.threads}{' cores' * plan.resources.cluster} for each point" * (options.threads > 1)
    yield line
    if plan.published:
        yield f"{plural(len(plan.published), 'point')} of those come with the project (published/)"
    running = {job.identity for job in jobs}
    old = Counter(known for identity, known in plan.outdated.items() if identity not in running)
    if old:
        found = listed(f"{plural(count, 'result')} of model revision {known}" for known, count in sorted(old.items()))
        again = "" if options.refresh else f"; REFRESH=1 runs {'it' if old.total() == 1 else 'them'} again"
        yield f"{found}, marked as older than the simulator's {plan.revision}{again}"
    for reason, identities in plan.absent.items():
        yield f"{plural(len(identities), 'point')} left out: {reason}"
    if plan.too_large and plan.resources.memory is not None:
        largest = about_bytes(max(job.memory for job in plan.too_large))
        limit = f"{about_bytes(plan.resources.memory)} there (MEMORY=... overrides this)"
        yield f"{plural(len(plan.too_large), 'point')} left out: up to {largest} of memory needed, {limit}"


def snakemake_command(plan: Plan, profile: Path, options: Options) -> list[str]:
    """Return the command that runs the workflow."""
    snakefile = next((path for path in (plan.root / "Snakefile", SHARE / "Snakefile") if path.exists()), None)
    if snakefile is None:
        raise InputError(plan.root / "Snakefile", "", None, "a checkout of Tramontane", problem="no such file")
    known = read_profile(profile)
    local = ["--cores", str(options.cores)] if known.local else []
    # Or the plug-in hands jobs over in double quotes, in which a shell replaces `$HOME` in a path.
    script = ["--slurm-pass-command-as-script"] if known.executor == "slurm" else []
    # Points that together need more memory than there is must not run at the same time; on a cluster each has a node.
    memory = plan.resources.memory
    limits = [f"mem_mb={int(memory / 1e6)}"] if memory is not None else []
    limits += ["gpu=1"] * any(batch.on_gpu for batch in plan.batches)  # which has one point at a time
    limit = ["--resources", *limits] if limits and not plan.resources.cluster else []
    return [
        *(sys.executable, "-m", "snakemake", "--snakefile", str(snakefile), "--directory", str(plan.root)),
        *("--profile", str(profile), *local, *script, *limit, "--config", f"scale={plan.scale}"),
    ]


class _Signals:
    """Handles signals that ask this process to end.

    They are no exceptions: compiled modules that are being imported, hooks of forks and others swallow those, or turn
    them into errors of another kind.

    Attributes
    ----------
    awaited : bool
        Somebody looks after a signal, who has more to end than this process.
    number : int or None
        A signal that came then.
    """

    def __init__(self) -> None:
        self.awaited = False
        self.number: int | None = None

    def handle(self, number: int, _: FrameType | None) -> None:
        """Keep a signal for who waits, or end at once: what is written is there as a whole, or not at all."""
        self.number = self.number or number
        if not self.awaited:
            _say("stopped; the same command goes on from there")
            os._exit(_STOPPED + number)

    def sleep(self, seconds: float) -> None:
        """Sleep until a signal comes, at most so long."""
        end = time.monotonic() + seconds
        while self.number is None and time.monotonic() < end:
            time.sleep(_NAP)


def _run(plan: Plan, command: list[str], first: list[str], options: Options, lock: int, signals: _Signals) -> int:
    """Run the workflow; return 0, or the exit status after having said what went wrong."""
    log = plan.layout.logs / "snakemake.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    store = Store(plan.root)
    since = plan.layout.plan.stat().st_mtime_ns
    jobs = {job.identity: job for job in plan.jobs}
    tally = CampaignTally(jobs, store, since, options.cores, options.threads, log=log)
    if plan.resources.cluster:
        look = functools.partial(queue, plan.root, plan.scale)
        tally = ClusterTally(jobs, store, since, options.cores, options.threads, log=log, queue=look)
    with log.open("w", encoding="utf-8") as stream:
        signals.awaited = True
        workflow = _start(command, first, stream, lock, options.device)
        with progress(sys.stderr) as show:
            while workflow.poll() is None and signals.number is None:
                begin = time.monotonic()
                tally.update()
                show(tally)
                # Looking for thousands of files takes time that the points need.
                signals.sleep(max(INTERVAL, 20 * (time.monotonic() - begin)))
            tally.update()
            show(tally)
        if signals.number is not None:
            _stop(workflow)
            tally.update()
            done = f" with {tally.done} of {tally.total} points done" * (tally.total > 0)
            _say(f"stopped{done}; the same command goes on from there")
            return _STOPPED + signals.number
        signals.awaited = False
    if workflow.returncode:
        _say(why(log, plan.root, workflow.returncode))
        return 1
    _say(summary(plan, store))
    failed = sum(not store.has(job.identity) for job in plan.jobs)
    if failed:
        _say(f"{plural(failed, 'point')} failed; the report says why, and the same command tries again")
        return POINTS_FAILED
    return 0


def _start(
    command: list[str], first: list[str], log: TextIO, lock: int, device: str | None = None
) -> subprocess.Popen[str]:
    """Start the workflow in a group of its own, so that it can be stopped with all it has started.

    `first` are folders to look for commands in before all others; `device` is what its jobs are to simulate on.
    """
    # Jobs are shell commands: they are to find the commands of the environment that this process runs in.
    path = os.pathsep.join([*first, str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    own = {"PATH": path, "LOGNAME": _user(), "XDG_CACHE_HOME": str(cache())}  # which Snakemake can't do without
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **own, **({} if device is None else {devices.VARIABLE: device})},
        start_new_session=True,
        # The lock ends with its last holder: as long as the workflow lives, no other run starts.
        pass_fds=(lock,),
        preexec_fn=_end_with_driver,  # noqa: PLW1509 (no thread has been started yet)
    )


def _user() -> str:
    """Return the name of who runs this, which Snakemake asks for; in containers often a number without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _end_with_driver() -> None:
    # Snakemake would wait for its jobs on any other signal; they in turn end with it, and lose the point in hand.
    end_with_parent(signal.SIGKILL)
    # By this one it is stopped (`_stop`); a script's command in the background would have it ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _stop(workflow: subprocess.Popen[str]) -> None:
    """End the workflow and all its jobs, first kindly."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(workflow.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            workflow.wait(PATIENCE)
            break
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(workflow.pid, signal.SIGKILL)


def summary(plan: Plan, store: Store) -> str:
    """Return a table of the experiments: points, and how many failed or are missing."""
    rows = []
    for experiment in plan.experiments:
        failed = sum(store.has_failed(identity) for identity in experiment.points)
        missing = sum(not store.has(identity) for identity in experiment.points) - failed
        rows.append((experiment.name, len(experiment.points), failed, missing))
    return table(("experiment", "points", "failed", "missing"), rows, right=(1, 2, 3))


def undrawn(plan: Plan) -> Iterator[str]:
    """Yield a line for each figure of the plan's experiments that could not be drawn."""
    panels = [panel["figure"] for each in plan.experiments if (panel := each.manifest["figure"].get("panel"))]
    files = [plan.layout.undrawn(each.name) for each in plan.experiments]
    files += [plan.layout.undrawn_sheet(sheet) for sheet in dict.fromkeys(panels)]
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            yield f"figure {file.stem} could not be drawn: {file.read_text(encoding='utf-8').strip()}"


def left_over(layout: Layout) -> Iterator[str]:
    """Yield a line for each dataset of an experiment that was removed or renamed: nothing makes it anew."""
    for name in sorted(gone(layout)):
        if (dataset := layout.dataset(name)).exists():
            yield f"{display_path(dataset)}: of no experiment any more; it and its figures stay as they are"


def _remove_unsound(layout: Layout) -> None:
    """Remove datasets and figures that can't be read: the workflow, which looks at times only, would keep them."""
    from tramontane.results.datasets import remove_unsound  # noqa: PLC0415 (slow to import)

    for path in sorted(layout.datasets.glob("*.nc")):
        if problem := remove_unsound(path):
            _say(f"{problem}; made again")
    for path in sorted(path for folder in _DRAWN for path in layout.folder.glob(f"{folder}/*.svg") if path.is_file()):
        if problem := _flaw_of_drawing(path):
            path.unlink()
            _say(f"{display_path(path)}: not an SVG file ({problem}); drawn anew")


def _flaw_of_drawing(path: Path) -> str:
    """Return why a file is not XML, as the report needs it; nothing if it is."""
    try:
        with path.open("rb") as stream:
            expat.ParserCreate().ParseFile(stream)
    except expat.ExpatError as error:
        return str(error)
    return ""


def _nothing_to_do(plan: Plan) -> str:
    which = "that can be run here " if plan.left_out else ""
    return f"nothing to do: all {len(plan.points) - plan.left_out} points {which}are done"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _ends_on_signals() -> Iterator[_Signals]:
    """Handle the signals that ask a process to end; but who started it with nohup wants it to outlive the terminal."""
    signals = _Signals()
    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    numbers = [number for number in wanted if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, signals.handle) for number in numbers}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
