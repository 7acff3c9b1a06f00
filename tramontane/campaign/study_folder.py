"""Lays out a folder for studies of one's own, so that campaigns need no checkout."""

import contextlib
import errno
import os
import shutil
from pathlib import Path

from tramontane import __version__
from tramontane.errors import InputError
from tramontane.study.experiments.claims import JUDGEMENT
from tramontane.study.experiments.template import new_experiment
from tramontane.study.reading.project import EXPERIMENTS, GRIDS, LIBRARIES, MACHINES, REFERENCES, SYSTEMS
from tramontane.support.files import folder_beside
from tramontane.support.layout import SHARE

#: What is copied: studies keep the machines and grids they were made with, sites edit the profiles, and editors look
#: for schemas where the first lines of files say.
COPIED = (
    MACHINES,
    SYSTEMS,
    GRIDS,
    REFERENCES,
    LIBRARIES,
    JUDGEMENT,
    Path("workflow/profiles"),
    Path("workflow/schemas"),
)

#: The first experiment, which runs at once.
FIRST = "my-question"

_SNAKEFILE = """\
# The campaign's rules come with the package; rules of your own may follow.
from tramontane.campaign.rules import SNAKEFILE


include: SNAKEFILE


localrules:
    all,


rule all:
    default_target: True
    input:
        rules.reproduce.input,
"""

_IGNORED = """\
/results/
/.snakemake/
"""

_README = f"""\
# Studies with Tramontane

    tramontane reproduce --scale smoke --experiments {FIRST}

runs the first experiment, `{EXPERIMENTS}/{FIRST}.yaml`, and ends with the path of a report in `results/`. Change that
file, or start another one with `tramontane new-experiment NAME`; `tramontane docs` lists what there is to read.

| | |
| --- | --- |
| `{EXPERIMENTS}/` | what to study |
| `{MACHINES}/` | networks, copied from Tramontane {__version__}; change them, add others |
| `{GRIDS.parent}/`, `{REFERENCES}`, `{LIBRARIES}` | grids, sources, algorithms of MPI libraries |
| `{JUDGEMENT}` | how verdicts are reached on statements of yours, in other files there |
| `{SYSTEMS}/` | real machines, for `substrate: mpi` |
| `workflow/profiles/` | how campaigns run: on this machine, or through Slurm (`--profile slurm`) |
| `workflow/schemas/` | what an editor completes and marks keys by |
| `Snakefile` | the rules; they come with the package |

A file `CITATION.cff` beside this one says whose results these are: `tramontane archive` takes title, authors and
licence from there.
"""


def lay_out(folder: Path) -> None:
    """Make a study folder: all of it, or nothing.

    Parameters
    ----------
    folder : Path
        A folder that does not exist, or is empty.

    Raises
    ------
    InputError
        If something is there already, or the place can't be written to.
    """
    new: list[Path] = []
    try:
        target = folder.absolute()
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise InputError(folder, "", None, "a folder that is empty or does not exist", problem="is there already")
        new = [part for part in target.parents if not part.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        with folder_beside(target) as place:
            _fill(place / target.name)
            os.rename(place / target.name, target)  # noqa: PTH104 - replaces an empty folder
    except OSError as error:
        for part in new:
            with contextlib.suppress(OSError):
                part.rmdir()
        if error.errno in (errno.ENOSPC, errno.EDQUOT):  # told of what is copied, too, which has no part in it
            raise OSError(error.errno, error.strerror, str(folder)) from None
        raise InputError(folder, "", None, "a place to write to", problem=f"{error.strerror}") from None


def _fill(folder: Path) -> None:
    (folder / EXPERIMENTS).mkdir(parents=True)
    for name in COPIED:
        source, copy = SHARE / name, folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        # One by one: shutil.copytree makes an error of all errors, which does not say what each one was.
        for each in (source, *sorted(source.rglob("*"))):
            place = copy / each.relative_to(source)
            if each.is_dir():
                place.mkdir()
            elif each.suffix != ".md":  # pages lead to others, which a study has not
                shutil.copyfile(each, place)  # with modes as of all that the user writes, not those of the package
    (folder / "Snakefile").write_text(_SNAKEFILE, encoding="utf-8")
    (folder / ".gitignore").write_text(_IGNORED, encoding="utf-8")
    (folder / "README.md").write_text(_README, encoding="utf-8")
    new_experiment(folder, FIRST)
