"""The driver of GPUs: it compiles where CUDA's compiler is, and where none is, one line says so."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from benchmarks import devices as benchmark
from tramontane import _simulator
from tramontane.errors import InputError
from tramontane.study import Point, expand, list_experiments, load_experiment
from tramontane.substrates import devices
from tramontane.substrates.simulator import as_simulated

from .points import allreduce, machine, point, transposition, without_costs

ROOT = Path(__file__).parents[2]
PACKAGES = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin" / "nvcc"


def compiler() -> str:
    """Return the path of CUDA's compiler; without one the test is left out."""
    found = shutil.which("nvcc") or (str(PACKAGES) if PACKAGES.exists() else None)
    if found is None:
        pytest.skip("no nvcc here: make setup GPU=1 installs one")
    return found


@pytest.mark.long
def test_the_kernel_compiles_and_calls_nothing_by_pointer(tmp_path: Path) -> None:
    ptx = tmp_path / "kernel.ptx"
    command = [
        compiler(),
        "-std=c++20",
        "-x",
        "cu",
        "--expt-relaxed-constexpr",
        "-I",
        "simulator",
        "-I",
        "skeleton-src",
    ]
    source = "simulator/device/gpu/kernel.cu"
    subprocess.run([*command, "-arch=compute_80", "-ptx", source, "-o", ptx], cwd=ROOT, check=True)
    codes = "arch=compute_80,code=[sm_80,sm_90,compute_80]"
    subprocess.run([*command, "-gencode", codes, "-fatbin", source, "-o", tmp_path / "all"], cwd=ROOT, check=True)
    text = ptx.read_text()
    assert "handle_windows" in text
    assert re.search(r"\.callprototype|\bcall\b[^;]*%rd?\d+\s*,\s*\(", text) is None, "a virtual function"


@pytest.mark.long
def test_the_driver_of_amd_gpus_compiles_and_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("hipcc") is None:
        pytest.skip("no hipcc here (Debian: apt-get install hipcc libamdhip64-dev rocm-device-libs)")
    cmake = Path(sys.executable).with_name("cmake")
    subprocess.run([cmake, "-S", ROOT, "-B", tmp_path, "-DTRAMONTANE_HIP=ON"], check=True)
    monkeypatch.setenv("HIPCC_COMPILE_FLAGS_APPEND", "-save-temps=obj")
    subprocess.run([cmake, "--build", tmp_path, "--target", "tramontane-gpu"], check=True)
    listed = subprocess.run(["nm", "-D", tmp_path / "libtramontane-gpu.so"], check=True, capture_output=True, text=True)
    assert " T tramontane_open_accelerator" in listed.stdout
    # Of several threads that fail one tells why: what was there before is asked for (glc).
    (file,) = tmp_path.glob("*-hip-amdgcn-*.s")
    end_kernel = re.search(r"^\w*tramontane10end_kernel\w*:.*?\.Lfunc_end", file.read_text(), re.DOTALL | re.MULTILINE)
    assert end_kernel is not None
    assert re.search(r"atomic_swap v.* glc", end_kernel[0])


