"""The README: the table it shows is what the tool prints, and its links lead somewhere."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks_of
from tests.docs.shell import Shell

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_is_what_the_tool_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shell = Shell(tmp_path)
    (block,) = [block for block in blocks_of(TEXT) if block.language == "console"]
    shell.run(block)


def test_its_two_command_blocks_come_first() -> None:
    first, second = [block.text for block in blocks_of(TEXT) if block.language == "sh"]
    assert first.splitlines()[-1] == "npuc compile samples:resnet50 --backend cycle"
    assert second.splitlines()[-1] == "pytest -n auto"


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)", TEXT))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists()
