"""Quantities as people read them: ``10 GB/s``, ``100 ns``, ``64 KB``.

Datasets hold base units (seconds, bytes, picoseconds in canonical points); this module is the only place that turns
them into text, so that a caption, an axis and a table never disagree.
"""

import math
from collections.abc import Sequence

#: Superscript digits for tables and captions (figures use mathtext).
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

#: Time units by falling size: (symbol, seconds).
TIME_UNITS: tuple[tuple[str, float], ...] = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))

_DECIMAL = (("T", 10**12), ("G", 10**9), ("M", 10**6), ("K", 10**3))
_BINARY = (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
_HERTZ = (("GHz", 10**9), ("MHz", 10**6), ("kHz", 10**3), ("Hz", 1))
_PICOSECONDS = (("s", 10**12), ("ms", 10**9), ("µs", 10**6), ("ns", 10**3), ("ps", 1))


def number(value: float, digits: int = 4) -> str:
    """Write a number with at most `digits` significant digits and groups of three above 9999.

    Parameters
    ----------
    value
        Any finite number; integers are written in full.
    digits
        Significant digits of a number that is not whole.
    """
    if not math.isfinite(value):
        return "–"
    if float(value).is_integer() and abs(value) < 1e15:
        text = f"{int(value):,}"
        return text.replace(",", "" if abs(value) < 10_000 else "\u202f")
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    return text


def size(value: int | float) -> str:
    """Write bytes as text: decimal prefixes (KB = 1000 B) where they come out round, else binary ones, else bytes."""
    if value == 0:
        return "0 B"
    for prefix, factor in _DECIMAL:
        scaled = value / factor
        if scaled >= 1 and float(f"{scaled:.3g}") == scaled:
            return f"{number(scaled)} {prefix}B"
    for prefix, factor in _BINARY:
        if value >= 10_000 and value % factor == 0:
            return f"{number(value / factor)} {prefix}B"
    return f"{number(value)} B"


def size_unit(value: float) -> tuple[str, float]:
    """Return the unit in which sizes like `value` (bytes) read best, with its bytes: ``("KB", 1e3)``."""
    return next(((f"{prefix}B", float(factor)) for prefix, factor in _DECIMAL if value >= factor), ("B", 1.0))


def bandwidth(value: int | float) -> str:
    """Write bytes per second as text, decimal prefixes (``10 GB/s``)."""
    for prefix, factor in _DECIMAL:
        if value >= factor:
            return f"{number(value / factor)} {prefix}B/s"
    return f"{number(value)} B/s"


def picoseconds(value: int | float) -> str:
    """Write a time of a canonical point (picoseconds) as text (``100 ns``)."""
    return "0 ns" if value == 0 else _scaled(value, _PICOSECONDS)


def frequency(value: int | float) -> str:
    """Write hertz as text (``2 GHz``)."""
    return _scaled(value, _HERTZ)


def _scaled(value: float, units: Sequence[tuple[str, float]]) -> str:
    for symbol, factor in units:
        if abs(value) >= factor:
            return f"{number(value / factor)} {symbol}"
    symbol, factor = units[-1]
    return f"{number(value / factor)} {symbol}"


def seconds(value: float) -> str:
    """Write a simulated time in seconds as text (``3.21 ms``)."""
    return "0 s" if value == 0 else _scaled(value, TIME_UNITS)


def duration(value: float) -> str:
    """Write a time that somebody waited, in seconds, as text (``4 min 10 s``)."""
    if not math.isfinite(value):
        return "–"
    if value < 60:
        return f"{number(value, 2 if value < 10 else 3)} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def quantity(value: object, units: str = "") -> str:
    """Write a coordinate value with the units of its dataset.

    Parameters
    ----------
    value
        A string (returned as it is) or a number in `units`.
    units
        The coordinate's ``units`` attribute: ``B/s``, ``B``, ``ps``, ``s``, ``Hz``, ``1`` or empty.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        item = getattr(value, "item", None)
        if callable(item):
            return quantity(item(), units)
        return str(value)
    known = {"B/s": bandwidth, "B": size, "byte": size, "ps": picoseconds, "s": seconds, "Hz": frequency}
    if units in known:
        return known[units](value)
    return number(value) if units in ("", "1") else f"{number(value)} {units}"


def time_unit(values: Sequence[float]) -> tuple[str, float]:
    """Return the unit in which times read best on an axis: the one that fits their geometric middle.

    Parameters
    ----------
    values
        Positive times in seconds; may be empty.

    Returns
    -------
    symbol, seconds
        E.g. ``("ms", 1e-3)``.
    """
    if not len(values):
        return TIME_UNITS[0]
    middle = math.sqrt(min(values)) * math.sqrt(max(values))
    for symbol, factor in TIME_UNITS:
        # 0.3 ms reads as well as 300 us; a tenth of the unit is where it stops to.
        if middle >= 0.3 * factor:
            return symbol, factor
    return TIME_UNITS[-1]
