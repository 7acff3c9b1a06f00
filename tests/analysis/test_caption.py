import json
from pathlib import Path
from typing import Any

import pytest

from analysis.caption import caption
from tramontane.study.networks.machines import Machine
from tramontane.study.patterns.patterns import PROJECT

from .conftest import Factory

MACHINES = {
    "torus-M": {"topology": "torus", "geometry": [25, 25, 25], "nodes_per_switch": 25, "routing": "minimal"},
    "fattree-M": {"topology": "fattree", "geometry": [4, 25], "nodes_per_switch": 25, "routing": "d-mod-k"},
}


def test_a_caption_states_what_is_drawn_and_on_what(factory: Factory) -> None:
    assert caption(factory()) == (
        "(a) Time of one transposition. "
        "Smoke scale: grid 1440\u202f×\u202f720\u202f×\u202f64, 100 to 100\u202f000 processes. "
        "Machine: torus (8\u202f×\u202f8\u202f×\u202f8, 2 nodes per switch, minimal routing). "
        "Links and injection 10 GB/s and 100 ns, packets of 4096 B, buffers of 64 KB per link. "
        "Run on the embedded packet-flow simulator, model revision 3; 28 of 28 points."
    )


def test_points_without_result_are_counted(factory: Factory) -> None:
    gaps = {("burst", 100): "failed", ("burst", 300): "failed", ("bruck", 100): "missing", ("ring-1", 100): "excluded"}
    text = caption(factory(gaps=gaps))
    assert "24 of 27 points (2 failed, 1 missing, 1 excluded by the experiment)" in text
    assert text.endswith("lines are interrupted where there is no result.")
    bars = factory(gaps=gaps, figure={"kind": "links"})
    assert caption(bars).endswith("(2 failed, 1 missing, 1 excluded by the experiment).")


def test_repeats_cut_short_are_stated(factory: Factory) -> None:
    dataset = factory()
    everything = {"repeats_simulated": 50.0, "repeats_left_out": 0.0, "steady_error": 0.0}
    for name, value in everything.items():
        dataset[name] = dataset["time_s"] * 0 + value
    assert "cut short" not in caption(dataset)
    for (simulated, error), ranks in zip([(14, 0.0031), (20, 0.0098)], (10_000, 100_000), strict=True):
        place = {"series": "burst", "ranks": ranks}
        dataset["repeats_simulated"].loc[place] = simulated
        dataset["repeats_left_out"].loc[place] = 50 - simulated
        dataset["steady_error"].loc[place] = error
    assert (
        "At 2 points repeats were cut short when steady, after 14 or more; "
        "the error of the time is at most 0.98\u202f%." in caption(dataset)
    )


def test_stages_that_were_sampled_are_stated(factory: Factory) -> None:
    dataset = factory()
    for name in ("stages_simulated", "stages_left_out", "steady_error"):
        dataset[name] = dataset["time_s"] * 0
    assert "stages" not in caption(dataset)
    place = {"series": "burst", "ranks": 100_000}
    dataset["stages_left_out"].loc[place] = 40
    dataset["steady_error"].loc[place] = 0.021
    interval = "the 95\u202f% interval of the time (bands) is at most ±\u202f2.1\u202f%."
    assert f"At 1 point a part of the stages was simulated; {interval}" in caption(dataset)


def test_several_machines_are_named_each_with_its_shape(factory: Factory) -> None:
    text = caption(factory(("torus-M", "fattree-M"), attrs={"machines_json": json.dumps(MACHINES)}))
    assert (
        "Machines: torus-M (25\u202f×\u202f25\u202f×\u202f25, 25 nodes per switch, minimal routing); "
        "fattree-M (4 levels, 25 down ports, d-mod-k routing)." in text
    )


def test_a_swept_parameter_is_not_stated_as_common(factory: Factory) -> None:
    base = {
        "machine": {"link": {"latency": 100_000}, "injection": {"bandwidth": 10**10, "latency": 10**6}, "packet": 4096}
    }
    text = caption(factory(attrs={"base_json": json.dumps(base), "machines_json": json.dumps(MACHINES)}))
    assert "Links 100 ns, injection 10 GB/s and 1 µs, packets of 4096 B." in text
    assert "buffer" not in text


def test_different_injection_is_stated_apart(factory: Factory) -> None:
    text = caption(factory(machine={"injection": {"bandwidth": 6_000_000_000, "latency": 1_000_000}}))
    assert "Links 10 GB/s and 100 ns, injection 6 GB/s and 1 µs" in text


def test_quantities_that_are_text_already_are_kept(factory: Factory) -> None:
    assert "packets of 4 KiB, buffers of 32 KiB per link" in caption(
        factory(machine={"packet": "4 KiB", "buffer": "32 KiB"})
    )


