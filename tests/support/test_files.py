"""How files are written: whole or not at all."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tramontane.support.files import UnwritableError, folder_beside

#: Fills a folder beside what its argument names, says so, and waits to be ended.
_FILLS = """
import sys, time
from pathlib import Path
from tramontane.support.files import folder_beside
with folder_beside(Path(sys.argv[1])) as folder:
    (folder / "half").write_text("written")
    print("filled", flush=True)
    time.sleep(60)
"""


def test_folder_beside_is_gone_afterwards(tmp_path: Path) -> None:
    with folder_beside(tmp_path / "new") as folder:
        (folder / "made").write_text("whole")
        (folder / "made").rename(tmp_path / "new")
        assert folder.parent == tmp_path
    assert [place.name for place in tmp_path.iterdir()] == ["new"]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_folder_beside_names_the_file_where_it_cannot_be_made(tmp_path: Path) -> None:
    file = tmp_path / "none" / "new"
    with pytest.raises(UnwritableError) as caught, folder_beside(file):
        pass
    assert caught.value.filename == str(file)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_folder_beside_is_gone_when_the_process_is_ended(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", _FILLS, "new"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        assert process.stdout.readline() == b"filled\n"
        os.kill(process.pid, number)
        assert process.wait(timeout=30) != 0
    assert not list(tmp_path.iterdir())


def test_folder_beside_leaves_a_handler_that_is_there(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with folder_beside(tmp_path / "new"):
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
