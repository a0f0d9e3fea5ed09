"""Tables and sentences fit terminals of several widths, and say the same numbers on all of them."""

import re

import pytest

from tests.unit.cli.widths.commands import COMMANDS, WIDTHS, file_of, printed

NUMBER = re.compile(r"\d[\d,.]*\d|\d")


@pytest.mark.parametrize("command", COMMANDS)
def test_lines_fit(command: str) -> None:
    for width in WIDTHS:
        text = printed(command, width)
        assert file_of(width).read_text(encoding="utf-8").count(f"$ npuc {command}\n{text}") == 1, (
            "not as written down: python -m tests.unit.cli.widths"
        )
        assert [line for line in text.splitlines() if len(line) > width] == []


@pytest.mark.parametrize("command", [command for command in COMMANDS if not command.startswith("explain samples:mlp")])
def test_a_narrow_terminal_shows_numbers_of_a_wide_one(command: str) -> None:
    """No number is cut. Where columns are left out their widths are said; narrow tables alone have sums of phases."""
    wide = set(NUMBER.findall(printed(command, 10_000)))
    for width in WIDTHS:
        text = re.sub(r"no room in \d+\s+columns", "", printed(command, width))
        if "backward update" in re.sub(r" +", " ", text):
            continue
        assert set(NUMBER.findall(text)) <= wide
