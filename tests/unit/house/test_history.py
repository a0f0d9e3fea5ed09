"""The history of measurements: what is read, shown and written of it; nothing of how long anything takes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.history import table
from benchmarks.history.__main__ import HISTORY, ROOT
from benchmarks.history.cases import CASES
from benchmarks.history.measure import Failed, run

ENTRY = table.Entry("tiny", "1a2b3c4", "2026-01-01 00:00", "3.11.7", "2.4.0", 3, 2.0, 0.5, 3.172, 90.0)


def test_cases_have_names_and_points_of_their_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert all((case.points > 1) == (case.less is not None) for case in CASES)


def test_a_line_that_a_kill_left_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    whole = json.dumps(ENTRY.__dict__)
    path.write_text(f"{whole}\n{whole[:40]}\n{whole}\n[1]\n")
    assert table.read(path) == [ENTRY, ENTRY]
    assert table.read(tmp_path / "none.jsonl") == []


def test_trend_has_the_last_measurements_beside_the_goal() -> None:
    entries = [replace(ENTRY, case="second", reference=0.1 * n) for n in range(1, 9)]
    (_, line) = table.trend([*entries, ENTRY], ["second"]).splitlines()
    assert line.split() == ["second", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8"]


def test_the_page_has_the_last_of_each(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    table.write_page(path, [ENTRY, replace(ENTRY, reference=12.6)])
    text = path.read_text()
    assert "old" not in text
    assert "| mlp, first compile | 13 |  |  | 90 |" in text
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")


def test_the_page_shows_the_history() -> None:
    """Written by `python -m benchmarks.history --docs`."""
    assert table.page_table(table.read(HISTORY)) in (ROOT / "docs" / "performance.md").read_text()


def test_a_command_that_fails_says_what_it_printed(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"(?s)exit status 3.*\ntrouble"):
        run(["sh", "-c", "echo trouble; exit 3"], {}, tmp_path, 60)
