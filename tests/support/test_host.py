"""What this machine offers: a job of Slurm and a container have their part of it, whatever the machine has."""

import os
from pathlib import Path

import pytest

from tramontane.support import host

ALL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Control groups in a folder, for a process that has eight cores."""
    monkeypatch.setattr(host, "_GROUPS", tmp_path)
    monkeypatch.setattr(host, "_OWN", tmp_path / "own")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    return tmp_path


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n")


def test_without_groups_all_is_there(groups: Path) -> None:
    assert host.memory() == int(ALL * host.USABLE)
    assert host.cores() == 8
    for line in ("0::/", "4:memory:/", "4:memory:/a/b", "", "nonsense", "0::/../../x"):
        write(groups / "own", line)
        assert (host.memory(), host.cores()) == (int(ALL * host.USABLE), 8)


@pytest.mark.parametrize(
    ("own", "memory", "quota"),
    [
        ("0::/slurm/job_7/step_0", "slurm/job_7/memory.max", "slurm/job_7/cpu.max"),
        ("0::/", "memory.max", "cpu.max"),
        ("9:cpu,cpuacct:/slurm/uid_1\n4:memory:/slurm/uid_1", "memory/slurm/uid_1/memory.limit_in_bytes", ""),
        ("", "memory/memory.limit_in_bytes", ""),
    ],
)
def test_a_job_has_what_its_group_or_one_above_allows(groups: Path, own: str, memory: str, quota: str) -> None:
    write(groups / "own", own)
    write(groups / memory, "1000000")
    assert host.memory() == 900_000
    if quota:
        write(groups / quota, "250000 100000")
        assert host.cores() == 3
        write(groups / quota, "max 100000")
    assert host.cores() == 8
    write(groups / memory, "max")
    assert host.memory() == int(ALL * host.USABLE)


def test_a_share_of_processor_time_is_of_whole_cores_at_least_one(groups: Path) -> None:
    write(groups / "own", "3:cpu,cpuacct:/job")
    for quota, cores in (("-1", 8), ("10000", 1), ("100000", 1), ("200001", 3), ("1600000", 8)):
        write(groups / "cpu" / "job" / "cpu.cfs_quota_us", quota)
        write(groups / "cpu" / "job" / "cpu.cfs_period_us", "100000")
        assert host.cores() == cores
