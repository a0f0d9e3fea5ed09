"""What a function on a mesh says of its arguments and results, and what is refused with its place."""

import pytest

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.verify import SourceTexts, verify_module
from npuc.dialects.distributed import Mesh, Sharding, argument_shardings, global_type, mesh_of, result_shardings
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.signature import training_functions
from npuc.frontends import read_source

STEP = """
func.func @step(%x: tensor<2x4xf32> {train.input = "x", dist.sharding = #dist.sharding<[[0], [1]]>},
                %w: tensor<4xf32> {train.param = "w", dist.sharding = #dist.sharding<[[1]]>})
    -> (tensor<f32> {train.loss}, tensor<4xf32> {train.updates = 1 : i64, dist.sharding = #dist.sharding<[[1]]>},
        tensor<4xf32> {train.gradient = 1 : i64, dist.sharding = #dist.sharding<[[1]] partial [0]>})
    attributes {dist.mesh = #dist.mesh<[2, 2]>} {
  %y = train.add %x, %w {layer = "y"} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %p = train.dot_loss %y, %x {layer = "l"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<f32>
  %l = dist.all_reduce %p over [0, 1] {layer = "l"} : (tensor<f32>) -> tensor<f32>
  func.return %l, %w, %w : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
"""


WITHOUT = STEP.replace("dist.all_reduce %p over [0, 1]", "train.detach %p")


def _verified(text: str) -> None:
    verify_module(read_source(text, format="mlir", filename="step.mlir"), SourceTexts({"step.mlir": text}))


def test_types_are_those_of_one_device() -> None:
    _verified(STEP)
    (func,) = training_functions(read_source(STEP, format="mlir", filename="step.mlir"))
    mesh, shardings = mesh_of(func), argument_shardings(func)
    assert mesh is not None
    assert mesh == Mesh((2, 2))
    assert shardings == [Sharding(((0,), (1,))), Sharding(((1,),))]
    assert result_shardings(func) == [Sharding(()), Sharding(((1,),)), Sharding(((1,),), (0,))]
    types = [global_type(mesh, one, tensor_type(arg)) for one, arg in zip(shardings, func.body.block.args, strict=True)]
    assert [type.get_shape() for type in types] == [(4, 8), (8,)]


_W = "dist.sharding = #dist.sharding<[[1]]>})\n"
_NEW = "train.updates = 1 : i64, dist.sharding = #dist.sharding<[[1]]>"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (_W, _W.replace("[[1]]", "[[2]]"), "argument 'w': its sharding has level 2, the mesh has levels 0 to 1"),
        (_W, _W.replace("[[1]]", "[[1]] partial [0]"), "argument 'w': it holds addends, expected a whole or cut value"),
        (_W, _W.replace("#dist.sharding<[[1]]>", "1 : i64"), "expected #dist.sharding<[…]>"),
        (_NEW, _NEW.replace("[[1]]", "[[1]] partial [0]"), "result 1: it holds addends, expected a whole or cut value"),
        (
            _NEW,
            _NEW.replace("[[1]]", "[[0]]"),
            "result 1 is sharded as [[0]], argument 'w', which it updates, as [[1]]",
        ),
        ("[[1]] partial", "[[]] partial", "argument 'w', whose gradient it is, as [[1]]"),
        ("{train.loss}", "{train.loss, dist.sharding = #dist.sharding<[] partial [0]>}", "result 0: it holds addends"),
        ("#dist.mesh<[2, 2]>", "#dist.mesh<[]>", "the mesh has no levels, expected one or more"),
        ("#dist.mesh<[2, 2]>", "#dist.mesh<[2, 1]>", "a level of the mesh has 1 parts, expected 2 or more"),
        ("#dist.mesh<[2, 2]>", "#dist.mesh<[65536, 2]>", "the mesh has 131,072 devices, expected up to 65,536"),
        ("over [0, 1]", "over [0, 2]", "'dist.all_reduce' over has level 2"),
    ],
)
def test_a_wrong_signature_is_refused(old: str, new: str, message: str) -> None:
    assert STEP.count(old) == 1
    with pytest.raises(SourceError) as error:
        _verified(STEP.replace(old, new))
    assert message in error.value.render()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("attributes {dist.mesh = #dist.mesh<[2, 2]>}", "", "argument 'x': it has dist.sharding, the function has no"),
        ("#dist.mesh<[2, 2]>", "[2, 2]", "expected #dist.mesh<[…]>"),
    ],
)
def test_a_mesh_is_expected_where_something_is_spread(old: str, new: str, message: str) -> None:
    with pytest.raises(SourceError) as error:
        _verified(WITHOUT.replace(old, new))
    assert message in error.value.render()