def test_no_build_has_checks_and_a_driver_of_gpus(tmp_path: Path) -> None:
    """Where a GPU has written a state without their books, they would refuse to go on from it."""
    cmake: list[str | Path] = [
        Path(sys.executable).with_name("cmake"),
        "-S",
        ROOT,
        "-B",
        tmp_path,
        "-DTRAMONTANE_HIP=ON",
    ]
    done = subprocess.run([*cmake, "-DTRAMONTANE_CHECKS=ON"], check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert "TRAMONTANE_CHECKS is ON in a build with a driver of GPUs" in done.stderr
    subprocess.run([*cmake, "-UTRAMONTANE_CHECKS"], check=False, capture_output=True)  # there may be no hipcc
    assert "TRAMONTANE_CHECKS:BOOL=OFF" in (tmp_path / "CMakeCache.txt").read_text()


def found_beside(folder: Path) -> str:
    """Return what a copy of the extension in a folder says of the accelerator."""
    extension = Path(_simulator.__file__)
    shutil.copy(extension, folder)
    script = f"""
import importlib.util
found = importlib.util.spec_from_file_location("tramontane._simulator", {str(folder / extension.name)!r})
extension = importlib.util.module_from_spec(found)
found.loader.exec_module(extension)
try:
    print(extension.accelerator())
except ValueError as error:
    print(error)
"""
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()


def library(file: Path, text: str, *others: Path) -> None:
    """Compile a shared library that needs others."""
    command: list[str | Path] = [
        "c++",
        "-shared",
        "-fPIC",
        "-Wl,--no-as-needed",
        "-x",
        "c++",
        "-",
        "-x",
        "none",
        *others,
        "-o",
        file,
    ]
    subprocess.run(command, input=text, check=True, text=True)


def test_a_driver_that_can_not_be_opened_is_told_with_the_reason(tmp_path: Path) -> None:
    said = "device: found 'gpu' ({}), allowed: cpu, host"
    driver, runtime = tmp_path / "libtramontane-gpu.so", tmp_path / "libruntime.so"
    assert found_beside(tmp_path) == said.format(f"this installation has no {driver.name} (make setup GPU=1)")
    library(runtime, "")
    library(driver, "", runtime)
    runtime.unlink()
    missing = f"{runtime}: cannot open shared object file: No such file or directory"
    assert found_beside(tmp_path) == said.format(missing)
    library(driver, "")
    assert found_beside(tmp_path) == said.format(f"{driver} is another library")


def test_the_benchmark_of_devices_says_of_each_row_whether_results_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torus-1024.yaml").write_text(
        "ranks: 8\nmachine: torus-S\nworkload: {kind: random-shifts, bytes: 9 KB, rounds: 2}"
    )
    table, tests = tmp_path / "table.txt", tmp_path / "tests"
    monkeypatch.setattr(benchmark, "POINTS", tmp_path)
    monkeypatch.setattr(benchmark, "apart", lambda function, *arguments: function(*arguments))

    def rows(*options: str, passes: bool = True, fails: int = 0) -> dict[str, list[str]]:
        tests.write_text(f'#!/bin/sh\n[ "$1" = "~[accelerator]" ] && {str(passes).lower()}\n')
        tests.chmod(0o755)
        files = ["--output", str(table), "--tests", str(tests)]
        monkeypatch.setattr(sys, "argv", ["", "--device", "host", "--only", "torus-1024", *files, *options])
        with pytest.raises(SystemExit) if fails else contextlib.nullcontext():
            benchmark.main()
        lines = [line.strip("│").split("│") for line in table.read_text().splitlines() if line[0] == "│"]
        return {name.strip(): [cell.strip() for cell in cells] for name, *cells in lines}

    found = rows("--together", "2")
    assert [(name, cells[-1]) for name, cells in found.items()] == [
        ("tests", "yes"),
        ("2 x torus-1024", "yes"),
        ("torus-1024", "yes"),
    ]
    assert all(found["torus-1024"])
    assert rows("--together", "0", passes=False, fails=1)["tests"][-1] == "NO"
    assert not any(rows("--together", "0", "--minutes", "0")["torus-1024"])  # in no time
    monkeypatch.setattr(benchmark, "of_the_points", lambda results: [object() for _ in results])
    assert rows("--together", "0", fails=1)["torus-1024"][-1] == "NO"

    def end(*_: Any) -> dict[str, Any]:
        raise RuntimeError

    monkeypatch.setattr(devices, "simulate", end)
    assert rows("--together", "0", fails=1)["torus-1024"][-1] == "failed"


