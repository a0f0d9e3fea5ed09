"""Tables of the pages that describe the program are complete: options, hardware keys, fields of the report."""

import re
from pathlib import Path
from typing import get_args

import pytest
from msgspec import Struct

from npuc.backends.registry import built_in
from npuc.compiler.core.errors import CapacityError, CheckError, InternalError, SourceError, UsageError
from npuc.compiler.report import OpRow, Report, ScheduleRow, StepMemory, Totals
from npuc.compiler.report.rows import Kind, Phase
from npuc.frontends.dsl.lint import RULES
from npuc.hardware import KEYS
from tests.docs.pages import Command, read_page, section_of, table_of
from tests.docs.shell import Shell
from tests.docs.tables import begin, derived_rows, end, filled, memory_rows, node_rows, uses_of, with_tables

CLI, REPORT, CYCLE = read_page("cli"), read_page("report"), read_page("cycle")
FLAG = r"(?<![\w-])--?[A-Za-z][\w-]*"


def help_of(folder: Path, verb: str) -> str:
    shell = Shell(folder)
    text = shell.command(Command(f"npuc {verb} --help", 0, ()))
    assert shell.status == 0
    return text


def documented_flags(verb: str) -> set[str]:
    rows = table_of(section_of(CLI, f"## {verb}"))
    return {flag for row in rows for flag in re.findall(FLAG, row[0])}


@pytest.mark.parametrize(
    "verb", ["compile", "diff", "explain", "run", "check", "fmt", "lint", "reuse", "study", "machine", "list"]
)
def test_options_are_those_of_the_help(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = re.findall(r"^  (-.*?)(?:  |$)", help_of(tmp_path, verb), re.MULTILINE)
    assert documented_flags(verb) == {flag for line in shown for flag in re.findall(FLAG, line)}


def test_options_of_opt_are_in_its_help(tmp_path: Path) -> None:
    known = re.findall(FLAG, help_of(tmp_path, "opt"))
    assert documented_flags("opt") <= set(known)


def test_verbs_are_those_of_the_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    commands = help_of(tmp_path, "").partition("Commands:\n")[2]
    verbs = re.findall(r"^  (\w+)", commands, re.MULTILINE)
    assert re.findall(r"^    npuc (\w+)", CLI, re.MULTILINE) == verbs
    assert [h for h in re.findall(r"^## (\w+)$", CLI, re.MULTILINE) if h in verbs] == verbs


def test_exit_statuses_are_those_of_the_errors() -> None:
    documented = {int(row[0]) for row in table_of(section_of(CLI, "## Exit status"))}
    errors = (SourceError, CheckError, UsageError, CapacityError, InternalError)
    assert documented == {0, 130, 143} | {error.exit_code for error in errors}


@pytest.mark.heavy
def test_hardware_tables_are_up_to_date() -> None:
    text = read_page("hardware")
    assert with_tables(text) == text, "run: python -m tests.docs.tables"


def test_tables_of_nodes_and_memories_and_the_keys_of_a_backend_are_up_to_date() -> None:
    """Of the backend whose scores are the quickest."""
    text = read_page("hardware")
    tables = {"derived": derived_rows(), "nodes": node_rows(), "memories": memory_rows()}
    assert filled(text, tables) == text, "run: python -m tests.docs.tables"
    rows = [line.strip("| ").split(" | ") for line in text.split(begin("keys"))[1].split(end("keys"))[0].splitlines()]
    documented = {row[0].strip("`"): row[-1] for row in rows[2:]}
    assert list(documented) == list(KEYS)
    found = uses_of("hetero")
    for key, uses in documented.items():
        assert re.findall(r"`hetero` ((?:, refuses|[^,])+)", uses) == ([found[key]] if key in found else []), key


def fields_in(heading: str) -> list[str]:
    """The field names of the table below a heading of report.md, several in a cell, in order."""
    return [name for row in table_of(section_of(REPORT, heading)) for name in re.findall(r"`([\w.]+)`", row[0])]


@pytest.mark.parametrize(
    ("heading", "struct"),
    [
        ("### Report", Report),
        ("### Totals", Totals),
        ("### Memory", StepMemory),
        ("### Rows", OpRow),
        ("### Schedules", ScheduleRow),
    ],
)
def test_fields_of_the_report_are_documented(heading: str, struct: type[Struct]) -> None:
    assert fields_in(heading) == list(struct.__struct_fields__)


def test_phases_and_kinds_are_documented() -> None:
    rows = {row[0].strip("`"): row[-1] for row in table_of(section_of(REPORT, "### Rows"))}
    assert re.findall(r"`(\w+)`", rows["phase"]) == list(get_args(Phase))
    assert re.findall(r"`(\w+)`", rows["kind"]) == list(get_args(Kind))


def test_native_columns_of_cycle_are_documented(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.command(
        Command(
            "npuc compile samples:mlp -q -p 'autodiff,lower-to-npu,interleave{mode=zip},schedule' --csv rows.csv", 0, ()
        )
    )
    columns = (tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    documented = re.findall(r"`native\.(\w+)`", section_of(CYCLE, "## What the report's columns mean here"))
    assert sorted(documented) == sorted(c.removeprefix("native.") for c in columns if c.startswith("native."))


def test_rules_of_lint_are_those_of_the_program() -> None:
    rows = table_of(section_of(read_page("editor"), "## Lint"))
    assert rows == [[f"`{rule.name}`", rule.about] for rule in RULES.values()]


def test_every_backend_has_a_page() -> None:
    for name in built_in():
        assert read_page(name).startswith(f"# The `{name}` backend\n")
