"""A spectral model in a program: what its transpositions move, and the work of its transforms.

The grid is octahedral and the truncation cubic, as in the IFS: of N latitudes between a pole and the equator the i-th
has 4 i + 16 points, and wave numbers go to N - 1. Ranks are `sets` of latitudes (in spectral space, of wave numbers)
times sets of levels. A set of latitudes is a band of them, from pole to pole, with as equal numbers of points as whole
latitudes allow. The work of the transforms and of the solve is that of the set that has most.

A block of a transposition is the mean times a weight of the set that all ranks share, one of the rank that sends and
one of the rank that gets it. That is exact but for wave numbers that latitudes near the poles do not keep: there a set
of wave numbers gets its share of those that are kept.
"""

import functools
import math
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tramontane.study.reading.messages import problem
from tramontane.study.values.fields import Count, Whole
from tramontane.study.values.settings import Settings
from tramontane.study.values.units import time_or_none

GRID_FOURIER, FOURIER_SPECTRAL, SPECTRAL_COLUMNS = "grid-fourier", "fourier-spectral", "spectral-columns"
BACK = {"fourier-grid": GRID_FOURIER, "spectral-fourier": FOURIER_SPECTRAL, "columns-spectral": SPECTRAL_COLUMNS}
"""The other way of each."""
TRANSPOSES = (GRID_FOURIER, FOURIER_SPECTRAL, SPECTRAL_COLUMNS, *BACK)
"""From which layout to which a step transposes."""
TRANSPOSED_BY = ("alltoall", "alltoallv")
"""The operations that transpose."""
SAID_BY_MODEL = ("count", "communicator", "spread", "senders", "receivers", "groups")
"""Keys of a transposition that the model says."""
POINTS, FOURIER, LEGENDRE, SOLVE = "points", "fourier", "legendre", "solve"
AMOUNTS = (POINTS, FOURIER, LEGENDRE, SOLVE)
"""What work is stated for."""
LATITUDE_SETS, LEVEL_SETS = "latitude-sets", "level-sets"
_MILLION = 10**6