#: Answers each of some requests in a fork: points, and what of the GPU differs.
ON_A_STAND_IN = """
import ctypes, importlib.util, json, multiprocessing, sys, warnings
from pathlib import Path

class Device(ctypes.Structure):
    _fields_ = [("free", ctypes.c_size_t), *((name, ctypes.c_int) for name in ("processors", "calls", "fails", "held"))]

def answer(request):
    points, differs = request
    file, = Path(sys.argv[1]).glob("_simulator*")
    found = importlib.util.spec_from_file_location("tramontane._simulator", file)
    extension = importlib.util.module_from_spec(found)
    found.loader.exec_module(extension)
    driver = ctypes.CDLL(str(file.with_name("libtramontane-gpu.so")))
    driver.stand_in_device.restype = ctypes.POINTER(Device)
    device = driver.stand_in_device().contents
    for name, value in differs.items():
        setattr(device, name, value)
    told = [None] * len(points)
    error = ""
    try:
        if len(points) == 1:
            told[0] = extension.simulate(points[0], 1, device="gpu")
        else:
            extension.simulate_together(points, told.__setitem__, "gpu")
    except (RuntimeError, ValueError) as said:
        error = str(said)
    return told, error, device.calls, device.held

with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
    print(json.dumps(pool.map(answer, json.load(sys.stdin), chunksize=1)))
"""


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the extension and the driver of AMD's GPUs, which runs on a processor."""
    folder = tmp_path_factory.mktemp("stand-in")
    runtime = folder / "hip" / "hip_runtime.h"
    runtime.parent.mkdir()
    runtime.write_text(f'#include "{Path(__file__).with_name("hip_stand_in.hpp")}"\n')
    driver = str(folder / "libtramontane-gpu.so")
    defined = ["-DNDEBUG", "-D__HIPCC__", "-D__HIP_DEVICE_COMPILE__"]
    included = ["-Isimulator", "-Iskeleton-src", f"-I{folder}", "-include", str(runtime)]
    source = ["-xc++", "simulator/device/gpu/kernel.cu", "-o", driver]
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-w", "-pthread", "-shared", "-fPIC"]
    subprocess.run([*command, *defined, *included, *source], cwd=ROOT, check=True)
    shutil.copy(_simulator.__file__, folder)
    return folder


def on_a_stand_in(folder: Path, *requests: tuple[list[dict[str, Any]], dict[str, int]]) -> list[tuple[Any, ...]]:
    """Return what is told of the points of each request, the error, how many calls there were and what is held."""
    command = [sys.executable, "-W", "ignore", "-c", ON_A_STAND_IN, str(folder)]
    done = subprocess.run(command, input=json.dumps(requests), check=True, capture_output=True, text=True)
    return [tuple(each) for each in json.loads(done.stdout)]


#: What the driver holds from its beginning to its end.
HELD = 2


@pytest.mark.long
def test_the_kernel_finds_on_a_stand_in_what_processors_find(stand_in: Path) -> None:
    shuffled = transposition((16, 16, 16), (4, 6), radix=3)
    net = machine("dragonfly", (3, 2, 3), 2)
    # At whose ports packets of several sizes wait, in an order that threads in step agree on.
    crowded = point(64, transposition((60, 64, 64), (8, 8), radix=7), machine("torus", (4, 4, 4), buffer=9000))
    points = [small(), small("ugal"), point(24, shuffled, net), point(24, shuffled, {**net, "routing": "valiant"})]
    several = {"processors": 2}
    requests = [*(([each], {}) for each in [*points, crowded]), (points[:1], several), (points, several)]
    for (asked, _), (found, error, _, held) in zip(requests, on_a_stand_in(stand_in, *requests), strict=True):
        assert (error, held) == ("", HELD)
        assert [without_costs(each) for each in found] == [
            without_costs(json_of(_simulator.simulate(each))) for each in asked
        ]


@pytest.mark.long
def test_each_call_of_the_driver_that_fails_is_told_in_a_line_and_leaves_nothing(stand_in: Path) -> None:
    ((_, _, calls, _),) = on_a_stand_in(stand_in, ([small()], {}))
    numbers = [*range(1, 20), *range(20, calls, 7), calls - 1, calls]  # each of those of an allocation
    answers = on_a_stand_in(stand_in, *(([small()], {"fails": number}) for number in numbers))
    said = (
        "device: found 'gpu' (the driver says: out of memory), allowed: cpu, host",
        "device: found 'gpu' (a stand-in: out of memory), allowed: cpu, host",
        "device: found a point for whose memory the driver of a stand-in says: out of memory, allowed: cpu",
        "device: the accelerator's driver says: out of memory",
    )
    assert {error for _, error, _, _ in answers} == set(said)
    for number, (_, error, _, held) in zip(numbers, answers, strict=True):
        assert held == HELD or (held < HELD and error in said[:2]), f"call {number}: {error}"


