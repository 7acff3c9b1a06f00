"""The regression checks, run as an administrator would: on this machine, through Slurm, and where things are wrong."""

import json
import os
import re
import shutil
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tramontane.measurement.cases import SYSTEMS, cases
from tramontane.measurement.netcdf import FORMS
from tramontane.study import list_experiments, load_experiment
from tramontane.substrates.mpi import pnetcdf
from tramontane.substrates.mpi.build import build_program
from tramontane.substrates.mpi.libraries import found

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("slurm")]

Reframe = Callable[..., Any]

#: All data are verified in each of them; more would only make the times steadier.
FEW = ("-S", "warmup=1", "-S", "repetitions=2")

needs_openmpi = pytest.mark.skipif(
    shutil.which("mpicxx.openmpi") is None, reason="Debian: apt-get install libopenmpi-dev openmpi-bin"
)
needs_mpich = pytest.mark.skipif(
    shutil.which("mpicxx.mpich") is None, reason="Debian: apt-get install libmpich-dev mpich"
)


def lacks_pnetcdf() -> bool:
    return all(pnetcdf.missing(library) for library in found("generic") if library.name == pnetcdf.ENVIRONMENT)


needs_pnetcdf = pytest.mark.skipif(lacks_pnetcdf(), reason=f"Debian: {pnetcdf.INSTALL}")


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    """Build with each library what the tests of the substrate build too; ReFrame then finds it up to date."""
    for library in found("generic"):
        build_program(library)


def expected_cases() -> set[str]:
    return {name for name, case in cases(ROOT).items() if "CI" in case.tags}


def check_all_verified(run: Any, environments: set[str]) -> None:
    """Every case ran with each library, with all its ranks in one job, and every element arrived where it belongs."""
    assert run.status == 0, run.said
    points = [test for test in run.cases if "case" in test]
    assert Counter(test["environ"] for test in points) == dict.fromkeys(environments, len(expected_cases()))
    for environment in environments:
        own = [test for test in points if test["environ"] == environment]
        assert {test["case"] for test in own} == expected_cases()
        measured = [json.loads(test["measured"]) for test in own]
        assert all(each["verified"] for each in measured)
        assert all(each["ranks"] == test["num_tasks"] for each, test in zip(measured, own, strict=True))
        assert max(each["ranks"] for each in measured) >= 16
        name = {"openmpi": "Open MPI", "mpich": "MPICH"}[environment]
        assert all(each["mpi_library"].startswith(name) for each in measured)
    builds = Counter(test["environ"] for test in run.tests if test["fixture"] and test["name"].startswith("Program"))
    assert builds == dict.fromkeys(environments, 1)
    check_files(run, "skip" if lacks_pnetcdf() else "pass")


def check_files(run: Any, result: str) -> list[dict[str, Any]]:
    """Every form of a NetCDF file came to this result, with the library that PnetCDF is there for."""
    files = [test for test in run.cases if "form" in test]
    assert Counter(test["form"] for test in files) == dict.fromkeys(FORMS, 1), run.said
    assert {(test["environ"], test["result"]) for test in files} == {(pnetcdf.ENVIRONMENT, result)}, run.said
    return files


@pytest.mark.long
@needs_openmpi
@needs_mpich
def test_the_suite_passes_here_with_both_libraries(reframe: Reframe) -> None:
    check_all_verified(reframe(ROOT, "--system", "generic", "-t", "CI", *FEW, "-r"), {"openmpi", "mpich"})


@pytest.mark.long  # some cases, below, do not take long
@needs_openmpi
@needs_mpich
def test_the_suite_passes_through_slurm(reframe: Reframe, slurm: Any) -> None:
    before = slurm.jobs().keys()
    run = reframe(ROOT, "--system", "slurm-local", "-t", "CI", *FEW, "-r", PATH=slurm.environment["PATH"])
    check_all_verified(run, {"openmpi", "mpich"})
    states = [state for job, state in slurm.jobs().items() if job not in before]
    assert states == ["COMPLETED"] * sum(test["result"] == "pass" for test in run.cases)


