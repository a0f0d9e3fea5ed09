"""`npuc plot` and `--plot` of the verbs: what is drawn of their results, and what is refused."""

import json
from pathlib import Path

import pytest

from tests.support.pictures import kept_figures, lines_of, texts_of
from tests.unit.cli.conftest import Npuc
from tests.unit.cli.option_files import CLUSTER

SWEEP = ("sweep", "net.dsl", "--vary", "batch=4,8", "--vary", "array.rows=16,32", "-q")


@pytest.fixture
def results(npuc: Npuc, folder: Path) -> Path:
    """Files of a sweep and of a compilation."""
    assert npuc(*SWEEP, "--json", "sweep.json").status == 0
    assert npuc("compile", "net.dsl", "-q", "--json", "report.json").status == 0
    return folder


def test_a_sweep_is_drawn_again(npuc: Npuc, results: Path) -> None:
    pytest.importorskip("matplotlib")
    assert npuc(*SWEEP, "--plot", "one.svg").status == 0
    outcome = npuc("plot", "sweep.json", "-o", "two.svg")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()
    with kept_figures() as figures:
        assert npuc("plot", "sweep.json", "-o", "three.png", "--x", "array.rows", "--y", "traffic").status == 0
    points = json.loads(Path("sweep.json").read_text())["points"]
    first = [p["dram_read_bytes"] + p["dram_write_bytes"] for p in points if p["batch"] == 4]
    _, drawn, name = lines_of(figures[0].axes[0])[0]
    work = points[0]["work"]
    assert name == "4"
    assert drawn[1] / drawn[0] == pytest.approx(first[1] / first[0])
    assert work == points[1]["work"] != points[2]["work"]


OTHERS = {
    "run": ("run", "net.dsl", "--steps", "3", "-b", "cycle", "-b", "roofline", "--set", "compute.tflops=4"),
    "map": ("map", "net.dsl", "--budget", "40", "--hw", "nvdla"),
    "reuse": ("reuse", "net.dsl"),
    "machine": ("machine", "gemmini"),
    "design": ("design", "net.dsl", "--area-mm2", "4", "--budget", "300", "--hw", "nvdla"),
    "front": ("design", "net.dsl", "--area-mm2", "4", "--budget", "300", "--hw", "nvdla", "--goals", "time,area"),
    "flexibility": ("flexibility", "net.dsl", "--budget", "20", "--hw", "nvdla"),
    "network": tuple("network net.dsl --devices 4 --parallel dp --hw cluster.toml --shapes --total-gb-per-s 9".split()),
    "training": ("training", "net.dsl", "--phases", "large-batch"),
}
"""Verbs whose results are no tables, and are drawn as their verbs draw them."""


