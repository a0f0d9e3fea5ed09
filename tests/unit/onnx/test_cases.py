"""onnx's own tests of its operators: a sample that is kept in the tree, and the whole set where the package is."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.onnx_cases import Case, judged, stored_cases

CASES = list(stored_cases())
DOCS = Path(__file__).parents[3] / "docs" / "importing.md"


@pytest.mark.oracle
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_kept_case_gives_the_result_of_onnx(case: Case, tmp_path: Path) -> None:
    verdict = judged(case, tmp_path)
    assert verdict.kind == "equal", verdict.reason


@pytest.mark.long
def test_no_case_of_the_package_gives_another_result(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from tests.onnx_package import verdicts

    found, other = Counter[str](), list[str]()
    for name, _, verdict, _ in verdicts(tmp_path):
        found[verdict.kind] += 1
        if verdict.kind not in ("equal", "refused", "no numbers"):
            other.append(f"{name}: {verdict.kind}, {verdict.reason}")
    assert not other
    said = re.search(r"([\d,]+) of the\s+([\d,]+) tests", DOCS.read_text())
    assert said is not None
    assert (f"{found['equal']:,}", f"{sum(found.values()):,}") == said.groups()