@pytest.mark.parametrize(
    ("environment", "library"),
    [
        pytest.param("openmpi", "Open MPI", marks=needs_openmpi),
        pytest.param("mpich", "MPICH", marks=[needs_mpich, pytest.mark.long]),
    ],
)
def test_cases_of_one_library_pass_through_slurm(reframe: Reframe, slurm: Any, environment: str, library: str) -> None:
    before = slurm.jobs().keys()
    names = "cross-validation-.*-16|lm-mpi-smoke-no.*|monc-mpi-smoke-PSCW"
    some = ("-t", "CI", "-p", environment, "-n", names)
    run = reframe(ROOT, "--system", "slurm-local", *some, *FEW, "-r", PATH=slurm.environment["PATH"])
    assert run.status == 0, run.said
    assert {test["environ"] for test in run.cases} == {environment}
    measured = [json.loads(test["measured"]) for test in run.cases]
    assert sorted(each["ranks"] for each in measured) == [4, 5, 16, 16, 16]
    assert all(each["verified"] and each["mpi_library"].startswith(library) for each in measured)
    assert [state for job, state in slurm.jobs().items() if job not in before] == ["COMPLETED"] * len(measured)


@needs_openmpi
@pytest.mark.parametrize(
    "arguments", [("-t", "production", "-r"), ("-n", "nothing-such", "-Rr"), ("-n", "none", "--ru")]
)
def test_a_run_without_a_case_fails(here: Path, reframe: Reframe, arguments: tuple[str, ...]) -> None:
    run = reframe(here, *arguments)
    assert "Ran 0/0" in run.said
    assert "no case was run" in run.said
    assert run.status == 1


@needs_openmpi
def test_a_list_of_no_case_is_no_failure(here: Path, reframe: Reframe) -> None:
    assert reframe(here, "-n", "nothing-such", "-l").status == 0


@needs_openmpi
def test_a_run_passes_wherever_its_report_goes(here: Path, reframe: Reframe, tmp_path: Path) -> None:
    for arguments, own in (((), str(tmp_path / "own.json")), ((f"--report-file={tmp_path}/{{sessionid}}.json",), "")):
        environment = {"RFM_REPORT_FILE": own} if own else {}
        run = reframe(here, "-n", "measured-2", "-r", *arguments, to_report=False, **environment)
        assert run.status == 0, run.said


@needs_openmpi
def test_a_dry_run_passes(here: Path, reframe: Reframe) -> None:
    """It has measured nothing that could be looked at."""
    run = reframe(here, "-n", "measured-2|Messages|Files", "--dry-run")
    assert run.status == 0, run.said
    assert "Ran 9/9" in run.said


@needs_openmpi
def test_a_launcher_keeps_its_quotes(here: Path, reframe: Reframe, tmp_path: Path) -> None:
    """And where it only complains, its first words are the reason."""
    launcher = tmp_path / "my launcher"
    launcher.write_text(
        '#!/bin/sh\n[ "$1" = "x  y" ] || { echo "this is no x  y" >&2; exit 1; }\nshift\nmpirun.openmpi "$@"\n'
    )
    launcher.chmod(stat.S_IRWXU)
    file = here / "configs" / "systems" / "generic.yaml"
    text = file.read_text()
    for word, status in (("x  y", 0), ("xy", 1)):
        command = f"""mpirun: "'{launcher}' '{word}' -np\""""
        file.write_text(text.replace("mpirun: mpirun.openmpi -np", command))
        run = reframe(here, "-n", "measured-2", "-r")
        assert run.status == status, run.said
        [case] = run.cases
        assert status == 0 or "no single result of 2 ranks: this is no x  y" in case["fail_reason"]


@needs_openmpi
def test_a_mistake_in_an_experiment_is_one_line(here: Path, reframe: Reframe) -> None:
    file = here / "configs" / "experiments" / "pair.yaml"
    file.write_text(file.read_text().replace("algorithm: burst", "algorithm: bursst"))
    run = reframe(here, "-l")
    assert run.status == 1
    assert "base.workload.algorithm: found 'bursst'; did you mean 'burst'?" in run.said
    assert "Traceback" not in run.said


