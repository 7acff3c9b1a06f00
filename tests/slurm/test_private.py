"""The private Slurm itself: its commands, and that nothing of it outlives whoever started it."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE, wait_for
from tramontane.campaign.slurm import Attempts, Limits, attempts, find_limits, keeps_accounts, limits, minutes, queue
from tramontane.errors import InputError

PRIVATE = Path(__file__).with_name("private.py")
SHIM = Path(__file__).parents[2] / "workflow" / "scripts" / "without-accounting" / "sacct"

pytestmark = pytest.mark.xdist_group("slurm")


def daemons(folder: Path) -> list[str]:
    """Return the daemons whose command line names a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
        except OSError:
            continue
        if f"SLURM_CONF={folder}/".encode() in environment:
            found.append(process.name)
    return found


@pytest.mark.parametrize("ending", ["end of input", "death of its parent", "end of its lifetime"])
def test_a_private_slurm_ends_with_all_it_has_started(slurm: Any, ending: str) -> None:
    with tempfile.TemporaryDirectory(prefix="slurm-") as parent:
        Path(parent).chmod(0o755)
        folder = Path(parent, "c")
        lifetime = "12" if ending == "end of its lifetime" else "60"
        process = subprocess.Popen(
            [sys.executable, str(PRIVATE), str(folder), "--nodes", "1", "--lifetime", lifetime],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        # A job that would outlive the daemons, which detach what runs it.
        subprocess.run([folder / "bin" / "sbatch", "--output=none", "--wrap", "exec sleep 60"], check=True, cwd=parent)
        slurm.wait_for(lambda: len(daemons(folder)) >= 4)
        if ending == "death of its parent":
            process.kill()
        elif ending == "end of input":
            assert process.stdin is not None
            process.stdin.close()
        process.wait(PATIENCE)
        left = 2 if ending == "death of its parent" else 0  # the job's own processes, until it ends
        wait_for(lambda: len(daemons(folder)) <= left)


def test_sacct_is_answered_where_there_are_no_accounts(slurm: Any) -> None:
    assert not keeps_accounts(slurm.ask("scontrol", "show", "config"))
    job = slurm.ask("sbatch", "--parsable", "--job-name=a-name", "--output=/dev/null", "--wrap", "exit 3").strip()
    slurm.wait_for(lambda: slurm.jobs()[job] == "FAILED")
    # As snakemake-executor-plugin-slurm asks.
    states = slurm.ask(
        *(str(SHIM), "-X", "--parsable2", "--clusters", "all", "--noheader", "--format=JobIdRaw,State"),
        *("--starttime", "2026-01-01T00:00", "--endtime", "now", "--name", "a-name"),
    )
    assert states == f"{job}|FAILED\n"
    assert slurm.ask(str(SHIM), "-j", job, "-n", "-X", "-o", "nodelist%-256").strip() in {"n1", "n2"}


def test_no_account_is_guessed_where_there_are_none(slurm: Any) -> None:
    slurm.ask("sbatch", "--output=/dev/null", "--wrap", "exit 0")
    # As snakemake-executor-plugin-slurm asks; "none" means that there is no account to name.
    assert slurm.ask(str(SHIM), "-nu", "root", "-o", "Account%256", "|", "tail", "-1") == "none\n"


def test_what_a_partition_allows_is_asked_for(slurm: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", slurm.environment["PATH"])
    (tmp_path / "profile.yaml").write_text("executor: slurm\n")
    assert find_limits(tmp_path) == Limits(memory=16000 * 2**20, minutes=60, gpus=True)
    (tmp_path / "profile.yaml").write_text("default-resources: {slurm_partition: debug}\n")
    assert find_limits(tmp_path) == Limits(memory=16000 * 2**20, minutes=60, gpus=True)
    (tmp_path / "profile.yaml").write_text("default-resources: {slurm_partition: none-such}\n")
    assert find_limits(tmp_path) == Limits()


def test_the_largest_node_of_a_partition_counts(slurm: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "profile.yaml").write_text("executor: slurm\n")
    with tempfile.TemporaryDirectory(prefix="slurm-") as parent:
        Path(parent).chmod(0o755)
        folder = Path(parent, "c")
        process = subprocess.Popen(
            [sys.executable, str(PRIVATE), str(folder), "--nodes", "3", "--unequal"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            monkeypatch.setenv("PATH", str(folder / "bin"), prepend=":")
            assert find_limits(tmp_path) == Limits(memory=32000 * 2**20, minutes=60, gpus=True)
        finally:
            process.communicate()  # closes its input, which ends it


def test_limits_are_read_as_slurm_writes_them() -> None:
    assert [minutes(text) for text in ("1-12:30:00", "2:00:00", "30:00", "infinite", "n/a")] == [
        2190,
        120,
        30,
        None,
        None,
    ]
    assert limits([("a*", "30:00", "16000+", "(null)"), ("a*", "30:00", "64000", "")]) == Limits(64000 * 2**20, 30)
    assert limits([("a*", "infinite", "1", "(null)")]) == Limits()  # 1 MB: nobody has told it
    assert limits([("a*", "infinite", "1", "tmp:1,gpu:tesla:2(S:0-1)")]) == Limits(gpus=True)
    assert limits([("a*", "infinite", "1", "gpumem:1")]) == Limits()
    assert limits([]) == Limits()


def test_how_jobs_ended_tells_what_they_lacked(slurm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is enforced here, so a job that holds more than it has asked for is killed."""
    monkeypatch.setenv("PATH", slurm.environment["PATH"])

    def ended(batch: str, command: str) -> str:
        comment = f"rule_run_batch_wildcards_smoke_{batch}"
        options = ("--parsable", "--mem=62", "--output=/dev/null", "--comment", comment)
        job = str(slurm.ask("sbatch", *options, "--wrap", command).strip())
        if command.startswith("sleep"):
            slurm.ask("scancel", job)
        slurm.wait_for(lambda: slurm.jobs()[job] not in {"PENDING", "RUNNING", "COMPLETING"})
        return str(slurm.jobs()[job])

    hold = f"exec {sys.executable} -c 'import time; held = b\"x\" * 300_000_000; time.sleep(30)'"
    assert ended("0123456789abcdef", hold) in {"OUT_OF_MEMORY", "FAILED"}  # by Slurm's version, and what enforces it
    assert attempts("0123456789abcdef", 1) == Attempts(memory=1)
    assert ended("0123456789abcdef", "sleep 30") == "CANCELLED"
    assert attempts("0123456789abcdef", 1) == Attempts()  # of the last one alone
    assert attempts("0123456789abcdef", 2) == Attempts(memory=1)
    assert attempts("fedcba9876543210", 1) == Attempts(memory=1)  # forgotten


def test_jobs_that_wait_are_told_with_the_reason(slurm: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", slurm.environment["PATH"])
    monkeypatch.chdir(tmp_path)
    comment = "--comment=rule_run_batch_wildcards_smoke_0123456789abcdef"
    options = ("--parsable", "--mem=10", "--output=/dev/null")
    running = slurm.ask("sbatch", *options, comment, "--wrap=sleep 60").strip()
    held = slurm.ask("sbatch", *options, comment, "--hold", "--wrap=sleep 60").strip()
    other = slurm.ask("sbatch", *options, "--comment=another", "--hold", "--wrap=sleep 60").strip()
    slurm.wait_for(lambda: slurm.jobs()[running] == "RUNNING")
    assert queue(tmp_path, "smoke") == (1, {"JobHeldUser": 1})
    assert queue(tmp_path, "laptop") == queue(tmp_path / "elsewhere", "smoke") == (0, {})
    slurm.ask("scancel", running, held, other)


def test_accounts_are_recognised() -> None:
    assert keeps_accounts("X = 1\nAccountingStorageType   = accounting_storage/slurmdbd\n")
    assert not keeps_accounts("AccountingStorageType   = accounting_storage/none\n")
    assert not keeps_accounts("")


def test_a_machine_without_slurm_is_told_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tramontane.campaign.slurm import commands_first

    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="sbatch, squeue, scontrol, sinfo, srun not found, so there is no Slurm here"):
        commands_first()


def test_a_controller_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tramontane.campaign.slurm import commands_first

    for name in ("sbatch", "squeue", "scontrol", "sinfo", "srun"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'slurm_load_ctl_conf error: Unable to contact' >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(InputError, match=r"controller does not answer .*Unable to contact"):
        commands_first()
