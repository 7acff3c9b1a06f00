"""ReFrame's settings, references and reports, without ReFrame."""

import fnmatch
import json
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from tests.measurement.conftest import EXPERIMENT, SYSTEM
from tramontane.errors import InputError
from tramontane.measurement.calibration import MESSAGES, RANKS, TAG, WORKLOADS
from tramontane.measurement.cases import SYSTEMS, cases, mentions_mpi, reference, tags
from tramontane.measurement.execution import choose
from tramontane.measurement.netcdf import FORMS, LACKING, program_of, wrong_in
from tramontane.measurement.netcdf import main as build_for_files
from tramontane.measurement.references import main, references
from tramontane.measurement.reframe_report import Session, failed_builds, outcomes, refuse_empty_run
from tramontane.measurement.settings import Site, look_around, settings
from tramontane.study import load_experiment, load_system
from tramontane.study.points.points import SystemChoice
from tramontane.substrates.mpi.launch import SESSIONS
from tramontane.substrates.mpi.variables import exports, values
from tramontane.support import host

ROOT = Path(__file__).parents[2]


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def add(folder: Path, name: str, text: str = "exit 0") -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(stat.S_IRWXU)


def test_what_is_there_is_offered_and_templates_are_not(commands: Path, tmp_path: Path) -> None:
    add(commands, "mpicxx.mpich")
    add(commands, "mpicxx")
    add(commands, "sinfo", "exit 1")
    site = look_around(ROOT)
    assert list(site.systems) == ["generic"]
    assert list(site.systems["generic"].environments) == ["mpich"]  # the nameless one only where there is no other
    assert any("slurm-local:slurm: Slurm does not answer" in line for line in site.absent)
    made = settings(tmp_path, site)
    [system] = made["systems"]
    assert system["partitions"][0]["environs"] == ["mpich"]
    assert system["partitions"][0]["max_jobs"] == 1
    assert "scale_CI" in system["partitions"][0]["features"]
    [environment] = made["environments"]
    assert ["TRAMONTANE_MPIRUN", '"mpirun.mpich -np"'] in environment["env_vars"]


