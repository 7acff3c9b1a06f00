"""What was drawn, as arrays and as what is certainly there; matplotlib's own types leave more open."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from numpy.typing import NDArray


def xs(line: Line2D) -> NDArray[np.float64]:
    return np.asarray(line.get_xdata(), dtype=float)


def ys(line: Line2D) -> NDArray[np.float64]:
    return np.asarray(line.get_ydata(), dtype=float)


def legend(axes: Axes) -> Legend:
    found = axes.get_legend()
    assert found is not None
    return found


def legend_texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in legend(axes).get_texts()]


def values(mappable: Any) -> Any:
    """The array behind an image or a collection."""
    found = mappable.get_array()
    assert found is not None
    return found
