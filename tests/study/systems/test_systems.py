"""Systems: the files that come with the project, and mistakes in them."""

from pathlib import Path

import pytest

from tramontane.errors import InputError
from tramontane.study import list_systems, load_system, validate_file

GOOD = """\
description: A machine.
hosts: [a]
environments:
  openmpi: {compiler: mpicxx, srun_mpi: pmix}
partitions:
  cores: {environments: [openmpi], ranks_per_node: 4, nodes: 2}
references:
  - {case: "fig06-*", partition: cores, environment: openmpi, time: 3 ms, upper: 0.5}
"""


def test_the_project_describes_a_machine_that_anybody_has_and_templates(root: Path) -> None:
    assert {"generic", "slurm-local"} <= set(list_systems(root))
    for name in list_systems(root):
        assert load_system(name, root).template == name.startswith("template-")
    generic = load_system("generic", root)
    assert {"openmpi", "mpich"} <= set(generic.environments)
    assert all(partition.ranks >= 16 for partition in generic.partitions.values() if "CI" in partition.features)


def test_a_system_is_read_with_its_units(tmp_path: Path) -> None:
    file = tmp_path / "configs" / "systems" / "x.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(GOOD)
    assert validate_file(file) == "system"
    system = load_system("x", tmp_path)
    assert system.partitions["cores"].ranks == 8
    assert system.partitions["cores"].seconds == 600
    assert system.references[0].time == 3 * 10**9


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("compiler: mpicxx", "compilr: mpicxx", "environments.openmpi.compilr: unknown key 'compilr'; did you mean"),
        ("environments: [openmpi]", "environments: [opnmpi]", "partitions.cores.environments: found 'opnmpi'; did you"),
        ("ranks_per_node: 4", "ranks_per_node: 0", "partitions.cores.ranks_per_node: found 0; allowed: a whole number"),
        ("ranks_per_node: 4, ", "", "partitions.cores.ranks_per_node: missing; allowed: Largest number of ranks on a"),
        ("nodes: 2", "time_limit: 10", "partitions.cores.time_limit: found 10 without a unit; allowed:"),
        ("nodes: 2", "time_limit: 1 ms", "partitions.cores.time_limit: found '1 ms'; allowed: "),
        ("time: 3 ms", "time: 3", "references[0].time: found 3 without a unit; allowed:"),
        ("partition: cores", "partition: core", "references[0].partition: found 'core'; did you mean 'cores'?"),
        ("time: 3 ms", "time: 0 ns", "references[0].time: found '0 ns'; allowed: more than zero"),
        ("upper: 0.5", "upper: 0.5, lower: 0.5", "references[0].lower: found 0.5; allowed: "),
        ("upper: 0.5", "upper: 0.5, lower: -2", "references[0].lower: found -2; allowed: "),
        ("nodes: 2", "features: [gpu, ci]", "partitions.cores.features: found 'ci'; did you mean 'CI'? allowed: any"),
        ("nodes: 2", "features: [Production]", "partitions.cores.features: found 'Production'; did you mean 'pro"),
        (
            "  cores:",
            "  gpu.a100:",
            "partitions: found 'gpu.a100'; allowed: a name of letters, digits, _ and -, a letter",
        ),
        ("  cores:", "  2nodes:", "partitions: found '2nodes'; allowed: a name of letters, digits, _ and -, a letter"),
        ("  openmpi: {", "  open.mpi: {", "environments: found 'open.mpi'; allowed: a name of letters, digits, _ and"),
        ("nodes: 2", "options: [partition=short]", "partitions.cores.options: found 'partition=short' first; allowed"),
        ("srun_mpi: pmix", "build: spack", "environments.openmpi.spec: found build: spack; allowed: spec together"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    file = tmp_path / "configs" / "systems" / "x.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError) as caught:
        validate_file(file)
    assert f"x.yaml: {expected}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_system_is_named(tmp_path: Path, root: Path) -> None:
    with pytest.raises(InputError, match=r"no system 'generc'.*did you mean 'generic'"):
        load_system("generc", root)


@pytest.mark.parametrize("name", ["my.cluster", "2clusters"])
def test_a_file_is_called_as_reframe_can_call_a_system(tmp_path: Path, name: str) -> None:
    """One name that ReFrame refuses makes it refuse all systems."""
    file = tmp_path / "configs" / "systems" / f"{name}.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(GOOD)
    with pytest.raises(InputError, match=rf"found the file name '{name}.yaml'; allowed: a name of letters, digits, _"):
        validate_file(file)


def test_a_value_belongs_to_the_option_before_it(tmp_path: Path) -> None:
    file = tmp_path / "configs" / "systems" / "x.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(GOOD.replace("nodes: 2", "options: [-p, short, --exclusive, '#DW jobdw', '--account x']"))
    lines = load_system("x", tmp_path).partitions["cores"].option_lines
    assert lines == ["-p short", "--exclusive", "#DW jobdw", "--account x"]
