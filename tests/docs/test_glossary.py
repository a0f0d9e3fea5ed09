"""The glossary is in order, what it names is there, and it has every word that tables and lines of reports use."""

import contextlib
import io
import re
from collections.abc import Collection, Sequence
from unittest import mock

import pytest
import typer.main
from typer import Typer

from npuc.backends.registry import built_in
from npuc.compiler.cli import app, run_command
from npuc.compiler.driver.passes import own_passes
from npuc.compiler.reference.terms import all_terms, read_glossary, terms_named
from npuc.compiler.report.causes import NAMES
from npuc.compiler.report.text import grid
from npuc.compiler.report.text.grid import Column
from npuc.hardware import KEYS
from tests.docs.pages import read_page
from tests.support.golden import TERMS as DATA
from tests.support.golden import terms_text

ALL = read_glossary(read_page("glossary"))
TABLES = [[t for t in ALL if t.where is None], [t for t in ALL if t.where is not None]]
SPANS = [span for term in ALL for span in re.findall(r"`([^`]+)`", term.meaning)]
PRICED = (
    "network.levels=[{kind='switch',size=2,gb_per_s=1,link_usd_per_gb_per_s=4,switch_usd_per_gb_per_s=9},"
    "{kind='ring',size=4,gb_per_s=4,link_usd_per_gb_per_s=2}]"
)
GROUPS = "network.groups=[{tflops=2,gb_per_s=4},{tflops=1,gb_per_s=8}]"
COMMANDS = (
    "compile samples:mlp",
    "compile samples:mlp -b cycle -b roofline -b maestro",
    "compile samples:mlp --set array.cores=2 --rows cores",
    "compile samples:mlp -b roofline --set roofline.bound=true",
    "compile samples:mlp -p autodiff,recompute,lower-to-npu,schedule,fuse-vector,keep-resident",
    "compile samples:mlp -O0 -D batch=16 --hw igo-small --fuse-layers dp",
    "compile samples:mlp --devices 4 --hw hypar16",
    "explain samples:mlp",
    "explain samples:mlp h.linear",
    "explain samples:mlp h.linear -b roofline",
    "explain samples:lenet_c --devices 4",
    "explain samples:lenet_c fc1 --devices 4",
    f"explain samples:lenet_c --devices 4 --parallel accpar --set {GROUPS}",
    "sweep samples:mlp --vary memory.spm_kib=4,64",
    "optimize samples:mlp -b roofline --goals time,memory --vary batch=16,64",
    "sweep samples:mlp --vary batch=32,64 --devices 4 --hw hypar16 --objective energy",
    "map samples:lenet --budget 4",
    "flexibility samples:lenet --budget 4",
    "reuse samples:lenet",
    "compile samples:mlp --devices 16 --hw hypar16 --collectives themis-scf --chunks 8 --parallel dp",
    "explain samples:mlp --devices 16 --hw hypar16 --parallel dp -b cycle --collective h.linear",
    f"network samples:mlp --devices 8 --hw edge --set {PRICED} --total-gb-per-s 9 --constraint b1>=2 --parallel dp",
    f"network samples:mlp --devices 8 --hw edge --set {PRICED} --budget-usd 400 --shapes --parallel dp",
    "design samples:lenet --area-mm2 0.2 --budget 40",
    "design samples:lenet --area-mm2 0.2 --budget 160 --class any",
)
"""Commands that print every table of a report and every line below."""


def options(application: Typer) -> set[str]:
    """Every option of every verb."""
    group = typer.main.get_command(application)
    commands = getattr(group, "commands").values()
    return {name for command in commands for parameter in command.params for name in parameter.opts}


def test_terms_are_in_order_and_there_once() -> None:
    for table in TABLES:
        names = [(term.term.lower(), term.where or "") for term in table]
        assert len(names) > 30
        assert [name for name, _ in names] == sorted(name for name, _ in names)
        assert len({(term.term, term.where) for term in table}) == len(names)


def test_the_package_has_the_page() -> None:
    assert DATA.read_text(encoding="utf-8") == terms_text(), "run: pytest --update-golden tests/docs/test_glossary.py"
    assert sorted(map(repr, all_terms())) == sorted(map(repr, ALL))


def words_of(command: str) -> set[str]:
    """The heads of the tables that a command prints, and the headings of its lines."""
    heads: set[str] = set()
    fitting = grid.fitting

    def noted(columns: Sequence[Column], width: int, gap: int = 1) -> list[Column]:
        heads.update(" ".join(column.heading.split()) for column in columns)
        return fitting(columns, width, gap)

    stream = io.StringIO()
    with mock.patch.object(grid, "fitting", noted), contextlib.redirect_stdout(stream):
        assert run_command([*command.split(), "-q"]) == 0
    lines = (re.match(r"([a-z]+) +(?=\S)", line) for line in stream.getvalue().splitlines())
    return heads | {found.group(1) for found in lines if found is not None and found.end() == grid.LABEL}


def test_every_cause_is_there() -> None:
    for name in NAMES.values():
        assert any("causes" in (term.where or "") for term in terms_named(name)), name


def without_names(words: Collection[str], command: str) -> list[str]:
    """Words that are no names or numbers: of layers and backends, and keys that are varied."""
    parts = command.replace("=", " ").split()
    names = {*parts, *(part.replace(".", ". ") for part in parts)}
    words = [word for word in words if word and not word.isdecimal()]
    return [word for word in words if word not in names and word.split()[0] not in built_in()]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_word_of_a_report_is_there(command: str) -> None:
    words = without_names(words_of(command), command)
    assert words
    for word in words:
        terms_named(word)


def test_what_is_named_is_there() -> None:
    passes, known = own_passes(), options(app())
    keys = [
        span for span in SPANS if re.fullmatch(r"[a-z]+\.[a-z_]+", span) and span.split(".")[0] not in ("npu", "dist")
    ]
    assert [key for key in keys if key not in KEYS] == []
    assert [span for span in SPANS if span.startswith("--") and span not in known] == []
    for term in ALL:
        for name in re.findall(r"pass `([^`{]+)`", term.meaning):
            assert name in passes, name