@pytest.mark.long
def test_points_that_find_no_room_beside_others_wait_for_them(stand_in: Path) -> None:
    (((alone,), *_),) = on_a_stand_in(stand_in, ([small()], {}))
    room = {"processors": 3, "free": 3 * alone["device_bytes"]}  # all of it is for nobody
    too_little = {"free": alone["device_bytes"]}
    (found, error, _, _), (none, refused, _, _) = on_a_stand_in(
        stand_in, ([small()] * 3, room), ([small()], too_little)
    )
    assert error == ""
    assert [without_costs(each) for each in found] == [without_costs(alone)] * 3
    assert (none, refused) == (
        [None],
        "device: found a point that takes more than the 0 GiB that were free (a stand-in), allowed: cpu",
    )


@pytest.mark.long
def test_a_lane_that_fails_tells_why(stand_in: Path) -> None:
    slow = point(2, allreduce(2, count=10**9, repeats=11), machine())
    for part in ("link", "injection"):
        slow["machine"][part]["bandwidth"] = 10**6
    slow["machine"] |= {"packet": 10**8, "buffer": 10**9, "crossbar": {"bandwidth": "unlimited"}}
    with pytest.raises(RuntimeError, match="exceeds a day") as expected:
        _simulator.simulate(slow)
    ((found, error, _, _),) = on_a_stand_in(stand_in, ([slow], {}))
    assert (found, error) == ([None], str(expected.value))


