"""What ranks did when, as an OTF2 archive, which Vampir and similar tools open."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from tramontane.results.timeline import CAUSES, WAITING, Stretch, name_of
from tramontane.support.otf2 import PER_SECOND, archive

PEER = "for rank"
"""The attribute that says for whom a rank waits."""


def write_otf2(stretches: Sequence[Stretch], title: str, ranks: Sequence[int], file: Path) -> None:
    """Write a timeline: a location for each rank, and for what works beside it; a region for each thing that they do.

    Parameters
    ----------
    stretches : sequence of Stretch
        By rank, processor and begin; those of a processor don't overlap.
    title : str
        What was simulated.
    ranks : sequence of int
        Of which it is told.
    file : path
        The archive's anchor file, `NAME.otf2`.

    Raises
    ------
    InputError
        See :func:`tramontane.support.otf2.archive`.
    """
    with archive(file, list(ranks), title) as out:
        paradigms, roles = out.otf2.Paradigm, out.otf2.RegionRole
        of_no_message = {"work": roles.CODE, "storage": roles.FILE_IO}
        regions = {
            what: out.definitions.region(
                CAUSES.get(what, what),
                region_role=of_no_message.get(what, roles.POINT2POINT),
                paradigm=paradigms.USER if what in of_no_message else paradigms.MPI,
            )
            for what in ("work", "busy", *CAUSES)
        }
        peer = out.definitions.attribute(PEER, "the sender or receiver that is waited for", type=out.otf2.Type.UINT32)
        for (rank, cpu), own in groupby(stretches, key=lambda each: (each.rank, each.cpu)):
            events = out.events(rank, name_of(rank, cpu))
            for each in own:
                begin, end = round(each.begin * PER_SECOND), round(each.end * PER_SECOND)
                attributes = {peer: each.peer} if each.what in WAITING else {}
                events.enter(begin, regions[each.what], attributes=attributes)
                events.leave(end, regions[each.what])
        for rank in ranks:  # a rank that did nothing has its place, too
            out.events(rank)
