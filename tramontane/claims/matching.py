"""Which of the drawn machines agrees best with a paper: all statements at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tramontane.claims.draws import Tried
from tramontane.study.sampling.sampling import Parameter

Floats = NDArray[np.float64]

_ANOTHER = 0.5
"""What another choice adds to a distance: half a range, so that no kind of parameter outweighs the others."""


@dataclass(frozen=True)
class Match:
    """A machine with what holds on it.

    Attributes
    ----------
    draw : int
        Its number; -1 for the project's own machine.
    holds : tuple of str
        Statements of which all decided checks hold.
    violated : tuple of str
        Those of which one does not.
    checks : float
        Share of a statement's decided checks that hold, in the mean of the statements.
    distance : float
        From the project's own machine; 1 is the whole range of one parameter.
    """

    draw: int
    holds: tuple[str, ...]
    violated: tuple[str, ...]
    checks: float
    distance: float


def matches(found: Sequence[Tried], places: Floats, parameters: Mapping[str, Parameter]) -> list[Match]:
    """Return the machines of which all statements could be decided, the best first.

    Best is that on which most statements hold; of equal ones that of most checks, then the nearest to the project's
    own machine, so that nothing is changed without need.

    Parameters
    ----------
    found : sequence of Tried
        Statements with their margins; those that no machine decides say nothing here.
    places : array
        Where the machines lie, of shape (machines, parameters), between 0 and 1.
    parameters : mapping
        The parameters by name, with what the project's own machine has (`base`).
    """
    asked = [own for own in found if own.there.any()]
    if not asked:
        return []
    held = np.array([own.held for own in asked])
    distance = from_base(places, parameters)
    whole = np.flatnonzero(np.isfinite(held).all(axis=0))
    return _best_first(_match(int(draw), asked, held[:, draw], float(distance[draw])) for draw in whole)


def own_match(found: Sequence[Tried]) -> Match | None:
    """Return what holds on the project's own machine; None if not all statements could be decided on it."""
    asked = [own for own in found if own.there.any()]
    held = np.array([own.base_held for own in asked])
    return _match(-1, asked, held, 0.0) if asked and np.isfinite(held).all() else None


def centres(found: Sequence[Tried], places: Floats, parameters: Mapping[str, Parameter], most: int) -> Floats:
    """Return where the best machines lie, the best one first, of shape (machines, parameters).

    The project's own machine is ranked with the drawn ones, if it is decided whole: where it fits as well as they do, a
    better one may lie beside it, too. Empty before a drawn machine is decided whole. Parameters as in `matches`.
    """
    drawn, ours = matches(found, places, parameters), own_match(found)
    if not drawn:
        return places[:0]
    best = _best_first([*drawn, *([ours] if ours else [])])[:most]
    base = base_place(parameters)
    return np.array([base if own is ours else places[own.draw] for own in best])


def base_place(parameters: Mapping[str, Parameter]) -> Floats:
    """Return where the project's own machine lies, each parameter between 0 and 1."""
    return np.array([each.place(getattr(each, "base", None)) or 0.0 for each in parameters.values()])


def from_base(places: Floats, parameters: Mapping[str, Parameter]) -> Floats:
    """Return how far machines lie from the project's own one; 1 is the whole range of one parameter."""
    distances: Floats = np.linalg.norm(differences(places, parameters), axis=1)
    return distances


def differences(places: Floats, parameters: Mapping[str, Parameter]) -> Floats:
    """Return by how much of its range each parameter differs from the project's own machine, of the shape of `places`.

    Choices have no order: all others are equally far, wherever a place lies in its part.
    """
    differs = np.empty(places.shape)
    for column, each in enumerate(parameters.values()):
        values, own = taken(each, places[:, column]), taken(each, base_place(parameters)[[column]])
        differs[:, column] = _ANOTHER * (values != own) if each.choice is not None else np.abs(values - own)
    return differs


def taken(parameter: Parameter, places: Floats) -> Floats:
    """Return where the values lie that a parameter has at these places: those of choices and whole numbers are few."""
    values = [parameter.place(parameter.value(float(at))) for at in places]
    # The end of a range of ratios may be missed by a rounding.
    return np.array([at if value is None else value for at, value in zip(places.tolist(), values, strict=True)])


def _best_first(found: Iterable[Match]) -> list[Match]:
    return sorted(found, key=lambda own: (-len(own.holds), -own.checks, own.distance, own.draw))


def _match(draw: int, asked: Sequence[Tried], held: Floats, distance: float) -> Match:
    names = [own.claim for own in asked]
    holds = tuple(name for name, share in zip(names, held, strict=True) if share == 1)
    return Match(draw, holds, tuple(name for name in names if name not in holds), float(held.mean()), distance)