def json_of(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result as JSON has it."""
    return dict(json.loads(json.dumps(result)))


def small(routing: str = "minimal") -> dict[str, Any]:
    """Return a point of few ranks."""
    net = machine("dragonfly", (3, 2, 3), 2, routing)
    return point(8, allreduce(2, count=64), net)


def test_a_result_says_what_simulated_and_does_not_depend_on_it() -> None:
    on_processor = _simulator.simulate(small())
    for device, engine in (("host", "host"), ("auto", "cpu")):
        result = devices.simulate(_simulator, device, small(), 1)
        assert result["engine"] == engine
        assert without_costs(result) == without_costs(on_processor)


def smoke_points() -> list[Point]:
    """All points of experiments at scale smoke that the embedded simulator runs once."""
    experiments = [load_experiment(file) for file in list_experiments(ROOT)]
    points = {key: point for each in experiments for key, point in expand(each, "smoke").unique().items()}
    own = [point for _, point in sorted(points.items()) if point.substrate == "simulator"]
    return [point for point in own if not point.workload.is_search]


@pytest.mark.long
def test_published_studies_have_the_same_results_on_the_host_form() -> None:
    refused, points = 0, smoke_points()
    for each in points:
        read = as_simulated(each)
        try:
            by_lanes = _simulator.simulate(read, 1, device="host")
        except ValueError as error:
            if not str(error).startswith("device: found "):
                raise
            refused += 1
            continue
        assert without_costs(by_lanes) == without_costs(_simulator.simulate(read, 1)), each.id
    assert refused < len(points) / 4  # pisces-16, ugal-g, causes of waiting


def test_a_campaign_on_a_gpu_that_is_not_there_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(devices.VARIABLE, "gpu")
    try:
        _simulator.accelerator()
    except ValueError:
        with pytest.raises(InputError, match=r"^TRAMONTANE_DEVICE: found 'gpu' .*; allowed: cpu, host$"):
            devices.of_campaign()
        there = False
    else:
        assert devices.of_campaign() == "gpu"
        there = True
    monkeypatch.setenv(devices.VARIABLE, "auto")
    assert devices.of_campaign() == ("auto" if there else "cpu")


@pytest.mark.parametrize("how", ["was ended by signal 7 (SIGBUS)", "ended with status 1"])
def test_a_library_that_ends_who_loads_it_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """As one that a full disk has cut off: what lies beyond its end can be mapped, but not read."""
    parent = os.getpid()

    def accelerator() -> None:
        assert os.getpid() != parent
        if how == "ended with status 1":
            os._exit(1)
        signal.signal(signal.SIGBUS, signal.SIG_DFL)  # pytest's writes a traceback
        os.kill(os.getpid(), signal.SIGBUS)

    monkeypatch.setattr(devices, "simulator", lambda: SimpleNamespace(accelerator=accelerator))
    line = f"--device: found 'gpu' (asking its library: its process {how}; make setup GPU=1"
    with pytest.raises(InputError, match=rf"^{re.escape(line)} builds it again\); allowed: cpu, host$"):
        devices.of_campaign(asked="gpu")
    assert devices.of_campaign(asked="auto") == "cpu"


def test_a_campaign_on_a_cluster_goes_by_what_its_nodes_have(monkeypatch: pytest.MonkeyPatch) -> None:
    for device in ("gpu", "auto"):
        monkeypatch.setenv(devices.VARIABLE, device)
        assert devices.of_campaign(nodes_have_one=True) == device
    assert devices.of_campaign(nodes_have_one=False) == "cpu"
    monkeypatch.setenv(devices.VARIABLE, "gpu")
    with pytest.raises(
        InputError, match=r"^TRAMONTANE_DEVICE: no node of the partition has a GPU.*allowed: cpu, auto$"
    ):
        devices.of_campaign(nodes_have_one=False)
    with pytest.raises(InputError, match=r"^--device: no node of the partition has a GPU.*allowed: cpu, auto$"):
        devices.of_campaign(nodes_have_one=False, asked="gpu")
    assert devices.of_campaign(nodes_have_one=False, asked="host") == "host"


def test_what_a_device_can_not_do_is_refused_or_left_to_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"^device: found .*'ugal-g'.*, allowed: cpu$"):
        devices.simulate(_simulator, "host", small("ugal-g"), 1)
    monkeypatch.setattr(devices, "LEAST_RANKS", 1)
    assert devices.simulate(_simulator, "auto", small("ugal-g"), 1)["engine"] == "cpu"


def test_where_the_device_fails_auto_says_so_and_takes_the_processor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "device: the accelerator's driver says: unspecified launch failure"

    def simulate(point: dict[str, Any], threads: int, checkpoint: Any = None, device: str = "") -> dict[str, Any]:
        if device == "gpu":
            raise RuntimeError(said)
        return dict(_simulator.simulate(point, threads, checkpoint=checkpoint))

    monkeypatch.setattr(devices, "LEAST_RANKS", 1)
    extension = ModuleType("extension")
    monkeypatch.setattr(extension, "simulate", simulate, raising=False)
    result = devices.simulate(extension, "auto", small(), 1)
    assert result["engine"] == "cpu"
    assert without_costs(result) == without_costs(_simulator.simulate(small()))
    assert capsys.readouterr().err == f"{said}; a processor takes the point\n"
    with pytest.raises(RuntimeError, match=f"^{said}$"):
        devices.simulate(extension, "gpu", small(), 1)
    said = "deadlock: 8 of 8 ranks never end"  # of the point: on a processor, too
    with pytest.raises(RuntimeError, match=f"^{said}$"):
        devices.simulate(extension, "auto", small(), 1)


def test_the_environment_chooses_where_no_option_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(devices.VARIABLE, "auto")
    assert devices.chosen() == "auto"
    monkeypatch.setenv(devices.VARIABLE, "")
    assert devices.chosen() == "cpu"
    monkeypatch.setenv(devices.VARIABLE, "fpga")
    with pytest.raises(InputError, match=r"TRAMONTANE_DEVICE.*fpga.*cpu, gpu, auto, host"):
        devices.chosen()
