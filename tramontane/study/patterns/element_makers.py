"""Grids of quadrilateral elements: a cubed sphere, who is beside whom, who owns what, and what is sent.

Elements are known by their corners only: the rows of an array of the numbers of four vertices, in order around the
element. Models of spectral or finite elements exchange what neighbours share: the points along an edge, and the point
at a vertex with those that they share no edge with.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tramontane.errors import InputError, show
from tramontane.study.patterns import pattern_makers

Integers = NDArray[np.int64]
_TABLES = {"corners": 0, "connect1": 1}
"""Tables of the corners of elements: one that counts vertices from 0, and that of Exodus files, which is HOMME's."""


@dataclass(frozen=True)
class Connections:
    """Pairs of elements that exchange something, each in both directions.

    Attributes
    ----------
    element, neighbour : ndarray
        The pair.
    edge : ndarray of bool
        Whether they share an edge; otherwise a vertex only. A pair that shares two vertices, but no edge, is there
        twice.
    elements : int
        Number of all elements.
    """

    element: Integers
    neighbour: Integers
    edge: NDArray[np.bool_]
    elements: int

    def values(self, points: int) -> Integers:
        """Return how many points are exchanged: so many along an edge, one at a vertex."""
        return np.where(self.edge, points, 1)

    def edges_only(self) -> "Connections":
        """Return those that share an edge."""
        return Connections(self.element[self.edge], self.neighbour[self.edge], self.edge[self.edge], self.elements)


def cubed_sphere(along: int) -> Integers:
    """Return the corners of the elements of a cube with so many along an edge of it, shape (6 along^2, 4).

    Elements of a face stand together, row by row. There are 12 along^2 edges and 6 along^2 + 2 vertices.
    """
    first, second = (grid.ravel() for grid in np.meshgrid(range(along), range(along), indexing="ij"))
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    places = np.stack([first, second], axis=1)[:, None, :] + square
    faces = []
    for axis in range(3):
        for side in (0, along):
            face = np.insert(places, axis, side, axis=2)
            faces.append(face @ np.array([(along + 1) ** 2, along + 1, 1]))
    _, vertices = np.unique(np.concatenate(faces), return_inverse=True)
    return np.asarray(vertices, dtype=np.int64).reshape(-1, 4)


