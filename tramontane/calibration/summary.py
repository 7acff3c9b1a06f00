"""What `tramontane calibrate` prints."""

from collections.abc import Iterator, Sequence

from tramontane.calibration.fit import Parameters, Stages, deviation, residuals
from tramontane.calibration.measurement import Messages
from tramontane.calibration.side_by_side import Row
from tramontane.support.formatting import difference
from tramontane.support.tables import table


def summary(measured: Messages, parameters: Parameters, allreduces: Sequence[Stages] = ()) -> Iterator[str]:
    """Yield the parameters in words, and how well they fit."""
    library, hosts = measured.printed["mpi_library"], measured.printed["hosts"]
    yield f"{library}; 2 ranks on {len(hosts)} {'host' if len(hosts) == 1 else 'hosts'}"
    yield f"latency of a link    {parameters.latency * 1e9:.3g} ns, {_one_way(parameters)}"
    yield (
        f"bandwidth            {parameters.bandwidth / 1e9:.3g} GB/s"
        f" (a window of messages: {measured.stream_bandwidth / 1e9:.3g} GB/s)"
    )
    copies = "take no time" if parameters.copies is None else f"{parameters.copies / 1e9:.3g} GB/s"
    yield f"copies in memory     {copies}"
    yield f"overheads            o_s {parameters.send * 1e9:.3g} ns, o_r {parameters.receive * 1e9:.3g} ns"
    slower = max(parameters.send, parameters.receive)
    yield f"message rate         {measured.rate / 1e6:.3g} million/s (of the fitted machine: {1e-6 / slower:.3g})"
    yield f"eager limit          {parameters.eager_limit} B"
    yield f"residuals            {100 * deviation(parameters, measured.sizes, measured.one_way):.0f} % (rms, relative)"
    for each in allreduces:
        [off] = residuals(parameters, [each.size], [each.time])
        yield f"allreduce            {each.ranks} ranks: {each.time * 1e9:.3g} ns a stage, the fit {difference(off)}"


def _one_way(parameters: Parameters) -> str:
    return f"{(parameters.send + parameters.receive + 2 * parameters.latency) * 1e9:.3g} ns one way with overheads"


def comparison(rows: Sequence[Row], processors: int) -> str:
    """Return the table of measured and simulated times."""
    cells = [
        (
            row.name,
            row.ranks,
            f"{row.measured * 1e6:.4g}",
            f"{row.median * 1e6:.4g}",
            f"{row.copying * 1e6:.3g}",
            f"{row.simulated * 1e6:.4g}",
            f"{row.ratio:.2f}",
            f"{row.ratio_without_copies:.2f}",
            "ranks share processors" if row.ranks > processors else "",
        )
        for row in rows
    ]
    head = (
        "point",
        "ranks",
        "measured us",
        "median us",
        "of it copies",
        "simulated us",
        "sim/meas",
        "without copies",
        "",
    )
    return table(head, cells, right=range(1, 8))
