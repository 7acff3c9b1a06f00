"""Points of experiments that name the substrate `mpi`, cases of a calibration, and NetCDF files, as regression checks.

A check passes if as many ranks ran as were asked for, if every element that they moved or wrote arrived where it
belongs, and if the time lies within the bounds that configs/systems has for it.
"""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import (
    fixture,
    parameter,
    run_after,
    run_before,
    sanity_function,
    variable,
)

from tramontane.errors import InputError
from tramontane.measurement.calibration import TAG, belongs, hosts_wrong, messages_arguments, per_node
from tramontane.measurement.cases import BATCH, cases, project, reference
from tramontane.measurement.netcdf import FORMS, LACKING, PROGRAM, RANKS, SCALES, SYSTEM, wrong_in
from tramontane.measurement.reframe_report import SESSION, note_passed
from tramontane.measurement.settings import FEATURE, SCALE
from tramontane.study import load_system
from tramontane.substrates import spack
from tramontane.substrates.mpi import pnetcdf
from tramontane.substrates.mpi.build import folder_of
from tramontane.substrates.mpi.program import NAME, REPETITIONS, WARMUP, arguments, complaint, first_line

#: Where the sources are, and where the experiments and systems are: as a rule the same checkout.
SOURCES = Path(__file__).resolve().parents[1]
ROOT = project()
try:
    CASES = cases(ROOT, os.environ.get(BATCH))
except InputError as mistake:
    sys.exit(str(mistake))
POINTS = [name for name, case in CASES.items() if case.point is not None]
#: A batch has points only.
FILES = [] if BATCH in os.environ else list(FORMS)
#: Environments with an MPI library; the one that Debian's PnetCDF is built with.
WITH_MPI, WITH_PNETCDF = [f"+{FEATURE}"], [pnetcdf.ENVIRONMENT]
#: The environment of Spack that ReFrame makes where a system's environment says `build: spack`.
ENVIRONMENT = "rfm_spack_env"


def serving(scales: frozenset[str]) -> list[str]:
    """Return what a partition is to have to serve one of these scales; without scales any will do."""
    return [f"+{SCALE}{scale}" for scale in sorted(scales)] or ["*"]


def run_in_sources(module: str, *arguments: str) -> str:
    """Return a line for a shell that runs a module of ours."""
    return f"cd {shlex.quote(str(SOURCES))} && {shlex.join([sys.executable, '-m', module, *arguments])}"


class Program(rfm.CompileOnlyRegressionTest):
    """tramontane-mpi, built once with each MPI library; a build that is there is only brought up to date."""

    descr = "build tramontane-mpi"
    sourcesdir = None
    build_locally = True
    #: ReFrame puts an object where a name was written.
    build_system: Any

    @run_before("compile")
    def set_build(self) -> None:
        """Build with CMake in the checkout, or with Spack where the environment, or BUILD=spack, says so."""
        extras = self.current_environ.extras
        if extras.get("build") == "spack":
            self._build_with_spack(extras["spec"])
            return
        # The same command that a point builds with: it locks the folder, for both may want the program at once.
        self.build_system = "CustomBuild"
        own = (self.current_environ.name, self.current_environ.cxx, self.current_system.name)
        self.build_system.commands = [run_in_sources("tramontane.substrates.mpi.build", *own)]

    def _build_with_spack(self, spec: str) -> None:
        """Build in an environment of Spack that ReFrame makes, with our recipes and this checkout's sources."""
        self.build_system = "Spack"
        self.build_system.specs = [spec]
        self.build_system.install_tree = str(SOURCES / "build" / "spack")
        self.build_system.config_opts = [f"repos:[{SOURCES / 'spack_repo' / 'tramontane'}]"]
        package = spec.partition("^")[0].strip()
        self.build_system.preinstall_cmds = [f"spack -e {ENVIRONMENT} develop --no-clone -p {SOURCES} {package}"]

    @property
    def executable_path(self) -> str:
        """What starts the program."""
        if self.current_environ.extras.get("build") == "spack":
            return str(Path(self.stagedir, ENVIRONMENT, ".spack-env", "view", "bin", "tramontane-mpi"))
        return str(folder_of(self.current_environ.name, self.current_system.name) / NAME)

    @sanity_function
    def is_built(self) -> Any:
        """Check that there is a program."""
        return sn.assert_true(Path(self.executable_path).is_file(), f"there is no {self.executable_path}")


