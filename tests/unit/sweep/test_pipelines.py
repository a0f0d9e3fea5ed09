"""Pipelines that are varied: what a list of them means, and that each point is what `compile` says of its passes."""

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from npuc.compiler import compile_source
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.plot.pipelines import PipelineLabels, short_pipelines
from npuc.compiler.explore.sweep import sweep_source
from npuc.compiler.explore.sweep.pipelines import VariedPipeline, read_pipelines
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.compiler.explore.sweep.table import print_sweep
from npuc.frontends.source import text_source
from tests.unit.sweep.conftest import NET

ZIP = "autodiff,lower-to-npu,interleave{mode=zip},schedule"
PLAIN = "autodiff,lower-to-npu,schedule"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("-O0;O3", [VariedPipeline("-O0", None, 0), VariedPipeline("-O3", None, 3)]),
        ("a,b{x=1,2} ; base: -O1", [VariedPipeline("a,b{x=1,2}", "a,b{x=1,2}"), VariedPipeline("base", None, 1)]),
        ('my.zip-1:a{x="m:1;n:2",y=3};b', [VariedPipeline("my.zip-1", 'a{x="m:1;n:2",y=3}'), VariedPipeline("b", "b")]),
        ('tile{steps="m:64"}', [VariedPipeline('tile{steps="m:64"}', 'tile{steps="m:64"}')]),
    ],
)
def test_a_list_of_pipelines(text: str, found: list[VariedPipeline]) -> None:
    assert read_pipelines("pipeline", text) == tuple(found)


@pytest.mark.parametrize("text", ["", ";", "a;", ";a", "a;;b", "name:", "name: ;b", " "])
def test_an_empty_pipeline_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="found an empty pipeline"):
        read_pipelines("pipeline", text)


@pytest.mark.parametrize("backend", ["cycle", "roofline"])
def test_points_are_what_compile_says_of_each(backend: str) -> None:
    vary = {"memory.spm_kib": [16, 64], "pipeline": f"-O0; best: -O3; zip: {ZIP}; {PLAIN}"}
    points = list(sweep_source(NET, backend=backend, hardware="igo-large", vary=vary))
    assert [point.values["pipeline"] for point in points] == ["-O0", "best", "zip", PLAIN] * 2
    asked: list[dict[str, Any]] = [{"opt_level": 0}, {"opt_level": 3}, {"pipeline": ZIP}, {"pipeline": PLAIN}]
    for number, point in enumerate(points):
        overrides = {"memory.spm_kib": point.values["memory.spm_kib"]}
        own = asked[number % 4]
        report = compile_source(NET, backend=backend, hardware="igo-large", overrides=overrides, **own)
        assert point.totals == report.totals


def test_each_pipeline_is_scored_at_the_level_that_it_leaves() -> None:
    """The backend `roofline` takes a lowered program where passes lower it, beside levels of -O, where they do not."""
    vary = {"pipeline": ["-O3", PLAIN, "autodiff"]}
    found = list(sweep_source(NET, backend="roofline", hardware="igo-large", vary=vary, jobs=2))
    alone = [
        compile_source(NET, backend="roofline", hardware="igo-large", pipeline=passes)
        for passes in (None, PLAIN, "autodiff")
    ]
    assert [point.totals for point in found] == [report.totals for report in alone]


