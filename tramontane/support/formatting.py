"""Numbers, times and sizes as people read them; the only place that turns them into text.

There are two styles. Figures, captions and the report group digits by narrow spaces (``390\u202f625``) and write powers
of ten: :func:`number` and what is made of it. Lines on a terminal and tables of Markdown pages group by commas
(``390,625``): :func:`count`, :func:`rounded` and what is made of them; and where nobody needs four digits they say
:func:`about_seconds` and :func:`about_bytes`. What is read back (a quantity of a YAML file) is written by
:func:`tramontane.study.values.units.format_quantity`, the exact inverse of its parser.
"""

import math
from collections.abc import Iterable, Sequence

#: Superscript digits for tables and captions (figures use mathtext).
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

#: Time units by falling size: (symbol, seconds).
TIME_UNITS: tuple[tuple[str, float], ...] = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))

_DECIMAL = (("T", 10**12), ("G", 10**9), ("M", 10**6), ("K", 10**3))
_BINARY = (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
_HERTZ = (("GHz", 10**9), ("MHz", 10**6), ("kHz", 10**3), ("Hz", 1))
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
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
    unit, factor = size_unit(value)
    return f"{number(value / factor)} {unit}/s"


def picoseconds(value: int | float) -> str:
    """Write a time of a canonical point (picoseconds) as text (``100 ns``)."""
    return "0 ns" if value == 0 else _scaled(value, _PICOSECONDS)


def frequency(value: int | float) -> str:
    """Write hertz as text (``2 GHz``)."""
    return _scaled(value, _HERTZ)


def _scaled(value: float, units: Sequence[tuple[str, float]]) -> str:
    symbol, factor = next((unit for unit in units if abs(value) >= unit[1]), units[-1])
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
    # 0.3 ms reads as well as 300 us; a tenth of the unit is where it stops to.
    return next((unit for unit in TIME_UNITS if middle >= 0.3 * unit[1]), TIME_UNITS[-1])


# --- lines on a terminal and tables of pages ---------------------------------------------------------------------


def count(value: float) -> str:
    """Write a whole number, e.g. "20,000"."""
    return f"{value:,.0f}"


def rounded(value: float) -> str:
    """Write a number with three digits, e.g. "0.0123", "12.3", "1,230"."""
    return f"{float(f'{value:.3g}'):,.10g}"


def rounded_seconds(value: float) -> str:
    """Write a simulated time in seconds with three digits and a fitting unit, e.g. "1.23 ms"."""
    symbol, factor = next((unit for unit in TIME_UNITS if value >= unit[1]), TIME_UNITS[-1])
    return f"{rounded(value / factor)} {symbol}"


def coordinate(value: object) -> str:
    """Write a value of a dataset's coordinate: a number with commas, of a fraction six digits; a text as it is."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,g}" if isinstance(value, float) else str(value)


def percent(share: float) -> str:
    """Write a share, e.g. 0.21 as "21 %"."""
    return f"{rounded(100 * share)} %"


def difference(share: float) -> str:
    """Write how far something is off, e.g. 0.21 as "+21 %"; what rounds to nothing has no sign."""
    text = f"{100 * share:+.0f}"
    return f"{text.lstrip('+-') if float(text) == 0 else text} %"


def about_seconds(value: float) -> str:
    """Write how long something takes, roughly, e.g. "40 s", "12 min", "3.5 h", "2.1 days"."""
    if value < 1:
        return "less than 1 s"
    if value < 2 * _MINUTE:
        return f"{value:.0f} s"
    if value < 2 * _HOUR:
        return f"{value / _MINUTE:.0f} min"
    if value < 2 * _DAY:
        return f"{value / _HOUR:.1f} h"
    return f"{value / _DAY:.1f} days"


def roughly(value: float) -> str:
    """Write the same with "about" before it, where that says something."""
    return f"about {about_seconds(value)}" if value >= 1 else about_seconds(value)


def about_bytes(value: float) -> str:
    """Write an amount of memory, roughly, e.g. "250 MB", "11.4 GB"."""
    if value < 1e9:
        return f"{value / 1e6:.0f} MB"
    return f"{value / 1e9:.1f} GB"


def plural(number_of: int, noun: str) -> str:
    """Return "1 point", "2 points", "2 batches", "2 processes", ..."""
    if number_of == 1:
        return f"1 {noun}"
    return f"{number_of} {noun}{'es' if noun.endswith(('ch', 's')) else 's'}"


def listed(names: Iterable[str]) -> str:
    """Return names as one text, e.g. "a, b and c"; each once."""
    *others, last = dict.fromkeys(names)
    return f"{', '.join(others)} and {last}" if others else last
