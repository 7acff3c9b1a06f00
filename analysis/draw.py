"""Draw one dataset: ``python -m analysis.draw DATASET.nc OUTPUT_STEM``.

Writes ``OUTPUT_STEM.svg``, ``.png`` and ``.pdf``, and the caption as ``OUTPUT_STEM.txt``.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import xarray as xr

from analysis import style
from analysis.caption import caption
from analysis.figures import draw


def draw_file(dataset_file: Path, stem: Path) -> list[Path]:
    """Draw a dataset's figure and write its caption.

    Parameters
    ----------
    dataset_file
        A collated dataset (NetCDF).
    stem
        Path of the figure without suffix; its folder is made.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    ValueError
        If the dataset can't be drawn as its ``figure`` block asks.
    """
    with xr.open_dataset(dataset_file, engine="h5netcdf") as opened:
        dataset = opened.load()
    paths = style.save(draw(dataset), stem)
    text = stem.with_name(f"{stem.name}.txt")
    text.write_text(caption(dataset) + "\n", encoding="utf-8")
    return [*paths, text]


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; 0 if the figure was written, 2 with one line on standard error if it could not be drawn."""
    parser = argparse.ArgumentParser(prog="python -m analysis.draw", description="Draw one dataset.")
    parser.add_argument("dataset", type=Path, help="collated dataset (NetCDF)")
    parser.add_argument("stem", type=Path, help="path of the figure without suffix")
    options = parser.parse_args(arguments)
    try:
        draw_file(options.dataset, options.stem)
    except (ValueError, OSError) as error:
        print(f"{options.dataset}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
