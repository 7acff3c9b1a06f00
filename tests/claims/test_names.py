"""What statements name has to exist: each misspelt name is one line."""

import shutil
from pathlib import Path

import pytest

from tramontane.errors import InputError
from tramontane.study import validate_file
from tramontane.study.experiments.claims import load_claims

ROOT = Path(__file__).parents[2]


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


@pytest.mark.parametrize(
    ("check", "line"),
    [
        ("{kind: apart, of: a, than: b, ratio: [null, null]}", "ratio: found [null, null], in which everything lies"),
        ("{kind: share, of: a, ranks: 4, below: 1 us, share: [null, null]}", "share: found [null, null]"),
        ("{kind: optimum, of: a, statistic: median, value: [null, null]}", "value: found [null, null]"),
        ("{kind: congestion, order: [], by: level, ranks: 4}", "order: found []; allowed: a list of 2 entries or more"),
        ("{kind: congestion, order: [[a, b]], by: level, ranks: 4}", "order: found [['a', 'b']]; allowed: a list of 2"),
        (
            "{kind: congestion, order: [[], [a]], by: level, ranks: 4}",
            "order[0]: found []; allowed: a list of 1",
        ),
        (
            "{kind: meets, of: a, than: b, at: 1000, within: 0}",
            "within: found 0; allowed: input should be greater",
        ),
        (
            "{kind: meets, of: a, than: b, at: 1000, within: 0.5}",
            "within: found 0.5; allowed: input should be greater",
        ),
        ("{kind: meets, of: a, than: b, at: 0, within: 2}", "at: found 0; allowed: input should be greater than 0"),
    ],
)
def test_a_check_that_every_result_or_none_fulfils_is_refused(tmp_path: Path, check: str, line: str) -> None:
    shutil.copytree(ROOT / "configs" / "claims", tmp_path / "configs" / "claims")
    shutil.copy(ROOT / "configs" / "references.yaml", tmp_path / "configs")
    words = "where: Fig. 1, about: halo, statement: It is so., experiment: tiny, along: series"
    path = tmp_path / "configs" / "claims" / "own.yaml"
    path.write_text(f"paper: Z\nclaims:\n  own: {{{words}, checks: [{check}]}}\n")
    with pytest.raises(InputError) as caught:
        load_claims(path, tmp_path)
    assert f"claims.own.checks[0].{line}" in str(caught.value)
