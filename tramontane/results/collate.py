"""Makes one dataset of an experiment's records: dimensions are what was swept, variables what came out."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from tramontane import __version__
from tramontane.results.datasets import RECORDS, write
from tramontane.results.manifest import Manifest, identities, manifest, read
from tramontane.results.published import MARK
from tramontane.results.revisions import CURRENT, REVISION, counts_as, tally
from tramontane.results.store import Store
from tramontane.results.timeline import CAUSES
from tramontane.study import Expansion, Experiment
from tramontane.study.experiments.experiments import DRAW
from tramontane.study.values.quantities import (
    JOBS,
    LINKS,
    OPTIONAL,
    PHASE_TIME,
    QUANTITIES,
    SINGLE_LINK_NAMES,
    SINGLE_LINKS,
    STEPS,
    WAITING_TIME,
    Quantity,
)
from tramontane.study.values.units import dimension_of, in_base_units
from tramontane.support.layout import root_of

_DELAY_PACKETS = Quantity("delay_packets", "1", "Packets by their queueing delay")
_DELAY_TOTALS = {
    "sum_s": Quantity("delay_sum", "s", "Queueing delay of all packets", "actual minus unloaded time of the same path"),
    "max_s": Quantity("delay_max", "s", "Largest queueing delay of a packet"),
}
_DELAY_BOUNDS = {
    "lower_s": Quantity("delay_lower", "s", "Smallest queueing delay of the bin"),
    "upper_s": Quantity("delay_upper", "s", "Bound of the queueing delays of the bin"),
}

_BINS = "rank r is in bin floor(r * bins / ranks), with as many bins as were asked for, but no more than ranks"
_CONGESTION = (
    Quantity("congestion_packets", "1", "Packets from source to destination processes", _BINS),
    Quantity("congestion_sum", "s", "Queueing delay of all packets from source to destination processes", _BINS),
    Quantity("congestion_max", "s", "Largest queueing delay from source to destination processes", _BINS),
    Quantity("congestion_mean", "s", "Mean queueing delay from source to destination processes", _BINS),
)

#: What dimensions are called on axes and in tables; others are called as in the experiment.
_COORDINATES = {
    "ranks": ("processes", "1"),
    "radix": ("radix", "1"),
    "width": ("halo width", "1"),
    "packet": ("packet size", ""),
    "buffer": ("buffer size", ""),
}


def collate(experiment: Experiment, expansion: Expansion, store: Store) -> xr.Dataset:
    """Return the dataset of `experiment` at the scale of its expansion; see `collate_manifest`."""
    return collate_manifest(manifest(experiment, expansion), store)


def collate_manifest(data: Manifest, store: Store) -> xr.Dataset:
    """Return the dataset of the experiment that `data` describes.

    Parameters
    ----------
    data : dict
        A manifest.
    store : Store
        Where the records are; points without one are marked as missing.

    Returns
    -------
    xarray.Dataset
        Over the swept parameters in order of declaration: the `QUANTITIES` as float64 (NaN where there is no result),
        ``id``, ``status`` (ok, failed, missing or excluded) and, over ``phase`` too, ``phase_time_s``. Where records
        have them: ``step_time_s``, ``step_work_s`` and ``step_busy_s`` over ``step``; ``link_packets``, ``link_bytes``,
        ``link_load``, ``_used_load``, ``_max_load``, ``_busy_s`` and ``link_peak_queue`` over ``link``;
        ``single_link_name``, ``_class``, ``_load``, ``_peak_queue``, ``_switch`` and ``_port`` over ``single_link``,
        the busiest first; ``waiting_s`` over ``cause`` and ``rank_bin``; ``best_radix``;
        ``repeats_simulated``, ``repeats_left_out`` and ``steady_error``; ``delay_sum``,
        ``delay_max`` and, over ``delay_bin``, ``delay_packets``; and over ``source_bin`` and ``destination_bin``
        ``congestion_packets``, ``_sum``, ``_max`` and ``_mean``. Over ``draw``, where there are draws, the coordinates
        ``drawn_...``: what was drawn of each parameter. The same manifest and records give the same dataset.
    """
    dims = {dim["name"]: dim["values"] for dim in data["dims"]}
    # Before they are read: what changes meanwhile makes this dataset an old one.
    records = store.digest(identities(data))
    rows = [_row(point, store, data.get(REVISION)) for point in data["points"]]
    places = [_place(point["coords"], dims) for point in data["points"]]
    dataset = _dataset(dims, rows, places).assign_coords(_drawn(data.get("drawn", {})))
    substrates = sorted({row.substrate for row in rows if row.substrate})
    attributes = _global_attributes(data, [row.provenance for row in rows if row.provenance])
    revisions = list(tally(dataset))
    stated = revisions[0] if len(revisions) == 1 else " and ".join(map(str, revisions))
    return dataset.assign_attrs(
        attributes | {"simulator_revision": stated, "substrates": ", ".join(substrates), RECORDS: records}
    )


def collate_file(planned: Path, path: Path) -> xr.Dataset:
    """Make the dataset of a manifest's file, write it, and return it (InputError, UnwritableError)."""
    dataset = collate_manifest(read(planned), Store(root_of(planned)))
    write(dataset, path)
    return dataset


