"""Whatever is given to Tramontane, the answer is a result or one line within seconds; no string is executed."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import judge
from tests.fuzz.__main__ import EXPERIMENT, ROOT, Project
from tests.fuzz.corpus import corpus
from tests.fuzz.draw import COMMAND, TABLE, WHERE, Drawn, draw

# Coverage would take most of the time, and see nothing that other tests don't execute.
pytestmark = pytest.mark.no_cover


@pytest.fixture(autouse=True)
def busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow what a loaded machine, and the counting of lines, take: `python -m tests.fuzz` is what measures."""
    monkeypatch.setattr(judge, "SECONDS", 10.0)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("fuzz"))


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What would have been given to the system or to Python, from now on."""
    found: list[Any] = []
    for name in ("os.system", "os.popen", "subprocess.Popen.__init__", "os.execv", "os.posix_spawn"):
        monkeypatch.setattr(name, lambda *given, **_: found.append(given))
    return found


def faults(project: Project, inputs: list[Drawn], *, refused: bool) -> list[str]:
    """Return what is wrong with the answers; of the corpus, also what is not refused, or for another reason."""
    wrong = []
    for drawn in inputs:
        answer = project.judge(drawn)
        told = answer.fault
        if refused and not told and answer.line is None:
            told = "was accepted"
        elif refused and not told and drawn.told not in (answer.line or ""):
            told = f"{drawn.told!r} is not in {answer.line}"
        if told:
            wrong.append(f"{drawn.kind} {drawn.number} {drawn.file} {drawn.words} {drawn.content[-300:]!r}: {told}")
    return wrong


def test_the_corpus_is_refused(
    project: Project, executed: list[Any], record_property: Callable[[str, object], None]
) -> None:
    inputs = list(corpus(ROOT))
    record_property("cases", len(inputs))
    assert len(inputs) >= 1000
    assert len(Counter(drawn.kind for drawn in inputs)) >= 11
    assert not faults(project, inputs, refused=True)
    assert not executed
    assert not list(project.root.rglob("*pwned*"))
    assert not list(Path().glob("*pwned*"))


def test_drawn_inputs_end_in_one_line(
    project: Project, executed: list[Any], pytestconfig: pytest.Config, record_property: Callable[[str, object], None]
) -> None:
    seeds = range(1, 11) if pytestconfig.getoption("--hypothesis-profile") == "long" else range(1, 2)
    inputs = [drawn for seed in seeds for drawn in draw(seed, 100, ROOT)]
    record_property("cases", len(inputs))
    assert not faults(project, inputs, refused=False)
    assert not executed


def test_a_seed_draws_the_same() -> None:
    first, again, other = (list(draw(seed, 30, ROOT)) for seed in (5, 5, 6))
    assert first == again
    assert first != other


@pytest.mark.slow
def test_processes_answer_alike(project: Project, pytestconfig: pytest.Config) -> None:
    number = 100 if pytestconfig.getoption("--hypothesis-profile") == "long" else 2
    files = [drawn for drawn in draw(3, 10 * number, ROOT) if drawn.kind not in (TABLE, WHERE, COMMAND)][:number]
    assert not [answer.fault for answer in map(project.process, files) if answer.fault]


def test_one_bad_file_breaks_no_other_experiment(tmp_path: Path) -> None:
    project = Project(tmp_path)
    configs = project.root / "configs"
    for file in configs.glob("experiments/*.yaml"):  # to look at thousands of points would say no more
        if file.name not in {Path(EXPERIMENT).name, "fig05a-alltoall-algorithms.yaml"}:
            file.unlink()
    for folder in ("claims", "samples"):  # which name experiments
        shutil.rmtree(configs / folder)
    (configs / "machines/torus-broken.yaml").write_text("topology: [", encoding="utf-8")
    (configs / "experiments/a b.yaml").write_text("title: x", encoding="utf-8")
    line = ("estimate", "fig09d", "--scale=smoke")
    assert project.judge(Drawn(COMMAND, 0, words=line)).line is None
    answer = project.judge(Drawn(COMMAND, 0, words=("validate",)))
    assert answer.line is not None
    assert [text.split(":")[0] for text in answer.line.splitlines()] == [
        "configs/experiments/a b.yaml",
        "configs/machines/torus-broken.yaml",
    ]
