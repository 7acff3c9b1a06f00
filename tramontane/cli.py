"""The command line. Answers go to standard output, everything else to standard error.

A mistake in the input is one line and exit status 2 (see :mod:`tramontane.errors`). Commands import what they need when
they run, so that each is as quick as it can be.
"""

import functools
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from tramontane import __version__
from tramontane.errors import InputError
from tramontane.substrates import MOST_THREADS

if TYPE_CHECKING:
    from tramontane.campaign.plan import Plan, PlannedExperiment
    from tramontane.study import Experiment

app = typer.Typer(
    name="tramontane",
    help="The communication of weather and climate models at a million processes, studied on one desktop.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Scale = Annotated[str, typer.Option("--scale", "-s", help="smoke, laptop or paper.", metavar="SCALE")]
Name = Annotated[str, typer.Argument(help="An experiment, as `tramontane list` calls it.", metavar="NAME")]
Where = Annotated[
    str | None,
    typer.Option("--where", help='Only points with such coordinates, e.g. "ranks == 100000".', metavar="EXPRESSION"),
]

#: Exit status for mistakes in the input, and for points that did not run.
_MISTAKE, _FAILURE = 2, 1


def main() -> None:
    """Run the command line and exit."""
    try:
        status = app(standalone_mode=False)
    except InputError as error:
        _fail(str(error), _MISTAKE)
    except typer.Abort:
        sys.exit(130)
    except typer.TyperException as error:
        _fail(_usage(error), _MISTAKE)
    except BrokenPipeError:  # `tramontane list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(status if isinstance(status, int) else 0)


def _usage(error: Exception) -> str:
    """Return a mistake in the use of the command line as one line."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "tramontane"
    return " ".join(f"{command}: {message} (see {command} --help)".split())


def _fail(message: str, status: int) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(status)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"tramontane {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command("list")
def list_() -> None:
    """List the experiments, with the number of points at each scale and how many of them are there."""
    from tramontane.results.store import Store
    from tramontane.study import SCALES, find_root, list_experiments, load_experiment
    from tramontane.support.tables import table

    root = find_root()
    store = Store(root)
    rows = []
    for path in list_experiments(root):
        experiment = load_experiment(path)
        counts = [_count(experiment, scale, store) for scale in SCALES]
        rows.append((experiment.name, _figure(experiment), *counts, experiment.title))
    head = ("experiment", "figure", *(f"{scale} done/all" for scale in SCALES), "title")
    print(table(head, rows, right=tuple(range(2, 2 + len(SCALES)))))


def _count(experiment: "Experiment", scale: str, store: Any) -> str:
    from tramontane.study import expand

    if scale not in experiment.scales:
        return "-"
    identities = expand(experiment, scale).unique()
    return f"{sum(store.has(identity) for identity in identities)}/{len(identities)}"


def _figure(experiment: "Experiment") -> str:
    return experiment.paper.figure or "" if experiment.paper else ""


@app.command()
def describe(name: Name, scale: Scale = "laptop") -> None:
    """Describe an experiment: the question, what is varied, the points and what they cost."""
    import textwrap

    from tramontane.results.store import Store
    from tramontane.support.formatting import about_bytes, about_seconds

    experiment, planned = _planned(name, scale)
    width = 100
    print(f"{experiment.name}: {experiment.title}")
    print(textwrap.fill(experiment.question, width))
    print()
    print(textwrap.fill(experiment.description, width))
    print()
    if experiment.paper:
        parts = experiment.paper.model_dump(exclude_none=True)
        print("paper:     ", ", ".join(f"{key} {value}" for key, value in parts.items()))
    print("scales:    ", ", ".join(experiment.scales))
    for dim in planned.manifest["dims"]:
        print(f"{dim['name'] + ':':<11}", ", ".join(str(value) for value in dim["values"]))
    print("machines:  ", ", ".join(planned.manifest["machines"]))
    store = Store(experiment.root)
    failed = sum(store.has_failed(identity) for identity in planned.points)
    excluded = sum(1 for point in planned.manifest["points"] if point.get("excluded"))
    notes = [f"{len(planned.points) - len(planned.missing)} done"]
    notes += [f"{failed} failed"] if failed else []
    notes += [f"{excluded} combinations excluded"] if excluded else []
    print(f"points:     {len(planned.points)} at scale {scale} ({', '.join(notes)})")
    costs = _jobs(planned, planned.points)
    if costs:
        largest = max(costs, key=lambda job: job.seconds)
        print(
            f"cost:       about {about_seconds(sum(job.seconds for job in costs))} of processor time in all, "
            f"{about_seconds(largest.seconds)} for the longest point, "
            f"up to {about_bytes(max(job.memory for job in costs))} of memory"
        )


def _planned(name: str, scale: str) -> "tuple[Experiment, PlannedExperiment]":
    """Return the experiment called `name` and what is there of it."""
    from tramontane.campaign.plan import ALL, NONE, check_scale, plan_experiment, select
    from tramontane.results.store import Store
    from tramontane.study import find_root, load_experiment

    check_scale(scale)
    root = find_root()
    if name in (ALL, NONE):  # those stand for several; here a single one is described
        name = f"{name}?"
    experiment = load_experiment(select(root, [name])[0])
    return experiment, plan_experiment(experiment, scale, Store(root))


def _jobs(planned: "PlannedExperiment", identities: Any) -> list[Any]:
    from tramontane.campaign.plan import make_job

    return [make_job(planned.points[identity]) for identity in identities]


@app.command()
def validate(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Experiments, points, machines or grids.", metavar="[FILES]")
    ] = None,
) -> None:
    """Check YAML files (by default everything in configs/): one line for each that holds a mistake."""
    from tramontane.study import find_root, validate_file

    chosen = files or sorted((find_root() / "configs").rglob("*.yaml"))
    bad = 0
    for file in chosen:
        try:
            validate_file(file)
        except InputError as error:
            bad += 1
            print(error, file=sys.stderr)
    if bad:
        raise typer.Exit(_MISTAKE)
    print(f"{len(chosen)} {'file' if len(chosen) == 1 else 'files'} valid")


@app.command("new-experiment")
def new_experiment_(
    name: Annotated[str, typer.Argument(help="Small letters, digits and hyphens, e.g. halo-latency.", metavar="NAME")],
) -> None:
    """Write a commented experiment that runs at once, to be changed into your own; see docs/new-experiment.md."""
    from tramontane.errors import display_path
    from tramontane.study import find_root
    from tramontane.study.template import new_experiment

    print(display_path(new_experiment(find_root(), name)))
    print(f"it runs as it is: tramontane reproduce --scale smoke --experiments {name}", file=sys.stderr)


Threads = Annotated[
    int,
    typer.Option(
        "--threads", min=1, max=MOST_THREADS, help="Threads that share the work of a point; results are the same."
    ),
]


@app.command()
def run(
    point_file: Annotated[Path, typer.Argument(help="A point; see docs/configuration.md.", metavar="POINT.yaml")],
    substrate: Annotated[
        str | None, typer.Option("--substrate", help="What runs it, instead of what the file says.", metavar="NAME")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", help="Memory it may take, e.g. 64GB; by default nearly all.", metavar="SIZE"),
    ] = None,
    threads: Threads = 1,
) -> None:
    """Run one point and print one JSON object."""
    from tramontane.study import cost, load_point
    from tramontane.substrates import require
    from tramontane.substrates.isolation import PointError, run_fresh
    from tramontane.support import host
    from tramontane.support.formatting import about_bytes

    if substrate is not None:
        require(substrate)
    point = load_point(point_file, substrate)
    refused = require(point.substrate).refusal(point)
    if refused is not None:
        raise InputError(
            point_file,
            refused.key,
            refused.found,
            refused.allowed,
            problem=f"found {refused.found!r} for substrate {point.substrate}: {refused.why}",
        )
    limit = _bytes(memory) or host.memory()
    if point.substrate == "simulator" and (needed := cost.estimate(point).memory_bytes) > limit:
        there = f"{about_bytes(limit)} there (--memory overrides this)"
        _fail(f"{point_file}: not run: about {about_bytes(needed)} of memory needed, {there}", _MISTAKE)
    try:
        result = run_fresh(point, point.substrate, threads)
    except PointError as error:
        _fail(f"{point_file}: {error}", _FAILURE)
    print(json.dumps({"id": point.id, **result}))


@app.command()
def estimate(
    names: Annotated[list[str], typer.Argument(help="Experiments, or all.", metavar="NAME...")],
    scale: Scale = "laptop",
    where: Where = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Estimate what is still to be run of experiments: points, processor time, memory, batches."""
    from tramontane.campaign.packing import pack
    from tramontane.campaign.plan import make_job, make_plan
    from tramontane.campaign.selection import choose
    from tramontane.study import find_root
    from tramontane.support.formatting import about_bytes, about_seconds, plural
    from tramontane.support.host import cores

    planned = make_plan(find_root(), scale, names, run=False)
    experiments, points = planned.experiments, planned.points
    if where is not None:
        points = {identity: points[identity] for identity in choose([each.manifest for each in experiments], where)}
    missing = sorted(points.keys() & {identity for identities in planned.absent.values() for identity in identities})
    jobs = [make_job(points[identity]) for identity in missing]
    batches = pack(jobs, cores()) if jobs else []
    title = experiments[0].name if len(experiments) == 1 else plural(len(experiments), "experiment")
    facts = {
        "experiment": title,
        "scale": scale,
        "points": len(points),
        "done": len(points) - len(jobs),
        "to_run": len(jobs),
        "cpu_s": sum(job.seconds for job in jobs),
        "longest_point_s": max((job.seconds for job in jobs), default=0.0),
        "peak_memory_bytes": max((job.memory for job in jobs), default=0),
        "batches": [
            {"id": batch.identity, "points": len(batch.jobs), "cpu_s": batch.seconds, "memory_bytes": batch.memory}
            for batch in batches
        ],
    }
    if as_json:
        print(json.dumps(facts))
        return
    print(f"{title} at scale {scale}: {plural(len(points), 'point')}, {facts['done']} done, {len(jobs)} to run")
    if jobs:
        print(
            f"about {about_seconds(sum(job.seconds for job in jobs))} of processor time, up to "
            f"{about_bytes(max(job.memory for job in jobs))} of memory, "
            f"longest point {about_seconds(max(job.seconds for job in jobs))}"
        )
        shortest, longest = batches[-1].seconds, batches[0].seconds
        print(f"{plural(len(batches), 'batch')} of {about_seconds(shortest)} to {about_seconds(longest)}")


Experiments = Annotated[
    list[str] | None, typer.Option("--experiments", "-e", help="Names, or all, or none.", metavar="NAMES")
]
Refresh = Annotated[bool, typer.Option("--refresh", help="Run results of older model revisions again.")]
Cores = Annotated[int | None, typer.Option("--cores", min=1, help="Cores to use; by default all.")]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="Memory that points may take, e.g. 64GB; by default nearly all.", metavar="SIZE"),
]