def single(result: Mapping[str, Any]) -> xr.Dataset:
    """Return the result of one point as a dataset: the variables of `collate_manifest`, without swept dimensions.

    Parameters
    ----------
    result : mapping
        What a substrate has returned, with the point's ``id``.
    """
    row = _row_of(str(result["id"]), result, result.get("congestion") or {}, {})
    return _dataset({}, [row], [()]).assign_attrs({"substrate": row.substrate})


def _dataset(dims: dict[str, list[Any]], rows: list["_Row"], places: list[tuple[int, ...]]) -> xr.Dataset:
    phases = list(dict.fromkeys(name for row in rows for name in row.phases))
    shape = tuple(len(values) for values in dims.values())

    there = {name for row in rows for name in row.numbers}
    quantities = (*QUANTITIES, *(quantity for quantity in OPTIONAL if quantity.name in there))
    numbers = {quantity.name: np.full(shape, np.nan) for quantity in quantities}
    texts = {"id": np.full(shape, "", dtype=object), "status": np.full(shape, "excluded", dtype=object)}
    phase_times = np.full((*shape, len(phases)), np.nan)
    for row, place in zip(rows, places, strict=True):
        texts["id"][place], texts["status"][place] = row.identity, row.status
        for name, value in row.numbers.items():
            numbers[name][place] = value
        for name, value in row.phases.items():
            phase_times[(*place, phases.index(name))] = value

    dataset = xr.Dataset(coords={name: _coordinate(name, values) for name, values in dims.items()})
    for quantity in quantities:
        dataset[quantity.name] = (tuple(dims), numbers[quantity.name], _attributes(quantity))
    for name, text in (("id", "Identity of the point"), ("status", "What became of the point")):
        dataset[name] = (tuple(dims), texts[name].astype(str), {"long_name": text})
    if phases:
        dataset = dataset.assign_coords(phase=_coordinate("phase", phases))
        dataset[PHASE_TIME.name] = ((*dims, "phase"), phase_times, _attributes(PHASE_TIME))
    for of in (_parts, _single_links, _waiting, _delays, _congestion):
        dataset = dataset.assign(of(dims, rows, places))
    return dataset


_PARTS = {"step": STEPS, "job": JOBS, "link": LINKS}
"""What a point may have several of, each with a name."""


class _Row(NamedTuple):
    identity: str
    status: str
    numbers: dict[str, float] = {}  # noqa: RUF012 (never written to)
    phases: dict[str, float] = {}  # noqa: RUF012
    parts: dict[str, dict[str, dict[str, float]]] = {}  # noqa: RUF012
    single_links: list[dict[str, Any]] = []  # noqa: RUF012
    waiting: dict[str, list[float]] = {}  # noqa: RUF012
    delays: dict[str, Any] = {}  # noqa: RUF012
    congestion: dict[str, Any] = {}  # noqa: RUF012
    provenance: dict[str, Any] = {}  # noqa: RUF012
    substrate: str = ""


def _row(point: dict[str, Any], store: Store, newest: int | None) -> _Row:
    """Return what the store knows of one point of a manifest; `newest` is the newest revision of the model."""
    if point.get("excluded"):
        return _Row("", "excluded")
    identity = point["id"]
    if store.has_failed(identity):
        return _Row(identity, "failed", provenance=store.read_failure(identity)["provenance"])
    if not store.has(identity):
        return _Row(identity, "missing")
    record = store.read(identity)
    result = dict(record["result"])
    if (known := result.get(REVISION)) is not None:
        result[REVISION] = counts_as(known, point.get("changed"), newest)
    return _row_of(identity, result, store.read_congestion(identity) or {}, record["provenance"])


