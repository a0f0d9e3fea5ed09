"""
onnx's own tests of its operators: a sample that is kept in the tree, and the whole set where the package is.

The operators of com.microsoft are beside the sample, with the results of onnxruntime.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.onnx_cases import CONTRIBUTED, SAMPLE, Case, judged, stored_cases

CASES = [case for path in (SAMPLE, CONTRIBUTED) for case in stored_cases(path)]
DOCS = Path(__file__).parents[3] / "docs" / "importing.md"


@pytest.mark.oracle
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_kept_case_gives_the_same_result(case: Case, tmp_path: Path) -> None:
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
