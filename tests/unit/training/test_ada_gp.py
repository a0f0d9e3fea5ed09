"""The phases of ADA-GP: the gains of their steps in closed form, and what cannot be executed."""

from dataclasses import replace
from fractions import Fraction

import pytest

from npuc.compiler import training_file
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.training.phases import Training, steps_by_program
from npuc.compiler.explore.training.phases_file import read_phases

STEPS_PER_EPOCH = 5005
NET = """network net(batch=8) {
  input  x: f32[batch, 16]
  labels y: i32[batch]
  loss cross_entropy(linear(relu(linear(x, 8)), 4), y)
  optimizer sgd(lr=0.1)
}
"""
RUN = """steps = 24
[[programs]]
name = "bp"
method = "bp"
[[programs]]
name = "gp"
method = "{gp}"
[[phases]]
steps = 8
program = "bp"
[[phases]]
steps = 16
mix = {{ gp = 1, bp = 1 }}
"""


def over(epochs: int) -> Training:
    """The schedule to another end."""
    training = read_phases("ada-gp")
    *first, last = training.phases
    return replace(training, phases=(*first, replace(last, end=epochs)))


def gain(epochs: int, predictor: Fraction = Fraction(0)) -> Fraction:
    """Gain over plain steps, of a forward pass of 1 and a backward pass of 2; the predictor in parts of a step."""
    cost = {"bp": 3 + 3 * predictor, "gp": 1 + 3 * predictor}
    total = Fraction(0)
    for phase in over(epochs).phases:
        steps = steps_by_program(phase.mix, phase.length * STEPS_PER_EPOCH)
        total += sum((count * cost[name] for name, count in steps.items()), Fraction(0))
    return 3 * epochs * STEPS_PER_EPOCH / total


@pytest.mark.parametrize(("epochs", "expected"), [(50, 1.439), (90, 1.465), (200, 1.484)])
def test_the_schedule_gains_what_the_closed_form_says(epochs: int, expected: float) -> None:
    assert float(gain(epochs)) == pytest.approx(expected, abs=5e-4)


def test_a_predictor_of_two_percent_of_a_step_takes_its_part() -> None:
    assert float(gain(90, Fraction(2, 100))) == pytest.approx(1.424, abs=5e-4)


def test_the_gain_grows_to_one_and_a_half() -> None:
    assert gain(50) < gain(90) < gain(200) < gain(10**5) < Fraction(3, 2)
    assert float(gain(10**5)) == pytest.approx(1.5, abs=1e-3)


def test_the_ideal_phases_are_those_of_the_real_ones() -> None:
    real, ideal = read_phases("ada-gp"), read_phases("ada-gp-ideal")
    assert [(one.name, one.first, one.end) for one in real.phases] == [
        (one.name, one.first, one.end) for one in ideal.phases
    ]
    assert [list(one.mix.values()) for one in real.phases] == [list(one.mix.values()) for one in ideal.phases]
    assert real.phases[-1].end == 90


@pytest.fixture
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("net") / "net.dsl"
    path.write_text(NET)
    return str(path)


def phases(source: str, gp: str) -> str:
    path = source.replace("net.dsl", f"{gp}.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(RUN.format(gp=gp))
    return path


def test_a_training_with_predicted_gradients_runs_and_its_loss_falls(source: str) -> None:
    found = training_file(source, [phases(source, "gp")], run=True, seeds=2, opt_level=0)
    for run in found.trainings[0].runs:
        assert len(run.losses) == 24
        assert all(loss is not None for loss in run.losses)
        assert (run.losses[-1] or 0.0) < 0.8 * (run.losses[0] or 0.0)


def test_an_ideal_predictor_is_priced_and_not_executed(source: str) -> None:
    path = phases(source, "gp-ideal")
    assert training_file(source, [path], opt_level=0).trainings[0].seconds > 0
    with pytest.raises(UsageError, match="program 'gp' is priced, not executed"):
        training_file(source, [path], run=True, seeds=1, opt_level=0)
