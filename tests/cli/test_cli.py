"""The command line: answers on standard output, one line for each mistake, exit status 2."""

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import psutil
import pytest
from ruamel.yaml import YAML

from tests.simulator.points import without_costs
from tests.waiting import wait_for
from tramontane import __version__, cli
from tramontane.campaign.plan import Plan
from tramontane.cli.calibrate import _counts
from tramontane.cli.options import stem_to_write
from tramontane.errors import InputError
from tramontane.substrates.mpi import tracing
from tramontane.substrates.simulator import schedule

ROOT = Path(__file__).parents[2]

POINT = """\
ranks: 8
workload: {kind: transposition, algorithm: ring-k, radix: 2, grid: [16, 16, 8]}
machine: {topology: torus, geometry: [2, 2, 2], nodes_per_switch: 1}
"""

JOBS = """\
title: Two jobs
question: Who is in the way?
description: A program beside background traffic.
base:
  machine: {topology: torus, geometry: [2, 2, 2], nodes_per_switch: 1}
  workload: {kind: jobs}
  ranks: 6
cross:
  allocation: [first-available, random]
  sender: [1, 2]
variants:
  sender:
    1:
      workload.jobs:
        - name: model
          ranks: 4
          workload:
            kind: program
            repeat: 3
            steps: [{pattern: {file: table-1.csv}}, &work {work: {time: 10 us, noise: 2.5 %}}]
        - &background
          name: background
          ranks: 2
          start: 100 us
          allocation: random
          workload: {kind: random-shifts, bytes: 100 KB, rounds: 5}
    2:
      workload.jobs:
        - {name: model, ranks: 4, workload: {kind: program, repeat: 3, steps: [{pattern: {file: table-2.csv}}, *work]}}
        - *background
scales:
  smoke: {}
figure: {y: time_s, x: sender}
"""