def _row_of(identity: str, result: Mapping[str, Any], congestion: dict[str, Any], provenance: dict[str, Any]) -> _Row:
    names = [quantity.name for quantity in (*QUANTITIES, *OPTIONAL)]
    known = {name: result[name] for name in names if result.get(name) is not None}
    return _Row(
        identity,
        "ok",
        known,
        result.get("phases", {}),
        {
            part: {
                each["name"]: {key: each[key] for key in known if key in each} for each in result.get(f"{part}s", ())
            }
            for part, known in _PARTS.items()
        },
        sorted(result.get("single_links", ()), key=lambda link: -link["load"]),
        result.get("waiting", {}),
        result.get("delays", {}),
        congestion,
        provenance,
        str(result.get("substrate", "")),
    )


def _parts(dims: Mapping[str, list[Any]], rows: list[_Row], places: list[tuple[int, ...]]) -> xr.Dataset:
    """Return what is known of steps, jobs and classes of links; those that a point has not are NaN.

    What no record has is left out, such as the load of the busiest link where single links are not told.
    """
    dataset = xr.Dataset()
    for part, known in _PARTS.items():
        names = list(dict.fromkeys(name for row in rows for name in row.parts.get(part, {})))
        if not names:
            continue
        values = {key: np.full((*(len(each) for each in dims.values()), len(names)), np.nan) for key in known}
        for row, place in zip(rows, places, strict=True):
            for name, numbers in row.parts.get(part, {}).items():
                for key, value in numbers.items():
                    values[key][(*place, names.index(name))] = value
        dataset = dataset.assign_coords({part: _coordinate(part, names)}).assign(
            {
                quantity.name: ((*dims, part), values[key], _attributes(quantity))
                for key, quantity in known.items()
                if not np.isnan(values[key]).all()
            }
        )
    return dataset


def _single_links(dims: Mapping[str, list[Any]], rows: list[_Row], places: list[tuple[int, ...]]) -> xr.Dataset:
    """Return the links that records tell one by one, the busiest first; where there are fewer, names are empty."""
    most = max((len(row.single_links) for row in rows), default=0)
    if most == 0:
        return xr.Dataset()
    shape = (*(len(values) for values in dims.values()), most)
    texts = {key: np.full(shape, "", dtype=object) for key in SINGLE_LINK_NAMES}
    numbers = {key: np.full(shape, np.nan) for key in SINGLE_LINKS}
    for row, place in zip(rows, places, strict=True):
        for number, link in enumerate(row.single_links):
            for values in (texts, numbers):
                for key, of_key in values.items():
                    of_key[(*place, number)] = link.get(key, np.nan)
    over = (*dims, "single_link")
    return xr.Dataset(
        {
            f"single_link_{key}": (over, texts[key].astype(str), {"long_name": words})
            for key, words in SINGLE_LINK_NAMES.items()
        }
        | {quantity.name: (over, numbers[key], _attributes(quantity)) for key, quantity in SINGLE_LINKS.items()}
    )


def _waiting(dims: Mapping[str, list[Any]], rows: list[_Row], places: list[tuple[int, ...]]) -> xr.Dataset:
    """Return how long ranks waited by cause, in bins of ranks; records with fewer bins end in NaN.

    Records have the storage where a rank waited for it; where none has, it is left out.
    """
    bins = max((len(times) for row in rows for times in row.waiting.values()), default=0)
    if bins == 0:
        return xr.Dataset()
    causes = {cause: words for cause, words in CAUSES.items() if any(f"{cause}_s" in row.waiting for row in rows)}
    values = np.full((*(len(each) for each in dims.values()), len(causes), bins), np.nan)
    for row, place in zip(rows, places, strict=True):
        own = len(next(iter(row.waiting.values()), []))
        for number, cause in enumerate(causes):
            values[(*place, number)][:own] = row.waiting.get(f"{cause}_s", 0)
    return xr.Dataset(
        {WAITING_TIME.name: ((*dims, "cause", "rank_bin"), values, _attributes(WAITING_TIME))},
        {"cause": _coordinate("cause", list(causes.values()))},
    )


def _delays(dims: Mapping[str, list[Any]], rows: list[_Row], places: list[tuple[int, ...]]) -> xr.Dataset:
    """Return the histograms of delays that the records have; all have the same bins."""
    shape = tuple(len(values) for values in dims.values())
    bounds = next((row.delays for row in rows if row.delays), None)
    if bounds is None:
        return xr.Dataset()
    packets = np.full((*shape, len(bounds["packets"])), np.nan)
    totals = {key: np.full(shape, np.nan) for key in _DELAY_TOTALS}
    for row, place in zip(rows, places, strict=True):
        if row.delays:
            packets[place] = row.delays["packets"]
            for key, total in totals.items():
                total[place] = row.delays[key]
    dataset = xr.Dataset(
        coords={
            quantity.name: ("delay_bin", np.asarray(bounds[key]), _attributes(quantity))
            for key, quantity in _DELAY_BOUNDS.items()
        }
    )
    dataset[_DELAY_PACKETS.name] = ((*dims, "delay_bin"), packets, _attributes(_DELAY_PACKETS))
    for key, quantity in _DELAY_TOTALS.items():
        dataset[quantity.name] = (tuple(dims), totals[key], _attributes(quantity))
    return dataset


