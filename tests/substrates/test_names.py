"""Substrates by name: what a point may say is what there is."""

import pytest

from tramontane.errors import InputError
from tramontane.study.points.points import SUBSTRATES
from tramontane.substrates import get


@pytest.mark.parametrize("name", SUBSTRATES)
def test_every_name_has_its_substrate(name: str) -> None:
    assert get(name).name == name


def test_another_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"found 'simgird'; did you mean 'simgrid'\? allowed: simulator, mpi"):
        get("simgird")
