"""What a campaign has to know of Slurm before it sends it jobs: whether it answers, and whether it keeps accounts."""

import re
import shutil
import subprocess
from pathlib import Path

from ruamel.yaml import YAML

from tramontane.campaign.rules import CODE
from tramontane.errors import InputError

#: How long Slurm's controller is waited for [s].
PATIENCE = 60

_COMMANDS = ("sbatch", "squeue", "scontrol", "srun")


def uses_slurm(profile: Path) -> bool:
    """Return whether a folder of `workflow/profiles` sends jobs to Slurm."""
    options = YAML(typ="safe", pure=True).load((profile / "profile.yaml").read_text(encoding="utf-8"))
    return str(options.get("executor", "")) == "slurm"


def commands_first() -> list[str]:
    """Return the folders to have first in PATH: where Slurm keeps no accounts, that of a `sacct` that answers.

    Raises
    ------
    InputError
        If Slurm is not installed, or does not answer.
    """
    missing = [name for name in _COMMANDS if shutil.which(name) is None]
    if missing:
        problem = f"{', '.join(missing)} not found, so there is no Slurm here; Debian: apt-get install slurm-client"
        raise InputError("profile", "", "slurm", "default", problem=problem)
    return [] if keeps_accounts(_configuration()) else [str(CODE / "workflow" / "scripts" / "without-accounting")]


def keeps_accounts(configuration: str) -> bool:
    """Return whether Slurm keeps accounts, as `scontrol show config` tells; without, `sacct` only refuses."""
    found = re.search(r"^AccountingStorageType\s*=\s*(\S+)", configuration, flags=re.MULTILINE)
    return found is not None and found[1] != "accounting_storage/none"


def _configuration() -> str:
    try:
        done = subprocess.run(
            ["scontrol", "show", "config"], capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        said = done.stderr.strip().splitlines()[-1:] if done.returncode else []
    except subprocess.TimeoutExpired:
        said = [f"no answer in {PATIENCE} s"]
    if said:
        problem = f"Slurm's controller does not answer ({said[0]}); see: scontrol ping"
        raise InputError("profile", "", "slurm", "default", problem=problem)
    return done.stdout
