"""The mesh, and which positions a device has of a tensor that is cut."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.dialects.distributed import Mesh, Sharding

MESHES = st.lists(st.integers(2, 4), min_size=1, max_size=4).map(lambda sizes: Mesh(tuple(sizes)))


@given(MESHES)
def test_devices_are_numbered_by_their_coordinates_the_outermost_first(mesh: Mesh) -> None:
    coordinates = [mesh.coordinates(device) for device in range(mesh.devices)]
    assert coordinates == list(product(*map(range, mesh.sizes)))
    assert [mesh.device(one) for one in coordinates] == list(range(mesh.devices))


@given(MESHES)
def test_a_group_differs_at_its_level_alone(mesh: Mesh) -> None:
    for level, size in enumerate(mesh.sizes):
        groups = mesh.groups(level)
        assert sorted(device for group in groups for device in group) == list(range(mesh.devices))
        for group in groups:
            found = [mesh.coordinates(device) for device in group]
            assert [one[level] for one in found] == list(range(size))
            assert len({(*one[:level], *one[level + 1 :]) for one in found}) == 1


def test_a_level_cuts_its_digit_of_an_axis() -> None:
    mesh = Mesh((2, 2))
    assert [Sharding(((0,),)).positions(mesh, (8,), device)[0].tolist() for device in (0, 2)] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
    ]
    assert [Sharding(((1,),)).positions(mesh, (8,), device)[0].tolist() for device in (0, 1)] == [
        [0, 1, 4, 5],
        [2, 3, 6, 7],
    ]
    assert [Sharding(((0, 1),)).positions(mesh, (8,), device)[0].tolist() for device in range(4)] == [
        [0, 1],
        [2, 3],
        [4, 5],
        [6, 7],
    ]


@given(MESHES, st.data())
def test_parts_are_as_large_as_the_local_shape_and_cover_the_tensor(mesh: Mesh, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, 2), min_size=len(mesh.sizes), max_size=len(mesh.sizes)))
    sharding = Sharding.whole(2)
    for level, axis in enumerate(places):
        if axis < 2:
            sharding = sharding.with_cut(axis, level)
    shape = (mesh.devices, 2 * mesh.devices)
    local = sharding.local_shape(mesh, shape)
    assert sharding.global_shape(mesh, local) == shape
    assert not list(sharding.problems(mesh, local))
    count = np.zeros(shape, int)
    for device in range(mesh.devices):
        positions = sharding.positions(mesh, shape, device)
        assert tuple(map(len, positions)) == local
        count[np.ix_(*positions)] += 1
    assert (count == mesh.devices // mesh.parts(sharding.cuts)).all()


def test_cuts_are_added_and_undone_in_any_order() -> None:
    sharding = Sharding.whole(2).with_cut(1, 2).with_cut(1, 0).with_addends(1)
    assert sharding == Sharding(((), (0, 2)), (1,))
    assert sharding.cuts == (0, 2)
    assert sharding.without(0).without(1) == Sharding(((), (2,)))
    assert str(sharding) == "[[], [0, 2]] partial [1]"


@pytest.mark.parametrize(
    ("sharding", "shape", "problem"),
    [
        (Sharding(((),)), (4, 4), "its sharding has 1 axes, the tensor 2"),
        (Sharding(((2,),)), (4,), "its sharding has level 2, the mesh has levels 0 to 1"),
        (Sharding(((1, 0),)), (4,), "its sharding lists the levels [1, 0], expected ascending ones"),
        (Sharding(((0,), (0,))), (4, 4), "its sharding has level 0 twice, expected each level in one place"),
        (Sharding(((0,),), (0,)), (4,), "its sharding has level 0 twice, expected each level in one place"),
        (Sharding(((0,),)), (3,), "axis 0, which is cut, has size 6, expected a multiple of 4, the devices"),
    ],
)
def test_what_does_not_fit_is_said(sharding: Sharding, shape: tuple[int, ...], problem: str) -> None:
    assert list(sharding.problems(Mesh((2, 2)), shape)) == [problem]