@pytest.mark.parametrize(
    ("vary", "options", "message", "hint"),
    [
        ("-O0,-O3", {}, "--vary pipeline: unknown pass '-O0'", "pipelines stand between semicolons"),
        ("-O4", {}, "unknown optimisation level -O4", "known: -O0, -O1, -O2, -O3"),
        (f"{ZIP};x: shedule", {}, "--vary pipeline: x: unknown pass 'shedule'", "did you mean 'schedule'?"),
        ("schedule{mode=}", {}, "does not parse", None),
        ("a:-O0;a:-O1", {}, "'a' is listed twice", None),
        ("-O1;O1", {}, "'-O1' is listed twice", None),
        ([3], {}, "found a value of type int", "--vary"),
        ([], {}, "there are no values", None),
        ("-O0", {"opt_level": 1}, "pipelines replace the passes of -O1", "levels of -O are pipelines, too"),
        ("-O0", {"pipeline": ZIP}, "-p says what it is", "leave out -p"),
        (f"-O0;{ZIP}", {"objective": "energy"}, "--objective energy does not apply with -p", "schedule{objective"),
        (f"-O0;{ZIP}", {"before": ["schedule=cse"]}, "--before schedule=cse does not apply with -p", None),
        ("-O0", {"load": ["own.py"]}, "own.py", None),
        (f"parallelize,{ZIP}", {"devices": 2}, "--devices and the pass parallelize of -p say the same", None),
    ],
)
def test_wrong_usage_is_said_before_any_point(vary: Any, options: Any, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        sweep_source(NET, vary={"pipeline": vary}, **options)
    assert message in caught.value.message
    assert hint is None or hint in (caught.value.hint or "")


def test_levels_are_varied_once() -> None:
    with pytest.raises(UsageError, match="pipelines replace the passes of --vary O"):
        sweep_source(NET, vary={"O": [0, 1], "pipeline": "-O0"})


def test_passes_that_are_loaded_may_be_varied(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "from dataclasses import dataclass\nfrom xdsl.passes import ModulePass\n\n@dataclass(frozen=True)\n"
        "class Own(ModulePass):\n    name = 'own'\n\n    def apply(self, ctx, op):\n        pass\n\n"
        "PASSES = [Own]\n"
    )
    passes = PLAIN.replace("schedule", "own,schedule")
    points = list(sweep_source(NET, vary={"pipeline": f"-O0;{passes}"}, load=[str(own)]))
    assert points[0].totals == points[1].totals
    with pytest.raises(UsageError, match="--load needs -p"):
        sweep_source(NET, vary={"pipeline": "-O0;-O1"}, load=[str(own)])


def test_what_a_name_stands_for_is_hashed() -> None:
    source = text_source(NET, "dsl", "net.dsl")
    texts = (f"a: {ZIP}", f"a: {PLAIN}", "a: -O0", f"b: {ZIP}")
    assert len({Sweep(source, {"pipeline": text}, None, {}).digest() for text in texts}) == len(texts)


@pytest.mark.parametrize(
    ("values", "labels", "common"),
    [
        (["-O0", "zip", "a,b"], {}, ""),
        (["a,b", "c,d"], {}, ""),
        (["a,b,c", "-O0", "a,c"], {"a,b,c": "b", "a,c": "nothing"}, "between a and c"),
        (["a,b{x=1,2},c", "a,b{x=1,3},c"], {"a,b{x=1,2},c": "b{x=1,2}", "a,b{x=1,3},c": "b{x=1,3}"}, "between a and c"),
        (["a,b", "a,b,c", "a,b,d"], {"a,b": "nothing", "a,b,c": "c", "a,b,d": "d"}, "after a,b"),
        (["b,c", "a,b,c"], {"b,c": "nothing", "a,b,c": "a"}, "before b,c"),
        (["a,a", "a,a,a"], {"a,a": "nothing", "a,a,a": "a"}, "after a,a"),
    ],
)
def test_labels_say_what_is_different(values: list[str], labels: dict[str, str], common: str) -> None:
    assert short_pipelines(values) == PipelineLabels(labels, common)


def test_long_labels_have_lines() -> None:
    long = PipelineLabels({})
    assert long.of("interleave{mode=best},fuse-vector", 14) == "interleave\n{mode=best},\nfuse-vector"
    assert long.of("-O0", 14) == "-O0"
    assert long.of("a{x=1 y=2},b", 8) == "a{x=1\ny=2},b"


def test_a_table_shows_what_is_different_and_what_names_stand_for(capsys: pytest.CaptureFixture[str]) -> None:
    sweep = Sweep(text_source(NET, "dsl", "net.dsl"), {"pipeline": f"-O0;{PLAIN};{ZIP};own: {ZIP}"}, None, {})
    print_sweep("net", sweep.compare(list(sweep.points())), Console(width=100), backend="cycle")
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [line.split()[0] for line in lines[5:9]] == ["-O0", "nothing", "interleave{mode=zip}", "own"]
    assert "of pipelines the column shows what runs between autodiff,lower-to-npu and schedule" in lines
    assert f"own is {ZIP}" in lines
