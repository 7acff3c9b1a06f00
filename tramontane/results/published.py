"""What comes with the project: records of points of the paper's scale that take hours, and summaries of studies.

Records lie in `published` and are records like any others. A campaign takes over those that it lacks, also those of an
older model revision, which everything that shows them marks.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tramontane.results.store import PUBLISHED, Store

#: Where the summaries of studies lie.
STUDIES = PUBLISHED / "studies"

#: What marks a record, in its provenance, as taken over.
MARK = "published"


def studies(root: Path, scale: str) -> dict[str, Path]:
    """Return the summaries of the studies that are published at a scale, by the studies' names."""
    end = f"-{scale}.json"
    return {path.name.removesuffix(end): path for path in sorted((root / STUDIES).glob(f"*{end}"))}


def find_published(root: Path, identities: Iterable[str], revision: int | None) -> dict[str, int]:
    """Return those of the points that are published, each with its model revision; none newer than `revision`."""
    if revision is None:
        return {}
    published = Store(root, PUBLISHED)
    found = {identity: published.revision(identity) for identity in identities if published.has(identity)}
    return {identity: known for identity, known in found.items() if known <= revision}


def take_over(root: Path, identities: Iterable[str]) -> None:
    """Copy published records into the store, marked as such."""
    published, store = Store(root, PUBLISHED), Store(root)
    for identity in identities:
        store.write(_complete(published, identity, {MARK: True}))


def publish(root: Path, identities: Iterable[str], least_s: float) -> int:
    """Copy the records of points that took `least_s` [s] or more to where those of the project lie; return how many.

    A record that lies there already is replaced if its model revision is older.
    """
    store, published = Store(root), Store(root, PUBLISHED)
    count = 0
    for identity in identities:
        if not store.has(identity):
            continue
        if published.has(identity) and store.revision(identity) <= published.revision(identity):
            continue
        record = _complete(store, identity, {})
        if record["result"].get("wall_s", 0.0) >= least_s and record["result"].get("substrate") == "simulator":
            published.write(record)
            count += 1
    return count


def _complete(store: Store, identity: str, mark: dict[str, bool]) -> dict[str, Any]:
    """Return a record with its congestion matrix, as it was written."""
    record = store.read(identity)
    congestion = store.read_congestion(identity)
    if congestion is not None:
        record["result"]["congestion"] = congestion
    return {**record, "provenance": {**record["provenance"], **mark}}
