"""The fitted machine as a file, which `tramontane run` and experiments take like any other."""

from typing import Any

from tramontane.calibration.collectives.fitting import Fit
from tramontane.calibration.collectives.points import EJECTION, GLOBAL, TOLD, rate, whole
from tramontane.calibration.machine_file import quantity
from tramontane.study.values.units import BANDWIDTH, SIZE, TIME, format_quantity

_NAMES = {
    "send": "send overhead",
    "receive": "receive overhead",
    "injection": "injection latency",
    "global": "latency of a global link",
    "injection_byte": "injection",
    "link_byte": "links",
    "copy_byte": "copies of eager messages",
}


def settings(found: Fit, base: dict[str, Any], eager_limit: int) -> dict[str, Any]:
    """Return the keys of a machine file: those of the fitted machine's, and what messages cost without other work.

    A machine with a network can't be extended, so that the network is written again.
    """
    by_name = {own.name: float(value) for own, value in zip(found.known, found.values, strict=True)}
    cost = {key: by_name[name] for key, name in _NAMES.items() if name in by_name}
    interface = quantity(rate(cost["injection_byte"]), BANDWIDTH)
    classes: dict[str, Any] = {EJECTION: {"bandwidth": interface}}
    if "global" in cost:
        classes[GLOBAL] = {"latency": quantity(whole(cost["global"]), TIME)}
    limit = format_quantity(eager_limit, SIZE)
    fitted: dict[str, Any] = {
        "link": {"bandwidth": quantity(rate(cost["link_byte"]), BANDWIDTH), "classes": classes},
        "injection": {"bandwidth": interface, "latency": quantity(whole(cost["injection"]), TIME)},
        "memory": {"bandwidth": quantity(rate(cost["copy_byte"]), BANDWIDTH)},
        # Copies take what `memory` says, and nothing for the instructions.
        "processor": {"frequency": "1000 GHz"},
        "overhead": {key: quantity(whole(cost[key]), TIME) for key in ("send", "receive")},
        "protocol": {"eager_limit": limit, "short_limit": limit},
    }
    return _merged({key: value for key, value in base.items() if key not in TOLD}, fitted)


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return `base` with the values of `over` in their places, block by block."""
    found = dict(base)
    for key, value in over.items():
        before = found.get(key)
        found[key] = _merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return found


def remarks(found: Fit) -> str:
    """Return lines of comment: the costs that no key of a machine can state for one operation and not for another."""
    work = [
        f"#   {own.name}: {value:.3g} {own.unit}"
        for own, value, slopes in zip(found.known, found.values, found.slopes.T, strict=True)
        if own.name.startswith(("reducing", "packing")) and slopes.any()
    ]
    head = (
        "# Points that reduce or pack cost more, e.g. by `unpack.per_byte` and `overhead.send` (docs/calibration.md):"
    )
    return "\n".join([head, *work]) + "\n"
