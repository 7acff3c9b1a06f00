"""Draws of parameters: where they lie, what a larger size keeps, and what is refused."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from SALib.analyze import sobol

from tramontane.errors import InputError
from tramontane.study import expand, load_experiment, validate_file
from tramontane.study.sampling.sampling import Parameter, Sample
from tramontane.study.values.units import BANDWIDTH, parse_quantity

THREE = {
    "machine.link.bandwidth": {"log": ["1 GB/s", "100 GB/s"]},
    "machine.routing": {"choice": ["minimal", "valiant", "ugal"]},
    "seed": {"range": [1, 9]},
}
SIZES = {"lhs": st.integers(1, 60), "sobol": st.sampled_from([1, 2, 4, 32]), "morris": st.sampled_from([4, 8, 40])}
SIZES["saltelli"] = st.sampled_from([5, 10, 40])


def sample(method: str, seed: int = 1, parameters: dict[str, Any] | None = None) -> Sample:
    return Sample.model_validate({"method": method, "size": 4, "seed": seed, "parameters": parameters or THREE})


@settings(max_examples=40)
@given(method=st.sampled_from(["lhs", "sobol", "morris", "saltelli"]), seed=st.integers(0, 99), data=st.data())
def test_draws_lie_within_their_ranges_and_are_the_same_again(method: str, seed: int, data: st.DataObject) -> None:
    size = data.draw(SIZES[method])
    drawn = sample(method, seed).draws(size)
    assert drawn == sample(method, seed).draws(size)
    assert len(drawn) == size
    for each in drawn:
        assert 10**9 <= parse_quantity(each["machine.link.bandwidth"], BANDWIDTH) <= 10**11
        assert each["machine.routing"] in ("minimal", "valiant", "ugal")
        assert isinstance(each["seed"], int)
        assert 1 <= each["seed"] <= 9


@pytest.mark.parametrize(("method", "small", "large"), [("sobol", 8, 32), ("morris", 8, 40), ("saltelli", 20, 80)])
def test_a_larger_size_keeps_the_smaller_ones_draws(method: str, small: int, large: int) -> None:
    assert sample(method).draws(large)[:small] == sample(method).draws(small)


@pytest.mark.parametrize("method", ["lhs", "sobol"])
def test_a_parameter_that_joins_later_leaves_the_others_draws_as_they_were(method: str) -> None:
    last = {"choice": ["a", "b", "c", "d"], "later": True}
    one = sample(method, parameters={"first": last, **THREE})  # wherever it stands
    two = sample(method, parameters={"first": last, **THREE, "last": last})
    assert np.array_equal(one.places(16)[:, 1:], sample(method).places(16))
    assert np.array_equal(two.places(16)[:, :-1], one.places(16))
    for column in (0, 4):  # as evenly as any other
        assert sorted(np.floor(16 * two.places(16)[:, column])) == list(range(16))
    assert not np.array_equal(two.places(16)[:, 0], two.places(16)[:, 4])
    assert sample(method, parameters={"alone": last}).places(4).shape == (4, 1)


def test_a_later_parameter_covers_the_plane_with_each_other_one() -> None:
    last = {"range": [0.0, 1.0], "later": True}
    places = sample("sobol", parameters={**THREE, "last": last}).places(64)
    for column in range(3):
        cells = {(int(4 * one), int(4 * other)) for one, other in places[:, [column, 3]]}
        assert len(cells) == 16


def test_a_latin_hypercube_has_one_draw_in_each_part_of_each_range() -> None:
    drawn = sample("lhs", parameters={"noise.share": {"range": [0.0, 10.0]}, "other": {"log": [1.0, 2.0**10]}}).draws(
        10
    )
    assert sorted(math.floor(each["noise.share"]) for each in drawn) == list(range(10))
    assert sorted(math.floor(math.log2(each["other"])) for each in drawn) == list(range(10))


def test_trajectories_change_one_parameter_a_step_and_pairs_of_samples_share_all_but_one() -> None:
    ranges = {name: {"range": [0.0, 1.0]} for name in "abc"}
    steps = np.array([list(each.values()) for each in sample("morris", parameters=ranges).draws(4)])
    assert np.count_nonzero(np.diff(steps, axis=0), axis=1).tolist() == [1, 1, 1]
    first, *mixed, second = np.array([list(each.values()) for each in sample("saltelli", parameters=ranges).draws(5)])
    for number, row in enumerate(mixed):
        assert row.tolist() == [second[i] if i == number else first[i] for i in range(3)]


def test_salib_attributes_the_variance_of_pairs_of_samples() -> None:
    """As docs/uncertainty.md says: a sum of a and 2 b varies four times as much by b as by a, and not by c."""
    parameters = {"a": {"range": [0.0, 1.0]}, "b": {"range": [0.0, 1.0]}, "c": {"range": [0.0, 1.0]}}
    drawn = sample("saltelli", parameters=parameters).draws(5 * 256)
    problem = {"num_vars": 3, "names": list(parameters), "bounds": [[0, 1]] * 3}
    values = np.array([each["a"] + 2 * each["b"] for each in drawn])
    np.testing.assert_allclose(
        sobol.analyze(problem, values, calc_second_order=False, seed=1)["ST"], [0.2, 0.8, 0], atol=0.02
    )


@pytest.mark.parametrize(
    ("parameter", "line"),
    [
        ({"range": ["9 us", "1 us"]}, "two numbers or quantities, the smaller one first"),
        ({"range": ["1 us", "9 GB/s"]}, "two numbers or quantities"),
        ({"log": [0, 4]}, "ends above zero"),
        ({"log": ["0 ns", "4 ns"]}, "ends above zero"),
        ({"choice": ["ugal"]}, "two values or more"),
        ({"choice": ["ugal", "minimal", "ugal"]}, "found 'ugal' twice"),
        ({"choice": [1, True]}, "found true twice"),
        ({"range": [1, 2], "log": [1, 2]}, "one of range, log, choice"),
        ({}, "one of range, log, choice"),
    ],
)
def test_what_is_no_range_is_refused(parameter: dict[str, Any], line: str) -> None:
    with pytest.raises(ValidationError) as caught:
        sample("lhs", parameters={"seed": parameter})
    assert line in str(caught.value)


EXPERIMENT = """\
title: Plausible links
question: How much of an order is the links' doing?
description: Two routings on links that are drawn.
base:
  machine: torus-S
  workload: {kind: allreduce, algorithm: recursive-k, radix: 2, repeats: 1}
  ranks: 8