@needs_openmpi
@needs_mpich
def test_singletons_are_noticed(here: Path, reframe: Reframe) -> None:
    # The other library's launcher starts as many jobs of one rank each, and each of them is right in itself.
    file = here / "configs" / "systems" / "generic.yaml"
    file.write_text(file.read_text().replace("mpicxx.openmpi", "mpicxx.mpich").replace("  openmpi:", "  mpich:", 1))
    file.write_text(file.read_text().replace("environments: [openmpi]", "environments: [mpich]"))
    run = reframe(here, "-t", "CI", "-n", "measured-4", "-r")
    assert run.status == 1
    [case] = run.cases
    assert case["fail_phase"] == "sanity"
    assert "no single result of 4 ranks: ranks: found that 1 was started" in case["fail_reason"]


@needs_openmpi
def test_messages_inside_a_node_of_several_are_no_network(here: Path, reframe: Reframe) -> None:
    file = here / "configs" / "systems" / "generic.yaml"
    file.write_text(file.read_text().replace("ranks_per_node: 8", "ranks_per_node: 8, nodes: 2"))
    run = reframe(here, "-n", "Messages", "-r")
    assert run.status == 1
    [case] = run.cases
    assert "both ranks ran on " in case["fail_reason"]
    assert case["num_tasks_per_node"] == 1


@needs_openmpi
def test_messages_go_from_node_to_node_through_slurm(here: Path, reframe: Reframe, slurm: Any) -> None:
    """Here both nodes are one machine, which is noticed, too."""
    file = here / "configs" / "systems" / "slurm-local.yaml"
    text = (ROOT / "configs" / "systems" / "slurm-local.yaml").read_text()
    file.write_text(text.replace("ranks_per_node: 64", "ranks_per_node: 64\n    nodes: 2"))
    before = slurm.jobs().keys()
    run = reframe(
        here, "--system", "slurm-local", "-p", "openmpi", "-n", "Messages", "-r", PATH=slurm.environment["PATH"]
    )
    [job] = slurm.jobs().keys() - before
    assert "NumNodes=2" in slurm.ask("scontrol", "show", "job", job)
    [case] = run.cases
    assert "both ranks ran on " in case["fail_reason"]


@needs_openmpi
@pytest.mark.parametrize(
    ("pipe", "reason"),
    [
        ('| sed \'s/"verified": *true/"verified": false/\'', "data were not verified"),
        ("; exit 3", "the job ended with status 3"),
    ],
)
def test_damaged_messages_and_jobs_that_fail_are_noticed(
    here: Path, reframe: Reframe, tmp_path: Path, pipe: str, reason: str
) -> None:
    launcher = tmp_path / "launcher"
    launcher.write_text(f'#!/bin/sh\nmpirun.openmpi "$@" {pipe}\n')
    launcher.chmod(stat.S_IRWXU)
    file = here / "configs" / "systems" / "generic.yaml"
    file.write_text(file.read_text().replace("mpirun.openmpi -np", f"{launcher} -np"))
    run = reframe(here, "-n", "Messages", "-r")
    assert run.status == 1
    [case] = run.cases
    assert reason in case["fail_reason"]


@needs_openmpi
@pytest.mark.parametrize(("time", "passes"), [("1 ns", False), ("100 s", True)])
def test_times_are_held_against_the_references_of_the_system(
    here: Path, reframe: Reframe, time: str, passes: bool
) -> None:
    file = here / "configs" / "systems" / "generic.yaml"
    entry = f'{{case: "pair-*", partition: cores, environment: openmpi, time: {time}, upper: 0.5}}'
    file.write_text(f"{file.read_text()}references: [{entry}]\n")
    run = reframe(here, "-t", "CI", "-n", "measured-2", "-r")
    [case] = run.cases
    assert (run.status == 0) == passes, run.said
    assert passes or case["fail_phase"] == "performance"
    assert "time_median" in (here / "results/reframe/perflogs/generic/cores/Schedule.log").read_text()