def _names(experiments: list[str] | None) -> list[str]:
    """Return the names in one or several texts, separated by blanks or commas."""
    return [name for text in experiments or [] for name in text.replace(",", " ").split()] or ["all"]


def _bytes(text: str | None) -> int | None:
    """Return a memory size such as 64GB in bytes."""
    units = {"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
    if not text:
        return None
    number = text.strip().rstrip("BbGgKkMmTtIi ")
    unit = text.strip()[len(number) :].strip().upper()
    try:
        return int(float(number) * units[unit])
    except (KeyError, ValueError):
        raise InputError("--memory", "", text, "a number and a unit, such as 64 GB") from None


@app.command()
def reproduce(
    scale: Scale = "laptop",
    experiments: Experiments = None,
    refresh: Refresh = False,
    cores: Cores = None,
    memory: Memory = None,
    profile: Annotated[
        str, typer.Option("--profile", help="A folder of workflow/profiles, e.g. slurm.", metavar="NAME")
    ] = "default",
    where: Where = None,
    no_run: Annotated[bool, typer.Option("--no-run", help="Run no point: show what is there.")] = False,
    threads: Threads = 1,
) -> None:
    """Run experiments from the plan to the report; what is there already is not run again."""
    from tramontane.campaign.driver import Options, reproduce
    from tramontane.study import find_root
    from tramontane.support import host

    limit = _bytes(memory) or (host.memory() if profile == "default" else None)
    cores = cores or host.cores()
    if profile == "default" and threads > cores:
        raise InputError("--threads", "", threads, f"1 ... {cores}, the cores to use")
    options = Options(
        cores=cores,
        memory=limit,
        profile=profile,
        refresh=refresh,
        run=not no_run,
        where=where,
        threads=threads,
    )
    raise typer.Exit(reproduce(find_root(), scale, _names(experiments), options))


@app.command(hidden=True)
def plan(
    scale: Scale = "laptop",
    experiments: Experiments = None,
    refresh: Refresh = False,
    cores: Cores = None,
    memory: Memory = None,
) -> None:
    """Write the plan of a campaign, for calling Snakemake directly."""
    from tramontane.campaign.plan import make_plan, write_plan
    from tramontane.study import find_root
    from tramontane.support.formatting import about_seconds, plural

    made: Plan = make_plan(find_root(), scale, _names(experiments), refresh=refresh, cores=cores, memory=_bytes(memory))
    write_plan(made)
    print(
        f"{plural(len(made.points), 'point')}, {len(made.jobs)} to run in {plural(len(made.batches), 'batch')}, "
        f"about {about_seconds(made.seconds)} of processor time",
        file=sys.stderr,
    )


@app.command(hidden=True)
def publish(
    experiments: Experiments = None,
    scale: Scale = "paper",
    least: Annotated[float, typer.Option("--least", help="Only points that took so long [s].")] = 60.0,
) -> None:
    """Keep the records of simulated points with the project; see published/README.md."""
    from tramontane.campaign.plan import make_plan
    from tramontane.results.published import publish
    from tramontane.study import find_root
    from tramontane.support.formatting import plural

    root = find_root()
    count = publish(root, make_plan(root, scale, _names(experiments), run=False).points, least)
    print(f"{plural(count, 'record')} added to published/", file=sys.stderr)


@app.command("run-batch", hidden=True)
def run_batch(
    file: Annotated[Path, typer.Argument(help="A batch of the plan.")],
    threads: Threads = 1,
) -> None:
    """Run the points of one batch; what a job of the workflow does."""
    from tramontane.campaign.batch import Stopped, run_batch, stop_on_signals
    from tramontane.substrates import require
    from tramontane.support.layout import root_of

    stop_on_signals()
    try:
        run_batch(file, root_of(file), functools.partial(require, threads=threads))
    except Stopped as stopped:
        _fail(f"stopped by {stopped}", 128 + stopped.number)


@app.command(hidden=True)
def collate(
    manifest: Annotated[Path, typer.Argument(help="The manifest of an experiment.")],
    dataset: Annotated[Path, typer.Argument(help="The dataset to write.")],
) -> None:
    """Make the dataset of one experiment from its records."""
    from tramontane.results.collate import collate_manifest, write
    from tramontane.results.store import Store
    from tramontane.support.layout import root_of

    data = json.loads(manifest.read_text(encoding="utf-8"))
    write(collate_manifest(data, Store(root_of(manifest))), dataset)


@app.command("claims")
def claims_(
    names: Annotated[
        list[str] | None, typer.Argument(help="Statements, e.g. Z-5b; by default all.", metavar="[IDS]")
    ] = None,
    scale: Scale = "laptop",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
    fill: Annotated[
        Path | None, typer.Option("--fill", help="Make the tables of a Markdown page anew.", metavar="PAGE.md")
    ] = None,
) -> None:
    """Hold what the papers state against the results: a verdict on each statement, and the numbers that say so."""
    from tramontane.campaign.plan import check_scale
    from tramontane.claims import evaluate, text
    from tramontane.claims.times import times
    from tramontane.results.store import write_if_changed
    from tramontane.study import find_root
    from tramontane.support.formatting import plural

    root = find_root()
    if fill is not None:
        tables = {}
        for kind, where, wanted in text.asked(fill):
            check_scale(where)
            tables[kind, where, wanted] = (
                times(root, where, *wanted)
                if kind == "times"
                else text.markdown(evaluate(root, where, wanted), evidence=kind == "claims")
            )
        changed = write_if_changed(fill, text.filled(fill, tables))
        print(f"{fill}: {plural(len(tables), 'table')} {'made anew' if changed else 'as they were'}", file=sys.stderr)
        return
    check_scale(scale)
    verdicts = evaluate(root, scale, names or ())
    if as_json:
        print(json.dumps([verdict.as_data() for verdict in verdicts], ensure_ascii=False))
    else:
        text.print_table(verdicts)


@app.command()
def archive(
    file: Annotated[
        Path | None, typer.Argument(help="The bundle; by default tramontane-SCALE.zip.", metavar="[FILE.zip]")
    ] = None,
    scale: Scale = "laptop",
    verify: Annotated[bool, typer.Option("--verify", help="Verify the bundle instead of writing it.")] = False,
) -> None:
    """Bundle a campaign in one file for a data repository, or verify such a bundle; see docs/archive.md."""
    from tramontane.archive import verify_archive, write_archive
    from tramontane.campaign.plan import check_scale
    from tramontane.study import find_root
    from tramontane.support.formatting import about_bytes, plural

    check_scale(scale)
    bundle = file or Path(f"tramontane-{scale}.zip")
    if not verify:
        number = write_archive(find_root(), scale, bundle)
        print(f"{bundle}: {plural(number, 'file')}, {about_bytes(bundle.stat().st_size)}")
        return
    found = verify_archive(bundle)
    for problem in found.problems:
        print(f"{bundle}: {problem}", file=sys.stderr)
    if found.problems:
        raise typer.Exit(_FAILURE)
    print(
        f"{bundle}: {plural(found.files, 'file')} as archived; {plural(found.experiments, 'experiment')} with "
        f"{plural(found.records, 'record')} of {plural(found.points, 'point')}"
    )


@app.command()
def compare(
    file: Annotated[Path, typer.Argument(help="Measured points; see docs/validation.md.", metavar="FILE.csv")],
    model: Annotated[
        str, typer.Option("--model", help="Network model: pisces-16 or default.", metavar="MODEL")
    ] = "pisces-16",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    against: Annotated[
        str, typer.Option("--against", help="row: times as measured; ensemble: medians of model pisces-16.")
    ] = "row",
    members: Annotated[
        int | None, typer.Option("--members", min=1, help="Members with seeds s, s + 1, ...; by default 1 or 10.")
    ] = None,
    jitter: Annotated[
        str | None, typer.Option("--jitter", help="Ranks start up to this much apart, e.g. '1 ns'.", metavar="TIME")
    ] = None,
    dataset: Annotated[
        Path | None, typer.Option("--dataset", help="Write the rows as a dataset, too.", metavar="FILE.nc")
    ] = None,
    cores: Cores = None,
    refresh: Annotated[bool, typer.Option("--refresh", help="Run points again that have a result.")] = False,
) -> None:
    """Run points that others measured and say how well the times agree."""
    from tramontane.study import find_root
    from tramontane.validation import text
    from tramontane.validation.comparison import Options, compare
    from tramontane.validation.execution import run_points

    root = find_root()
    options = Options(model, against, members, _picoseconds("--jitter", jitter))
    found = compare(file, root, options, lambda points: run_points(points, root, cores=cores, refresh=refresh))
    if as_json:
        print(json.dumps(text.as_data(found)))
        for paragraph in text.left_out(found):
            print(paragraph, file=sys.stderr)
    else:
        print(text.as_text(found))
    if dataset is not None:
        from tramontane.results.collate import write
        from tramontane.validation.dataset import as_dataset

        write(as_dataset(found), dataset)
    if found.failed or not found.rows:
        _fail("some points did not end" if found.failed else f"{file}: no row could be compared", _FAILURE)


def _picoseconds(option: str, text: str | None) -> int | None:
    """Return a time such as "1 ns" in picoseconds."""
    from pydantic_core import PydanticCustomError

    from tramontane.study.units import TIME, parse_quantity

    if text is None:
        return None
    try:
        return parse_quantity(text, TIME, positive=False)
    except PydanticCustomError as error:
        context = error.context or {}
        raise InputError(option, "", text, context.get("allowed", ""), problem=context.get("problem")) from None


if __name__ == "__main__":
    main()


@app.command()
def calibrate(
    output: Annotated[Path, typer.Option("--output", "-o", help="Machine file to write.", metavar="MACHINE.yaml")],
    system: Annotated[str, typer.Option("--system", help="A file of configs/systems.", metavar="NAME")] = "generic",
    partition: Annotated[str | None, typer.Option("--partition", help="By default the first.", metavar="NAME")] = None,
    environment: Annotated[
        str | None, typer.Option("--environment", help="MPI library; by default the first.", metavar="NAME")
    ] = None,
    ranks: Annotated[
        str, typer.Option("--ranks", help="Measure and simulate operations of so many ranks, too.", metavar="2,4,8")
    ] = "2,4,8",
) -> None:
    """Measure messages and small operations through ReFrame, and fit the simulator's parameters to them."""
    from tramontane.calibration import comparison, fit, machine, measurement, text
    from tramontane.calibration.dataset import as_dataset
    from tramontane.measurement.calibration import SMALL_ALLREDUCE, operations
    from tramontane.measurement.settings import processors
    from tramontane.results.collate import write
    from tramontane.results.store import write_atomically
    from tramontane.study import Machine, find_root
    from tramontane.study.points import SystemChoice
    from tramontane.substrates import get, require
    from tramontane.substrates.mpi.libraries import ranks_per_node

    counts = _counts(ranks)
    if output.suffix != ".yaml":
        raise InputError("--output", "", str(output), "a file that ends in .yaml, e.g. configs/machines/here.yaml")
    require("mpi")
    choice = SystemChoice(name=system, partition=partition, environment=environment)
    root = find_root()
    place = root / "results" / "calibration" / output.stem
    try:
        wanted = list(operations(counts, choice))
        found = measurement.measure(measurement.runner(choice, place, root), wanted)
        free = processors(root, choice)
        small = [each for each in found.operations if each[0].name == SMALL_ALLREDUCE and each[0].ranks <= free]
        made = [fit.stages(own.ranks, own.point.workload, measurement.without_copies(said)) for own, said in small]
        stages = [stage for stage in made if stage is not None]
        timed = found.messages
        fitted = fit.fit(timed.sizes, timed.one_way, timed.send, timed.receive, stages)
        described = machine.settings(fitted, max(2, ranks_per_node(choice), *counts))
        print("\n".join(text.summary(timed, fitted, stages)))
        rows = list(comparison.compare(found.operations, get("simulator").run, Machine.model_validate(described)))
    except (ValueError, RuntimeError) as error:
        _fail(f"calibrate: {error}", _FAILURE)
    if rows:
        print(f"\n{text.comparison(rows, free)}")
    for case, why in found.failures.items():
        print(f"{case}: {why}", file=sys.stderr)
    words = f"One switch, fitted to messages and small allreduces on system {system} with {found.environment}."
    write_atomically(output, machine.text(described, words, str(timed.printed["mpi_library"])))
    dataset = place.with_suffix(".nc")
    write(as_dataset(output.stem, timed, fitted, rows, stages), dataset)
    stem = os.path.relpath(place)
    print(f"\nmachine: {output}\nfigure:  python -m analysis.draw {stem}.nc {stem}")


def _counts(text: str) -> list[int]:
    """Return the numbers in a text such as 2,4."""
    words = [word for word in text.replace(",", " ").split() if word]
    if not all(word.isdigit() and int(word) >= 2 for word in words):
        raise InputError("--ranks", "", text, "numbers from 2 with commas between them")
    return [int(word) for word in words]
