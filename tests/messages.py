"""The messages of a schedule, for tests that ask who sends what to whom."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

#: How often there is a message of such a source, target, tag and size [B].
Messages = Counter[tuple[int, int, int, int]]


def sent(schedule: Any, number: int) -> Iterator[tuple[int, int, int, int]]:
    """Return source, target, tag and bytes of each message of a round, rank by rank in their order."""
    found = schedule.transfers(number)
    return zip(*(found[key].tolist() for key in ("source", "destination", "tag", "bytes")), strict=True)


def messages(schedule: Any) -> Messages:
    """Return all messages of a schedule."""
    return Counter(message for number in range(schedule.rounds) for message in sent(schedule, number))