def test_a_job_here_has_a_folder_of_its_own_and_removes_it(commands: Path, tmp_path: Path) -> None:
    add(commands, "mpicxx.openmpi")
    add(commands, "sinfo")
    prepare = {
        system["name"]: system["partitions"][0]["prepare_cmds"]
        for system in settings(tmp_path, look_around(ROOT))["systems"]
    }
    assert prepare["slurm-local"] == []  # its ranks may be on other machines
    script = "\n".join(
        [*prepare["generic"], 'touch "$OMPI_MCA_orte_tmpdir_base/x"', f"printenv {SESSIONS[1]}", "exit 3"]
    )
    done = subprocess.run(
        ["/bin/bash", "-c", script], env={"PATH": os.defpath}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stdout.strip()
    assert not Path(done.stdout.strip()).exists()


def test_variables_are_the_same_in_a_job_and_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in them is run; what stands for another variable may use those before it."""
    given = {
        "A": "$HOME/a",
        "B": "${HOME}/b:$A",
        "C": "$(echo run) `echo run`",
        "D": "${NOTHING:+:$NOTHING}${NOTHING:-$(echo run)}",
        "E": '\\$HOME "x" \\',
        "F": "plain",
    }
    monkeypatch.setenv("HOME", "/h")
    script = [f"export {name}={value}" for name, value in exports(given)]
    script += [f'printf "%s\\0" "${name}"' for name in given]
    done = subprocess.run(["/bin/bash", "-c", "\n".join(script)], capture_output=True, text=True, check=True)
    in_job = dict(zip(given, done.stdout.split("\0"), strict=False))
    expected = ["/h/a", "/h/b:/h/a", "$(echo run) `echo run`", "$(echo run)", '$HOME "x" \\', "plain"]
    assert list(in_job.values()) == expected
    assert values(given) == in_job


@pytest.mark.parametrize("options", ["-p short", "--partition=short", "--exclusive"])
def test_a_partition_that_gives_no_job_its_time_is_left_out(commands: Path, here: Path, options: str) -> None:
    """Jobs that ask for more than is allowed wait for ever."""
    add(commands, "mpicxx.openmpi")
    shown = "*" if options == "--exclusive" else ""
    add(commands, "sinfo", f"case \"$*\" in *format*) echo 'short{shown}|5:30'; echo 'short{shown}|5:00' ;; esac")
    file = here / "configs" / "systems" / "site.yaml"
    text = SYSTEM.replace("environments: [openmpi],", "environments: [openmpi], scheduler: squeue,")
    text = text.replace("ranks_per_node: 8", f"ranks_per_node: 8, options: {json.dumps(options.split())}")
    file.write_text(text)
    site = look_around(here)
    assert "site" not in site.systems
    [line] = [line for line in site.absent if line.startswith("site:cores: ")]
    assert line.endswith("jobs ask for 600 s, Slurm's partition allows 330 s; time_limit sets less")
    file.write_text(text.replace("ranks_per_node: 8", "ranks_per_node: 8, time_limit: 330 s"))
    assert settings(here, look_around(here))["systems"][-1]["partitions"][0]["extras"]["seconds"] == 330


@pytest.mark.parametrize(
    ("options", "left_out"),
    [
        (["--partition short"], True),
        (["-p short"], True),
        (["--account=x -p short"], True),
        (["-p", "short"], True),
        (["--partition"], False),
        (["--comment='"], False),
    ],
)
def test_the_partition_that_options_name_is_asked_for_its_time(
    commands: Path, here: Path, options: list[str], left_out: bool
) -> None:
    """However it is spelled; the default one allows an hour."""
    add(commands, "mpicxx.openmpi")
    add(commands, "sinfo", "case \"$*\" in *'partition short'*) echo 'short|5:00' ;; *) echo 'debug*|1:00:00' ;; esac")
    text = SYSTEM.replace("ranks_per_node: 8", f"ranks_per_node: 8, scheduler: squeue, options: {json.dumps(options)}")
    (here / "configs" / "systems" / "site.yaml").write_text(text)
    site = look_around(here)
    assert ("site" not in site.systems) == left_out, site.absent


def test_each_option_is_a_line_of_a_job(here: Path) -> None:
    file = here / "configs" / "systems" / "generic.yaml"
    file.write_text(file.read_text().replace("ranks_per_node: 8", "ranks_per_node: 8, options: [-p, short, -A x]"))
    site = Site({"generic": load_system("generic", here)}, [])
    assert settings(here, site)["systems"][0]["partitions"][0]["access"] == ["-p short", "-A x"]


def test_a_system_is_measured_on_its_own_hosts_only(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another machine takes would be recorded as the system's."""
    file = here / "configs" / "systems" / "generic.yaml"
    file.write_text(file.read_text().replace('[".*"]', '["login[0-9]+", "node[0-9]+[.]cluster"]'))
    site = Site({"generic": load_system("generic", here)}, [])
    choice = SystemChoice(name="generic")
    for names, there in [(["laptop"], False), (["login1"], True), (["node7", "node7.cluster"], True)]:
        monkeypatch.setattr(host, "names", lambda names=names: names)
        if there:
            assert choose(site, choice) == ("cores", "openmpi")
        else:
            with pytest.raises(ValueError, match=r"^system generic: this is laptop, none of its hosts \(login\[0-9"):
                choose(site, choice)


def test_variables_keep_their_quotes(here: Path) -> None:
    file = here / "configs" / "systems" / "generic.yaml"
    values = {"A": 'say "hi" there', "B": "`uname`", "C": "a\\b\\", "D": "$HOME/x y", "E": "\\$HOME"}
    written = ", ".join(f"{name}: '{value}'" for name, value in values.items())
    file.write_text(file.read_text().replace("variables: {OMPI", f"variables: {{{written}, OMPI"))
    site = Site({"generic": load_system("generic", here)}, [])
    [environment] = settings(here, site)["environments"]
    exports = [f"export {name}={value}" for name, value in environment["env_vars"] if name in values]
    script = "\n".join([*exports, *(f'printf "%s\\0" "${name}"' for name in values)])
    done = subprocess.run(["/bin/bash", "-c", script], env={"HOME": "/h"}, capture_output=True, text=True, check=True)
    assert done.stdout.split("\0")[:-1] == [*list(values.values())[:3], "/h/x y", "$HOME"]


def test_slurm_is_offered_where_it_answers(commands: Path) -> None:
    add(commands, "mpicxx.openmpi")
    add(commands, "sinfo")
    site = look_around(ROOT)
    assert list(site.systems) == ["generic", "slurm-local"]
    assert choose(site, SystemChoice(name="slurm-local")) == ("slurm", "openmpi")
    assert choose(site, SystemChoice(name="generic", environment="openmpi")) == ("cores", "openmpi")
    for wrong, expected in [
        ({"name": "generic", "partition": "nodes"}, "partition: found 'nodes'; allowed here: cores"),
        ({"name": "generic", "environment": "mpich"}, "environment: found 'mpich'; allowed here: openmpi"),
        ({"name": "template-cray-slingshot"}, "nothing of it can be used here: it is a template"),
    ]:
        with pytest.raises(ValueError, match=expected):
            choose(site, SystemChoice.model_validate(wrong))


@pytest.mark.parametrize(("name", "there"), [("a b", False), ("it's", False), ("a\\b", False), ("ä-b.c_$d", True)])
def test_a_folder_that_reframe_cannot_work_in_is_named(commands: Path, tmp_path: Path, name: str, there: bool) -> None:
    """It takes the path of a job's script for several words."""
    add(commands, "mpicxx.openmpi")
    root = tmp_path / name
    file = root / "configs" / "systems" / "generic.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(SYSTEM)
    site = look_around(root)
    assert list(site.systems) == ["generic"] * there
    if not there:
        why = "ReFrame starts nothing below a path with blanks, quotes or backslashes"
        assert site.absent == [f"generic: {why}, such as {root}"]
        with pytest.raises(ValueError, match="nothing of it can be used here: generic: ReFrame starts nothing below"):
            choose(site, SystemChoice(name="generic"))


def test_nothing_at_all_is_one_line(commands: Path, tmp_path: Path) -> None:
    assert commands.exists()
    with pytest.raises(InputError) as caught:
        settings(tmp_path, look_around(ROOT))
    assert "nothing can be run here: generic, environment openmpi: no command mpicxx.openmpi" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_cases_are_the_measured_points_of_experiments() -> None:
    found = {name: case for name, case in cases(ROOT).items() if case.tags != {TAG}}
    assert found
    assert {case.point and case.point.substrate for case in found.values()} == {"mpi"}
    in_ci = [case for case in found.values() if "CI" in case.tags]
    assert max(case.point.ranks for case in in_ci if case.point) >= 16
    names = [path.stem for path in (ROOT / "configs/experiments").glob("*.yaml") if mentions_mpi(load_experiment(path))]
    assert all(name.startswith(tuple(names)) for name in found)


def test_cases_of_a_calibration_are_messages_and_operations_at_several_numbers_of_ranks() -> None:
    found = {name: case for name, case in cases(ROOT).items() if case.tags == {TAG}}
    assert [name for name, case in found.items() if case.point is None] == [MESSAGES]
    ranks = {case.point.ranks for case in found.values() if case.point and "allreduce" in case.name}
    assert ranks == set(RANKS)
    assert len(found) == 1 + len(RANKS) * len(WORKLOADS)


def test_names_of_cases_hold_no_blank_and_no_comma(here: Path) -> None:
    assert [name for name in cases(ROOT) if name.split() != [name] or "," in name] == []


def test_a_system_is_a_tag_of_its_own_and_does_not_say_where_a_case_runs(here: Path) -> None:
    """It follows from the papers that an experiment refers to, in whatever order, and from nothing else."""
    file = here / "configs" / "experiments" / "pair.yaml"
    shutil.copy(ROOT / "configs" / "references.yaml", here / "configs")
    text = file.read_text()
    before = {name: case for name, case in cases(here).items() if case.tags != {TAG}}
    assert {case.systems for case in before.values()} == {frozenset()}
    for written, systems in [
        ("[B]", {"monc"}),
        ("[W, J]", {"grist", "homme"}),
        ("[J, Z, W]", {"grist", "homme"}),
        ("[Z]", set()),
        ("[D, Thakur2005]", {"lm"}),
    ]:
        file.write_text(f"{text}references: {written}\n")
        found = {name: case for name, case in cases(here).items() if case.tags != {TAG}}
        assert {case.systems for case in found.values()} == {frozenset(systems)}
        assert {name: case.tags for name, case in found.items()} == {name: case.tags for name, case in before.items()}
    assert not set(SYSTEMS.values()) & {tag for case in cases(ROOT).values() for tag in case.tags}


def test_each_system_of_the_papers_has_cases_on_real_machines() -> None:
    in_ci = [case.systems for case in cases(ROOT).values() if "CI" in case.tags]
    assert {system for systems in in_ci for system in systems} == set(SYSTEMS.values())


@pytest.mark.parametrize("header", [0, 100])
def test_a_file_of_other_values_is_noticed(tmp_path: Path, header: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long its header is, and in whatever pieces it is read."""
    file = tmp_path / "grid.nc"
    assert wrong_in(file, 6) == "grid.nc does not hold 6 values"
    right = np.arange(1, 7, dtype=">f8")
    for block in (1, 4, 100):
        monkeypatch.setattr("tramontane.measurement.netcdf._BLOCK", block)
        file.write_bytes(bytes(header) + right.tobytes())
        assert wrong_in(file, 6) == ""
        wrong = right.copy()
        wrong[[3, 4]] = wrong[[4, 3]]
        file.write_bytes(bytes(header) + wrong.tobytes())
        assert wrong_in(file, 6) == "value 4 of grid.nc is 5"
        file.write_bytes(right.astype("<f8").tobytes())
        assert wrong_in(file, 6).startswith("value 1 of grid.nc is ")
        file.write_bytes(right[1:].tobytes())
        assert wrong_in(file, 6) == "grid.nc does not hold 6 values"


def test_what_is_missing_for_files_is_told_and_no_mistake(commands: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compiler = "mpicxx.nowhere"
    assert program_of("site", compiler) == {LACKING: f"environment site: there is no compiler {compiler}"}
    add(commands, compiler, "exit 1")
    assert program_of("site", compiler) == {LACKING: "no PnetCDF found; installed by: apt-get install libpnetcdf-dev"}
    assert build_for_files(["site", compiler]) == 0
    assert LACKING in json.loads(capsys.readouterr().out)
    assert build_for_files(["site"]) == 2
    assert {word.split("=")[0] for words in FORMS.values() for word in words} == {"form", "group"}


def test_a_report_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.json").write_text("{")
    for name, problem in (("none.json", "no such file"), ("broken.json", "not a report of ReFrame's")):
        with pytest.raises(SystemExit) as ended:
            main([str(tmp_path / name)])
        assert ended.value.code == 2
        assert capsys.readouterr().err.splitlines()[-1].endswith(f"{tmp_path / name}: {problem}")


def test_tags_are_scales() -> None:
    assert tags("smoke", 4) == {"CI", "4_cores"}
    assert tags("laptop", 4) == {"1_node", "production"}
    assert tags("paper", 1024) == {"production"}


def test_the_first_reference_that_fits_decides(here: Path) -> None:
    file = here / "configs" / "systems" / "generic.yaml"
    common = "partition: cores, environment: openmpi, upper: 0.5"
    file.write_text(
        f"{file.read_text()}references:\n"
        f'  - {{case: "pair-*-2", time: 1 ms, {common}}}\n  - {{case: "pair-*", time: 2 ms, {common}}}\n'
    )
    system = load_system("generic", here)
    for case, expected in [("pair-smoke-measured-2", 10**9), ("pair-smoke-measured-4", 2 * 10**9)]:
        entry = reference(case, system, "cores", "openmpi")
        assert entry is not None
        assert entry.time == expected
    assert reference("pair-smoke-measured-2", system, "cores", "mpich") is None


def write_report(folder: Path, *tests: dict[str, Any]) -> Path:
    file = folder / "report.json"
    file.write_text(json.dumps({"runs": [{"testcases": list(tests)}]}))
    return file


def case(name: str, result: str = "pass", **more: Any) -> dict[str, Any]:
    measured = json.dumps({"time_s": {"median": 2.5e-3}})
    return {
        "fixture": False,
        "case": name,
        "result": result,
        "measured": measured,
        "environ": "openmpi",
        "partition": "cores",
        "time_run": 3.0,
        **more,
    }


def test_reports_are_read(tmp_path: Path) -> None:
    build = {"fixture": True, "name": "Program", "environ": "mpich", "result": "fail", "fail_reason": "no\ncompiler"}
    failed = case("b", "fail", fail_reason="sanity error:\n 1 != 2", fail_phase="sanity", measured="")
    report = write_report(tmp_path, build, case("a"), failed, case("c", "skip"))
    first, second = outcomes(report)
    assert (first.case, first.failure, first.seconds) == ("a", "", 3.0)
    assert first.measured == {"time_s": {"median": 2.5e-3}}
    assert (second.measured, second.failure) == (None, "sanity error: 1 != 2")
    assert failed_builds(report) == ["Program with mpich: no compiler"]
    assert references(outcomes(report), -0.5, 0.3).splitlines() == [
        "references:",
        '  - {case: "a", partition: cores, environment: openmpi, time: 2500000 ns, lower: -0.5, upper: 0.3}',
    ]


def test_a_case_counts_as_it_ended_last_and_for_references_each_time_it_ran(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def took(seconds: float) -> str:
        return json.dumps({"time_s": {"median": seconds}})

    failed = {"result": "fail", "fail_reason": "sanity", "measured": ""}
    build = {"fixture": True, "name": "Program", "environ": "openmpi", "result": "fail", "fail_reason": "disk full"}
    runs = [
        [build, case("a", measured=took(1e-3)), case("b") | failed],
        [build | {"result": "pass"}, case("a", measured=took(3e-3)), case("b", measured=took(7e-3))],
        [case("a", measured=took(2e-3))],  # as where only some were run again
    ]
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"runs": [{"testcases": tests} for tests in runs]}))
    last = {each.case: each.measured for each in outcomes(report)}
    assert last == {"a": json.loads(took(2e-3)), "b": json.loads(took(7e-3))}
    assert failed_builds(report) == []
    main([str(report)])
    printed = capsys.readouterr().out.splitlines()
    assert [line.split("time: ")[1].split(",")[0] for line in printed[1:]] == ["2000000 ns", "7000000 ns"]


def printed_references(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    main(arguments)
    text = capsys.readouterr().out
    read = YAML(typ="safe", pure=True).load(text)
    return {entry["case"]: entry for entry in read["references"]}


def test_references_are_of_one_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of two clusters whose partitions have the same name would make one median of both."""
    slow = {"measured": json.dumps({"time_s": {"median": 1.0}})}
    report = str(write_report(tmp_path, case("a", system="one"), case("a", system="two") | slow))
    with pytest.raises(SystemExit) as ended:
        main([report])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("found reports of one, two; --system chooses one of them\n")
    assert printed_references(capsys, report, "--system", "one")["a"]["time"] == "2500000 ns"
    assert printed_references(capsys, report, "--system", "two")["a"]["time"] == "1000000000 ns"
    with pytest.raises(SystemExit):
        main([report, "--system", "three"])
    assert capsys.readouterr().err.endswith("--system: found 'three', allowed: one, two\n")


@pytest.mark.parametrize("name", ["x-b_[x]-2", 'x-"q"-2', "x-*?-2", "x-ü\\-2", "x-[!a]-2"])
def test_a_reference_fits_its_own_case_and_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    [pattern] = printed_references(capsys, str(write_report(tmp_path, case(name))))
    assert fnmatch.fnmatchcase(name, pattern)
    assert not fnmatch.fnmatchcase("x-b_x-2", pattern)
    assert not fnmatch.fnmatchcase("x-ab-2", pattern)


def test_messages_have_no_reference_and_spoil_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messages = case(MESSAGES) | {"measured": json.dumps({"sizes": [], "verified": True})}
    assert list(printed_references(capsys, str(write_report(tmp_path, messages, case("a"))))) == ["a"]
    with pytest.raises(SystemExit) as ended:
        main([str(write_report(tmp_path, messages, case("b", "fail")))])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("report.json: no case with a time has passed\n")


@pytest.mark.parametrize("bound", ["--lower=5", "--lower=-2", "--upper=-3", "--upper=nan", "--upper=0", "--lower=x"])
def test_bounds_that_no_system_may_have_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], bound: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(write_report(tmp_path, case("a"))), bound])
    assert ended.value.code == 2
    assert f"argument {bound.split('=', maxsplit=1)[0]}: " in capsys.readouterr().err


