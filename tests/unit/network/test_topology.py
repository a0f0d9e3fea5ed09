"""Meshes on networks: which devices communicate along which level, and networks that a mesh does not fit."""

from fractions import Fraction
from itertools import chain
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler import compile_file
from npuc.compiler.analysis.interconnect.topology import CommunicationGroup, Interconnect, Kind, NetworkLevel
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.explain.plan import explain_plan
from npuc.compiler.transforms.parallelize import ParallelizePass
from npuc.dialects.distributed import Mesh
from npuc.frontends.source import open_source
from npuc.hardware import load_hardware
from npuc.hardware.network import network_of


def network(*levels: tuple[Kind, int]) -> Interconnect:
    return Interconnect(tuple(NetworkLevel(kind, size, Fraction(1)) for kind, size in levels))


TORUS = network(("ring", 4), ("ring", 8))


@given(st.lists(st.lists(st.integers(2, 3), min_size=1, max_size=3), min_size=1, max_size=3), st.data())
def test_groups_are_those_of_the_mesh(factors: list[list[int]], data: st.DataObject) -> None:
    """Devices of a group differ at its level of the mesh alone, and so at one level of the network by its stride."""
    levels = Interconnect(tuple(NetworkLevel("ring", prod(sizes), Fraction(1)) for sizes in factors))
    mesh = Mesh(tuple(chain.from_iterable(factors)))
    places = Mesh(tuple(level.size for level in levels.levels))
    place = data.draw(st.sampled_from(mesh.levels))
    group = levels.place(mesh.sizes).groups[place]
    for members in mesh.groups(place):
        digits = [places.coordinates(device) for device in members]
        along = [coordinates[group.number] for coordinates in digits]
        assert along == [along[0] + step * group.stride for step in range(group.size)]
        others = {coordinates[: group.number] + coordinates[group.number + 1 :] for coordinates in digits}
        assert len(others) == 1


def test_halves_of_a_torus() -> None:
    four, eight = TORUS.levels
    placement = TORUS.place([2, 2, 2, 2, 2])
    expected = [(0, four, 2), (0, four, 1), (1, eight, 4), (1, eight, 2), (1, eight, 1)]
    assert placement.groups == tuple(CommunicationGroup(number, level, 2, stride) for number, level, stride in expected)
    assert [group.closed for group in placement.groups] == [True, False, True, False, False]
    assert placement.devices == TORUS.devices == 32


def test_neighbouring_levels_of_the_mesh_are_one_group() -> None:
    placement = TORUS.place([2, 2, 2, 2, 2])
    sizes = {
        (0, 1, 2, 3, 4): [(8, 1), (4, 1)],
        (1, 2): [(2, 4), (2, 1)],  # neighbours, but of two levels of the network
        (3, 4): [(4, 1)],
        (2, 4): [(2, 1), (2, 4)],
        (2, 3): [(4, 2)],
    }
    assert {over: [(g.size, g.stride) for g in placement.along(over)] for over in sizes} == sizes


def test_fewer_devices_are_put_innermost() -> None:
    assert [group.number for group in TORUS.place([2, 4]).groups] == [1, 1]
    assert network(("pair", 2), ("pair", 2), ("pair", 2)).place([2, 2]).groups[0].number == 1
    assert TORUS.place([]).groups == ()


def test_the_outermost_level_in_use_may_be_used_in_part() -> None:
    """Inner levels are full: 64 devices of 128 x 8 are eight groups of 8, 16 of 8 x 8 two."""
    levels = network(("switch", 128), ("fc", 8))
    for mesh, expected in (
        ([8, 8], [(0, 8, 1), (1, 8, 1)]),
        ([2] * 6, [(0, 2, 4), (0, 2, 2), (0, 2, 1), (1, 2, 4), (1, 2, 2), (1, 2, 1)]),
        ([4], [(1, 4, 1)]),
        ([2, 2], [(1, 2, 2), (1, 2, 1)]),
        ([128, 8], [(0, 128, 1), (1, 8, 1)]),
        ([16], None),  # a level of the mesh is no level of the network, nor a factor of one
    ):
        if expected is None:
            with pytest.raises(CapacityError, match="level 1 of 2: found switch 128, expected 2 devices"):
                levels.place(mesh)
        else:
            assert [(g.number, g.size, g.stride) for g in levels.place(mesh).groups] == expected
    assert [g.closed for g in network(("ring", 8), ("ring", 8)).place([2, 8]).groups] == [False, True]


@pytest.mark.parametrize("verb", ["compile", "explain"])
def test_a_network_without_the_devices_is_refused_before_a_search(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(*_: object) -> None:
        pytest.fail("a plan was searched")

    monkeypatch.setattr(ParallelizePass, "plan", searched)
    machine = {"network.levels": [{"kind": "ring", "size": 4, "gb_per_s": 1}]}
    with pytest.raises(CapacityError, match="found ring 4, expected levels for the 64 devices"):
        _compile_or_explain(verb, {"overrides": machine, "devices": 64, "parallel": "joint"})


def _compile_or_explain(verb: str, keywords: CompileKeywords) -> None:
    if verb == "compile":
        compile_file("samples:mlp", **keywords)
    else:
        explain_plan(open_source("samples:mlp"), keywords)


@pytest.mark.parametrize(
    ("mesh", "refusal"),
    [
        ([8, 4], ", level 1 of 2: found ring 4, expected 4 devices to be divisible by the 8"),
        ([2, 4, 4], ", level 1 of 2: found ring 4, expected 2 devices to be divisible by the 4"),
        ([3], ", level 2 of 2: found ring 8, expected a multiple or a divisor of the 3 devices"),
        ([3, 8], ", level 1 of 2: found ring 4, expected a multiple or a divisor of the 3 devices"),
        ([2] * 6, ": found ring 4, ring 8, expected levels for the 64 devices"),
    ],
)
def test_a_mesh_that_does_not_fit(mesh: list[int], refusal: str) -> None:
    with pytest.raises(CapacityError) as caught:
        TORUS.place(mesh)
    assert caught.value.message == f"network.levels{refusal} of the mesh {' x '.join(map(str, mesh))}"
    assert caught.value.hint
    assert caught.value.exit_code == 3


# of a machine


def test_network_of_a_machine() -> None:
    row = {"kind": "fc", "size": 4, "gb_per_s": 0.3, "latency_ns": 700, "pj_per_byte": 1.1}
    other = {"kind": "pair", "size": 2, "gb_per_s": 25}
    found = network_of(load_hardware({"network": {"levels": [row, other]}}), backend="cycle")
    first = NetworkLevel("fc", 4, Fraction(300_000_000), Fraction(7, 10**7), Fraction(11, 10))
    assert found == Interconnect((first, NetworkLevel("pair", 2, Fraction(25 * 10**9))))


def test_machines_of_hypar_have_sixteen_accelerators() -> None:
    for name in ("hypar16", "hypar16-torus"):
        assert network_of(load_hardware(name), backend="cycle").devices == 16


def test_a_machine_without_network() -> None:
    with pytest.raises(UsageError, match=r"'igo-large' has no network\.levels .*which the backend 'cycle' needs"):
        network_of(load_hardware("igo-large"), backend="cycle")