class Answer(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def tramontane(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run a command line in this process."""

    def run(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["tramontane", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return Answer(int(caught.value.code or 0), *capfd.readouterr())

    return run


@pytest.fixture
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project)
    return project


def write(folder: Path, text: str, name: str = "point.yaml") -> str:
    (folder / name).write_text(text)
    return name


@pytest.mark.parametrize("words", [(), ("graph",), ("pattern",)])
def test_a_group_without_a_command_tells_its_help(tramontane: Callable[..., Answer], words: tuple[str, ...]) -> None:
    answer = tramontane(*words)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.strip() == tramontane(*words, "--help").out.strip()
    # Each command is told in a line that fits a terminal of 80 columns: none is cut.
    assert "..." not in answer.err.partition("\n\nCommands:\n")[2]
    assert "\n\nCommands:\n" in answer.err


def test_help_loads_nothing_that_it_does_not_need() -> None:
    """That is what makes it quick: the rest takes some tenths of a second to import."""
    script = "import sys; from tramontane import cli; sys.argv[1:] = ['--help']\ntry: cli.main()\n"
    script += "finally: print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "typer" in loaded
    assert not loaded & {
        "pydantic",
        "numpy",
        "xarray",
        "yaml",
        "rich",
        "tramontane.study",
        "tramontane._simulator",
    }
    assert "reproduce" in done.stdout
    assert "run-batch" not in done.stdout


COMMANDS = [(command.name or command.callback.__name__) for command in cli.app.registered_commands if command.callback]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_however_it_is_called(command: str, tramontane: Callable[..., Answer]) -> None:
    answer = tramontane(command, "--help")
    assert (answer.status, answer.err) == (0, "")
    assert f"tramontane {command} " in answer.out
    assert not re.search(r"\nArguments:\n  \[?[a-z]", answer.out)  # FILE, not file


def test_the_package_is_a_program_too(here: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tramontane.cli", "calibrate"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Missing option '--output'" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("memory", "said"), [("64", "without a unit"), ("2 GHz", "found unit 'GHz'"), ("0 GB", "more than zero")]
)
def test_an_amount_of_memory_is_written_as_in_any_file(
    here: Path, tramontane: Callable[..., Answer], memory: str, said: str
) -> None:
    answer = tramontane("run", write(here, POINT), "--memory", memory)
    assert answer.status == 2
    assert answer.err.startswith("--memory: found ")
    assert said in answer.err
    assert "64 GB" in answer.err


def test_version(tramontane: Callable[..., Answer]) -> None:
    assert tramontane("--version") == Answer(0, f"tramontane {__version__}\n", "")


def test_run_prints_one_json_object_and_nothing_else(here: Path, tramontane: Callable[..., Answer]) -> None:
    answer = tramontane("run", write(here, POINT))
    assert answer.err == ""
    assert answer.status == 0
    assert answer.out.count("\n") == 1
    result = json.loads(answer.out)
    assert {
        *("id", "substrate", "time_s", "phases", "messages", "packets", "bytes", "hops", "wall_s", "setup_s"),
        *("peak_rss_bytes", "control_packets", "imbalance", "model_revision"),
    } <= set(result)
    assert result["substrate"] == "simulator"
    assert list(result["phases"]) == ["a-b", "b-c", "c-d"]
    assert 0 < max(result["phases"].values()) < result["time_s"]
    assert result["imbalance"] == 1.0
    assert (
        tramontane("run", "point.yaml", "--substrate", "simulator").out.split('"peak')[0].split("wall_s")[0]
        == (answer.out.split('"peak')[0].split("wall_s")[0])
    )


def test_run_gives_the_same_with_several_threads(here: Path, tramontane: Callable[..., Answer]) -> None:
    one = json.loads(tramontane("run", write(here, POINT)).out)
    two = json.loads(tramontane("run", write(here, POINT), "--threads", "2").out)
    assert (one["threads"], two["threads"]) == (1, 2)
    assert without_costs(one) == without_costs(two)


@pytest.mark.parametrize("topology", ["torus", "fattree", "dragonfly"])
def test_run_answers_for_every_topology(here: Path, tramontane: Callable[..., Answer], topology: str) -> None:
    geometry = {"torus": "[2, 2, 2]", "fattree": "[2, 4]", "dragonfly": "[2, 2, 2]"}[topology]
    machine = f"machine: {{topology: {topology}, geometry: {geometry}}}"
    answer = tramontane("run", write(here, POINT.replace(POINT.splitlines()[2], machine)))
    assert answer.status == 0, answer.err
    assert json.loads(answer.out)["time_s"] > 0


def test_run_refuses_what_would_not_fit(here: Path, tramontane: Callable[..., Answer]) -> None:
    answer = tramontane("run", write(here, POINT), "--memory", "1MB")
    assert (answer.status, answer.out) == (2, "")
    assert re.fullmatch(
        r".*: not run: about \d+ MB of memory needed, 1 MB there \(--memory overrides this\)\n", answer.err
    )
    assert tramontane("run", write(here, POINT), "--memory", "1GB").status == 0


def change(old: str, new: str) -> str:
    assert old in POINT
    return POINT.replace(old, new)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (change("topology", "topolgy"), ["machine.topolgy", "unknown key", "did you mean 'topology'?"]),
        (change("torus", "tours"), ["machine.topology", "'tours'", "torus, fattree, dragonfly"]),
        (
            change("nodes_per_switch: 1", "link: {bandwidth: 10 GB}"),
            ["machine.link.bandwidth", "'10 GB'", "GB/s"],
        ),
        (change("8]}", "8], decomposition: [3, 2]}"), ["workload.decomposition", "[3, 2]", "cx * cy = 8"]),
        (change("grid: [16, 16, 8]", "grid: [16, 16, 1], decomposition: [2, 4]"), ["cx = 2 > nz = 1"]),
        (change("ranks: 8", "ranks: 80"), ["ranks", "80 ranks on 8 nodes"]),
        ("ranks: [", ["not YAML"]),
        ("", ["empty"]),
    ],
)
def test_a_mistake_in_a_point_is_one_line(
    here: Path, tramontane: Callable[..., Answer], text: str, parts: list[str]
) -> None:
    for command in ("run", "validate"):
        answer = tramontane(command, write(here, text))
        assert answer.status == 2
        assert answer.out == ""
        assert answer.err.count("\n") == 1
        assert answer.err.startswith("point.yaml: ")
        for part in parts:
            assert part in answer.err


@pytest.mark.parametrize("cores", [1, 3])
def test_mistakes_in_many_files_are_told_in_their_order(
    here: Path, tramontane: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    import threading

    from tramontane.support import host

    monkeypatch.setattr(host, "cores", lambda: cores)
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # pytest has some of its own
    texts = [change("ranks: 8", f"ranks: {80 + i}" if i % 4 == 0 else f"ranks: {1 + i % 8}") for i in range(20)]
    files = [write(here, text, f"{i}.yaml") for i, text in enumerate(texts)]
    answer = tramontane("validate", *files)
    assert (answer.status, answer.out) == (2, "")
    told = [f"{i}.yaml: ranks: found {80 + i} ranks on 8 nodes" for i in range(0, 20, 4)]
    assert [line.partition(";")[0] for line in answer.err.splitlines()] == told
    assert tramontane("validate", *files[1:4], *files[5:8], *files[9:12], *files[13:16]).out == "12 files valid\n"


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("run", "none.yaml"), ["none.yaml: no such file"]),
        (("run", "."), ["found a folder"]),
        (("describe", "tinny"), ["unknown experiment 'tinny'", "did you mean 'tiny'?"]),
        (("describe", "all"), ["unknown experiment 'all?'"]),
        (("estimate", "tiny", "--scale", "lptop"), ["scale", "'lptop'", "did you mean 'laptop'?"]),
        (("describe", "tiny", "--scale", "paper"), ["scales.paper", "smoke, laptop"]),
        (("reproduce", "--scale", "smoke", "--profile", "slrm"), ["profile", "'slrm'", "default, slurm"]),
        (("reproduce", "--scale", "smoke", "--memory", "lots"), ["--memory", "'lots'", "64 GB"]),
        (("reproduce", "--cores", "0"), ["--cores"]),
        (("reproduce", "--threads", "0"), ["--threads", "greater than or equal to 1"]),
        (("reproduce", "--threads", "two"), ["--threads", "valid integer"]),
        (("reproduce", "--threads", "3", "--cores", "2"), ["--threads", "3", "1 ... 2, the cores to use"]),
        (("reproduce", "--device", "fpga"), ["--device", "'fpga'", "cpu, gpu, auto, host"]),
        (("run", "a", "--threads", "65"), ["--threads", "less than or equal to 64"]),
        (("lst",), ["No such command 'lst'", "list"]),
        (("run", "a", "b"), ["argument", "--help"]),
        (("list", "--fast"), ["No such option", "--fast"]),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line(
    here: Path, tramontane: Callable[..., Answer], arguments: tuple[str, ...], parts: list[str]
) -> None:
    answer = tramontane(*arguments)
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    for part in parts:
        assert part in answer.err


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("sstmacro", ["sst++, sstmac, sstmacro-config not found", "spack install sst-macro@16.0.0"]),
        ("simgrid", ["smpicxx and smpirun not found", "installed by: apt-get install libsimgrid-dev"]),
        ("simulatr", ["did you mean 'simulator'?", "simulator, mpi, simgrid, sstmacro"]),
    ],
)
def test_a_substrate_that_is_not_there_is_named_with_what_installs_it(
    here: Path, tramontane: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, name: str, parts: list[str]
) -> None:
    monkeypatch.setenv("PATH", str(here))
    monkeypatch.delenv("SSTMACRO_ROOT", raising=False)
    answer = tramontane("run", write(here, POINT), "--substrate", name)
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    for part in parts:
        assert part in answer.err


def test_what_a_substrate_has_not_is_refused_with_the_key(
    here: Path, tramontane: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tramontane.substrates.simgrid import SimGrid

    monkeypatch.setattr(SimGrid, "available", lambda self: None)
    answer = tramontane(
        "run",
        write(here, POINT.replace("nodes_per_switch: 1", "nodes_per_switch: 1, routing: ugal")),
        "--substrate",
        "simgrid",
    )
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert "machine.routing: found 'ugal' for substrate simgrid: simgrid routes whole messages; allowed: minimal" in (
        answer.err
    )


@pytest.mark.parametrize("key", ["workload.count", "workload.steps[2].bytes", "workload.communicators.my-rows.range"])
def test_what_only_the_extension_refuses_is_a_mistake_too(
    tmp_path: Path, tramontane: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    from tramontane.substrates import isolation, single

    def fail(*_: object, **__: object) -> None:
        raise isolation.PointError(f"{key}: found 5, allowed: at most 3, so that it ends")

    monkeypatch.setattr(single, "run_forked", fail)
    answer = tramontane("run", str(tmp_path / write(tmp_path, POINT)))
    assert answer.status == 2
    assert answer.err.endswith(f"point.yaml: {key}: found 5; allowed: at most 3, so that it ends\n")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_is_told_how_long_a_point_is_expected_to_take(
    here: Path, tramontane: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    import contextlib

    from tramontane.substrates import single

    clocks: list[tuple[str, float]] = []

    def clock(what: str, expected: float, _: object) -> contextlib.AbstractContextManager[None]:
        clocks.append((what, expected))
        return contextlib.nullcontext()

    monkeypatch.setattr(single, "can_change", lambda _: terminal)
    monkeypatch.setattr(single, "clock", clock)
    one, two = (tramontane("run", write(here, POINT), f"--threads={number}") for number in (1, 2))
    assert (one.status, two.status) == (0, 0)
    refused = tramontane("run", write(here, POINT), "--memory=1MB")
    assert (refused.status, "not run" in refused.err) == (2, True)
    assert [what for what, _ in clocks] == ["simulating", "simulating"] * terminal
    assert not clocks or clocks[0][1] == 2 * clocks[1][1] > 0


def test_a_point_that_fails_is_one_line_too(
    here: Path, tramontane: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tramontane.substrates import isolation, single

    def fail(*_: object, **__: object) -> dict[str, Any]:
        raise isolation.PointError("deadlock: rank 0 waits for rank 1")

    monkeypatch.setattr(single, "run_forked", fail)
    answer = tramontane("run", write(here, POINT))
    assert answer == Answer(1, "", "point.yaml: deadlock: rank 0 waits for rank 1\n")


def test_a_point_needs_no_other_interpreter(
    here: Path, tramontane: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose imports take longer than a small point."""
    monkeypatch.setattr("tramontane.substrates.isolation.python", None)
    assert json.loads(tramontane("run", write(here, POINT)).out)["time_s"] > 0


CIRCLE = """num_ranks 2
rank 0 { r: recv 8b from 1 tag 0  s: send 8b to 1 tag 1 s requires r }
rank 1 { r: recv 8b from 0 tag 1  s: send 8b to 0 tag 0 s requires r }
"""


@pytest.mark.parametrize("command", ["run", "utilisation", "critical-path", "timeline --output x.json"])
def test_a_trace_that_can_not_end_is_a_mistake_of_its_file(
    here: Path, tramontane: Callable[..., Answer], command: str
) -> None:
    (here / "circle.goal").write_text(CIRCLE)
    (here / "p.yaml").write_text(
        "ranks: 2\nmachine: {topology: torus, geometry: [2, 1, 1], nodes_per_switch: 1}\n"
        "workload: {kind: trace, file: circle.goal}\n"
    )
    answer = tramontane(*command.split(), "p.yaml")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        "circle.goal: found 2 of 2 ranks that never end; rank 0 waits for a message from rank 1, tag 0; "
        "rank 1 waits for a message from rank 0, tag 1; allowed: operations that all end, where a send above "
        "machine.protocol.eager_limit waits for its receive (at p.yaml)\n"
    )
    assert not (here / "x.json").exists()


@pytest.mark.parametrize("command", ["run", "utilisation", "critical-path", "timeline --output x.json"])
def test_a_point_that_does_not_run_is_told_in_one_line(
    here: Path, tramontane: Callable[..., Answer], command: str
) -> None:
    (here / "p.yaml").write_text(
        "ranks: 2\nmachine: {topology: torus, geometry: [2, 1, 1], nodes_per_switch: 1}\n"
        "workload: {kind: program, repeat: 250, steps: [{work: {time: 400 s}}]}\n"
    )
    answer = tramontane(*command.split(), "p.yaml")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err == "p.yaml: the simulated time exceeds a day (86400 s), the end of the simulator's range\n"
    assert not (here / "x.json").exists()


def test_a_critical_path_of_several_cpus(here: Path, tramontane: Callable[..., Answer]) -> None:
    (here / "cpus.goal").write_text("num_ranks 2\nrank 0 { calc 2000 calc 5000 cpu 1 }\nrank 1 { calc 3000 cpu 2 }\n")
    (here / "p.yaml").write_text(
        "ranks: 2\nmachine: {topology: torus, geometry: [2, 1, 1], nodes_per_switch: 1}\n"
        "workload: {kind: trace, file: cpus.goal}\n"
    )
    answer = tramontane("critical-path", "p.yaml")
    assert answer.status == 0
    assert answer.out == (
        "5e-06 s; the critical path has 1 part, through 1 of 2 ranks\n100.0%  work\nat work or busy\n100.0%  rank 0\n"
    )


def test_a_point_on_its_own_keeps_a_checkpoint_that_goes_with_its_end(
    here: Path, tramontane: Callable[..., Answer]
) -> None:
    point, file = write(here, POINT), here / "p.checkpoint"
    answer = tramontane("run", point, "--checkpoint", str(file))
    assert (answer.status, answer.err) == (0, "")
    assert not file.exists()
    assert "time_s" in json.loads(answer.out)
    file.write_text("something else")
    assert tramontane("run", point, "--checkpoint", str(file)) == (
        2,
        "",
        f"--checkpoint: {file} is no checkpoint, or is cut short; allowed: a checkpoint, or a name that no file has\n",
    )
    assert file.read_text() == "something else"
    link, pipe = here / "link", here / "pipe"
    link.symlink_to("gone")
    os.mkfifo(pipe)  # as devices are no regular files
    for other in (link, pipe):
        answer = tramontane("run", point, "--checkpoint", str(other))
        assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert os.path.lexists(other)
    answer = tramontane("run", point, "--checkpoint", point)
    assert answer.err == f"--checkpoint: {point} is what is read; allowed: another file\n"
    assert (here / point).read_text() == POINT

    answer = tramontane("run", point, "--checkpoint", str(here / "nowhere" / "p"))
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "a file in a folder that exists" in answer.err


def test_list_shows_what_is_done(here: Path, tramontane: Callable[..., Answer], execute: Callable[..., Plan]) -> None:
    execute(here)
    answer = tramontane("list")
    head, row = answer.out.splitlines()
    assert re.split("  +", head) == [
        "experiment",
        "figure",
        *(f"{scale} done/all" for scale in ("smoke", "laptop", "paper")),
        "title",
    ]
    assert row.split()[:4] == ["tiny", "5/5", "5/7", "-"]
    assert row.endswith("Allreduces on a small torus")


def test_describe_tells_what_an_experiment_is(here: Path, tramontane: Callable[..., Answer]) -> None:
    answer = tramontane("describe", "tiny", "--scale", "smoke")
    for part in (
        "Does anything run at all?",
        "series:     rec-2, rec-3",
        "5 at scale smoke (0 done, 1 combination excluded)",
    ):
        assert part in answer.out
    assert answer.err == ""


def test_describe_tells_jobs_and_what_tables_were_made_from(here: Path, tramontane: Callable[..., Answer]) -> None:
    experiments = here / "configs" / "experiments"
    write(experiments, JOBS, "crowd.yaml")
    for sender in (1, 2):
        write(experiments, f"source,target,bytes\n{sender},3,100\n", f"table-{sender}.csv")
    out = tramontane("describe", "crowd", "--scale", "smoke").out
    usual = "start 0 ns, allocation first-available or random"
    for sender in (1, 2):
        assert (
            f"""
jobs side by side, at 2 points:
  model (4 ranks, {usual}):
    3 times:
      1. pattern (file configs/experiments/table-{sender}.csv, repeats 1)
      2. work for 10 us, noise 2.5 %
  background (2 ranks, start 100 us, allocation random): random-shifts (bytes 100 KB, rounds 5, seed 1)
"""
            in out
        )
    assert out.count("jobs side by side") == 2
    assert "program of a rank" not in out


def test_estimate_counts_only_what_is_missing(
    here: Path, tramontane: Callable[..., Answer], execute: Callable[..., Plan]
) -> None:
    execute(here)
    facts = json.loads(tramontane("estimate", "tiny", "--scale", "laptop", "--json").out)
    assert (facts["points"], facts["done"], facts["to_run"]) == (7, 5, 2)
    assert sum(batch["points"] for batch in facts["batches"]) == 2
    assert facts["cpu_s"] > 0
    assert facts["peak_memory_bytes"] > 0
    assert "7 points, 5 done, 2 to run" in tramontane("estimate", "tiny", "--scale", "laptop").out
    assert "7 points, 5 done, 2 to run" in tramontane("estimate", "all", "--scale", "laptop").out
    told = tramontane("estimate", "tiny", "--scale", "laptop").out.splitlines()[1:]
    assert told[0].startswith("less than 1 s of processor time, up to ")
    assert told[1:] == ["2 batches of less than 1 s"]
    chosen = ("estimate", "tiny", "--scale", "laptop", "--where", "ranks > 4")
    assert "4 points, 2 done, 2 to run" in tramontane(*chosen).out
    facts = json.loads(tramontane("estimate", "tiny", "--scale", "smoke", "--json").out)
    assert (facts["to_run"], facts["cpu_s"], facts["batches"]) == (0, 0, [])


def test_commands_that_only_read_need_no_place_to_write_to(here: Path, tramontane: Callable[..., Answer]) -> None:
    experiment = here / "configs" / "experiments" / "jobs.yaml"
    experiment.write_text(JOBS)
    for number in (1, 2):
        experiment.with_name(f"table-{number}.csv").write_text(f"source,target,bytes\n0,1,{number}\n")
    (here / "results").touch()  # where a folder should be
    asked = (["list"], ["describe", "jobs", "--scale", "smoke"], ["estimate", "jobs", "--scale", "smoke"])
    for command in (*asked, ["validate", str(experiment)]):
        answer = tramontane(*command)
        assert (answer.status, answer.err) == (0, ""), command


def test_validate_counts_the_good_and_names_the_bad(here: Path, tramontane: Callable[..., Answer]) -> None:
    assert tramontane("validate").out == "1 file valid\n"
    write(here / "configs" / "experiments", "title: 3", "bad.yaml")
    write(here / "configs" / "experiments", "tilte: A", "worse.yaml")
    answer = tramontane("validate")
    assert answer.status == 2
    assert answer.out == ""
    lines = answer.err.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"configs/experiments/{name}.yaml" for name in ("bad", "worse")]


