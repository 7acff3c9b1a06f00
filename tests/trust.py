"""Run the tests that docs/trust.md rests on, and say row by row how they went: `make trust`.

`trust.yaml` says which tests stand for which statement, and what none of them covers. A test that tries many cases
tells their number by pytest's `record_property("cases", n)`; any other is one case.
"""

import argparse
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tramontane.support.tables import markdown

ROOT = Path(__file__).parents[1]
TABLE = re.compile(r"(?<=<!-- trust -->\n).*?(?=<!-- end -->)", re.DOTALL)
HEADINGS = ("what", "tests", "cases", "passed", "skipped", "failed", "not covered")


@dataclass(frozen=True)
class Row:
    """A statement, the tests that stand for it (a file, or FILE::TEST), and what they leave out."""

    what: str
    tests: tuple[str, ...]
    uncovered: str = ""

    def has(self, test: str) -> bool:
        """Whether a test stands for this row."""
        return any(test == each or test.startswith((f"{each}::", f"{each}[", f"{each}/")) for each in self.tests)


@dataclass(eq=False)  # pytest keeps its plugins in sets
class Outcomes:
    """What pytest says of each test that ran."""

    cases: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, str] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst of a test's phases: a skip or an error of its set-up counts, too."""
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.nodeid] = report.outcome
            self.cases[report.nodeid] = int(str(dict(report.user_properties).get("cases", 1)))


def rows() -> list[Row]:
    """Return the rows of `trust.yaml`."""
    read = YAML(typ="safe").load(Path(__file__).with_name("trust.yaml"))
    return [Row(each["what"], tuple(each["tests"]), each.get("not covered", "")) for each in read]


def table(of: list[Row], said: Outcomes) -> str:
    """Return the rows as Markdown."""
    lines = []
    for row in of:
        own = [test for test in said.outcomes if row.has(test)]
        counts = Counter(said.outcomes[test] for test in own)
        cases = sum(said.cases[test] for test in own)
        numbers = (len(own), cases, *(counts[how] for how in ("passed", "skipped", "failed")))
        lines.append([row.what, *(f"{number:,}" for number in numbers), row.uncovered])
    return markdown(HEADINGS, lines, range(1, 6)) + "\n"


def merged(text: str, old: str) -> str:
    """Return the rows of an older table, those that stand in `text` in their place."""
    new = {line.split(" | ")[0]: line for line in text.splitlines()}
    return "".join(f"{new.get(line.split(' | ')[0], line)}\n" for line in old.splitlines())


def main() -> int:
    """Run the tests, print the table and, with --fill, put it into a document; 1 if a test failed or a row has none."""
    parser = argparse.ArgumentParser(prog="python -m tests.trust", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--fill", type=Path, metavar="FILE", help="put the table between <!-- trust --> and <!-- end -->"
    )
    parser.add_argument("--rows", metavar="WORDS", help="only rows with these words; the others stay as they are")
    arguments, others = parser.parse_known_args()
    of, said = [row for row in rows() if (arguments.rows or "") in row.what], Outcomes()
    tests = sorted({str(ROOT / test) for row in of for test in row.tests})
    status = pytest.main(["-q", f"--rootdir={ROOT}", *others, *tests], plugins=[said])
    print(text := table(of, said))
    if arguments.fill:
        document = arguments.fill.read_text(encoding="utf-8")
        new = (lambda found: merged(text, found[0])) if arguments.rows else (lambda _: text)
        arguments.fill.write_text(TABLE.sub(new, document), encoding="utf-8")
    empty = [row.what for row in of if not any(row.has(test) for test in said.outcomes)]
    for what in empty:
        print(f"no test ran for: {what}", file=sys.stderr)
    return 1 if status or empty else 0


if __name__ == "__main__":
    sys.exit(main())
