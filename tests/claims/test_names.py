"""What statements name has to exist: each misspelt name is one line."""

import shutil
from pathlib import Path

import pytest

from tramontane.errors import InputError
from tramontane.study import validate_file
from tramontane.study.experiments.claims import load_claims

ROOT = Path(__file__).parents[2]
HALO = "grid: [8, 8, 8], depth: 2, corner_columns: 2"


@pytest.mark.parametrize(
    ("file", "old", "new", "line"),
    [
        (
            "zheng2018",
            "of: burst, than: ring-4}",
            "of: brust, than: ring-4}",
            "claims.Z-5a-3.checks[0].of: found 'brust'; did you mean 'burst'? allowed: a coordinate of series:",
        ),
        (
            "zheng2018",
            "service: round-robin}",
            "servise: round-robin}",
            "claims.Z-5a-2.choices: found '$service'; did you mean 'servise'? allowed: a name that a choice gives",
        ),
        (
            "zheng2018",
            "{experiment: fig05b-topologies}",
            "{experiment: fig05b-topologies, spare: x}",
            "claims.Z-5b.choices.the first nodes and our base parameters: found 'spare'; allowed: a name that is",
        ),
        (
            "zheng2018",
            "experiment: sensitivity-05a-service-order,",
            "experiment: sensitivity-05a-service,",
            "claims.Z-5a-2.experiment: found 'sensitivity-05a-service'; did you mean 'sensitivity-05a-service-order'?",
        ),
        (
            "brown2018",
            "of: messages, than: PSCW",
            "of: message, than: PSCW",
            ".of: found 'message'; did you mean 'messages'? allowed: a curve:",
        ),
        (
            "timestep",
            "network: torus, series: spectral",
            "net: torus, series: spectral",
            "claims.T-1.curves.spectral, torus.select: found 'net'; did you mean 'network'? allowed: a dimension:",
        ),
    ],
)
def test_a_name_that_is_not_there_is_one_line(tmp_path: Path, file: str, old: str, new: str, line: str) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    path = tmp_path / "configs" / "claims" / f"{file}.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError) as caught:
        validate_file(path)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_statement_that_stands_in_two_files_is_found_before_anything_runs(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    first = tmp_path / "configs" / "claims" / "timestep.yaml"
    second = first.with_name("again.yaml")
    shutil.copy(first, second)
    with pytest.raises(
        InputError, match=r"again\.yaml: claims\.T-1: also in .*timestep\.yaml; allowed: each statement"
    ):
        validate_file(second)
    second.write_text("claims: [")  # what is wrong there, its own check says
    assert validate_file(first) == "claims"


@pytest.mark.parametrize(
    ("check", "line"),
    [
        ("{kind: apart, of: a, than: b, ratio: [null, null]}", "ratio: found [null, null], in which everything lies"),
        ("{kind: apart, of: a, than: b, ratio: [0, null]}", "ratio: found [0, null], in which every ratio lies"),
        ("{kind: share, of: a, ranks: 4, below: 1 us, share: [null, null]}", "share: found [null, null]"),
        ("{kind: share, of: a, ranks: 4, below: 1 us, share: [0, 1]}", "share: found [0, 1], in which every share"),
        ("{kind: share, of: a, ranks: 4, below: 1 us, share: [null, 1]}", "share: found [null, 1], in which every"),
        ("{kind: share, of: a, ranks: 4, below: 1 us, share: [0, null]}", "share: found [0, null], in which every"),
        ("{kind: computed, what: cells, printed: {}}", "printed: found {}"),
        ("{kind: computed, what: elements, printed: {}}", "printed: found {}"),
        ("{kind: computed, what: elements, printed: {'60': {}}}", "printed[60]: found {}"),
        (f"{{kind: computed, what: halo_volumes, printed: {{{HALO}, megabytes: {{'4': 1}}}}}}", "printed.megabytes: f"),
        (
            f"{{kind: computed, what: halo_messages, printed: {{{HALO}, kilobytes: {{}}}}}}",
            "printed.kilobytes: found {}",
        ),
        (
            "{kind: computed, what: bits_of_sums, printed: {seeds: 9, owners: [3], differ: {}}}",
            "printed.differ: found {}",
        ),
        ("{kind: optimum, of: a, statistic: median, value: [null, null]}", "value: found [null, null]"),
        ("{kind: congestion, order: [], by: level, ranks: 4}", "order: found []; allowed: a list of 2 entries or more"),
        ("{kind: congestion, order: [[a, b]], by: level, ranks: 4}", "order: found [['a', 'b']]; allowed: a list of 2"),
        (
            "{kind: congestion, order: [[], [a]], by: level, ranks: 4}",
            "order[0]: found []; allowed: a list of 1",
        ),
        (
            "{kind: meets, of: a, than: b, at: 1000, within: 0}",
            "within: found 0; allowed: a number, 1 or more",
        ),
        (
            "{kind: meets, of: a, than: b, at: 1000, within: 0.5}",
            "within: found 0.5; allowed: a number, 1 or more",
        ),
        ("{kind: meets, of: a, than: b, at: 0, within: 2}", "at: found 0; allowed: a number of more than 0"),
        ("{kind: slower, of: a, than: b, between: [64]}", "between[1]: missing; allowed: a value"),
        ("{kind: slower, of: a, than: b, between: 64}", "between: found 64; allowed: a list"),
        ("{kind: slower, of: a, than: b, between: [x, 64]}", "between[0]: found 'x'; allowed: a number"),
        ("{kind: slower, of: a, than: b, by: 1 %}", "by: found '1 %'; allowed: a number"),
        ("{kind: apart, of: a, than: b, ratio: [1, 2], every: 3}", "every: found 3; allowed: true or false"),
        (
            "{kind: printed, of: a, seconds: {'4': 1.0e+18}, within: 1}",
            "seconds.4: found 1e+18; allowed: a number below",
        ),
    ],
)
def test_a_check_that_every_result_or_none_fulfils_is_refused(tmp_path: Path, check: str, line: str) -> None:
    assert f"claims.own.checks[0].{line}" in refused(tmp_path, check)


@pytest.mark.parametrize(("sides", "found"), [("", "neither"), ("above: 1 us, below: 2 us, ", "both")])
def test_a_share_is_above_or_below_one_time(tmp_path: Path, sides: str, found: str) -> None:
    said = refused(tmp_path, f"{{kind: share, of: a, ranks: 4, {sides}share: [0.1, 1]}}")
    assert f"found {found} of above and below; allowed: one of them" in said


@pytest.mark.parametrize(
    ("check", "line"),
    [
        (
            f"{{kind: computed, what: halo_messages, printed: {{{HALO}, kilobytes: {{'1000': [1, 2, 3]}}}}}}",
            "printed.kilobytes: found 1000, which has no decomposition on the grid 8 x 8 x 8",
        ),
        (
            f"{{kind: computed, what: halo_volumes, printed: {{{HALO}, megabytes: {{'4': 2, '1000': 1}}}}}}",
            "printed.megabytes: found 1000, which has no decomposition on the grid 8 x 8 x 8",
        ),
        (
            "{kind: computed, what: halo_pattern, printed: {grid: [8, 8, 8], ranks: 1000, width: 2}}",
            "printed.ranks: found 1000, which has no decomposition on the grid 8 x 8 x 8",
        ),
        (
            "{kind: computed, what: halo_pattern, printed: {grid: [8, 8, 8], ranks: 4, width: 1000}}",
            "printed: found 1000; allowed: at most 80, 10 times the points of the grid in x or y",
        ),
        (
            "{kind: computed, what: bits_of_sums, printed: {seeds: 9, owners: [3], differ: {arrival: [runs]}}}",
            "printed.differ.arrival: found 'arrival'; allowed: order of arrival, fixed order at each rank",
        ),
        (
            "{kind: computed, what: table, printed: {columns: {a: {x: 1}}, facts: {so: \"a['y'] == 1\"}}}",
            "printed.facts: 'a['y'] == 1' cannot be evaluated ('y')",
        ),
        (
            "{kind: computed, what: table, printed: {columns: {a: {x: 1}}, facts: {so: \"a['x']\"}}}",
            "printed.facts: found 'a['x']', which is 1.0; allowed: what is true or not",
        ),
    ],
)
def test_numbers_of_which_nothing_can_be_computed_are_one_line(tmp_path: Path, check: str, line: str) -> None:
    told = refused(tmp_path, check)
    assert f"own.yaml: claims.own.checks[0].{line}" in told
    assert "\n" not in told


def refused(tmp_path: Path, check: str) -> str:
    """Return what is said of a file with one statement of one check."""
    shutil.copytree(ROOT / "configs" / "claims", tmp_path / "configs" / "claims")
    shutil.copy(ROOT / "configs" / "references.yaml", tmp_path / "configs")
    words = "where: Fig. 1, about: halo, statement: It is so., experiment: tiny, along: series"
    path = tmp_path / "configs" / "claims" / "own.yaml"
    path.write_text(f"paper: Z\nclaims:\n  own: {{{words}, checks: [{check}]}}\n")
    with pytest.raises(InputError) as caught:
        load_claims(path, tmp_path)
    return str(caught.value)
