"""Substrates that are part of the design but not of this release."""

from dataclasses import dataclass
from typing import Any, NoReturn

from tramontane import __version__


@dataclass(frozen=True)
class Absent:
    """A substrate that this release can't drive, and what it will need once it can.

    Parameters
    ----------
    name : str
        Its name.
    needs : str
        What has to be installed.
    install : str
        The line that installs it.
    """

    name: str
    needs: str
    install: str

    def available(self) -> str:
        """Return why the substrate can't run."""
        found = f"not in this release ({__version__})"
        return f"{found}; it will run the same schedules on {self.needs}, installed by: {self.install}"

    def revision(self) -> None:
        """Return None: there is no model."""

    def compiler(self) -> None:
        """Return None: nothing was compiled."""

    def refusal(self, point: dict[str, Any]) -> None:
        """Return None: nothing is known of what it could run."""

    def run(self, point: dict[str, Any]) -> NoReturn:
        """Refuse."""
        raise RuntimeError(f"substrate {self.name}: {self.available()}")


#: The substrates that a later release brings, by name.
ABSENT = {
    substrate.name: substrate for substrate in (Absent("sstmacro", "SST/macro", "spack install sst-macro@16.0.0"),)
}
