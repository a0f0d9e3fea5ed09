"""`npuc run`: the losses that it prints and writes, their time on machines, and its pictures."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.compiler import compile_source
from npuc.compiler.cli.run.told import ALL_STEPS, SOME_STEPS, shown_steps
from npuc.compiler.report.training.document import SCHEMA, Clock, Training
from npuc.compiler.report.training.picture import draw_training
from tests.unit.cli.conftest import Npuc

NET = """network n(batch=8) {
  input x: f32[batch, 6]
  labels y: i32[batch]
  o = linear(relu(linear(x, 16)), 4)
  loss cross_entropy(o, y)
  optimizer sgd(lr=0.2)
}
"""


@pytest.fixture
def net(tmp_path: Path) -> str:
    path = tmp_path / "net.dsl"
    path.write_text(NET)
    return str(path)


@pytest.mark.parametrize("count", [1, 2, ALL_STEPS, 21, 50, 99, 100, 101, 1000, 12_345])
def test_shown_steps_are_few_and_have_both_ends(count: int) -> None:
    shown = shown_steps(count)
    assert (shown[0], shown[-1]) == (0, count - 1)
    assert shown == sorted(set(shown))
    assert shown == list(range(count)) if count <= ALL_STEPS else len(shown) <= SOME_STEPS + 1
    assert len({b - a for a, b in pairwise(shown[:-1])}) <= 1, "evenly spaced up to the last"


def test_losses_are_printed_and_written(npuc: Npuc, net: str, tmp_path: Path) -> None:
    status, out, err = npuc("run", net, "--steps", "30", "--seed", "4", "--json", str(tmp_path / "l.json"))
    assert status == 0, err
    document = json.loads((tmp_path / "l.json").read_text())
    assert (document["schema"], document["steps"], document["seed"]) == (SCHEMA, 30, 4)
    assert document["source"] == "net.dsl"
    losses, accuracies = document["losses"], document["accuracies"]
    assert len(losses) == len(accuracies) == 30
    expected = [f"step {n:>2}: loss {losses[n]:.6g}, accuracy {accuracies[n]:.1%}" for n in shown_steps(30)]
    assert out.splitlines() == expected
    assert max(map(len, out.splitlines())) <= 60
    assert f"npuc: {document['data']}" in err
    assert "30 steps took" in err
    assert npuc("run", net, "--steps", "30", "--seed", "4", "-q")[1:] == (out, "")


def test_json_on_standard_output_stands_alone(npuc: Npuc, net: str) -> None:
    status, out, err = npuc("run", net, "--steps", "2", "--json", "-")
    assert status == 0, err
    assert len(json.loads(out)["losses"]) == 2


def test_a_loss_that_is_no_number_is_null_and_warned_of(npuc: Npuc, tmp_path: Path) -> None:
    path = tmp_path / "wild.dsl"
    text = NET.replace("labels y: i32[batch]", "input y: f32[batch, 4]")
    path.write_text(text.replace("cross_entropy", "mse").replace("lr=0.2", "lr=1e30"))
    status, out, err = npuc("run", str(path), "--steps", "4", "--json", "-")
    assert status == 0, err
    losses = json.loads(out)["losses"]
    lost = losses.index(None)
    assert "warning: the loss is " in err
    assert f"from step {lost} on" in err


def test_the_time_on_a_machine_is_that_of_a_compilation(npuc: Npuc, net: str) -> None:
    status, out, err = npuc("run", net, "--steps", "3", "-b", "cycle", "-b", "roofline", "--set", "array.rows=4")
    assert status == 0, err
    assert "no effect" not in err
    report = compile_source(NET, backend="cycle", overrides={"array.rows": 4})
    lines = out.splitlines()
    assert len(lines) == 5
    assert lines[3].startswith("igo-large, backend cycle: ")
    assert lines[4].startswith("rtx2080ti, backend roofline: ")
    assert lines[:3] == npuc("run", net, "--steps", "3")[1].splitlines(), "what is computed does not depend on it"
    document = json.loads(npuc("run", net, "-b", "cycle", "--set", "array.rows=4", "--json", "-")[1])
    assert document["simulated"] == [
        {"backend": "cycle", "hardware": "igo-large", "seconds_per_step": report.totals.seconds}
    ]


def test_what_neither_the_run_nor_the_machine_reads_is_warned_of(npuc: Npuc, net: str) -> None:
    unread = npuc("run", net, "-b", "roofline", "--set", "array.fill=overlap")[2]
    assert "array.fill has no effect" in unread
    read = npuc("run", net, "-b", "roofline", "--set", "array.accumulator_bits=16")[2]
    assert "no effect" not in read, "the execution adds up in so many bits"


def test_goals_are_for_the_compilation(npuc: Npuc, net: str) -> None:
    plain = json.loads(npuc("run", net, "-b", "cycle", "--json", "-")[1])
    status, out, err = npuc("run", net, "-b", "cycle", "--objective", "traffic", "--tolerance", "0", "--json", "-")
    assert status == 0, err
    document = json.loads(out)
    assert document["losses"] == plain["losses"]
    expected = compile_source(NET, backend="cycle", objective="traffic", tolerance=0.0).totals.seconds
    assert document["simulated"][0]["seconds_per_step"] == expected


def test_several_losses_are_among_the_outputs(npuc: Npuc, net: str, tmp_path: Path) -> None:
    assert npuc("run", net, "--steps", "3", "--outputs", str(tmp_path / "o.npz"))[0] == 0
    arrays = np.load(tmp_path / "o.npz")
    assert arrays["losses"].shape == (3,)
    assert arrays["losses"][-1] == arrays["loss"]


def test_a_picture_needs_losses(npuc: Npuc, net: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = str(tmp_path / "l.svg")
    status, _, err = npuc("run", net, "--plot", picture, "--steps", "2", "--inference")
    assert status == 2
    assert "--plot draws losses, and the program has none" in err
    assert not Path(picture).exists()
    for kind in ("svg", "png", "pdf"):
        assert npuc("run", net, "--plot", str(tmp_path / f"l.{kind}"), "--steps", "2")[0] == 0
        assert (tmp_path / f"l.{kind}").stat().st_size > 1000


def training(losses: list[float | None], clocks: int = 0, *, classes: bool = False) -> Training:
    simulated = [Clock("cycle", f"machine{number}", 1e-3 * 2**number) for number in range(clocks)]
    return Training(
        SCHEMA,
        "net.dsl",
        len(losses),
        0,
        None,
        "made",
        None,
        losses,
        [0.5] * len(losses) if classes else [],
        simulated,
    )


@pytest.mark.parametrize("clocks", [0, 1, 2])
@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize(
    ("losses", "title"),
    [
        ([2.0, 1.0, 0.5], "falls from 2 to 0.5 in 3 steps"),
        ([1.0, 1.5], "rises from 1 to 1.5 in 2 steps"),
        ([1.0, 1e-3, 0.0], "falls from 1 to 0 in 3 steps"),
        ([1.0, None, None], "is no finite number from step 1 on"),
        ([None, None], "No loss of net.dsl is a finite number"),
        ([0.0, 0.0], "stays at 0 in 2 steps"),
        ([-1.0, -200.0], "falls from -1 to -200"),
    ],
)
def test_the_title_says_what_happened(losses: list[float | None], title: str, clocks: int, classes: bool) -> None:
    pytest.importorskip("matplotlib")
    svg = draw_training(training(losses, clocks, classes=classes), "svg").decode()
    assert title in svg.partition("<dc:title>")[2].partition("</dc:title>")[0]


def test_curves_have_the_losses_over_steps_and_times(monkeypatch: pytest.MonkeyPatch) -> None:
    axes: Any = pytest.importorskip("matplotlib.axes").Axes
    drawn: list[tuple[list[float], list[float]]] = []
    plot = axes.plot

    def noted(self: Any, x: list[float], y: list[float], **style: Any) -> Any:
        drawn.append((list(x), list(y)))
        return plot(self, x, y, **style)

    monkeypatch.setattr(axes, "plot", noted)
    draw_training(training([4.0, None, 1.0], 2, classes=True), "png")
    assert drawn[:3] == [([0, 2], [4.0, 1.0]), ([0.0, 2.0], [4.0, 1.0]), ([0.0, 4.0], [4.0, 1.0])], "ms"
    assert drawn[3:] == [([0, 1, 2], [50.0] * 3), ([0.0, 1.0, 2.0], [50.0] * 3), ([0.0, 2.0, 4.0], [50.0] * 3)]