@pytest.mark.parametrize(
    ("members", "sentence"), [(5, "Lines are medians of 5 members, bands their range."), (0, None)]
)
def test_ensembles_are_explained(factory: Factory, members: int, sentence: str | None) -> None:
    text = caption(factory(members=members))
    assert (sentence in text) if sentence else ("members" not in text)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("congestion-matrix", "Matrices are means of 5 members."),
        ("delay-distribution", "Shares below a delay are medians of 5 members."),
        ("links", "Loads are medians of 5 members, parts of the time their means."),
        ("link-map", "Loads are those of the first of 5 members."),
        ("radix", "Best radices are medians of 5 members."),
        ("steps", "Lines are medians of 5 members, bands their range; bars are their means."),
    ],
)
def test_what_stands_for_an_ensemble_is_said_of_each_family(factory: Factory, kind: str, sentence: str) -> None:
    text = caption(factory(members=5, figure={"kind": kind}))
    assert sentence in text
    assert text.count("5 members") == 1


@pytest.mark.parametrize(
    ("kind", "ranks", "sentence"),
    [
        ("links", (100, 300), "Of each series the largest number of processes is shown."),
        ("pattern", (300, 100), "The pattern is that of 300 processes."),
        ("steps", (100,), "Bars are means of 5 members."),
    ],
)
def test_a_caption_says_what_is_drawn_where_not_all_is(
    factory: Factory, kind: str, ranks: tuple[int, ...], sentence: str
) -> None:
    assert sentence in caption(factory(("burst",), ranks, members=5, figure={"kind": kind}))
    assert "shown" not in caption(factory(("burst",), (100,), members=5, figure={"kind": kind}))


def test_the_best_of_a_group_is_explained(factory: Factory) -> None:
    best = {"best": [{"series": "recursive-k", "of": ["recursive-*"], "label": "recursive-k (best radix)"}]}
    assert "'recursive-k (best radix)' is the fastest of its variants at each point." in caption(factory(figure=best))


def test_a_reduced_dimension_is_explained(factory: Factory) -> None:
    dataset = factory(extra={"radix": (2, 4)}, figure={"reduce": {"radix": "min"}})
    assert "Each point is the smallest over the radix." in caption(dataset)


def test_several_grids_are_all_stated(factory: Factory) -> None:
    text = caption(factory(attrs={"grids_json": "[[720, 360, 64], [1440, 720, 64]]"}))
    assert "grid 720\u202f×\u202f360\u202f×\u202f64 and 1440\u202f×\u202f720\u202f×\u202f64" in text


def test_another_substrate_is_named(factory: Factory) -> None:
    base = {"substrate": "sstmacro", "ranks": 64}
    text = caption(factory(attrs={"base_json": json.dumps(base)}))
    assert "Run on SST/macro;" in text
    assert "Machine" not in text


def test_a_dataset_that_says_nothing_still_has_a_caption(factory: Factory) -> None:
    dataset = factory(("ring-4",), (64,))
    dataset.attrs = {"title": "Nothing known"}
    assert caption(dataset) == "Nothing known. 64 processes. Run on the embedded packet-flow simulator; 1 of 1 points."


def test_fewer_members_at_some_points_are_stated(factory: Factory) -> None:
    dataset = factory(members=3)
    assert "medians of 3 members" in caption(dataset)
    dataset["status"][{"ranks": -1, "member": slice(1, None)}] = "excluded"
    assert "medians of 1 to 3 members" in caption(dataset)


def test_links_of_a_graph_are_those_of_its_file(
    factory: Factory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "configs" / "experiments").mkdir(parents=True)
    monkeypatch.setenv(PROJECT, str(tmp_path))
    file = tmp_path / "lab.csv"
    file.write_text("source,target,class,bandwidth,latency\na,b,rack,25 GB/s,100 ns\nb,c,row,25 GB/s,400 ns\n")
    machine = Machine.model_validate({"topology": "graph", "file": str(file)})

    def stated(own: dict[str, Any]) -> str:
        return caption(factory(attrs={"base_json": json.dumps({"machine": own})}))

    known = machine.model_dump(mode="json", exclude_none=True)
    found = "ejection links 10 GB/s and 100 ns, rack links 25 GB/s and 100 ns, row links 25 GB/s and 400 ns, "
    assert f"Injection 10 GB/s and 100 ns, {found}" in stated(known)
    file.write_text("source,target\na,b\nb,c\n")
    alike = Machine.model_validate({"topology": "graph", "file": str(file)}).model_dump(mode="json", exclude_none=True)
    assert "Links and injection 10 GB/s and 100 ns, " in stated(alike)
    # What is swept is not stated, nor what only a table could tell that is not there.
    assert "inks 10 GB/s" not in stated(known | {"link": {"latency": 100_000}})
    assert "inks 10 GB/s" not in stated(known | {"table": "0" * 64})
