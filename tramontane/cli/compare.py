"""``tramontane compare``."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.exit import FAILURE, fail
from tramontane.cli.options import Cores, picoseconds_of, to_write
from tramontane.errors import InputError


def compare(
    file: Annotated[
        Path, typer.Argument(help="Measured points; see `tramontane docs validation`.", metavar="FILE.csv")
    ],
    predictions: Annotated[
        Path | None,
        typer.Option("--predictions", help="Judge the predictions in a folder's files *.csv.", metavar="DIR"),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", help="Network model: pisces-16 or default.", metavar="MODEL")
    ] = "pisces-16",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    against: Annotated[
        str, typer.Option("--against", help="row: times as measured; ensemble: medians of model pisces-16.")
    ] = "row",
    members: Annotated[
        int | None,
        typer.Option("--members", min=1, max=1000, help="Members with seeds s, s + 1, ...; by default 1 or 10."),
    ] = None,
    jitter: Annotated[
        str | None, typer.Option("--jitter", help="Ranks start up to this much apart, e.g. '1 ns'.", metavar="TIME")
    ] = None,
    dataset: Annotated[
        Path | None, typer.Option("--dataset", help="Write the rows as a dataset, too.", metavar="FILE.nc")
    ] = None,
    cores: Cores = None,
    refresh: Annotated[bool, typer.Option("--refresh", help="Run points again that have a result.")] = False,
) -> None:
    """Run points that others measured, and compare the times."""
    from tramontane.comparison import presentation
    from tramontane.comparison.execution import run_points
    from tramontane.comparison.measured import Options, compare
    from tramontane.study import find_root

    if dataset is not None:
        to_write("--dataset", dataset, file)
    if predictions is not None:
        changed = {"--model": model != "pisces-16", "--against": against != "row", "--refresh": refresh}
        given = {"--members": members, "--jitter": jitter, "--cores": cores}
        changed |= {option: value is not None for option, value in given.items()}
        for option in (option for option, own in changed.items() if own):
            raise InputError(option, "", None, "--json and --dataset", problem="found beside --predictions")
        _judge(file, predictions, as_json, dataset)
        return
    root = find_root()
    options = Options(model, against, members, picoseconds_of("--jitter", jitter))
    found = compare(file, root, options, lambda points: run_points(points, root, cores=cores, refresh=refresh))
    if as_json:
        print(json.dumps(presentation.as_data(found)))
        for paragraph in presentation.left_out(found):
            print(paragraph, file=sys.stderr)
    else:
        print(presentation.as_text(found))
    if dataset is not None:
        from tramontane.comparison.dataset import as_dataset
        from tramontane.results.datasets import write

        write(as_dataset(found), dataset)
    if found.failed or not found.rows:
        fail("some points did not end" if found.failed else f"{file}: no row could be compared", FAILURE)


def _judge(file: Path, folder: Path, as_json: bool, dataset: Path | None) -> None:
    """Print how well predictions agree with what was measured; nothing runs."""
    from tramontane.comparison import judgement
    from tramontane.comparison.predictions import judge
    from tramontane.study import find_root

    found = judge(file, folder, find_root())
    print(json.dumps(judgement.as_data(found)) if as_json else judgement.as_text(found))
    for sentence in judgement.repeated(found) if as_json else []:
        print(sentence, file=sys.stderr)
    if dataset is not None:
        from tramontane.results.datasets import write

        write(judgement.as_dataset(found), dataset)
