"""Which points of a batch were killed, over all attempts at the batch: by the system, for want of memory, or with it.

Who kills a process gives it no time to say so. A batch therefore notes the point in hand before it runs it, and strikes
it out when it has ended: what the next attempt finds was killed with the whole batch.
"""

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

#: How often a point may be killed before it counts as failed.
TRIES = 3


@dataclass
class Deaths:
    """The notes of one batch.

    Parameters
    ----------
    file : Path
        Where they lie; a new plan removes it.
    """

    file: Path
    counts: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        # Notes that were half written when the batch died say nothing.
        with contextlib.suppress(FileNotFoundError, ValueError, TypeError, AttributeError):
            self.counts = {str(key): int(count) for key, count in json.loads(self.file.read_text("utf-8")).items()}

    def of(self, identity: str) -> int:
        """Return how often a point was killed."""
        return self.counts.get(identity, 0)

    def begin(self, identity: str) -> None:
        """Note that a point is in hand.

        Raises
        ------
        OSError
            If nothing can be written here: better now than after hours of simulation.
        """
        self._write(self.counts | {identity: self.of(identity) + 1})

    def forgive(self, identities: Iterable[str]) -> None:
        """Take back the last death of points that came further before it: the next attempt goes on from there."""
        for identity in identities:
            self.counts[identity] = max(0, self.of(identity) - 1)

    def killed(self, identity: str) -> None:
        """Note that the point in hand was killed, and the batch was not."""
        self.counts[identity] = self.of(identity) + 1

    def stopped(self) -> None:
        """Strike out the point in hand: the batch was asked to stop, or can't write what came of it."""
        with contextlib.suppress(OSError):
            if self.counts:
                self._write(self.counts)
            else:
                self.end()

    def end(self) -> None:
        """Forget everything: the batch has ended."""
        self.file.unlink(missing_ok=True)

    def _write(self, counts: dict[str, int]) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(counts), encoding="utf-8")
