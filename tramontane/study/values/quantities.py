"""The numbers that a result holds: what becomes a variable of a dataset, and what can be drawn."""

from typing import NamedTuple


class Quantity(NamedTuple):
    """A number that a record's result holds."""

    name: str
    units: str
    long_name: str
    note: str = ""


#: Every number that becomes a variable. UDUNITS spells bytes "byte".
QUANTITIES = (
    Quantity(
        "time_s", "s", "Communication time", "last end minus first start over all ranks, after the opening barrier"
    ),
    Quantity("wall_s", "s", "Wall time of the simulation loop"),
    Quantity("setup_s", "s", "Wall time of everything but the simulation loop"),
    Quantity("messages", "1", "Messages of the workload"),
    Quantity("packets", "1", "Packets of the workload"),
    Quantity("control_packets", "1", "Packets of the protocols"),
    Quantity("bytes", "byte", "Data of the workload"),
    Quantity("hops", "1", "Switch visits of all packets"),
    Quantity("peak_rss_bytes", "byte", "Peak of memory"),
    Quantity("imbalance", "1", "Largest block of any rank", "relative to the mean block, the worst of all layouts"),
    Quantity("model_revision", "1", "Revision of the substrate's model"),
)

PHASE_TIME = Quantity("phase_time_s", "s", "Communication time of a phase", "last end minus first start over all ranks")

STEPS = {
    "time_s": Quantity("step_time_s", "s", "Time in a step", "mean over ranks of all times the step is done"),
    "work_s": Quantity("step_work_s", "s", "Work in a step", "part of step_time_s, likewise"),
    "busy_s": Quantity("step_busy_s", "s", "Processor's time for messages", "part of step_time_s, likewise"),
}
"""What is known of a program's steps, by the name in a record: variables over `step`."""

#: What only some records have; a variable where at least one has it.
OPTIONAL = (
    Quantity("cpu_s", "s", "Processor time", "set-up included; older records lack it"),
    Quantity("best_radix", "1", "Best radix", "of those searched, the one that takes the least time"),
    Quantity("repeats_simulated", "1", "Repeats that were simulated"),
    Quantity("repeats_left_out", "1", "Repeats that were not simulated", "their time follows from those that were"),
    Quantity("stages_simulated", "1", "Stages that were simulated"),
    Quantity("stages_left_out", "1", "Stages that were not simulated", "their time follows from those that were"),
    Quantity(
        "steady_error",
        "1",
        "Error of the communication time",
        "relative half-width of its interval, which holds in about 95 %; 0 where nothing was left out",
    ),
    Quantity("slowdown", "1", "Slowdown of the first job", "by the other jobs, against running alone on its nodes"),
)

DRAWABLE = tuple(quantity.name for quantity in (*QUANTITIES, *OPTIONAL, PHASE_TIME))
"""Names of the variables that can be drawn."""

LINKS = {
    "packets": Quantity("link_packets", "1", "Packets over links of a class", "those of the protocols, too"),
    "bytes": Quantity("link_bytes", "byte", "Bytes over links of a class", "those of the protocols, too"),
    "load": Quantity("link_load", "1", "Load of links of a class", "link_bytes over what all of them could carry"),
    "used_load": Quantity("link_used_load", "1", "Load of the links of a class that carried something", "their mean"),
    "max_load": Quantity("link_max_load", "1", "Load of the busiest link of a class", "where single links are told"),
    "busy_s": Quantity("link_busy_s", "s", "Busy time of links of a class", "sum over all of them"),
    "peak_queue": Quantity("link_peak_queue", "byte", "Longest queue of a link of a class", "that a packet found"),
}
"""What is known of classes of links, likewise: variables over `link`."""

SINGLE_LINKS = {
    "load": Quantity("single_link_load", "1", "Load of a link", "bytes over what it could carry; the busiest first"),
    "peak_queue": Quantity("single_link_peak_queue", "byte", "Longest queue of a link", "that a packet found"),
    "switch": Quantity("single_link_switch", "1", "Switch that a link leaves"),
    "port": Quantity("single_link_port", "1", "Port by which a link leaves its switch"),
}
"""What is known of single links, likewise: variables over `single_link`, a link's place in the order of loads."""

SINGLE_LINK_NAMES = {"name": "Name of a link", "class": "Class of a link"}
"""Texts of single links, likewise; variables `single_link_name` and `single_link_class`."""

WAITING_TIME = Quantity("waiting_s", "s", "Waiting of a rank", "by cause; mean over the ranks of a bin")

JOBS = {
    "time_s": Quantity("job_time_s", "s", "Time of a job", "from its start to its end, beside the others"),
    "alone_s": Quantity("job_alone_s", "s", "Time of a job alone", "on the same nodes, while the others' stay idle"),
    "slowdown": Quantity("job_slowdown", "1", "Slowdown of a job", "job_time_s over job_alone_s"),
}
"""What is known of jobs side by side, likewise: variables over `job`."""
