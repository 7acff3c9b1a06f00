"""A spectral model in a program: what its transpositions move, and the work of its transforms.

The grid is octahedral and the truncation cubic, as in the IFS: of N latitudes between a pole and the equator the i-th
has 4 i + 16 points, and wave numbers go to N - 1. Ranks are `sets` of latitudes (in spectral space, of wave numbers)
times sets of levels. Blocks of a transposition are the mean; the work of the Legendre transforms is that of the set of
wave numbers that has most.
"""

import functools
import math
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tramontane.study.fields import Count, Whole
from tramontane.study.messages import problem
from tramontane.study.settings import Settings
from tramontane.study.units import parse_time

GRID_FOURIER, FOURIER_SPECTRAL, SPECTRAL_COLUMNS = "grid-fourier", "fourier-spectral", "spectral-columns"
TRANSPOSES = (GRID_FOURIER, FOURIER_SPECTRAL, SPECTRAL_COLUMNS)
"""Between which two layouts a step transposes, in either direction."""
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
            most = f"at most {self.half} sets of latitudes times {self.levels} of levels"
            raise problem(f"found {self.parts}", most, key="parts")
        return self

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
        """Return the doubles that a rank sends to each other one of its set."""
        latitudes, levels = self.sets
        half = self.half
        doubles, partners = {
            GRID_FOURIER: (self.points, levels),
            FOURIER_SPECTRAL: (4 * int(waves(half).sum()), latitudes),
            SPECTRAL_COLUMNS: (half * (half + 1), levels),
        }[transposes]
        return -(-doubles * self.levels * self.fields // (self.parts * partners))

    def amount(self, of: str) -> int:
        """Return how much a rank has of what work is stated for, millionths of it for multiplications."""
        return {
            POINTS: -(-self.points * self.levels // self.parts),
            FOURIER: -(-self.points * self.levels * self.fields // self.parts),
            # real and imaginary parts; one hemisphere, of the symmetric and of the antisymmetric half each
            LEGENDRE: 2 * legendre(self.half, self.sets[0]) * -(-self.levels * self.fields // self.sets[1]),
            # a matrix of all levels for each coefficient
            SOLVE: -(-self.half * (self.half + 1) * self.levels**2 // self.parts),
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
def legendre(half: int, sets: int) -> int:
    """Return the multiplications that the set of wave numbers with most has, of a level and a field.

    Wave numbers are dealt to and fro, so that sets have as much as possible alike.
    """
    wave = np.arange(half)
    latitudes = half - np.searchsorted(waves(half), wave, side="right")
    work = latitudes * (half - wave)
    place = wave % (2 * sets)
    owner = np.where(place < sets, place, 2 * sets - 1 - place)
    return int(np.bincount(owner, weights=work, minlength=sets).max())


def on_spectral(step: dict[str, Any], model: Spectral) -> dict[str, Any]:
    """Return a step with what the model says: the blocks of a transposition, the grid of a halo, the time of work.

    Raises
    ------
    PydanticCustomError
        If a time can't be read.
    """
    step = dict(step)
    if step.get("kind") == "collective" and step.get("transposes") in TRANSPOSES:
        transposes = step.pop("transposes")
        along = LEVEL_SETS if transposes == FOURIER_SPECTRAL else LATITUDE_SETS
        return {"communicator": along, "count": model.block(transposes)} | step
    if step.get("kind") == "halo" and "grid" not in step:
        step["grid"] = [2 * model.half + 18, model.latitudes, model.levels * model.fields]
    if step.get("kind") == "work" and step.get("of") in AMOUNTS and "each" in step:
        of, each = step.pop("of"), parse_time(step.pop("each"), "each")
        scale = _MILLION if of in (LEGENDRE, SOLVE) else 1
        step["time"] = f"{max(1, parse_time(step.get('time', '0 s'), 'time') + each * model.amount(of) // scale)} ps"
    return step