class FilesProgram(rfm.CompileOnlyRegressionTest):
    """tramontane-pnetcdf, built once; where PnetCDF is absent there is none, and its checks are skipped."""

    descr = "build tramontane-pnetcdf"
    sourcesdir = None
    build_locally = True
    build_system: Any

    @run_before("compile")
    def set_build(self) -> None:
        """Build as a run by hand does, with the environment's compiler."""
        self.build_system = "CustomBuild"
        own = (self.current_environ.name, self.current_environ.cxx)
        self.build_system.commands = [run_in_sources("tramontane.measurement.netcdf", *own)]

    @property
    def told(self) -> dict[str, str]:
        """Where the program is, or what is missing; nothing in a dry run, which builds none."""
        if self.is_dry_run():
            return {}
        lines = Path(self.stagedir, self.stdout.evaluate()).read_text(errors="replace").splitlines()
        told: dict[str, str] = json.loads(next((line for line in reversed(lines) if line.startswith("{")), "{}"))
        return told

    @property
    def executable_path(self) -> str:
        """What starts the program; empty if there is none."""
        return self.told.get(PROGRAM, "")

    @sanity_function
    def is_built(self) -> Any:
        """Check that there is a program, or a line about what is missing."""
        return sn.assert_true(self.told, "tramontane-pnetcdf was not built")


class Measured(rfm.RunOnlyRegressionTest):
    """A run of the program, which prints one line of results."""

    program = fixture(Program, scope="environment")
    #: What the program has printed: all that was measured.
    measured = variable(str, value="", loggable=True)
    #: What built the program: CMake, or a package of Spack.
    built_by = variable(str, value="", loggable=True)
    #: ReFrame's own, that of the partition if nobody sets it.
    time_limit: Any
    valid_prog_environs = WITH_MPI

    def start(self, ranks: int, words: list[str], *, apart: bool = False) -> None:
        """Start so many ranks with these arguments, on as few nodes as hold them, or `apart` on all that there are."""
        most = self.current_partition.extras["ranks"]
        self.skip_if(ranks > most, f"{ranks} ranks, at most {most} here")
        SESSION.started += 1
        self.num_tasks = ranks
        self.num_tasks_per_node = per_node(
            ranks, self.nodes if apart else 1, self.current_partition.extras["ranks_per_node"]
        )
        self.executable = shlex.quote(self.program.executable_path)
        self.built_by = spack.origin(Path(self.program.executable_path)) or spack.CMAKE
        self.executable_opts = words
        # ReFrame's own key of a partition would hold for builds, too.
        self.time_limit = self.time_limit or f"{self.current_partition.extras['seconds']}s"

    @sanity_function
    def has_verified_data(self) -> Any:
        """Check that there is one line, of all ranks, and that every element has arrived."""
        lines = [line for line in self._text(self.stdout).splitlines() if line.startswith("{")]
        self.measured = lines[0] if lines else "{}"
        result = json.loads(self.measured)
        silence = "" if lines else first_line(self._text(self.stderr))
        said = self.complaint() or silence or f"{len(lines)} lines of results"
        return sn.all(
            [
                sn.assert_eq(len(lines), 1, f"no single result of {self.num_tasks} ranks: {said}"),
                sn.assert_eq(result.get("ranks"), self.num_tasks, "{0} ranks ran, not {1}"),
                sn.assert_true(result.get("verified"), "data were not verified"),
                *self.further(result),
                # Slurm without accounting does not tell.
                sn.assert_in(self.job.exitcode, (0, None), "the job ended with status {0}"),
            ]
        )

    @property
    def nodes(self) -> int:
        """Nodes of a job on this partition, at most."""
        nodes: int = self.current_partition.extras["nodes"]
        return nodes

    def further(self, result: dict[str, Any]) -> list[Any]:
        """Return what else is to be true of a result."""
        return []

    def complaint(self) -> str:
        """Return what the program has complained of first; empty if it has not."""
        return complaint(self._text(self.stderr))

    @run_after("performance")
    def note(self) -> None:
        """Leave what was measured for a campaign that is stopped before ReFrame has reported."""
        if BATCH in os.environ:
            place = {"partition": self.current_partition.name, "environ": self.current_environ.name}
            own = {"case": self.case, "measured": self.measured, "built_by": self.built_by}
            note_passed(Path(os.environ[BATCH]), {**own, **place})

    def _text(self, file: Any) -> str:
        return Path(self.stagedir, file.evaluate()).read_text(errors="replace")

    def perform(self, **values: tuple[float, str]) -> None:
        """Report values, each with its unit."""
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), unit) for name, (value, unit) in values.items()
        }


