"""Writes a trace in OTF2 with the system's Python and Debian's python3-otf2, which is another release than ours.

It imports nothing of the project: `/usr/bin/python3 written_by_debian.py FOLDER` writes FOLDER/traces.otf2. Three
ranks on a clock of microseconds: sends and receives, immediate ones with what completes them, a communicator of two
ranks, an allreduce, and work between the calls.
"""

import sys
from typing import Any

import otf2
from otf2.enums import CollectiveOp, GroupType, Paradigm


def main(folder: str) -> None:
    with otf2.writer.open(folder, timer_resolution=10**6) as trace:
        write(trace)


def write(trace: Any) -> None:
    new = trace.definitions
    node = new.system_tree_node("node")
    places = []
    for rank in range(3):
        group = new.location_group(f"MPI Rank {rank}", system_tree_parent=node)
        places.append(new.location("Master thread", group=group))
    new.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=tuple(places))

    def communicator(name: str, *members: int) -> Any:
        own = tuple(places[i] for i in members)
        group = new.group(name, group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=own)
        return new.comm(name, group=group)

    world, pair = communicator("world", 0, 1, 2), communicator("pair", 2, 0)
    regions: dict[str, Any] = {}
    clock = [40, 50, 60]

    def call(rank: int, name: str, *events: tuple[Any, ...], work: int = 0) -> None:
        """Write a call of 7 us, after work of so many us."""
        out = trace.event_writer_from_location(places[rank])
        if name not in regions:
            regions[name] = new.region(name, paradigm=Paradigm.MPI)
        clock[rank] += work
        out.enter(clock[rank], regions[name])
        clock[rank] += 7
        for what, *values in events:
            getattr(out, what)(clock[rank], *values)
        out.leave(clock[rank], regions[name])

    for rank in range(3):
        call(rank, "MPI_Init")
    call(1, "MPI_Irecv", ("mpi_irecv_request", 31), work=3)
    call(0, "MPI_Isend", ("mpi_isend", 1, world, 4, 2000, 21), work=11)
    call(0, "MPI_Send", ("mpi_send", 0, pair, 9, 600), work=5)
    call(0, "MPI_Wait", ("mpi_isend_complete", 21))
    call(1, "MPI_Wait", ("mpi_irecv", 0, world, 4, 2000, 31), work=13)
    call(1, "MPI_Send", ("mpi_send", 2, world, 1, 40))
    call(2, "MPI_Recv", ("mpi_recv", 1, pair, 9, 600), work=2)
    call(2, "MPI_Recv", ("mpi_recv", 1, world, 1, 40), work=17)
    for rank in range(3):
        told = (CollectiveOp.ALLREDUCE, world, 0, 3 * 80, 3 * 80)
        call(rank, "MPI_Allreduce", ("mpi_collective_begin",), ("mpi_collective_end", *told), work=1)
        call(rank, "MPI_Finalize", work=19)


if __name__ == "__main__":
    main(sys.argv[1])
