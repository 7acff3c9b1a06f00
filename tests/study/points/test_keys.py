"""What is wrong is told at the key that a user wrote, also where the compiled description counts other steps."""

from pathlib import Path

import pytest

from tramontane.errors import InputError
from tramontane.study import load_point

OVERLAP = "{overlap: {exchange: {kind: halo, width: 1, grid: [16, 16, 4]}, work: {time: 1 us}}}"
LOST = "{barrier: {communicator: lost}}"
ALLREDUCE = "{kind: allreduce, algorithm: ring}"


def program(*steps: str) -> str:
    return f"{{kind: program, steps: [{', '.join(steps)}]}}"


def jobs(*workloads: str, allocations: tuple[str, ...] = ("", "")) -> str:
    each = [
        f"{{name: {name}, ranks: 4, workload: {workload}{allocation}}}"
        for name, workload, allocation in zip("ab", workloads, allocations, strict=True)
    ]
    return f"{{kind: jobs, jobs: [{', '.join(each)}]}}"


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        (program(OVERLAP, LOST), "workload.steps[1].communicator: found 'lost'; allowed: all, or a name"),
        (
            program(OVERLAP.replace("width: 1", "width: 1, communicator: lost"), LOST),
            "workload.steps[0].exchange.communicator: found 'lost'",
        ),
        (
            program(OVERLAP, f"{{loop: {{times: 2, steps: [{OVERLAP}, {OVERLAP}, {LOST}]}}}}"),
            "workload.steps[1].steps[2].communicator: found 'lost'",
        ),
        (
            f"{{kind: program, roles: {{steps: {{others: true, steps: [{OVERLAP}, {OVERLAP}, {LOST}]}}}}}}",
            "workload.roles.steps.steps[2].communicator: found 'lost'",
        ),
        (
            program(OVERLAP, "{halo: , width: 3}"),  # as where a key is not indented
            "workload.steps[1]: found 'width' beside 'halo'; allowed: one kind of step, its keys inside it: {halo: {",
        ),
        (
            program("{work: {time: 1 us}, barrier: {}}"),
            "workload.steps[0]: found 'barrier' beside 'work'; allowed: one kind of step, its keys inside it",
        ),
        (
            "{kind: program, roles: {model: {others: true, steps: [{loop: {times: 2, steps: [{work: 1 us}]}}]}}}",
            "workload.roles.model.steps[0].steps[0]: found '1 us'; allowed: one kind of step, its keys inside it: {wor",
        ),
        (program("{halo: }"), "workload.steps[0].width: missing; allowed: Width of the halo"),
        (
            program("{alltoallv: {algorithm: ring-k, radix: 2, count: 9}}"),
            "workload.steps[0].spread: missing, but operation alltoallv needs it; allowed: a share, e.g. 10 %",
        ),
        *(
            (
                program(f"{{{operation}: {{algorithm: ring-k, radix: 2, count: 9, {keys}}}}}"),
                f"workload.steps[0].{said}",
            )
            for operation, keys, said in (
                ("alltoallv", "spread: 0 %, senders: [1, 2]", "senders: found 2 weights; allowed: 8, one each"),
                ("alltoallv", "spread: 0 %, groups: [1, 2]", "groups: found 2 weights; allowed: 1, one each"),
                ("alltoallv", "spread: 0 %, senders: [1, -2]", "senders: found [1, -2]; allowed: a list of whole num"),
                ("alltoallv", "spread: 0 %, receivers: 3", "receivers: found 3; allowed: a list of whole numbers"),
                (
                    "alltoallv",
                    "spread: 0 %, receivers: [0, 0, 0, 0, 0, 0, 0, 0]",
                    "receivers: found only zeros; allowed: weights, some of them more than 0",
                ),
                ("alltoall", "groups: [1]", "groups: found weights; allowed: only with operation alltoallv"),
                ("alltoall", "senders: [1]", "senders: found [1], but operation alltoall has none; allowed: only wi"),
            )
        ),
        (
            jobs(ALLREDUCE, program(OVERLAP, LOST)),
            "workload.jobs[1].workload.steps[1].communicator: found 'lost'",
        ),
        (
            jobs(program(OVERLAP.replace("width: 1", "width: 0")), ALLREDUCE),
            "workload.jobs[0].workload.steps[0].exchange.width: found 0",
        ),
        (
            jobs("{kind: halo, width: 1, grid: [2, 1, 1]}", ALLREDUCE),
            "workload.jobs[0].ranks: found 4, which has no decomposition",
        ),
        (
            jobs(ALLREDUCE, ALLREDUCE).replace("name: b", "name: before"),
            "workload.jobs[1].name: found 'before', the phase before jobs start; allowed: another name",
        ),
        ("{kind: jobs, jobs: []}", "workload.jobs: found []; allowed: a list of 1 entry or more"),
        ("{kind: program, steps: []}", "workload.steps: found []; allowed: a list of steps, or roles that have them"),
        (
            "{kind: program, roles: {b: {others: true, steps: []}}}",
            "workload.roles.b.steps: found []; allowed: a list of 1 entry or more",
        ),
        *(
            (
                program(f"{{notify: {{offsets: [{number}]}}}}"),
                f"workload.steps[0].offsets: found [{number}]; allowed: a list of different whole numbers, none 0, "
                "each 1 - 2^31 to 2^31 - 1",
            )
            for number in (10**21, -(10**21))
        ),
        (
            program("{notify: {offsets: [0]}}"),
            "workload.steps[0].offsets: found [0]; allowed: a list of different whole numbers, none 0",
        ),
        (
            jobs(ALLREDUCE, ALLREDUCE, allocations=("", ", allocation: {nodes: [2, 4, 5, 6]}")),
            "workload.jobs[1].allocation.nodes: found 2; allowed: nodes that no job before has",
        ),
        (
            jobs(ALLREDUCE, ALLREDUCE, allocations=(", allocation: {nodes: [0, 1, 2]}", "")),
            "workload.jobs[0].allocation.nodes: found 3 nodes; allowed: 4, one for each rank",
        ),
        (
            jobs(ALLREDUCE, ALLREDUCE, allocations=("", ", allocation: {nodes: [4, 5, 6, 32]}")),
            "workload.jobs[1].allocation.nodes: found 32; allowed: nodes 0 ... 31",
        ),
    ],
)
def test_a_mistake_is_told_where_it_was_written(tmp_path: Path, workload: str, said: str) -> None:
    file = tmp_path / "x.yaml"
    machine = "{extends: base, topology: torus, geometry: [4, 4, 2], nodes_per_switch: 1}"
    file.write_text(f"ranks: 8\nmachine: {machine}\nworkload: {workload}\n")
    with pytest.raises(InputError) as told:
        load_point(file)
    assert f"x.yaml: {said}" in str(told.value)
    assert "\n" not in str(told.value)