def read_corners(path: Path) -> Integers:
    """Return the corners of elements from a ``.npz`` or ``.nc`` file: `corners`, or Exodus's `connect1` (from 1).

    Raises
    ------
    InputError
        If there are none, or not four of each.
    """
    found = pattern_makers.read_arrays(path, tuple(_TABLES))
    table = next((name for name in _TABLES if name in found), None)
    if table is None:
        raise InputError(path, "", None, "a table of four vertices of each element", problem="no table 'corners'")
    corners = pattern_makers.whole_numbers(path, table, found[table], 2) - _TABLES[table]
    if corners.shape[1] != 4 or len(corners) == 0:
        raise InputError(path, table, list(corners.shape), "[elements, 4]")
    ordered = np.sort(corners, axis=1)
    wrong = np.flatnonzero((ordered[:, 0] < 0) | (ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(wrong):
        row = int(wrong[0])
        found_there = f"found {show((corners[row] + _TABLES[table]).tolist())}"
        raise InputError(path, f"{table}, row {row + 1}", None, "four different vertices", problem=found_there)
    return corners


def connections(corners: Integers, source: str | Path) -> Connections:
    """Return which elements exchange something.

    Parameters
    ----------
    corners : ndarray, shape (elements, 4)
        Vertices around each element.
    source : str or Path
        Where they come from, for the refusal.

    Raises
    ------
    InputError
        If the grid is not closed: each edge is one of two elements.
    """
    number = len(corners)
    vertices = int(corners.max()) + 1
    ends = np.sort(np.stack([corners, np.roll(corners, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    key = ends[:, 0] * vertices + ends[:, 1]
    order = np.argsort(key, kind="stable")
    kinds, begins, owners = np.unique(key[order], return_index=True, return_counts=True)
    wrong = np.flatnonzero(owners != 2)
    if len(wrong):
        at = int(wrong[0])
        row = int(order[begins[at]]) // 4
        one, other = divmod(int(kinds[at]), vertices)
        problem = f"not closed: its edge from vertex {one} to {other} has elements on it: {int(owners[at])}"
        raise InputError(source, f"element {row + 1}", None, "2 on each edge", problem=problem)
    left, right = (order // 4).reshape(-1, 2).T
    beside = np.concatenate([left * number + right, right * number + left])
    around = _at_vertices(corners)
    ordered = np.sort(beside)  # a search among them takes a fifth of the time of numpy's isin
    across = around[ordered[np.searchsorted(ordered, around).clip(max=len(ordered) - 1)] != around]
    element, neighbour = np.divmod(np.concatenate([beside, across]), number)
    edge = np.arange(len(element)) < len(beside)
    return Connections(element, neighbour, edge, number)


def _at_vertices(corners: Integers) -> Integers:
    """Return element times number of elements plus neighbour, of all pairs that share a vertex, for each vertex."""
    number = len(corners)
    vertex = corners.ravel()
    order = np.argsort(vertex, kind="stable")
    element, degree = order // 4, np.bincount(vertex)
    begin = np.cumsum(degree) - degree
    many = degree[vertex[order]]  # of the vertex of each (vertex, element)
    at = np.repeat(begin[vertex[order]] - np.cumsum(many) + many, many) + np.arange(many.sum())
    one, other = np.repeat(element, many), element[at]
    return np.asarray((one * number + other)[one != other])


def curve(along: int, edges: Connections) -> Integers:
    """Return the elements of a cubed sphere in the order of a space-filling curve, each beside the one before.

    `edges` are its connections (`Connections.edges_only`).

    Each face has a generalised Hilbert curve for rectangles of any size (Cerveny's construction), which begins and ends
    at two corners of one side; faces follow each other where they meet. HOMME's own curves (Dennis 2003) are made of
    Hilbert's, Peano's and a five-fold one, and serve 2^n 3^m 5^p elements along an edge.
    """
    cells = np.array([(int(cell.real), int(cell.imag)) for cell in _walk(0, along, along * 1j)])
    last = along - 1
    turned = [cells, cells * [-1, 1] + [last, 0], cells * [1, -1] + [0, last], last - cells]
    walks = [turn[:, order] @ [along, 1] for turn in turned for order in ([0, 1], [1, 0])]
    ways = [[along**2 * face + walk for walk in walks] for face in range(6)]
    beside = set(zip(edges.element.tolist(), edges.neighbour.tolist(), strict=True))
    return np.concatenate(next(_chains(ways, beside, [])))


def _chains(ways: list[list[Integers]], beside: set[tuple[int, int]], so_far: list[int]) -> Iterator[list[Integers]]:
    """Yield one way through each face, in an order in which each begins beside the end of the one before.

    `so_far` has the numbers of faces that are done, and the way through each: face, way, face, way, ...
    """
    if len(so_far) == 2 * len(ways):
        yield [ways[face][way] for face, way in zip(so_far[::2], so_far[1::2], strict=True)]
        return
    end = int(ways[so_far[-2]][so_far[-1]][-1]) if so_far else None
    for face in set(range(len(ways))) - set(so_far[::2]):
        for number, way in enumerate(ways[face]):
            if end is None or (end, int(way[0])) in beside:
                yield from _chains(ways, beside, [*so_far, face, number])


def _walk(at: complex, along: complex, across: complex) -> Iterator[complex]:
    """Yield the cells of a rectangle, each beside the one before, from a corner to the other end of side `along`.

    Both are multiples of 1 or of 1j, which say where the sides lead. A rectangle that is long is cut in two; others
    into a part that goes up, one that goes along and one that comes down.
    """
    length, height = round(abs(along)), round(abs(across))
    right, up = along / length, across / height
    if height == 1 or length == 1:
        yield from (at + step * (right if height == 1 else up) for step in range(max(length, height)))
        return
    long = 2 * length > 3 * height
    near = length // 2
    over = height // 2
    near += long and near % 2 == 1 and length > 2
    over += not long and over % 2 == 1 and height > 2
    if long:
        yield from _walk(at, right * near, across)
        yield from _walk(at + right * near, right * (length - near), across)
        return
    yield from _walk(at, up * over, right * near)
    yield from _walk(at + up * over, along, up * (height - over))
    yield from _walk(at + right * (length - 1) + up * (over - 1), -up * over, -right * (length - near))


def even_parts(order: Integers, parts: int) -> Integers:
    """Return the part of each element: consecutive ones in an order, the first parts one longer where it is not even.

    So many are in each part as in the blocks of a grid (``skeleton-src/blocks.hpp``).
    """
    part = np.empty_like(order)
    part[order] = np.repeat(np.arange(parts), sizes(len(order), parts))
    return part


def sizes(elements: int, parts: int) -> Integers:
    """Return how many elements each part has where they are shared evenly."""
    return np.asarray(elements // parts + (np.arange(parts) < elements % parts), dtype=np.int64)


def metis(found: Connections, parts: int) -> Integers:
    """Return the part of each element, of METIS; some may be empty where there are nearly as many parts as elements."""
    edges = found.edges_only()
    order = np.lexsort((edges.neighbour, edges.element))
    pairs = edges.element[order], edges.neighbour[order]
    return pattern_makers.partition(found.elements, pairs, parts, seed=1)


def check_parts(part: Integers, parts: int, source: str | Path) -> None:
    """Refuse a partition with an empty part (InputError)."""
    empty = np.flatnonzero(np.bincount(part, minlength=parts) == 0)
    if len(empty):
        problem = f"no element in part {int(empty[0])}" + (f" and {len(empty) - 1} others" if len(empty) > 1 else "")
        raise InputError(source, "", None, f"an element or more in each of {parts} parts", problem=problem)


def messages(found: Connections, part: Integers, points: int, size: int, key: str = "--bytes") -> dict[str, Integers]:
    """Return what the owners of elements send each other, everything for a neighbour in one message.

    Parameters
    ----------
    found : Connections
        Which elements exchange something.
    part : ndarray, shape (elements,)
        Who owns each element.
    points : int
        Points along an edge.
    size : int
        Bytes of a point: levels, fields, 8 B each.
    key : str
        What says how many they are, for the refusal of too many (InputError).

    Returns
    -------
    dict of ndarray
        `source`, `target`, `bytes`; sorted by source, then by target.
    """
    source, target = part[found.element], part[found.neighbour]
    parts = int(part.max()) + 1
    between = source != target
    link, which = np.unique(source[between] * parts + target[between], return_inverse=True)
    values = np.bincount(which, weights=found.values(points)[between]).astype(np.int64)
    return {"source": link // parts, "target": link % parts, "bytes": pattern_makers.sized(values, size, key)}


def inside(found: Connections, part: Integers, points: int, size: int) -> Integers:
    """Return how many bytes each part exchanges between elements of its own, those of both directions."""
    own = part[found.element] == part[found.neighbour]
    values = np.bincount(part[found.element[own]], weights=found.values(points)[own], minlength=int(part.max()) + 1)
    return values.astype(np.int64) * size
