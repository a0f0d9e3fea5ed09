"""Examples that need packages of an optional group."""

from pathlib import Path

import pytest

from tests.docs.examples import NEEDING, run_page


@pytest.mark.parametrize("page", NEEDING)
def test_examples(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in NEEDING[page]:
        pytest.importorskip(module)
    run_page(page, tmp_path, monkeypatch)
