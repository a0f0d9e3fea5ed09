"""Every public result shows itself: in a line, in a few lines, in a notebook, and as a table of pandas."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from npuc import compiler
from npuc.compiler import Report, compile_file, compile_source, sweep_source
from npuc.compiler.core.display.fragment import MOST_BYTES
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report import OpRow, make_report, report_from_json
from tests.unit.display.results import CSV, MADE, NET, VARY, as_read, read
from tests.unit.display.test_words import KNOWN_TAGS, Tags

DRAWN = KNOWN_TAGS | {"svg", "rect", "title", "span", "i", "path", "text", "circle", "polyline"}
HOSTILE = '<img src=x onerror="alert(1)">\u202e\x1b[2J' + "n" * 100_000


@pytest.fixture(scope="module", params=MADE)
def kind(request: pytest.FixtureRequest) -> tuple[str, Any]:
    return request.param, MADE[request.param]()


def html_of(result: Any) -> str:
    """What a notebook shows of a result."""
    return result._repr_html_()


def hostile() -> Report:
    """A report of whose names every one is hostile."""
    rows = [
        OpRow(
            index=number,
            name=f"{number}{HOSTILE}",
            op=HOSTILE,
            phase="dx",
            seconds=1.0,
            macs=10**18,
            limit=HOSTILE,
            native={HOSTILE: HOSTILE},
        )
        for number in range(60)
    ]
    hardware: Any = {"name": HOSTILE}
    return make_report(HOSTILE, hardware, rows, network=HOSTILE, warnings=[HOSTILE] * 50)


def test_all_public_results_are_here() -> None:
    """A new class of the interface is shown, too; errors and places have their own text."""
    own = {"CapacityError", "CheckError", "InternalError", "Location", "NpucError", "UsageError"}
    classes = {name for name in compiler.__all__ if not name.islower()} - {*own, "SourceError", "SourceErrors"}
    assert classes <= MADE.keys()


def test_a_result_in_a_line(kind: tuple[str, Any]) -> None:
    name, result = kind
    text = repr(result)
    assert text.startswith(f"<{'Report' if name == 'roofline' else 'Outcome' if name == 'Outcome' else name}")
    assert text.endswith(">")
    assert text.isprintable()
    assert len(text) <= 310


def test_a_result_in_a_few_lines(kind: tuple[str, Any]) -> None:
    text = str(kind[1])
    assert len(text) <= 5000
    assert text.count("\n") <= 30


def test_a_result_in_a_notebook(kind: tuple[str, Any]) -> None:
    name, result = kind
    if name in ("PassCheck", "Source"):
        assert not hasattr(result, "_repr_html_")
        return
    html = html_of(result)
    tags = Tags(html)
    assert tags.open == []
    assert tags.seen <= DRAWN
    assert len(html.encode()) <= MOST_BYTES
    for outside in ("http://", "https://", "url(", "@import", "<script", "src="):
        assert outside not in html.replace('xmlns="http://www.w3.org/2000/svg"', "")


@pytest.mark.parametrize("name", CSV)
def test_a_table_is_the_one_that_pandas_reads(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    result = MADE[name]()
    found = result.to_pandas()
    expected = read(pandas, CSV[name](result))
    if "class" in found:
        expected["class"] = [f"{one:04}" for one in expected["class"]]  # texts of digits, which CSV cannot tell
    pandas.testing.assert_frame_equal(as_read(found), expected)


def test_whole_numbers_of_a_report_stay_whole() -> None:
    pytest.importorskip("pandas")
    found = compile_source(NET, backend="cycle").to_pandas()
    whole = ("index", "repeat", "m", "macs", "dram_read_bytes", "cycles")
    assert {str(found[name].dtype) for name in whole} <= {"int64", "Int64"}
    assert str(found["m"].dtype) == "Int64"
    assert found.attrs == {"network": "n", "hardware": "igo-large", "backend": "cycle"}


def test_a_name_that_a_reader_of_csv_takes_for_nothing_is_one() -> None:
    pytest.importorskip("pandas")
    rows = [OpRow(index=0, name="nan", op="x"), OpRow(index=1, name="1", op="NA")]
    assert make_report("b", {}, rows).to_pandas()["name"].tolist() == ["nan", "1"]


def test_the_line_of_a_report() -> None:
    report = compile_file("samples:resnet50", backend="roofline", hardware="igo-large")
    assert repr(report) == "<Report of resnet50 on igo-large (roofline): 84.9 ms, 367 GMAC, 10.6 GiB DRAM; 457 rows>"
    assert str(report).startswith("Report of resnet50 on igo-large (roofline): ")
    assert "\n  phases   forward " in str(report)


def test_a_report_without_numbers() -> None:
    report = make_report("b", {}, [])
    assert repr(report) == "<Report of a program on custom (b): no totals; 0 rows>"
    assert Tags(html_of(report)).open == []


def test_folded_lines_say_what_they_stand_for() -> None:
    html = html_of(compile_file("samples:gpt2", backend="roofline"))
    assert html.count("<tr>") <= 26
    assert "236 layers in 18 lines" in html
    assert len(html) < 12_000


def test_hostile_names_are_cut() -> None:
    report = hostile()
    html = html_of(report)
    assert len(repr(report)) <= 310
    assert repr(report).isprintable()
    assert len(html.encode()) <= MOST_BYTES
    tags = Tags(html)
    assert "img" not in tags.seen
    assert "onerror" not in tags.attributes
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert len(repr(report.ops[0])) <= 310
    assert repr(report.ops[0]).isprintable()


def test_values_are_what_they_were() -> None:
    report = compile_source(NET, backend="cycle")
    again = report_from_json(report.to_json())
    assert again == report
    assert again.to_json() == report.to_json()
    assert pickle.loads(pickle.dumps(report)) == report
    assert pickle.loads(pickle.dumps(report.totals)) == report.totals
    with pytest.raises(AttributeError):
        report.network = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_all_points_of_a_sweep() -> None:
    taken = list(sweep_source(NET, vary=VARY, backend="cycle"))
    result = sweep_source(NET, vary=VARY, backend="cycle").collect()
    assert list(result) == taken
    assert (len(result), result[2], result[1:3]) == (6, taken[2], tuple(taken[1:3]))
    assert result.best in taken
    assert set(id(point) for point in result.front) <= set(map(id, result.points))
    assert result.best in result.front


def test_a_sweep_is_collected_once() -> None:
    points = sweep_source(NET, vary=VARY, backend="cycle")
    next(points)
    assert repr(points).endswith("6 points of memory.spm_kib (3) x batch (2), 1 taken>")
    with pytest.raises(UsageError, match="1 points were already taken"):
        points.collect()
    points.close()
    assert list(points) == []


def test_points_that_do_not_fit_say_so() -> None:
    result = sweep_source(NET, vary={"batch": [2, 0]}, backend="cycle").collect()
    assert result[1].error is not None
    assert repr(result[1]).startswith("<SweepPoint 1 at batch=0: ")
    html = html_of(result)
    assert "<th>error</th>" in html
    assert "<dt>failed</dt><dd>1 point</dd>" in html


def test_the_csv_of_a_sweep_is_that_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from npuc.compiler.cli import run_command

    monkeypatch.chdir(tmp_path)
    Path("net.dsl").write_text(NET)
    run_command(
        ["sweep", "net.dsl", "-b", "cycle", "--vary", "batch=2,4", "-q", "--csv", "out.csv", "--json", "out.json"]
    )
    result = compiler.sweep_file("net.dsl", vary={"batch": [2, 4]}, backend="cycle").collect()
    assert result.to_csv() == Path("out.csv").read_text()
    assert result.to_json() == Path("out.json").read_text()