@pytest.mark.parametrize("name", OTHERS)
def test_a_result_is_drawn_again_as_its_verb_draws_it(npuc: Npuc, folder: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    Path("cluster.toml").write_text(CLUSTER)
    quiet = () if name == "machine" else ("-q",)
    outcome = npuc(*OTHERS[name], *quiet, "--json", "a.json", "--plot", "one.svg")
    assert outcome.status == 0, outcome.err
    again = npuc("plot", "a.json", "-o", "two.svg")
    assert (again.status, again.out, again.err) == (0, "", "")
    assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()
    for option in (("--x", "batch"), ("--view", "layers")):
        refused = npuc("plot", "a.json", "-o", "three.svg", *option)
        assert refused.status == 2
        assert f"{option[0]} is for sweeps and reports, and 'a.json' is npuc." in refused.err
    # A file that lacks a part, or whose numbers can be no result, is one clear message.
    document = json.loads(Path("a.json").read_text())
    for key in document:
        if key not in ("schema", "npuc"):
            broken = {**document, key: {"no": "such thing"}}
            Path("b.json").write_text(json.dumps(broken))
            outcome = npuc("plot", "b.json", "-o", "four.svg")
            assert outcome.status == 0 or "'b.json' is no result to draw" in outcome.err, outcome.err
            assert "Traceback" not in outcome.err
    Path("b.json").write_text(json.dumps({"schema": document["schema"]}))
    assert "'b.json' is no result to draw" in npuc("plot", "b.json", "-o", "four.svg").err


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ("explain", "net.dsl", "LAYER"),
            "a picture of a layer needs its program",
            "npuc explain net.dsl LAYER --plot FILE",
        ),
        (("explain", "net.dsl"), "the changes of npuc explain have no picture", "npuc compile net.dsl --plot FILE"),
        (("study", "themis"), "the study themis has no figures", "npuc study themis --csv FILE"),
        (("lint", "net.dsl"), "results of the kind npuc.lint/1 have no picture", "it draws what sweep, compile, run"),
    ],
)
def test_results_without_a_picture_name_the_verb_to_use(
    npuc: Npuc, folder: Path, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    pytest.importorskip("matplotlib")
    layer = str(npuc("compile", "net.dsl", "-q", "--csv", "-").out.splitlines()[1].split(",")[1])
    asked = [layer if one == "LAYER" else one for one in arguments]
    assert npuc(*asked, *(() if asked[0] == "lint" else ("-q",)), "--json", "a.json").status == 0
    outcome = npuc("plot", "a.json", "-o", "a.svg")
    assert (outcome.status, outcome.out) == (2, "")
    assert f"'a.json' cannot be drawn: {message}" in outcome.err
    assert hint.replace("LAYER", layer) in outcome.err
    assert not Path("a.svg").exists()


def test_reports_are_drawn_as_compile_draws_them(npuc: Npuc, results: Path) -> None:
    pytest.importorskip("matplotlib")
    for view in ("layers", "roofline"):
        assert npuc("compile", "net.dsl", "-q", "--plot", "one.svg", "--view", view).status == 0
        assert npuc("plot", "report.json", "-o", "two.svg", "--view", view).status == 0
        assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()
    report = json.loads(Path("report.json").read_text())
    assert npuc("plot", "report.json", "-o", "layers.svg").status == 0
    found = texts_of(Path("layers.svg").read_text())
    assert {row["name"] for row in report["ops"] if row["phase"] == "forward"} <= set(found)
    assert {"forward", "dX", "dW", "update"} & set(found) >= {"forward", "update"}
    with kept_figures() as figures:
        assert npuc("plot", "report.json", "-o", "kinds.svg", "--x", "kind", "--color", "phase").status == 0
    heights = sum(bar.get_height() for bars in figures[0].axes[0].containers for bar in bars)
    (unit,) = ({"ns": 1e-9, "µs": 1e-6, "ms": 1e-3}[figures[0].axes[0].get_ylabel().split(", ")[1]],)
    assert heights * unit == pytest.approx(report["totals"]["seconds"])


def test_several_backends_have_a_panel_each(npuc: Npuc, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    with kept_figures() as figures:
        outcome = npuc(
            *("compile", "net.dsl", "-b", "cycle", "-b", "roofline", "--set", "compute.tflops=4"),
            *("--set", "memory.cache_mib=4", "--hw", "igo-large", "-q", "--plot", "a.svg"),
        )
    assert outcome.status == 0, outcome.err
    assert [axes.get_title("left") for axes in figures[0].axes] == ["cycle", "roofline"]


def test_the_graph_of_a_step(npuc: Npuc, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    assert npuc("compile", "net.dsl", "-q", "--plot", "a.svg", "--view", "graph", "--depth", "layers").status == 0
    assert npuc("compile", "net.dsl", "-q", "--emit", "svg", "--depth", "layers", "-o", "b.svg").status == 0
    assert Path("a.svg").read_text() == Path("b.svg").read_text()
    assert {"forward", "backward", "update"} <= set(texts_of(Path("a.svg").read_text()))


def test_reuse_by_capacity(npuc: Npuc, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    assert npuc("reuse", "net.dsl", "-q", "--plot", "a.svg").status == 0
    found = texts_of(Path("a.svg").read_text())
    assert {"capacity of the cache, MiB", "DRAM traffic of an iteration, kB", "traffic that is left"} <= set(found)
    assert any(text.startswith("A cache of ") for text in found)


def test_a_sweep_without_a_point_that_fits_has_no_picture(npuc: Npuc, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    outcome = npuc("sweep", "net.dsl", "--vary", "memory.spm_kib=0.005,0.01", "--plot", "a.svg", "--csv", "a.csv")
    assert outcome.status == 3
    assert "no picture was drawn: no row has the metric 'time'" in outcome.err
    assert not Path("a.svg").exists()
    assert Path("a.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plot", "none.json", "-o", "a.svg"), "cannot read 'none.json'"),
        (("plot", "net.dsl", "-o", "a.svg"), "'net.dsl' is no result to draw"),
        (("plot", "report.json", "-o", "a.svg", "--view", "graph"), "the graph of a step needs its program"),
        (("plot", "sweep.json", "-o", "a.gif"), "cannot tell the kind of picture"),
        (("plot", "sweep.json", "-o", "no/a.svg"), "its folder does not exist"),
        (("plot", "sweep.json", "-o", "a.svg", "--view", "layers"), "is for reports"),
        (("plot", "report.json", "-o", "a.svg", "--view", "layers", "--x", "kind"), "exclude each other"),
        (("plot", "report.json", "-o", "a.svg", "--view", "cake"), "there is no such picture"),
        (("plot", "report.json", "-o", "a.svg", "--x", "seconds"), "metrics along both axes"),
        (("sweep", "net.dsl", "--vary", "batch=4,8", "--x", "batch"), "is about a picture, and there is none"),
        ((*SWEEP, "--plot", "a.svg", "--color", "rows"), "--color rows: there is no such key or metric"),
        ((*SWEEP, "--json", "-", "--csv", "-"), "can go to standard output"),
        (("compile", "net.dsl", "--view", "graph"), "is about a picture, and there is none"),
        (("compile", "net.dsl", "--plot", "a.svg", "--view", "cake"), "--view cake: there is no such picture"),
    ],
)
def test_wrong_usage(npuc: Npuc, results: Path, arguments: tuple[str, ...], message: str) -> None:
    pytest.importorskip("matplotlib")
    outcome = npuc(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert message in outcome.err
