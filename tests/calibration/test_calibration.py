"""Fits recover the machine whose times they are given, and the simulator then gives those times back."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tramontane.calibration import calibrate as calibrating
from tramontane.calibration import fit, machine_file, measurement, side_by_side, summary
from tramontane.calibration.dataset import as_dataset
from tramontane.measurement import calibration
from tramontane.measurement.reframe_report import CaseOutcome
from tramontane.measurement.settings import Site
from tramontane.study import Machine, Point, System, validate_file
from tramontane.study.points.points import SystemChoice
from tramontane.study.reading.reading import read_yaml
from tramontane.study.systems.systems import Environment, Partition
from tramontane.study.workloads.workloads import Allreduce
from tramontane.substrates import get

TRUTH = fit.Parameters(latency=400e-9, bandwidth=8e9, copies=20e9, send=150e-9, receive=90e-9, eager_limit=4096)


def printed(parameters: fit.Parameters, noise: float = 0.0) -> dict[str, Any]:
    """Return what the program would print on a machine with these parameters."""
    draw = np.random.default_rng(3)
    sizes = []
    for size, time in zip(calibration.SIZES, fit.predict(parameters, calibration.SIZES), strict=True):
        best = float(time * (1 + noise * draw.uniform(-1, 1)))
        times = {"min": best, "median": 1.1 * best, "max": 3 * best}
        gap = {key: value / 2 for key, value in times.items()}
        send, receive = ({"min": o, "median": 2 * o, "max": 9 * o} for o in (parameters.send, parameters.receive))
        waiting = receive if size <= 1024 else None
        sizes.append({"bytes": size, "one_way_s": times, "gap_s": gap, "send_s": send, "receive_s": waiting})
    return {"mpi_library": "a library", "hosts": {"here": 2}, "sizes": sizes, "verified": True}


def measured(parameters: fit.Parameters, noise: float = 0.0) -> measurement.Messages:
    return measurement.messages(printed(parameters, noise))


def fitted(messages: measurement.Messages) -> fit.Parameters:
    return fit.fit(messages.sizes, messages.one_way, messages.send, messages.receive)


@pytest.mark.parametrize("copies", [20e9, None])
@pytest.mark.parametrize("limit", [1, 64, 4096, 65536])
def test_a_fit_finds_the_parameters(copies: float | None, limit: int) -> None:
    truth = fit.Parameters(400e-9, 8e9, copies if limit > 64 else None, 150e-9, 90e-9, limit)
    found = fitted(measured(truth))
    assert found.eager_limit == limit
    assert found.latency == pytest.approx(truth.latency, rel=1e-6)
    assert found.bandwidth == pytest.approx(truth.bandwidth, rel=1e-6)
    if truth.copies is None:
        assert found.copies is None or found.copies > 1e3 * truth.bandwidth
    else:
        assert found.copies == pytest.approx(truth.copies, rel=1e-6)


def test_noise_moves_a_fit_by_no_more_than_itself() -> None:
    found = fitted(measured(TRUTH, noise=0.05))
    assert found.eager_limit == TRUTH.eager_limit
    assert found.latency == pytest.approx(TRUTH.latency, rel=0.1)
    assert found.bandwidth == pytest.approx(TRUTH.bandwidth, rel=0.1)
    assert 0.005 < fit.deviation(found, calibration.SIZES, measured(TRUTH, noise=0.05).one_way) < 0.05


def test_times_that_fit_no_machine_are_refused() -> None:
    sizes = [1, 64, 1024]
    with pytest.raises(ValueError, match="fit no machine"):
        fit.fit(sizes, [3e-6, 2e-6, 1e-6], 0.0, 0.0)
    with pytest.raises(ValueError, match="less than overheads"):
        fit.fit(sizes, [1e-6, 1.1e-6, 1.2e-6], 5e-6, 0.0)
    for wrong in (0.0, -1e-9, float("nan")):
        with pytest.raises(
            ValueError, match=r"a message of 64 B: found a one-way time of .* s, allowed: more than 0 s"
        ):
            fit.fit(sizes, [1e-6, wrong, 1.2e-6], 0.0, 0.0)


@pytest.mark.parametrize("copies", [20e9, 1e9])
def test_the_simulator_gives_the_times_back(copies: float) -> None:
    truth = replace(TRUTH, copies=copies)
    described = machine_file.settings(truth, 2)
    for count in (1, 8, 9, 64, 512):  # up to the eager limit: two ranks exchange what one sends the other
        workload = {"kind": "allreduce", "algorithm": "recursive-doubling", "count": count, "repeats": 10}
        point = Point.model_validate({"ranks": 2, "workload": workload, "machine": described})
        simulated = get("simulator").run(point)["time_s"] / 10
        assert simulated == pytest.approx(fit.predict(truth, [8 * count])[0], rel=0.005)


@pytest.mark.parametrize("source", ["a test: with a colon", "1e5", "1_000", "0o17", "12", "yes", "2018-01-01", "-"])
def test_the_file_is_a_machine(tmp_path: Path, source: str) -> None:
    folder = tmp_path / "configs" / "machines"
    folder.mkdir(parents=True)
    (tmp_path / "configs" / "experiments").mkdir()
    file = folder / "here.yaml"
    file.write_text(machine_file.text(machine_file.settings(TRUTH, 16), "One switch.", source))
    validate_file(file)
    assert read_yaml(file)["source"] == source
    assert "latency: 400 ns" in file.read_text()
    assert "eager_limit: 4096 B" in file.read_text()


def outcome(case: str, said: dict[str, Any] | None, failure: str = "") -> tuple[str, CaseOutcome]:
    return case, CaseOutcome(case, said, failure, "cores", "openmpi", 1.0, "cmake")


def operation(time: float) -> dict[str, Any]:
    """Return what the program would print of an operation, a fifth of which is copies."""
    return {"time_s": {"min": time, "median": 1.5 * time}, "copy_s": {"min": time / 5}}


def test_points_are_measured_and_simulated_alike() -> None:
    asked: dict[str, Point | None] = {}

    def run(points: Mapping[str, Point | None]) -> list[tuple[str, CaseOutcome]]:
        asked.update(points)
        first, *others, last = points
        done = [outcome(case, operation(2e-4)) for case in others]
        return [outcome(first, printed(TRUTH)), *done, outcome(last, None, "wrong data")]

    wanted = list(calibration.operations([2, 4], SystemChoice(name="generic")))
    found = measurement.measure(run, wanted)
    assert list(asked) == [calibration.MESSAGES, *(own.case for own in wanted)]
    measured_points = list(asked.values())[1:]
    assert all(point and point.system == SystemChoice(name="generic") for point in measured_points)
    assert found.failures == {wanted[-1].case: "wrong data"}
    assert found.environment == "openmpi"
    fitted_machine = Machine.model_validate(machine_file.settings(TRUTH, 4))
    rows = list(side_by_side.compare(found.operations, get("simulator").run, fitted_machine))
    assert [row.ranks for row in rows] == [own.ranks for own in wanted[:-1]]
    assert rows[0].name == "allreduce recursive-doubling"
    library = next(row for row in rows if row.name == "allreduce library")
    assert library.simulated == rows[0].simulated > 0
    assert rows[0].ratio_without_copies == pytest.approx(1.25 * rows[0].ratio)
    table = summary.comparison(rows, processors=2)
    assert table.count("ranks share processors") == len(calibration.WORKLOADS) - 1


def test_without_messages_there_is_nothing_to_fit() -> None:
    with pytest.raises(RuntimeError, match="no MPI library"):
        measurement.measure(lambda points: [(next(iter(points)), "no MPI library")], [])


def test_damaged_messages_are_not_fitted() -> None:
    with pytest.raises(RuntimeError, match="calibration-messages: data were not verified"):
        measurement.measure(lambda points: [outcome(next(iter(points)), printed(TRUTH) | {"verified": False})], [])


def test_on_several_nodes_every_rank_gets_one() -> None:
    assert [calibration.per_node(2, nodes, 8) for nodes in (1, 2, 3)] == [2, 1, 1]
    assert [calibration.per_node(16, nodes, 8) for nodes in (1, 2, 4, 5, 16)] == [8, 8, 4, 4, 1]
    assert calibration.hosts_wrong({"a": 2}, 1) == calibration.hosts_wrong({"a": 1, "b": 1}, 2) == ""
    assert calibration.hosts_wrong({"a": 2}, 2).startswith("both ranks ran on a, so messages went through its memory")


def test_the_partition_that_ran_says_what_a_machine_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the first one; allreduces of more ranks than nodes say nothing of the network."""
    environments = {"e": Environment(compiler="mpicxx")}
    partitions = {
        "first": Partition(environments=["e"], ranks_per_node=64),
        "second": Partition(environments=["e"], ranks_per_node=20, nodes=4, scheduler="squeue", launcher="srun"),
    }
    system = System(description="x", hosts=[".*"], environments=environments, partitions=partitions)
    monkeypatch.setattr(calibrating, "look_around", lambda _: Site({"site": system}, []))
    chosen: list[SystemChoice] = []

    def runner(choice: SystemChoice, folder: Path, root: Path) -> measurement.Run:
        chosen.append(choice)
        return lambda points: [
            outcome(case, operation(2e-4) if point else printed(TRUTH)) for case, point in points.items()
        ]

    monkeypatch.setattr(calibrating, "runner", runner)
    found = calibrating.calibrate(SystemChoice(name="site", partition="second"), [2, 4, 8], tmp_path, tmp_path)
    assert chosen == [SystemChoice(name="site", partition="second", environment="e")]
    assert found.machine["nodes_per_switch"] == 20
    assert found.processors == 80
    # Of 200 us a fifth is copies, which no network makes; the rest is shared by all stages of all repeats.
    workload = next(calibration.operations([2])).point.workload
    assert isinstance(workload, Allreduce)
    repeats = workload.repeats
    assert [stage.ranks for stage in found.stages] == [2, 4]
    assert [stage.time for stage in found.stages] == pytest.approx([1.6e-4 / repeats, 1.6e-4 / (2 * repeats)])