cross:
  machine.routing: [minimal, valiant]
sample:
  method: METHOD
  size: $size
  parameters:
    machine.link.bandwidth: {log: [1 GB/s, 100 GB/s]}
    machine.link.latency: {range: [50 ns, 500 ns]}
scales:
  smoke: {size: SIZE}
figure: {x: draw, x_scale: linear, lines: routing}
"""


def written(folder: Path, **changes: str) -> Path:
    (folder / "configs" / "experiments").mkdir(parents=True)
    (folder / "configs" / "machines").symlink_to(Path(__file__).parents[3] / "configs" / "machines")
    path = folder / "configs" / "experiments" / "links.yaml"
    text = EXPERIMENT
    for old, new in {"METHOD": "sobol", "SIZE": "4", **changes}.items():
        text = text.replace(old, new)
    path.write_text(text)
    return path


def test_draws_are_ordinary_points_that_all_series_share(tmp_path: Path) -> None:
    expansion = expand(load_experiment(written(tmp_path)), "smoke")
    assert expansion.dims == {"routing": ["minimal", "valiant"], "draw": [0, 1, 2, 3]}
    points = {tuple(entry.coords.values()): entry.point for entry in expansion.points}
    links = {key: point.machine.link for key, point in points.items() if point is not None and point.machine}
    assert all(links["minimal", draw] == links["valiant", draw] for draw in range(4))
    assert len({links["minimal", draw].bandwidth for draw in range(4)}) == 4


@pytest.mark.parametrize(
    ("method", "size", "drawn"),
    [
        ("sobol", "16", "workload.count: {range: [1, 4]}"),
        ("morris", "12", "workload.count: {choice: [1, 2]}"),
        ("saltelli", "8", "machine.link.latency: {choice: [50 ns, 1 us]}"),
    ],
)
def test_draws_may_coincide(tmp_path: Path, method: str, size: str, drawn: str) -> None:
    path = written(tmp_path, METHOD=method, SIZE=size, **{"machine.link.latency: {range: [50 ns, 500 ns]}": drawn})
    path.write_text(
        path.read_text().replace("machine.link.bandwidth: {log: [1 GB/s, 100 GB/s]}", "seed: {choice: [1, 2]}")
    )
    validate_file(path)
    expansion = expand(load_experiment(path), "smoke")
    assert len(expansion.unique()) < len(expansion.points)


def test_each_whole_number_of_a_range_is_as_likely() -> None:
    one = Parameter.model_validate({"range": [1, 4]})
    assert [one.value(at) for at in (0.0, 0.24, 0.26, 0.5, 0.76, 1.0)] == [1, 1, 2, 3, 4, 4]
    assert all(one.value(one.place(value) or 0.0) == value for value in range(1, 5))
    assert one.place(5) is None


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"SIZE": "6"}, "scales.smoke.size: found 6; allowed: with sobol a power of two"),
        ({"METHOD": "morris"}, "scales.smoke.size: found 4; allowed: with morris a multiple of 3"),
        ({"METHOD": "saltelli", "SIZE": "6"}, "found 6; allowed: with saltelli 4 times a power of two"),
        (
            {"[1 GB/s, 100 GB/s]": "[9 GB/s, 1 GB/s]"},
            "links.yaml: sample.parameters.machine.link.bandwidth.log: found ['9 GB/s', '1 GB/s']; allowed: two",
        ),
        (
            {"{log: [1 GB/s, 100 GB/s]}": "{log: [0 B/s, 1 GB/s]}"},
            "bandwidth.log: found ['0 B/s', '1 GB/s']; allowed: ends above zero",
        ),
        (
            {"{log: [1 GB/s, 100 GB/s]}": "{choice: [1 GB/s]}"},
            "bandwidth.choice: found ['1 GB/s']; allowed: two values or more",
        ),
        ({"link.latency": "link.latancy"}, "unknown key 'latancy' in 'machine.link.latancy'; did you mean 'latency'?"),
        ({"linear": "log"}, "figure.x_scale: found log, for draw from 0 on; allowed: linear"),
        ({"link.latency": "routing", "[50 ns, 500 ns]": "[1, 2]"}, "is set by dimension 'routing' too"),
    ],
)
def test_what_a_sample_can_not_be_is_one_line(tmp_path: Path, changes: dict[str, str], line: str) -> None:
    with pytest.raises(InputError) as caught:
        expand(load_experiment(written(tmp_path, **changes)), "smoke")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
