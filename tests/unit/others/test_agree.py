"""`npuc check --with`: another compiler beside the interpreter, on whole steps."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import CheckError, UsageError
from npuc.compiler.driver.running.options import RunKeywords
from npuc.compiler.layers.base import Array
from npuc.compiler.others import agree, base
from npuc.compiler.others.agree import Agreement, check_with
from npuc.compiler.others.base import Other
from npuc.frontends.source import open_source, text_source
from tests.unit.emit.upstream.forms import COMPILERS, other_compiler

SMALL = {"mlp": {"batch": 2}, "lenet": {"batch": 2}}
NETWORK = """
network small(batch=4, rate=0.1) {
  input x: f32[batch, 6]
  labels y: i32[batch]
  h = linear(x, 5)
  a = relu(h)
  logits = linear(a, 3)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=rate)
}
"""
"""A network with a layer of each kind that matters here."""


class Own(Other):
    """The interpreter in place of another compiler, which makes what it is told to."""

    name = "iree"
    title = "a compiler"
    emits = "linalg"
    extra = "iree"
    modules = ("numpy",)

    def __init__(self, *changes: float, status: int = 0, said: str = ""):
        self.changes, self.status, self.said = list(changes), status, said
        """How far the last result is off in each run, of which the last one holds from then on."""

    def version(self) -> str:
        return "1.0"

    def run(self, text: str, function: str, values: Sequence[Array]) -> list[Array]:
        if self.status:
            raise self._failed(self.status, self.said)
        return self.compute(text, function, values)

    def compute(self, text: str, function: str, values: Sequence[Array]) -> list[Array]:
        results = [np.array(one, copy=True) for one in self.expected.values()]
        results[-1] = results[-1] * (1 + (self.changes.pop(0) if len(self.changes) > 1 else sum(self.changes)))
        return results

    expected: dict[str, Array]


def checked(monkeypatch: pytest.MonkeyPatch, own: Own, network: str = NETWORK) -> list[Agreement]:
    """The check of a network by a stand-in."""
    computed = agree.computed
    seen = list[bool]()

    def keep(module: Any, data: Any, *, double: bool) -> dict[str, Array]:
        found = computed(module, data, double=double)
        if double not in seen:  # later ones are those of nudged data
            own.expected = found
        seen.append(double)
        return found

    monkeypatch.setattr(agree, "computed", keep)
    monkeypatch.setattr(agree, "get_other", {"iree": own}.get)
    options = RunKeywords(inference="loss" not in network)
    return check_with(text_source(network, "dsl", "net.dsl"), options, ["iree"])


def test_equal_results_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = checked(monkeypatch, Own(1e-7))
    assert found.amplified == ()
    assert str(found).startswith("a compiler 1.0: ")
    assert f"{found.results} results, {found.results} equal to 1e-05" in str(found)


def test_another_result_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CheckError, match=r"1\.0 computes 'output logits' differently, by more than 1e-05"):
        checked(monkeypatch, Own(1e-3))


AMPLIFYING = """
network amplifying(batch=4) {
  input x: f32[batch, 6]
  h = linear(x, 5, bias=false)
  far = h + 4096
  near = far - 4096
  output y = near
}
"""
"""A network of which f32 leaves three digits."""


def test_amplified_rounding_is_tolerated_where_f64_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = checked(monkeypatch, Own(1e-4, 0.0), AMPLIFYING)
    assert [name for name, _ in found.amplified] == ["output y"]
    assert "1 equal in f64 and in f32 within rounding, which this program amplifies ('output y')" in str(found)


def test_what_differs_in_f64_is_no_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CheckError, match=r"1\.0 computes 'output y' differently"):
        checked(monkeypatch, Own(1e-4, 1e-4), AMPLIFYING)


class Single(Own):
    """A compiler that takes no floats of 64 bits."""

    def run(self, text: str, function: str, values: Sequence[Array]) -> list[Array]:
        if any(value.dtype == np.float64 for value in values):
            raise self._failed(1, "undefined symbol: sin\n")
        return self.compute(text, function, values)


def test_a_compiler_without_f64_is_compared_in_f32(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = checked(monkeypatch, Single(1e-4), AMPLIFYING)
    assert "1 equal in f32, as it takes no f64 here, within rounding, which this program amplifies" in str(found)
    with pytest.raises(CheckError, match=r"1\.0 computes 'output y' differently"):
        checked(monkeypatch, Single(0.1), AMPLIFYING)


CANCELLING = """
network cancelling(batch=4) {
  input x: f32[batch, 6]
  h = linear(x, 64, bias=false)
  output y = sum(layer_norm(h, bias=false), [1])
}
"""
"""A network that computes 0, of which rounding leaves something else."""


def test_what_rounding_makes_is_told_from_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = checked(monkeypatch, Own(3.0, 1e-2), CANCELLING)
    assert found.rounding == ("output y",)
    assert found.wrong == []
    assert "0 equal to 1e-05" in str(found)
    assert str(found).endswith("1 that rounding makes, of which both have as much ('output y')")


def test_more_than_rounding_makes_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CheckError, match=r"1\.0 computes 'output y' differently"):
        checked(monkeypatch, Own(3.0, 1e6), CANCELLING)
    with pytest.raises(CheckError, match=r"1\.0 computes 'output y' differently"):
        checked(monkeypatch, Own(1e6, 1e-2), CANCELLING)


def test_what_differs_in_f32_by_more_than_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CheckError, match=r"1\.0 computes 'output y' differently"):
        checked(monkeypatch, Own(0.1, 0.0), AMPLIFYING)


@pytest.mark.parametrize(
    ("status", "said", "told"),
    [
        (1, "Error code: 1\n<stdin>:3: error: no such thing\nmore\n", "<stdin>:3: error: no such thing"),
        (1, "it does not work\n", "it does not work"),
        (-11, "", "its process was ended by signal 11"),
    ],
)
def test_a_failure_is_the_compilers(monkeypatch: pytest.MonkeyPatch, status: int, said: str, told: str) -> None:
    with pytest.raises(CheckError) as raised:
        checked(monkeypatch, Own(status=status, said=said))
    assert raised.value.message == f"a compiler 1.0 does not run what --emit linalg writes: {told}"
    assert str(raised.value.__cause__) == said


@pytest.mark.parametrize("name", base.OTHERS)
def test_a_missing_extra_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(base, "is_installed", dict[str, bool]().get)
    assert run_command(["check", "samples:mlp", "--with", name]) == 2
    extra = "jax" if name == "xla" else name
    assert f"pip install 'npuc[{extra}]'" in capsys.readouterr().err


def test_an_unknown_compiler() -> None:
    with pytest.raises(UsageError, match="--with gcc: expected iree or xla"):
        base.get_other("gcc")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-O1"], "-O does not apply"),
        (["--quantize", "int8"], "--quantize does not apply"),
        (["--precision", "bf16"], "compares in f32"),
    ],
)
def test_what_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    monkeypatch.setattr(base, "is_installed", bool)
    assert run_command(["check", "samples:mlp", "-D", "batch=2", "--with", "iree", *options]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("sample", SMALL)
@pytest.mark.parametrize("name", COMPILERS)
def test_steps_run(name: str, sample: str) -> None:
    other_compiler(name)
    (found,) = check_with(open_source(f"samples:{sample}"), {"defines": SMALL[sample]}, [name])
    assert found.amplified == ()
    assert found.difference < 1e-5


def test_the_command_prints_a_line_each(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other_compiler("xla")
    (tmp_path / "net.dsl").write_text(NETWORK)
    assert run_command(["check", str(tmp_path / "net.dsl"), "--with", "xla", "-q"]) == 0
    assert capsys.readouterr().out.startswith("XLA of jaxlib ")