def _congestion(dims: Mapping[str, list[Any]], rows: list[_Row], places: list[tuple[int, ...]]) -> xr.Dataset:
    """Return the congestion matrices that the records have; those with fewer bins end in NaN."""
    bins = max((row.congestion["bins"] for row in rows if row.congestion), default=0)
    if bins == 0:
        return xr.Dataset()
    shape = (*(len(values) for values in dims.values()), bins, bins)
    packets, total, largest = (np.full(shape, np.nan) for _ in range(3))
    for row, place in zip(rows, places, strict=True):
        if row.congestion:
            own = slice(row.congestion["bins"])
            packets[place][own, own] = row.congestion["packets"]
            total[place][own, own] = row.congestion["sum_s"]
            largest[place][own, own] = row.congestion["max_s"]
    mean = np.divide(total, packets, out=np.full(shape, np.nan), where=packets > 0)
    names = (*dims, "source_bin", "destination_bin")
    return xr.Dataset(
        {
            quantity.name: (names, values, _attributes(quantity))
            for quantity, values in zip(_CONGESTION, (packets, total, largest, mean), strict=True)
        }
    )


def _place(coords: dict[str, Any], dims: dict[str, list[Any]]) -> tuple[int, ...]:
    """Return the position of a point in the arrays."""
    return tuple(values.index(coords[name]) for name, values in dims.items())


def _coordinate(name: str, values: list[Any]) -> tuple[str, Any, dict[str, str]]:
    long_name, units = _COORDINATES.get(name, (name.replace("_", " "), ""))
    attributes = {"long_name": long_name, **({"units": units} if units else {})}
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return name, np.asarray(values), attributes
    return name, np.asarray([str(value) for value in values], dtype=str), attributes


def _drawn(drawn: Mapping[str, list[Any]]) -> dict[str, tuple[str, Any, dict[str, str]]]:
    """Return coordinates of the draws: the values of each parameter, quantities in base units."""
    found = {}
    for name, values in drawn.items():
        _, array, attributes = _coordinate(name, [in_base_units(value) for value in values])
        unit = dimension_of(values[0])
        if unit is not None and array.dtype.kind in "if":
            attributes["units"] = unit.base
        found[f"drawn_{name.replace('.', '_')}"] = (DRAW, array, attributes)
    return found


def _attributes(quantity: Quantity) -> dict[str, str]:
    note = {"comment": quantity.note} if quantity.note else {}
    return {"long_name": quantity.long_name, "units": quantity.units, **note}


def _global_attributes(data: Manifest, provenances: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the dataset says about itself; nothing in it but the records decides its time of creation."""
    paper = data.get("paper") or {}
    base = data["base"]
    machines = data["machines"]
    name, machine = next(iter(machines.items())) if len(machines) == 1 else ("", base.get("machine", {}))
    return {
        "Conventions": "CF-1.11",
        "title": data.get("title", data["name"]),
        "question": data.get("question", ""),
        "description": data.get("description", ""),
        "experiment": data["name"],
        "scale": data["scale"],
        "paper_figure": str(paper.get("figure", "")),
        "paper_doi": str(paper.get("doi", "")),
        "references": ", ".join(data.get("references", [])),
        "source": f"Tramontane {__version__}",
        **({CURRENT: data[REVISION]} if REVISION in data else {}),
        "git_commit": ", ".join(sorted({_commit(known) for known in provenances})),
        **{
            name: ", ".join(sorted({str(known[name]) for known in provenances if known.get(name)}))
            for name in ("compiler", "built_by", "system", "processor")
        },
        "created": max((known["created"] for known in provenances), default=""),
        "published": str(sum(known.get(MARK, False) for known in provenances) or ""),
        "base_json": _text(base),
        "machine_json": _text({**({"name": name} if name else {}), **machine}),
        "machines_json": _text(machines),
        "grids_json": _text(data["grids"]),
        "figure_json": _text(data["figure"]),
        **({"printed_json": _text(data["printed"])} if "printed" in data else {}),
    }


def _commit(known: dict[str, Any]) -> str:
    return f"{known['git_commit']}{'-dirty' if known.get('git_dirty') else ''}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