def test_a_machine_without_mpi_is_told_what_is_missing(here: Path, reframe: Reframe, tmp_path: Path) -> None:
    run = reframe(here, "-t", "CI", "-r", PATH=str(tmp_path))
    assert run.status == 1
    assert (
        "nothing can be run here: generic, environment openmpi: no command mpicxx.openmpi (Debian: apt-get" in run.said
    )


def listed(said: str) -> list[tuple[str, str]]:
    """Return the checks of a list, each by its class and what it varies."""
    return re.findall(r"^- (\w+) %\w+=(\S+)", said, flags=re.MULTILINE)


@needs_openmpi
@pytest.mark.parametrize("key", [key if key == "W" else pytest.param(key, marks=pytest.mark.long) for key in SYSTEMS])
def test_a_tag_chooses_the_checks_of_one_system(reframe: Reframe, key: str) -> None:
    """Those of experiments that refer to the system's paper, wherever any check runs, and no others."""
    experiments = [load_experiment(path) for path in list_experiments(ROOT)]
    own = tuple(f"{experiment.name}-" for experiment in experiments if key in experiment.references)
    expected = [("Schedule", name) for name in cases(ROOT) if name.startswith(own)]
    assert expected
    files = [("Files", form) for form in FORMS] if key == "W" else []
    by_tag = reframe(ROOT, "--system", "generic", "-t", SYSTEMS[key], "-l")
    assert sorted(listed(by_tag.said)) == sorted(expected + files), by_tag.said
    small = [(kind, name) for kind, name in expected + files if kind == "Files" or "-smoke-" in name]
    assert len(files) < len(small) < len(expected + files)
    for tags in ((SYSTEMS[key], "CI"), ("CI", SYSTEMS[key])):
        both = reframe(ROOT, "--system", "generic", *(word for tag in tags for word in ("-t", tag)), "-l")
        assert sorted(listed(both.said)) == sorted(small), both.said


@needs_openmpi
@needs_pnetcdf
@pytest.mark.parametrize(("cells", "levels"), [pytest.param(162, 3, marks=pytest.mark.long), (2563, 7)])
def test_files_hold_what_was_written_however_many_ranks_and_cells(
    here: Path, reframe: Reframe, cells: int, levels: int
) -> None:
    size = ("-S", f"Files.cells={cells}", "-S", f"Files.levels={levels}", "-S", "Files.ranks=5")
    run = reframe(here, "-t", "grist", *size, "-r")
    assert run.status == 0, run.said
    measured = [json.loads(test["measured"]) for test in check_files(run, "pass")]
    assert all(each["verified"] and each["ranks"] == 5 for each in measured)
    assert {each["values"] % (cells * levels) for each in measured} == {0}


@needs_openmpi
@needs_pnetcdf
def test_what_a_program_for_files_complains_of_is_the_reason(here: Path, reframe: Reframe) -> None:
    run = reframe(here, "-t", "grist", "-n", "groups-of-3", "-S", "Files.ranks=2", "-r")
    assert run.status == 1
    [case] = run.cases
    assert case["fail_phase"] == "sanity"
    assert "no single result of 2 ranks: group: found 3, allowed: at most 2, all ranks" in case["fail_reason"]


@needs_openmpi
def test_without_pnetcdf_files_are_skipped_with_the_line_that_installs_it(
    here: Path, reframe: Reframe, tmp_path: Path
) -> None:
    compiler = tmp_path / "bin" / "mpicxx.openmpi"
    compiler.parent.mkdir()
    there = shutil.which(compiler.name)
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *pnetcdf.h*) exit 1 ;; esac\nexec {there} "$@"\n')
    compiler.chmod(stat.S_IRWXU)
    run = reframe(here, "-t", "grist", "-r", PATH=f"{compiler.parent}:{os.environ['PATH']}")
    check_files(run, "skip")
    assert f"no PnetCDF found; installed by: {pnetcdf.INSTALL}" in run.said
    assert run.status == 1, "no case was run"
