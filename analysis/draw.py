"""Draw datasets: ``python -m analysis.draw [--collate MANIFEST.json] DATASET.nc... OUTPUT_STEM``.

Writes ``OUTPUT_STEM.svg``, ``.png`` and ``.pdf``, the caption as ``OUTPUT_STEM.txt``, and what the figure shows as
tables, ``OUTPUT_STEM.md``. Several datasets become the panels of one figure. With a manifest, the records that it names
are made a dataset first: a campaign does both in one process, whose imports take as long as the work.
"""

import argparse
import signal
import sys
import textwrap
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from analysis import style
from analysis.caption import caption
from analysis.figures import arrange, show
from analysis.figures.panel import SOFT, Drawn, Panel, Shown, compose
from analysis.spec import spec_of
from tramontane.errors import InputError, refused_by_system
from tramontane.results import datasets
from tramontane.results.collate import collate_file
from tramontane.support.files import write_atomically
from tramontane.support.layout import FAILED
from tramontane.support.processes import end_with_parent

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

#: Characters of what is said of a figure that could not be drawn.
MOST = 300


def draw_files(dataset_files: Sequence[Path], stem: Path) -> list[Path]:
    """Draw the figure of one dataset, or of several as its panels, and write its caption and tables.

    Parameters
    ----------
    dataset_files
        Collated datasets (NetCDF).
    stem
        Path of the figure without suffix; its folder is made.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    ValueError
        If a dataset can't be drawn as its ``figure`` block asks.
    """
    return _draw([datasets.read(file) for file in dataset_files], stem)


def _draw(read: Sequence[xr.Dataset], stem: Path) -> list[Path]:
    shown = [show(dataset) for dataset in read]
    captions = "".join(f"{words}\n" for words in sorted(map(caption, read)))
    paths = _write(arrange(shown, spec_of(read[0]).width), captions, "\n".join(map(_tables, read, shown)), stem)
    _beside(stem, FAILED).unlink(missing_ok=True)
    return paths


def _write(drawn: "Figure", words: str, tables: str, stem: Path) -> list[Path]:
    paths = [*style.save(drawn, stem), _beside(stem, "txt"), _beside(stem, "md")]
    for path, text in zip(paths[-2:], (words, tables), strict=True):
        write_atomically(path, text)
    return paths


def _beside(stem: Path, form: str) -> Path:
    return stem.with_name(f"{stem.name}.{form}")


def draw_or_say_why(read: Sequence[xr.Dataset], stem: Path) -> None:
    """Draw datasets, or, where that fails, words that say why, so that a report of the others can be made.

    ``OUTPUT_STEM.failed`` then says it too.

    Raises
    ------
    OSError
        If a file can't be written.
    """
    try:
        _draw(read, stem)
    except OSError:
        raise
    except Exception as error:
        traceback.print_exc()
        said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        words = f"This figure could not be drawn. {textwrap.shorten(said, MOST)}"
        _write(compose([Panel(lambda figure, cell: _words(figure, cell, words))]), f"{words}\n", f"{words}\n", stem)
        write_atomically(_beside(stem, FAILED), f"{textwrap.shorten(said, MOST)}\n")


def _words(figure: "Figure", cell: "SubplotSpec", words: str) -> list[Drawn]:
    axes = figure.add_subplot(cell)
    axes.set_axis_off()
    axes.text(0, 1, textwrap.fill(words, 48), transform=axes.transAxes, va="top", color=SOFT, parse_math=False)
    return [Drawn(axes)]


def _tables(dataset: xr.Dataset, shown: Shown) -> str:
    """Return the numbers of a dataset's figure, and what follows from them, as Markdown."""
    heading = f"# {dataset.attrs.get('title', 'Numbers')}\n"
    return "\n".join([heading, *(table.markdown() for table in (shown.numbers, *shown.summaries))])


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; 0 if the figure was written, 2 with one line on standard error if it could not be drawn."""
    parser = argparse.ArgumentParser(prog="python -m analysis.draw", description="Draw one figure.")
    parser.add_argument("datasets", type=Path, nargs="+", help="collated datasets (NetCDF); several become panels")
    parser.add_argument("stem", type=Path, help="path of the figure without suffix")
    parser.add_argument("--collate", type=Path, metavar="MANIFEST", help="make the dataset of these records first")
    parser.add_argument(
        "--or-say-why", action="store_true", help="draw words where the figure can't be drawn, and go on"
    )
    options = parser.parse_args(arguments)
    if options.collate and len(options.datasets) > 1:
        parser.error("--collate: makes one dataset")
    try:
        if options.collate:
            read = [collate_file(options.collate, options.datasets[0])]
        else:
            read = [datasets.read(file) for file in options.datasets]
        (draw_or_say_why if options.or_say_why else _draw)(read, options.stem)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except (ValueError, OSError) as error:
        said = f"{', '.join(map(str, options.datasets))}: {error}"
        if isinstance(error, OSError) and error.filename is not None:  # which need not be a dataset
            said = refused_by_system(error)
        print(said, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    end_with_parent(signal.SIGKILL)  # a campaign that is killed leaves nobody behind who would go on writing
    sys.exit(main())
