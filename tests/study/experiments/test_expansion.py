"""Expansion: which points there are, in which order, and that a point depends on nothing but its own settings."""

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane.errors import InputError
from tramontane.study import Expansion, Point, expand, load_experiment
from tramontane.study.experiments.expansion import MOST_POINTS, decades, swept
from tramontane.study.points.loading import build_point

Line = Callable[..., str]
Write = Callable[..., Path]

TEXT = {"title": "T", "question": "Q?", "description": "D."}
WORKLOAD = {"kind": "allreduce", "algorithm": "recursive-k", "radix": 2}
BASE = {"machine": "torus-S", "workload": WORKLOAD, "ranks": 16}


def experiment(**keys: Any) -> dict[str, Any]:
    """Return an experiment; the horizontal axis is its first dimension unless `keys` say otherwise."""
    content = {**TEXT, "base": copy.deepcopy(BASE), "scales": {"smoke": {}}, "figure": {}} | keys
    if content.get("cross") and "ranks" not in content["cross"] and not content["figure"]:
        name = next(iter(content["cross"]))
        content["figure"] = {"x": "link_latency" if name == "machine.link.latency" else name.split(".")[-1]}
    return content


def expanded(folder: Path, content: dict[str, Any], scale: str = "smoke") -> Expansion:
    file = folder / "x.yaml"
    file.write_text(json.dumps(content), encoding="utf-8")  # JSON is YAML, and keeps the order of keys
    return expand(load_experiment(file), scale)


def ids(expansion: Expansion) -> list[str]:
    return [entry.point.id for entry in expansion.points if entry.point is not None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("expansion")


FEW = settings(max_examples=25, deadline=None)

# --- properties --------------------------------------------------------------------------------------------------

counts = st.lists(st.integers(1, 256), min_size=1, max_size=5, unique=True)
radices = st.lists(st.integers(2, 40), min_size=1, max_size=4, unique=True)
seeds = st.lists(st.integers(0, 100), min_size=1, max_size=3, unique=True)


@FEW
@given(counts, radices, seeds, st.integers(1, 256))
def test_size_is_the_product_without_the_excluded(
    folder: Path, ranks: list[int], radix: list[int], seed: list[int], limit: int
) -> None:
    cross = {"ranks": ranks, "workload.radix": radix, "seed": seed}
    result = expanded(folder, experiment(cross=cross, exclude=[f"ranks > {limit} and radix == {radix[0]}"]))
    assert result.dims == {"ranks": ranks, "radix": radix, "seed": seed}
    excluded = sum(rank > limit for rank in ranks) * len(seed)
    assert len(result.points) == len(ranks) * len(radix) * len(seed)
    assert sum(entry.excluded for entry in result.points) == excluded
    assert [entry.point is None for entry in result.points] == [entry.excluded for entry in result.points]
    assert len(result.unique()) == len(result.points) - excluded
    order = [tuple(entry.coords.values()) for entry in result.points]
    assert order == [(p, k, s) for p in ranks for k in radix for s in seed]
    for entry in result.points:
        if entry.point is not None:
            made = entry.point.canonical()
            assert (made["ranks"], made["workload"]["radix"], made["seed"]) == tuple(entry.coords.values())


@FEW
@given(counts, radices, st.data())
def test_one_more_value_adds_exactly_its_points(
    folder: Path, ranks: list[int], radix: list[int], data: st.DataObject
) -> None:
    before = expanded(folder, experiment(cross={"ranks": ranks, "workload.radix": radix}))
    new = data.draw(st.integers(2, 40).filter(lambda value: value not in radix))
    longer = list(radix)
    longer.insert(data.draw(st.integers(0, len(radix))), new)
    after = expanded(folder, experiment(cross={"ranks": ranks, "workload.radix": longer}))
    added = set(ids(after)) - set(ids(before))
    assert set(ids(before)) <= set(ids(after))
    assert added == {entry.point.id for entry in after.points if entry.point and entry.coords["radix"] == new}
    assert len(added) == len(ranks)


@FEW
@given(counts, radices)
def test_same_point_in_another_experiment_has_the_same_identity(
    folder: Path, ranks: list[int], radix: list[int]
) -> None:
    first = expanded(folder, experiment(cross={"ranks": ranks, "workload.radix": radix}))
    variants = {"series": {f"k{k}": {"workload": {"radix": k}} for k in radix}}
    base = {"workload": {"algorithm": "recursive-k", "kind": "allreduce"}, "machine": {"name": "$network"}}
    other = experiment(
        base=base,
        cross={"series": list(variants["series"]), "ranks": "$counts"},
        variants=variants,
        scales={"smoke": {"counts": ranks, "network": "torus-S"}},
    )
    second = expanded(folder, other)
    assert set(ids(first)) == set(ids(second))
    by_first = {(entry.coords["ranks"], f"k{entry.coords['radix']}"): entry.point for entry in first.points}
    for entry in second.points:
        twin = by_first[entry.coords["ranks"], str(entry.coords["series"])]
        assert entry.point is not None
        assert twin is not None
        assert entry.point.id == twin.id


@FEW
@given(st.data())
def test_order_of_keys_does_not_matter(folder: Path, data: st.DataObject) -> None:
    content = experiment(
        cross={"ranks": [4, 8]},
        zip=[{"workload.radix": [2, 3], "seed": [5, 6]}],
        derive={"workload.count": "ranks * radix"},
    )
    plain = expanded(folder, content)
    mixed = {key: content[key] for key in data.draw(st.permutations(list(content)))}
    mixed["base"] = {key: BASE[key] for key in data.draw(st.permutations(list(BASE)))}
    assert ids(expanded(folder, mixed)) == ids(plain)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.sets(st.integers(1, 9), min_size=1))
