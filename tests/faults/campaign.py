"""A small campaign that can be hurt: started, watched, killed, and compared with one that nobody has disturbed."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

#: Points of some tenths of a second, so that there is something to hurt; they share three batches and more.
EXPERIMENT = """\
title: Bursts on a small torus
question: What does a campaign lose?
description: Transpositions that take a moment.
base:
  machine: {topology: torus, geometry: [4, 4, 4], nodes_per_switch: 2}
  workload: {kind: transposition, algorithm: burst, grid: GRID}
  ranks: 128
cross:
  seed: SEEDS
scales:
  smoke: {}
figure: {x: seed, x_scale: linear, y_scale: linear, caption: Time of a transposition.}
"""

#: What differs from run to run and is no result: how long it took, and where it came from.
COSTS = ("wall_s", "setup_s", "cpu_s", "peak_rss_bytes")


def write(project: Path, name: str = "hurt", points: int = 8, grid: tuple[int, int, int] = (256, 256, 64)) -> Path:
    """Write an experiment into a project and return the project."""
    folder = project / "configs" / "experiments"
    folder.mkdir(parents=True, exist_ok=True)
    seeds = str(list(range(1, points + 1)))
    text = EXPERIMENT.replace("SEEDS", seeds).replace("GRID", str(list(grid)))
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return project


def start(project: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
    """Start a campaign in a group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tramontane", "reproduce", "--scale", "smoke", "--cores", "2", *arguments],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )


def run(project: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Run a campaign to its end."""
    process = start(project, *arguments, environment=environment)
    try:
        out, err = process.communicate(timeout=600)
    finally:
        end_all(project)
    return process.returncode, out, err


def working_in(project: Path) -> dict[int, str]:
    """Return the processes whose working directory lies in a project: all of its campaign, by id, with their words."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(project) and " Z " not in (process / "stat").read_text():
                words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found[int(process.name)] = words.strip()
        except OSError:
            continue
    return found


def end_all(project: Path) -> None:
    """Kill whatever of a campaign is left."""
    for number in working_in(project):
        kill(number)


def kill(process: int) -> None:
    """Kill one process, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def records(project: Path) -> list[Path]:
    """Return the records of points that ended."""
    found = (project / "results" / "points").glob("??/*.json")
    return sorted(path for path in found if not path.name.startswith(".") and ".failed." not in path.name)


def values(project: Path, name: str = "hurt") -> dict[str, Any]:
    """Return all that a dataset holds but for costs."""
    with xr.open_dataset(project / "results" / "smoke" / "datasets" / f"{name}.nc", engine="h5netcdf") as dataset:
        return {
            str(key): variable.values for key, variable in dataset.load().variables.items() if str(key) not in COSTS
        }


def assert_same(found: Mapping[str, Any], clean: Mapping[str, Any]) -> None:
    """Check that two datasets hold the same, value for value."""
    assert found.keys() == clean.keys()
    for key, expected in clean.items():
        assert found[key].dtype == expected.dtype, key
        np.testing.assert_array_equal(found[key], expected, err_msg=key)


def assert_whole(project: Path) -> None:
    """Check that every file of JSON can be read."""
    for path in (project / "results").rglob("*.json"):
        json.loads(path.read_text(encoding="utf-8"))


def hurt(project: Path, process: "subprocess.Popen[str]", random: random.Random) -> str:
    """Kill something of a running campaign, drawn at random: the whole of it, or one of its processes."""
    there = working_in(project)
    kinds = {
        "driver": "tramontane reproduce",
        "snakemake": "snakemake",
        "batch": "run-batch",
        "analysis": "analysis.",
    }
    by_kind = {kind: [each for each, words in there.items() if part in words] for kind, part in kinds.items()}
    chosen = random.choice(["group", *(kind for kind, members in by_kind.items() if members)])
    if chosen == "group":
        for each in there:
            kill(each)
    else:
        kill(random.choice(by_kind[chosen]))
    if random.random() < 0.2:
        process.send_signal(random.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
        chosen += " and a signal"
    return chosen
