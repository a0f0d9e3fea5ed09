"""A contraction with a mapping on numpy: in pieces, the same result; one that is not of each point once is refused."""

from typing import Any

import numpy as np
import pytest
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions
from xdsl.parser import Parser
from xdsl.utils.exceptions import InterpretationError

from npuc.compiler.analysis.mapping.boxes import MOST, boxes
from npuc.compiler.interpreter.npu import NpuFunctions
from npuc.frontends.mlir import make_context
from tests.unit.mapping.texts import clusters_of, mapping_of, nest_of

PRODUCT = """
func.func @f(%x: tensor<6x8xf64>, %w: tensor<8x4xf64>, %b: tensor<4xf64>) -> tensor<6x4xf64> {{
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n] from %b[n]) do(Y += X * W)
    {{layer = "fc", mapping = {}}} : (tensor<6x8xf64>, tensor<8x4xf64>, tensor<4xf64>) -> tensor<6x4xf64>
  func.return %y : tensor<6x4xf64>
}}
"""
NEST = nest_of("(m = 6, n = 4, k = 8) ins(X = 6x8[m, k], W = 8x4[k, n]) outs(Y = 6x4[m, n]) do(Y += X * W)")
IMAGES = nest_of("""(b = 32, o = 16, i = 1, y = 24, x = 24, r = 5, s = 5) ins(X = 32x1x28x28[b, i, y + r, x + s],
    W = 16x1x5x5[o, i, r, s]) outs(Y = 32x16x24x24[b, o, y, x]) do(Y += X * W)""")


def run(mapping: str, *args: Any) -> Any:
    module = Parser(make_context(), PRODUCT.format(mapping)).parse_module()
    module.verify()
    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    interpreter.register_implementations(NpuFunctions())
    return interpreter.call_op("f", args)[0]


GEMM = "#mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [%s]>"


@pytest.mark.parametrize(
    "mapping", [GEMM % "temporal (3, 3) K, spatial (4, 4) M", "#mapping.clusters<2 [k : 3, m : 6 / 4], 2 [n : 3 / 2]>"]
)
def test_the_result_is_that_of_the_contraction_and_its_start(mapping: str) -> None:
    random = np.random.default_rng(0)
    x, w, b = (random.integers(-4, 5, shape).astype(np.float64) for shape in ((6, 8), (8, 4), (4,)))
    np.testing.assert_array_equal(run(mapping, x, w, b), x @ w + b)


def test_points_computed_twice_are_refused() -> None:
    message = "npu.contract fc: its mapping is not of each point once: M = 3 is computed 2 times"
    with pytest.raises(InterpretationError, match=message):
        run(GEMM % "spatial (4, 3) M", np.zeros((6, 8)), np.zeros((8, 4)), np.zeros(4))


def test_the_boxes_are_the_tiles() -> None:
    found = boxes(NEST, clusters_of("2 [m : 4 / 2, k : 5]"))
    assert found == tuple({"m": m, "n": (0, 4), "k": k} for m in ((0, 2), (2, 4), (4, 6)) for k in ((0, 5), (5, 8)))


def test_a_tile_of_flattened_dimensions_is_several_boxes() -> None:
    nest = nest_of("""(b = 2, o = 1, i = 1, y = 3, x = 4) ins(X = 2x1x3x4[b, i, y, x], dY = 2x1x3x4[b, o, y, x])
        outs(dW = 1x1[o, i]) do(dW += X * dY)""")
    found = boxes(nest, mapping_of("GEMM, sizes {M = 1, N = 1, K = 24}, [spatial (9, 9) K]"))
    assert not isinstance(found, str)
    assert [(box["b"], box["y"], box["x"]) for box in found] == [
        ((0, 1), (0, 2), (0, 4)), ((0, 1), (2, 3), (0, 1)),
        ((0, 1), (2, 3), (1, 4)), ((1, 2), (0, 1), (0, 4)), ((1, 2), (1, 2), (0, 2)),
        ((1, 2), (1, 2), (2, 4)), ((1, 2), (2, 3), (0, 4)),
    ]  # fmt: skip


def test_tiles_of_one_point_are_taken_together() -> None:
    found = boxes(IMAGES, clusters_of("16 [b : 1, o : 16 / 1, y : 1, x : 1], 25 [r : 5 / 1, s : 5 / 1]"))
    assert not isinstance(found, str)
    assert len(found) <= MOST
    assert sum(np.prod([high - low for low, high in box.values()]) for box in found) == IMAGES.points
