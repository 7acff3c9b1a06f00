"""Profiles: what is read of them, mistakes in them, and that those which run jobs here are held to what is here."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tramontane.campaign import driver
from tramontane.campaign.driver import Options, snakemake_command
from tramontane.campaign.plan import Resources, make_plan
from tramontane.campaign.profiles import Profile, read_profile
from tramontane.cli import app
from tramontane.errors import InputError
from tramontane.support import host


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "profile.yaml").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("jobs: 3", Profile("local", None, None)),
        ("executor: slurm\ndefault-resources: {slurm_partition: debug}", Profile("slurm", "debug", None)),
        ("default-resources: [slurm_partition=debug, runtime=10]\ncores: 3", Profile("local", "debug", 3)),
        ("default-resources:\ncores: all", Profile("local", None, None)),
        ("set-resources: {run_batch: {slurm_partition: own}}", Profile("local", "own", None)),
        ("set-resources: ['run_batch:slurm_partition=own', 'draw_figure:runtime=3']", Profile("local", "own", None)),
        (
            "default-resources: {slurm_partition: all}\nset-resources: {run_batch: {slurm_partition: own}}",
            Profile("local", "own", None),
        ),
    ],
)
def test_what_is_read_of_a_profile(tmp_path: Path, text: str, found: Profile) -> None:
    assert read_profile(write(tmp_path, text)) == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("executor: slurm\n  bad: [\n", "profile.yaml: not YAML (line 2, column 6)"),
        ("- executor: slurm", "profile.yaml: found [{executor: 'slurm'}]; allowed: a mapping"),
        ("default-resources: [runtime]", "profile.yaml: default-resources: found ['runtime']; allowed: a mapping of"),
        ("set-resources: [run_batch]", "profile.yaml: set-resources: found ['run_batch']; allowed: a mapping of keys"),
        ("default-resources: 3", "profile.yaml: default-resources: found 3; allowed: a mapping of keys to values, or"),
        (None, "profile.yaml: no such file; allowed: an existing YAML file"),
    ],
)
def test_a_mistake_is_one_line(project: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, expected: str) -> None:
    folder = project / "workflow" / "profiles" / "mine"
    folder.mkdir(parents=True)
    if text is not None:
        write(folder, text)
    monkeypatch.chdir(project)
    with pytest.raises(InputError) as caught:
        driver.reproduce(project, "smoke", ["all"], Options(cores=1, memory=None, profile="mine"))
    assert expected in str(caught.value)
    assert not (project / "results").exists()


def test_a_profile_of_ones_own_that_runs_jobs_here_has_the_cores_asked_for(project: Path, tmp_path: Path) -> None:
    plan = make_plan(project, "smoke", resources=Resources(memory=10**10))
    options = Options(cores=1, memory=None, profile="mine")
    command = snakemake_command(plan, write(tmp_path / "mine", "cores: all"), options)
    assert command[command.index("--cores") + 1] == "1"
    assert "--slurm-pass-command-as-script" not in command
    far = snakemake_command(plan, write(tmp_path / "far", "executor: slurm"), options)
    assert "--cores" not in far
    assert "--slurm-pass-command-as-script" in far


def test_a_profile_of_ones_own_is_held_to_the_memory_and_cores_there_are(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Options] = []

    def reproduce(root: Path, scale: str, names: list[str], options: Options) -> int:
        asked.append(options)
        return 0

    monkeypatch.setattr(driver, "reproduce", reproduce)
    monkeypatch.setattr(host, "memory", lambda: 10**9)
    monkeypatch.setattr(host, "cores", lambda: 4)
    monkeypatch.chdir(project)
    profiles = {"mine": "cores: all", "few": "cores: 2", "far": "executor: slurm"}
    for name, text in profiles.items():
        write(project / "workflow" / "profiles" / name, text)
    run = CliRunner().invoke
    for words in (["mine"], ["few"], ["few", "--cores", "3"], ["far"]):
        assert run(app, ["reproduce", "--profile", *words]).exit_code == 0
    found = [(options.cores, options.memory) for options in asked]
    assert found == [(4, 10**9), (2, 10**9), (3, 10**9), (4, None)]
    refused = run(app, ["reproduce", "--profile", "mine", "--threads", "5"])
    assert isinstance(refused.exception, InputError)
    assert "--threads: found 5; allowed: 1 ... 4" in str(refused.exception)
