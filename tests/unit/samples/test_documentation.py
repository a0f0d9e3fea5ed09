"""The networks that ship with npuc are a page each and say what they are; docs/samples.md is right."""

import re
from pathlib import Path

import pytest

from npuc.frontends import read_text, sample_names
from npuc.frontends.dsl.program import load_program
from npuc.frontends.dsl.syntax import Expr, ListOf, Literal
from npuc.frontends.dsl.values import Value, literal_text
from tests.unit.samples.figures import FIGURES

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "samples.md").read_text(encoding="utf-8")
ALL = pytest.mark.parametrize("name", sample_names())


@pytest.mark.parametrize("file", sorted((ROOT / "samples").glob("*.dsl")), ids=lambda file: file.stem)
def test_a_file_is_a_page_and_says_what_it_is(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 92
    assert max(len(line) for line in lines) <= 120
    assert re.match(r"# [A-Z].*[a-z)]$", lines[0])
    assert lines[1] == "#"


def defaults(name: str) -> dict[str, str]:
    """The parameters of a network with their defaults, as the language writes them."""
    definition = load_program(read_text(f"samples:{name}"), f"samples:{name}").network.definition
    assert definition.name.text == name
    found: dict[str, str] = {}
    for parameter in definition.parameters:
        found[parameter.name] = literal_text(_value(parameter.default))
    return found


def _value(default: Expr | None) -> Value:
    if isinstance(default, ListOf):
        return [_value(item) for item in default.items]
    assert isinstance(default, Literal)
    return default.value


@ALL
def test_size_parameters(name: str) -> None:
    assert "batch" in defaults(name)
    assert {"image", "length", "hidden", "size", "factors"} & set(defaults(name))


def rows(heading: str) -> list[list[str]]:
    """The cells of the table behind a heading of docs/samples.md, without its head."""
    section = DOCUMENT.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_documented_networks() -> None:
    documented = {row[0].strip("`"): row for row in rows("Networks")}
    assert set(documented) == set(sample_names())
    for name, (_, text, parameters, macs, options) in documented.items():
        assert text == read_text(f"samples:{name}").splitlines()[0].removeprefix("# ")
        assert parameters == f"{FIGURES[name].parameters:,}"
        assert macs == f"{FIGURES[name].macs:,}"
        assert options == ", ".join(f"`{key}={value}`" for key, value in defaults(name).items())


def published_rows() -> list[list[str]]:
    """The table of published figures as it should be."""
    units = {1: "", 10**6: " M", 10**8: " x 10^8", 10**9: " G"}
    found: list[list[str]] = []
    for name, figures in FIGURES.items():
        for figure in (*figures.published_parameters, *figures.published_macs):
            if figure in figures.published_parameters:
                what, count = "parameters", figures.parameters - figures.extra_parameters
            elif figure.of_batch:
                what, count = f"MACs of a batch of {figures.batch}", figures.macs
            else:
                what, count = "MACs of an image", figures.macs // figures.batch
            digits = f"{int(figure.digits):,}" if figure.unit == 1 else figure.digits
            found.append([f"`{name}`", what, digits + units[figure.unit], f"{count:,}", figure.source])
    return found


def test_documented_figures() -> None:
    assert rows("Against published figures") == published_rows()
