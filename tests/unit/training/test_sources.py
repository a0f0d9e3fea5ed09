"""Programs of a training that have a source of their own."""

from pathlib import Path

import numpy as np
import pytest

from npuc.compiler import compile_file, training_file
from npuc.compiler.core.errors import UsageError

NET = """
network net(batch=8) {
  input x: f32[batch, 12]
  labels y: i32[batch]
  h = relu(linear(x, 16))
  loss cross_entropy(linear(h, 4), y)
  optimizer sgd(lr=0.1)
}
"""
PHASES = """
steps = 6

[[programs]]
name = "other"
source = "more/other.dsl"

[[phases]]
steps = 4

[[phases]]
steps = 2
program = "other"
"""


def write(folder: Path, other: str = NET.replace("relu(", "tanh(")) -> tuple[Path, Path]:
    (folder / "more").mkdir()
    (folder / "more" / "other.dsl").write_text(other)
    (folder / "net.dsl").write_text(NET)
    (folder / "phases.toml").write_text(PHASES)
    return folder / "net.dsl", folder / "phases.toml"


def test_each_program_is_priced_and_run_from_its_source_with_the_parameters_of_the_one_before(tmp_path: Path) -> None:
    net, phases = write(tmp_path)
    found = training_file(net, [phases], run=True, seeds=1, hardware="tpu-v4")
    (training,) = found.trainings
    seconds = [compile_file(path, hardware="tpu-v4").totals.seconds for path in (net, tmp_path / "more" / "other.dsl")]
    assert [one.seconds for one in training.programs] == seconds
    assert training.seconds == pytest.approx(4 * (seconds[0] or 0) + 2 * (seconds[1] or 0))
    losses = np.array(training.runs[0].losses, float)
    assert np.isfinite(losses).all()
    assert losses[4] < losses[0]  # other programs go on with what the first has learned
    phases.write_text(PHASES.replace('source = "more/other.dsl"', "inference = false"))
    plain = training_file(net, [phases], run=True, seeds=1, hardware="tpu-v4").trainings[0].runs[0].losses
    assert plain[:4] == training.runs[0].losses[:4]
    assert plain[4] != training.runs[0].losses[4]


@pytest.mark.parametrize(
    ("source", "message"),
    [('"nowhere.dsl"', "source: there is no file .*nowhere.dsl"), ("3", "source: expected a file, got 3")],
)
def test_sources_that_are_none_are_named(source: str, message: str, tmp_path: Path) -> None:
    net, phases = write(tmp_path)
    phases.write_text(PHASES.replace('"more/other.dsl"', source))
    with pytest.raises(UsageError, match=message) as caught:
        training_file(net, [phases])
    assert caught.value.location is not None
    assert caught.value.location.line == 6


def test_parameters_of_another_shape_are_named(tmp_path: Path) -> None:
    net, phases = write(tmp_path, NET.replace("16)", "20)"))
    with pytest.raises(UsageError, match=r"input 'h\.linear\.weight' has shape 12x16, expected 12x20"):
        training_file(net, [phases], run=True, seeds=1)
