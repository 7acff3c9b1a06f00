"""What a folder of `workflow/profiles` says of how a campaign runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.study.reading.reading import read_yaml

_FILE, _RESOURCES, _PARTITION = "profile.yaml", "default-resources", "slurm_partition"


@dataclass(frozen=True)
class Profile:
    """What is read of a profile.

    Attributes
    ----------
    executor : str
        What runs jobs, as Snakemake calls it; ``local`` by default.
    partition : str or None
        Slurm's, if it names one.
    cores : int or None
        Cores of this machine to use; None for all.
    """

    executor: str
    partition: str | None
    cores: int | None

    @property
    def local(self) -> bool:
        """Whether jobs run here."""
        return self.executor == "local"


def read_profile(folder: Path) -> Profile:
    """Return what the file of a profile says (InputError if it can't be read)."""
    file = folder / _FILE
    data = read_yaml(file)
    partition, cores = _resources(file, data).get(_PARTITION), data.get("cores")
    return Profile(
        executor=str(data.get("executor") or "local"),
        partition=str(partition) if partition else None,
        cores=cores if isinstance(cores, int) else None,
    )


def _resources(file: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Return the default resources, which Snakemake takes as a mapping or as a list of key=value."""
    found = data.get(_RESOURCES) or {}
    if isinstance(found, list) and all(isinstance(entry, str) and "=" in entry for entry in found):
        found = dict(entry.split("=", maxsplit=1) for entry in found)
    if not isinstance(found, dict):
        raise InputError(file, _RESOURCES, found, "a mapping of keys to values, or a list of key=value")
    return found
