"""Options of one value that are given twice: none of the two values is ignored."""

import pytest

from tests.unit.cli.conftest import Npuc


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (("--hw", "igo-large", "--hw", "igo-small"), "--hw", "npuc sweep --vary hw=A,B"),
        (("-O", "1", "-O", "2"), "-O", "npuc sweep --vary O=A,B"),
        (("--precision", "f32", "--precision=bf16"), "--precision", "npuc sweep --vary precision=A,B"),
        (("--json", "a", "--json", "b"), "--json", "give it once"),
        (("--inference", "--training"), "--inference/--training", "give it once"),
        (("--set", "array.rows=8", "--set", "array.rows=16"), "--set array.rows", "npuc sweep --vary array.rows=A,B"),
        (("-D", "batch=1", "-D", "batch=2"), "-D batch", "npuc sweep --vary batch=A,B"),
    ],
)
def test_an_option_of_one_value_is_given_once(npuc: Npuc, options: tuple[str, ...], message: str, hint: str) -> None:
    outcome = npuc("compile", "net.dsl", *options)
    assert outcome.status == 2
    assert f"npuc: error: {message} is given twice" in outcome.err
    assert hint in outcome.err


def test_options_of_several_values_and_switches_may_be_repeated(npuc: Npuc) -> None:
    outcome = npuc("compile", "net.dsl", "-b", "tick", "-q", "-q", "--set", "array.rows=8", "--set", "array.cols=8")
    assert outcome.status == 0
