"""
The cases of tests that take most of a whole run's time: `--examples full` alone runs them.

    pytest -n 2 --examples full --junitxml junit.xml
    python -m tests.support.heavy junit.xml     # writes tests/heavy.txt anew

Of every test the quickest case stays, so that nothing is left out altogether; so do the examples of the pages.
"""

import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

LIST = Path(__file__).parents[1] / "heavy.txt"
SECONDS = 0.5
"""From how many seconds on a case is heavy, on two cores that do little else."""


def heavy_tests() -> frozenset[str]:
    """The node identifiers of the list."""
    return frozenset(line for line in LIST.read_text(encoding="utf-8").splitlines() if line and line[0] != "#")


def heavy_of(seconds: dict[str, float], limit: float = SECONDS) -> list[str]:
    """The cases that take longer than the limit, but for the quickest of each test and the pages."""
    by_test: defaultdict[str, list[str]] = defaultdict(list)
    judged = [node for node in seconds if not node.startswith("tests/docs/")]
    for node in sorted(judged, key=lambda node: (seconds[node], node)):
        by_test[node.partition("[")[0]].append(node)
    return sorted(node for cases in by_test.values() for node in cases[1:] if seconds[node] > limit)


def seconds_of(report: str) -> dict[str, float]:
    """The time of each test in a report in JUnit's format."""
    seconds: dict[str, float] = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        path = case.get("classname", "").replace(".", "/") + ".py"
        seconds[f"{path}::{case.get('name')}"] = float(case.get("time", 0))
    return seconds


def main(report: str) -> None:
    """Write the list."""
    text = "# Written by tests/support/heavy.py: cases that `--examples full` alone runs.\n"
    LIST.write_text(text + "".join(f"{node}\n" for node in heavy_of(seconds_of(report))), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
