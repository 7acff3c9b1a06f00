"""The line that a failed workflow ends with names the cause."""

import errno
import os
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from tramontane.campaign.causes import system_cause, why

BLOCK = """\
Error in rule {rule}:
    message: {message}
    jobid: {job}
    log: {log} (check log file(s) for error details)
    shell:
        exec tramontane something

"""


def written(folder: Path, *blocks: str, before: str = "", after: str = "") -> Path:
    log = folder / "snakemake.log"
    log.write_text(before + "".join(blocks) + after)
    return log


def block(rule: str = "draw_figure", log: str = "a.log", message: str = "None", job: int = 3) -> str:
    return BLOCK.format(rule=rule, log=log, message=message, job=job)


def test_the_last_line_of_a_job_is_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text("Traceback\nKeyError: 'figure'\n\n")
    log = written(tmp_path, block(), block(log="b.log", job=4))
    assert why(log, tmp_path) == "draw_figure failed: KeyError: 'figure'; see a.log, b.log, snakemake.log"


def test_a_job_that_slurm_does_not_take_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = "SLURM sbatch failed. The error message was 'sbatch: error: Invalid account or account/partition'."
    line = why(written(tmp_path, block("run_batch", message=said)), tmp_path)
    assert line == "run_batch failed: Invalid account or account/partition; see a.log, snakemake.log"
    ended = "SLURM-job '7' failed, SLURM status is: 'OUT_OF_MEMORY'. Detailed failure reason unavailable"
    line = why(written(tmp_path, block("run_batch", message=ended)), tmp_path)
    assert line == "run_batch failed: job 7 OUT_OF_MEMORY; see a.log, snakemake.log"


@pytest.mark.parametrize("last", ["1.5 s simulated in 0.2 s", "1.5 s measured", "failed: deadlock"])
def test_what_a_batch_says_of_a_point_is_no_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    """It was killed afterwards, and said no more."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text(f"0123456789abcdef {last}\n")
    ended = "SLURM-job '7' failed, SLURM status is: 'OUT_OF_MEMORY'. Detailed failure reason unavailable"
    line = why(written(tmp_path, block("run_batch", message=ended)), tmp_path)
    assert line == "run_batch failed: job 7 OUT_OF_MEMORY; see a.log, snakemake.log"
    killed = "Command '['bash', 'x']' died with <Signals.SIGKILL: 9>.\n"
    line = why(written(tmp_path, block("run_batch"), after=killed), tmp_path)
    assert line == "run_batch failed: its process was ended by signal 9 (SIGKILL); see a.log, snakemake.log"


def test_the_last_attempt_of_a_job_of_slurm_is_told_with_its_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the plug-in writes it, which adds Slurm's log of each attempt to the batch's own."""
    root = tmp_path / "a, b"
    logs = root / ".snakemake" / "slurm_logs"
    logs.mkdir(parents=True)
    monkeypatch.chdir(root)
    attempts = [
        block("run_batch", f"a.log, {logs}/{job}.log", f"SLURM-job '{job}' failed, SLURM status is: 'FAILED'.")
        for job in (7, 8)
    ]
    log = written(root, *attempts)
    places = "see a.log, .snakemake/slurm_logs/8.log, snakemake.log"
    assert why(log, root) == f"run_batch failed: job 8 FAILED; {places}"
    (root / "a.log").write_text("0123456789abcdef 1.5 s simulated in 0.2 s\n")
    (logs / "7.log").write_text("slurmstepd-n1: error: Detected 1 oom_kill event\n")
    (logs / "8.log").write_text(
        "Select jobs to execute...\n"
        "slurmstepd-n1: error: *** JOB 8 ON n1 CANCELLED AT 2026-11-30T03:58:31 DUE TO TIME LIMIT ***\n"
        "slurmstepd-n1: error: more of it\n"
        "At least one job did not complete successfully.\n"
    )
    told = "*** JOB 8 ON n1 CANCELLED AT 2026-11-30T03:58:31 DUE TO TIME LIMIT ***"
    assert why(log, root) == f"run_batch failed: {told}; {places}"
    (root / "a.log").write_text("2 points killed (out of memory?), to be tried again\n")
    assert why(log, root).startswith("run_batch failed: 2 points killed (out of memory?), to be tried again; see a.log")


