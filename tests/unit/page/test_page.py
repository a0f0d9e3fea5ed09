"""Pages as files: what they hold, that names do nothing in them and nothing else is needed, and how large they are."""

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.cli.page.result import printed, study_html
from npuc.compiler.driver.compile import compile_file, compile_source
from npuc.compiler.report.page.model import Bars, Facts, Page, Scatter, Spans, Table, TableColumn, Tabs, Treemap
from npuc.compiler.report.page.result import ROWS, result_page, scatter_of, table_of_csv, unit_of
from npuc.compiler.report.page.step import Extras, step_page
from npuc.compiler.report.page.write import deflated, html_page
from npuc.compiler.report.report import Report, make_report
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.text.grid import print_line

HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!--",
    "a\u2028b\u2029c\0d",
    "__proto__",
    "constructor.prototype",
    "&lt;b&gt; ' \" ` ${alert(1)}",
    "𝄞" * 300,
]


class Tags(HTMLParser):
    """The elements of a text, and the content of scripts."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}", {}))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts[-1] += data


def report_of(names: list[str]) -> Report:
    rows = [
        OpRow(index=n, name=name, op="npu.contract", seconds=1e-3 * (n + 1), macs=10, limit=name, loc=name)
        for n, name in enumerate(names)
    ]
    return make_report("cycle", {"name": names[0], "clock_mhz": 1000.0}, rows, network=names[-1], warnings=names)


def page_of(report: Report) -> str:
    extras = Extras(command=report.network, programs=[{row.name: row.name for row in report.ops}])
    return html_page(step_page([report], extras))


def data_of(text: str) -> list[dict[str, object]]:
    return json.loads(Tags(text).scripts[0])


@given(st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1)), min_size=1, max_size=6, unique=True))
def test_names_are_text_and_nothing_else(names: list[str]) -> None:
    harmless, text = page_of(report_of(["n" * (n + 1) for n in range(len(names))])), page_of(report_of(names))
    assert [tag for tag, _ in Tags(text).tags] == [tag for tag, _ in Tags(harmless).tags]
    assert all(not name.startswith("on") for _, attributes in Tags(text).tags for name in attributes)
    tables = [one for one in data_of(text) if one["type"] == "table" and one["name"] == "layers"]
    (layers,) = msgspec.convert(tables, list[Table])
    assert set(layers.columns[0].values) == set(names)


def test_a_page_needs_nothing_else_and_runs_one_script() -> None:
    text = page_of(report_of(HOSTILE))
    tags = Tags(text)
    assert not [one for one in tags.tags if one[0] in ("link", "iframe", "object", "base")]
    assert not [name for _, attributes in tags.tags for name in attributes if name in ("src", "href", "srcset")]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    digest = base64.b64encode(hashlib.sha256(tags.scripts[1].encode()).digest()).decode()
    (policy,) = [a["content"] for tag, a in tags.tags if tag == "meta" and "http-equiv" in a]
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not re.search(
        r"\beval\b|innerHTML|outerHTML|insertAdjacentHTML|document\.write|new Function", tags.scripts[1]
    )


def test_the_same_page_is_the_same_text() -> None:
    assert page_of(report_of(["a", "b"])) == page_of(report_of(["a", "b"]))


def sections_of(report: Report) -> Page:
    return step_page([report], Extras())


@pytest.mark.parametrize("backend", ["cycle", "roofline", "maestro"])
@pytest.mark.parametrize("source", ["mlp", "lenet", "lstm_lm"])
def test_what_a_page_says_is_what_the_report_says(source: str, backend: str) -> None:
    report = compile_file(f"samples:{source}", backend=backend, opt_level=0)
    page = sections_of(report)
    tables = {one.name: one for one in page.sections if isinstance(one, Table)}
    columns = {name: {column.name: column for column in table.columns} for name, table in tables.items()}
    for table in tables.values():
        assert len({len(column.values) for column in table.columns}) == 1
    layers, operations = columns["layers"], columns["operations"]
    assert sum(layers["time"].values) == pytest.approx(report.totals.seconds, rel=1e-9)  # pyright: ignore
    assert sum(layers["macs"].values) == report.totals.macs  # pyright: ignore
    moved = (report.totals.dram_read_bytes or 0) + (report.totals.dram_write_bytes or 0)
    if moved:
        assert sum(value or 0 for value in layers["traffic"].values) == moved  # pyright: ignore
    owner = tables["operations"].owner
    assert owner is not None
    assert len(owner) == len(operations["layer"].values)
    assert sum(value or 0 for value in operations["time"].values) == pytest.approx(report.totals.seconds)  # pyright: ignore
    for n, row in enumerate(owner):
        name, layer = operations["layer"].values[n], layers["layer"].values[row]
        assert name == layer or str(name).startswith(f"{layer}.")
    for section in page.sections:
        if isinstance(section, Bars):
            assert {*section.parts, section.label} <= columns[section.table].keys()
        if isinstance(section, Treemap):
            assert {*section.measures, section.label, section.colour} <= columns[section.table].keys()
        if isinstance(section, Scatter):
            named = {section.x, section.y, section.label, section.size, section.colour}
            assert {name for name in named if name} <= columns[section.table].keys()


def test_the_timeline_of_a_page_is_that_of_the_report() -> None:
    report = compile_file("samples:lenet", backend="cycle", opt_level=0)
    (spans,) = [one for one in sections_of(report).sections if isinstance(one, Spans)]
    ends = [begin + length for begin, length in zip(spans.begin, spans.length, strict=True)]
    assert max(ends) == pytest.approx(1e9 * (report.totals.seconds or 0), abs=1)
    assert all(0 <= track < len(spans.tracks) for track in spans.track)
    (layers,) = [one for one in sections_of(report).sections if isinstance(one, Table) and one.name == "layers"]
    for name, row in zip(spans.name, spans.row, strict=True):
        assert str(layers.columns[0].values[row]) in spans.names[name]


def test_several_reports_are_tabs_with_tables_of_their_own() -> None:
    reports = [compile_file("samples:lenet", backend=name, opt_level=0) for name in ("cycle", "roofline")]
    page = step_page(reports, Extras())
    (tabs,) = [one for one in page.sections if isinstance(one, Tabs)]
    assert tabs.names == ["cycle", "roofline"]
    names: list[str] = []
    for report, sections in zip(reports, tabs.sections, strict=True):
        tables = {one.title: one for one in sections if isinstance(one, Table)}
        names += [one.name for one in tables.values()]
        seconds = next(one.values for one in tables["Layers"].columns if one.name == "time")
        assert sum(seconds) == pytest.approx(report.totals.seconds)  # pyright: ignore
        assert {one.table for one in sections if isinstance(one, Bars | Treemap | Scatter | Spans)} <= {*names}
    assert len(set(names)) == len(names)
    (said,) = [one for one in page.sections if isinstance(one, Facts)]
    assert [name for name, text in said.entries if text] == tabs.names


def test_the_verdict_of_rows_is_said_first_and_once() -> None:
    told = printed(lambda console: (print_line("note", "of it", console), print_line("verdict", "A holds.", console)))
    assert (told.text.split(), told.verdict) == (["note", "of", "it"], "A holds.")
    text = study_html("s", told, "a,b\n1,2\n", [])
    assert "<p class=verdict>A holds.</p>" in text
    assert text.count("A holds.") == 1


def test_the_page_of_a_large_network_is_below_a_megabyte() -> None:
    report = compile_file("samples:resnet50", backend="cycle", opt_level=0)
    assert len(html_page(sections_of(report)).encode()) < 700_000


def test_a_step_of_1024_devices_is_below_a_megabyte() -> None:
    source = "network n(batch=1024) {\n  input x: f32[batch, 1024]\n  labels y: i32[batch]\n" + (
        "  loss cross_entropy(linear(relu(linear(x, 4096)), 1024), y)\n  optimizer sgd(lr=0.1)\n}\n"
    )
    report = compile_source(source, backend="cycle", devices=1024, hardware="tpu-v4")
    text = html_page(sections_of(report))
    assert len(text.encode()) < 1_000_000
    (spans,) = [one for one in sections_of(report).sections if isinstance(one, Spans)]
    assert any(track.startswith("network level") for track in spans.tracks)


def test_a_report_without_rows_has_a_page() -> None:
    page = sections_of(make_report("cycle", {}, []))
    assert html_page(page).endswith("</html>\n")
    assert not [one for one in page.sections if isinstance(one, Bars | Treemap | Scatter)]


def test_texts_are_inflated_to_what_they_were() -> None:
    texts = ["a\n<b>", "", "é" * 1000]
    assert json.loads(zlib.decompress(base64.b64decode(deflated(texts)))) == texts


def test_rows_of_csv_are_a_table() -> None:
    table = table_of_csv('key,seconds,n,empty,odd\n1,0.5,3,,x\n2,,4,,"y, z"\n', "Points", first=("key",))
    assert table.columns == [
        TableColumn(name="key", title="key", unit="number", values=[1, 2]),
        TableColumn(name="seconds", title="Time", unit="seconds", values=[0.5, None]),
        TableColumn(name="n", title="n", unit="number", values=[3, 4]),
        TableColumn(name="odd", title="odd", values=["x", "y, z"]),
    ]
    assert scatter_of(table, "key", "key", "seconds", title="t") is None  # one point
    assert scatter_of(table, "key", "key", "odd", title="t") is None
    assert scatter_of(table, "key", "key", "n", title="t") == Scatter(
        title="t", table=ROWS, label="key", x="key", y="n"
    )


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("seconds_by_phase.dx", "seconds"),
        ("dram_read_bytes", "bytes"),
        ("energy_j", "joules"),
        ("macs", "count"),
        ("utilization", "share"),
        ("ratio", "number"),
        ("tops_per_w", "number"),
        ("dram.gb_per_s", "number"),
    ],
)
def test_columns_have_units_by_their_names(name: str, unit: str) -> None:
    assert unit_of(name) == unit


def test_cells_that_no_number_holds_are_text() -> None:
    table = table_of_csv("a,b\n1e999,nan\n2,3\n", "T")
    assert [column.values for column in table.columns] == [["1e999", "2"], ["nan", "3"]]
    html_page(result_page("t", "s", "m", [table, Facts(title="f", entries=[])]))