class Spectral(Settings):
    """A spectral model, shared among the ranks (docs/programs.md)."""

    latitudes: Annotated[int, Whole(8, 100_000)] = Field(
        description="Latitudes of the octahedral reduced Gaussian grid from pole to pole, 2 N; wave numbers are "
        "truncated at N - 1.",
        examples=[2560],
    )
    levels: Count = Field(description="Levels.", examples=[137])
    fields: Count = Field(1, description="Fields that are transformed together.")
    parts: Count = Field(description="Ranks that share them.", examples=[1000])

    @model_validator(mode="after")
    def _shared(self) -> Self:
        if self.latitudes % 2:
            raise problem(f"found {self.latitudes}", "an even number", key="latitudes")
        if self.parts == 1:
            raise problem("found 1", "2 or more, among which something is sent", key="parts")
        if self._sets is None:
            most = f"the product of at most {self.half} sets of latitudes and at most {self.levels} of levels"
            raise problem(f"found {self.parts}", most, key="parts")
        return self

    @property
    def ranks(self) -> int:
        """Ranks that it is for."""
        return self.parts

    @property
    def half(self) -> int:
        """Latitudes of a hemisphere, as many as there are wave numbers along a latitude."""
        return self.latitudes // 2

    @property
    def points(self) -> int:
        """Points of a level."""
        return 4 * self.half * (self.half + 9)

    @property
    def _sets(self) -> tuple[int, int] | None:
        possible = [
            (self.parts // levels, levels)
            for levels in range(1, self.levels + 1)
            if self.parts % levels == 0 and self.parts // levels <= self.half
        ]
        return min(possible, key=lambda sets: abs(math.log(sets[0] / sets[1])), default=None)

    @property
    def sets(self) -> tuple[int, int]:
        """Sets of latitudes, and of levels: as many of each as possible."""
        assert self._sets is not None
        return self._sets

    def communicators(self) -> dict[str, dict[str, int]]:
        """Return the communicators of the transpositions: ranks that share latitudes, and ranks that share levels."""
        return {LATITUDE_SETS: {"consecutive": self.sets[1]}, LEVEL_SETS: {"every": self.sets[1]}}

    def block(self, transposes: str) -> int:
        """Return the doubles that a rank sends to each other one of its set, the mean of all."""
        latitudes, levels = self.sets
        half = self.half
        doubles, partners = {
            GRID_FOURIER: (self.points, levels),
            FOURIER_SPECTRAL: (4 * int(waves(half).sum()), latitudes),
            SPECTRAL_COLUMNS: (half * (half + 1), levels),
        }[BACK.get(transposes, transposes)]
        return -(-doubles * self.levels * self.fields // (self.parts * partners))

    def weights(self, transposes: str) -> dict[str, list[int]]:
        """Return by how much the blocks of a transposition differ: weights of senders, receivers and groups of ranks.

        Those that are alike are left out.
        """
        sets, _ = self.sets
        of_waves = dealt(self.half, sets)
        senders, receivers, groups = {
            GRID_FOURIER: (None, self._levels, of_bands(self.half, sets)[0]),
            FOURIER_SPECTRAL: (of_bands(self.half, sets)[1], of_waves[0], self._levels),
            SPECTRAL_COLUMNS: (self._levels, None, of_waves[1]),
        }[BACK.get(transposes, transposes)]
        if transposes in BACK:
            senders, receivers = receivers, senders
        named = {"senders": senders, "receivers": receivers, "groups": groups}
        return {name: each.tolist() for name, each in named.items() if each is not None and np.ptp(each) > 0}

    @property
    def _levels(self) -> NDArray[np.int64]:
        """Levels, times fields, of each set of them."""
        all_of_them, sets = self.levels * self.fields, self.sets[1]
        return np.full(sets, all_of_them // sets, np.int64) + (np.arange(sets) < all_of_them % sets)

    def amount(self, of: str) -> int:
        """Return how much the rank with most has of what work is stated for, or of multiplications."""
        sets, along = self.sets
        most = int(self._levels.max())
        return {
            POINTS: -(-self.points * self.levels // self.parts),
            FOURIER: int(of_bands(self.half, sets)[0].max()) * most,
            # real and imaginary parts; one hemisphere, of the symmetric and of the antisymmetric half each
            LEGENDRE: 2 * legendre(self.half, sets) * most,
            # a matrix of all levels for each coefficient
            SOLVE: -(-int(dealt(self.half, sets)[1].max()) // along) * self.levels**2,
        }[of]


@functools.lru_cache(maxsize=32)
def waves(half: int) -> NDArray[np.int64]:
    """Return how many wave numbers each latitude has, from the pole to the equator.

    As many as its points can tell, fewer towards the poles' cubic truncation: (points - 1) / (2 + cos^2 latitude),
    which is what the IFS's transforms keep on cubic grids.
    """
    along = np.arange(1, half + 1)
    colatitude = np.pi * (along - 0.25) / (2 * half + 0.5)
    kept = (4 * along + 15) / (2 + np.sin(colatitude) ** 2)
    return np.minimum(half, np.maximum.accumulate(kept.astype(np.int64)))


@functools.lru_cache(maxsize=256)
def of_bands(half: int, sets: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the points of each set of latitudes, and the wave numbers of all its latitudes.

    A latitude belongs where the middle of its points is when those of all, from pole to pole, are cut evenly.
    """
    north = np.arange(1, half + 1)
    points, kept = (np.concatenate([each, each[::-1]]) for each in (4 * north + 16, waves(half)))
    middle = 2 * np.cumsum(points) - points  # twice, so that it is a whole number
    owner = middle * sets // (2 * int(points.sum()))
    return _summed(owner, points, sets), _summed(owner, kept, sets)


@functools.lru_cache(maxsize=256)
def dealt(half: int, sets: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many wave numbers each set has, and how many coefficients, real and imaginary parts."""
    owner, coefficients = _owners(half, sets), 2 * (half - np.arange(half))
    return _summed(owner, np.ones(half, np.int64), sets), _summed(owner, coefficients, sets)


@functools.lru_cache(maxsize=256)
def legendre(half: int, sets: int) -> int:
    """Return the multiplications that the set of wave numbers with most has, of a level and a field."""
    wave = np.arange(half)
    latitudes = half - np.searchsorted(waves(half), wave, side="right")
    return int(_summed(_owners(half, sets), latitudes * (half - wave), sets).max())


def _owners(half: int, sets: int) -> NDArray[np.int64]:
    """Return the set of each wave number: they are dealt to and fro, so that sets have as much as possible alike."""
    place = np.arange(half) % (2 * sets)
    return np.where(place < sets, place, 2 * sets - 1 - place)


def _summed(owner: NDArray[np.int64], what: NDArray[np.int64], sets: int) -> NDArray[np.int64]:
    return np.bincount(owner, weights=what, minlength=sets).astype(np.int64)


def on_spectral(step: dict[str, Any], model: Spectral) -> dict[str, Any]:
    """Return a step with what the model says: the blocks of a transposition, the grid of a halo, the time of work.

    A step that can't have it stays as it is, and is refused where its own keys are checked.
    """
    kept, step = step, dict(step)
    if step.get("kind") == "collective" and step.get("transposes") in TRANSPOSES:
        if step.get("operation") not in TRANSPOSED_BY or set(SAID_BY_MODEL) & set(step):
            return kept
        transposes = step.pop("transposes")
        among = LEVEL_SETS if BACK.get(transposes, transposes) == FOURIER_SPECTRAL else LATITUDE_SETS
        sizes: dict[str, Any] = {"count": model.block(transposes)}
        if step.get("operation") == "alltoallv":
            sizes |= {"spread": "0 %"} | model.weights(transposes)
        return {"communicator": among} | sizes | step
    if step.get("kind") == "halo" and "grid" not in step:
        step["grid"] = [2 * model.half + 18, model.latitudes, model.levels * model.fields]
    if step.get("kind") == "work" and step.get("of") in AMOUNTS and "each" in step:
        of, each, time = step.pop("of"), time_or_none(step.pop("each")), time_or_none(step.get("time", "0 s"))
        if not each or time is None:
            return kept
        scale = _MILLION if of in (LEGENDRE, SOLVE) else 1
        step["time"] = f"{max(1, time + each * model.amount(of) // scale)} ps"
    return step