def test_a_job_that_is_not_sent_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where Slurm keeps accounts, and has none of the name in the profile."""
    monkeypatch.chdir(tmp_path)
    problem = "The given account nope appears to be invalid. Available accounts:\nweather, root"
    failed = block("run_batch", message=f"Job submission failed with exception: {problem}For further error details see")
    log = written(
        tmp_path, before=f"Exception in run_job for rule run_batch: {problem}\n[Sun Nov 29 09:56:48]\n{failed}"
    )
    told = "The given account nope appears to be invalid. Available accounts: weather, root"
    assert why(log, tmp_path) == f"run_batch failed: {told}; see snakemake.log"


def test_a_job_that_succeeded_in_the_end_has_not_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    after = "Finished jobid: 3 (Rule: draw_figure)\n"
    log = written(tmp_path, block(), after=after + block("write_report", "c.log", job=13))
    assert why(log, tmp_path).startswith("write_report failed; see c.log")


def test_snakemakes_own_errors_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    end = "; all of it in snakemake.log"
    log = written(tmp_path, before="Building DAG of jobs...\nMissingInputException: no plan\n\n")
    assert why(log, tmp_path) == "the workflow did not run: MissingInputException: no plan" + end
    general = "WorkflowError:\nAt least one job did not complete successfully.\n"
    said = "WorkflowError:\nFailed to group jobs together\n"
    log = written(tmp_path, before=said + general)
    assert why(log, tmp_path) == "the workflow did not run: WorkflowError: Failed to group jobs together" + end
    log = written(tmp_path, before="OSError: [Errno 28] No space left on device: 'x'\n" + general)
    assert why(log, tmp_path) == "the workflow did not run: No space left on device: 'x'" + end
    assert why(written(tmp_path), tmp_path) == "the workflow did not run: it said nothing" + end


def test_a_job_that_ended_without_a_word_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    begin = "RuleException:\nCalledProcessError in file \"analyse.smk\", line 105:\nCommand 'exec python -c 'pass'' "
    killed = f"{begin}died with {signal.SIGKILL!r}.\n"
    told = "draw_figure failed: its process was ended by signal 9 (SIGKILL); see a.log, snakemake.log"
    assert why(written(tmp_path, block(), before=killed), tmp_path) == told
    ended = begin + "returned non-zero exit status 1.\n"
    told = "draw_figure failed: its process ended with status 1 and said nothing; see a.log, snakemake.log"
    assert why(written(tmp_path, block(), before=killed + ended), tmp_path) == told


def test_a_workflow_that_was_killed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = written(tmp_path, before="Finished jobid: 3 (Rule: run_batch)\nReason: Missing output files: a.svg\n")
    end = "its process was ended by signal 9 (SIGKILL); all of it in snakemake.log"
    assert why(log, tmp_path, -signal.SIGKILL) == f"the workflow ended early: {end}"


def test_a_workflow_whose_jobs_have_finished_did_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finished = "Finished jobid: 3 (Rule: run_batch)\n"
    log = written(tmp_path, before=finished + "OSError: [Errno 28] No space left on device: 'x'\n")
    line = "the workflow ended early: No space left on device: 'x'; all of it in snakemake.log"
    assert why(log, tmp_path) == line


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_file_system_that_takes_nothing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.chdir(tmp_path)
    log = written(tmp_path, block())
    assert system_cause(tmp_path) is None

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    assert why(log, tmp_path).startswith(f"draw_figure failed: .: {os.strerror(number)}; see a.log")


@pytest.mark.parametrize(("free", "said"), [(2**16, ""), (2**16, "KeyError: 'figure'"), (2**30, "")])
def test_a_job_without_a_word_had_no_room_where_little_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    (tmp_path / "a.log").write_text(said)
    told = why(written(tmp_path, block()), tmp_path)
    assert ("No space left on device, it seems: 64 KiB are free" in told) == (free < 2**20 and not said)
    assert said in told