def test_decades(low: int, high: int, steps: set[int]) -> None:
    expected = [n for n in sorted({step * 10**power for step in steps for power in range(8)}) if low <= n <= high]
    assert decades(low, high, sorted(steps)) == expected


# --- grammar -----------------------------------------------------------------------------------------------------


def test_decades_of_the_paper(folder: Path) -> None:
    scales = {"smoke": {"processes": {"decades": [10, 200]}}}
    result = expanded(folder, experiment(cross={"ranks": "$processes"}, scales=scales))
    assert result.dims["ranks"] == [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200]
    scales["smoke"]["processes"]["steps"] = [1, 5]
    assert expanded(folder, experiment(cross={"ranks": "$processes"}, scales=scales)).dims["ranks"] == [10, 50, 100]


def test_zip_varies_together_in_one_dimension(folder: Path) -> None:
    block = {"workload.algorithm": ["ring", "rabenseifner"], "seed": [7, 8]}
    base = {"machine": "torus-S", "workload": {"kind": "allreduce"}}
    result = expanded(folder, experiment(base=base, cross={"ranks": [4, 8]}, zip=[block]))
    assert result.dims == {"ranks": [4, 8], "algorithm": ["ring", "rabenseifner"]}
    made = [entry.point.canonical() for entry in result.points if entry.point]
    assert [(p["ranks"], p["workload"]["algorithm"], p["seed"]) for p in made] == [
        (4, "ring", 7),
        (4, "rabenseifner", 8),
        (8, "ring", 7),
        (8, "rabenseifner", 8),
    ]


def test_machines_as_a_dimension(folder: Path) -> None:
    result = expanded(folder, experiment(cross={"machine": ["torus-S", "fattree-S", {"name": "dragonfly-S"}]}))
    assert result.dims == {"machine": ["torus-S", "fattree-S", "dragonfly-S"]}
    topologies = [entry.point.machine.topology for entry in result.points if entry.point and entry.point.machine]
    assert topologies == ["torus", "fattree", "dragonfly"]


