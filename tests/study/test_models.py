"""Whatever the schema of a model allows is accepted, or refused in one line."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from tests.study.strategies import written
from tramontane.study.checking import NamedGrid, PrintedAlgorithm, PrintedNetwork, Reference
from tramontane.study.experiments.claims import Claims, Judgement
from tramontane.study.experiments.experiments import Experiment
from tramontane.study.experiments.figures import Drawing
from tramontane.study.experiments.studies import Study
from tramontane.study.networks.machines import Machine
from tramontane.study.points.points import Point
from tramontane.study.reading.layers import Origin
from tramontane.study.reading.messages import explain
from tramontane.study.sampling.plausible import Plausible
from tramontane.study.sampling.sampling import Sample
from tramontane.study.systems.libraries import LibraryAlgorithm
from tramontane.study.systems.systems import System

MODELS: list[type[BaseModel]] = [
    *(Point, Machine, Experiment, Drawing, System, Claims, Judgement),
    *(NamedGrid, Reference, PrintedNetwork, PrintedAlgorithm, LibraryAlgorithm),
    *(Sample, Study, Plausible),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_a_schema_allows_is_read_or_refused_in_one_line(model: type[BaseModel], data: st.DataObject) -> None:
    given_: Any = data.draw(written(model))
    try:
        read = model.model_validate(given_)
    except ValidationError as error:
        line = str(explain(error, model, Origin(Path("x.yaml"), "").inside))
        assert len(line.splitlines()) == 1
        assert "; allowed: " in line or "? allowed: " in line
    else:
        if isinstance(read, Point):
            assert Point.from_canonical(read.canonical()).id == read.id


def test_a_model_that_nothing_is_read_as_is_not_compiled() -> None:
    """That of all models takes longer than most commands."""
    asked = "from tramontane.study.experiments.claims import Claims as C; print(C.__pydantic_complete__)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
