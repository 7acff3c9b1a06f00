"""Batches: every point once, about equal cost, few jobs."""

import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.points import POINT
from tramontane.campaign.packing import PER_CORE, SMALLEST, SMALLEST_ON_GPU, Job, number_of_batches, pack, pack_all


def jobs(costs: list[float]) -> list[Job]:
    return [Job(f"{number:016x}", POINT, cost, 1000 + number) for number, cost in enumerate(costs)]


COSTS = st.lists(st.floats(0, 1e4), min_size=1, max_size=300)


@given(COSTS, st.integers(1, 64))
def test_every_point_is_in_exactly_one_batch(costs: list[float], cores: int) -> None:
    batches = pack(jobs(costs), cores)
    packed = [job.identity for batch in batches for job in batch.jobs]
    assert sorted(packed) == [job.identity for job in jobs(costs)]
    assert all(batch.jobs for batch in batches)
    assert len({batch.identity for batch in batches}) == len(batches)


@given(COSTS, st.integers(1, 64))
def test_no_batch_is_much_larger_than_the_mean(costs: list[float], cores: int) -> None:
    batches = pack(jobs(costs), cores)
    mean = sum(costs) / len(batches)
    # Graham's bound for the rule "longest first": the last point put into the fullest batch found it at most average.
    assert max(batch.seconds for batch in batches) <= mean + max(costs) + 1e-6


@given(COSTS, st.integers(1, 8), st.randoms(use_true_random=False))
def test_the_order_of_points_does_not_matter(costs: list[float], cores: int, shuffler: random.Random) -> None:
    points = jobs(costs)
    first = pack(points, cores)
    shuffler.shuffle(points)
    assert pack(points, cores) == first


def test_the_most_expensive_batch_comes_first_and_in_it_the_longest_point() -> None:
    batches = pack(jobs([1.0, 500.0, 30.0, 2.0, 90.0] * 20), 2)
    seconds = [batch.seconds for batch in batches]
    assert seconds == sorted(seconds, reverse=True)
    assert all(batch.jobs[0].seconds == max(job.seconds for job in batch.jobs) for batch in batches)


def test_ten_thousand_points_make_about_a_hundred_jobs() -> None:
    drawn = random.Random(1)
    costs = [drawn.lognormvariate(1, 1.5) for _ in range(10_000)]
    batches = pack(jobs(costs), 2)
    assert 90 <= len(batches) <= 110
    loads = [batch.seconds for batch in batches]
    assert max(loads) < 1.05 * min(loads)


def test_a_small_campaign_still_keeps_all_cores_busy() -> None:
    assert len(pack(jobs([0.1] * 100), 2)) == 2 * PER_CORE
    assert len(pack(jobs([2.0] * 3), 2)) == 3
    assert len(pack(jobs([0.1]), 2)) == 1


def test_points_of_next_to_no_cost_are_no_jobs_of_their_own() -> None:
    assert {len(batch.jobs) for batch in pack(jobs([0.0] * 16), 2)} == {8}
    assert len(pack(jobs([0.1] * 35), 2)) == 4


def test_a_medium_campaign_is_cut_by_cost() -> None:
    assert number_of_batches([1.0] * 1000, 2) == 1000 / SMALLEST


def test_a_batch_is_for_cores_or_for_a_gpu() -> None:
    points = [dataclasses.replace(job, gpu_memory=number % 3 == 0) for number, job in enumerate(jobs([1.0] * 30))]
    batches = pack_all(points, 2)
    assert sorted(job.identity for batch in batches for job in batch.jobs) == [job.identity for job in points]
    assert all(len({job.on_gpu for job in batch.jobs}) == 1 for batch in batches)
    # One machine has one GPU, which has one batch at a time.
    assert [batch.on_gpu for batch in batches].count(True) == 1
    assert len(batches) > 2


def test_a_gpu_gets_many_small_points_at_a_time() -> None:
    points = [dataclasses.replace(job, gpu_memory=1) for job in jobs([1.0] * 1000)]
    assert len(pack_all(points, 2)) == 1000 / SMALLEST_ON_GPU


def test_a_batch_needs_the_memory_of_its_largest_point() -> None:
    [batch] = pack(jobs([1.0, 2.0, 3.0]), 1)[:1]
    assert batch.memory == max(job.memory for job in batch.jobs)


@pytest.mark.parametrize("cores", [1, 2, 128])
def test_no_points_no_batches(cores: int) -> None:
    assert pack([], cores) == []