def test_values_that_are_not_words_become_text(folder: Path) -> None:
    base = {"machine": "torus-S", "ranks": 16, "workload": {"kind": "halo", "width": 2, "grid": "tiny"}}
    cross = {"workload.decomposition": [[4, 4], [2, 8]], "machine.link.latency": ["100 ns", "1 us"]}
    result = expanded(folder, experiment(base=base, cross=cross, figure={"x": "latency", "lines": "decomposition"}))
    assert result.dims == {"decomposition": ["4x4", "2x8"], "latency": ["100 ns", "1 us"]}


def test_dimensions_of_the_same_last_part_are_told_apart(folder: Path) -> None:
    cross = {"machine.link.latency": ["1 ns"], "machine.injection.latency": ["2 ns"], "workload.radix": [2]}
    assert list(expanded(folder, experiment(cross=cross)).dims) == ["link_latency", "injection_latency", "radix"]


def test_overrides_reach_into_a_named_machine(folder: Path) -> None:
    result = expanded(folder, experiment(cross={"machine.link.bandwidth": ["1 GB/s", "10 GB/s"]}))
    made = [entry.point.canonical()["machine"] for entry in result.points if entry.point]
    assert [machine["link"]["bandwidth"] for machine in made] == [10**9, 10**10]
    assert made[0]["geometry"] == [4, 4, 4]


def test_derived_values(folder: Path) -> None:
    base = {"machine": "torus-S", "workload": {"kind": "halo", "width": 2, "grid": "tiny"}}
    derive = {"workload.decomposition": "[columns, ranks // columns]", "seed": "max(grid[0], width) + columns"}
    scales = {"smoke": {"columns": 2}}
    result = expanded(folder, experiment(base=base, cross={"ranks": [4, 8]}, derive=derive, scales=scales))
    made = [entry.point.canonical() for entry in result.points if entry.point]
    assert [point["workload"]["decomposition"] for point in made] == [[2, 2], [2, 4]]
    assert made[0]["seed"] == 722


def test_excluded_points_need_not_be_possible(folder: Path) -> None:
    result = expanded(folder, experiment(cross={"ranks": [256, 512]}, exclude=["ranks > 256"]))
    assert [entry.excluded for entry in result.points] == [False, True]


def test_ensemble(folder: Path) -> None:
    result = expanded(folder, experiment(cross={"ranks": [4, 8]}, ensemble=3))
    assert result.dims == {"ranks": [4, 8], "member": [0, 1, 2]}
    made = [entry.point.canonical() for entry in result.points if entry.point]
    assert [(point["seed"], point["start_jitter"]) for point in made] == [(1, 1000), (2, 1000), (3, 1000)] * 2
    base = BASE | {"seed": 10, "start_jitter": "0 ns"}
    scales = {"smoke": {"members": 2}}
    result = expanded(
        folder, experiment(base=base, ensemble="$members", scales=scales, figure={"x": "member", "x_scale": "linear"})
    )
    made = [entry.point.canonical() for entry in result.points if entry.point]
    assert [(point["seed"], point["start_jitter"]) for point in made] == [(10, 0), (11, 0)]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("machine.geometry", {"sizes": [8, 8, 8], "wraps": [1, 1, 0]}),
        ("machine.parallel_links", {"dimension-1": 2}),
        ("allocation", {"nodes": list(range(15, -1, -1))}),
        ("allocation", {"shape": [2, 2, 1]}),
        ("mapping", {"nodes": list(range(15, -1, -1))}),
    ],
)
def test_what_a_point_says_by_a_mapping_base_and_variants_do(tmp_path: Path, path: str, value: dict[str, Any]) -> None:
    ranks = {"ranks": [16]}
    wanted = ids(expanded(tmp_path, experiment(cross=ranks | {path: [value]})))
    based = experiment(base=BASE | {"machine": {"name": "torus-S"}, path: value}, cross=ranks)
    named = experiment(cross=ranks | {"way": ["it"]}, variants={"way": {"it": {path: value}}})
    assert ids(expanded(tmp_path, based)) == ids(expanded(tmp_path, named)) == wanted


