"""`npuc diff`: its forms, what it says, its errors and its exit status."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from npuc.compiler import compile_file, diff_reports
from npuc.compiler.cli.diff.sides import split
from npuc.compiler.core.errors import UsageError
from tests.unit.cli.conftest import MLP, Npuc, Outcome

TALL = MLP.replace("hidden=6", "hidden=12")
RENAMED = MLP.replace("h = ", "first = ").replace("linear(h, 3)", "linear(first, 3)")


def difference(outcome: Outcome) -> dict[str, Any]:
    assert outcome.status == 0, outcome.err
    return json.loads(outcome.out)


class _Option:
    """An option as the parser has it."""

    def __init__(self, *opts: str, flag: bool = False, multiple: bool = False, off: tuple[str, ...] = ()) -> None:
        self.opts, self.secondary_opts, self.is_flag, self.multiple = opts, off, flag, multiple


OPTIONS = (
    _Option("--hw"),
    _Option("-O"),
    _Option("-b", "--backend", multiple=True),
    _Option("-D", multiple=True),
    _Option("--set", multiple=True),
    _Option("--only", multiple=True),
    _Option("--inference", flag=True, off=("--training",)),
    _Option("--opaque", flag=True),
    _Option("--json"),
    _Option("-q", "--quiet", flag=True),
)


@pytest.mark.parametrize(
    ("line", "a", "b"),
    [
        ("n --hw x", "--hw x n", "--hw x n"),
        ("n --hw x --hw y", "--hw x n", "--hw y n"),
        ("n --hw=x --hw y", "--hw=x n", "--hw y n"),
        ("m n", "m", "n"),
        ("-O0 n -O 3", "-O0 n", "-O 3 n"),
        ("n --hw= --hw y", "n", "--hw y n"),
        ("n -D a=1 -D b=2", "-D a=1 -D b=2 n", "-D a=1 -D b=2 n"),
        ("n -D a=1 -D b=2 -D a=3", "-D a=1 -D b=2 n", "-D b=2 -D a=3 n"),
        ("n --set k= --set k=3", "n", "--set k=3 n"),
        ("n -b x --backend y", "-b x n", "--backend y n"),
        ("n --only x --only y --only z", "--only x --only y --only z n", "--only x --only y --only z n"),
        ("n --training --inference", "--training n", "--inference n"),
        ("n --opaque --json - -q", "--opaque --json - -q n", "--opaque n"),
        ("n --hw x -- --hw", "--hw x n", "--hw x -- --hw"),
        ("n --unknown 3", "--unknown n", "3"),
        ("- n", "-", "n"),
    ],
)
def test_a_line_is_two(line: str, a: str, b: str) -> None:
    found = split(line.split(), OPTIONS, ("--json", "-q", "--quiet"))
    assert [" ".join(side) for side in found] == [a, b]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("n --hw x --hw y --hw z", "--hw is given 3 times, expected once, or twice: for A and for B"),
        ("n -D a=1 -D a=2 -D a=3", "-D a is given 3 times"),
        ("n -b x -b y -b z", "--backend is given 3 times"),
        ("m n o", "expected one source or two, found 3"),
    ],
)
def test_a_line_of_more_than_two(line: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        split(line.split(), OPTIONS, ())


def test_an_option_twice_is_that_of_both_sides(npuc: Npuc) -> None:
    found = difference(npuc("diff", "net.dsl", "-q", "-D", "hidden=6", "-D", "hidden=12", "--json", "-"))
    reports = [compile_file("net.dsl", defines={"hidden": hidden}) for hidden in (6, 12)]
    assert found == json.loads(diff_reports(*reports).to_json())
    assert found["settings"] == [{"group": "program", "name": "-D hidden", "a": "6", "b": "12"}]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--hw", "igo-large", "--hw", "igo-small"), "name"),
        (("--set", "dram.gb_per_s=", "--set", "dram.gb_per_s=20"), "dram.gb_per_s"),
        (("-b", "cycle", "-b", "roofline"), "backend"),
        (("--precision", "f32", "--precision", "bf16"), "precision"),
        (("-O", "0", "-O", "3"), "pipeline"),
        (("-p", "autodiff,lower-to-npu,schedule", "-p", "autodiff,cse,lower-to-npu,schedule"), "pipeline"),
        (("--devices", "1", "--devices", "2"), "devices"),
        (("--recompute", "", "--recompute", "full"), "pipeline"),
    ],
)
def test_what_differs_is_named(npuc: Npuc, options: tuple[str, ...], name: str) -> None:
    found = difference(npuc("diff", "net.dsl", "-q", *options, "--json", "-"))
    assert name in [one["name"] for one in found["settings"]]


def test_reports_sources_and_mixes_say_the_same(npuc: Npuc) -> None:
    Path("tall.dsl").write_text(TALL)
    npuc("compile", "net.dsl", "--json", "a.json")
    npuc("compile", "tall.dsl", "--json", "b.json")
    texts = [npuc("diff", a, b, "-q", "--json", "-").out for a in ("net.dsl", "a.json") for b in ("tall.dsl", "b.json")]
    assert len(set(texts)) == 1
    assert json.loads(texts[0])["b"]["source"] == "tall.dsl"


def test_a_report_from_standard_input(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    text = npuc("compile", "net.dsl", "--json", "-").out
    for content in (text, TALL):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
        outcome = npuc("diff", "net.dsl", "-", "-q")
        assert outcome.status == 0, outcome.err
        assert ("Nothing differs" in outcome.out) == (content == text)


def test_a_comparison_of_two_is_both_sides(npuc: Npuc) -> None:
    npuc("compile", "net.dsl", "-b", "cycle", "-b", "roofline", "--json", "both.json")
    found = difference(npuc("diff", "both.json", "--json", "-"))
    assert [found[side]["backend"] for side in "ab"] == ["cycle", "roofline"]
    swapped = difference(npuc("diff", "both.json", "-b", "roofline", "-b", "cycle", "--json", "-"))
    assert [swapped[side]["backend"] for side in "ab"] == ["roofline", "cycle"]
    npuc("compile", "net.dsl", "-b", "cycle", "--json", "one.json")
    assert "Nothing differs" in npuc("diff", "both.json", "one.json").out
    npuc("compile", "net.dsl", "-b", "roofline", "--json", "one.json")
    assert "scored lowered program → forward program" in npuc("diff", "both.json", "one.json").out


def test_a_renamed_layer_is_told(npuc: Npuc) -> None:
    Path("renamed.dsl").write_text(RENAMED)
    outcome = npuc("diff", "net.dsl", "renamed.dsl")
    assert "renamed    2 layers: h.linear → first.linear, h → first" in outcome.out
    assert "Nothing differs." in outcome.out


def test_layers_of_one_side(npuc: Npuc) -> None:
    Path("more.dsl").write_text(MLP.replace("  logits", "  g = tanh(h)\n  h = relu(linear(g, 7))\n  logits"))
    outcome = npuc("diff", "net.dsl", "more.dsl")
    assert outcome.status == 0, outcome.err
    assert "+ only in B" in outcome.out
    found = difference(npuc("diff", "net.dsl", "more.dsl", "-q", "--json", "-"))
    alone = [one["name"] for one in found["layers"] if one["found"] == "only_b"]
    assert "g" in alone


def test_nothing_in_common_is_said(npuc: Npuc) -> None:
    other = "network o(batch=4) {\n  input q: f32[batch, 9]\n  z = softmax(q, axis=1)\n  output z\n}\n"
    Path("other.dsl").write_text(other)
    outcome = npuc("diff", "net.dsl", "other.dsl", "--training", "--inference")
    assert outcome.status == 0, outcome.err
    assert "no layer is in both, by name or by shape: only the totals are compared" in " ".join(outcome.out.split())
    assert "A is a training step, B a forward pass" in " ".join(outcome.out.split())


def test_samples_are_told_apart(npuc: Npuc) -> None:
    outcome = npuc("diff", "net.dsl", "-D", "batch=4", "-D", "batch=8")
    assert " a sample" in outcome.out
    assert "a step has 4 samples in A and 8 in B" in outcome.out
    assert " a sample" not in npuc("diff", "net.dsl", "-D", "hidden=6", "-D", "hidden=8").out


def test_a_row_a_layer_and_phase(npuc: Npuc) -> None:
    outcome = npuc("diff", "net.dsl", "-q", "-D", "hidden=6", "-D", "hidden=12", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    layers = [row for row in rows if not row["phase"]]
    assert [row["layer"] for row in layers] == ["h.linear", "h", "logits", "cross_entropy"]
    for row in layers:
        assert int(row["b.cycles"]) - int(row["a.cycles"]) == int(row["difference.cycles"])
    assert {row["phase"] for row in rows} > {"", "forward", "update"}


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        (("--fail-slower", "0"), 1),
        (("--fail-slower", "100000"), 0),
        (("--fail-more", "traffic=1"), 1),
        (("--fail-more", "traffic=1e9", "--fail-more", "macs=100"), 0),
        (("--fail-more", "macs=99.9"), 1),
        (("--fail-more", "memory=0", "--fail-more", "time=0"), 1),
    ],
)
def test_the_status_says_whether_it_is_too_much(npuc: Npuc, limits: tuple[str, ...], status: int) -> None:
    both = ("diff", "net.dsl", "-D", "hidden=6", "-D", "hidden=12", *limits)
    outcome = npuc(*both)
    assert outcome.status == status
    assert ("in B, more than" in outcome.err) == bool(status)
    assert "verdict" in outcome.out
    assert npuc("diff", "net.dsl", "-D", "hidden=12", "-D", "hidden=6", *limits).status == 0


def test_the_limit_is_exact(npuc: Npuc) -> None:
    """MACs of the hidden layer double: 100 % more is not more than 100 %."""
    command = ("diff", "net.dsl", "-D", "hidden=6", "-D", "hidden=12", "--fail-more")
    assert [npuc(*command, f"macs={most}").status for most in ("100", "99.999999999")] == [0, 1]


def test_what_fails_is_written_all_the_same(npuc: Npuc) -> None:
    command = ("diff", "net.dsl", "-D", "hidden=6", "-D", "hidden=12", "--fail-slower", "0", "--json", "d.json")
    assert npuc(*command).status == 1
    assert json.loads(Path("d.json").read_text())["schema"] == "npuc.diff/1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("net.dsl",), "A and B are the same: net.dsl"),
        (("net.dsl", "net.dsl"), "A and B are the same: net.dsl"),
        (("a.json", "a.json"), "A and B are the same: 'a.json' has the report of cycle"),
        (("a.json", "net.dsl", "--hw", "x", "--hw", "igo-small"), "--hw is about a compilation, and A is a report"),
        (("a.json", "b.json", "-O0"), "-O is about a compilation, and both are reports"),
        (("a.json", "net.dsl", "-b", "roofline"), "'a.json' has no report of the backend roofline"),
        (("both.json", "net.dsl"), "it is not clear which is meant"),
        (("map.json", "net.dsl"), "'map.json' is a result of the kind npuc.map/1, expected npuc.report/1"),
        (("broken.json", "net.dsl"), "'broken.json' is no report to compare: "),
        (("wrong.json", "net.dsl"), "its rows have cycles = "),
        (("none.json", "net.dsl"), "cannot read 'none.json'"),
        (("none.dsl", "net.dsl"), "cannot read 'none.dsl'"),
        (("-", "-", "-O0", "-O1"), "standard input can be one side alone"),
        (("a.json", "b.json", "c.json"), "expected one source or two, found 3"),
        (("net.dsl", "-O0", "-O1", "-O2"), "-O is given 3 times"),
        (("net.dsl", "-O0", "-O1", "--fail-more", "speed=3"), "unknown metric 'speed'"),
        (("net.dsl", "-O0", "-O1", "--fail-more", "time=-1"), "expected METRIC=PERCENT, from 0"),
        (("net.dsl", "-O0", "-O1", "--fail-more", "time"), "expected METRIC=PERCENT, from 0"),
        (("net.dsl", "-O0", "-O1", "--fail-slower", "1", "--fail-more", "time=2"), "time has a limit already"),
        (("net.dsl", "-b", "cycle", "-b", "roofline", "--fail-more", "energy=1"), "no limit of energy can be checked"),
        (("net.dsl", "-O0", "-O1", "--json", "-", "--top", "3"), "--top is about the table"),
        (("net.dsl", "-O0", "-O1", "--json", "-", "--csv", "-"), "can go to standard output"),
        (("net.dsl", "-O0", "-O1", "--plot", "x.svg"), "no such option: --plot"),
        (("net.dsl", "-D", "hidden=6", "-D", "hidden=x"), "hidden"),
    ],
)
def test_errors(npuc: Npuc, arguments: tuple[str, ...], message: str) -> None:
    npuc("compile", "net.dsl", "--json", "a.json")
    report = json.loads(Path("a.json").read_text())
    Path("b.json").write_text(Path("a.json").read_text())
    Path("both.json").write_text(json.dumps({"schema": "npuc.comparison/1", "reports": [report] * 2}))
    Path("map.json").write_text('{"schema": "npuc.map/1"}')
    Path("broken.json").write_text('{"schema": "npuc.report/1", "backend": 3}')
    report["totals"]["cycles"] += 1
    Path("wrong.json").write_text(json.dumps(report))
    outcome = npuc("diff", *arguments)
    assert message in outcome.err
    assert outcome.err.count("error: ") == 1
    assert "defect" not in outcome.err
    assert outcome.status in (1, 2)
    assert outcome.out == ""


def test_names_of_a_report_cannot_write_to_the_terminal(npuc: Npuc) -> None:
    report = compile_file("net.dsl").to_json().replace("h.linear", "h\\u001b[31m\\u202e")
    Path("a.json").write_text(report)
    outcome = npuc("diff", "a.json", "net.dsl")
    assert outcome.status == 0, outcome.err
    assert "\x1b" not in outcome.out
    assert "\\x1b[31m" in outcome.out


def test_a_keras_model_is_a_source(npuc: Npuc) -> None:
    """A file in JSON that is no result of npuc is read as `npuc compile` reads it."""
    Path("model.json").write_text('{"class_name": "Sequential"}')
    outcome = npuc("diff", "model.json", "net.dsl")
    assert outcome.status == 1
    assert "expected a model of Keras" in outcome.err
