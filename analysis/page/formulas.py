"""Names with formulas between two ``$``, as figures have them: in tables drawn like there, in plots as plain text."""

import re

import numpy as np
from markupsafe import Markup, escape

from analysis import style

_FORMULA = re.compile(r"(?<!\\)\$((?:\\.|[^$\\])+)\$")
#: Size of the font that paths are made for; on the page they are as large as the text.
_SIZE = 10.0
#: What a path does at each code of matplotlib's: move, line, curves, close.
_COMMANDS = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}


def plain(text: str) -> str:
    """Return a name without the signs that make formulas of parts of it."""
    return _FORMULA.sub(r"\1", text).replace(r"\$", "$")


def drawn(text: str) -> Markup:
    """Return a name for a page, its formulas drawn as in figures."""
    found, at = Markup(), 0
    for formula in _FORMULA.finditer(text):
        found += escape(plain(text[at : formula.start()])) + _drawn(formula[0])
        at = formula.end()
    return found + escape(plain(text[at:]))


def _drawn(formula: str) -> Markup:
    from matplotlib.textpath import TextPath  # noqa: PLC0415 - slow to import, and seldom needed

    with style.context():
        path = TextPath((0, 0), formula, size=_SIZE)
    steps = []
    for vertices, code in path.iter_segments(simplify=False):
        places = [] if code == path.CLOSEPOLY else np.asarray(vertices).tolist()
        steps.append(_COMMANDS[int(code)] + " ".join(f"{-y if at % 2 else y:.2f}" for at, y in enumerate(places)))
    box = path.get_extents().padded(0.2)
    look = f"height:{box.height / _SIZE:.3f}em; width:{box.width / _SIZE:.3f}em; vertical-align:{box.y0 / _SIZE:.3f}em"
    seen = f"{box.x0:.2f} {-box.y1:.2f} {box.width:.2f} {box.height:.2f}"
    return Markup(
        '<svg class="formula" role="img" aria-label="{}" style="{}" viewBox="{}">'
        '<path d="{}" fill="currentColor"/></svg>'
    ).format(plain(formula), look, seen, "".join(steps))
