"""The typed descriptions of what is communicated: transposition, halo exchange and allreduce."""

from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from tramontane.study import decomposition as blocks
from tramontane.study.fields import Choice, Count, WholeList, WholeOrWord
from tramontane.study.messages import problem
from tramontane.study.settings import Settings

DOUBLE = 8
"""Bytes of one grid-point value; the paper's fields are in double precision."""
TRANSPOSITION_ALGORITHMS = ("ring-k", "burst", "bruck", "pairwise", "sliding-window")
BRUCK_RADIX = 2
"""Left out of the canonical form, as it was before there were others."""
REMAINDERS = ("paper", "adjacent")
ALLREDUCE_ALGORITHMS = ("recursive-k", "recursive-doubling", "ring", "rabenseifner")
OPTIMAL = "optimal"
RADICES = (2, 32)
"""Range in which the best radix is searched (Zheng & Marguinaud 2018, section 4.4)."""
LIBRARY_ALGORITHMS = ("library", "library-nonblocking", "library-persistent")
"""The MPI library's own operation, in its three forms; only where a workload runs with an MPI library."""

GRID = WholeList(("nx", "ny", "nz"), instead="the name of a grid in configs/workloads/grids.yaml")
Grid = Annotated[tuple[int, int, int], GRID]
Decomposition = Annotated[tuple[int, int], WholeList(("cx", "cy"))]
HaloDecomposition = Annotated[tuple[int, int] | Literal["bisection"], WholeList(("cx", "cy"), word=blocks.BISECTION)]


class Transposition(Settings):
    """The transposition of the spectral transform method (Zheng & Marguinaud 2018, section 3.1)."""

    kind: Literal["transposition"] = Field(description="Kind of workload.")
    algorithm: Annotated[str, Choice((*TRANSPOSITION_ALGORITHMS, *LIBRARY_ALGORITHMS))] = Field(
        description="All-to-all algorithm: one of " + ", ".join(TRANSPOSITION_ALGORITHMS) + "; with an MPI library, "
        "MPI_Alltoallv as " + ", ".join(LIBRARY_ALGORITHMS) + "."
    )
    radix: Count | None = Field(
        None,
        description="k of ring-k: partners served at once; of sliding-window: sends under way at once; of bruck: base "
        "of the digits by which blocks travel, by default 2. Only for these.",
    )
    grid: Grid = Field(description="Grid points [nx, ny, nz].", examples=[[1440, 720, 64], "paper"])
    decomposition: Decomposition | None = Field(
        None,
        description="Processes [cx, cy] in x and y. Default: nearest to a square with cx <= nx, ny, nz "
        "and cy <= ny, nx.",
        examples=[[16, 16]],
    )

    @model_validator(mode="after")
    def _radix(self) -> Self:
        if self.algorithm == "bruck":
            if self.radix == 1:
                raise problem("found 1", "a whole number, 2 or more", key="radix")
            self._fill(radix=None if self.radix == BRUCK_RADIX else self.radix)
        else:
            check_radix(self.algorithm, ("ring-k", "sliding-window"), self.radix, optional=("bruck",))
        return self


class Halo(Settings):
    """The wide halo exchange of the semi-Lagrangian method (Zheng & Marguinaud 2018, section 3.2)."""

    kind: Literal["halo"] = Field(description="Kind of workload.")
    algorithm: Annotated[str, Choice(LIBRARY_ALGORITHMS)] | None = Field(
        None,
        description="Default: our own messages. With an MPI library, MPI_Neighbor_alltoallv as "
        + ", ".join(LIBRARY_ALGORITHMS)
        + ".",
    )
    width: Count = Field(description="Width of the halo in grid points.", examples=[20])
    grid: Grid = Field(description="Grid points [nx, ny, nz].", examples=["paper"])
    decomposition: HaloDecomposition | None = Field(
        None,
        description="Processes [cx, cy] in x and y; or bisection: the grid is cut in two again and again, so that for "
        "any number of processes tiles are compact and alike, but do not line up, and all messages go at once. "
        "Default: nearest to a square with cx <= nx and cy <= ny.",
        examples=[[16, 16], "bisection"],
    )

    @model_validator(mode="after")
    def _library(self) -> Self:
        if self.algorithm is not None and self.decomposition == blocks.BISECTION:
            raise problem(f"found {blocks.BISECTION} with algorithm {self.algorithm}", "[cx, cy]", key="decomposition")
        return self


