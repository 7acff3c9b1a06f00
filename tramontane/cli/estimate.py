"""``tramontane estimate``."""

import json
from typing import Annotated

import typer

from tramontane.cli.options import Device, Scale, Where, device_of
from tramontane.cli.reading import only_reads


@only_reads
def estimate(
    names: Annotated[list[str], typer.Argument(help="Experiments, or all.", metavar="NAME...")],
    scale: Scale = "laptop",
    where: Where = None,
    device: Device = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Estimate what is still to be run of experiments.

    It counts points and batches, and estimates processor time and memory.
    """
    from tramontane.campaign.overview import forecast
    from tramontane.study import find_root
    from tramontane.support.formatting import about_bytes, about_seconds, plural, roughly

    found = forecast(find_root(), names, scale, where, device_of(device))
    if as_json:
        print(json.dumps(found.as_data()))
        return
    points = plural(found.points, "point")
    print(f"{found.title} at scale {scale}: {points}, {found.done} done, {len(found.jobs)} to run")
    for reason, count in found.absent.items():
        print(f"{count} of those can't run here, and a campaign leaves them out: {reason}")
    if found.jobs:
        times = [f"{roughly(found.seconds)} of processor time"] if found.seconds or not found.gpu_memory else []
        if found.gpu_memory:
            times.append(f"{roughly(found.gpu_seconds)} of a GPU with {about_bytes(found.gpu_memory)}")
        print(
            f"{' and '.join(times)}, "
            f"up to {about_bytes(found.memory)} of memory, longest point {about_seconds(found.longest)}"
        )
        ends = dict.fromkeys(about_seconds(found.batches[place].seconds) for place in (-1, 0))
        print(f"{plural(len(found.batches), 'batch')} of {' to '.join(ends)}")
