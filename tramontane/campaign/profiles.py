"""What a folder of `workflow/profiles` says of how a campaign runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.study.reading.reading import read_yaml

_FILE, _PARTITION = "profile.yaml", "slurm_partition"
_RESOURCES, _OF_RULES = "default-resources", "set-resources"
#: The rule whose jobs go to a cluster.
_RULE = "run_batch"


@dataclass(frozen=True)
class Profile:
    """What is read of a profile.

    Attributes
    ----------
    executor : str
        What runs jobs, as Snakemake calls it; ``local`` by default.
    partition : str or None
        Slurm's, if it names one: that of the batches' rule, or else the default.
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
    resources, cores = _pairs(file, data, _RESOURCES) | _of_batches(file, data), data.get("cores")
    partition = resources.get(_PARTITION)
    return Profile(
        executor=str(data.get("executor") or "local"),
        partition=str(partition) if partition else None,
        cores=cores if isinstance(cores, int) else None,
    )


def _of_batches(file: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Return the resources of the batches' rule: in a mapping of rules, or in a list of rule:key=value."""
    found = _pairs(file, data, _OF_RULES)
    own = found.get(_RULE)
    written = {key.partition(":")[2]: value for key, value in found.items() if key.startswith(f"{_RULE}:")}
    return written | (own if isinstance(own, dict) else {})


def _pairs(file: Path, data: dict[str, Any], key: str) -> dict[str, Any]:
    """Return what Snakemake takes as a mapping or as a list of key=value."""
    found = data.get(key) or {}
    if isinstance(found, list) and all(isinstance(entry, str) and "=" in entry for entry in found):
        found = dict(entry.split("=", maxsplit=1) for entry in found)
    if not isinstance(found, dict):
        raise InputError(file, key, found, "a mapping of keys to values, or a list of key=value")
    return found
