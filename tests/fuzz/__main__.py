"""Draws new broken inputs and judges the answers: ``python -m tests.fuzz --seed 7 --count 500``.

Each input must be accepted, or refused in one line within two seconds of processor time. Of those in files and command
lines, `--processes` many are given to ``tramontane`` in a process of their own, too.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.fuzz import judge as judges
from tests.fuzz.draw import COMMAND, EXAMPLES, READ_BY, REFERRED, TABLE, WHERE, Drawn, draw

ROOT = Path(__file__).parents[2]
EXPERIMENT = "configs/experiments/fig09d-pattern.yaml"


class Project:
    """A copy of the configuration in which inputs are put, one at a time.

    Parameters
    ----------
    folder : Path
        An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        shutil.copytree(ROOT / "configs", self.root / "configs")
        (self.root / "validation").mkdir()
        shutil.copy(ROOT / "validation/topologies.csv", self.root / "validation")
        shutil.copytree(ROOT / EXAMPLES, self.root, dirs_exist_ok=True)
        self._where = judges.Where(self.root / EXPERIMENT)

    def judge(self, drawn: Drawn) -> judges.Answer:
        """Give an input to what reads it."""
        if drawn.kind == WHERE:
            return self._where(drawn.content.decode(errors="surrogatepass"))
        if drawn.kind == COMMAND:
            return self._inside(lambda: judges.command(list(drawn.words)))
        return self.placed(drawn, lambda file: self._judge_placed(drawn, file))

    def _judge_placed(self, drawn: Drawn, file: Path) -> judges.Answer:
        if drawn.kind == TABLE:
            return judges.table(file, self.root)
        if drawn.kind in READ_BY:
            return self._inside(lambda: judges.command(list(READ_BY[drawn.kind])))
        if drawn.kind in REFERRED:
            return judges.file(self.root / REFERRED[drawn.kind][-1])
        return judges.file(file)

    def _inside(self, function: Callable[[], judges.Answer]) -> judges.Answer:
        before = Path.cwd()
        os.chdir(self.root)
        try:
            return function()
        finally:
            os.chdir(before)

    def placed(self, drawn: Drawn, function: Callable[[Path], judges.Answer]) -> judges.Answer:
        """Put an input's file where it belongs, call, and put back what was there."""
        file = self.root / drawn.file
        file.parent.mkdir(parents=True, exist_ok=True)
        before = file.read_bytes() if file.exists() else None
        file.write_bytes(drawn.content)
        os.utime(file, ns=(drawn.number, drawn.number + 1))  # no two are taken for the same
        try:
            return function(file)
        finally:
            if before is None:
                file.unlink()
            else:
                file.write_bytes(before)

    def process(self, drawn: Drawn) -> judges.Answer:
        """Give an input to the command in a process of its own."""
        if drawn.kind == WHERE:
            text = drawn.content.decode(errors="replace").replace("\0", "?")
            return self._run(["estimate", "fig09d", "--scale=smoke", f"--where={text}"])
        if drawn.kind == COMMAND:
            return self._run([word.replace("\0", "?") for word in drawn.words])
        commands = {TABLE: ["compare", "nope.csv"]} | {kind: list(words) for kind, words in READ_BY.items()}
        commands |= {kind: ["validate", file] for kind, (*_, file) in REFERRED.items()}
        command = commands.get(drawn.kind, ["validate", drawn.file])
        return self.placed(drawn, lambda _: self._run(command))

    def _run(self, words: list[str]) -> judges.Answer:
        line = [sys.executable, "-m", "tramontane", *words]
        try:
            done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=self.root, timeout=60)
        except subprocess.TimeoutExpired:
            return judges.Answer(None, "still running after a minute")
        told = done.stderr.strip()
        wrong = done.returncode not in (0, 2) or "Traceback" in told
        wrong = wrong or (done.returncode == 2 and len(told.splitlines()) != 1)
        return judges.Answer(told, f"exit status {done.returncode}: {told[-300:]}" if wrong else None)


def main() -> int:
    """Draw, judge and print what is wrong; return 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.fuzz")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn")
    parser.add_argument("--count", type=int, default=500, help="inputs")
    parser.add_argument("--processes", type=int, default=0, help="of them also in processes of their own")
    parser.add_argument("--only", type=int, help="the number of one input, which is printed")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder))
        for drawn in draw(options.seed, options.count, ROOT):
            if options.only not in (None, drawn.number):
                continue
            answers = [project.judge(drawn)]
            if drawn.number < options.processes:
                answers.append(project.process(drawn))
            counts["refused" if answers[0].line else "accepted"] += 1
            if options.only is not None:
                print(drawn, answers)
            for answer in answers:
                if answer.fault:
                    counts["wrong"] += 1
                    print(f"--seed {options.seed} --only {drawn.number} ({drawn.kind}): {answer.fault}")
    told = ", ".join(f"{number} {what}" for what, number in counts.items())
    print(f"seed {options.seed}: {options.count} inputs, {told}")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