def test_allreduces_enter_the_fit_stage_by_stage() -> None:
    workload = next(calibration.operations([8])).point.workload
    assert fit.stages(6, workload, 1.0) is None, "folding in the others is no stage"
    truth = float(fit.predict(TRUTH, [24])[0])
    stage = fit.stages(8, workload, 3 * 50 * truth)
    assert stage is not None
    assert stage == fit.Stages(8, 24, stage.time)
    assert stage.time == pytest.approx(truth)
    messages = measured(TRUTH)
    given = (messages.sizes, messages.one_way, messages.send, messages.receive)
    assert fit.fit(*given, [stage]).latency == pytest.approx(TRUTH.latency, rel=1e-6)
    slower = [fit.Stages(ranks, 24, 1.5 * truth) for ranks in (2, 4, 8, 16)]
    assert TRUTH.latency * 1.05 < fit.fit(*given, slower).latency < TRUTH.latency * 1.5
    assert fit.fit(*given, slower).eager_limit in messages.sizes


def test_a_calibration_can_be_drawn(tmp_path: Path) -> None:
    from analysis.draw import draw_files
    from analysis.figures import draw, show
    from tramontane.results.datasets import write

    messages = measured(TRUTH, noise=0.1)
    stages = [fit.Stages(2, 24, 1.2e-6), fit.Stages(4, 24, 1.3e-6)]
    dataset = as_dataset("here", messages, fitted(messages), [], stages)
    assert json.loads(dataset.attrs["parameters_json"])["eager_limit"] == TRUTH.eager_limit
    write(dataset, tmp_path / "here.nc")
    written = draw_files([tmp_path / "here.nc"], tmp_path / "here")
    assert all(file.stat().st_size > 0 for file in written)
    rows = show(dataset).numbers.rows
    assert len(rows) == len(calibration.SIZES) + 2
    assert rows[-1][:2] == ["24 B, stage of an allreduce of 4 ranks", "1.3 µs"]
    dataset["one_way_median_s"] *= 30
    times = draw(dataset).axes[0]
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in times.lines[:3]])
    assert times.get_ylim()[0] < drawn.min() < drawn.max() < times.get_ylim()[1], "medians are not cut off"


def test_the_summary_names_all_that_was_asked_for() -> None:
    messages = measured(TRUTH)
    said = "\n".join(summary.summary(messages, fitted(messages)))
    for word in (
        "latency of a link    400 ns, 1.04e+03 ns one way with overheads",
        f"8 GB/s (a window of messages: {2e-9 * 2**18 / messages.one_way[-1]:.3g} GB/s)",
        "o_s 150 ns, o_r 90 ns",
        f"message rate         {2e-6 / messages.one_way[0]:.3g} million/s (of the fitted machine: 6.67)",
        "eager limit          4096 B",
    ):
        assert word in said
