"""What MPI libraries call the algorithms of their collectives, and which of ours sends the same messages."""

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from tramontane.study.reading.project import LIBRARIES
from tramontane.study.reading.reading import cached_yaml
from tramontane.study.reading.typed import validated
from tramontane.study.values.fields import Choice, Count, NonNegative, Text
from tramontane.study.values.settings import Settings
from tramontane.study.workloads.workloads import COLLECTIVES, Collective


class LibraryAlgorithm(Settings):
    """An algorithm of an MPI library; an entry of ``configs/libraries.yaml``."""

    library: Text = Field(description="The library.", examples=["MPICH"])
    operation: Annotated[str, Choice(COLLECTIVES)] = Field(description="What it does, as the catalogue calls it.")
    name: Text = Field(description="What the library calls it.", examples=["scattered"])
    algorithm: Text = Field(description="What the catalogue calls the one with the same messages.", examples=["ring-k"])
    radix: Count | None = Field(None, description="With which radix, if it has one.")
    segments: Count | None = Field(None, description="In how many segments, if it has some.")
    copied: NonNegative = Field(
        0, description="How often a rank copies all its blocks in its own memory, besides the messages."
    )
    differs: Text | None = Field(None, description="What else differs.")

    @model_validator(mode="after")
    def _known(self) -> Self:
        count = {} if self.operation == "barrier" else {"count": 1}
        Collective.model_validate(self.keys | count)
        return self

    @property
    def keys(self) -> dict[str, Any]:
        """The keys of a workload that does the same, but `count` and `root`."""
        own = {key: value for key in ("radix", "segments") if (value := getattr(self, key)) is not None}
        return {"kind": "collective", "operation": self.operation, "algorithm": self.algorithm, **own}


def library_algorithms(root: Path) -> dict[str, LibraryAlgorithm]:
    """Return the algorithms of MPI libraries that are known, by key.

    Raises
    ------
    InputError
        If an entry is none.
    """
    file = root / LIBRARIES
    return {key: validated(LibraryAlgorithm, entry, file, key) for key, entry in cached_yaml(file).items()}
