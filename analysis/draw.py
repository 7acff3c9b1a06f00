"""Draw datasets: ``python -m analysis.draw DATASET.nc... OUTPUT_STEM``.

Writes ``OUTPUT_STEM.svg``, ``.png`` and ``.pdf``, the caption as ``OUTPUT_STEM.txt``, and what the figure shows as
tables, ``OUTPUT_STEM.md``. Several datasets become the panels of one figure.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import xarray as xr

from analysis import style
from analysis.caption import caption
from analysis.figures import draw, draw_together, numbers, summaries
from tramontane.results import datasets
from tramontane.support.processes import end_with_parent


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
    read = [datasets.read(file) for file in dataset_files]
    paths = style.save(draw(read[0]) if len(read) == 1 else draw_together(read), stem)
    text = stem.with_name(f"{stem.name}.txt")
    text.write_text("".join(f"{words}\n" for words in sorted(map(caption, read))), encoding="utf-8")
    tables = stem.with_name(f"{stem.name}.md")
    tables.write_text("\n".join(map(_tables, read)), encoding="utf-8")
    return [*paths, text, tables]


def _tables(dataset: xr.Dataset) -> str:
    """Return the numbers of a dataset's figure, and what follows from them, as Markdown."""
    heading = f"# {dataset.attrs.get('title', 'Numbers')}\n"
    return "\n".join([heading, *(table.markdown() for table in (numbers(dataset), *summaries(dataset)))])


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; 0 if the figure was written, 2 with one line on standard error if it could not be drawn."""
    parser = argparse.ArgumentParser(prog="python -m analysis.draw", description="Draw one figure.")
    parser.add_argument("datasets", type=Path, nargs="+", help="collated datasets (NetCDF); several become panels")
    parser.add_argument("stem", type=Path, help="path of the figure without suffix")
    options = parser.parse_args(arguments)
    try:
        draw_files(options.datasets, options.stem)
    except (ValueError, OSError) as error:
        print(f"{', '.join(map(str, options.datasets))}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    end_with_parent(signal.SIGKILL)  # a campaign that is killed leaves nobody behind who would go on writing
    sys.exit(main())
