"""`npuc lint` on the command line."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from tests.unit.cli.conftest import MLP, Outcome

Npuc = Callable[..., Outcome]
DOUBT = MLP.replace("  logits", "  old = h\n  for i in 1..0 { h = h + 1 }\n  logits")


@pytest.fixture
def doubt(folder: Path) -> Path:
    """A file with two findings."""
    path = folder / "doubt.dsl"
    path.write_text(DOUBT)
    return path


def test_clean(npuc: Npuc) -> None:
    assert npuc("lint", "net.dsl") == (0, "no findings in 1 source\n", "")
    assert npuc("lint", "net.dsl", "samples:mlp", "net.dsl") == (0, "no findings in 2 sources\n", "")


@pytest.mark.usefixtures("doubt")
def test_findings(npuc: Npuc) -> None:
    found = npuc("lint", "net.dsl", "doubt.dsl")
    assert (found.status, found.err) == (1, "")
    lines = found.out.splitlines()
    assert lines[0] == "doubt.dsl:6:3: warning: the value of 'old' is never used [unused-value]"
    assert lines[1:3] == ["      old = h", "      ^"]
    assert lines[-1] == "2 findings: 1 empty-loop, 1 unused-value"


@pytest.mark.usefixtures("doubt")
@pytest.mark.parametrize(
    ("options", "rules"),
    [
        (["--select", "empty-loop"], ["empty-loop"]),
        (["--select", "empty-loop,unused-value"], ["unused-value", "empty-loop"]),
        (["--select", "empty-loop", "--select", "unused-value"], ["unused-value", "empty-loop"]),
        (["--ignore", "empty-loop"], ["unused-value"]),
        (["--ignore", "empty-loop,unused-value"], []),
        (["--select", "empty-loop", "--ignore", "empty-loop"], []),
    ],
)
def test_rules(npuc: Npuc, options: list[str], rules: list[str]) -> None:
    found = npuc("lint", "doubt.dsl", "--json", "-", *options)
    assert found.status == int(bool(rules))
    assert [finding["rule"] for finding in json.loads(found.out)["findings"]] == rules


def test_json(npuc: Npuc, doubt: Path) -> None:
    found = npuc("lint", "doubt.dsl", "--json", "out.json", "--select", "unused-value")
    assert (found.status, found.out.splitlines()[-1]) == (1, "1 finding: 1 unused-value")
    assert json.loads((doubt.parent / "out.json").read_text()) == {
        "schema": "npuc.lint/1",
        "findings": [
            {
                "rule": "unused-value",
                "message": "the value of 'old' is never used",
                "loc": "doubt.dsl:6:3",
                "hint": "use it or remove it; a name that begins with _ is not checked",
            }
        ],
    }
    assert npuc("lint", "net.dsl", "--json", "-").out == '{\n  "schema": "npuc.lint/1",\n  "findings": []\n}\n'


def test_standard_input_and_parameters(npuc: Npuc) -> None:
    text = "network n(batch=4) { input x: f32[batch, 8]; h = batch_norm(x); loss mse(h, x) }"
    for batch, status in ((2, 0), (1, 1)):
        with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()))):
            found = npuc("lint", "-", "-D", f"batch={batch}")
        assert found.status == status
        assert (status == 0) or found.out.startswith("<stdin>:1:50: warning: ")


@pytest.mark.usefixtures("doubt")
def test_errors_do_not_hide_the_findings_of_others(npuc: Npuc, folder: Path) -> None:
    (folder / "bad.dsl").write_text("network n( {}")
    found = npuc("lint", "bad.dsl", "doubt.dsl")
    assert found.status == 1
    assert found.err.startswith("bad.dsl:1:12: error: ")
    assert found.out.endswith("2 findings: 1 empty-loop, 1 unused-value\n")
    assert npuc("lint", "bad.dsl", "net.dsl").out == ""


@pytest.mark.usefixtures("doubt")
@pytest.mark.parametrize(("wrong", "status"), [("bad.dsl", 1), ("net.mlir", 2)])
def test_no_document_of_a_part_of_the_sources(npuc: Npuc, folder: Path, wrong: str, status: int) -> None:
    (folder / wrong).write_text("network n( {}")
    (folder / "old.json").write_text("old")
    assert npuc("lint", wrong, "doubt.dsl", "--json", "old.json").status == status
    assert (folder / "old.json").read_text() == "old"
    assert npuc("lint", "doubt.dsl", wrong, "--json", "-").out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["missing.dsl"],
        ["net.mlir"],
        ["net.dsl", "--select", "unused"],
        ["net.dsl", "--ignore", "no-such"],
        ["net.dsl", "-D", "btch=1"],
        ["net.dsl", "-D", "batch"],
        ["net.dsl", "--json", "no/such/folder"],
    ],
)
def test_wrong_usage(npuc: Npuc, folder: Path, arguments: list[str]) -> None:
    (folder / "net.mlir").write_text("builtin.module {}")
    found = npuc("lint", *arguments)
    assert (found.status, found.out) == (2, "")
    assert found.err.startswith("npuc: error: ")
