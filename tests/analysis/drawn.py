"""What was drawn, as arrays and as what is certainly there; matplotlib's own types leave more open."""

from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox
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


#: Names as long as a user may write them, one with a formula.
LONG = (
    "plain, with a blocking allreduce of two numbers after the product",
    "pipelined, with the product of $A r$ while the sums of two numbers are under way",
    "without any",
)


def text_of_names(figure: Figure) -> list[Bbox]:
    """Return where names of series stand: texts of legends, and of rows."""
    figure.canvas.draw()
    legends = [found for axes in figure.axes if (found := axes.get_legend()) is not None]
    rows = [text for axes in figure.axes for text in axes.get_yticklabels()]
    texts = [*rows, *(text for found in legends for text in found.get_texts())]
    return [text.get_window_extent() for text in texts if text.get_text()]


def assert_names_have_room(figure: Figure) -> None:
    """All names of series lie inside the figure, apart from one another, and leave most of the width to the axes."""
    boxes = text_of_names(figure)
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width and box.y0 >= 0 for box in boxes)
    assert not any(one.padded(-1).overlaps(two.padded(-1)) for one, two in combinations(boxes, 2))
    assert sum(axes.bbox.width for axes in figure.axes if axes.axison) > 0.5 * figure.bbox.width


def values(mappable: Any) -> Any:
    """The array behind an image or a collection."""
    found = mappable.get_array()
    assert found is not None
    return found