def test_points_whose_names_would_be_alike_are_cases_of_their_own(here: Path) -> None:
    file = here / "configs" / "experiments" / "pair.yaml"
    before = set(cases(here))
    settings_of = {f"a{gap}b": f"{{workload.algorithm: ring-k, workload.radix: {radix}}}"
                   for radix, gap in enumerate((" ", "_", ", ", "-"), 1)}  # fmt: skip
    text = EXPERIMENT.replace("  ranks: [2, 4]", f"  ranks: [2, 4]\n  label: {json.dumps(list(settings_of))}")
    variants = "\n".join(f'    "{label}": {keys}' for label, keys in settings_of.items())
    file.write_text(text.replace("variants:", f"variants:\n  label:\n{variants}"))
    found = {name: each for name, each in cases(here).items() if name.startswith("pair-")}
    assert len({each.identity for each in found.values()}) == len(found) == 8
    assert all(name == each.name for name, each in found.items())
    assert "pair-smoke-measured-2-a-b" in found
    alike = [each for name, each in found.items() if name.startswith("pair-smoke-measured-2-a_b")]
    assert {each.name for each in alike} == {f"pair-smoke-measured-2-a_b-{each.identity}" for each in alike}
    assert len(alike) == 3
    assert "pair-smoke-measured-2" in before  # alone it has its plain name


def test_what_waits_for_a_build_that_failed_is_no_outcome(tmp_path: Path) -> None:
    """The build says why, and ReFrame of the case nothing."""
    waiting = case("a", "fail_deps", fail_phase=None, measured="")
    build = {"fixture": True, "name": "Program", "environ": "openmpi", "result": "fail", "fail_reason": "no compiler"}
    report = write_report(tmp_path, build, waiting)
    assert list(outcomes(report)) == []
    assert failed_builds(report) == ["Program with openmpi: no compiler"]


def test_a_run_without_cases_ends_with_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    for session in (Session(), Session(runs=True, started=1)):
        refuse_empty_run(session)
    assert ended == []
    refuse_empty_run(Session(runs=True))
    assert ended == [1]