def test_no_experiment_sets_up_and_stops(here: Path, tramontane: Callable[..., Answer]) -> None:
    answer = tramontane("reproduce", "--experiments", "none")
    assert answer.status == 0
    assert answer.out == ""
    assert "nothing was run" in answer.err


@pytest.mark.parametrize(
    ("closed", "words", "answer"),
    [
        (1, ("run", "point.yaml"), (2, "", "standard output: closed; allowed: a file, a pipe, or /dev/null\n")),
        (2, ("run", "none.yaml"), (2, "", "")),
    ],
)
def test_a_stream_that_is_closed_is_no_other_one(
    here: Path, closed: int, words: tuple[str, ...], answer: tuple[int, str, str]
) -> None:
    write(here, POINT)
    command = [sys.executable, "-m", "tramontane", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=lambda: os.close(closed))
    assert (done.returncode, done.stdout, done.stderr) == answer


def test_what_is_opened_has_not_the_number_of_a_stream(here: Path) -> None:
    """Else a child writes its complaints there, and reads it as what somebody types."""
    program = (
        "from tramontane import cli, __main__ as entry\n"
        "import os, subprocess\n"
        "cli.main = lambda: print(open('new', 'w').fileno() > 2, subprocess.call(['sh', '-c', 'read x; echo y >&2']))\n"
        "entry.main()"
    )

    def close() -> None:
        for number in (0, 2):
            os.close(number)

    command = [sys.executable, "-c", program]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, preexec_fn=close)
    assert done.stdout == "True 0\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(here: Path, shell: str) -> None:
    variables = {"_TRAMONTANE_COMPLETE": f"complete_{shell}", "COMP_WORDS": "tramontane rep", "COMP_CWORD": "1"}
    variables |= {"_TYPER_COMPLETE_ARGS": "tramontane rep", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    command = [str(Path(sys.executable).with_name("tramontane"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    assert "reproduce" in done.stdout
    assert "run-batch" not in done.stdout


def test_a_working_directory_that_is_gone_is_one_line(
    tramontane: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for words in (("list",), ("validate",), ("describe", "tiny"), ("estimate", "all"), ("claims",)):
        answer = (2, "", "working directory: No such file or directory; allowed: one that exists\n")
        assert tramontane(*words) == answer, words


def test_a_gpu_says_itself_what_it_has_no_memory_for(
    tramontane: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the engine for processors would need is not asked."""
    monkeypatch.setattr("tramontane.substrates.single.run_forked", lambda *_, **__: {"time_s": 1.0})
    words = ("run", write(here, POINT), "--memory", "1 MB", "--device")
    assert [tramontane(*words, device).status for device in ("cpu", "host", "auto", "gpu")] == [2, 2, 2, 0]


def test_a_file_system_without_locks_is_one_line(
    tramontane: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr("fcntl.flock", refuse)
    line = "results/smoke/.lock: the file system keeps no locks (Function not implemented)\n"
    assert tramontane("reproduce", "--scale", "smoke") == (1, "", line)


def test_a_reader_that_stops_reading_is_no_error(here: Path) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = f'"{sys.executable}" -m tramontane describe tiny | true'
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False, env=environment
    )
    assert "Traceback" not in done.stderr


def long_run(here: Path, **how: Any) -> tuple[psutil.Popen, psutil.Process]:
    """Start a run that takes minutes; return it with the process that simulates, which is at work."""
    long = POINT.replace("ranks: 8", "ranks: 4096").replace("[16, 16, 8]", "[2048, 2048, 512]")
    write(here, long.replace("[2, 2, 2]", "[16, 16, 16]"))
    run = psutil.Popen([sys.executable, "-m", "tramontane", "run", "point.yaml"], stdout=subprocess.DEVNULL, **how)
    simulation: list[psutil.Process] = []

    def is_under_way() -> bool:
        assert run.poll() is None, "the run is over before it was ended"
        for child in run.children():
            with suppress(psutil.NoSuchProcess):  # the run has other children, which end at once
                if child.cmdline() == run.cmdline() and child.cpu_times().user >= 0.2:
                    simulation.append(child)
        return bool(simulation)

    wait_for(is_under_way)
    return run, simulation[0]


def test_a_run_that_is_ended_leaves_no_simulation_behind(here: Path) -> None:
    run, simulation = long_run(here)
    run.terminate()
    run.wait()
    wait_for(lambda: is_over(simulation))


def test_a_run_that_is_interrupted_says_so_and_nothing_else(here: Path) -> None:
    run, _ = long_run(here, stderr=subprocess.PIPE, text=True, start_new_session=True)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    assert (run.communicate()[1], run.returncode) == ("stopped\n", 130)


def test_what_lies_in_the_working_directory_is_not_imported(here: Path, tramontane: Callable[..., Answer]) -> None:
    point = write(here, POINT)
    for name in ("platform", "numbers", "tramontane"):
        (here / f"{name}.py").write_text("raise SystemExit(5)")
    assert tramontane("run", point).status == 0


@pytest.mark.parametrize("command", ["timeline", "critical-path", "goal", "utilisation"])
def test_no_command_overwrites_the_point_it_reads(here: Path, tramontane: Callable[..., Answer], command: str) -> None:
    text = json.dumps(YAML(typ="safe").load(POINT))
    point = write(here, text, "point.json")
    answer = tramontane(command, point, "--output", point)
    assert answer == (2, "", "--output: point.json is what is read; allowed: another file\n")
    assert (here / point).read_text() == text


def test_a_map_leaves_alone_what_run_has_printed(here: Path, tramontane: Callable[..., Answer]) -> None:
    point = write(here, POINT)
    printed = here / Path(point).with_suffix(".json")
    printed.write_text(tramontane("run", point).out)
    before = printed.read_text()
    answer = tramontane("utilisation", point)
    assert answer.status == 0, answer.err
    named = [f"{Path(point).stem}-utilisation.{ending}" for ending in ("json", "svg", "png", "pdf")]
    assert answer.out.splitlines()[-4:] == named
    assert printed.read_text() == before


@pytest.mark.parametrize("named", ["net", "net.svg", "net.pdf"])
def test_an_ending_that_is_named_is_not_written_twice(here: Path, named: str) -> None:
    assert stem_to_write("--output", Path(named), ("svg", "png", "pdf")) == Path("net")
    assert stem_to_write("--output", Path("net.v2"), ("svg", "png", "pdf")) == Path("net.v2")


@pytest.mark.parametrize("named", [".", "..", "/"])
def test_a_folder_is_no_name_of_files(named: str) -> None:
    with pytest.raises(InputError, match=f"--output: found '{re.escape(named)}'; allowed: a name of files, without"):
        stem_to_write("--output", Path(named), ("svg",))


def is_over(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("threads", [1, 3])
def test_a_limit_on_addresses_is_no_obstacle(here: Path, threads: int) -> None:
    # Batch systems and login nodes set it; the simulator reserves more addresses than it uses.
    write(here, POINT)
    command = f'ulimit -v 4000000; "{sys.executable}" -m tramontane run point.yaml --threads {threads}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.no_cover  # thousands of points, none of which is read in a way that other tests don't read one in
def test_the_shipped_configuration_is_valid_and_nothing_is_looked_at_twice(
    tramontane: Callable[..., Answer], monkeypatch: Any
) -> None:
    from tramontane.study.points import loading
    from tramontane.study.reading import bounded_yaml
    from tramontane.support import host

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(host, "cores", lambda: 1)  # several processes would look at some files each
    texts: list[str] = []
    load = bounded_yaml.load

    def counted(text: str) -> Any:
        texts.append(text)
        return load(text)

    monkeypatch.setattr(bounded_yaml, "load", counted)
    loading._machine.cache_clear()
    answer = tramontane("validate")
    assert answer.status == 0, answer.err
    # Ten seconds of a processor, or less: the work is counted, for no clock is right on a busy machine.
    assert len(texts) == len(set(texts))
    checked = loading._machine.cache_info()
    assert checked.misses < checked.hits / 5
    files = len(list((ROOT / "configs").rglob("*.yaml")))
    assert answer.out.endswith(f"{files} files valid\n")


@pytest.fixture
def claimed(here: Path) -> Path:
    """The tiny project with the papers' statements."""
    import shutil

    shutil.copytree(ROOT / "configs" / "claims", here / "configs" / "claims")
    shutil.copytree(ROOT / "configs" / "paper", here / "configs" / "paper")
    shutil.copytree(ROOT / "configs" / "workloads", here / "configs" / "workloads")
    shutil.copy(ROOT / "configs" / "references.yaml", here / "configs")
    return here


@pytest.mark.parametrize("words", [("claims",), ("list",), ("--help",)])
def test_a_reader_may_close_what_it_reads(claimed: Path, words: tuple[str, ...]) -> None:
    """As `tramontane claims | head` does."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "tramontane", *words]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, cwd=claimed, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("words", [("run", "point.yaml"), ("docs", "model")])
def test_an_answer_without_room_on_the_disk_ends_in_a_line(here: Path, words: tuple[str, ...]) -> None:
    write(here, POINT)
    # As installed: after a script, Python drops what it can't write, and ends with 0.
    script = here / "tramontane"
    script.write_text("from tramontane.__main__ import main\nmain()\n")
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, str(script), *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**buffered, "PYTHONPATH": str(ROOT)},
        )
    assert done.returncode == 1
    assert done.stderr == "standard output: No space left on device\n"


def test_a_tracing_library_that_does_not_compile_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, tramontane: Callable[..., Answer]
) -> None:
    problem = "building tramontane-trace with mpicxx failed; see build/trace-openmpi/build.log"

    def refused(*_: Any, **__: Any) -> None:
        raise RuntimeError(problem)

    monkeypatch.setattr(tracing, "trace", refused)
    assert tramontane("trace", "--", "mpirun", "./model") == Answer(1, "", f"tramontane trace: {problem}\n")


def test_claims_are_an_array_before_any_campaign(claimed: Path, tramontane: Callable[..., Answer]) -> None:
    answer = tramontane("claims", "--json")
    assert answer.status == 0, answer.err
    assert answer.out.count("\n") == 1
    verdicts = json.loads(answer.out)
    assert {"id", "verdict", "evidence"} <= set(verdicts[0])
    assert {verdict["verdict"] for verdict in verdicts} == {"not evaluated"}
    assert {"Z-5a-1", "B-F9", "W-T3", "D-2", "J-bit"} <= {verdict["id"] for verdict in verdicts}


def test_claims_are_a_table(claimed: Path, tramontane: Callable[..., Answer]) -> None:
    answer = tramontane("claims", "Z-T3", "Z-6", "--scale", "smoke")
    assert answer.status == 0
    assert "106,168,320,000 points" in answer.out
    assert answer.out.splitlines()[-1] == "1 reproduced, 0 not reproduced, 0 not evaluated, 1 out of reach"
    assert tramontane("claims", "Z-T33").err == (
        "configs/claims: no statement 'Z-T33'; did you mean 'Z-T3'? allowed: "
        + ", ".join(verdict["id"] for verdict in json.loads(tramontane("claims", "--json").out))
        + "\n"
    )


@pytest.mark.parametrize(
    ("steps", "key"),
    [
        ("steps: [{work: {time: 1 us}}, {transposition: WINDOWED}]", "steps[1]"),
        ("steps: [{loop: {times: 2, steps: [{work: {time: 1 us}}, {transposition: WINDOWED}]}}]", "steps[0].steps[1]"),
        ("steps: [{transposition: WIDE}, {transposition: WINDOWED}]", "steps[1]"),
        (
            "communicators: {fours: {consecutive: 4}}, "
            "steps: [{transposition: AMONG_FOURS}, {transposition: WINDOWED}]",
            "steps[1]",
        ),
        (
            "roles: {a: {every: 2, group: 0, steps: [{work: {time: 1 us}}]}, "
            "b: {others: true, steps: [{transposition: WINDOWED}]}}",
            "roles.b.steps[0]",
        ),
    ],
)
def test_goal_names_the_step_that_it_can_not_say(
    here: Path, tramontane: Callable[..., Answer], steps: str, key: str
) -> None:
    windowed = "{grid: [64, 64, 4], algorithm: sliding-window, radix: 2}"
    text = f"ranks: 64\nmachine: {{topology: torus, geometry: [4, 4, 4]}}\nworkload: {{kind: program, {steps}}}\n"
    text = text.replace("WIDE", windowed.replace("2}", "64}")).replace("WINDOWED", windowed)
    text = text.replace("AMONG_FOURS", windowed.replace("}", ", communicator: fours}"))
    answer = tramontane("goal", write(here, text), "-o", "x.goal")
    assert answer.status == 2
    assert answer.err.startswith(f"point.yaml: workload.{key}.algorithm: found sends that wait until another one")
    assert not (here / "x.goal").exists()


def test_goal_asks_few_ranks_which_step_it_can_not_say(
    here: Path, tramontane: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not all ranks of the steps before it."""
    asked: list[int] = []

    def counted(*given: Any) -> Any:
        own = schedule(*given)

        def goal(rank: int) -> str:
            asked.append(rank)
            return str(own.goal(rank))

        return SimpleNamespace(goal=goal)

    monkeypatch.setattr("tramontane.substrates.simulator.schedule", counted)
    steps = ", ".join(
        f"{{transposition: {{grid: [64, 64, 4], algorithm: sliding-window, radix: {radix}}}}}" for radix in (64, 2)
    )
    text = (
        f"ranks: 64\nmachine: {{topology: torus, geometry: [4, 4, 4]}}\nworkload: {{kind: program, steps: [{steps}]}}\n"
    )
    answer = tramontane("goal", write(here, text), "-o", "x.goal")
    assert answer.err.startswith("point.yaml: workload.steps[1].algorithm: found sends that wait")
    assert set(asked) == {0}


def test_pages_of_the_documentation_are_listed_and_shown(
    tramontane: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = ROOT / "docs" / "machines.md"
    text = page.read_text(encoding="utf-8")
    assert tramontane("docs").out == (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for name in ("machines", "machines.md", "docs/machines.md"):
        answer = tramontane("docs", name)
        assert (answer.status, answer.out) == (0, text)
        assert Path(answer.err.strip()).absolute() == page
    answer = tramontane("docs", "machine")
    assert answer.status == 2
    assert answer.err.startswith("tramontane docs: found 'machine'; did you mean 'machines'? allowed: README, ")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = tramontane("docs", "machines").out
    assert text.splitlines()[0].lstrip("# ") in shown
    assert "](" in text
    assert "](" not in shown, "laid out for a terminal"


def test_a_new_experiment_is_written_once(here: Path, tramontane: Callable[..., Answer]) -> None:
    answer = tramontane("new-experiment", "mine")
    assert (answer.status, answer.out) == (0, "configs/experiments/mine.yaml\n")
    again = tramontane("new-experiment", "mine")
    assert (again.status, again.out) == (2, "")
    assert again.err.startswith("configs/experiments/mine.yaml: is there already")
    mistaken = tramontane("new-experiment", "My own")
    assert mistaken.status == 2
    assert mistaken.err.startswith("tramontane new-experiment: found 'My own'; did you mean 'my-own'? allowed: small")


def test_there_is_nothing_to_archive_before_a_campaign(here: Path, tramontane: Callable[..., Answer]) -> None:
    answer = tramontane("archive", "--scale", "smoke")
    assert answer.status == 2
    assert answer.err.count("\n") == 1
    assert "make one by: tramontane reproduce --scale smoke" in answer.err
    assert tramontane("archive", "--verify", "none.zip").err.startswith("none.zip: no such file")
    assert not list(here.glob("*.zip"))


def test_tables_of_claims_are_made_anew_in_a_page(claimed: Path, tramontane: Callable[..., Answer]) -> None:
    (claimed / "page.md").write_text("Before\n\n<!-- claims: paper W-T3 B-F8 -->\nold\n<!-- end -->\n\nAfter\n")
    answer = tramontane("claims", "--fill", "page.md")
    assert (answer.status, answer.out) == (0, "")
    page = (claimed / "page.md").read_text()
    assert "| W-T3 | W, Table 3 |" in page
    assert "| reproduced |  | all 3 numbers follow" in page
    assert "| B-F8 |" in page
    assert "old" not in page
    assert page.startswith("Before\n\n<!-- claims: paper W-T3 B-F8 -->\n")
    assert page.endswith("<!-- end -->\n\nAfter\n")
    assert "1 table left as before" in tramontane("claims", "--fill", "page.md").err
    for beside, named in [
        (["W-T3"], "IDS"),
        (["--json"], "--json"),
        (["--scale", "paper"], "--scale"),
        (["--waves", "1"], "--waves"),
    ]:
        answer = tramontane("claims", *beside, "--fill", "page.md")
        assert (answer.status, answer.out) == (2, "")
        assert (
            answer.err
            == f"{named}: found beside --fill; allowed: --fill alone: marked lines of the page say what it shows\n"
        )
    (claimed / "page.md").write_text("Nothing")
    answer = tramontane("claims", "--fill", "page.md")
    assert answer.status == 2
    assert answer.err.startswith("page.md: no table of claims or times; allowed: <!-- claims: SCALE [IDS] -->")
    assert answer.err.count("\n") == 1
    assert tramontane("claims", "--fill", "none.md").err.startswith("none.md: no such file")


@pytest.mark.parametrize("number", ["ENOSPC", "EROFS", "EACCES", "EDQUOT"])
def test_what_a_file_system_refuses_is_one_line(
    tramontane: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    code = getattr(errno, number)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code), str(here / "results" / "smoke"))

    monkeypatch.setattr("tramontane.campaign.lock.only_one", refuse)
    for command in ("plan", "reproduce"):
        monkeypatch.setattr("tramontane.campaign.driver.only_one", refuse)
        answer = tramontane(command, "--scale", "smoke")
        assert answer == (1, "", f"results/smoke: {os.strerror(code)}\n")


def test_files_of_a_study_folder_name_schemas_that_are_there(
    tramontane: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tramontane("init", "study").status == 0
    named = {
        path.parent / found[1]
        for path in Path("study").rglob("*.yaml")
        if (found := re.match(r"# yaml-language-server: \$schema=(\S+)", path.read_text(encoding="utf-8")))
    }
    assert {path.name for path in named} >= {f"{name}.schema.json" for name in ("experiment", "machine", "system")}
    assert [path for path in named if not path.is_file()] == []
    pages = [
        (page, link) for page in Path("study").rglob("*.md") for link in re.findall(r"\]\(([^)#]+)", page.read_text())
    ]
    assert [(page, link) for page, link in pages if not (page.parent / link).exists()] == []


def test_files_of_a_study_folder_are_for_whom_the_user_writes(
    tramontane: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for whom the package was installed: a group that works together changes them all."""
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o002)
    try:
        assert tramontane("init", "study").status == 0
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in Path("study").rglob("*") if path.is_file()} == {0o664}


def test_a_full_disk_leaves_no_part_of_a_study_folder(
    tramontane: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, _: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source))

    monkeypatch.setattr("shutil.copyfile", refuse)
    monkeypatch.chdir(tmp_path)
    assert tramontane("init", "a/study") == (1, "", "a/study: No space left on device\n")
    assert list(tmp_path.iterdir()) == []


def test_a_statement_of_ones_own_is_judged_in_a_new_folder(
    tramontane: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tramontane("init", "study").status == 0
    monkeypatch.chdir(tmp_path / "study")
    Path("configs", "claims", "own.yaml").write_text(
        "paper: Z\nclaims:\n  mine:\n    where: here\n    about: halo\n    statement: UGAL is slower.\n"
        "    experiment: my-question\n    along: routing\n    checks: [{kind: slower, of: ugal, than: minimal}]\n"
    )
    assert tramontane("validate", "configs/claims/own.yaml").status == 0
    told = tramontane("claims", "mine", "--scale", "smoke")
    assert (told.status, "0 reproduced, 0 not reproduced, 1 not evaluated" in told.out) == (0, True)


@pytest.mark.parametrize("name", ["my study", "Ann's", "a;b", "-x"])
def test_the_command_that_init_prints_can_be_pasted(
    tramontane: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    command = tramontane("init", "--", name).err.partition(" && ")[0]
    done = subprocess.run(["sh", "-c", f"{command} && pwd"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path / name}\n"


@pytest.mark.parametrize(
    ("name", "encoding", "printed"),
    [
        (b"Andr\xe9's", "utf-8", b"Andr\xe9's"),
        (b"Andr\xe9's", "ascii", b"Andr\xe9's"),
        (b"Andr\xc3\xa9", "utf-8", b"Andr\xc3\xa9"),
        (b"Andr\xc3\xa9", "ascii", rb"Andr\xe9"),
    ],
)
def test_a_folder_is_told_as_the_system_has_it(tmp_path: Path, name: bytes, encoding: str, printed: bytes) -> None:
    """Also where its name is not UTF-8; of what a stream can't encode, the code is told."""
    done = subprocess.run(
        [sys.executable, "-m", "tramontane", "init", name],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": f"{encoding}:strict"},
    )
    assert done.stdout == printed + b"\n"
    if printed == name:
        command = done.stderr.partition(b" && ")[0]
        told = subprocess.run(["sh", "-c", command + b" && pwd"], cwd=tmp_path, capture_output=True, check=True)
        assert told.stdout == os.fsencode(tmp_path) + b"/" + name + b"\n"


def test_what_a_users_limits_refuse_is_one_line(
    tramontane: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "pipe", refuse)
    assert tramontane("run", write(here, POINT)) == Answer(1, "", "Too many open files (limit: ulimit -n)\n")


def test_other_errors_of_the_system_stay_visible(
    tramontane: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr("tramontane.campaign.driver.only_one", fail)
    with pytest.raises(OSError, match="Bad file descriptor"):
        tramontane("reproduce", "--scale", "smoke")


def test_a_signal_during_an_import_is_not_lost(tmp_path: Path) -> None:
    """Compiled modules swallow what a handler raises while they are imported, as this one does."""
    swallows = "import os\nimport signal\ntry:\n os.kill(os.getpid(), signal.SIGINT)\nexcept BaseException:\n pass\n"
    (tmp_path / "swallows.py").write_text(swallows)
    program = "import signal, tramontane.__main__ as entry; signal.signal(signal.SIGINT, entry._interrupt)\n"
    program += "import swallows\nprint('goes on')"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")


def test_an_interrupted_command_says_so(
    tramontane: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tramontane.campaign.driver.find_profile", interrupt)
    assert tramontane("reproduce", "--scale", "smoke") == (130, "", "stopped\n")


def test_a_plan_is_not_changed_under_a_campaign(tramontane: Callable[..., Answer], here: Path) -> None:
    from tramontane.campaign.lock import only_one

    with only_one(here / "results" / "smoke"):
        answer = tramontane("plan", "--scale", "smoke")
        assert answer.status == 1
        assert answer.err == "a run of the smoke campaign is going on in this checkout; wait for it, or stop it first\n"
        assert not (here / "results" / "smoke" / "plan").exists()
    assert tramontane("plan", "--scale", "smoke").status == 0


def test_a_study_is_run_once_at_a_time(tramontane: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tramontane.campaign.lock.only_one", lambda _folder: contextlib.nullcontext(None))
    answer = tramontane("uncertainty", "two-generations", "--scale", "smoke")
    said = "another run of two-generations at scale smoke is going on in this checkout; wait for it, or stop it first\n"
    assert answer == (1, "", said)


def test_a_study_tells_that_points_failed(
    tramontane: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tramontane.claims.draws.python", lambda *_: ["false"])
    answer = tramontane("uncertainty", "two-generations", "--scale", "smoke", "--cores", "1")
    assert answer.status == 3
    found = re.search(r"^(\d+) points, 0 were done\n(.*)\n", answer.err, flags=re.MULTILINE)
    assert found is not None
    log = "results/over-two-generations-smoke/run.log"
    assert found[2] == f"{found[1]} points failed; {log} says why, and the same command tries again"
    assert (tmp_path / log).exists()
    assert "none of 0" in answer.out


def test_estimate_tells_what_a_campaign_leaves_out(
    tramontane: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tramontane.substrates.simulator import Simulator

    monkeypatch.setattr(Simulator, "refusal", lambda self, point: "too many ranks" if point.ranks == 4 else None)
    said = tramontane("estimate", "tiny", "--scale", "smoke").out.splitlines()
    assert said[1] == "2 of those can't run here, and a campaign leaves them out: substrate simulator: too many ranks"
    found = json.loads(tramontane("estimate", "tiny", "--scale", "smoke", "--json").out)["can_not_run_here"]
    assert list(found.values()) == [2]


def test_commands_make_no_folder_that_was_mistyped(tramontane: Callable[..., Answer], here: Path) -> None:
    (here / "measured.csv").write_text("")
    for arguments, option in (
        (("compare", "measured.csv", "--dataset", "no/where/x.nc"), "--dataset"),
        (("calibrate", "-o", "no/where/x.yaml"), "--output"),
        (("uncertainty", "two-generations", "--nearest", "no/where/x.yaml"), "--nearest"),
    ):
        answer = tramontane(*arguments)
        assert answer.status == 2
        assert answer.err.startswith(f"{option}: found 'no/where/x.")
        assert answer.err.endswith("; allowed: a file in a folder that exists\n")
    assert not (here / "no").exists()


def test_a_calibration_refuses_a_name_that_no_machine_can_have_before_it_measures(
    tramontane: Callable[..., Answer], here: Path
) -> None:
    for name in ("a+b.yaml", "here it.yaml", ".yaml.yaml"):
        answer = tramontane("calibrate", "-o", name)
        assert (answer.status, answer.err.count("\n")) == (2, 1)
        assert f"{name}: found the file name '{name}'; allowed: a name of letters" in answer.err
    assert _counts("4, 2,4 2") == [4, 2]


def test_no_command_replaces_a_device_or_a_pipe(tramontane: Callable[..., Answer], here: Path) -> None:
    os.mkfifo(here / "pipe.yaml")
    (here / "link.yaml").symlink_to(here / "pipe.yaml")
    for name in ("pipe.yaml", "link.yaml"):
        answer = tramontane("calibrate", "-o", name)
        assert (answer.status, answer.err.count("\n")) == (2, 1)
        assert answer.err == f"--output: {name} is a device, a pipe or a socket; allowed: a file\n"
    assert (here / "pipe.yaml").is_fifo()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("uncertainty", "zheng2018", "--size", "3"),
            "--size: found 3; allowed: with sobol of zheng2018 a power of two",
        ),
        (("uncertainty", "zheng2019"), "SAMPLE: found 'zheng2019'; did you mean 'zheng2018'? allowed: "),
        (("claims", "--over", "zheng2018", "--scale", "paper"), "--scale: found 'paper'; allowed: smoke, laptop"),
        (
            ("claims", "--over", "zheng2018-networks", "--scale", "smoke", "Z-9"),
            "claim: found 'Z-9'; allowed: Z-5b, Z-5d",
        ),
    ],
)
def test_what_a_study_of_uncertainty_can_not_be_is_one_line(
    tramontane: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], line: str
) -> None:
    monkeypatch.chdir(ROOT)
    answer = tramontane(*arguments)
    assert answer.status == 2
    assert line in answer.err
    assert answer.err.count("\n") == 1
