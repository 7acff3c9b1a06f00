"""A small campaign again and again, with faults drawn at random, each ending with the dataset of a clean run.

``make soak`` runs it for an hour; ``python -m tests.faults.soak --minutes 10 --seed 7`` for ten minutes. Each round
starts from nothing, is hurt some times (processes killed, signals, files from the future, halves of temporary files)
and is then left to end by the same command.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.faults import campaign

#: The experiments, with their numbers of points; the second shares all of its points with the first.
EXPERIMENTS = {"hurt": 8, "hurt_too": 5}
#: How often a round is hurt at most, and for how many seconds it is left alone before.
MOST, WITHIN = 4, 15.0


def put_into_the_future(project: Path, draw: random.Random) -> None:
    """Give some files of the results a time two days ahead, as a clock that was wrong leaves them."""
    later = time.time() + 2 * 86400
    files = [path for path in (project / "results").rglob("*") if path.is_file()]
    for path in draw.sample(files, len(files) // 3):
        if path.exists():
            os.utime(path, (later, later))


def leave_rubbish(project: Path, draw: random.Random) -> None:
    """Leave half of a temporary file beside a record, as a power cut does."""
    for path in draw.sample(campaign.records(project), min(2, len(campaign.records(project)))):
        path.with_name(f".{path.name}.x.tmp").write_bytes(path.read_bytes()[:20])


def one_round(project: Path, draw: random.Random) -> Counter[str]:
    """Run the campaign from nothing to its end, hurting it on the way; return what was done to it."""
    shutil.rmtree(project / "results", ignore_errors=True)
    done: Counter[str] = Counter()
    for _ in range(draw.randint(1, MOST)):
        process = campaign.start(project)
        until = time.monotonic() + draw.uniform(0, WITHIN)
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        if process.poll() is None:
            done[campaign.hurt(project, process, draw)] += 1
        time.sleep(draw.choice([0, 0.5]))  # the next one may well find the last of this one
        if draw.random() < 0.5:
            process.kill()
            done["kill of the driver"] += 1
        process.communicate()
        if draw.random() < 0.3:
            put_into_the_future(project, draw)
            done["future"] += 1
        if draw.random() < 0.3:
            leave_rubbish(project, draw)
            done["rubbish"] += 1
    status, _, err = campaign.run(project)
    assert status == 0, f"{err}\n{(project / 'results/smoke/logs/snakemake.log').read_text()[-2000:]}"
    assert len(campaign.records(project)) == max(EXPERIMENTS.values()), "records"
    return done


def main() -> int:
    """Run rounds until the time is over; 1 at the first that ends otherwise than the clean run."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--minutes", type=float, default=60, help="how long")
    parser.add_argument("--seed", type=int, default=1, help="which faults")
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    draw = random.Random(options.seed)
    total: Counter[str] = Counter()
    rounds = 0
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        project = Path(folder)
        for name, points in EXPERIMENTS.items():
            campaign.write(project, name, points)
        status, _, err = campaign.run(project)
        if status:
            print(err, file=sys.stderr)
            return 1
        clean = {name: campaign.values(project, name) for name in EXPERIMENTS}
        while time.monotonic() < deadline:
            try:
                done = one_round(project, draw)
                for name, expected in clean.items():
                    campaign.assert_same(campaign.values(project, name), expected)
            except AssertionError as error:
                kept = shutil.copytree(project, tempfile.mkdtemp(prefix="soak-failed-"), dirs_exist_ok=True)
                print(f"round {rounds + 1} (seed {options.seed}) differs, kept in {kept}: {error}", file=sys.stderr)
                return 1
            finally:
                campaign.end_all(project)
            rounds += 1
            total += done
            print(f"round {rounds}: {', '.join(f'{count} {what}' for what, count in sorted(done.items()))}", flush=True)
    told = ", ".join(f"{count} {what}" for what, count in sorted(total.items()))
    print(f"{rounds} rounds, each with the dataset of the clean run; done to them: {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
