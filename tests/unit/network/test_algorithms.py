"""Algorithms of collectives are found, chosen by a level, and are what their steps take: one from outside too."""

import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import npuc.compiler.analysis.interconnect.algorithms
from npuc.compiler import compile_file
from npuc.compiler.analysis.interconnect.algorithm import ALGORITHMS, algorithm_for
from npuc.compiler.analysis.interconnect.collectives import Collective, collective_cost, messages_cost
from npuc.compiler.analysis.interconnect.topology import KINDS, Interconnect, NetworkLevel
from npuc.compiler.core.errors import SourceError, UsageError
from tests.network_walk import Walk, carry, members_of
from tests.outside import installed

CODE = '''
"""Everything to everyone at once, through a switch."""

from npuc.compiler.analysis.interconnect.algorithm import Algorithm, TransferCost


class AtOnce(Algorithm):
    """One step, to each directly."""

    kinds = ("switch",)

    def scatter(self, group):
        return TransferCost(1)

    def exchange(self, group):
        return TransferCost(1)

    def message(self, group, pairs):
        return TransferCost(1)


class Fails(AtOnce):
    def scatter(self, group):
        raise KeyError("a defect of its own")


ALGORITHM = AtOnce()
'''
ENTRY_POINTS = """
[npuc.collectives]
at-once = at_once:AtOnce
fails = at_once:Fails
ring = at_once:AtOnce
"""
RATE, LATENCY = Fraction(7, 2), Fraction(3, 1000)
NET = """network n(batch=16) {
  input x: f32[batch, 12]
  labels y: i32[batch]
  loss cross_entropy(linear(x, 4), y)
  optimizer sgd(lr=0.1)
}
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("net.dsl").write_text(NET)
    with installed(tmp_path, "at_once", CODE, ENTRY_POINTS):
        algorithm_for.cache_clear()
        yield
    algorithm_for.cache_clear()


def machine(kind: str, **more: str) -> dict[str, object]:
    """Hardware keys of four devices on one level."""
    return {"network.levels": [{"kind": kind, "size": 4, "gb_per_s": 1.0, "latency_ns": 1000.0, **more}]}


def test_own_algorithms_have_a_file_each_and_every_kind_of_level_has_one() -> None:
    assert ALGORITHMS.own == ("fc", "mesh", "pair", "ring", "switch", "torus")
    assert {kind: algorithm_for(kind, None) for kind in KINDS} == {kind: ALGORITHMS.get(kind) for kind in KINDS}


@pytest.mark.usefixtures("outside")
def test_one_from_outside_is_what_its_steps_take() -> None:
    """All parts at once: one latency, and what a port has to carry; the steps of the walk on the links of a switch."""

    @given(st.integers(1, 3), st.integers(2, 6), st.integers(1, 3), st.fractions(Fraction(1, 7), 9, max_denominator=7))
    def check(outer: int, size: int, inner: int, part: Fraction) -> None:
        mesh = [n for n in (outer, size, inner) if n > 1]
        placement = Interconnect((NetworkLevel("switch", prod(mesh), RATE, LATENCY, algorithm="at-once"),)).place(mesh)
        place = 1 if outer > 1 else 0
        (group,) = placement.along([place])
        walk = Walk(group.level)
        pairs = list(permutations(range(size), 2))
        walk.step(
            message
            for members in members_of(group)
            for source, target in pairs
            for message in carry(group, members[source], members[target], part)
        )
        operands: dict[Collective, Fraction] = {
            "reduce_scatter": part * size,
            "all_gather": part,
            "all_to_all": part * size,
        }
        for kind, operand in operands.items():
            cost = collective_cost(kind, operand, placement, [place])
            assert (cost.seconds, cost.sent * placement.devices) == (walk.seconds, walk.sent)
        shifted = [(digit + 1) % size for digit in range(size)]
        one = Walk(group.level)
        one.step(
            message
            for members in members_of(group)
            for source, target in enumerate(shifted)
            for message in carry(group, members[source], members[target], part)
        )
        assert messages_cost(part, placement, place, range(size), shifted).seconds == one.seconds

    check()


@pytest.mark.usefixtures("outside")
def test_a_machine_names_it() -> None:
    """Of 4 devices, halving and doubling wait twice in each direction, this once."""
    plain, once = (
        compile_file("net.dsl", overrides=machine("switch", **more), hardware="igo-large", backend="cycle", mesh="4")
        for more in ({}, {"algorithm": "at-once"})
    )
    saved = plain.totals["seconds"] - once.totals["seconds"]
    reduced = [row for row in plain.ops if row.op == "dist.all_reduce"]
    assert reduced
    assert saved == pytest.approx(2e-6 * sum(row.repeat for row in reduced))
    assert [row.op for row in once.ops] == [row.op for row in plain.ops]


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("ring", "at-once", "the collective algorithm 'at-once' is for levels of kind 'switch', not 'ring'"),
        ("switch", "at-onec", "there is no collective algorithm 'at-onec'"),
        ("switch", "ring", "the collective algorithm 'ring' is for levels of kind 'ring', not 'switch'"),
    ],
)
def test_wrong_names_are_refused_in_the_machine(kind: str, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compile_file("net.dsl", hardware="igo-large", overrides=machine(kind, algorithm=name))


@pytest.mark.usefixtures("outside")
def test_its_defects_are_its_own() -> None:
    placement = Interconnect((NetworkLevel("switch", 4, RATE, algorithm="fails"),)).place([4])
    with pytest.raises(SourceError, match="collective algorithm 'fails' failed: KeyError"):
        collective_cost("all_reduce", 8, placement, [0])


def test_a_file_is_all_that_one_of_our_own_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = npuc.compiler.analysis.interconnect.algorithms
    (tmp_path / "at_once.py").write_text(CODE)
    algorithm_for.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        placement = Interconnect((NetworkLevel("switch", 4, RATE, LATENCY, algorithm="at-once"),)).place([4])
        assert collective_cost("reduce_scatter", 0, placement, [0]).seconds == LATENCY
    sys.modules.pop(f"{package.__name__}.at_once", None)
    algorithm_for.cache_clear()
    with pytest.raises(UsageError):
        algorithm_for("switch", "at-once")