def test_members_are_made_of_their_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes time is done once for all members; each is what it would be by itself."""
    built = []

    def build(*arguments: Any) -> Point:
        built.append(build_point(*arguments))
        return built[-1]

    monkeypatch.setattr("tramontane.study.experiments.expansion.build_point", build)
    keys = {"cross": {"ranks": [4, 8]}, "exclude": ["member == 0 and ranks == 8"]}
    result = expanded(folder, experiment(ensemble=3, **keys))
    assert len(built) == 2
    points = [entry.point for entry in result.points if entry.point is not None]
    assert [(point.ranks, point.seed) for point in points] == [(4, 1), (4, 2), (4, 3), (8, 2), (8, 3)]
    assert [Point.from_canonical(point.canonical()).id for point in points] == [point.id for point in points]


@pytest.mark.parametrize("expression", ["8 * member + 8", "8 * seed"])
def test_what_is_derived_may_depend_on_the_member(folder: Path, expression: str) -> None:
    keys = {"derive": {"ranks": expression}, "figure": {"x": "member", "x_scale": "linear"}}
    result = expanded(folder, experiment(ensemble=3, **keys))
    assert [entry.point.ranks for entry in result.points if entry.point is not None] == [8, 16, 24]


def test_each_seed_of_an_ensemble_is_checked(folder: Path, line: Line) -> None:
    base = BASE | {"seed": 2**63 - 2}
    content = experiment(base=base, ensemble=3, figure={"x": "member", "x_scale": "linear"})
    assert "member=2" in line(lambda: expanded(folder, content))


def test_a_larger_ensemble_keeps_its_members(folder: Path) -> None:
    small = ids(expanded(folder, experiment(ensemble=2, figure={"x": "member", "x_scale": "linear"})))
    large = ids(expanded(folder, experiment(ensemble=5, figure={"x": "member", "x_scale": "linear"})))
    assert large[:2] == small


def test_two_coordinates_may_mean_one_point(folder: Path) -> None:
    variants = {"series": {"a": {"seed": 1}, "b": {"machine.link.latency": "0.1 us"}}}
    result = expanded(folder, experiment(cross={"series": ["a", "b"]}, variants=variants))
    assert len(result.points) == 2
    assert len(result.unique()) == 1


# --- mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        # the file as a whole
        ({"tittle": "T"}, "tittle: unknown key 'tittle'; did you mean 'title'? allowed: title, question, description"),
        ({"title": ""}, "title: found ''; allowed: a text"),
        (
            {"figure": {"panl": "a"}},
            "figure.panl: unknown key 'panl'; did you mean 'panel'? allowed: kind, panel, x, y",
        ),
        ({"figure": {"width": "wide"}}, "figure.width: found 'wide'; allowed: one-column, two-column"),
        ({"figure": {"lines": "sries"}}, "figure.lines: found 'sries'; allowed: a dimension: ranks"),
        (
            {"figure": {"best": [{"series": "a"}]}},
            "figure.best[0].of: missing; allowed: Names or shell patterns of the",
        ),
        ({"references": ["Y"]}, "references[0]: found 'Y'; allowed: Z, "),
        # paths
        (
            {"base": {"machine": {"topolgy": "torus"}}},
            "base.machine.topolgy: unknown key 'topolgy'; did you mean 'topol",
        ),
        (
            {"base": {"worklod.radix": 3}},
            "base.worklod.radix: unknown key 'worklod' in 'worklod.radix'; did you mean 'w",
        ),
        ({"base": {"ranks": {"a": 1}}}, "base.ranks: found {a: 1}; allowed: a value, not a mapping"),
        (
            {"cross": {"rank": [1]}},
            "cross.rank: unknown key 'rank'; did you mean 'ranks'? allowed: ranks, workload, mac",
        ),
        ({"cross": {"workload.radx": [2]}}, "cross.workload.radx: unknown key 'radx' in 'workload.radx'; did you mean"),
        ({"zip": [{"sed": [1]}]}, "zip[0].sed: unknown key 'sed'; did you mean 'seed'?"),
        (
            {"derive": {"workload.cnt": "1"}},
            "derive.workload.cnt: unknown key 'cnt' in 'workload.cnt'; did you mean 'co",
        ),
        ({"variants": {"sries": {"a": {}}}}, "variants.sries: found 'sries'; allowed: a key of cross: ranks"),
        # dimensions
        ({"cross": {"ranks": 16}}, "cross.ranks: found 16; allowed: a list of values, or $name of a list of the scale"),
        ({"cross": {"ranks": []}}, "cross.ranks: found []; allowed: a list of values"),
        ({"cross": {"ranks": [4, 8, 4]}}, "cross.ranks: found 4 twice; allowed: each value once"),
        (
            {"cross": {"ranks": [4], "s": ["b"]}, "variants": {"s": {"a": {"seed": 1}}}},
            "cross.s: found 'b'; allowed: a (variants.s)",
        ),
        (
            {"zip": [{"seed": [1, 2], "workload.radix": [2]}]},
            "zip[0].workload.radix: found 1 values; allowed: 2, as many as seed",
        ),
        (
            {"zip": [{"ranks": [4]}], "cross": {"ranks": [4]}},
            "cross: two dimensions 'ranks'; allowed: each parameter on",
        ),
        (
            {"cross": {"s": ["a"], "seed": [3]}, "variants": {"s": {"a": {"seed": 1}}}},
            "cross.seed: 'seed' is set by dimension 's' too; allowed: each value in one dimension",
        ),
        (
            {
                "cross": {"s": ["a"], "machine.geometry": [[4, 4, 4]]},
                "variants": {"s": {"a": {"machine.geometry": {"sizes": [4, 4, 4]}}}},
                "figure": {"x": "s"},
            },
            "cross.machine.geometry: 'machine.geometry' is set by dimension 's' too; allowed: each value in one dimens",
        ),
        (
            {"cross": {}, "figure": {}},
            "figure.x: found 'ranks'; allowed: a dimension: but the experiment varies nothing",
        ),
        ({"ensemble": 1.5}, "ensemble: found 1.5; allowed: a whole number, 1 or more, or $name of the scale"),
        ({"cross": {"ranks": [-16]}}, "cross.ranks: found -16; allowed: a whole number, 1 or more"),
        ({"ensemble": 0}, "ensemble: found 0; allowed: a whole number, 1 or more, or $name of the scale"),
        # scales
        (
            {"scales": {"smok": {}}},
            "scales.smok: unknown scale 'smok'; did you mean 'smoke'? allowed: smoke, l",
        ),
        ({"scales": {}}, "scales: found no scale; allowed: at least one of smoke, laptop, paper"),
        (
            {"cross": {"ranks": "$processes"}, "scales": {"smoke": {"proceses": [1]}}},
            "scales.smoke.processes: missing; did you mean 'proceses'? allowed: a value, because $processes is used",
        ),
        (
            {"scales": {"smoke": {"extra": 1}}},
            "scales.smoke.extra: unused value 'extra'; allowed: names that are used as $name or in an expression",
        ),
        (
            {"cross": {"ranks": "$p"}, "scales": {"smoke": {"p": {"decades": [100]}}}},
            "scales.smoke.p.decades: found [100]; allowed: {decades: [first, last]}",
        ),
        (
            {"cross": {"ranks": "$p"}, "scales": {"smoke": {"p": {"decades": [1, 9], "step": [1]}}}},
            "scales.smoke.p.step: unknown key 'step'; allowed: {decades: [first, last]}",
        ),
        # expressions
        ({"exclude": ["rank > 3"]}, "exclude[0]: unknown name 'rank' in 'rank > 3'; did you mean 'ranks'? allowed: "),
        (
            {"exclude": ["ranks >"]},
            "exclude[0]: found 'ranks >', which cannot be read (invalid syntax); allowed: an exp",
        ),
        (
            {"exclude": ["ranks + 1"]},
            "exclude[0]: found 17; allowed: an expression that is true or false (at ranks=16)",
        ),
        ({"exclude": ["width > 3"]}, "exclude[0]: 'width > 3' cannot be evaluated ("),
        ({"exclude": ["open('x')"]}, "exclude[0]: unknown name 'open' in 'open('x')'; "),
        ({"derive": {"seed": "().__class__"}}, "derive.seed: found '().__class__', which cannot be read ("),
        ({"derive": {"seed": "'x'"}}, "derive.seed: found 'x'; allowed: a whole number, 0 or more (at ranks=16)"),
        # points: the key is the line to mend
        ({"cross": {"ranks": [16, 300]}}, "cross.ranks: found 300 ranks on 256 nodes; allowed: at most 256, the nodes"),
        (
            {"cross": {"ranks": "$p"}, "scales": {"smoke": {"p": [16, 300]}}},
            "scales.smoke.p: found 300 ranks on 256 nodes; allowed: at most 256, the nodes of torus-S (at ranks=300)",
        ),
        (
            {"base": BASE | {"machine": "$m"}, "scales": {"smoke": {"m": "torus-X"}}},
            "scales.smoke.m: found machine 'torus-X'; did you mean 'torus-S'? allowed: dragonfly-LS, ",
        ),
        (
            {"cross": {"s": ["a"]}, "variants": {"s": {"a": {"workload.algorithm": "ring"}}}},
            "base.workload.radix: found 2, but algorithm ring has none; allowed: only with recursive-k (at s=a)",
        ),
        (
            {"cross": {"s": ["a"]}, "variants": {"s": {"a": {"machine.routing": "d-mod-k"}}}},
            "variants.s.a.machine.routing: found 'd-mod-k' for topology torus; allowed: minimal, valiant, ugal (at",
        ),
        (
            {"base": {"workload": WORKLOAD, "ranks": 16}},
            "base.machine: missing; allowed: The network: the name of a file",
        ),
    ],
)
def test_mistakes(folder: Path, keys: dict[str, Any], expected: str) -> None:
    content = experiment(**({"cross": {"ranks": [16]}} | keys))
    with pytest.raises(InputError) as caught:
        expanded(folder, content)
    text = str(caught.value).replace(str(folder / "x.yaml"), "x.yaml")
    assert text.startswith("x.yaml: ")
    assert text.removeprefix("x.yaml: ").startswith(expected)
    assert "\n" not in text


def product(sizes: tuple[int, int, int]) -> dict[str, list[int]]:
    starts = {"ranks": 1, "workload.radix": 2, "seed": 0}
    return {key: list(range(start, start + size)) for (key, start), size in zip(starts.items(), sizes, strict=True)}


@pytest.mark.parametrize("sizes", [(250, 200, 200), (2, 400, 399), (3, 59, 113)])
def test_too_many_points_are_refused_for_their_number(write: Write, line: Line, sizes: tuple[int, int, int]) -> None:
    loaded = load_experiment(write(json.dumps(experiment(cross=product(sizes)))))
    told = "{} points, {} ranks x {} radix x {} seed".format(math.prod(sizes), *sizes)
    assert line(swept, loaded, "smoke") == f"x.yaml: scales.smoke: found {told}; allowed: at most {MOST_POINTS}"


def test_as_many_points_as_allowed_are_accepted(write: Write) -> None:
    sizes = (2, 20, MOST_POINTS // 40)
    loaded = load_experiment(write(json.dumps(experiment(cross=product(sizes)))))
    assert math.prod(map(len, swept(loaded, "smoke").values())) == MOST_POINTS


def test_unknown_scale(folder: Path) -> None:
    with pytest.raises(InputError, match=r"scales.smokey: found 'smokey'; did you mean 'smoke'\? allowed: smoke"):
        expanded(folder, experiment(cross={"ranks": [4]}), "smokey")
