"""The first file of a new experiment: one that runs at once, with a word on every key."""

import re
from pathlib import Path

from tramontane.errors import InputError
from tramontane.study.reading.names import WORDS
from tramontane.study.reading.project import EXPERIMENTS

#: What an experiment may be called: part of file names, of paths in the workflow and of commands.
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
_ALLOWED = "small letters, digits and hyphens, at most 60, such as halo-latency"


def new_experiment(root: Path, name: str) -> Path:
    """Write a new experiment that is valid and runs, and return its file.

    Parameters
    ----------
    root : Path
        Root of the checkout.
    name : str
        Name of the experiment.

    Raises
    ------
    InputError
        If the name can't be one, or is taken.
    """
    if not _NAME.fullmatch(name) or name in WORDS:
        hint = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
        good = bool(_NAME.fullmatch(hint)) and hint not in WORDS and hint != name
        raise InputError("tramontane new-experiment", "", name, _ALLOWED, hint=hint if good else None)
    path = root / EXPERIMENTS / f"{name}.yaml"
    text = TEMPLATE.replace("NAME", name)
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        allowed = "a name that no experiment has; edit that file, or remove it first"
        raise InputError(path, "", None, allowed, problem="is there already") from None
    return path


TEMPLATE = """\
# yaml-language-server: $schema=../../workflow/schemas/experiment.schema.json
# An experiment: which points to compare, and the figure they make.
#   tramontane docs new-experiment                         change it step by step
#   tramontane docs configuration                          what every key means
#   tramontane validate configs/experiments/NAME.yaml      check it
#   tramontane reproduce --scale smoke --experiments NAME  run it

# What stands above the figure and in the report.
title: Routings of a halo exchange
question: Does the routing of a dragonfly matter to a halo exchange?
description: >-
  One exchange of a halo of 3 points on one dragonfly, with each of its routings, at growing numbers of processes.

# What all points have in common: any part of a point. $name stands for a value of the scale, below.
base:
  machine: $machine                     # a file of configs/machines; `machine.link.latency: 1 us` would change a part
  workload: {kind: halo, width: 3, grid: $grid}   # kinds: halo, transposition, program, trace, ...

# What is varied, in all combinations; each key is a dimension of the dataset.
cross:
  routing: [minimal, valiant, ugal]     # a name of ours, with its meaning under variants
  ranks: $processes                     # a path of a point: the number of processes

# What each value of `routing` sets in a point.
variants:
  routing:
    minimal: {machine.routing: minimal}
    valiant: {machine.routing: valiant}
    ugal: {machine.routing: ugal}

# Each combination is run as often, with seeds 1, 2, ... and starts that differ by up to 1 ns: a single run says little.
ensemble: $members

# How large: smoke takes seconds, laptop minutes, paper as long as it takes. `tramontane estimate NAME` says beforehand.
scales:
  smoke: {machine: dragonfly-S, grid: tiny, members: 3, processes: [16, 32, 64, 128, 256]}
  laptop: {machine: dragonfly-MM, grid: eighth, members: 5, processes: {decades: [100, 10000], steps: [1, 2, 5]}}

# What is drawn: a dimension along x, a variable along y, a line for each value of `lines`.
figure:
  x: ranks
  y: time_s
  lines: routing
  caption: Communication time of one halo exchange of 3 points, for three routings.
"""