@rfm.simple_test
class Schedule(Measured):
    """One point."""

    case = parameter(POINTS, loggable=True)
    #: Untimed and timed executions; `-S Schedule.repetitions=3` on the command line sets others.
    warmup = variable(int, value=WARMUP)
    repetitions = variable(int, value=REPETITIONS)

    @run_after("init")
    def set_place(self) -> None:
        """Take the tags of the case, and partitions that serve one of its scales."""
        case = CASES[self.case]
        self.descr = f"{self.case}: real data, all of it checked"
        self.tags = set(case.tags | case.systems)
        self.valid_systems = serving(case.tags - {TAG})

    @run_before("run")
    def set_command(self) -> None:
        """Start as many ranks as the point has."""
        point = CASES[self.case].point
        assert point is not None, f"{self.case} has no point"
        words = arguments(point, warmup=self.warmup, repetitions=self.repetitions)
        self.start(point.ranks, [*words, f"ranks={point.ranks}"], apart=belongs(self.case))

    @run_before("performance")
    def set_reference(self) -> None:
        """Look up what the case is expected to take here."""
        if self.is_dry_run():
            return
        times = json.loads(self.measured)["time_s"]
        self.perform(**{f"time_{key}": (times[key] * 1e6, "us") for key in ("median", "min", "max")})
        partition, environment = self.current_partition, self.current_environ.name
        system = load_system(self.current_system.name, ROOT)
        expected = reference(self.case, system, partition.name, environment)
        if expected is not None:
            bounds = (expected.time / 1e6, expected.lower, expected.upper, "us")
            self.reference = {partition.fullname: {"time_median": bounds}}


@rfm.simple_test
class Messages(Measured):
    """Messages between two ranks, on two nodes where there are: latency, bandwidth, and small ones in a second."""

    case = parameter([name for name in CASES if name not in POINTS], loggable=True)
    descr = "messages between two ranks"

    @run_after("init")
    def set_place(self) -> None:
        """Run everywhere, where a calibration is asked for."""
        self.tags = {TAG}
        self.valid_systems = ["*"]

    @run_before("run")
    def set_command(self) -> None:
        """Start two ranks."""
        self.start(2, [*messages_arguments(), "ranks=2"], apart=True)

    def further(self, result: dict[str, Any]) -> list[Any]:
        """Return that messages went from node to node, where there are several: one node's memory is no network."""
        wrong = hosts_wrong(result.get("hosts", {}), self.nodes)
        return [sn.assert_false(wrong, wrong)]

    @run_before("performance")
    def set_values(self) -> None:
        """Take the ends of the ranges of sizes."""
        if self.is_dry_run():
            return
        sizes = json.loads(self.measured)["sizes"]
        self.perform(
            latency=(min(each["one_way_s"]["median"] for each in sizes) * 1e6, "us"),
            bandwidth=(max(each["bytes"] / each["gap_s"]["median"] for each in sizes) / 1e9, "GB/s"),
            message_rate=(1e-6 / min(each["gap_s"]["median"] for each in sizes), "million/s"),
        )


@rfm.simple_test
class Files(Measured):
    """A NetCDF file that PnetCDF writes and reads, for each rank or for groups: GRIST's grouped I/O and its rivals."""

    form = parameter(FILES, loggable=True)
    program = fixture(FilesProgram, scope="environment")
    valid_prog_environs = WITH_PNETCDF
    ranks = variable(int, value=RANKS)
    cells = variable(int, value=10242)
    levels = variable(int, value=30)
    file = "grid.nc"

    @run_after("init")
    def set_place(self) -> None:
        """Run where small cases run."""
        self.descr = f"a NetCDF file, {self.form}: all of it checked"
        self.tags = {*SCALES, SYSTEM}
        self.valid_systems = serving(SCALES)

    @run_before("run")
    def set_command(self) -> None:
        """Write a file into the stage folder, and read it."""
        lacking = self.program.told.get(LACKING, "")
        self.skip_if(bool(lacking), lacking)
        size = [f"cells={self.cells}", f"levels={self.levels}"]
        self.start(self.ranks, ["do=write", *FORMS[self.form], *size, f"file={self.file}"])

    def further(self, result: dict[str, Any]) -> list[Any]:
        """Return that the ranks read what they had written, and that the file holds it."""
        wrong = wrong_in(Path(self.stagedir, self.file), int(result.get("values", 0)))
        return [
            sn.assert_ge(result.get("values"), self.cells * self.levels, "{0} values, not {1} of a variable"),
            sn.assert_false(wrong, wrong),
        ]

    def complaint(self) -> str:
        """Return what the program has complained of first; empty if it has not."""
        return complaint(self._text(self.stderr), pnetcdf.NAME)

    @run_before("performance")
    def set_values(self) -> None:
        """Take the rates."""
        if self.is_dry_run():
            return
        result = json.loads(self.measured)
        size = result["values"] * 8e-6
        self.perform(**{key: (size / max(result[f"{key}_s"], 1e-6), "MB/s") for key in ("write", "read")})
