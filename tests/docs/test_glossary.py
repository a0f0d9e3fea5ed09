"""The glossary is in order, and what it names is there."""

import re

import typer.main
from typer import Typer

from npuc.compiler.cli import app
from npuc.compiler.driver.passes import own_passes
from npuc.hardware import KEYS
from tests.docs.pages import read_page

ROWS = [line.split("|")[1:3] for line in read_page("glossary").splitlines() if line.startswith("| ")][1:]
TERMS = [term.strip() for term, _ in ROWS]
SPANS = [span for _, meaning in ROWS for span in re.findall(r"`([^`]+)`", meaning)]


def options(application: Typer) -> set[str]:
    """Every option of every verb."""
    group = typer.main.get_command(application)
    commands = getattr(group, "commands").values()
    return {name for command in commands for parameter in command.params for name in parameter.opts}


def test_terms_are_in_order_and_there_once() -> None:
    assert len(TERMS) > 30
    assert sorted(set(TERMS), key=str.lower) == TERMS


def test_what_is_named_is_there() -> None:
    passes, known = own_passes(), options(app)
    keys = [
        span for span in SPANS if re.fullmatch(r"[a-z]+\.[a-z_]+", span) and span.split(".")[0] not in ("npu", "dist")
    ]
    assert [key for key in keys if key not in KEYS] == []
    assert [span for span in SPANS if span.startswith("--") and span not in known] == []
    for _, meaning in ROWS:
        for name in re.findall(r"pass `([^`{]+)`", meaning):
            assert name in passes, name
