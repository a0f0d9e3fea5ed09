"""
Measure what npuc takes beside what never changes, keep it, and show how it went.

    python -m benchmarks.history                      # all cases, appended to benchmarks/history.jsonl
    python -m benchmarks.history --only 'points-*'    # some of them
    python -m benchmarks.history --trend              # only what was measured before
    python -m benchmarks.history --docs               # the table of docs/performance.md from the last of each
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

from benchmarks.history import table
from benchmarks.history.cases import CASES
from benchmarks.history.measure import Failed, compile_all, measure

ROOT = Path(__file__).parents[2]
HISTORY = ROOT / "benchmarks" / "history.jsonl"


def main() -> int:
    """Run the command; exit status 1 where a case failed."""
    asked = _asked()
    named = [case for case in CASES if any(fnmatch(case.name, pattern) for pattern in asked.only)]
    cases = [case for case in named if asked.peer is not None or not case.peer]
    failed = 0
    compile_all(ROOT)
    for case in () if asked.trend or asked.docs else cases:
        try:
            found = measure(case, asked.rounds, asked.limit, asked.peer)
        except Failed as problem:
            print(f"{case.name}: {problem}", file=sys.stderr)
            failed = 1
            continue
        entry = table.Entry(
            case=case.name,
            revision=_revision(),
            date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
            python=platform.python_version(),
            numpy=np.__version__,
            rounds=asked.rounds,
            cpu=round(found.cpu, 4),
            yardstick=round(found.yardstick, 4),
            reference=round(found.reference, 4),
            peak_mb=round(found.peak_mb, 1),
        )
        with asked.file.open("a") as history:
            history.write(json.dumps(entry.__dict__) + "\n")
            history.flush()
            os.fsync(history.fileno())
        print(table.line(entry), flush=True)
    entries = table.read(asked.file)
    print(table.trend(entries, [case.name for case in named]))
    if asked.docs:
        table.write_page(ROOT / "docs" / "performance.md", entries)
    return failed


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.history", description="Measure what commands of npuc take."
    )
    parser.add_argument("--only", nargs="+", default=["*"], metavar="GLOB", help="cases to measure")
    parser.add_argument("--rounds", type=int, default=3, help="the median of so many is kept (default: 3)")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which a command is stopped")
    parser.add_argument("--peer", metavar="PYTHON", help="a Python that has SCALE-Sim, to measure that, too (minutes)")
    parser.add_argument("--file", type=Path, default=HISTORY, help="the history (default: benchmarks/history.jsonl)")
    parser.add_argument("--trend", action="store_true", help="measure nothing, show what was measured")
    parser.add_argument("--docs", action="store_true", help="measure nothing, write the table of docs/performance.md")
    return parser.parse_args()


def _revision() -> str:
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