class Allreduce(Settings):
    """The allreduces of a Krylov solver (Zheng & Marguinaud 2018, section 3.3)."""

    kind: Literal["allreduce"] = Field(description="Kind of workload.")
    algorithm: Annotated[str, Choice((*ALLREDUCE_ALGORITHMS, *LIBRARY_ALGORITHMS))] = Field(
        description="Allreduce algorithm: one of " + ", ".join(ALLREDUCE_ALGORITHMS) + "; with an MPI library, "
        "MPI_Allreduce as " + ", ".join(LIBRARY_ALGORITHMS) + "."
    )
    radix: Annotated[int | str, WholeOrWord(2, OPTIMAL)] | None = Field(
        None,
        description="k of recursive-k: processes that reduce among themselves at a stage; optimal: the one that takes "
        "the least time, which is searched. Only for recursive-k.",
    )
    radices: Annotated[tuple[int, int], WholeList(("first", "last"))] | None = Field(
        None, description="With radix optimal, the range that is searched. Default: [2, 32].", examples=[[2, 32]]
    )
    exhaustive: bool | None = Field(
        None,
        description="With radix optimal, whether every radix is run, also those that a lower bound proves slower. "
        "Default: false.",
    )
    remainder: Annotated[str, Choice(REMAINDERS)] | None = Field(
        None,
        description="Who stands in for rank i beyond the largest power of k: paper: rank i - (P - k^p), or i mod k^p "
        "where P > 2 k^p; adjacent: the first of a run of neighbours. Only for recursive-k. Default: paper.",
    )
    count: Count = Field(3, description="Doubles to reduce.")
    repeats: Count = Field(50, description="Allreduces one after the other; 2N for GCR with N iterations.")

    @model_validator(mode="after")
    def _radix(self) -> Self:
        check_radix(self.algorithm, ("recursive-k",), self.radix, minimum=2)
        if self.remainder is not None and self.algorithm != "recursive-k":
            raise problem(
                f"found {self.remainder}, but algorithm {self.algorithm} has none",
                "only with recursive-k",
                key="remainder",
            )
        self._fill(remainder=None if self.remainder == REMAINDERS[0] else self.remainder)
        if self.radix != OPTIMAL:
            for key in ("radices", "exhaustive"):
                if getattr(self, key) is not None:
                    raise problem(f"found radix {self.radix}", f"only with radix {OPTIMAL}", key=key)
            return self
        first, last = self.radices or RADICES
        if not 2 <= first <= last:
            raise problem(f"found [{first}, {last}]", "[first, last] with 2 <= first <= last", key="radices")
        self._fill(radices=(first, last), exhaustive=bool(self.exhaustive))
        return self

    def with_radix(self, radix: int) -> Self:
        """Return the allreduce with a radix in place of the search for the best one."""
        return self.changed(radix=radix, radices=None, exhaustive=None)


Workload = Annotated[Transposition | Halo | Allreduce, Field(discriminator="kind")]
WORKLOADS: tuple[type[Settings], ...] = (Transposition, Halo, Allreduce)


def canonical_workload(data: object) -> Workload:
    """Return the workload with a canonical form, checked as far as it can be without its point (ValidationError)."""
    return TypeAdapter[Workload](Workload).validate_python(data, context={"canonical": True})


def check_radix(
    algorithm: str, needing: tuple[str, ...], radix: int | str | None, minimum: int = 1, optional: tuple[str, ...] = ()
) -> None:
    """Refuse a radix that is missing for the algorithms that need one, or given to one that has none."""
    if algorithm in needing and radix is None:
        raise problem(f"missing, but algorithm {algorithm} needs it", f"a whole number, {minimum} or more", key="radix")
    if algorithm not in needing and radix is not None:
        found = f"found {radix}, but algorithm {algorithm} has none"
        *others, last = *needing, *optional
        raise problem(found, f"only with {', '.join(others) + ' or ' if others else ''}{last}", key="radix")
