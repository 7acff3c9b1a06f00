"""What the tests of the study room share: the project's folder, its sample point and a way to ask for an error line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tramontane.errors import InputError

ROOT = Path(__file__).parents[2]

SAMPLE = """\
ranks: 256
workload: {kind: transposition, algorithm: ring-k, radix: 4, grid: [1440, 720, 64], decomposition: [16, 16]}
machine:
  topology: torus              # torus | fattree | dragonfly (2D all-to-all groups)
  geometry: [8, 8, 8]
  nodes_per_switch: 2
  routing: minimal
  link: {bandwidth: 10 GB/s, latency: 100 ns}
  injection: {bandwidth: 10 GB/s, latency: 100 ns}
  crossbar: {bandwidth: 80 GB/s}      # one shared server a switch
  packet: 4096 B
  buffer: 64 KB                       # per link, divided by the virtual channels
  protocol: {eager_limit: 8192 B, short_limit: 512 B, negligible_size: 0 B}
  model: default
allocation: first-available
substrate: simulator
seed: 1
start_jitter: 0 ns
"""


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
def sample() -> str:
    """The sample point of the project's design, as it stands there."""
    return SAMPLE


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a text to a file of a temporary folder."""

    def make(text: str, name: str = "x.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return make


@pytest.fixture
def line() -> Callable[..., str]:
    """Call something that must refuse its input and return the one line, without the folder of the file."""

    def ask(function: Callable[..., Any], *arguments: Any) -> str:
        with pytest.raises(InputError) as caught:
            function(*arguments)
        text = str(caught.value)
        assert "\n" not in text
        source = str(caught.value.source)
        assert source in text or Path(source).name in text
        return text.replace(source, Path(source).name)

    return ask
